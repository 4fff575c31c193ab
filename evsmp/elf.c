#include "elf.h"

#include <elf.h>
#include <errno.h>
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

/* A text within the file; NULL: it is not. */
static const char *string(const struct elf *e, uint64_t at)
{
	return at < e->len && memchr(e->data + at, '\0', e->len - at) != NULL ? e->data + at : NULL;
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
			e->has_dynamic = true;
			read_dynamic(e, p);
			break;
		default: break;
		}
	}
}

enum elf_kind elf_read(const char *path, struct elf *ret)
{
	struct elf e = { .is_complete = true };

	errno = 0;
	e.data = file_read(path, &e.len);
	*ret = e;
	if (e.data == NULL)
		return ELF_FOREIGN;
	errno = 0;
	if (e.len >= 2 && memcmp(e.data, "#!", 2) == 0)
		return ELF_SCRIPT;
	if (e.len < sizeof(Elf32_Ehdr) || memcmp(e.data, ELFMAG, SELFMAG) != 0)
		return ELF_FOREIGN;
	e.is_64 = e.data[EI_CLASS] == ELFCLASS64;
	e.is_little = e.data[EI_DATA] == ELFDATA2LSB;
	e.machine = (unsigned)GET(&e, 0, Ehdr, e_machine);
	e.is_executable = GET(&e, 0, Ehdr, e_type) == ET_EXEC || GET(&e, 0, Ehdr, e_type) == ET_DYN;
	read_segments(&e);
	*ret = e;
	return ELF_FILE;
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

bool elf_symbol(const struct elf *e, const char *name, struct elf_symbol *ret)
{
	uint64_t num = GET(e, 0, Ehdr, e_shnum), size = GET(e, 0, Ehdr, e_shentsize), i, at;
	uint64_t table, strings, symbols_num, j, symbol;
	const char *s;

	for (i = 0; i < num; i++) {
		at = GET(e, 0, Ehdr, e_shoff) + i * size;
		if (GET(e, at, Shdr, sh_type) != SHT_DYNSYM)
			continue;
		table = GET(e, at, Shdr, sh_offset);
		symbols_num = GET(e, at, Shdr, sh_size) / SIZE(e, Sym);
		at = GET(e, 0, Ehdr, e_shoff) + GET(e, at, Shdr, sh_link) * size;
		strings = GET(e, at, Shdr, sh_offset);
		for (j = 0; j < symbols_num && table + j * SIZE(e, Sym) < e->len; j++) {
			symbol = table + j * SIZE(e, Sym);
			s = string(e, strings + GET(e, symbol, Sym, st_name));
			if (s == NULL || strcmp(s, name) != 0 || GET(e, symbol, Sym, st_shndx) == SHN_UNDEF)
				continue;
			ret->address = GET(e, symbol, Sym, st_value);
			ret->size = GET(e, symbol, Sym, st_size);
			ret->offset = offset_of(e, ret->address);
			return ret->offset < e->len;
		}
	}
	return false;
}
