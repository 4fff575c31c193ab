/*
 * The process's side of recycled blocks; ec.h has what the faces use.
 */
#ifndef EC_CHUNK_H
#define EC_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

/* A sanitizer that follows each block must see it end. */
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

/* Give back a part of the excess, if that is due. Returns in how many nanoseconds it is due again; INT64_MAX: never. */
int64_t ec_chunk_sweep(int64_t now_ns);

/* The calling thread's cache goes to the depot. */
void ec_chunk_leave_cache(void);

/* Free the blocks that no thread holds, and those of the calling thread. */
void ec_chunk_shutdown(void);

/* In a child that was cloned: what a thread that is gone was changing is lost. */
void ec_chunk_reset(void);

#endif
