#include "starts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf.h"

/* ---------------------------------------------------------------- programs that start others elsewhere */

#define IN_CONTAINER "in a container, where neither the setting nor the libraries are", \
		     "Install libevent-smp in the container's image, and use evsmp there"
#define IN_SANDBOX "in a sandbox, which may hide the libraries or change the environment", \
		   "Write evsmp run behind it, and show it the libraries there"
#define BY_SYSTEMD "as a service of systemd, with an environment of its own", "Use evsmp enable SERVICE"
#define AS_ROOT "with an environment of its own", "Write evsmp run behind it"
#define IN_ROOT "in another root directory, where the libraries are not", "Install libevent-smp and use evsmp there"

static const struct launcher launchers[] = {
	{ "docker", IN_CONTAINER, false },
	{ "podman", IN_CONTAINER, false },
	{ "nerdctl", IN_CONTAINER, false },
	{ "kubectl", IN_CONTAINER, false },
	{ "crictl", IN_CONTAINER, false },
	{ "ctr", IN_CONTAINER, false },
	{ "runc", IN_CONTAINER, false },
	{ "crun", IN_CONTAINER, false },
	{ "lxc", IN_CONTAINER, false },
	{ "incus", IN_CONTAINER, false },
	{ "lxc-start", IN_CONTAINER, false },
	{ "lxc-attach", IN_CONTAINER, false },
	{ "lxc-execute", IN_CONTAINER, false },
	{ "systemd-nspawn", IN_CONTAINER, false },
	{ "machinectl", IN_CONTAINER, false },
	{ "apptainer", IN_CONTAINER, false },
	{ "singularity", IN_CONTAINER, false },
	{ "snap", IN_CONTAINER, true },
	{ "flatpak", IN_CONTAINER, false },
	{ "bwrap", IN_SANDBOX, false },
	{ "firejail", IN_SANDBOX, false },
	{ "nsenter", "in another namespace, where the libraries may not be", "Write evsmp run behind it", false },
	{ "chroot", IN_ROOT, false },
	{ "ssh", "on another machine", "Install libevent-smp and use evsmp there", false },
	{ "systemd-run", BY_SYSTEMD, false },
	{ "systemctl", BY_SYSTEMD, false },
	{ "service", BY_SYSTEMD, true },
	{ "sudo", AS_ROOT, false },
	{ "doas", AS_ROOT, false },
	{ "pkexec", AS_ROOT, false },
};

static bool is_of_the_system(const char *path)
{
	static const char *const dirs[] = { "/usr/bin", "/usr/sbin", "/bin", "/sbin" };
	const char *dir = dir_name(path);
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (strcmp(dir, dirs[i]) == 0)
			return true;
	}
	return false;
}

static const struct launcher *launcher_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		if (strcmp(name, launchers[i].name) == 0)
			return &launchers[i];
	}
	return NULL;
}

const struct launcher *launcher_of(const char *path)
{
	char *real = realpath(path, NULL);

	if (real != NULL)
		path = real;
	return is_of_the_system(path) ? launcher_named(base_name(path)) : NULL;
}

/* A word that begins no command is a launcher only if it means nothing else. */
static const struct launcher *launcher_at(const struct list *words, size_t at)
{
	const char *word = words->at[at];
	bool is_path = strchr(word, '/') != NULL, begins = at == 0 || strcmp(words->at[at - 1], "exec") == 0;
	const struct launcher *l = is_path && !is_of_the_system(word) ? NULL : launcher_named(base_name(word));

	return l != NULL && l->is_english && !is_path && !begins ? NULL : l;
}

/* ---------------------------------------------------------------- env(1) */

/* Takes the place of the words up to `at`: those of env -S. */
static void replace_with(struct list *words, size_t at, const char *split)
{
	struct list fresh = { 0 };
	size_t i;

	list_split(&fresh, split, " \t");
	for (i = at + 1; i < words->num; i++)
		list_add(&fresh, words->at[i]);
	*words = fresh;
}

