/*
 * A folder for one test program's files, which goes with the program.
 */
#ifndef LIBASYNC_FOLDER_H
#define LIBASYNC_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "str.h"

class folder
{
	char path[64] = "/tmp/libasync-XXXXXX";

	static int remove_entry(const char *name, const struct stat *, int, FTW *) { return remove(name); }

public:
	folder()
	{
		if (mkdtemp(path) == nullptr)
			abort();
	}

	~folder() { nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

	str name(const char *file) const { return strbuf() << path << "/" << file; }

	/* A file with these bytes; its name. */
	str put(const char *file, const str &bytes) const
	{
		str to = name(file);
		FILE *f = fopen(to, "w");

		if (f == nullptr || fwrite(bytes.cstr(), 1, bytes.len(), f) != bytes.len() || fclose(f) != 0)
			abort();
		return to;
	}
};

#endif
