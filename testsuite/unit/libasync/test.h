/*
 * CMocka for tests in C++. Include it after the headers under test: it defines macros with short names.
 */
#ifndef LIBASYNC_TEST_H
#define LIBASYNC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#endif
