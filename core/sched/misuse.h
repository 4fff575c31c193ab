/*
 * Misuse that debug mode (event_enable_debug_mode) reports, and that does not end the program: colors, posts, and bases
 * that were freed. Each report is a warning that says what is wrong, and what to do.
 *
 * All of it runs on paths that are slow in debug mode only, or that failed: with debug mode off, no other path has one
 * instruction more. A post takes such a path because its priority is compared with base.posts_pri_end, which debug mode
 * makes lower than all priorities. For the same reason posts use no rings then (post.h), so each of them is checked.
 *
 * Debug mode keeps the memory of the last bases that were freed. So a call for one of them finds what it may read.
 */
#ifndef EC_MISUSE_H
#define EC_MISUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "ec.h"

struct ec_worker;

/* Debug mode is on: keep the freed `base`. Returns one that nobody needs any more, or NULL. */
struct ec_base *ec_misuse_bury(struct ec_base *base);

/* A post of the program; `is_job`: of a face. False: there is no such base. */
bool ec_misuse_check_post(struct ec_base *base, uint32_t color, bool is_job);

/* `caller` has not set the color of `ev`, for the reason `err`. */
void ec_misuse_note_refused(const struct ec_event *ev, const char *caller, int err);

/* Before `base` is freed. False: it was freed before. */
bool ec_misuse_check_free(struct ec_base *base);

/* The end of `base` has dropped so many posts. */
void ec_misuse_note_lost(const struct ec_base *base, uint32_t posts_num);

/* The calling thread, which is that of `w`, has run callbacks: has one of them left the base paused? */
void ec_misuse_check_pause(struct ec_worker *w);

/* `v` seems stuck: has its callback run for long, while others of its color wait? Says so once. */
void ec_misuse_check_stuck(struct ec_worker *v, uint64_t now);

#endif
