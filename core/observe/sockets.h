/*
 * The program's ThreadSanitizer orders each read after each write of descriptors of the same kind, because a message
 * may have gone from one to the other. It knows pipes and socket pairs by themselves; but all other sockets are one to
 * it. So in a server, a color that reads from its client would come after all colors that wrote to theirs before, and
 * hardly a race were found.
 */
#ifndef EC_SOCKETS_H
#define EC_SOCKETS_H

/*
 * The descriptor is about to be watched. If it is a socket, and no socket pair, ThreadSanitizer knows nothing of it
 * from now on, so it orders nothing. Keeps errno. any thread
 */
void ec_sockets_part(int fd);

#endif
