/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CALLBACK_H
#define LIBASYNC_CALLBACK_H

/* Headers of programs ask by this name whether callbacks are there. */
#ifndef _CALLBACK_H_INCLUDED_
#define _CALLBACK_H_INCLUDED_ 1
#endif

/*
 * Callbacks: a function and its first arguments, to be called later with the others.
 *
 *   void got (foo *f, str s, int err);
 *   callback<void, str, int>::ref cb = wrap (got, f);	calls got (f, s, err)
 *   cbv done = wrap (obj, &cls::method, 5);		calls obj->method (5)
 *
 * wrap (function, values...) and wrap (object, &cls::method, values...) bind the first parameters. Those left open are
 * the callback's. Bound values are copied, as the parameter's type without reference, when wrap is called. The object
 * may be a cls *, which the callback does not own, or a ref<cls>, a ptr<cls> or a refcounted<cls> *, which it holds.
 * Any callable object can stand for the function, for instance a lambda. Of an overloaded function, the number of
 * parameters chooses: from as many as there are values up to three more.
 *
 * Colors. cwrap is wrap with a color as last argument: two callbacks of one color never run at the same time. A
 * callback that is made by wrap has color 0, which is that of the thread that runs amain(). `cb (x)` and `(*cb) (x)`
 * call at once, in the caller's color. `cb->trigger (x)` calls at once if the caller has the callback's color;
 * otherwise it copies x and errno and lets the callback run soon in its own color.
 *
 * Threads: a callback may be called from any thread, but its bound values are not protected beyond its color. Making
 * one allocates memory; without it, bad_alloc ends the program.
 */
#include "libasync_callback.h"
#include "libasync_wrap.h"

class str;

typedef callback<void>::ref cbv;
typedef callback<void, int>::ref cbi;
typedef callback<void, str>::ref cbs;
typedef callback<void, bool>::ref cbb;

/* Callbacks that do nothing. */
extern LIBASYNC_EXPORT cbv cbv_null;
extern LIBASYNC_EXPORT cbi cbi_null;
extern LIBASYNC_EXPORT cbs cbs_null;
extern LIBASYNC_EXPORT cbb cbb_null;

#endif
