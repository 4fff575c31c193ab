/*
 * file2str and str2file: whole files, and what is left when something fails.
 */
#include "serial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "folder.h"
#include "test.h"
#include "dies.h"

namespace
{

folder *dir;

int make_folder(void **)
{
	dir = new folder;
	return 0;
}

int remove_folder(void **)
{
	delete dir;
	return 0;
}

str content(const char *file)
{
	return file2str(dir->name(file));
}

/* Whether the folder has a name that ends in ~. */
bool is_anything_left()
{
	DIR *d = opendir(dir->name(""));
	bool is_left = false;

	while (struct dirent *e = readdir(d))
		is_left |= e->d_name[strlen(e->d_name) - 1] == '~';
	closedir(d);
	return is_left;
}

void file2str_str2file_reads_what_was_written(void **)
{
	str f = dir->name("f");
	str binary("a\0b\n\xff", 5);

	assert_true(str2file(f, "text\n"));
	assert_true(file2str(f) == "text\n");
	assert_true(str2file(f, "no newline"));
	assert_true(file2str(f) == "no newline\n");
	assert_true(str2file(f, binary, 0666, false, NULL, true));
	assert_true(file2str(f) == binary);
	assert_true(str2file(f, ""));
	assert_true(file2str(f) != NULL && file2str(f) == "");
	assert_false(is_anything_left());
}

void file2str_str2file_large(void **)
{
	mstr m(3000000);

	memset(m.cstr(), 'L', m.len());
	m.cstr()[0] = '\0';
	str s(m);
	assert_true(str2file(dir->name("large"), s, 0666, false, NULL, true, true));
	assert_true(content("large") == s);
}

void file2str_fails_with_errno(void **)
{
	errno = 0;
	assert_true(content("missing") == NULL);
	assert_int_equal(errno, ENOENT);
	assert_true(file2str(dir->name("")) == NULL);
	assert_int_equal(errno, EISDIR);
	assert_true(file2str(str()) == NULL);
	assert_int_equal(errno, EINVAL);
	str f = dir->put("gone", "x");
	unlink(f);
	assert_true(file2str(f) == NULL);
	assert_int_equal(errno, ENOENT);
}

void file2str_reads_files_of_unknown_size(void **)
{
	str s = file2str("/proc/self/status");

	assert_true(s != NULL && s.len() > 10);
	assert_memory_equal(s.cstr(), "Name:", 5);
	assert_true(file2str("/dev/null") == "");

	str fifo = dir->name("fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	std::thread writer([&] {
		int fd = open(fifo, O_WRONLY);
		char block[10000] = "";

		for (int i = 0; i < 10; i++)
			assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
		close(fd);
	});
	assert_int_equal(file2str(fifo).len(), 100000);
	writer.join();
}

void str2file_mode_and_stat(void **)
{
	struct stat st, again;
	mode_t old = umask(027);

	assert_true(str2file(dir->name("mode"), "x\n", 0666, false, &st));
	umask(old);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_size, 2);
	assert_int_equal(stat(dir->name("mode"), &again), 0);
	assert_int_equal(st.st_ino, again.st_ino);
}

void str2file_replaces_at_once(void **)
{
	str f = dir->put("old", "old");
	int fd = open(f, O_RDONLY);
	char c[4] = "";

	assert_true(str2file(f, "new\n"));
	assert_int_equal(read(fd, c, 3), 3);
	assert_string_equal(c, "old");
	assert_true(content("old") == "new\n");
	close(fd);
}

void str2file_excl_does_not_replace(void **)
{
	str f = dir->put("taken", "mine");

	assert_false(str2file(f, "other", 0666, true));
	assert_int_equal(errno, EEXIST);
	assert_true(content("taken") == "mine");
	assert_true(str2file(dir->name("free"), "x", 0666, true));
	assert_true(content("free") == "x\n");
	assert_false(is_anything_left());
}

void str2file_fails_and_leaves_nothing(void **)
{
	struct stat st;
	struct stat before;

	memset(&st, 7, sizeof(st));
	before = st;
	assert_false(str2file(dir->name("no/such/folder"), "x", 0666, false, &st));
	assert_int_equal(errno, ENOENT);
	assert_memory_equal(&st, &before, sizeof(st));
	assert_false(str2file(str(), "x"));
	assert_int_equal(errno, EINVAL);
	assert_false(str2file(dir->name("x"), str()));
	assert_false(str2file(str("a\0b", 3), "x"));
	assert_int_equal(mkdir(dir->name("d"), 0700), 0);
	assert_false(str2file(dir->name("d"), "x"));
	assert_int_equal(errno, EISDIR);
	assert_false(is_anything_left());
}

void str2file_on_a_full_disk(void **)
{
	str f = dir->put("full", "kept");
	mstr m(100000);

	memset(m.cstr(), 'x', m.len());
	str big(m);
	ended e = run_in_child([&] {
		struct rlimit small;

		signal(SIGXFSZ, SIG_IGN);
		getrlimit(RLIMIT_FSIZE, &small);
		small.rlim_cur = 5000;
		setrlimit(RLIMIT_FSIZE, &small);
		_exit(!str2file(f, big) && errno == EFBIG ? 0 : 1);
	});
	assert_true(e.has_exited(0));
	assert_true(content("full") == "kept");
	assert_false(is_anything_left());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file2str_str2file_reads_what_was_written),
		cmocka_unit_test(file2str_str2file_large),
		cmocka_unit_test(file2str_fails_with_errno),
		cmocka_unit_test(file2str_reads_files_of_unknown_size),
		cmocka_unit_test(str2file_mode_and_stat),
		cmocka_unit_test(str2file_replaces_at_once),
		cmocka_unit_test(str2file_excl_does_not_replace),
		cmocka_unit_test(str2file_fails_and_leaves_nothing),
		cmocka_unit_test(str2file_on_a_full_disk),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
