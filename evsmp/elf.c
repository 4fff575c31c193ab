#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A number of `size` bytes at `at`; 0 outside the file. */
static uint64_t number(const struct elf *e, uint64_t at, unsigned size)
{
	uint64_t value = 0;
	unsigned i;

	if (at > e->len || e->len - at < size)
		return 0;
	for (i = 0; i < size; i++)
		value |= (uint64_t)(unsigned char)e->data[at + (e->is_little ? i : size - 1 - i)] << 8 * i;
	return value;
}

/* A field whose place and size depend on the class. */
struct field {
	uint16_t at32, size32, at64, size64;
};

#define FIELD(type, name) \
	((struct field){ offsetof(Elf32_##type, name), sizeof(((Elf32_##type *)0)->name), \
			 offsetof(Elf64_##type, name), sizeof(((Elf64_##type *)0)->name) })
#define GET(e, base, type, name) get(e, base, FIELD(type, name))
#define SIZE(e, type) ((e)->is_64 ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

static uint64_t get(const struct elf *e, uint64_t base, struct field f)
{
	return e->is_64 ? number(e, base + f.at64, f.size64) : number(e, base + f.at32, f.size32);
}

enum { STRING_MAX = 4096 };	/* C++ has long names; a damaged file must not cost its square */

/* A text within the file; NULL: it is not, or it is too long. */
static const char *string(const struct elf *e, uint64_t at)
{
	uint64_t len = at < e->len ? e->len - at : 0;

	if (len > STRING_MAX)
		len = STRING_MAX;
	return len != 0 && memchr(e->data + at, '\0', (size_t)len) != NULL ? e->data + at : NULL;
}

/* The place of a program header; the headers end before `*num`. */
static uint64_t segment(const struct elf *e, uint64_t i)
{
	return GET(e, 0, Ehdr, e_phoff) + i * GET(e, 0, Ehdr, e_phentsize);
}

/* Where the byte of an address is in the file; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct elf *e, uint64_t address)
{
	uint64_t num = GET(e, 0, Ehdr, e_phnum), i, p, start;

	for (i = 0; i < num; i++) {
		p = segment(e, i);
		start = GET(e, p, Phdr, p_vaddr);
		if (GET(e, p, Phdr, p_type) == PT_LOAD && address >= start &&
		    address - start < GET(e, p, Phdr, p_filesz))
			return GET(e, p, Phdr, p_offset) + (address - start);
	}
	return UINT64_MAX;
}

struct dynamic {
	uint64_t tag, value;
};

static struct dynamic dynamic(const struct elf *e, uint64_t p, uint64_t i)
{
	uint64_t at = GET(e, p, Phdr, p_offset) + i * SIZE(e, Dyn);

	if (i >= GET(e, p, Phdr, p_filesz) / SIZE(e, Dyn))
		return (struct dynamic){ DT_NULL, 0 };
	return (struct dynamic){ GET(e, at, Dyn, d_tag), GET(e, at, Dyn, d_un) };
}

/* `p`: the header of the dynamic segment. */
static void read_dynamic(struct elf *e, uint64_t p)
{
	uint64_t strings = UINT64_MAX, i;
	struct dynamic d;
	const char *s;

	for (i = 0; (d = dynamic(e, p, i)).tag != DT_NULL; i++) {
		if (d.tag == DT_STRTAB)
			strings = offset_of(e, d.value);
	}
	if (strings == UINT64_MAX) {
		e->is_complete = i == 0;
		return;
	}
	for (i = 0; (d = dynamic(e, p, i)).tag != DT_NULL; i++) {
		if (d.tag != DT_NEEDED && d.tag != DT_RPATH && d.tag != DT_RUNPATH && d.tag != DT_SONAME)
			continue;
		s = string(e, strings + d.value);
		if (s == NULL)
			e->is_complete = false;
		else if (d.tag == DT_NEEDED)
			list_add(&e->needed, s);
		else if (d.tag == DT_RPATH)
			e->rpath = s;
		else if (d.tag == DT_SONAME)
			e->soname = s;
		else
			e->runpath = s;
	}
	if (e->runpath != NULL)
		e->rpath = NULL;	/* the loader does not look at it then */
}

static void read_segments(struct elf *e)
{
	uint64_t num = GET(e, 0, Ehdr, e_phnum), i, p;

	for (i = 0; i < num; i++) {
		p = segment(e, i);
		switch (GET(e, p, Phdr, p_type)) {
		case PT_INTERP:
			e->interpreter = string(e, GET(e, p, Phdr, p_offset));
			e->is_complete = e->is_complete && e->interpreter != NULL;
			break;
		case PT_DYNAMIC:
			if (!e->has_dynamic)
				read_dynamic(e, p);
			e->has_dynamic = true;
			break;
		default: break;
		}
	}
}

enum elf_kind elf_parse(char *data, size_t len, struct elf *ret)
{
	struct elf e = { .data = data, .len = len, .is_complete = true };

	*ret = e;
	if (len >= 2 && memcmp(data, "#!", 2) == 0)
		return ELF_SCRIPT;
	if (len < sizeof(Elf32_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0)
		return ELF_FOREIGN;
	e.is_64 = e.data[EI_CLASS] == ELFCLASS64;
	e.is_little = e.data[EI_DATA] == ELFDATA2LSB;
	e.machine = (unsigned)GET(&e, 0, Ehdr, e_machine);
	e.is_executable = GET(&e, 0, Ehdr, e_type) == ET_EXEC || GET(&e, 0, Ehdr, e_type) == ET_DYN;
	read_segments(&e);
	*ret = e;
	return ELF_FILE;
}

enum elf_kind elf_read(const char *path, struct elf *ret)
{
	size_t len = 0;
	char *data;

	errno = 0;
	data = file_read(path, &len);
	if (data == NULL) {
		*ret = (struct elf){ .is_complete = true };
		return ELF_FOREIGN;
	}
	errno = 0;
	return elf_parse(data, len, ret);
}

bool elf_same_machine(const struct elf *a, const struct elf *b)
{
	return a->is_64 == b->is_64 && a->is_little == b->is_little && a->machine == b->machine;
}

const char *elf_machine_name(const struct elf *e)
{
	switch (e->machine) {
	case EM_X86_64: return e->is_64 ? "amd64" : "x32";
	case EM_386: return "i386";
	case EM_AARCH64: return "arm64";
	case EM_ARM: return "arm";
	case EM_RISCV: return e->is_64 ? "riscv64" : "riscv32";
	case EM_PPC64: return e->is_little ? "ppc64el" : "ppc64";
	case EM_S390: return "s390x";
	case EM_MIPS: return "mips";
	default: return text("machine %u", e->machine);
	}
}

bool elf_is_musl(const struct elf *e)
{
	size_t i;

	if (e->interpreter != NULL)
		return starts_with(base_name(e->interpreter), "ld-musl");
	for (i = 0; i < e->needed.num; i++) {
		if (starts_with(e->needed.at[i], "libc.musl-") || strcmp(e->needed.at[i], "libc.so") == 0)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- symbols */

/* The header of the first section of a type; 0: none. */
static uint64_t section(const struct elf *e, uint64_t type)
{
	uint64_t num = GET(e, 0, Ehdr, e_shnum), size = GET(e, 0, Ehdr, e_shentsize), i, at;

	for (i = 0; i < num; i++) {
		at = GET(e, 0, Ehdr, e_shoff) + i * size;
		if (GET(e, at, Shdr, sh_type) == type)
			return at;
	}
	return 0;
}

/* The symbols of a table that begins at `at`, up to `end`; their names are behind `names`. */
struct table {
	uint64_t at, end, names;
};

static struct table symbol_table(const struct elf *e, uint64_t type)
{
	uint64_t at = section(e, type), names;
	struct table t = { 0 };

	if (at == 0)
		return t;
	t.at = GET(e, at, Shdr, sh_offset);
	if (t.at > e->len)
		return (struct table){ 0 };
	t.end = GET(e, at, Shdr, sh_size) > e->len - t.at ? e->len : t.at + GET(e, at, Shdr, sh_size);
	names = GET(e, 0, Ehdr, e_shoff) + GET(e, at, Shdr, sh_link) * GET(e, 0, Ehdr, e_shentsize);
	t.names = GET(e, names, Shdr, sh_offset);
	return t;
}

uint64_t elf_code_of(const struct elf *e, uint64_t pointer)
{
	return e->machine == EM_ARM ? pointer & ~UINT64_C(1) : pointer;
}

/* The symbol at t->at, and t->at moves to the next one. False: there is none, or it lies elsewhere. */
static bool next_symbol(const struct elf *e, struct table *t, struct elf_symbol *ret)
{
	struct elf_symbol s = { 0 };
	uint64_t info, at;

	for (; t->end - t->at >= SIZE(e, Sym); t->at += SIZE(e, Sym)) {
		at = t->at;
		s.name = string(e, t->names + GET(e, at, Sym, st_name));
		if (s.name == NULL || s.name[0] == '\0' || GET(e, at, Sym, st_shndx) == SHN_UNDEF)
			continue;
		info = GET(e, at, Sym, st_info);
		s.address = GET(e, at, Sym, st_value);
		s.size = GET(e, at, Sym, st_size);
		s.is_function = (info & 15) == STT_FUNC || (info & 15) == STT_GNU_IFUNC;
		s.is_global = info >> 4 != STB_LOCAL;
		if (s.is_function)
			s.address = elf_code_of(e, s.address);
		*ret = s;
		t->at += SIZE(e, Sym);
		return true;
	}
	return false;
}

bool elf_symbol(const struct elf *e, const char *name, struct elf_symbol *ret)
{
	struct table t = symbol_table(e, SHT_DYNSYM);
	struct elf_symbol s;

	while (next_symbol(e, &t, &s)) {
		if (strcmp(s.name, name) != 0)
			continue;
		s.offset = offset_of(e, s.address);
		*ret = s;
		return s.offset < e->len;
	}
	return false;
}

bool elf_each_symbol(const struct elf *e, enum elf_table table, void (*fn)(const struct elf_symbol *s, void *arg),
		     void *arg)
{
	struct table t = symbol_table(e, table == ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM);
	bool has_any = t.at != t.end;
	struct elf_symbol s;

	while (next_symbol(e, &t, &s))
		fn(&s, arg);
	return has_any;
}

bool elf_code_at(const struct elf *e, uint64_t offset, uint64_t *ret)
{
	uint64_t num = GET(e, 0, Ehdr, e_phnum), i, p, start;

	for (i = 0; i < num; i++) {
		p = segment(e, i);
		start = GET(e, p, Phdr, p_offset);
		if (GET(e, p, Phdr, p_type) == PT_LOAD && (GET(e, p, Phdr, p_flags) & PF_X) != 0 && offset >= start &&
		    offset - start < GET(e, p, Phdr, p_filesz)) {
			*ret = GET(e, p, Phdr, p_vaddr) + (offset - start);
			return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- build id */

enum { ID_MAX = 64, NOTE_HEAD = 12 };

static uint64_t aligned(uint64_t len)
{
	return (len + 3) & ~UINT64_C(3);
}

/* Looks through the notes in [at, end). */
static char *id_in(const struct elf *e, uint64_t at, uint64_t end)
{
	uint64_t names_len, len, i;
	char *id;

	for (; end - at >= NOTE_HEAD; at += NOTE_HEAD + aligned(names_len) + aligned(len)) {
		names_len = number(e, at, 4);
		len = number(e, at + 4, 4);
		if (aligned(names_len) + aligned(len) > end - at - NOTE_HEAD)
			return NULL;
		if (number(e, at + 8, 4) != NT_GNU_BUILD_ID || names_len != 4 || len < 2 || len > ID_MAX ||
		    memcmp(e->data + at + NOTE_HEAD, "GNU", 4) != 0)
			continue;
		id = must(malloc((size_t)(2 * len + 1)));
		for (i = 0; i < len; i++)
			sprintf(id + 2 * i, "%02x", (unsigned)number(e, at + NOTE_HEAD + 4 + i, 1));
		return id;
	}
	return NULL;
}

char *elf_build_id(const struct elf *e)
{
	uint64_t num = GET(e, 0, Ehdr, e_phnum), i, p, at, len;
	char *id = NULL;

	for (i = 0; i < num && id == NULL; i++) {
		p = segment(e, i);
		at = GET(e, p, Phdr, p_offset);
		len = GET(e, p, Phdr, p_filesz);
		if (GET(e, p, Phdr, p_type) == PT_NOTE && at <= e->len && len <= e->len - at)
			id = id_in(e, at, at + len);
	}
	return id;
}
