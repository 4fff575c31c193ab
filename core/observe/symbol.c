#include "symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/thread.h"

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Shdr elf_section;
typedef Elf64_Sym elf_symbol;
enum { CLASS = ELFCLASS64 };
#define SYMBOL_TYPE(info) ELF64_ST_TYPE(info)
#define SYMBOL_BIND(info) ELF64_ST_BIND(info)
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Shdr elf_section;
typedef Elf32_Sym elf_symbol;
enum { CLASS = ELFCLASS32 };
#define SYMBOL_TYPE(info) ELF32_ST_TYPE(info)
#define SYMBOL_BIND(info) ELF32_ST_BIND(info)
#endif

/* A file may be damaged: nothing in it is believed. */
enum { SEGMENTS_MAX = 1000, SECTIONS_MAX = 100000, ROW = 128 };

static const uint64_t FILE_MAX = UINT64_C(1) << 40;

static void make_printable(char *s)
{
	for (; *s != '\0'; s++) {
		if (*s < ' ' || *s > '~')
			*s = '?';
	}
}

/* ---------------------------------------------------------------- a file */

static bool read_at(int fd, uint64_t at, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (at > FILE_MAX)
		return false;
	while (done < len) {
		n = pread(fd, (char *)buf + done, len - done, (off_t)(at + done));
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0)
			done += (size_t)n;
	}
	return true;
}

static bool read_header(int fd, elf_header *h)
{
	return read_at(fd, 0, h, sizeof(*h)) && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
	       h->e_ident[EI_CLASS] == CLASS && h->e_phentsize == sizeof(elf_segment);
}

/* The address at which the file wants to have the byte at `offset`. */
static bool find_address(int fd, const elf_header *h, uint64_t offset, uint64_t *ret)
{
	elf_segment s;
	unsigned i;

	for (i = 0; i < h->e_phnum && i < SEGMENTS_MAX; i++) {
		if (h->e_phoff > FILE_MAX || !read_at(fd, h->e_phoff + i * sizeof(s), &s, sizeof(s)))
			return false;
		if (s.p_type == PT_LOAD && offset >= s.p_offset && offset - s.p_offset < s.p_filesz) {
			*ret = offset - s.p_offset + s.p_vaddr;
			return true;
		}
	}
	return false;
}

