/*
 * evsmp/symbols.c, maps.c, elf.c: addresses of this process get the names of its functions. Files that are cut off or
 * damaged anywhere give no names or other names, but nothing outside them is read.
 */
#include "../table.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evsmp/elf.h"
#include "evsmp/maps.h"
#include "evsmp/symbols.h"

static int hidden_function(int n)
{
	return 3 * n + 1;
}

static int (*volatile call)(int) = hidden_function;

static void own_function_has_its_name(void **state)
{
	struct symbols *s = symbols_new(getpid());
	uint64_t at = (uint64_t)(uintptr_t)call;
	struct symbol symbol;

	(void)state;
	assert_non_null(s);
	assert_string_equal(symbols_name(s, at), "hidden_function");
	/* Two, for on 32-bit ARM the lowest bit names an instruction set (Thumb). */
	assert_string_equal(symbols_name(s, at + 2), "hidden_function+0x2");
	/* The second time it is remembered. */
	assert_ptr_equal(symbols_name(s, at), symbols_name(s, at));
	symbol = symbols_find(s, at);
	assert_string_equal(symbol.name, "hidden_function");
	assert_int_equal(symbol.offset, 0);
	assert_string_equal(base_name(symbol.file), "test_evsmp_symbols");
	symbols_free(s);
}

static void libraries_have_theirs(void **state)
{
	struct symbols *s = symbols_new(getpid());
	void *at = dlsym(RTLD_DEFAULT, "_fail");	/* of cmocka */

	(void)state;
	assert_non_null(at);
	assert_string_equal(symbols_name(s, (uint64_t)(uintptr_t)at), "_fail");
	symbols_free(s);
}

static void other_addresses_have_none(void **state)
{
	struct symbols *s = symbols_new(getpid());
	struct symbol symbol;
	int on_stack = 0;
	char *name;

	(void)state;
	name = text("0x%llx", (unsigned long long)(uintptr_t)&on_stack);
	assert_string_equal(symbols_name(s, (uint64_t)(uintptr_t)&on_stack), name);
	assert_string_equal(symbols_name(s, 0), "0x0");
	assert_string_equal(symbols_name(s, UINT64_MAX), "0xffffffffffffffff");
	symbol = symbols_find(s, (uint64_t)(uintptr_t)&on_stack);
	assert_null(symbol.name);
	assert_null(symbol.file);
	free(name);
	symbols_free(s);
}

static void many_names_are_kept(void **state)
{
	struct symbols *s = symbols_new(getpid());
	const char *first = symbols_name(s, 1);
	char want[32];
	uint64_t i;

	(void)state;
	for (i = 1; i <= 2000; i++) {
		snprintf(want, sizeof(want), "0x%llx", (unsigned long long)i);
		assert_string_equal(symbols_name(s, i), want);
	}
	assert_ptr_equal(symbols_name(s, 1), first);
	symbols_free(s);
}

static void our_own_functions_have_the_name_of_their_work(void **state)
{
	(void)state;
	assert_string_equal(symbols_own_work("/x/libevent_extra-2.1.so.7", "accept_cb"), "accept (libevent)");
	assert_string_equal(symbols_own_work("/x/libevent_core-2.1.so.7", "le_bev_later_cb"), "output (libevent)");
	assert_string_equal(symbols_own_work("libevent-2.1.so.7", "other_cb"), "other_cb (libevent)");
	assert_null(symbols_own_work("/usr/bin/server", "accept_cb"));
}

static void process_that_has_ended(void **state)
{
	char *maps = file_read("/proc/self/maps", NULL);
	struct symbols *s;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_null(symbols_new(pid));
	s = symbols_of_maps(maps);
	assert_string_equal(symbols_name(s, (uint64_t)(uintptr_t)call), "hidden_function");
	assert_string_equal(symbols_name(s, 1), "0x1");
	symbols_free(s);
	free(maps);
}

/* ---------------------------------------------------------------- mappings */

