/* numpy's indexing: against what numpy gives, gradients, and errors. */
#include "harness/harness.h"
#include "harness/one_context.h"

#include "base/context.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

#include "samples/numpy_index.h"

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

/* A tensor whose elements are their own numbers. */
static liana_tensor numbered(liana_graph *graph, liana_dtype dtype, liana_shape shape)
{
    liana_tensor flat = liana_op_iota(graph, dtype, liana_shape_of(liana_shape_size(&shape)), 0);
    return liana_op_reshape(flat, shape);
}

static void assert_value(liana_tensor tensor, const char *what, const liana_shape *shape, const int *expected)
{
    float got[64];
    assert_ok(liana_graph_status(tensor.graph), &context->error);
    liana_shape found = liana_tensor_shape(tensor);
    size_t size = (size_t)liana_shape_size(&found);
    if (!liana_shape_equal(&found, shape)) fail_msg("x[%s] has another shape than numpy's", what);
    assert_ok(liana_value(tensor, got, size * sizeof *got), &context->error);
    for (size_t i = 0; i < size; i++) {
        if (got[i] != (float)expected[i]) fail_msg("x[%s]: element %zu is %g, not %d", what, i, got[i], expected[i]);
    }
}

static void test_indices_are_numpys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numpy_indices / sizeof *numpy_indices; i++) {
        const numpy_index *row = &numpy_indices[i];
        liana_graph *graph = new_graph();
        liana_tensor part = liana_index(numbered(graph, LIANA_F32, row->shape), row->text);
        assert_value(part, row->text, &row->result, row->values);
        liana_graph_destroy(graph);
    }
}

/* d sum(x[text] * w) / d x has w's elements at the places that were taken, and is 0 elsewhere. Which they are, numpy's
 * values say: they are places. */
static void test_gradients_go_back_to_their_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numpy_indices / sizeof *numpy_indices; i++) {
        const numpy_index *row = &numpy_indices[i];
        liana_graph *graph = new_graph();
        liana_tensor x = numbered(graph, LIANA_F32, row->shape), part = liana_index(x, row->text), dx;
        liana_tensor weights =
            liana_op_add(numbered(graph, LIANA_F32, row->result), liana_graph_scalar(graph, LIANA_F32, 1));
        liana_gradients(liana_op_multiply(part, weights), &x, 1, &dx);
        int expected[64] = {0};
        for (int64_t k = 0; k < liana_shape_size(&row->result); k++) expected[row->values[k]] = (int)k + 1;
        assert_value(dx, row->text, &row->shape, expected);
        liana_graph_destroy(graph);
    }
}

static void test_every_dtype_can_be_indexed(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    const int64_t wide[4] = {INT64_MIN, 5, -7, INT64_MAX};
    int64_t got[2];
    liana_tensor x = liana_graph_constant(graph, LIANA_S64, liana_shape_of(4), wide);
    assert_ok(liana_value(liana_index(x, "::-3"), got, sizeof got), &context->error);
    assert_compare(got[0], ==, INT64_MAX);
    assert_compare(got[1], ==, INT64_MIN);
    const bool bits[3] = {true, false, false};
    bool last[3];
    liana_tensor b = liana_graph_constant(graph, LIANA_BOOL, liana_shape_of(3), bits);
    assert_ok(liana_value(liana_index(b, "::-1"), last, sizeof last), &context->error);
    assert_true(!last[0] && !last[1] && last[2]);
    liana_graph_destroy(graph);
}

static void test_gather_nd_is_numpys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numpy_gathers / sizeof *numpy_gathers; i++) {
        const numpy_gather *row = &numpy_gathers[i];
        liana_graph *graph = new_graph();
        liana_tensor x = numbered(graph, LIANA_F32, liana_shape_of(3, 4, 5));
        liana_tensor at = liana_graph_constant(graph, LIANA_S32, row->indices, row->positions);
        assert_value(liana_gather_nd(x, at), row->text, &row->result, row->values);
        liana_graph_destroy(graph);
    }
}

/* A place that is asked for twice gets both gradients; positions beyond an axis are those at its end. */
static void test_gather_nd_gradient_and_clamping(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = numbered(graph, LIANA_F32, liana_shape_of(2, 3)), dx;
    const int32_t positions[] = {0, 1, 0, 1, 1, 9, -4, 0};
    liana_tensor at = liana_graph_constant(graph, LIANA_S32, liana_shape_of(4, 2), positions);
    liana_tensor part = liana_gather_nd(x, at);
    assert_value(part, "clamped", &(liana_shape){1, {4}}, (const int[]){1, 1, 5, 0});
    liana_gradients(part, &x, 1, &dx);
    assert_value(dx, "gradient", &(liana_shape){2, {2, 3}}, (const int[]){1, 2, 0, 0, 0, 1});
    liana_graph_destroy(graph);
}

static void assert_refused(const char *text, const char *a, const char *b)
{
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 5));
    liana_tensor part = liana_index(x, text);
    assert_int_equal(part.id, 0);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "test_indexing.c", "input 'x'",
                 "f32[4, 5]", a, b);
    liana_graph_destroy(graph);
}

static void test_errors_name_the_place(void **state)
{
    (void)state;
    assert_refused("1:x", "character 3", "found 'x'");
    assert_refused("1,,2", "character 3", "expected a number, a range, None or ...");
    assert_refused("1:2:3:4", "character 6", "expected a comma or the end");
    assert_refused(":, 5", "character 4", "element 5 of axis 1 is asked for, expected -5 to 4");
    assert_refused("-5", "element -5 of axis 0", "expected -4 to 3");
    assert_refused("1, 2, 3", "character 7", "the tensor has 2 axes");
    assert_refused("..., ...", "character 6", "twice");
    assert_refused("::0", "the step of axis 0 is 0", "character 1");
    assert_refused("3:1", "no element of axis 0, which has 4", "character 1");
    assert_refused(":, 1:3:-1", "no element of axis 1", "character 4");
    assert_refused("None, None, None, None, None, None, None", "more than 8 axes", "liana_index");
    assert_refused("Nonesense", "character 1", "'Nonesense'");
    assert_refused("99999999999999999999", "axis 0", "expected -4 to 3");
    liana_graph *graph = new_graph();
    liana_index(liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4)), NULL);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "liana_index", "no text");
    liana_graph_destroy(graph);
}

static void test_gather_nd_errors(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 5));
    liana_tensor at = liana_graph_input(graph, "at", LIANA_S32, liana_shape_of(2, 3));
    liana_gather_nd(x, at);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "input 'x'", "input 'at'",
                 "s32[2, 3]", "1 to 2 numbers");
    liana_graph_destroy(graph);
    graph = new_graph();
    x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 5));
    at = liana_graph_input(graph, "at", LIANA_S64, liana_shape_of(2, 2));
    liana_gather_nd(x, at);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "s64",
                 "expected indices of dtype s32");
    liana_graph_destroy(graph);
    graph = new_graph();
    x = liana_graph_input(graph, "x", LIANA_U8, liana_shape_of(65536, 65536));
    at = liana_graph_input(graph, "at", LIANA_S32, liana_shape_of(2, 2));
    liana_gather_nd(x, at);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "4294967296 positions");
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indices_are_numpys),
        cmocka_unit_test(test_gradients_go_back_to_their_places),
        cmocka_unit_test(test_every_dtype_can_be_indexed),
        cmocka_unit_test(test_gather_nd_is_numpys),
        cmocka_unit_test(test_gather_nd_gradient_and_clamping),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_gather_nd_errors),
    };
    return cmocka_run_group_tests_name("indexing", tests, set_up, tear_down);
}
