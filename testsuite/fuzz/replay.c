/* Runs a target on each file of the directories named, where there is no libFuzzer to do it. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
	struct stat st;
	uint8_t *data = NULL;
	FILE *f = fopen(path, "rb");
	size_t size;
	int r = -1;

	if (f == NULL || fstat(fileno(f), &st) < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		goto out;
	}
	size = (size_t)st.st_size;
	data = malloc(size + 1);
	if (data == NULL || fread(data, 1, size, f) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		goto out;
	}
	/* A crash says only where in the code; this says on what. */
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	r = 0;
out:
	free(data);
	if (f != NULL)
		fclose(f);
	return r;
}

/* The number of files, or -1. */
static int replay_dir(const char *path)
{
	char name[4096];
	struct dirent *entry;
	DIR *dir = opendir(path);
	int num = 0;

	if (dir == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= (int)sizeof(name) ||
		    replay_file(name) < 0) {
			num = -1;
			break;
		}
		num++;
	}
	closedir(dir);
	return num;
}

int main(int argc, char **argv)
{
	int i, num, all = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
		return 2;
	}
	for (i = 1; i < argc; i++) {
		num = replay_dir(argv[i]);
		if (num < 0)
			return 1;
		all += num;
	}
	printf("%d inputs\n", all);
	return all > 0 ? 0 : 1;
}