static void mappings_are_read(void **state)
{
	char lines[] = "1000-3000 r--p 00000000 08:01 11 /usr/bin/a b\n"
		       "3000-5000 r-xp 00002000 08:01 11 /usr/bin/a b\n"
		       "5000-6000 rw-p 00000000 00:00 0 \n"
		       "2000-9000 r-xp 00000000 08:01 12 /overlaps\n"
		       "9000-8000 r-xp 00000000 08:01 12 /ends/before/it/begins\n"
		       "nonsense /x\n"
		       "8000-a000 r-xp 00001000 08:01 13 /lib/gone.so (deleted)";
	struct maps maps;

	(void)state;
	maps_parse(lines, &maps);
	assert_int_equal(maps.num, 3);
	assert_string_equal(maps.at[1].path, "/usr/bin/a b");
	assert_true(maps.at[1].is_code && !maps.at[0].is_code && !maps.at[1].is_deleted);
	assert_int_equal(maps.at[1].offset, 0x2000);
	assert_string_equal(maps.at[2].path, "/lib/gone.so");
	assert_true(maps.at[2].is_deleted);
	assert_ptr_equal(maps_find(&maps, 0x1000), &maps.at[0]);
	assert_ptr_equal(maps_find(&maps, 0x4fff), &maps.at[1]);
	assert_ptr_equal(maps_find(&maps, 0x9999), &maps.at[2]);
	assert_null(maps_find(&maps, 0xfff));
	assert_null(maps_find(&maps, 0x5000));
	assert_null(maps_find(&maps, 0xa000));
	maps_free(&maps);
}

static void file_without_a_known_function(void **state)
{
	char lines[] = "1000-3000 r-xp 00000000 08:01 11 /there/is/no/file\n"
		       "8000-9000 r-xp 00002000 08:01 13 /lib/gone.so (deleted)";
	struct symbols *s = symbols_of_maps(lines);

	(void)state;
	assert_string_equal(symbols_name(s, 0x1234), "file+0x234");
	assert_string_equal(symbols_name(s, 0x8010), "gone.so+0x2010");
	symbols_free(s);
}

/* ---------------------------------------------------------------- debug files */

