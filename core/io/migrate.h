/*
 * Registrations move to the new home of their color. Nothing moves at once when the home does: each event that is
 * reported here, and belongs elsewhere by then, is noted, and moves after the reports.
 */
#ifndef EC_MIGRATE_H
#define EC_MIGRATE_H

struct ec_source;
struct ec_worker;

/* Under SOURCE of `w`: an event of `s` belongs elsewhere. */
void ec_migrate_note(struct ec_worker *w, struct ec_source *s);

/* Without locks, by the worker: move what was noted. */
void ec_migrate(struct ec_worker *w);

#endif
