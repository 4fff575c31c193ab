/*
 * Preloaded into a server: sendmsg() of a reply that holds the word in STUCK_WORD writes a
 * byte to the descriptor STUCK_FD, and goes on once it has read one from it. So a test decides
 * when a callback is stuck, and until when.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int holds(const struct msghdr *msg, const char *word)
{
	size_t i;

	for (i = 0; i < msg->msg_iovlen; i++) {
		if (memmem(msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len, word, strlen(word)) != NULL)
			return 1;
	}
	return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	const char *word = getenv("STUCK_WORD"), *stuck_fd = getenv("STUCK_FD");
	ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
	char byte = 's';

	if (word != NULL && stuck_fd != NULL && holds(msg, word)) {
		if (write(atoi(stuck_fd), &byte, 1) != 1 || read(atoi(stuck_fd), &byte, 1) != 1)
			abort();
	}
	return next(fd, msg, flags);
}
