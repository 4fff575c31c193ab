/*
 * Programs and libraries, from which evsmp takes what they load and the names of functions. What it finds is within the
 * file, and costs no more than its length.
 */
#include "fuzz.h"

#include <string.h>

#include "evsmp/elf.h"

struct seen {
	const char *from, *to;
	size_t num;
};

static void note(const struct elf_symbol *s, void *arg)
{
	struct seen *seen = arg;

	FUZZ_CHECK(s->name >= seen->from && s->name + strlen(s->name) < seen->to);
	seen->num++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + (size == 0)), *id;
	struct seen seen = { copy, copy + size, 0 };
	struct elf_symbol symbol;
	struct elf e;
	uint64_t at;
	size_t i;

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, data, size);
	if (elf_parse(copy, size, &e) == ELF_FILE) {
		(void)elf_each_symbol(&e, ELF_SYMTAB, note, &seen);
		(void)elf_each_symbol(&e, ELF_DYNSYM, note, &seen);
		FUZZ_CHECK(seen.num <= size / 8);
		(void)elf_symbol(&e, "ec_process", &symbol);
		(void)elf_code_at(&e, 0x1000, &at);
		id = elf_build_id(&e);
		FUZZ_CHECK(id == NULL || strlen(id) % 2 == 0);
		free(id);
	}
	for (i = 0; i < e.needed.num; i++)
		free(e.needed.at[i]);
	free(e.needed.at);
	free(copy);
	return 0;
}
