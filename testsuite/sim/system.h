/*
 * The pieces of the system that the engine's workers meet, simulated: descriptors that a test
 * makes ready, pollers that report them, and wake-ups. They take the place of core's
 * poller_*.c, wakeup.c and topology.c.
 */
#ifndef SIM_SYSTEM_H
#define SIM_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_FDS_MAX = 32 };

/* Forget all descriptors and counts; first in each schedule. */
void sim_system_reset(void);

/* A new descriptor, the lowest number that is free; never ready at first. */
int sim_fd_open(void);
void sim_fd_close(int fd);

/* `what` (EC_READ, EC_WRITE) holds from now on, or no more. set is also a new edge. */
void sim_fd_set(int fd, unsigned what);
void sim_fd_clear(int fd, unsigned what);

/* A byte more, and EC_READ; a byte less, and none left ends EC_READ. read: false, there is none. */
void sim_fd_write(int fd);
bool sim_fd_read(int fd);
unsigned sim_fd_bytes(int fd);

/* Looks of all pollers so far, and reports given. */
unsigned sim_polls(void);
unsigned sim_reports(void);

#endif
