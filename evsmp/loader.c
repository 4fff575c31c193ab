#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "owner.h"

/*
 * A loader named in a program's head is itself a program that runs now. So it must be one by its name, and belong to
 * root or to the caller.
 */
static void check_loader(const struct program *p)
{
	const char *name = base_name(p->elf.interpreter);
	struct stat st;

	if (stat(p->elf.interpreter, &st) < 0)
		die(p->elf.is_64 == (sizeof(void *) == 8) ? EVSMP_LOADER : EVSMP_NO_ARCHITECTURE,
		    "%s needs the loader %s, which is not there. Install the C library of %s.", p->binary,
		    p->elf.interpreter, elf_machine_name(&p->elf));
	if (!starts_with(name, "ld-") && !starts_with(name, "ld.so") && !starts_with(name, "ld64.so"))
		die(EVSMP_LOADER,
		    "%s is started by %s, which is no loader that evsmp knows. Nothing can be done here.", p->binary,
		    p->elf.interpreter);
	if (!starts_with(p->elf.interpreter, "/") || (!owner_is_root(st.st_uid) && st.st_uid != geteuid()))
		die(EVSMP_LOADER, "%s is started by %s, which belongs to another user. Do not run it.", p->binary,
		    p->elf.interpreter);
}

static _Noreturn void exec_loader(const struct program *p, const char *library_path)
{
	const char *loader = p->elf.interpreter;

	unsetenv("LD_LIBRARY_PATH");
	if (library_path != NULL)
		setenv("LD_LIBRARY_PATH", library_path, 1);
	/* They make it say something else. */
	unsetenv("LD_DEBUG");
	unsetenv("LD_VERBOSE");
	unsetenv("LD_SHOW_AUXV");
	unsetenv("LD_PROFILE");
	if (elf_is_musl(&p->elf)) {
		execl(loader, loader, "--list", p->binary, (char *)NULL);
	} else {
		setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
		setenv("LD_WARN", "yes", 1);
		setenv("LD_BIND_NOW", "yes", 1);
		execl(loader, loader, p->binary, (char *)NULL);
	}
	dprintf(STDERR_FILENO, "%s: %m\n", loader);
	_exit(127);
}

/* Where standard output is closed, a pipe takes its number, and dup2() to itself would leave it to be closed. */
static int above_standard(int fd)
{
	int other;

	if (fd > STDERR_FILENO)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return other;
}

/* Both outputs, in one text. */
static char *run_loader(const struct program *p, const char *library_path, int *ret_status)
{
	char *said;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0 || (fds[1] = above_standard(fds[1])) < 0 || (pid = fork()) < 0)
		die(EVSMP_SYSTEM, "the loader cannot be asked: %m. Try again.");
	if (pid == 0) {
		if (dup2(fds[1], STDOUT_FILENO) < 0 || dup2(fds[1], STDERR_FILENO) < 0)
			_exit(127);
		exec_loader(p, library_path);
	}
	close(fds[1]);
	said = file_read_all(fds[0], NULL);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	return said == NULL ? text("%s", "") : said;
}

/* The symbol in "symbol lookup error: …: undefined symbol: NAME, version V (PATH)", and in musl's words. */
static const char *undefined_in(const char *line)
{
	static const char glibc[] = "undefined symbol: ", musl[] = ": symbol not found";
	const char *at = strstr(line, glibc), *end;

	if (at != NULL) {
		at += strlen(glibc);
		return text("%.*s", (int)strcspn(at, ", \t("), at);
	}
	end = strstr(line, musl);
	if (end == NULL)
		return NULL;
	for (at = end; at > line && at[-1] != ' '; at--)
		;
	return text("%.*s", (int)(end - at), at);
}

static void add_object(struct loader_answer *answer, struct loaded object)
{
	answer->objects = must(realloc(answer->objects, (answer->num + 1) * sizeof(object)));
	answer->objects[answer->num++] = object;
}

/* "\tNAME => PATH (0x…)", "\tNAME => not found", "\tPATH (0x…)" */
static bool read_object(struct loader_answer *answer, const char *line)
{
	const char *arrow = strstr(line, " => "), *path, *end;

	if (*line != '\t')
		return false;
	line++;
	if (arrow != NULL && starts_with(arrow + 4, "not found")) {
		add_object(answer, (struct loaded){ text("%.*s", (int)(arrow - line), line), NULL, false });
		return true;
	}
	path = arrow == NULL ? line : arrow + 4;
	end = strstr(path, " (0x");
	if (end == NULL)
		return starts_with(line, "statically linked");
	path = text("%.*s", (int)(end - path), path);
	add_object(answer, (struct loaded){ arrow == NULL ? path : text("%.*s", (int)(arrow - line), line), path,
					    arrow == NULL });
	return true;
}

/* What the loader mentions and then goes on: a program with such a line runs. */
static bool is_warning(const char *line)
{
	return ends_with(line, ": ignored.") || ends_with(line, "; ignored.") ||
	       strstr(line, "no version information available") != NULL || strstr(line, "weak version `") != NULL ||
	       strstr(line, "consider re-linking") != NULL;
}

struct loader_answer loader_ask(const struct program *p, const char *library_path)
{
	struct loader_answer answer = { 0 };
	struct list lines = { 0 };
	int status = 0;
	size_t i;

	check_loader(p);
	list_split(&lines, run_loader(p, library_path, &status), "\n");
	for (i = 0; i < lines.num; i++) {
		const char *symbol = undefined_in(lines.at[i]);

		if (symbol != NULL) {
			if (!list_has(&answer.undefined, symbol))
				list_add(&answer.undefined, symbol);
		} else if (!read_object(&answer, lines.at[i]) && !is_warning(lines.at[i]) && answer.error == NULL) {
			answer.error = lines.at[i];
		}
	}
	if (answer.error == NULL && answer.num == 0 && status != 0)
		answer.error = "it gave no reason";
	list_sort(&answer.undefined);
	return answer;
}
