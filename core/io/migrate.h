/*
 * Registrations move to the new home of their color, but not at once when the home moves. If an event is reported
 * here and belongs to another worker by then, it is noted. It moves after the reports.
 */
#ifndef EC_MIGRATE_H
#define EC_MIGRATE_H

struct ec_source;
struct ec_worker;

/* Under SOURCE of `w`: an event of `s` belongs to another worker. */
void ec_migrate_note(struct ec_worker *w, struct ec_source *s);

/* Without locks, by the thread that has just polled for `w`: moves the noted events. */
void ec_migrate(struct ec_worker *w);

#endif