static bool read_section(int fd, const elf_header *h, uint32_t i, elf_section *ret)
{
	return i < h->e_shnum && h->e_shentsize == sizeof(*ret) && h->e_shoff <= FILE_MAX &&
	       read_at(fd, h->e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

static bool find_section(int fd, const elf_header *h, uint32_t type, elf_section *ret)
{
	uint32_t i;

	for (i = 0; i < h->e_shnum && i < SECTIONS_MAX; i++) {
		if (!read_section(fd, h, i, ret))
			return false;
		if (ret->sh_type == type)
			return ret->sh_entsize == sizeof(elf_symbol) && ret->sh_offset <= FILE_MAX &&
			       ret->sh_size <= FILE_MAX;
	}
	return false;
}

/* Hand-written assembly has no sizes: such a function reaches to the next one. */
static bool is_better(const elf_symbol *s, const elf_symbol *best, uint64_t address)
{
	unsigned type = SYMBOL_TYPE(s->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF || s->st_name == 0 ||
	    s->st_value > address || (s->st_size != 0 && address - s->st_value >= s->st_size))
		return false;
	if (best->st_name == 0 || s->st_value != best->st_value)
		return best->st_name == 0 || s->st_value > best->st_value;
	return SYMBOL_BIND(s->st_info) == STB_GLOBAL && SYMBOL_BIND(best->st_info) != STB_GLOBAL;
}

/* The function at `address` in one table: best->st_name is not 0 then. */
static void search(int fd, const elf_section *table, uint64_t address, elf_symbol *best)
{
	uint64_t num = table->sh_size / sizeof(*best), at, i, row;
	elf_symbol symbols[ROW];

	for (at = 0; at < num; at += row) {
		row = num - at < ROW ? num - at : ROW;
		if (!read_at(fd, table->sh_offset + at * sizeof(*best), symbols, (size_t)row * sizeof(*best)))
			return;
		for (i = 0; i < row; i++) {
			symbols[i].st_value &= ~(uintptr_t)EC_SYMBOL_MODE;
			if (is_better(&symbols[i], best, address))
				*best = symbols[i];
		}
	}
}

/* What of the name is in the file, and has room. */
static void read_name(int fd, const elf_section *names, uint32_t at, char name[EC_SYMBOL_NAME])
{
	uint64_t left = at < names->sh_size ? names->sh_size - at : 0;
	size_t len = left < EC_SYMBOL_NAME - 1 ? (size_t)left : EC_SYMBOL_NAME - 1;

	if (names->sh_offset > FILE_MAX || !read_at(fd, names->sh_offset + at, name, len))
		len = 0;
	name[len] = '\0';
	make_printable(name);
}

static bool find_name(int fd, const elf_header *h, uint32_t type, uint64_t address, struct ec_symbol *ret)
{
	elf_section table, names;
	elf_symbol best = { 0 };

	if (!find_section(fd, h, type, &table) || !read_section(fd, h, table.sh_link, &names))
		return false;
	search(fd, &table, address, &best);
	if (best.st_name == 0)
		return false;
	read_name(fd, &names, best.st_name, ret->name);
	ret->in_name = address - best.st_value;
	return ret->name[0] != '\0';
}

bool ec_symbol_read(int fd, uint64_t offset, struct ec_symbol *ret)
{
	elf_header h;
	uint64_t address;

	ret->name[0] = '\0';
	ret->in_name = 0;
	if (!read_header(fd, &h) || !find_address(fd, &h, offset, &address))
		return false;
	ret->in_object = address;
	if (!find_name(fd, &h, SHT_SYMTAB, address, ret) && !find_name(fd, &h, SHT_DYNSYM, address, ret))
		ret->name[0] = '\0';
	return true;
}

/* ---------------------------------------------------------------- this process */

/* A line of /proc/self/maps. True: the address is in it, and it maps a file. */
static bool parse_mapping(char *line, uintptr_t addr, uint64_t *offset, struct ec_symbol *ret)
{
	uint64_t from, to, file_offset;
	int path_at = 0;
	char *end;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &from, &to, &file_offset,
		   &path_at) != 3 ||
	    path_at == 0 || addr < from || addr >= to || line[path_at] != '/')
		return false;
	end = strchr(line + path_at, '\n');
	if (end != NULL)
		*end = '\0';
	snprintf(ret->object, sizeof(ret->object), "%s", line + path_at);
	*offset = addr - from + file_offset;
	return true;
}

static bool find_mapping(uintptr_t addr, uint64_t *offset, struct ec_symbol *ret)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool is_found = false;
	char line[5000];

	if (maps == NULL)
		return false;
	while (!is_found && fgets(line, sizeof(line), maps) != NULL)
		is_found = parse_mapping(line, addr, offset, ret);
	(void)fclose(maps);
	return is_found;
}

/* A mapped file may be a device, too. */
static bool read_object(uint64_t offset, struct ec_symbol *ret)
{
	int fd = open(ret->object, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	bool is_read;

	if (fd < 0)
		return false;
	is_read = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ec_symbol_read(fd, offset, ret);
	ec_close(fd);
	return is_read;
}

static void ask_loader(uintptr_t addr, struct ec_symbol *ret)
{
	Dl_info info;

	ret->name[0] = '\0';
	if (dladdr((const void *)(addr | EC_SYMBOL_MODE), &info) == 0)
		return;
	if (info.dli_fname != NULL)
		snprintf(ret->object, sizeof(ret->object), "%s", info.dli_fname);
	ret->in_object = addr - (uintptr_t)info.dli_fbase;
	if (info.dli_sname == NULL)
		return;
	snprintf(ret->name, sizeof(ret->name), "%s", info.dli_sname);
	ret->in_name = addr - ec_symbol_code(info.dli_saddr);
	make_printable(ret->name);
}

void ec_symbol_find(const void *addr, enum ec_symbol_kind kind, struct ec_symbol *ret)
{
	unsigned back = kind == EC_SYMBOL_RETURN;
	uintptr_t at = ec_symbol_code(addr) - back;
	int state = ec_cancel_hold();
	uint64_t offset;

	memset(ret, 0, sizeof(*ret));
	if (!find_mapping(at, &offset, ret) || !read_object(offset, ret))
		ask_loader(at, ret);
	ec_cancel_release(state);
	make_printable(ret->object);
	ret->in_name += back;
	ret->in_object += back;
}
