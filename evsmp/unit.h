/*
 * Units of systemd, read from their files as systemd.unit(5) says: fragment, then drop-ins. systemd need not run.
 * Files are read below EVSMP_ROOT.
 */
#ifndef EVSMP_UNIT_H
#define EVSMP_UNIT_H

#include "say.h"

/* Sorted behind what `systemctl edit` writes (override.conf), because the last value of a variable counts. */
#define UNIT_DROPIN "zz-evsmp.conf"

struct setting {
	const char *key, *value;
};

struct unit {
	const char *name;		/* not an alias */
	const char *fragment;
	struct setting *settings;	/* of [Service], in order; UNIT_DROPIN is not among them */
	size_t num;
};

/* "memcached" is memcached.service. Ends the process if there is no such service, or if it is masked. */
struct unit unit_read(const char *name);
/* The same for a name that is one. False: there is no such service, or it is masked. */
bool unit_exists(const char *name, struct unit *ret);

/* Is it NAME@.service? That has no processes, but instances, NAME@INSTANCE.service. */
bool unit_is_template(const char *name);
/* Of an instance; NULL: it is none. */
const char *unit_template(const char *name);
/* The same service, or an instance of it. */
bool unit_covers(const char *name, const char *other);

/* The last value; NULL: none. */
const char *unit_last(const struct unit *u, const char *key);
bool unit_is_on(const struct unit *u, const char *key);
bool unit_is_off(const struct unit *u, const char *key);	/* others have more values than yes and no */
/* All values; an empty one forgets those before. */
struct list unit_values(const struct unit *u, const char *key);
/* The words of all values, without quotes. */
struct list unit_words(const struct unit *u, const char *key);

/* What Environment= has in a variable; NULL: the unit does not set it. */
const char *unit_variable(const struct unit *u, const char *name);

/* Splits a line as systemd does: blanks, quotes of both kinds, backslashes. */
struct list unit_split(const char *line);

/* Where `enable` writes. */
const char *unit_dropin_dir(const char *name);
const char *unit_dropin_path(const char *name);

/* As unit_read(), but a service that has that file may be gone. */
const char *unit_enabled_name(const char *name);

/* The names of the services that have that file. */
struct list unit_enabled_list(void);

#endif
