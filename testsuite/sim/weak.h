/*
 * Weakly ordered memory, as processors other than x86 have it: a load may get the value that another thread's write
 * has replaced a moment ago, unless a release that came after that write has met an acquire of the loading thread.
 *
 * There is one time, which writes move on. A thread's view is the time up to which it must see all writes. An acquire
 * that reads what a release wrote moves the view to that release. A load may be as old as the view, no older than
 * what its thread read or wrote there before, and at most one write old: that stands for loads and for stores that
 * overtake each other.
 *
 * More is ordered here than by the rules of C: a release makes all earlier writes visible, not only those that its
 * thread knew. So what fails here is wrong; what passes may still be.
 */
#ifndef SIM_WEAK_H
#define SIM_WEAK_H

#include <stdbool.h>
#include <stdint.h>

void weak_begin(uint64_t seed, bool is_weak);		/* a schedule */
void weak_see_all(int thread);				/* it starts, or meets others in the kernel */
void weak_see_all_threads(void);

#endif
