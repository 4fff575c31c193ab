/*
 * Recycled blocks: sweeping, and the end of threads and of the process. ec.h has the functions for the faces.
 */
#ifndef EC_CHUNK_H
#define EC_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AddressSanitizer tracks each block, so each block must be freed. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EC_CHUNK_RECYCLES false
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define EC_CHUNK_RECYCLES false
#endif
#if !defined(EC_CHUNK_RECYCLES)
#define EC_CHUNK_RECYCLES true
#endif

/* The calling thread or the depot holds more than it keeps for good. initial-exec: no call to find it */
extern __thread bool ec_chunk_has_excess __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * If a sweep is due, frees a part of the excess. Returns the nanoseconds to the next one; INT64_MAX: none is needed.
 */
int64_t ec_chunk_sweep(int64_t now_ns);

/* About so many bytes went to the allocator elsewhere: the next sweep trims the heap, if they are many. */
void ec_chunk_note_freed(size_t bytes);

/* Moves the calling thread's cache to the depot. */
void ec_chunk_leave_cache(void);

/* Free the blocks that no thread holds, and those of the calling thread. */
void ec_chunk_shutdown(void);

/* In a child that was cloned: the depot is lost if a thread that does not exist there was changing it. */
void ec_chunk_reset(void);

#endif
