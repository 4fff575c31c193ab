#include "judge.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mac.h"
#include "starts.h"

/* ---------------------------------------------------------------- what the loader answered */

enum kind { KIND_OTHER, KIND_OURS, KIND_OTHER_VERSION };

/* By the name of a library. libevent_pthreads-2.1.so.7 is one of those that we replace, libevent-2.0.so.5 is not. */
static enum kind kind_of_name(const char *name)
{
	const char *rest = name;

	if (!starts_with(name, "libevent") || starts_with(name, "libevent_smp"))
		return KIND_OTHER;
	rest += strlen("libevent");
	if (*rest == '_')
		rest += 1 + strspn(rest + 1, "abcdefghijklmnopqrstuvwxyz");
	if (strcmp(rest, "-2.1.so.7") == 0 || starts_with(rest, "-2.1.so.7."))
		return KIND_OURS;
	return *rest == '-' || starts_with(rest, ".so") ? KIND_OTHER_VERSION : KIND_OTHER;
}

/* What is preloaded may have any name: its DT_SONAME is what the loader compares. */
static enum kind kind_of(const struct loaded *o)
{
	enum kind kind = kind_of_name(base_name(o->name));
	struct elf e;

	if (kind == KIND_OTHER && o->is_unasked && o->path != NULL && *o->path == '/' &&
	    elf_read(o->path, &e) == ELF_FILE && e.soname != NULL)
		kind = kind_of_name(e.soname);
	return kind;
}

static bool is_same_directory(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static const char *preloads(void)
{
	const char *system = file_read(rooted("/etc/ld.so.preload"), NULL), *env = getenv("LD_PRELOAD");

	return text("%s %s", env == NULL ? "" : env, system == NULL ? "" : system);
}

/* The object whose DT_RPATH leads to `found`; NULL: none. */
static const char *who_insists(const struct program *p, const struct loader_answer *answer, const char *found)
{
	struct elf e;
	size_t i;

	if (p->elf.rpath != NULL)
		return p->binary;
	for (i = 0; i < answer->num; i++) {
		if (answer->objects[i].path != NULL && strcmp(answer->objects[i].path, found) != 0 &&
		    elf_read(answer->objects[i].path, &e) == ELF_FILE && e.rpath != NULL)
			return answer->objects[i].path;
	}
	return NULL;
}

/* The first reason counts. */
static void object_to(struct verdict *v, enum status status, const char *reason)
{
	if (v->status != EVSMP_OK)
		return;
	v->status = status;
	v->reason = reason;
}

/* A library of ours that the loader takes from elsewhere: why? */
static void explain(struct verdict *v, const struct loader_answer *answer, const struct loaded *o,
		    const struct libdir *dir)
{
	const char *name = base_name(o->path), *who;
	struct list preloaded = { 0 };
	size_t i;

	list_split(&preloaded, preloads(), " \t\n:");
	for (i = 0; i < preloaded.num; i++) {
		if (strcmp(preloaded.at[i], o->path) == 0 || strcmp(base_name(preloaded.at[i]), name) == 0) {
			object_to(v, EVSMP_PRELOAD,
				  text("%s is preloaded (LD_PRELOAD or /etc/ld.so.preload), so it comes before "
				       "libevent-smp. "
				       "Do not preload it.",
				       o->path));
			return;
		}
	}
	who = who_insists(&v->program, answer, o->path);
	if (o->is_unasked)
		object_to(v, EVSMP_OTHER_PLACE,
			  text("%s names %s by its path, so no setting leads elsewhere. Link it with -l instead.",
			       v->program.binary, o->path));
	else if (who != NULL)
		object_to(v, EVSMP_OTHER_PLACE,
			  text("%s tells the loader itself where to look first (DT_RPATH), and %s is found there. "
			       "Remove that (chrpath -d), or link with -Wl,--enable-new-dtags.",
			       who, o->path));
	else
		object_to(v, EVSMP_NO_LIBRARIES,
			  text("%s has no %s of libevent-smp, so the loader takes %s. Install all of its libraries.",
			       dir->path, name, o->path));
}

static void look_at(struct verdict *v, const struct loader_answer *answer, const struct loaded *o,
		    const struct libdir *dir, const char *dir_name_told)
{
	const char *name = base_name(o->name);

	switch (kind_of(o)) {
	case KIND_OTHER: return;
	case KIND_OTHER_VERSION:
		list_add(&v->facts, text("%s: another version of libevent", name));
		object_to(v, EVSMP_OTHER_LIBEVENT,
			  text("%s needs %s, and libevent-smp replaces libevent 2.1 only (libevent-2.1.so.7). "
			       "Build the program for libevent 2.1.",
			       v->program.binary, name));
		return;
	case KIND_OURS: break;
	}
	if (o->path == NULL) {
		list_add(&v->facts, text("%s: missing", name));
		object_to(v, EVSMP_NO_LIBRARIES,
			  text("%s has no %s, and neither has the system. Install all libraries of libevent-smp.",
			       dir->path, name));
	} else if (strcmp(dir_name(o->path), dir_name_told) == 0 || is_same_directory(dir_name(o->path), dir->path)) {
		list_add(&v->facts, text("%s: here", name));
	} else {
		list_add(&v->facts, text("%s: %s", name, o->path));
		explain(v, answer, o, dir);
	}
}

static bool is_name_of_libevent(const char *symbol)
{
	static const char *const prefixes[] = { "event_", "evbuffer_", "bufferevent_", "evconnlistener_",
						"evdns_", "evhttp_",   "evkeyvalq_",   "evrpc_",
						"evtag_", "evthread_", "evutil_",      "libevent_" };
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (starts_with(symbol, prefixes[i]))
			return true;
	}
	return false;
}

