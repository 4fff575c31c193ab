#include "subject.h"

#include "os/atomic.h"

enum { FACES_MAX = 16, LEVELS_MAX = 4 };

/* atomic: a face that is loaded takes a free place; ec_subject_find reads them */
static _Atomic(ec_subject_fn) faces[FACES_MAX];

/* Without a place, its callbacks have the names of the face's functions. */
void ec_subject_add(ec_subject_fn fn)
{
	ec_subject_fn none;
	unsigned i;

	for (i = 0; i < FACES_MAX; i++) {
		none = NULL;
		if (ec_cas_acq_rel(&faces[i], &none, fn))		/* meets ask */
			return;
	}
}

void ec_subject_remove(ec_subject_fn fn)
{
	unsigned i;

	for (i = 0; i < FACES_MAX; i++) {
		if (ec_load_relaxed(&faces[i]) == fn) {
			ec_store_release(&faces[i], NULL);			/* meets ask */
			return;
		}
	}
}

/* One face knows it, or none. */
static bool ask(struct ec_subject *s, short what)
{
	ec_subject_fn fn;
	unsigned i;

	for (i = 0; i < FACES_MAX; i++) {
		fn = ec_load_acquire(&faces[i]);		/* meets ec_subject_add */
		if (fn != NULL && fn(s, what))
			return true;
	}
	return false;
}

void ec_subject_find(struct ec_subject *s, short what)
{
	unsigned i;

	for (i = 0; i < LEVELS_MAX && ask(s, what); i++)
		;
}
