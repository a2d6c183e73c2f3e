/* Libraries that are loaded when they are first needed. */
#include "harness/harness.h"

#include "base/library.h"

#include <math.h>
#include <string.h>

#define MATH_NAMES(X) X(cos) X(hypot)
LIANA__LIBRARY_DECLARE(math, MATH_NAMES);
LIANA__LIBRARY_DEFINE(math, MATH_NAMES, "libm.so.6", "sums need", "libc6");

static int no_such_function_of_libm(int x);
#define OTHER_NAMES(X) X(cos) X(no_such_function_of_libm)
LIANA__LIBRARY_DECLARE(other, OTHER_NAMES);
LIANA__LIBRARY_DEFINE(other, OTHER_NAMES, "libm.so.6", "sums need", "libc6");

LIANA__LIBRARY_DECLARE(absent, MATH_NAMES);
LIANA__LIBRARY_DEFINE(absent, MATH_NAMES, "libliana-absent.so.7", "sums need", "libliana-absent7");

static int no_such_function_of_libm(int x)
{
    return x;
}

static void test_names_are_those_of_the_library(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_null(liana__math_library.cos);
    for (int i = 0; i < 2; i++) assert_ok(liana__library_load(&liana__math_library.library, &error), &error);
    assert_near(liana__math_library.cos(0.5), 0.87758256189037271612, 1e-15);
    assert_compare(liana__math_library.hypot(3, 4), ==, 5);
}

static void test_a_library_that_is_missing(void **state)
{
    (void)state;
    /* A second try says the same: somebody may install it meanwhile. */
    for (int i = 0; i < 2; i++) {
        liana__error error = {0};
        assert_fails(liana__library_load(&liana__absent_library.library, &error), LIANA_UNIMPLEMENTED, &error,
                     "sums need the library libliana-absent.so.7", "No such file", "(Debian: libliana-absent7)");
    }
    assert_compare(liana__library_load(&liana__absent_library.library, NULL), ==, LIANA_UNIMPLEMENTED);
}

static void test_a_library_that_lacks_a_name(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_int_equal(no_such_function_of_libm(3), 3);
    assert_fails(liana__library_load(&liana__other_library.library, &error), LIANA_UNIMPLEMENTED, &error, "libm.so.6",
                 "lacks 'no_such_function_of_libm'");
}

enum { NUM_THREADS = 4 };
LIANA__LIBRARY_DECLARE(together, MATH_NAMES);
LIANA__LIBRARY_DEFINE(together, MATH_NAMES, "libm.so.6", "sums need", "libc6");

static void *load_and_call(void *result)
{
    if (liana__library_load(&liana__together_library.library, NULL) == LIANA_OK) {
        *(double *)result = liana__together_library.hypot(3, 4);
    }
    return NULL;
}

static void test_threads_that_load_at_once(void **state)
{
    (void)state;
    pthread_t threads[NUM_THREADS];
    double results[NUM_THREADS] = {0};
    for (int i = 0; i < NUM_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_call, &results[i]), 0);
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_compare(results[i], ==, 5, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_those_of_the_library),
        cmocka_unit_test(test_a_library_that_is_missing),
        cmocka_unit_test(test_a_library_that_lacks_a_name),
        cmocka_unit_test(test_threads_that_load_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
