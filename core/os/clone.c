#include "clone.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* const after ec_clone_watch; what it points to is the kernel's to empty */
static volatile unsigned char *page;	/* NULL: no kernel does that, or nobody asked yet */
static pid_t process;			/* then: whose memory this was; 0: nobody asked yet */

void ec_clone_watch(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED && madvise(p, PAGE, MADV_WIPEONFORK) == 0)
		page = p;
	else if (p != MAP_FAILED)
		(void)munmap(p, PAGE);
	ec_clone_note();
}

bool ec_clone_is_child(void)
{
	if (page != NULL)
		return *page == 0;
	return process != 0 && process != getpid();
}

void ec_clone_note(void)
{
	if (page != NULL)
		*page = 1;
	else
		process = getpid();
}
