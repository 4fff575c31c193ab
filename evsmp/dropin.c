#include "dropin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdir.h"

#define CHECKSUM "# checksum: "
#define MADE "# directory: made with this file\n"

/* ---------------------------------------------------------------- what is in it */

/* % begins a specifier. */
static const char *escape(const char *s)
{
	const char *out = "";
	size_t len;

	for (; *s != '\0'; s += len) {
		len = strcspn(s, "%");
		out = text("%s%.*s%s", out, (int)len, s, s[len] == '%' ? "%%" : "");
		len += s[len] == '%';
	}
	return out;
}

static const char *unescape(const char *s)
{
	char *out = text("%s", s), *to = out;

	for (; *s != '\0'; s++) {
		*to++ = *s;
		s += starts_with(s, "%%");
	}
	*to = '\0';
	return out;
}

/* Within quotes, and a % begins a specifier already where the unit has one. */
static const char *quote(const char *s)
{
	const char *out = "";

	for (; *s != '\0'; s++)
		out = text("%s%s%c", out, *s == '"' || *s == '\\' ? "\\" : "", *s);
	return out;
}

const char *dropin_compose(const struct unit *u, const char *libdir, const char *workers, bool is_dir_made)
{
	const char *others = unit_variable(u, "LD_LIBRARY_PATH");
	const char *body = text("# Lets %s run on libevent-smp. Written by evsmp enable; evsmp disable removes it.\n"
				"%s[Service]\nEnvironment=\"LD_LIBRARY_PATH=%s\"\n",
				u->name, is_dir_made ? MADE : "",
				libdir_before(escape(libdir), others == NULL ? NULL : quote(others)));

	if (workers != NULL)
		body = text("%sEnvironment=\"EVENT_WORKERS=%s\"\n", body, workers);
	return text(CHECKSUM "%016" PRIx64 "\n%s", text_hash(body), body);
}

bool dropin_is_ours(const char *content)
{
	const char *body = strchr(content, '\n');

	return starts_with(content, CHECKSUM) && body != NULL &&
	       strtoull(content + strlen(CHECKSUM), NULL, 16) == text_hash(body + 1);
}

void dropin_insist_on_ours(const char *path, const char *content)
{
	if (!dropin_is_ours(content))
		die(EVSMP_NOT_OURS,
		    "%s was changed after evsmp wrote it. Remove it yourself, then run systemctl daemon-reload.",
		    path);
}

/* What it names: between `before` and one of `end`; NULL: nothing. */
static const char *named_in(const char *content, const char *before, const char *end)
{
	const char *at = strstr(content, before);

	return at == NULL ? NULL : text("%.*s", (int)strcspn(at + strlen(before), end), at + strlen(before));
}

const char *dropin_workers(const char *content)
{
	return named_in(content, "\"EVENT_WORKERS=", "\"");
}

const char *dropin_libdir(const char *content)
{
	const char *s = named_in(content, "\"LD_LIBRARY_PATH=", ":\"");

	return s == NULL ? NULL : unescape(s);
}

bool dropin_made_dir(const char *content)
{
	return strstr(content, MADE) != NULL;
}

bool dropin_is_current(const struct unit *u, const char *content)
{
	const char *libdir = dropin_libdir(content), *now;

	if (libdir == NULL)
		return false;
	now = dropin_compose(u, libdir, dropin_workers(content), dropin_made_dir(content));
	return strcmp(now, content) == 0;
}

/* ---------------------------------------------------------------- its file */

/* In one step: systemd never reads half of it. */
bool dropin_write(const char *path, const char *content)
{
	const char *fresh = text("%s.new", path);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	ssize_t n;
	int err;

	if (fd < 0)
		return false;
	errno = ENOSPC;		/* for a write that is not whole */
	n = write(fd, content, strlen(content));
	if (n == (ssize_t)strlen(content) && fchmod(fd, 0644) == 0 && fsync(fd) == 0 && rename(fresh, path) == 0) {
		close(fd);
		return true;
	}
	err = errno;
	close(fd);
	(void)unlink(fresh);
	errno = err;
	return false;
}
