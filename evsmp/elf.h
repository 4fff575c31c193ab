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

bool elf_same_machine(const struct elf *a, const struct elf *b);
const char *elf_machine_name(const struct elf *e);
bool elf_is_musl(const struct elf *e);

/* A function or variable that it defines. */
struct elf_symbol {
	uint64_t address, offset;	/* in memory, from the start of the library; in the file */
	uint64_t size;
};

bool elf_symbol(const struct elf *e, const char *name, struct elf_symbol *ret);

#endif
