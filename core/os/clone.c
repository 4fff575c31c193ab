#include "clone.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* const after ec_clone_watch; the kernel clears the page in a child */
static volatile unsigned char *page;	/* NULL: ec_clone_watch was not called, or the kernel cannot do it */
static pid_t process;			/* without a page: the process that owns this memory; 0: not watched */

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
