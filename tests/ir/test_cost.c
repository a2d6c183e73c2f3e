/* The declared costs of ops, against numbers worked out by hand. */
#include "harness/harness.h"

#include "ir/graph.h"
#include "ops/samples.h"

#include <math.h>
#include <string.h>

static liana_context *context;
static liana_graph *graph;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana_graph_create(context, &graph) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_graph_destroy(graph);
    liana_context_destroy(context);
    return 0;
}

static liana_tensor input(const char *name, liana_shape shape)
{
    return liana_graph_input(graph, name, LIANA_F32, shape);
}

#define assert_cost(tensor, flops_, bytes_, family_, variant_) \
    check_cost((tensor), (flops_), (bytes_), (family_), (variant_), __LINE__)

static void check_node(const liana__node *node, double flops, double bytes, const char *family, const char *variant,
                       int line)
{
    liana__cost cost = liana__node_cost(node);
    bool same_variant = variant ? cost.variant && strcmp(cost.variant, variant) == 0 : !cost.variant;
    if (cost.flops == flops && cost.bytes == bytes && strcmp(cost.family, family) == 0 && same_variant) return;
    fail_msg("line %d: %s costs %g operations and %g bytes (%s, %s), expected %g and %g (%s, %s)", line, node->op->name,
             cost.flops, cost.bytes, cost.family, cost.variant ? cost.variant : "-", flops, bytes, family,
             variant ? variant : "-");
}

static void check_cost(liana_tensor tensor, double flops, double bytes, const char *family, const char *variant,
                       int line)
{
    const liana__node *node = liana__tensor_node(tensor);
    if (!node) fail_msg("line %d: %s", line, context->error.message);
    check_node(node, flops, bytes, family, variant, line);
}

/* The node of an op, of which there is one. */
static const liana__node *find(const char *op)
{
    const liana__node *found = NULL;
    for (size_t i = 1; i < graph->num_nodes; i++) {
        if (strcmp(graph->nodes[i]->op->name, op) != 0) continue;
        assert_null(found);
        found = graph->nodes[i];
    }
    assert_non_null(found);
    return found;
}

/* x [2, 9, 7, 6] with [3, 3, 6, 10], stride 2, SAME: y [2, 5, 4, 10] has 400 elements of 54 taps. All three passes do
 * the same products. */
static void test_convolution(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(2, 9, 7, 6)), kernel = input("k", liana_shape_of(3, 3, 6, 10));
    liana_tensor y = liana_op_conv2d(x, kernel, (liana_conv_options){.strides = {2, 2}, .padding = LIANA_PADDING_SAME});
    liana_tensor wrt[] = {x, kernel}, gradients[2];
    liana_gradients(y, wrt, 2, gradients);
    double bytes = 4 * (756 + 540 + 400);
    assert_cost(y, 2 * 400 * 54, bytes, "convolutions", "3x3");
    check_node(find("conv2d_input_gradient"), 2 * 400 * 54, bytes, "convolutions", "3x3", __LINE__);
    check_node(find("conv2d_kernel_gradient"), 2 * 400 * 54, bytes, "convolutions", "3x3", __LINE__);
}

/* Three groups: 54 taps become 18. A window that is not a square has no name of its own. */
static void test_grouped_convolution(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(1, 4, 4, 6));
    liana_tensor y = liana_op_conv2d(x, input("k", liana_shape_of(3, 3, 2, 9)), (liana_conv_options){.groups = 3});
    assert_cost(y, 2 * (2 * 2 * 9) * 18, 4 * (96 + 162 + 36), "convolutions", "3x3");
    y = liana_op_conv2d(x, input("l", liana_shape_of(1, 3, 6, 5)), (liana_conv_options){0});
    assert_cost(y, 2 * (4 * 2 * 5) * 18, 4 * (96 + 90 + 40), "convolutions", NULL);
    y = liana_op_conv2d(x, input("m", liana_shape_of(1, 1, 6, 5)), (liana_conv_options){0});
    assert_cost(y, 2 * 80 * 6, 4 * (96 + 30 + 80), "convolutions", "1x1");
}

/* x [2, 9, 7, 6], multiplier 2, VALID: y [2, 7, 5, 12]. */
static void test_depthwise_convolution(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(2, 9, 7, 6)), kernel = input("k", liana_shape_of(3, 3, 6, 2));
    liana_tensor y = liana_op_depthwise_conv2d(x, kernel, (liana_conv_options){0});
    liana_tensor gradient;
    liana_gradients(y, &x, 1, &gradient);
    double bytes = 4 * (756 + 108 + 840);
    assert_cost(y, 2 * 840 * 9, bytes, "depthwise convolutions", "3x3");
    check_node(find("depthwise_conv2d_input_gradient"), 2 * 840 * 9, bytes, "depthwise convolutions", "3x3", __LINE__);
}