/* Reads the option of env at `*at`, and leaves `*at` at the last word of it. The letter of a long one; 0: ends. */
static char env_option(const struct list *words, size_t *at, const char **ret_value)
{
	static const struct {
		const char *name;
		char letter;
	} longs[] = { { "--ignore-e", 'i' }, { "--unset", 'u' }, { "--chdir", 'C' }, { "--split-s", 'S' },
		      { "--argv0", 'a' } };
	const char *word = words->at[*at], *equals = strchr(word, '=');
	char letter = 0;
	size_t i;

	for (i = 0; word[1] == '-' && i < sizeof(longs) / sizeof(*longs); i++) {
		if (starts_with(word, longs[i].name))
			letter = longs[i].letter;
	}
	*ret_value = equals == NULL ? NULL : equals + 1;
	if (word[1] != '-') {
		word += 1 + strcspn(word + 1, "iuCSa");
		letter = *word;
		*ret_value = *word == '\0' || word[1] == '\0' ? NULL : word + 1;
	}
	if (letter != 0 && letter != 'i' && *ret_value == NULL && *at + 1 < words->num)
		*ret_value = words->at[++*at];
	return letter;
}

static enum env_kind kind_of_assignment(const char *word)
{
	if (starts_with(word, "LD_LIBRARY_PATH="))
		return ENV_TAKES;
	return starts_with(word, "PATH=") || starts_with(word, "LD_PRELOAD=") ? ENV_UNSURE : ENV_KEEPS;
}

enum env_kind starts_of_env(const struct list *given, size_t at, struct list *rest)
{
	enum env_kind kind = ENV_KEEPS, one;
	struct list words = { given->at + at, given->num - at };
	bool changes_directory = false;
	const char *value = NULL;
	size_t i;
	char letter;

	for (i = 0; i < words.num && (words.at[i][0] == '-' || strchr(words.at[i], '=') != NULL); i++) {
		one = kind_of_assignment(words.at[i]);
		letter = words.at[i][0] == '-' ? env_option(&words, &i, &value) : 0;
		changes_directory |= letter == 'C';
		if (one == ENV_TAKES || strcmp(words.at[i], "-") == 0 || letter == 'i' ||
		    (letter == 'u' && value != NULL && strcmp(value, "LD_LIBRARY_PATH") == 0))
			return ENV_TAKES;
		if (one == ENV_UNSURE)
			kind = one;
		if (letter == 'S' && value != NULL) {
			replace_with(&words, i, value);
			i = (size_t)-1;
		}
	}
	for (*rest = (struct list){ 0 }; i < words.num; i++)
		list_add(rest, words.at[i]);
	if (changes_directory && rest->num != 0 && rest->at[0][0] != '/' && strchr(rest->at[0], '/') != NULL)
		return ENV_UNSURE;
	return kind;
}

/* ---------------------------------------------------------------- commands that change the environment */

/* Do su(1) or runuser(1) begin a login, with these words behind them? */
static bool is_login(const struct list *words, size_t at)
{
	for (; at < words->num; at++) {
		const char *word = words->at[at], *l = strchr(word, 'l'), *c = strchr(word, 'c');

		if (strcmp(word, "-") == 0 || strcmp(word, "--login") == 0)
			return true;
		if (*word == '-' && word[1] != '-' && l != NULL && (c == NULL || l < c))
			return true;
		if (strcmp(word, "--") == 0 || starts_with(word, "--command") || starts_with(word, "--session") ||
		    (*word == '-' && word[1] != '-' && c != NULL))
			return false;
	}
	return false;
}

/* exec -c of bash empties the environment. */
static bool is_exec_empty(const struct list *words, size_t at)
{
	return at < words->num && words->at[at][0] == '-' && strchr(words->at[at], 'c') != NULL;
}

bool starts_anew(const struct list *words, size_t at)
{
	const char *name = base_name(words->at[at++]);
	struct list rest;

	if (strcmp(name, "env") == 0)
		return starts_of_env(words, at, &rest) == ENV_TAKES;
	if (strcmp(name, "su") == 0 || strcmp(name, "runuser") == 0)
		return is_login(words, at);
	if (strcmp(name, "exec") == 0)
		return is_exec_empty(words, at);
	for (; strcmp(name, "setpriv") == 0 && at < words->num; at++) {
		if (strcmp(words->at[at], "--reset-env") == 0)
			return true;
	}
	return false;
}

/* Functions of C, Python and Perl that start a program with an environment of their own, and what empties it. */
static bool is_function_with_environment(const char *word)
{
	static const char *const names[] = { "execve",	"execle",  "execvpe",  "execlpe",     "spawnve",
					     "spawnle", "spawnvpe", "spawnlpe", "posix_spawn", "clearenv" };
	const char *name = word;
	size_t i;

	for (i = 0; word[i] != '\0'; i++) {
		if (strchr(".:>", word[i]) != NULL)
			name = word + i + 1;
	}
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return starts_with(word, "env=") || strstr(word, "environ.clear") != NULL || strstr(word, "%ENV") != NULL;
}

