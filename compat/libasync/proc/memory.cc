/*
 * Memory that is never NULL, and the record of what was not freed.
 *
 * The record is one table under one mutex, used only while it is enabled. Whether it is, is an atomic on its own: a
 * block that was allocated before enabling is unknown to the table, and freeing it removes nothing.
 */
#include "sysconf.h"

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

namespace
{

struct block {
	const void *caller;
	size_t size;
};

struct leaks {
	std::atomic<bool> is_enabled{ false };
	std::mutex mutex;
	std::unordered_map<void *, block> blocks; /* mutex */
};

/* Never destroyed: static destructors free memory too. */
leaks &table()
{
	static leaks *all = new leaks;

	return *all;
}

void note_new(void *p, size_t size, const void *caller)
{
	leaks &all = table();

	if (!all.is_enabled.load(std::memory_order_relaxed))
		return;
	std::lock_guard<std::mutex> hold(all.mutex);
	all.blocks[p] = { caller, size };
}

void note_free(void *p)
{
	leaks &all = table();

	if (!all.is_enabled.load(std::memory_order_relaxed))
		return;
	std::lock_guard<std::mutex> hold(all.mutex);
	all.blocks.erase(p);
}

/* Without panic, which needs memory. */
[[noreturn]] void no_memory(size_t size)
{
	dprintf(STDERR_FILENO, "no memory for %zu bytes\n", size);
	abort();
}

} // namespace

#undef xmalloc
#undef xstrdup
#undef xfree

void *xmalloc(size_t size)
{
	void *p = malloc(size != 0 ? size : 1);

	if (p == nullptr)
		no_memory(size);
	note_new(p, size, __builtin_return_address(0));
	return p;
}

void *xrealloc(void *p, size_t size)
{
	void *grown;

	/* Before realloc: afterwards another thread may own the address. */
	if (p != nullptr)
		note_free(p);
	grown = realloc(p, size != 0 ? size : 1);
	if (grown == nullptr)
		no_memory(size);
	note_new(grown, size, __builtin_return_address(0));
	return grown;
}

char *xstrdup(const char *s)
{
	size_t size = strlen(s) + 1;
	char *p = static_cast<char *>(malloc(size));

	if (p == nullptr)
		no_memory(size);
	note_new(p, size, __builtin_return_address(0));
	memcpy(p, s, size);
	return p;
}

void xfree(void *p)
{
	if (p == nullptr)
		return;
	note_free(p);
	free(p);
}

void simple_leak_checker_enable()
{
	table().is_enabled = true;
}

void simple_leak_checker_disable()
{
	table().is_enabled = false;
}

void simple_leak_checker_reset()
{
	leaks &all = table();
	std::lock_guard<std::mutex> hold(all.mutex);

	all.blocks.clear();
}

void simple_leak_checker_report()
{
	leaks &all = table();
	std::map<const void *, std::pair<size_t, size_t>> callers;

	{
		std::lock_guard<std::mutex> hold(all.mutex);
		for (const auto &item : all.blocks) {
			auto &sum = callers[item.second.caller];
			sum.first++;
			sum.second += item.second.size;
		}
	}
	for (const auto &item : callers)
		fprintf(stderr, "not freed: %zu blocks, %zu bytes, allocated at %p\n", item.second.first,
			item.second.second, item.first);
}
