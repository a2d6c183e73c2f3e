/* Walking graphs and names of tensors: nodes, inputs, attributes by name and value, and errors that use the names. */
#include "harness/harness.h"
#include "harness/one_context.h"

#include "base/context.h"
#include "ops/ops.h"
#include "passes/pass.h"

#include <liana/liana.h>
#include <stdlib.h>

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

static void test_nodes_and_ends(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(3, 2));
    const int made = __LINE__ + 1;
    liana_tensor y = liana_op_matmul(x, w, false, false);
    liana_tensor two = liana_graph_scalar(graph, LIANA_F32, 2), z = liana_op_multiply(w, two);
    liana_graph_output(graph, "y", y);
    liana_graph_assign(w, z);
    assert_int_equal(liana_graph_count(graph, LIANA_GRAPH_NODES), 5);
    const char *ops[] = {"input", "variable", "matmul", "constant", "multiply"};
    for (size_t i = 0; i < 5; i++) {
        liana_tensor node = liana_graph_nth(graph, LIANA_GRAPH_NODES, i).tensor;
        assert_string_equal(liana_tensor_info(node).op, ops[i]);
        for (size_t k = 0; k < liana_tensor_info(node).num_inputs; k++)
            assert_compare(liana_tensor_input(node, k).id, <, node.id, k);
    }
    assert_int_equal(liana_tensor_info(y).num_inputs, 2);
    assert_compare(liana_tensor_input(y, 0).id, ==, x.id);
    assert_compare(liana_tensor_input(y, 1).id, ==, w.id);
    assert_int_equal(liana_tensor_input(y, 2).id, 0);
    assert_int_equal(liana_graph_nth(graph, LIANA_GRAPH_NODES, 5).tensor.id, 0);
    assert_int_equal(liana_tensor_info(y).here.line, made);
    assert_says(liana_tensor_info(y).here.file, "test_graph_walk.c");
    assert_compare(*(const float *)liana_tensor_info(two).constant, ==, 2);
    assert_null(liana_tensor_info(y).constant);
    assert_int_equal(liana_graph_count(graph, LIANA_GRAPH_INPUTS), 1);
    assert_int_equal(liana_graph_nth(graph, LIANA_GRAPH_INPUTS, 0).tensor.id, x.id);
    assert_int_equal(liana_graph_count(graph, LIANA_GRAPH_VARIABLES), 1);
    assert_int_equal(liana_graph_nth(graph, LIANA_GRAPH_VARIABLES, 0).tensor.id, w.id);
    assert_int_equal(liana_graph_count(graph, LIANA_GRAPH_OUTPUTS), 1);
    liana_graph_item item = liana_graph_nth(graph, LIANA_GRAPH_OUTPUTS, 0);
    assert_int_equal(item.tensor.id, y.id);
    assert_string_equal(item.name, "y");
    item = liana_graph_nth(graph, LIANA_GRAPH_OUTPUTS, 1);
    assert_int_equal(item.tensor.id, 0);
    assert_null(item.name);
    assert_int_equal(liana_graph_count(graph, LIANA_GRAPH_ASSIGNMENTS), 1);
    item = liana_graph_nth(graph, LIANA_GRAPH_ASSIGNMENTS, 0);
    assert_int_equal(item.tensor.id, w.id);
    assert_string_equal(item.name, "w");
    assert_int_equal(item.value.id, z.id);
    assert_int_equal(liana_graph_nth(graph, LIANA_GRAPH_ASSIGNMENTS, 1).tensor.id, 0);
    liana_graph_destroy(graph);
    assert_int_equal(liana_graph_count(NULL, LIANA_GRAPH_NODES), 0);
    assert_int_equal(liana_graph_nth(NULL, LIANA_GRAPH_INPUTS, 0).tensor.id, 0);
    assert_null(liana_tensor_info((liana_tensor){0}).op);
}

