#include "symbols.h"

#include <stdlib.h>
#include <string.h>

#include "maps.h"

struct function {
	uint64_t address, size;
	const char *name;
	bool is_global;
};

/* One for each file, however many mappings it has. */
struct object {
	const char *path;
	unsigned long long key;	/* where its first mapping begins: two files may have had one path */
	struct elf elf, debug;
	bool is_known;		/* false: the file could not be read */
	struct function *functions;	/* by address */
	size_t functions_num, functions_cap;
};

struct name {
	uint64_t address;
	char *text;		/* NULL: free */
};

struct symbols {
	pid_t pid;		/* 0: it has ended */
	struct maps maps;
	struct object **objects;
	size_t objects_num;
	struct name *names;	/* a hash table, at most half full */
	size_t names_num, names_cap;
};

/* ---------------------------------------------------------------- the functions of a file */

static void add_function(const struct elf_symbol *s, void *arg)
{
	struct object *o = arg;

	if (!s->is_function)
		return;
	if (o->functions_num == o->functions_cap) {
		o->functions_cap = 2 * o->functions_cap + 64;
		o->functions = must(realloc(o->functions, o->functions_cap * sizeof(*o->functions)));
	}
	o->functions[o->functions_num++] = (struct function){
		.address = s->address,
		.size = s->size,
		.name = s->name,
		.is_global = s->is_global,
	};
}

/* Of several names for one address the last is taken: that of a program's author before those of libraries' insides. */
static int compare(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	if (f->address != g->address)
		return f->address < g->address ? -1 : 1;
	if (f->is_global != g->is_global)
		return f->is_global ? 1 : -1;
	if ((f->name[0] == '_') != (g->name[0] == '_'))
		return f->name[0] == '_' ? -1 : 1;
	return strcmp(g->name, f->name);
}

