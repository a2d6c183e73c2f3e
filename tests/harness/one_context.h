/* one_context.h - a context that all tests of a file share. It defines the file's group functions:
 * cmocka_run_group_tests(tests, set_up, tear_down). */
#ifndef LIANA_TESTS_ONE_CONTEXT_H
#define LIANA_TESTS_ONE_CONTEXT_H

#include <liana/liana.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(&(liana_context_options){.num_threads = 2}, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

#endif