/*
 * What both lack is the program's own affair: plugins that expect the functions of another one, for instance. What
 * is libevent's by its name counts in any case: the system may have no libevent.
 */
static void look_at_functions(struct verdict *v, const struct loader_answer *ours)
{
	struct loader_answer stock;
	const char *lacking = "";
	size_t i, num = 0;

	if (ours->undefined.num == 0)
		return;
	stock = loader_ask(&v->program, NULL);
	for (i = 0; i < ours->undefined.num; i++) {
		if (list_has(&stock.undefined, ours->undefined.at[i]) &&
		    !is_name_of_libevent(ours->undefined.at[i]))
			continue;
		list_add(&v->facts, text("%s: libevent-smp has no such function", ours->undefined.at[i]));
		lacking = ours->undefined.at[i];
		num++;
	}
	if (num != 0)
		object_to(v, EVSMP_LACKS_FUNCTIONS,
			  text("%s needs %zu function%s that libevent-smp does not have, %s%s. Please report that as "
			       "a bug.",
			       v->program.binary, num, num == 1 ? "" : "s", num == 1 ? "" : "for instance ", lacking));
}

/* ---------------------------------------------------------------- the verdict */

static void check_launcher(const char *path)
{
	const struct launcher *launcher = launcher_of(path);

	if (launcher != NULL)
		die(EVSMP_ELSEWHERE, "%s starts programs %s. %s.", path, launcher->what, launcher->advice);
}

static void check_kind(const struct program *p, const struct libdir *dir)
{
	if (!p->elf.is_executable || (p->elf.interpreter == NULL && !p->elf.is_complete))
		die(EVSMP_NOT_EXECUTABLE, "%s is no whole program: the head of its file is wrong. Install it again.",
		    p->binary);
	if (p->elf.interpreter == NULL && p->elf.needed.num != 0)
		die(EVSMP_NOT_EXECUTABLE, "%s is a library, or the part of a program. Name a program.", p->binary);
	if (p->elf.interpreter == NULL)
		die(EVSMP_STATIC, "%s is statically linked, so its libevent, if it has one, cannot be replaced. "
				  "Link it with shared libraries. If it only starts others, use evsmp env.",
		    p->binary);
	if (elf_is_musl(&p->elf) != elf_is_musl(&dir->engine))
		die(EVSMP_OTHER_LIBC,
		    "%s is built for %s, but libevent-smp is here for %s. Build libevent-smp for that C library.",
		    p->binary, elf_is_musl(&p->elf) ? "musl" : "glibc", elf_is_musl(&dir->engine) ? "musl" : "glibc");
}

/* Before the loader speaks of single libraries: what keeps it from loading anything. False: libraries are missing. */
static bool check_error(struct verdict *v, const struct loader_answer *answer)
{
	bool is_whole = true;
	size_t i;

	for (i = 0; i < answer->num; i++) {
		if (answer->objects[i].path != NULL || kind_of(&answer->objects[i]) != KIND_OTHER)
			continue;
		is_whole = false;
		object_to(v, EVSMP_LOADER, text("the loader does not find %s, which %s needs. Install it.",
						answer->objects[i].name, v->program.binary));
	}
	if (answer->error != NULL)
		object_to(v, EVSMP_LOADER, text("the loader says: %s%s Correct that first.", answer->error,
						ends_with(answer->error, ".") ? "" : "."));
	return is_whole;
}