static void write_file(const char *path, const char *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* A copy without .symtab. */
static void strip(char *data)
{
	ElfW(Ehdr) *head = (void *)data;
	ElfW(Shdr) *sections = (void *)(data + head->e_shoff);
	unsigned i;

	for (i = 0; i < head->e_shnum; i++) {
		if (sections[i].sh_type == SHT_SYMTAB)
			sections[i].sh_type = SHT_NULL;
	}
}

/* What /proc/self/maps says of this program, as if the program were /program. */
static char *maps_of_program(uint64_t at)
{
	struct maps maps;
	const struct mapping *m;
	char *lines;

	assert_true(maps_read(getpid(), &maps));
	m = maps_find(&maps, at);
	assert_non_null(m);
	lines = text("%llx-%llx r-xp %llx 00:00 1 /program\n", m->from, m->to, m->offset);
	maps_free(&maps);
	return lines;
}

/* What the code of this program is called, when its stripped file is below `dir`. */
static char *name_below(const char *dir)
{
	uint64_t at = (uint64_t)(uintptr_t)call;
	char *lines = maps_of_program(at), *name;
	struct symbols *s;

	assert_int_equal(setenv("EVSMP_ROOT", dir, 1), 0);
	s = symbols_of_maps(lines);
	name = text("%s", symbols_name(s, at));
	symbols_free(s);
	assert_int_equal(unsetenv("EVSMP_ROOT"), 0);
	free(lines);
	return name;
}

static void stripped_program_has_a_debug_file(void **state)
{
	char dir[] = "/tmp/evsmp-symbols-XXXXXX", *data, *id, *path;
	struct elf e;
	size_t len;

	(void)state;
	data = file_read("/proc/self/exe", &len);
	assert_int_equal(elf_parse(data, len, &e), ELF_FILE);
	id = elf_build_id(&e);
	if (id == NULL)
		skip();
	assert_non_null(mkdtemp(dir));
	path = text("%s/usr/lib/debug/.build-id/%.2s/%s.debug", dir, id, id + 2);
	assert_int_equal(system(text("mkdir -p %s", dir_name(path))), 0);

	write_file(path, data, len);
	strip(data);
	write_file(text("%s/program", dir), data, len);
	assert_string_equal(name_below(dir), "hidden_function");

	/* Of another build, and none. */
	write_file(path, data, 64);
	assert_true(starts_with(name_below(dir), "program+0x"));
	assert_int_equal(unlink(path), 0);
	assert_true(starts_with(name_below(dir), "program+0x"));
	assert_int_equal(system(text("rm -r %s", dir)), 0);
}

/* ---------------------------------------------------------------- damaged files */

static void count(const struct elf_symbol *s, void *arg)
{
	size_t *len = arg;

	*len += strlen(s->name);
}

/* Everything that symbols.c asks, of a copy that ends where the memory does. */
static void read_all(const char *data, size_t len)
{
	char *copy = must(malloc(len + (len == 0)));
	struct elf e;
	uint64_t at;
	size_t names_len = 0;

	memcpy(copy, data, len);
	if (elf_parse(copy, len, &e) == ELF_FILE) {
		elf_each_symbol(&e, ELF_SYMTAB, count, &names_len);
		elf_each_symbol(&e, ELF_DYNSYM, count, &names_len);
		elf_code_at(&e, 0x1000, &at);
		free(elf_build_id(&e));
	}
	free(copy);
}

/* A library with all tables, small enough to be read often. */
static char *sample(size_t *ret_len)
{
	char *data = file_read("/proc/self/exe", ret_len);

	assert_non_null(data);
	return data;
}

static void truncated_files(void **state)
{
	size_t len, i;
	char *data = sample(&len);

	(void)state;
	for (i = 0; i < 200; i++)
		read_all(data, i);
	for (i = 1; i <= 10; i++)
		read_all(data, len * i / 11);
	free(data);
}

static void damaged_heads(void **state)
{
	static const unsigned char values[] = { 0x00, 0xff };
	size_t len, i, v;
	char *data = sample(&len), kept[64];

	(void)state;
	memcpy(kept, data, sizeof(kept));
	for (i = 4; i < sizeof(kept); i += 2) {
		for (v = 0; v < sizeof(values); v++) {
			memset(data + i, values[v], i + 8 <= sizeof(kept) && v % 2 == 1 ? 8 : 1);
			read_all(data, len);
			memcpy(data, kept, sizeof(kept));
		}
	}
	free(data);
}

/* The section headers, where sizes and places of the tables are. */
static void damaged_sections(void **state)
{
	size_t len, i, from;
	char *data = sample(&len), kept;
	uint64_t at = 0;

	(void)state;
	memcpy(&at, data + 0x28, sizeof(void *) == 8 ? 8 : 0);
	from = at != 0 && at < len ? (size_t)at : len - 256;
	for (i = from; i < len && i < from + 4096; i += 61) {
		kept = data[i];
		data[i] = (char)~kept;
		read_all(data, len);
		data[i] = kept;
	}
	free(data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_function_has_its_name),
		cmocka_unit_test(libraries_have_theirs),
		cmocka_unit_test(other_addresses_have_none),
		cmocka_unit_test(many_names_are_kept),
		cmocka_unit_test(our_own_functions_have_the_name_of_their_work),
		cmocka_unit_test(process_that_has_ended),
		cmocka_unit_test(mappings_are_read),
		cmocka_unit_test(file_without_a_known_function),
		cmocka_unit_test(stripped_program_has_a_debug_file),
		cmocka_unit_test(truncated_files),
		cmocka_unit_test(damaged_heads),
		cmocka_unit_test(damaged_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
