/*
 * core/observe/trace_file.c and mapped.c: who may open the file, what is in it, and that nothing is left of it after
 * each system call that can fail has failed. Ours stand before the C library's (meson.build).
 */
#include "../emulated.h"
#include "../table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/observe/control.h"
#include "core/observe/mapped.h"
#include "core/observe/trace.h"
#include "evsmp/rings.h"

/* ---------------------------------------------------------------- faults */

static unsigned calls_num, fail_at;	/* 0: none fails */
static const char *fail_name;
static int fail_errno;

/* The Nth call of that name fails. */
static bool is_due(const char *name)
{
	if (fail_name == NULL || strcmp(name, fail_name) != 0 || ++calls_num != fail_at)
		return false;
	errno = fail_errno;
	return true;
}

#define WRAP(type, failed, name, params, args) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		return is_due(#name) ? (failed) : __real_##name args; \
	}

WRAP(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, -1, ftruncate64, (int fd, off_t len), (fd, len))
WRAP(int, -1, madvise, (void *at, size_t len, int advice), (at, len, advice))
WRAP(void *, MAP_FAILED, mmap64, (void *at, size_t len, int prot, int flags, int fd, off_t offset),
     (at, len, prot, flags, fd, offset))
WRAP(int, fail_errno, posix_fallocate64, (int fd, off_t at, off_t len), (fd, at, len))
WRAP(ssize_t, -1, read, (int fd, void *data, size_t len), (fd, data, len))

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return is_due("open64") ? -1 : __real_open64(path, flags, mode);
}

static int fds_num(void)
{
	DIR *d = opendir("/proc/self/fd");
	int num = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		num++;
	closedir(d);
	return num;
}

/* ---------------------------------------------------------------- an observer */

enum { WORKERS = 3 };

struct fixture {
	struct ec_observer *o;
	int fds;
};

static struct fixture make(void)
{
	struct fixture f;
	unsigned i;

	f.o = calloc(1, sizeof(*f.o) + WORKERS * sizeof(f.o->probes[0]));
	assert_non_null(f.o);
	f.o->base = 7;
	f.o->workers_max = WORKERS;
	for (i = 0; i < WORKERS; i++) {
		f.o->probes[i].observer = f.o;
		f.o->probes[i].worker = i;
	}
	f.fds = fds_num();
	return f;
}

static void end(struct fixture *f)
{
	ec_trace_consumer.fini(f->o);
	assert_null(f->o->trace);
	assert_int_equal(fds_num(), f->fds);
	free(f->o);
}

static int open_probe(struct fixture *f, unsigned i)
{
	return ec_trace_consumer.open(&f->o->probes[i]);
}

static const struct ec_control_file *file_of_control(void)
{
	const struct ec_control_file *found = NULL;
	unsigned i;

	for (i = 0; i < EC_CONTROL_FILES; i++) {
		if (ec_load_relaxed(&ec_control_own.files[i].kind) == EC_OBSERVE_TRACE)
			found = &ec_control_own.files[i];
	}
	return found;
}

/* What a tool reads. */
static struct rings read_file(void)
{
	const struct ec_control_file *c = file_of_control();
	struct rings r;

	assert_non_null(c);
	assert_null(rings_open(dup(c->fd), 1000, &r));
	rings_read(&r);
	return r;
}

/* ---------------------------------------------------------------- tests */