/* A stripped file's tables are in a file that its build id names. */
static void read_debug(struct object *o)
{
	char *id = elf_build_id(&o->elf), *id_there, *path;

	if (id == NULL)
		return;
	path = rooted(text("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2));
	if (elf_read(path, &o->debug) == ELF_FILE) {
		id_there = elf_build_id(&o->debug);
		if (id_there != NULL && strcmp(id, id_there) == 0)
			elf_each_symbol(&o->debug, ELF_SYMTAB, add_function, o);
		free(id_there);
	}
	free(path);
	free(id);
}

static void read_functions(struct object *o)
{
	if (!elf_each_symbol(&o->elf, ELF_SYMTAB, add_function, o)) {
		read_debug(o);
		elf_each_symbol(&o->elf, ELF_DYNSYM, add_function, o);
	}
	if (o->functions_num != 0)
		qsort(o->functions, o->functions_num, sizeof(*o->functions), compare);
}

/* The last one that begins at or before `address`, if it reaches that far. */
static const struct function *find_function(const struct object *o, uint64_t address)
{
	size_t low = 0, high = o->functions_num, middle;
	const struct function *f;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (o->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	f = &o->functions[low - 1];
	/* Hand-written assembly has no size: it reaches to the next one. */
	return f->size == 0 || address - f->address < f->size ? f : NULL;
}

/* ---------------------------------------------------------------- one file */

struct object *symbols_file_new(const char *path)
{
	struct object *o = must(calloc(1, sizeof(*o)));

	o->path = text("%s", path);
	o->is_known = elf_read(path, &o->elf) == ELF_FILE;
	if (!o->is_known) {
		symbols_file_free(o);
		return NULL;
	}
	read_functions(o);
	return o;
}

void symbols_file_free(struct object *o)
{
	if (o == NULL)
		return;
	free((void *)(uintptr_t)o->path);
	free(o->functions);
	free(o->elf.data);
	free(o->debug.data);
	free(o);
}

const char *symbols_file_find(const struct object *o, uint64_t address)
{
	const struct function *f = find_function(o, address);

	return f == NULL ? NULL : f->name;
}

/* ---------------------------------------------------------------- the files of a process */

static unsigned long long key_of(const struct symbols *s, const struct mapping *m)
{
	const struct mapping *first = m;

	while (first > s->maps.at && strcmp(first[-1].path, m->path) == 0)
		first--;
	return first->from;
}

static struct object *object_of(struct symbols *s, const struct mapping *m)
{
	unsigned long long key = key_of(s, m);
	struct object *o;
	size_t i;

	for (i = 0; i < s->objects_num; i++) {
		o = s->objects[i];
		if (o->key == key && strcmp(o->path, m->path) == 0)
			return o;
	}
	o = must(calloc(1, sizeof(*o)));
	o->path = text("%s", m->path);
	o->key = key;
	o->is_known = maps_read_file(s->pid, m, &o->elf);
	if (o->is_known)
		read_functions(o);
	s->objects = must(realloc(s->objects, (s->objects_num + 1) * sizeof(*s->objects)));
	s->objects[s->objects_num++] = o;
	return o;
}

struct symbols *symbols_of_maps(char *maps)
{
	struct symbols *s = must(calloc(1, sizeof(*s)));

	maps_parse(maps, &s->maps);
	return s;
}

struct symbols *symbols_new(pid_t pid)
{
	struct symbols *s;
	struct maps maps;

	if (!maps_read(pid, &maps))
		return NULL;
	s = must(calloc(1, sizeof(*s)));
	s->pid = pid;
	s->maps = maps;
	return s;
}

uint64_t symbols_start(const struct symbols *s)
{
	return s->maps.num == 0 ? 0 : s->maps.at[0].from;
}

/* A program lies below its libraries. */
const char *symbols_program(const struct symbols *s)
{
	return s->maps.num == 0 ? "?" : base_name(s->maps.at[0].path);
}

/* It may have loaded another library since. */
static const struct mapping *find_mapping(struct symbols *s, uint64_t address)
{
	const struct mapping *m = maps_find(&s->maps, address);
	struct maps maps;

	if (m != NULL || s->pid == 0 || !maps_read(s->pid, &maps))
		return m;
	maps_free(&s->maps);
	s->maps = maps;
	return maps_find(&s->maps, address);
}

void symbols_free(struct symbols *s)
{
	size_t i;

	for (i = 0; i < s->objects_num; i++)
		symbols_file_free(s->objects[i]);
	for (i = 0; i < s->names_cap; i++)
		free(s->names[i].text);
	free(s->names);
	free(s->objects);
	maps_free(&s->maps);
	free(s);
}

struct symbol symbols_find(struct symbols *s, uint64_t address)
{
	const struct mapping *m = find_mapping(s, address);
	const struct function *f;
	const struct object *o;
	struct symbol symbol = { 0 };
	uint64_t offset, at;

	if (m == NULL)
		return symbol;
	o = object_of(s, m);
	offset = address - m->from + m->offset;
	symbol.file = o->path;
	symbol.offset = symbol.at = offset;
	if (!o->is_known || !elf_code_at(&o->elf, offset, &at))
		return symbol;
	at = elf_code_of(&o->elf, at);
	symbol.offset = symbol.at = at;
	f = find_function(o, at);
	if (f != NULL) {
		symbol.name = f->name;
		symbol.offset = at - f->address;
	}
	return symbol;
}

/* ---------------------------------------------------------------- texts */

const char *symbols_own_work(const char *path, const char *name)
{
	static const struct {
		const char *name, *work;
	} works[] = {
		{ "accept_cb", "accept" },	 { "arrival_cb", "accept" },	  { "ready_cb", "accept" },
		{ "retry_cb", "accept" },	 { "le_bev_later_cb", "output" }, { "write_cb", "output" },
		{ "read_cb", "input" },		 { "linger_cb", "close" },	  { "refill_cb", "rate limit" },
		{ "tick_cb", "rate limit" },	 { "read_ready", "DNS input" },	  { "write_ready", "DNS output" },
		{ "timers_fire", "DNS timer" }, { "wake_cb", "HTTP client" },
	};
	static char ret[128];
	size_t i;

	if (!starts_with(base_name(path), "libevent"))
		return NULL;
	for (i = 0; i < sizeof(works) / sizeof(*works) && strcmp(works[i].name, name) != 0; i++)
		;
	if (i < sizeof(works) / sizeof(*works))
		name = works[i].work;
	(void)snprintf(ret, sizeof(ret), "%.100s (libevent)", name);
	return ret;
}

static char *make_text(struct symbols *s, uint64_t address)
{
	struct symbol symbol = symbols_find(s, address);
	const char *name = symbol.name != NULL ? symbol.name : symbol.file != NULL ? base_name(symbol.file) : NULL;
	const char *own = NULL;

	if (name == NULL)
		return text("0x%llx", (unsigned long long)address);
	if (symbol.name != NULL && symbol.offset == 0)
		own = symbols_own_work(symbol.file, name);
	if (symbol.name != NULL && symbol.offset == 0)
		return text("%s", own != NULL ? own : name);
	return text("%s+0x%llx", name, (unsigned long long)symbol.offset);
}

/* Where the text of an address is, or would be. */
static struct name *place_of(struct name *names, size_t cap, uint64_t address)
{
	size_t i = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % cap;

	while (names[i].text != NULL && names[i].address != address)
		i = (i + 1) % cap;
	return &names[i];
}

static void grow_names(struct symbols *s)
{
	size_t cap = 2 * s->names_cap + 256, i;
	struct name *names = must(calloc(cap, sizeof(*names)));

	for (i = 0; i < s->names_cap; i++) {
		if (s->names[i].text != NULL)
			*place_of(names, cap, s->names[i].address) = s->names[i];
	}
	free(s->names);
	s->names = names;
	s->names_cap = cap;
}

const char *symbols_name(struct symbols *s, uint64_t address)
{
	struct name *name;

	if (s->names_num >= s->names_cap / 2)
		grow_names(s);
	name = place_of(s->names, s->names_cap, address);
	if (name->text == NULL) {
		name->address = address;
		name->text = make_text(s, address);
		s->names_num++;
	}
	return name->text;
}