/* Every kind of attribute, with the values that the builder was given; those of a section stand in its place. */
static void test_attributes_by_name_and_value(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(1, 8, 8, 4));
    liana_tensor k = liana_graph_input(graph, "k", LIANA_F32, liana_shape_of(3, 3, 2, 6));
    liana_tensor y =
        liana_op_conv2d(x, k, (liana_conv_options){.strides = {2, 1}, .padding = LIANA_PADDING_SAME, .groups = 2});
    liana_attribute a;
    assert_true(liana_tensor_find_attribute(y, "strides", &a));
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_INTS);
    assert_compare(a.num_ints, ==, 2);
    assert_compare(a.ints[0], ==, 2);
    assert_compare(a.ints[1], ==, 1);
    assert_true(liana_tensor_find_attribute(y, "groups", &a));
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_INT);
    assert_compare(a.integer, ==, 2);
    assert_true(liana_tensor_find_attribute(y, "padding", &a));
    /* The shape rule says what "same" is: 4 rows of stride 2 and height 3 need 9 of the 8 that there are. */
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_TEXT);
    assert_string_equal(a.text, "explicit");
    assert_true(liana_tensor_find_attribute(y, "vertical_padding", &a));
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_INTS);
    assert_compare(a.num_ints, ==, 2);
    assert_compare(a.ints[0], ==, 0);
    assert_compare(a.ints[1], ==, 1);
    liana_tensor m = liana_op_matmul(x, x, false, true);
    assert_true(liana_tensor_find_attribute(m, "transpose_b", &a));
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_BOOL);
    assert_true(a.boolean);
    assert_true(liana_tensor_find_attribute(m, "transpose_a", &a));
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_BOOL);
    assert_true(!a.boolean);
    assert_false(liana_tensor_find_attribute(y, "stride", &a));
    assert_null(a.name);
    size_t count = liana_tensor_info(y).num_attributes;
    assert_compare(count, >=, 6);
    for (size_t i = 0; i < count; i++) {
        liana_attribute again;
        assert_true(liana_tensor_attribute(y, i, &a));
        assert_true(liana_tensor_find_attribute(y, a.name, &again));
        assert_compare(a.kind, ==, again.kind);
        assert_compare(a.boolean, ==, again.boolean);
        assert_compare(a.integer, ==, again.integer);
        assert_compare(a.number, ==, again.number);
        assert_ptr_equal(a.text, again.text);
        assert_ptr_equal(a.ints, again.ints);
    }
    assert_false(liana_tensor_attribute(y, count, &a));
    liana_tensor c = liana_op_clip(y, -1.5, 2);
    assert_true(liana_tensor_find_attribute(c, "low", &a));
    assert_compare(a.kind, ==, LIANA_ATTRIBUTE_FLOAT);
    assert_compare(a.number, ==, -1.5);
    liana_tensor s = liana_op_slice(x, ((int64_t[]){0, 1, 2, 3}), ((int64_t[]){1, 5, 6, 4}), NULL);
    assert_true(liana_tensor_find_attribute(s, "limit", &a));
    assert_compare(a.num_ints, ==, 4);
    assert_compare(a.ints[1], ==, 5);
    assert_int_equal(liana_tensor_info(x).num_attributes, 0);
    liana_graph_destroy(graph);
}

/* Of every op, attributes are found by their names: walking knows all kinds that ops have. */
static void test_every_attribute_of_every_op_can_be_read(void **state)
{
    (void)state;
    for (const liana__op *const *op = liana__ops; *op; op++) {
        const liana__fields *fields = (*op)->attributes;
        for (size_t i = 0; fields && i < fields->count; i++) {
            switch (fields->items[i].kind) {
            case LIANA__FIELD_BOOL:
            case LIANA__FIELD_INT:
            case LIANA__FIELD_FLOAT:
            case LIANA__FIELD_ENUM:
            case LIANA__FIELD_INT_PAIR:
            case LIANA__FIELD_INTS:
            case LIANA__FIELD_SECTION: break;
            default: fail_msg("%s: liana_attribute has no kind for '%s'", (*op)->name, fields->items[i].name);
            }
        }
    }
}