static void tools_find_what_workers_write(void **state)
{
	struct fixture f = make();
	struct ec_probe *p = &f.o->probes[1];
	struct ec_probe_call call = { .fn = 0x1234, .began_at = 100 };
	struct rings r;
	struct stat st;
	char *maps;

	(void)state;
	assert_null(file_of_control());
	assert_int_equal(open_probe(&f, 1), 0);
	assert_int_equal(open_probe(&f, 0), 0);
	ec_trace_consumer.begin(p, &call);
	p->now = 150;
	ec_trace_consumer.end(p, &call);
	ec_trace_consumer.note(p, EC_PROBE_MOVE, 5, 0);
	r = read_file();
	assert_int_equal(r.head.pid, getpid());
	assert_int_equal(r.head.base, 7);
	assert_int_equal(r.head.rings_num, WORKERS);
	assert_int_equal(r.head.records_num, EC_TRACE_RECORDS);
	assert_int_equal(r.rings[0].num, 1);
	assert_int_equal(r.rings[1].num, 3);
	assert_int_equal(r.rings[1].at[1].word[0], 100 << 8 | EC_TRACE_CALL);
	assert_int_equal(r.rings[2].num, 0);
	assert_false(r.is_closed);
	maps = rings_maps(&r);
	assert_non_null(strstr(maps, "test_observe_trace_file"));
	free(maps);
	assert_int_equal(fstat(r.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_non_null(file_of_control());
	ec_trace_consumer.close(p);
	assert_null(file_of_control());
	rings_read(&r);
	assert_true(r.is_closed);
	rings_close(&r);
	end(&f);
}

static void tool_chooses_the_length(void **state)
{
	static const struct {
		const char *name;
		uint64_t wanted;
		uint32_t num;
	} table[] = {
		{ "default", 0, EC_TRACE_RECORDS },
		{ "least", 1, EC_TRACE_RECORDS_MIN },
		{ "a power of two", 1000, 1024 },
		{ "most", UINT64_MAX, EC_TRACE_RECORDS_MAX },
	};
	struct rings r;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		struct fixture f = make();

		ec_control_own.trace[0] = table[i].wanted;
		assert_row(open_probe(&f, 0) == 0, table[i].name);
		r = read_file();
		assert_row(r.head.records_num == table[i].num, table[i].name);
		rings_close(&r);
		ec_trace_consumer.close(&f.o->probes[0]);
		end(&f);
	}
	ec_control_own.trace[0] = 0;
}

/* While a base has objects, and is traced, faces tell what callbacks touch. */
static void objects_are_there_if_they_were_asked_for(void **state)
{
	struct fixture f = make();

	(void)state;
	assert_int_equal(open_probe(&f, 0), 0);
	assert_false(f.o->probes[0].trace->has_objects);
	assert_int_equal(ec_watched() & EC_WATCH_TOUCH, 0);
	ec_trace_consumer.close(&f.o->probes[0]);
	ec_control_own.trace[1] = EC_CONTROL_TRACE_OBJECTS;
	assert_int_equal(open_probe(&f, 0), 0);
	ec_control_own.trace[1] = 0;
	assert_true(f.o->probes[0].trace->has_objects);
	assert_int_not_equal(ec_watched() & EC_WATCH_TOUCH, 0);
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_int_equal(ec_watched() & EC_WATCH_TOUCH, 0);
	end(&f);
}

/* The same file goes on while the trace is wanted, though all consumers are closed and opened again. */
static void other_consumer_does_not_split_it(void **state)
{
	struct fixture f = make();
	const struct ec_control_file *c;
	struct stat before, after;

	(void)state;
	ec_store_relaxed(&ec_control_own.wanted, EC_OBSERVE_TRACE);
	assert_int_equal(open_probe(&f, 0), 0);
	c = file_of_control();
	assert_int_equal(fstat(c->fd, &before), 0);
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_int_equal(open_probe(&f, 0), 0);
	assert_ptr_equal(file_of_control(), c);
	assert_int_equal(fstat(c->fd, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	ec_store_relaxed(&ec_control_own.wanted, 0);
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_null(file_of_control());
	end(&f);
}

static bool is_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool is_found = false;
	char line[1000];

	assert_non_null(maps);
	while (!is_found && fgets(line, sizeof(line), maps) != NULL)
		is_found = strstr(line, "libevent-smp-trace") != NULL;
	fclose(maps);
	return is_found;
}

static void child_has_no_memory_of_it(void **state)
{
	struct fixture f;
	pid_t pid;
	int status;

	(void)state;
	if (!has_dont_fork())
		skip();
	f = make();
	assert_int_equal(open_probe(&f, 0), 0);
	assert_true(is_mapped());
	pid = fork();
	if (pid == 0)
		_exit(is_mapped());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ec_trace_consumer.close(&f.o->probes[0]);
	end(&f);
}

/* ---------------------------------------------------------------- descriptors that the program closes */

static const char own_text[] = "the program's own";

/* The program closes what it does not know, and opens a file, which gets the number. */
static int take_descriptor(void)
{
	int fd = file_of_control()->fd, own = memfd_create("own", MFD_CLOEXEC);

	assert_int_equal(dup2(own, fd), fd);
	close(own);
	assert_int_equal(write(fd, own_text, sizeof(own_text)), sizeof(own_text));
	return fd;
}

static void assert_untouched(int own)
{
	char text[100];

	assert_int_equal(pread(own, text, sizeof(text), 0), sizeof(own_text));
	assert_string_equal(text, own_text);
	close(own);
}

static void file_of_the_program_is_not_written(void **state)
{
	struct fixture f = make();
	int own;

	(void)state;
	assert_int_equal(open_probe(&f, 0), 0);
	own = take_descriptor();
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_null(file_of_control());
	assert_untouched(own);
	end(&f);
}

/* Who writes to the old file goes on there. Who comes next has a file that tools can open. */
static void lost_file_has_a_successor(void **state)
{
	struct fixture f = make();
	struct rings r;
	int own;

	(void)state;
	assert_int_equal(open_probe(&f, 0), 0);
	own = take_descriptor();
	assert_int_equal(open_probe(&f, 1), 0);
	ec_trace_consumer.note(&f.o->probes[0], EC_PROBE_MOVE, 5, 0);
	r = read_file();
	assert_int_equal(r.rings[0].num, 0);
	assert_int_equal(r.rings[1].num, 1);
	rings_close(&r);
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_non_null(file_of_control());
	ec_store_relaxed(&ec_control_own.wanted, EC_OBSERVE_TRACE);
	ec_trace_consumer.close(&f.o->probes[1]);
	assert_untouched(own);

	/* Nobody writes to it. */
	own = take_descriptor();
	assert_int_equal(open_probe(&f, 0), 0);
	r = read_file();
	assert_int_equal(r.rings[0].num, 1);
	rings_close(&r);
	ec_store_relaxed(&ec_control_own.wanted, 0);
	ec_trace_consumer.close(&f.o->probes[0]);
	assert_null(file_of_control());
	assert_untouched(own);
	end(&f);
}

/* ---------------------------------------------------------------- what fails */

/* Two workers are opened. The error of the first that fails is returned, and what is open is closed. */
static int open_two(struct fixture *f)
{
	int r = open_probe(f, 0), s = r < 0 ? 0 : open_probe(f, 1);

	if (r == 0)
		ec_trace_consumer.close(&f->o->probes[0]);
	if (r == 0 && s == 0)
		ec_trace_consumer.close(&f->o->probes[1]);
	return r < 0 ? r : s;
}

static void each_failure_leaves_nothing(void **state)
{
	static const struct {
		const char *name;
		int err;
		unsigned failures;	/* how many of its calls make the opening fail; the others can be lived with */
	} table[] = {
		{ "memfd_create", EMFILE, 1 },
		{ "fchmod", EPERM, 1 },
		{ "ftruncate64", EFBIG, 1 },
		{ "madvise", EINVAL, 2 },
		{ "mmap64", ENOMEM, 2 },
		{ "posix_fallocate64", ENOSPC, 3 },	/* and one that can: of the mappings */
		{ "open64", EMFILE, 0 },
		{ "read", EIO, 0 },
	};
	unsigned failures, nth;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		failures = 0;
		for (nth = 1; nth == 1 || calls_num >= fail_at; nth++) {
			struct fixture f = make();
			int r;

			calls_num = 0;
			fail_at = nth;
			fail_errno = table[i].err;
			fail_name = table[i].name;
			r = open_two(&f);
			fail_name = NULL;
			assert_row(r == 0 || r == -table[i].err || (r == -ENOMEM && failures < 2), table[i].name);
			failures += r < 0;
			assert_row(file_of_control() == NULL, table[i].name);
			end(&f);
			assert_row(nth < 100, table[i].name);
		}
		assert_row(failures == table[i].failures, table[i].name);
	}
}

static void old_kernel_has_files_without_names(void **state)
{
	struct ec_mapped m;

	(void)state;
	calls_num = 0;
	fail_at = 1;
	fail_errno = ENOSYS;
	fail_name = "memfd_create";
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/tmp", 1), 0);
	if (ec_mapped_new(NULL, "title", 4096, &m) == -EOPNOTSUPP) {
		fail_name = NULL;
		skip();
	}
	fail_name = NULL;
	assert_int_equal(calls_num, 1);
	m.at[4095] = 'x';
	ec_mapped_free(&m);
}

/* ---------------------------------------------------------------- names */

static void named_file_is_the_owners(void **state)
{
	char dir[] = "/tmp/ec-mapped-XXXXXX", path[64], other[64];
	struct ec_mapped m;
	struct stat st;
	mode_t umask_before = umask(0);

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace", dir);
	snprintf(other, sizeof(other), "%s/link", dir);
	assert_int_equal(ec_mapped_new(path, NULL, 4096, &m), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	ec_mapped_free(&m);
	assert_int_equal(stat(path, &st), 0);

	/* It is never written over, and no link is followed. */
	assert_int_equal(ec_mapped_new(path, NULL, 4096, &m), -EEXIST);
	assert_int_equal(symlink("nowhere", other), 0);
	assert_int_equal(ec_mapped_new(other, NULL, 4096, &m), -EEXIST);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(unlink(path), 0);

	/* Of one that cannot be mapped, nothing stays. */
	fail_at = 1;
	calls_num = 0;
	fail_errno = ENOMEM;
	fail_name = "mmap64";
	assert_int_equal(ec_mapped_new(path, NULL, 4096, &m), -ENOMEM);
	fail_name = NULL;
	assert_int_equal(rmdir(dir), 0);
	umask(umask_before);
}

/* 0: as it should be. In a child: the environment stays set. */
static int lose_named_file(const char *path)
{
	struct fixture f = make();
	int own;

	assert_int_equal(setenv("EVENT_SMP_TRACE", path, 1), 0);
	ec_control_read_environment();
	assert_int_equal(open_probe(&f, 0), 0);
	own = take_descriptor();
	assert_int_equal(open_probe(&f, 1), 0);
	if (f.o->probes[0].trace->file != f.o->probes[1].trace->file)
		return 1;
	assert_int_not_equal(file_of_control()->fd, own);
	ec_trace_consumer.close(&f.o->probes[0]);
	ec_trace_consumer.close(&f.o->probes[1]);
	assert_untouched(own);
	end(&f);
	return 0;
}

/* The `nth` reservation fails: is there no file afterwards? 2: all goes well. In a child: the environment stays set. */
static int full_disk(const char *path, unsigned nth)
{
	struct fixture f = make();
	int r;

	assert_int_equal(setenv("EVENT_SMP_TRACE", path, 1), 0);
	ec_control_read_environment();
	calls_num = 0;
	fail_at = nth;
	fail_errno = ENOSPC;
	fail_name = "posix_fallocate64";
	r = open_two(&f);
	fail_name = NULL;
	return r == -ENOSPC ? access(path, F_OK) != 0 : 2;
}

static int status_of_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void named_file_is_opened_again(void **state)
{
	char dir[] = "/tmp/ec-mapped-XXXXXX", path[64];
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace", dir);
	pid = fork();
	if (pid == 0)
		_exit(lose_named_file(path));
	assert_int_equal(status_of_child(pid), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void full_disk_leaves_no_file(void **state)
{
	/* The head, the mappings, the first worker; the second one, when the first one has written its records. */
	static const int expected[] = { 1, 2, 1, 0 };
	char dir[] = "/tmp/ec-mapped-XXXXXX", path[64];
	unsigned nth;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace", dir);
	for (nth = 1; nth <= ROWS(expected); nth++) {
		pid = fork();
		if (pid == 0)
			_exit(full_disk(path, nth));
		assert_int_equal(status_of_child(pid), expected[nth - 1]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* 0: as it should be. */
static int without_standard_descriptors(void)
{
	const struct rlimit none_above = { 1, 1 };
	struct ec_mapped m;

	close(0);
	close(2);
	if (ec_mapped_new(NULL, "title", 4096, &m) != 0)
		return 1;
	if (m.fd <= 2 || ftruncate(m.fd, 0) == 0 || errno != EPERM)
		return 2;
	ec_mapped_free(&m);
	if (setrlimit(RLIMIT_NOFILE, &none_above) < 0 || ec_mapped_new(NULL, "title", 4096, &m) != -EINVAL)
		return 3;
	return fcntl(0, F_GETFD) < 0 ? 0 : 4;
}

static void messages_and_tools_cannot_spoil_it(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(without_standard_descriptors());
	assert_int_equal(status_of_child(pid), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_find_what_workers_write),
		cmocka_unit_test(tool_chooses_the_length),
		cmocka_unit_test(objects_are_there_if_they_were_asked_for),
		cmocka_unit_test(other_consumer_does_not_split_it),
		cmocka_unit_test(child_has_no_memory_of_it),
		cmocka_unit_test(file_of_the_program_is_not_written),
		cmocka_unit_test(lost_file_has_a_successor),
		cmocka_unit_test(each_failure_leaves_nothing),
		cmocka_unit_test(old_kernel_has_files_without_names),
		cmocka_unit_test(named_file_is_the_owners),
		cmocka_unit_test(named_file_is_opened_again),
		cmocka_unit_test(full_disk_leaves_no_file),
		cmocka_unit_test(messages_and_tools_cannot_spoil_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
