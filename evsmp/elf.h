/*
 * What the head of a program or library says: for which machine it is, what it loads, and from where.
 */
#ifndef EVSMP_ELF_H
#define EVSMP_ELF_H

#include <stdint.h>

#include "say.h"

struct elf {
	char *data;
	size_t len;
	bool is_64;
	bool is_little;
	unsigned machine;		/* EM_… */
	bool is_executable;		/* ET_EXEC or ET_DYN: the kernel may start it, or the loader load it */
	const char *interpreter;	/* the loader; NULL: none */
	bool has_dynamic;
	struct list needed;		/* DT_NEEDED */
	const char *rpath, *runpath;	/* DT_RPATH, DT_RUNPATH; NULL: none */
	const char *soname;		/* DT_SONAME; NULL: none */
	bool is_complete;		/* false: its tables lie outside the file */
};

enum elf_kind { ELF_FOREIGN, ELF_FILE, ELF_SCRIPT };

/* ELF_FOREIGN also for what cannot be read: errno is then not 0. `ret->data` is the file in each case, or NULL. */
enum elf_kind elf_read(const char *path, struct elf *ret);
/* The same for what is in memory. */
enum elf_kind elf_parse(char *data, size_t len, struct elf *ret);

bool elf_same_machine(const struct elf *a, const struct elf *b);
const char *elf_machine_name(const struct elf *e);
bool elf_is_musl(const struct elf *e);

/* A function or variable that it defines. */
struct elf_symbol {
	const char *name;
	uint64_t address;		/* in memory, from the start of the library */
	uint64_t size;			/* 0: not known */
	uint64_t offset;		/* in the file; only elf_symbol() sets it */
	bool is_function, is_global;
};

/* The exported symbol of that name. */
bool elf_symbol(const struct elf *e, const char *name, struct elf_symbol *ret);

enum elf_table { ELF_DYNSYM, ELF_SYMTAB };

/* Calls fn for each symbol with a name. False: it has no such table. */
bool elf_each_symbol(const struct elf *e, enum elf_table table, void (*fn)(const struct elf_symbol *s, void *arg),
		     void *arg);

/* The code that a pointer to a function means: bit 0 of one to ARM's code says which instruction set that has. */
uint64_t elf_code_of(const struct elf *e, uint64_t pointer);

/* The address, as symbols have it, of the code that is at `offset` of the file. */
bool elf_code_at(const struct elf *e, uint64_t offset, uint64_t *ret);

/* In hexadecimal digits; the caller frees it. NULL: it has none. */
char *elf_build_id(const struct elf *e);

#endif