static void test_names_find_tensors(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2));
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(2));
    liana_tensor h = liana_tensor_set_name(liana_op_relu(liana_op_add(x, w)), "hidden"), y = liana_op_square(h);
    liana_graph_output(graph, "y", y);
    assert_string_equal(liana_tensor_name(h), "hidden");
    assert_string_equal(liana_tensor_name(x), "x");
    assert_null(liana_tensor_name(y));
    assert_int_equal(liana_graph_tensor(graph, "hidden").id, h.id);
    assert_int_equal(liana_graph_tensor(graph, "y").id, y.id);
    assert_int_equal(liana_graph_tensor(graph, "w").id, w.id);
    assert_int_equal(liana_graph_tensor(graph, "x").id, x.id);
    assert_int_equal(liana_graph_tensor(graph, "z").id, 0);
    assert_int_equal(liana_graph_tensor(graph, NULL).id, 0);
    assert_int_equal(liana_tensor_set_name(h, "hidden").id, h.id); /* as it is called */
    assert_ok(liana_graph_status(graph), &context->error);
    char *text = liana_graph_text(graph);
    assert_says(text, "relu \"hidden\" %3");
    free(text);
    /* Passes keep names. */
    liana_graph *rewritten;
    assert_ok(liana__passes_run(graph, &rewritten, &context->error), &context->error);
    assert_string_equal(liana_tensor_info(liana_graph_tensor(rewritten, "hidden")).op, "relu");
    liana_graph_destroy(rewritten);
    liana_graph_destroy(graph);
}

static void test_names_that_cannot_be_given(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        liana_graph *graph = new_graph();
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2));
        liana_tensor h = liana_tensor_set_name(liana_op_relu(x), "hidden");
        const char *names[] = {"other", "hidden", "x", ""},
                   *found[] = {"relu 'hidden' has its name", "relu of", "input of", "needs a name"};
        liana_tensor bad = liana_tensor_set_name(i == 0 ? h : liana_op_abs(x), names[i]);
        assert_int_equal(bad.id, 0);
        assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "test_graph_walk.c", found[i]);
        liana_graph_destroy(graph);
    }
}

static void test_errors_use_names(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "image", LIANA_F32, liana_shape_of(2));
    liana_tensor h = liana_tensor_set_name(liana_op_relu(x), "hidden");
    liana_op_add(h, liana_op_reshape(liana_graph_scalar(graph, LIANA_F32, 1), liana_shape_of(1, 1, 1)));
    assert_ok(liana_graph_status(graph), &context->error);
    liana_op_matmul(h, liana_op_abs(x), false, false);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "of relu 'hidden', abs");
    liana_graph_destroy(graph);

    /* Gradients of ops that have none, and through those. */
    graph = new_graph();
    liana_tensor labels = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(2)), d;
    x = liana_graph_input(graph, "image", LIANA_F32, liana_shape_of(2));
    liana_gradients(liana_op_square(x), &labels, 1, &d);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "input 'labels' is s32");
    liana_graph_destroy(graph);
    graph = new_graph();
    x = liana_graph_input(graph, "image", LIANA_F32, liana_shape_of(2));
    liana_tensor best = liana_tensor_set_name(liana_op_argmax(x, 0), "best");
    liana_gradients(best, &x, 1, &d);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "argmax 'best'", "s32");
    liana_graph_destroy(graph);
}

static void test_targets_and_initialisers_are_of_variables(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        liana_graph *graph = new_graph();
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2));
        liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(2));
        const char *found[] = {"'t' names the variable 'w'", "found input 'x'", "needs a name", "found input 'x'",
                               "no text"};
        if (i == 0) liana_graph_target(graph, "t", &w, 1);
        if (i == 1) liana_graph_target(graph, "t", &x, 1);
        if (i == 2) liana_graph_target(graph, "t", &w, 0);
        if (i == 3) liana_graph_initializer(x, "zeros");
        if (i == 4) liana_graph_initializer(w, NULL);
        assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "test_graph_walk.c", found[i]);
        liana_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_and_ends),
        cmocka_unit_test(test_attributes_by_name_and_value),
        cmocka_unit_test(test_every_attribute_of_every_op_can_be_read),
        cmocka_unit_test(test_names_find_tensors),
        cmocka_unit_test(test_names_that_cannot_be_given),
        cmocka_unit_test(test_errors_use_names),
        cmocka_unit_test(test_targets_and_initialisers_are_of_variables),
    };
    return cmocka_run_group_tests_name("graph_walk", tests, set_up, tear_down);
}