/* An interpreter that no setting changes hands the setting on, all the same. */
static bool is_static_interpreter(const struct program *p)
{
	return p->scripts.num != 0 && p->elf.is_executable && p->elf.is_complete && p->elf.interpreter == NULL &&
	       p->elf.needed.num == 0;
}

/* ---------------------------------------------------------------- a program without libevent */

/* A directory of DT_RPATH that has libevent 2.1, and not ours; NULL: none. */
static const char *rpath_to_libevent(const struct elf *e, const char *path, const struct verdict *v)
{
	const char *real = realpath(path, NULL), *origin, *dir;
	struct list dirs = { 0 };
	glob_t found;
	size_t i;

	if (e->rpath == NULL)
		return NULL;
	list_split(&dirs, e->rpath, ":");
	for (i = 0; i < dirs.num; i++) {
		origin = starts_with(dirs.at[i], "$ORIGIN") ? "$ORIGIN" : "${ORIGIN}";
		dir = !starts_with(dirs.at[i], origin) ?
			      dirs.at[i] :
			      text("%s%s", dir_name(real == NULL ? path : real), dirs.at[i] + strlen(origin));
		if (is_same_directory(dir, v->libdir) ||
		    glob(text("%s/libevent*-2.1.so.7", text_for_glob(dir)), 0, NULL, &found) != 0)
			continue;
		globfree(&found);
		return dir;
	}
	return NULL;
}

static void look_at_rpath(struct verdict *v, const struct elf *e, const char *path)
{
	const char *dir = rpath_to_libevent(e, path, v);

	if (dir == NULL)
		return;
	v->reason = text("%s loads no libevent 2.1 when it starts, and one that it loads later comes from %s, by the "
			 "DT_RPATH of %s. "
			 "Remove that (chrpath -d), or link with -Wl,--enable-new-dtags.",
			 v->program.binary, dir, path);
}

static void note_loop(const struct elf_symbol *s, void *arg)
{
	bool *has_loop = arg;

	*has_loop |= s->is_function && strcmp(s->name, "event_base_loop") == 0;
}

/* It may load libevent later, or start another program; or it has libevent inside. */
static void conclude_without(struct verdict *v, const struct loader_answer *answer)
{
	bool has_loop = false;
	struct elf e;
	size_t i;

	v->status = EVSMP_UNKNOWN;
	v->reason = text("%s loads no libevent 2.1 when it starts. If it loads one later, or starts another program, "
			 "that gets libevent-smp unless it insists on another one: evsmp ps shows it.",
			 v->program.binary);
	(void)elf_each_symbol(&v->program.elf, ELF_SYMTAB, note_loop, &has_loop);
	(void)elf_each_symbol(&v->program.elf, ELF_DYNSYM, note_loop, &has_loop);
	if (has_loop) {
		v->status = EVSMP_STATIC;
		v->reason = text("%s has a libevent linked in (it defines event_base_loop), which cannot be replaced. "
				 "Link it with shared libraries. If it only starts others, use evsmp env.",
				 v->program.binary);
		return;
	}
	look_at_rpath(v, &v->program.elf, v->program.binary);
	for (i = 0; i < answer->num; i++) {
		if (answer->objects[i].path != NULL && elf_read(answer->objects[i].path, &e) == ELF_FILE)
			look_at_rpath(v, &e, answer->objects[i].path);
	}
}

/* ---------------------------------------------------------------- one program */

static void conclude_script(struct verdict *v)
{
	v->status = EVSMP_UNKNOWN;
	v->reason = text("%s is a script, and which programs it starts cannot be known. "
			 "Those that it starts get libevent-smp unless it changes LD_LIBRARY_PATH, or they insist on "
			 "another one: evsmp ps shows them.",
			 v->program.path);
}

static struct verdict judge_program(const char *path, const struct caller *caller)
{
	struct verdict v = { .status = EVSMP_OK, .path = path };
	struct loader_answer answer;
	const char *forbidden;
	struct libdir dir;
	bool is_whole;
	size_t i;

	v.program = program_open(path, caller);
	check_launcher(v.program.path);
	check_launcher(v.program.binary);
	dir = libdir_for(is_static_interpreter(&v.program) ? NULL : &v.program.elf, v.program.binary);
	v.libdir = dir.path;
	v.library_path = libdir_name_for_loader(dir.path);
	if (is_static_interpreter(&v.program)) {
		conclude_script(&v);
		return v;
	}
	check_kind(&v.program, &dir);
	answer = loader_ask(&v.program, libdir_before_others(v.library_path));
	for (i = 0; i < answer.num; i++)
		look_at(&v, &answer, &answer.objects[i], &dir, v.library_path);
	is_whole = check_error(&v, &answer);
	if (v.facts.num != 0 && is_whole)
		look_at_functions(&v, &answer);
	forbidden = mac_forbids(&v.program, caller, text("%s/%s", dir.path, ENGINE));
	if (forbidden != NULL)
		object_to(&v, EVSMP_FORBIDDEN, forbidden);
	if (v.facts.num != 0 || v.status != EVSMP_OK)
		return v;
	if (v.program.scripts.num != 0)
		conclude_script(&v);
	else
		conclude_without(&v, &answer);
	return v;
}

