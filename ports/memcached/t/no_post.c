/* Preloaded into a server: there is never memory for a post. */
#include <errno.h>

int event_base_post(void)
{
	errno = ENOMEM;
	return -1;
}
