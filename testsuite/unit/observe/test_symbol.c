/*
 * core/observe/symbol.c: names of addresses, and files that are damaged in every way.
 */
#include "table.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/observe/symbol.h"

/* A static function, which the loader does not know. */
__attribute__((noinline)) static int a_static_function(int x)
{
	return x * 3 + 1;
}

int an_exported_function(int x);
__attribute__((noinline)) int an_exported_function(int x)
{
	return a_static_function(x) + 1;
}

static void a_function_is_found_by_its_address(void **state)
{
	struct ec_symbol s;

	(void)state;
	assert_int_equal(an_exported_function(1), 5);
	ec_symbol_find((const void *)(uintptr_t)a_static_function, EC_SYMBOL_ENTRY, &s);
	assert_string_equal(s.name, "a_static_function");
	assert_true(s.in_name == 0);
	assert_non_null(strstr(s.object, "test_observe_symbol"));
	ec_symbol_find((const char *)(uintptr_t)an_exported_function + 2, EC_SYMBOL_ENTRY, &s);
	assert_string_equal(s.name, "an_exported_function");
	assert_true(s.in_name == 2);
}

/* A call that never returns may be the last instruction of its function: the return address is behind it. */
static void a_return_address_belongs_to_the_call(void **state)
{
	const char *at = (const char *)(uintptr_t)an_exported_function;
	struct ec_symbol s, entry;

	(void)state;
	ec_symbol_find(at, EC_SYMBOL_ENTRY, &entry);
	ec_symbol_find(at, EC_SYMBOL_RETURN, &s);
	assert_string_not_equal(s.name, "an_exported_function");
	assert_true(s.in_object == entry.in_object);
	ec_symbol_find(at + 2, EC_SYMBOL_RETURN, &s);
	assert_string_equal(s.name, "an_exported_function");
	assert_true(s.in_name == 2);
}

/* In Thumb code it is not what a pointer to the function has. */
static void a_program_counter_may_be_at_the_entry(void **state)
{
	const void *pointer = (const void *)(uintptr_t)an_exported_function;
	const void *pc = (const void *)ec_symbol_code(pointer);
	struct ec_symbol s, entry;

	(void)state;
	ec_symbol_find(pointer, EC_SYMBOL_ENTRY, &entry);
	ec_symbol_find(pc, EC_SYMBOL_ENTRY, &s);
	assert_string_equal(s.name, "an_exported_function");
	assert_true(s.in_name == 0);
	assert_true(s.in_object == entry.in_object);
}

static void a_library_has_its_own_name(void **state)
{
	struct ec_symbol s;

	(void)state;
	/* Not one that a sanitizer has, too. */
	ec_symbol_find((const void *)(uintptr_t)_cmocka_run_group_tests, EC_SYMBOL_ENTRY, &s);
	assert_non_null(strstr(s.object, "lib"));
	assert_true(s.in_object != 0);
}

static void memory_without_a_file_has_no_name(void **state)
{
	struct ec_symbol s;
	int here = 0;

	(void)state;
	ec_symbol_find(&here, EC_SYMBOL_ENTRY, &s);
	assert_string_equal(s.name, "");
	assert_string_equal(s.object, "");
	ec_symbol_find(NULL, EC_SYMBOL_ENTRY, &s);
	assert_string_equal(s.object, "");
}

/* ---------------------------------------------------------------- damaged files */

struct image {
	unsigned char *bytes;
	size_t len;
	int fd;
};

static struct image image_open(void)
{
	struct image image = { .fd = memfd_create("image", MFD_CLOEXEC) };
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && image.fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	image.len = (size_t)st.st_size;
	image.bytes = malloc(image.len);
	assert_non_null(image.bytes);
	assert_int_equal(read(fd, image.bytes, image.len), image.len);
	close(fd);
	return image;
}

static void image_close(struct image *image)
{
	close(image->fd);
	free(image->bytes);
}

static void image_write(struct image *image, size_t len)
{
	assert_int_equal(ftruncate(image->fd, 0), 0);
	assert_int_equal(pwrite(image->fd, image->bytes, len, 0), len);
}