/* ---------------------------------------------------------------- what it starts */

/* What ends the process where a program is named on its own is no more than a reason where others are named, too. */
static struct verdict judge_named(const char *path, const struct caller *caller)
{
	struct verdict v = { .path = path };
	struct caught caught;

	if (setjmp(caught.back) == 0) {
		die_into(&caught);
		v = judge_program(path, caller);
	} else {
		v.status = caught.status;
		v.reason = caught.reason;
	}
	die_into(NULL);
	return v;
}

static void add_facts(struct verdict *v, const struct verdict *one)
{
	size_t i;

	v->has_followed = true;
	list_add(&v->facts, text("%s names %s, which%s loads:", v->path, one->path,
				 one->status == EVSMP_OK ? "" : ", if it is started,"));
	for (i = 0; i < one->facts.num; i++)
		list_add(&v->facts, text("  %s", one->facts.at[i]));
}

/* The program loads no libevent: what its text and arguments name may. */
static void follow(struct verdict *v, const struct starts *s, const struct caller *caller)
{
	struct verdict one, bad = { .status = EVSMP_OK };
	size_t i;

	for (i = 0; i < s->programs.num; i++) {
		one = judge_named(s->programs.at[i], caller);
		if (one.facts.num != 0)
			add_facts(v, &one);
		if (one.status == EVSMP_OK)
			list_add(&v->named, one.path);
		else if (bad.status == EVSMP_OK)
			bad = one;
	}
	if (v->named.num == 0 && bad.status != EVSMP_OK) {
		v->status = bad.status;
		v->reason = bad.reason;
	} else if (bad.status != EVSMP_OK) {
		v->reason = text("%s names %s, which can run on libevent-smp, and %s, which cannot; it depends on "
				 "which one it starts. "
				 "Run evsmp check %s to see why it cannot.",
				 v->path, v->named.at[0], bad.path, bad.path);
	} else if (s->doubt != NULL) {
		v->reason = s->doubt;
	} else if (v->named.num != 0) {
		v->status = EVSMP_OK;
	}
}

/* env(1) starts the program that it names with what `run` sets, or does not. */
static void follow_env(struct verdict *v, const struct list *words, const struct caller *caller)
{
	const char *path = v->path;
	struct list rest;

	switch (starts_of_env(words, 1, &rest)) {
	case ENV_TAKES:
		v->status = EVSMP_CANNOT_FOLLOW;
		v->reason = text("%s, with these arguments, starts programs with an environment of its own. "
				 "Write evsmp run behind it.",
				 path);
		return;
	case ENV_UNSURE:
		v->reason = text("%s changes PATH, LD_PRELOAD or the directory, so which program it starts, and with "
				 "which libevent, cannot be known. "
				 "Write evsmp run behind it.",
				 path);
		return;
	case ENV_KEEPS: break;
	}
	if (rest.num == 0)
		return;
	*v = judge(&rest, caller);
	v->path = path;
}

struct verdict judge(const struct list *words, const struct caller *caller)
{
	struct verdict v = judge_program(program_find(words->at[0], caller->search), caller);
	struct starts starts = { .is_root = caller->uid == 0 };
	size_t i;

	if (v.status != EVSMP_UNKNOWN)
		return v;
	if (strcmp(base_name(words->at[0]), "env") == 0) {
		follow_env(&v, words, caller);
		return v;
	}
	if (starts_anew(words, 0)) {
		v.status = EVSMP_ELSEWHERE;
		v.reason = text("%s, with these arguments, starts programs with an environment of its own. "
				"Write evsmp run behind it.",
				v.path);
		return v;
	}
	for (i = 0; i < v.program.scripts.num; i++)
		starts_of_script(&starts, v.program.scripts.at[i]);
	starts_of_words(&starts, words);
	follow(&v, &starts, caller);
	return v;
}

struct verdict judge_arguments(char **argv)
{
	struct caller caller = caller_self();
	struct list words = { 0 };

	for (; *argv != NULL; argv++)
		list_add(&words, *argv);
	return judge(&words, &caller);
}
