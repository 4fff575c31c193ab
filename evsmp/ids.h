/*
 * Small numbers for large ones: the first key gets 0, the next new one 1, and so on.
 */
#ifndef EVSMP_IDS_H
#define EVSMP_IDS_H

#include "say.h"

struct id {
	uint64_t key;
	uint32_t number;		/* + 1; 0: free */
};

struct ids {
	struct id *at;
	size_t cap;			/* a power of 2, at least twice `num` */
	uint32_t num;
};

#define IDS_NONE UINT32_MAX

/* Its number; a new key gets the next one. */
uint32_t ids_get(struct ids *ids, uint64_t key);
/* Its number, or IDS_NONE. */
uint32_t ids_find(const struct ids *ids, uint64_t key);
void ids_free(struct ids *ids);

#endif