static void test_matmul(void **state)
{
    (void)state;
    liana_tensor a = input("a", liana_shape_of(3, 5, 4)), b = input("b", liana_shape_of(3, 6, 5));
    assert_cost(liana_op_matmul(a, b, true, true), 2 * 3 * 4 * 6 * 5, 4 * (60 + 90 + 72), "matrix products", NULL);
}

static void test_element_wise(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(2, 3)), row = input("row", liana_shape_of(3));
    assert_cost(liana_op_relu(x), 6, 48, "element-wise ops", NULL);
    assert_cost(liana_op_add(x, x), 6, 48, "element-wise ops", NULL); /* read once */
    assert_cost(liana_op_add(x, row), 6, 4 * (6 + 3 + 6), "element-wise ops", NULL);
    assert_cost(liana_op_cast(x, LIANA_BF16), 6, 24 + 12, "element-wise ops", NULL);
    assert_cost(liana_op_softmax(x), 5 * 6, 48, "softmax and loss", NULL);
}

static void test_reductions_and_pools(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(4, 5)), image = input("image", liana_shape_of(2, 9, 7, 6));
    assert_cost(liana_op_reduce_sum(x, LIANA_AXES(1), false), 20, 4 * (20 + 4), "reductions", NULL);
    liana_tensor y = liana_op_max_pool2d(image, (liana_pool_options){.window = {2, 2}, .strides = {2, 2}});
    assert_cost(y, 144 * 4, 4 * (756 + 144), "pooling", NULL);
    y = liana_op_average_pool2d(image, (liana_pool_options){.window = {3, 2}, .strides = {3, 2}});
    assert_cost(y, (2 * 3 * 3 * 6) * 6, 4 * (756 + 108), "pooling", NULL);
}

static void test_batch_norm(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(2, 9, 7, 6)), gamma = input("gamma", liana_shape_of(6));
    liana_tensor beta = input("beta", liana_shape_of(6)), statistics = liana_op_batch_norm_statistics(x);
    assert_cost(statistics, 4 * 756, 4 * (756 + 12), "batch normalisation", NULL);
    assert_cost(liana_op_batch_norm_training(x, gamma, beta, statistics, 1e-3), 2 * 756, 4 * (756 + 6 + 6 + 12 + 756),
                "batch normalisation", NULL);
}

static void test_data_movement(void **state)
{
    (void)state;
    liana_tensor x = input("x", liana_shape_of(10, 4));
    assert_cost(liana_op_reshape(x, liana_shape_of(40)), 0, 0, "data movement", NULL); /* the same memory */
    assert_cost(liana_op_transpose(x, LIANA_AXES(1, 0)), 0, 320, "data movement", NULL);
    int64_t start[] = {1, 0}, limit[] = {3, 3}, strides[] = {1, 1};
    assert_cost(liana_op_slice(x, start, limit, strides), 0, 2 * 24, "data movement", NULL);
    liana_tensor rows = liana_graph_input(graph, "rows", LIANA_S32, liana_shape_of(2));
    assert_cost(liana_op_gather(x, rows, 0), 0, 2 * 32, "data movement", NULL);
}

/* Every op with every sample: a number, a name, and the least that any op does. */
static void test_every_op(void **state)
{
    (void)state;
    static const liana__samples *const all[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (size_t k = 0; k < all[i]->count; k++) {
            const liana__sample one = liana__samples_at(all[i], k);
            liana_graph *sample;
            assert_int_equal(liana_graph_create(context, &sample), LIANA_OK);
            const liana__node *node = liana__tensor_node(liana__sample_build(&one, sample, LIANA_F32));
            assert_non_null(node);
            liana__cost cost = liana__node_cost(node);
            assert_true(isfinite(cost.flops));
            assert_compare(cost.flops, >=, 0);
            double result = (double)liana__byte_size(node->dtype, &node->shape);
            if (node->op->placement == LIANA__PLACE_ALIAS)
                assert_compare(cost.bytes, ==, 0);
            else
                assert_compare(cost.bytes, >=, result);
            assert_non_null(cost.family);
            liana_graph_destroy(sample);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grouped_convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_depthwise_convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_matmul, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_element_wise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reductions_and_pools, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_batch_norm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_data_movement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_op, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
