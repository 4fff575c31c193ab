#include "maps.h"

#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"

const char *maps_file_of(pid_t pid, const char *name)
{
	return rooted(text("/proc/%d/%s", (int)pid, name));
}

static bool read_mapping(char *line, struct mapping *ret)
{
	struct mapping m = { 0 };
	char *path = strchr(line, '/'), access[5] = "";

	if (path == NULL || sscanf(line, "%llx-%llx %4s %llx", &m.from, &m.to, access, &m.offset) != 4)
		return false;
	m.is_deleted = ends_with(path, DELETED);
	if (m.is_deleted)
		path[strlen(path) - strlen(DELETED)] = '\0';
	m.path = path;
	m.is_code = strchr(access, 'x') != NULL;
	*ret = m;
	return true;
}

void maps_parse(char *lines, struct maps *ret)
{
	struct maps maps = { 0 };
	struct mapping m;
	char *line;

	while ((line = strsep(&lines, "\n")) != NULL) {
		/* A lookup relies on their order. */
		if (!read_mapping(line, &m) || m.from >= m.to ||
		    (maps.num != 0 && m.from < maps.at[maps.num - 1].to))
			continue;
		m.path = text("%s", m.path);
		maps.at = must(realloc(maps.at, (maps.num + 1) * sizeof(*maps.at)));
		maps.at[maps.num++] = m;
	}
	*ret = maps;
}

bool maps_read(pid_t pid, struct maps *ret)
{
	char *lines = file_read(maps_file_of(pid, "maps"), NULL);

	if (lines == NULL)
		return false;
	maps_parse(lines, ret);
	free(lines);
	return true;
}

void maps_free(struct maps *maps)
{
	size_t i;

	for (i = 0; i < maps->num; i++)
		free((void *)(uintptr_t)maps->at[i].path);
	free(maps->at);
	*maps = (struct maps){ 0 };
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->num, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (address < maps->at[middle].from)
			high = middle;
		else if (address >= maps->at[middle].to)
			low = middle + 1;
		else
			return &maps->at[middle];
	}
	return NULL;
}

/* The link in map_files also leads to a deleted file, but only for root. */
bool maps_read_file(pid_t pid, const struct mapping *m, struct elf *ret)
{
	const char *link = maps_file_of(pid, text("map_files/%llx-%llx", m->from, m->to));

	if (pid != 0 && elf_read(link, ret) == ELF_FILE)
		return true;
	return !m->is_deleted &&
	       elf_read(pid == 0 ? rooted(m->path) : maps_file_of(pid, text("root%s", m->path)), ret) == ELF_FILE;
}
