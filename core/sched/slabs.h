/*
 * The memory of colors: structs in slabs, found by index. A slab is never freed while the base lives.
 */
#ifndef EC_SLABS_H
#define EC_SLABS_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "color.h"

enum { EC_SLAB_FIRST = 64 };		/* colors in slab 0; each slab is twice the one before */

enum { EC_SLAB_BYTES = EC_SLAB_FIRST * sizeof(struct ec_color) + EC_CACHE_LINE };	/* of slab 0 */

void ec_slabs_init(struct ec_colors *t);
void ec_slabs_fini(struct ec_colors *t);

/* Under slab_mu. A free struct, or NULL. */
struct ec_color *ec_slabs_take(struct ec_base *base, enum ec_birth birth);
void ec_slabs_give(struct ec_base *base, struct ec_color *c);

/* All structs that were ever handed out have an index below this number; the others are not alive. */
uint32_t ec_colors_used(struct ec_colors *t);

static inline uint32_t ec_slab_of(uint32_t index, uint32_t *offset)
{
	uint32_t k = 31 - (uint32_t)__builtin_clz(index / EC_SLAB_FIRST + 1);

	*offset = index - EC_SLAB_FIRST * ((UINT32_C(1) << k) - 1);
	return k;
}

/* Meets slab_add (release): a thread that knows an index sees its slab. */
static inline struct ec_color *ec_color_at(struct ec_base *base, uint32_t index)
{
	uint32_t offset, k = ec_slab_of(index, &offset);

	return ec_load_acquire(&base->colors.slabs[k]) + offset;
}

/* The color that `link` names: index + 1; 0: none. */
static inline struct ec_color *ec_color_linked(struct ec_base *base, uint32_t link)
{
	return link == 0 ? NULL : ec_color_at(base, link - 1);
}

/*
 * The struct of `hint`, which is not 0; NULL: the hint may be from another base. The caller must check under the lock
 * of its worker whether it is the color. A slab begins as zeros, so a struct that was never handed out is not alive.
 */
static inline struct ec_color *ec_color_hinted(struct ec_base *base, uint32_t hint)
{
	uint32_t offset, k = ec_slab_of(hint - 1, &offset);
	struct ec_color *slab = ec_load_acquire(&base->colors.slabs[k]);

	return slab == NULL ? NULL : slab + offset;
}

#endif