/* Does a shell read commands from another file there? */
static bool is_sourcing(const char *line)
{
	static const char *const before[] = { "then", "else", "do", "if", "while", "until", "!", "command", "builtin" };
	struct list commands = { 0 }, keywords = { (char **)(uintptr_t)before, sizeof(before) / sizeof(*before) };
	size_t i, j;

	list_split(&commands, line, ";&|(){");
	for (i = 0; i < commands.num; i++) {
		struct list words = { 0 };

		list_split(&words, commands.at[i], " \t");
		for (j = 0; j < words.num && list_has(&keywords, words.at[j]); j++)
			;
		if (j + 1 < words.num && (strcmp(words.at[j], ".") == 0 || strcmp(words.at[j], "source") == 0))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- doubts */

static void doubt(struct starts *s, const char *reason)
{
	if (s->doubt == NULL)
		s->doubt = reason;
}

static void doubt_environment(struct starts *s, const char *who)
{
	doubt(s, text("%s may change LD_LIBRARY_PATH or empty the environment, so what it starts may not get "
		      "libevent-smp. "
		      "Add the directory there (evsmp env prints it); evsmp ps shows what is in use.",
		      who));
}

static void doubt_launcher(struct starts *s, const char *who, const struct launcher *l)
{
	if (l != NULL)
		doubt(s, text("%s names %s, which starts programs %s, so these may not get libevent-smp. %s.", who,
			      l->name, l->what, l->advice));
}

static void doubt_line(struct starts *s, const char *line, const char *who, bool is_shell)
{
	struct list words = { 0 };
	size_t i;

	list_split(&words, line, " \t;&|(){}[],`'\"");
	for (i = 0; i < words.num; i++) {
		doubt_launcher(s, who, launcher_at(&words, i));
		if (starts_anew(&words, i) || is_function_with_environment(words.at[i]) ||
		    (!s->is_root && strcmp(base_name(words.at[i]), "su") == 0))
			doubt_environment(s, who);
	}
	if (strstr(line, "LD_LIBRARY_PATH") != NULL ||
	    (strstr(line, "LD_PRELOAD") != NULL && strstr(line, "libevent") != NULL))
		doubt_environment(s, who);
	if (is_shell && is_sourcing(line))
		doubt(s, text("%s reads commands from another file, which may change LD_LIBRARY_PATH, so what it "
			      "starts may not get libevent-smp. "
			      "Look there; evsmp ps shows what is in use.",
			      who));
}

/* ---------------------------------------------------------------- programs that are named */

static bool loads_libevent(const char *path)
{
	struct stat st;
	struct elf e;
	size_t i;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0 || elf_read(path, &e) != ELF_FILE)
		return false;
	for (i = 0; i < e.needed.num; i++) {
		if (starts_with(base_name(e.needed.at[i]), "libevent"))
			return true;
	}
	return false;
}

static void add_named(struct list *found, const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+@-";
	const char *path;
	size_t len;

	for (; *s != '\0'; s += len) {
		s += strcspn(s, letters);
		len = strspn(s, letters);
		path = text("%.*s", (int)len, s);
		if (*path == '/' && !list_has(found, path) && loads_libevent(path))
			list_add(found, path);
	}
}

/* Comments name nothing. Whether " #" begins one is not sure, so behind it there may be doubts. */
static void look_at_line(struct starts *s, const char *line, const char *who, bool is_shell)
{
	const char *comment = strstr(line, " #");

	line += strspn(line, " \t");
	if (*line == '#' && line[1] != '!')
		return;
	doubt_line(s, line, who, is_shell);
	add_named(&s->programs, comment == NULL || comment < line ? line : text("%.*s", (int)(comment - line), line));
}

static void look_at_text(struct starts *s, const char *data, const char *who, bool is_shell)
{
	size_t len;

	for (; data != NULL && *data != '\0'; data += len + (data[len] == '\n')) {
		len = strcspn(data, "\n");
		look_at_line(s, text("%.*s", (int)len, data), who, is_shell);
	}
}

void starts_of_script(struct starts *s, const char *path)
{
	const char *data = file_read(path, NULL), *first;

	if (data == NULL)
		return;
	first = text("%.*s", (int)strcspn(data, "\n"), data);
	look_at_text(s, data, path, strstr(first, "sh") != NULL);
}

void starts_of_words(struct starts *s, const struct list *words)
{
	size_t i;

	for (i = 1; i < words->num; i++) {
		if (starts_anew(words, i))
			doubt_environment(s, text("\"%s\"", words->at[i]));
		look_at_text(s, words->at[i], text("\"%s\"", words->at[i]), true);
	}
}