/* The place in the file of a_static_function. */
static uint64_t offset_of_code(const struct image *image)
{
	const ElfW(Ehdr) *head = (const void *)image->bytes;
	const ElfW(Phdr) *part = (const void *)(image->bytes + head->e_phoff);
	struct ec_symbol entry;
	unsigned i;

	ec_symbol_find((const void *)(uintptr_t)a_static_function, EC_SYMBOL_ENTRY, &entry);
	for (i = 0; i < head->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD && entry.in_object - part[i].p_vaddr < part[i].p_filesz)
			return entry.in_object - part[i].p_vaddr + part[i].p_offset;
	}
	fail_msg("no part of the file is at %#llx", (unsigned long long)entry.in_object);
	return 0;
}

static void a_file_that_was_cut_gives_no_wrong_name(void **state)
{
	struct image image = image_open();
	struct ec_symbol s;
	uint64_t code;
	size_t len;

	(void)state;
	image_write(&image, image.len);
	code = offset_of_code(&image);
	assert_true(ec_symbol_read(image.fd, code, &s));
	assert_string_equal(s.name, "a_static_function");
	for (len = 0; len < image.len; len += 1 + image.len / 512) {
		image_write(&image, len);
		if (ec_symbol_read(image.fd, code, &s) && s.name[0] != '\0')
			assert_string_equal(s.name, "a_static_function");
	}
	image_close(&image);
}

/* Each byte of the headers with values that are hard; it must only end, and stay in its buffers (sanitizers). */
static void a_file_with_a_damaged_header_does_no_harm(void **state)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct image image = image_open();
	unsigned char before;
	struct ec_symbol s;
	uint64_t code;
	size_t i, j;

	(void)state;
	image_write(&image, image.len);
	code = offset_of_code(&image);
	for (i = 0; i < 512; i++) {
		before = image.bytes[i];
		for (j = 0; j < ROWS(values); j++) {
			assert_int_equal(pwrite(image.fd, &values[j], 1, (off_t)i), 1);
			if (ec_symbol_read(image.fd, code, &s))
				assert_true(strlen(s.name) < sizeof(s.name));
		}
		assert_int_equal(pwrite(image.fd, &before, 1, (off_t)i), 1);
	}
	assert_true(ec_symbol_read(image.fd, code, &s));
	assert_string_equal(s.name, "a_static_function");
	image_close(&image);
}

static void what_is_no_elf_file_has_no_names(void **state)
{
	struct image image = image_open();
	struct ec_symbol s;

	(void)state;
	assert_false(ec_symbol_read(image.fd, 0, &s));
	assert_int_equal(pwrite(image.fd, "#!/bin/sh\n", 10, 0), 10);
	assert_false(ec_symbol_read(image.fd, 0, &s));
	assert_false(ec_symbol_read(-1, 0, &s));
	image_write(&image, image.len);
	assert_false(ec_symbol_read(image.fd, UINT64_MAX, &s));
	image_close(&image);
}

/* Whatever a file calls its functions, a terminal gets printable letters. */
static void odd_names_are_shown_as_question_marks(void **state)
{
	struct image image = image_open();
	struct ec_symbol s;
	unsigned char *at;
	uint64_t code;

	(void)state;
	image_write(&image, image.len);
	code = offset_of_code(&image);
	for (at = image.bytes; at + 17 <= image.bytes + image.len; at++) {
		if (memcmp(at, "a_static_function", 17) == 0)
			memcpy(at, "\033[2J", 4);
	}
	image_write(&image, image.len);
	assert_true(ec_symbol_read(image.fd, code, &s));
	assert_string_equal(s.name, "?[2Jatic_function");
	image_close(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_by_its_address),
		cmocka_unit_test(a_return_address_belongs_to_the_call),
		cmocka_unit_test(a_program_counter_may_be_at_the_entry),
		cmocka_unit_test(a_library_has_its_own_name),
		cmocka_unit_test(memory_without_a_file_has_no_name),
		cmocka_unit_test(a_file_that_was_cut_gives_no_wrong_name),
		cmocka_unit_test(a_file_with_a_damaged_header_does_no_harm),
		cmocka_unit_test(what_is_no_elf_file_has_no_names),
		cmocka_unit_test(odd_names_are_shown_as_question_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
