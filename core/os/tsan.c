#include "tsan.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "ec.h"
#include "valgrind.h"

/* ThreadSanitizer's runtime has them. */
void __tsan_acquire(void *at) __attribute__((weak));
void __tsan_release(void *at) __attribute__((weak));
void __tsan_init(void) __attribute__((weak));
void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
void __tsan_destroy_fiber(void *fiber) __attribute__((weak));
void *__tsan_get_current_fiber(void) __attribute__((weak));
void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
void __tsan_set_fiber_name(void *fiber, const char *name) __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));

void AnnotateBenignRaceSized(const char *file, int line, const void *at, size_t len, const char *why)
	__attribute__((weak));

bool ec_has_tsan;

void ec_tsan_do_acquire(const void *at)
{
	if (__tsan_acquire != NULL)
		__tsan_acquire((void *)(uintptr_t)at);
	else
		ec_valgrind_acquire(at);
}

void ec_tsan_do_release(const void *at)
{
	if (__tsan_release != NULL)
		__tsan_release((void *)(uintptr_t)at);
	else
		ec_valgrind_release(at);
}

void ec_tsan_order_before(const void *at)
{
	if (ec_tsan_has_fibers())
		ec_tsan_ignore_end();
	else
		ec_tsan_do_release(at);
}

void ec_tsan_order_after(const void *at)
{
	if (ec_tsan_has_fibers())
		ec_tsan_ignore_begin();
	else
		ec_tsan_do_acquire(at);
}

#if defined(EC_TSAN_SEES_ALL) || defined(EC_SIM)

bool ec_tsan_look(void)
{
	return false;
}

bool ec_tsan_fibers_prepare(void)
{
	return false;
}

#else

bool ec_tsan_is_loaded;
bool ec_tsan_is_prepared;

bool ec_tsan_look(void)
{
	bool has_tsan = __tsan_acquire != NULL && __tsan_release != NULL;

	ec_has_tsan = ec_tsan_is_loaded = has_tsan || ec_valgrind_looks_for_races();
	return ec_tsan_is_loaded;
}

static bool has_fibers(void)
{
	return __tsan_init != NULL && __tsan_create_fiber != NULL && __tsan_destroy_fiber != NULL &&
	       __tsan_get_current_fiber != NULL && __tsan_switch_to_fiber != NULL && __tsan_set_fiber_name != NULL &&
	       AnnotateIgnoreReadsBegin != NULL && AnnotateIgnoreReadsEnd != NULL &&
	       AnnotateBenignRaceSized != NULL;
}


bool ec_tsan_fibers_prepare(void)
{
	if (!ec_tsan_look() || !has_fibers())
		return false;
	__tsan_init();			/* as each module of the program does; only the first call counts */
	ec_tsan_is_prepared = true;
	return true;
}

#endif

/* ---------------------------------------------------------------- fibers */

enum { NO_SYNC = 1 };			/* __tsan_switch_to_fiber_no_sync */

/*
 * The maker of all others. The runtime orders a fiber after what its maker did before. So the maker is one that never
 * does anything. It is not made earlier than needed, because in a forked child the runtime sees nothing any more if
 * there was another thread or fiber before. const: set by the first base
 */
static void *maker;

void ec_tsan_fibers_start(void)
{
	if (maker == NULL)
		maker = __tsan_create_fiber(0);
}

void *ec_tsan_fiber_new(void)
{
	void *self = __tsan_get_current_fiber();
	void *fiber;

	__tsan_switch_to_fiber(maker, NO_SYNC);
	fiber = __tsan_create_fiber(0);
	__tsan_switch_to_fiber(self, NO_SYNC);
	return fiber;
}

void ec_tsan_fiber_free(void *fiber)
{
	__tsan_destroy_fiber(fiber);
}

void ec_tsan_fiber_set_name(void *fiber, const char *name)
{
	__tsan_set_fiber_name(fiber, name);
}

void *ec_tsan_fiber_self(void)
{
	return __tsan_get_current_fiber();
}

void ec_tsan_fiber_switch(void *fiber)
{
	__tsan_switch_to_fiber(fiber, NO_SYNC);
}

/* It ignores reads and writes alike, whatever its name says. */
void ec_tsan_ignore_begin(void)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
}

void ec_tsan_ignore_end(void)
{
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

static int own_locals(struct dl_phdr_info *info, size_t len, void *arg)
{
	unsigned i;

	(void)arg;
	if (len < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(info->dlpi_tls_data) ||
	    info->dlpi_tls_data == NULL)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			AnnotateBenignRaceSized(__FILE__, __LINE__, info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz,
						"thread-local");
	}
	return 0;
}

void ec_tsan_own_thread_locals(void)
{
	(void)dl_iterate_phdr(own_locals, NULL);
}
