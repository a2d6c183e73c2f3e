/* harness.h - the common code of all tests. Include it first: cmocka needs its own headers in this order. */
#ifndef LIANA_TESTS_HARNESS_H
#define LIANA_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/compare.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/* Fails the test with the error's message unless the status is OK. */
#define assert_ok(status, error) liana__test_assert_ok((status), (error), __FILE__, __LINE__)
/* Fails the test unless the status is `expected` and the message contains every one of the given texts (NULL ends the
 * list): an error that does not name the value found and the value expected is a defect. */
#define assert_fails(status, expected, error, ...)                                                              \
    liana__test_assert_fails((status), (expected), (error), (const char *const[]){__VA_ARGS__, NULL}, __FILE__, \
                             __LINE__)

void liana__test_assert_ok(liana_status status, const liana__error *error, const char *file, int line);
void liana__test_assert_fails(liana_status status, liana_status expected, const liana__error *error,
                              const char *const *texts, const char *file, int line);

/* The path of a file of the real test data ($LIANA_TEST_DATA, or ../shared/data next to the source tree), in a static
 * buffer that the next call but three overwrites. If the data is missing, prints "skipped: no data" and skips the
 * running test. */
const char *liana__test_data(const char *name);

/* A fresh empty folder for the running test, removed when the program ends normally. */
const char *liana__test_folder(void);

/* The path of a name in the test's folder; static buffers as above. */
const char *liana__test_path(const char *name);

/* Writes a file into the test's folder and returns its path. */
const char *liana__test_write(const char *name, const void *data, size_t size);

#endif
