/* one_reference.h - a context and its reference device, which all tests of a file share. It defines the file's group
 * functions: cmocka_run_group_tests(tests, set_up, tear_down). */
#ifndef LIANA_TESTS_ONE_REFERENCE_H
#define LIANA_TESTS_ONE_REFERENCE_H

#include "harness/graph_run.h"

static liana_context *context;
static liana__device *reference;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(0, &context, NULL, &reference);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, NULL, reference);
}

#endif
