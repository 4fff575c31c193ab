/*
 * The table that finds colors by number. It has 32 shards, each with its own lock, so that a shard that grows delays
 * few threads. A lookup takes no lock.
 */
#ifndef EC_TABLE_H
#define EC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "color.h"

enum { EC_TABLE_BYTES = 32 * 136 };	/* of the shards: colors.c allocates them */

void ec_table_fini(struct ec_colors *t);

/*
 * Without a lock. The chain may change meanwhile, so NULL proves nothing, and the caller must check the color under
 * the lock of its worker.
 */
struct ec_color *ec_table_find(struct ec_base *base, uint32_t number);

/* The lock of the shard of `number`, for the functions below. NULL: the base has no memory for colors. */
struct ec_color_shard *ec_table_lock(struct ec_base *base, uint32_t number);
void ec_table_unlock(struct ec_color_shard *s);

struct ec_color *ec_table_find_locked(struct ec_base *base, uint32_t number);
void ec_table_insert(struct ec_base *base, struct ec_color_shard *s, struct ec_color *c);
void ec_table_remove(struct ec_base *base, struct ec_color_shard *s, struct ec_color *c);

/* For fork. */
void ec_table_freeze(struct ec_colors *t);
void ec_table_thaw(struct ec_colors *t);
bool ec_table_reset(struct ec_colors *t);	/* as ec_spin_reset */

#endif
