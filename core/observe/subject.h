/*
 * What a callback is about. Callbacks of bufferevents, listeners and HTTP are called by callbacks of a face. So each
 * face tells which function of the program its own callback will call, and for which object.
 *
 * Called only while somebody observes, right before the callback.
 */
#ifndef EC_SUBJECT_H
#define EC_SUBJECT_H

#include "ec.h"

/* `s` is the callback of an event that is about to run, for `what`. Faces may be on top of each other. */
void ec_subject_find(struct ec_subject *s, short what);

#endif
