/* Errors that name the place of a layer get its name. */
#include "layers/model_place.h"

#include "harness/harness.h"

#include <liana/liana.h>
#include <stdio.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static char place[256], shared[256], longer[300]; /* FILE:LINE: of one layer, of two, and the end of another path */

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(NULL, &context) != LIANA_OK) return 1;
    if (liana_model_create(context, "places", &model) != LIANA_OK) return 1;
    /* The input computes nothing, so the layer is the only one of its line. */
    snprintf(place, sizeof place, "%s:%d:", __FILE__, __LINE__ + 1);
    liana_input(model, .shape = LIANA_INTS(4)), liana_dense(model, .units = 3, .name = "alone");
    snprintf(shared, sizeof shared, "%s:%d:", __FILE__, __LINE__ + 1);
    for (int i = 0; i < 2; i++) liana_dense(model, .units = 3);
    snprintf(longer, sizeof longer, "other%s", place);
    return liana_model_status(model) != LIANA_OK;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    return 0;
}

/* `before` is the text that comes before the message. */
static void check(const char *message, const char *before)
{
    char expected[1100];
    liana__error error = {0};
    assert_int_equal(liana__fail(&error, LIANA_UNIMPLEMENTED, "%s", message), LIANA_UNIMPLEMENTED);
    liana__name_layer_at_place(model, &error);
    snprintf(expected, sizeof expected, "%s%s", before, message);
    assert_string_equal(error.message, expected);
    assert_int_equal(error.status, LIANA_UNIMPLEMENTED);
}

static void test_layers_are_named(void **state)
{
    (void)state;
    char text[800];
    snprintf(text, sizeof text, "%s dense, node 3: no such op", place);
    check(text, "layer 'alone' (Dense): ");
    snprintf(text, sizeof text, "compiling: \"%s no such op\", called from %s", place, shared);
    check(text, "layer 'alone' (Dense): ");
    snprintf(text, sizeof text, "%s the first of two, then %s", shared, place);
    check(text, "");
    snprintf(text, sizeof text, "layer 'other' (Dense): %s is called twice", place);
    check(text, "");
    check(longer, "");
    check("no place at all", "");
    liana__name_layer_at_place(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers_are_named)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
