/* one_model.h - an empty model for each test, in the context of one_context.h:
 * cmocka_unit_test_setup_teardown(test, begin, end). */
#ifndef LIANA_TESTS_ONE_MODEL_H
#define LIANA_TESTS_ONE_MODEL_H

#include "harness/harness.h"

#include "base/context.h"
#include "harness/one_context.h"

static liana_model *model;

static int begin(void **state)
{
    (void)state;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    liana_model_destroy(model);
    return 0;
}

static void start_again(void)
{
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

#endif
