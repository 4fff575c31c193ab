/*
 * The name of an address of this process: the function, and the place in its file that addr2line takes.
 *
 * Names come from the file's symbol table, which has those of static functions too, else from its dynamic symbols. The
 * file is read again for each question, and no lock of the loader is taken: a callback may hang in dlopen. Only where
 * the file cannot be read (after chroot, or when a package was upgraded), the loader is asked.
 */
#ifndef EC_SYMBOL_H
#define EC_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

enum { EC_SYMBOL_NAME = 128, EC_SYMBOL_OBJECT = 512 };

/* Printable ASCII only: other bytes of a file's names are '?'. */
struct ec_symbol {
	char name[EC_SYMBOL_NAME];	/* "": not known */
	uint64_t in_name;		/* bytes behind its start */
	char object[EC_SYMBOL_OBJECT];	/* the file's path; "": no file is mapped there */
	uint64_t in_object;		/* the address in that file */
};

/*
 * On ARM, bit 0 of a function's symbol, of a pointer to it and of a return address in a register
 * says whether the code is Thumb. A program counter and an unwinder's frames do not have the bit.
 */
#ifdef __arm__
enum { EC_SYMBOL_MODE = 1 };
#else
enum { EC_SYMBOL_MODE = 0 };
#endif

/* Where the code is. */
static inline uintptr_t ec_symbol_code(const void *pointer)
{
	return (uintptr_t)pointer & ~(uintptr_t)EC_SYMBOL_MODE;
}

/* is_return: `addr` is where a call returns to, perhaps already in the next function. */
enum ec_symbol_kind { EC_SYMBOL_ENTRY, EC_SYMBOL_RETURN };
void ec_symbol_find(const void *addr, enum ec_symbol_kind kind, struct ec_symbol *ret);

/*
 * The function at `offset` of the ELF file `fd`, any file: fills name, in_name and in_object. False: it is no ELF file
 * of this machine, is damaged, or has no code there. The name is "" if only that is not known.
 */
bool ec_symbol_read(int fd, uint64_t offset, struct ec_symbol *ret);

#endif
