/* Layers and models called on tensors of a graph: values, gradients, dropout, moving averages, masks, bad input; and
 * Normalization that adapts to data. */
#include "harness/harness.h"

#include "harness/model_run.h"
#include "ir/graph.h"
#include "train/model/model_adapt.h"

#include <liana/layers.h>
#include <liana/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana_graph *graph;
static liana__device *device;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    if (liana__device_open(context, "reference", &device, &error) != LIANA_OK) return -1;
    if (liana_graph_create(context, &graph) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_graph_destroy(graph);
    liana_model_destroy(model);
    liana__device_close(device);
    liana_context_destroy(context);
    return 0;
}

static void new_graph(void)
{
    liana_graph_destroy(graph);
    assert_ok(liana_graph_create(context, &graph), &context->error);
}

static float **run(float *const *weights, const void *const *inputs)
{
    assert_ok(liana_graph_status(graph), &context->error);
    return liana__test_graph_run(device, graph, model, weights, inputs);
}

/* ---- values and gradients ---- */

/* y = Dense(a) * Dense(b) with one Dense: against plain formulas, and its gradient against finite differences. */
static void test_shared_weights_get_the_gradients_of_both_calls(void **state)
{
    (void)state;
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3), .name = "a");
    liana_layer b = liana_input(model, .shape = LIANA_INTS(3), .name = "b");
    liana_layer x = liana_dense(model, .units = 2, .input = a), y = liana_layer_reuse(x, b);
    liana_multiply(model, .inputs = {x, y});
    assert_ok(liana_model_status(model), &context->error);
    liana_tensor inputs[2] = {liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 3)),
                              liana_graph_input(graph, "b", LIANA_F32, liana_shape_of(2, 3))};
    liana_tensor output, gradient;
    liana_model_call(model, inputs, 2, NULL, &output, NULL);
    liana_tensor kernel = liana_graph_variable(graph, "dense/kernel", LIANA_F32, liana_shape_of(3, 2));
    liana_gradients(liana_op_reduce_sum(output, LIANA_ALL_AXES, false), &kernel, 1, &gradient);
    liana_graph_output(graph, "y", output);
    liana_graph_output(graph, "gradient", gradient);
    const float left[6] = {1, -2, 0.5f, 3, 0.25f, -1}, right[6] = {0.5f, 1, 2, -1, 2, 0.75f};
    float **weights = liana__test_weights(model, 4);
    weights[1][0] = 0.5f;
    float **found = run(weights, (const void *const[]){left, right});
    double expected_gradient[6] = {0};
    for (int row = 0; row < 2; row++) {
        for (int unit = 0; unit < 2; unit++) {
            double p = (double)weights[1][unit], q = p;
            for (int i = 0; i < 3; i++) {
                p += (double)left[3 * row + i] * (double)weights[0][2 * i + unit];
                q += (double)right[3 * row + i] * (double)weights[0][2 * i + unit];
            }
            assert_near(found[0][2 * row + unit], p * q, 1e-5, row, unit);
            for (int i = 0; i < 3; i++) {
                expected_gradient[2 * i + unit] += (double)left[3 * row + i] * q + (double)right[3 * row + i] * p;
            }
        }
    }
    for (int i = 0; i < 6; i++) assert_near(found[1][i], expected_gradient[i], 1e-5, i);
    liana__test_free_arrays(found, 2);
    liana__test_free_arrays(weights, model->num_weights);
}

/* A layer by itself gives its result in the model, also on another shape that fits. */
static void test_a_layer_called_on_tensors(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(3));
    liana_layer dense = liana_dense(model, .units = 2, .activation = "tanh");
    assert_ok(liana_model_status(model), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 3)), whole;
    liana_tensor deep = liana_op_reshape(x, liana_shape_of(2, 2, 3));
    liana_model_call(model, &x, 1, NULL, &whole, NULL);
    liana_graph_output(graph, "whole", whole);
    liana_graph_output(graph, "alone", liana_layer_call(dense, &x, 1, NULL, NULL));
    liana_graph_output(graph, "deep", liana_layer_call(dense, &deep, 1, NULL, NULL));
    assert_int_equal(graph->num_variables, 2);
    float values[12];
    for (int i = 0; i < 12; i++) values[i] = (float)(i - 5) / 4;
    float **weights = liana__test_weights(model, 3), **found = run(weights, (const void *const[]){values});
    assert_memory_equal(found[0], found[1], 8 * sizeof(float));
    assert_memory_equal(found[0], found[2], 8 * sizeof(float));
    liana__test_free_arrays(found, 3);
    liana__test_free_arrays(weights, model->num_weights);
}

static void test_an_f64_model_has_f64_weights(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(2), .dtype = LIANA_S32);
    liana_embedding(model, .input_dim = 3, .output_dim = 2);
    liana_tensor ids = liana_graph_input(graph, "ids", LIANA_S32, liana_shape_of(1, 2)), y;
    liana_model_call(model, &ids, 1, &(liana_call_mode){.dtype = LIANA_F64}, &y, NULL);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_int_equal(liana_tensor_dtype(y), LIANA_F64);
    new_graph();
    ids = liana_graph_input(graph, "ids", LIANA_S32, liana_shape_of(1, 2));
    liana_model_call(model, &ids, 1, NULL, &y, NULL);
    assert_int_equal(liana_tensor_dtype(y), LIANA_F32);
}

/* ---- dropout ---- */

static float **run_dropout(liana_layer first, liana_layer second, uint64_t seed)
{
    float ones[64];
    uint64_t positions[4] = {3, 4, 5, 6};
    for (int i = 0; i < 64; i++) ones[i] = 1;
    new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 16));
    liana_call_mode mode = {.training = true,
                            .positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(4)),
                            .seed = seed};
    liana_graph_output(graph, "first", liana_layer_call(first, &x, 1, &mode, NULL));
    liana_graph_output(graph, "second", liana_layer_call(second, &x, 1, &mode, NULL));
    liana_tensor salted = liana_op_dropout(x, mode.positions, 0.5, seed, 1);
    liana_graph_output(graph, "by hand", salted);
    return run(NULL, (const void *const[]){ones, positions});
}

/* The salt of a first call is the layer's index, as it was before layers could be called twice. */
static void test_calls_of_a_dropout_draw_differently(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(16));
    liana_layer first = liana_dropout(model, .rate = 0.5), second = liana_layer_reuse(first, first);
    assert_ok(liana_model_status(model), &context->error);
    float **found = run_dropout(first, second, 7);
    assert_memory_equal(found[0], found[2], 64 * sizeof(float));
    assert_memory_not_equal(found[0], found[1], 64 * sizeof(float));
    liana__test_free_arrays(found, 3);
}

/* ---- moving averages ---- */

/* Two training steps by hand of mean and variance; then the updates as a loop of one's own assigns them. */
static void test_updates_of_a_batch_normalization(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(1));
    liana_batch_normalization(model, .momentum = 0.75);
    assert_ok(liana_model_status(model), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 1)), y;
    liana_call_effects effects;
    liana_model_call(model, &x, 1, &(liana_call_mode){.training = true}, &y, &effects);
    assert_int_equal(effects.num_updates, 2);
    assert_int_equal(effects.masks[0].id, 0);
    for (size_t i = 0; i < 2; i++) liana_graph_output(graph, i ? "variance" : "mean", effects.updates[i].value);
    liana_effects_assign(&effects);
    assert_int_equal(graph->num_assignments, 2);
    const float values[4] = {1, 2, 4, 9};
    float **weights = liana__test_weights(model, 1);
    weights[2][0] = 2;
    weights[3][0] = 3;
    float **found = run(weights, (const void *const[]){values});
    /* mean 4, variance (9 + 4 + 0 + 25) / 4 = 9.5 */
    assert_near(found[0][0], 0.75 * 2 + 0.25 * 4, 1e-6);
    assert_near(found[1][0], 0.75 * 3 + 0.25 * 9.5, 1e-5);
    liana__test_free_arrays(found, 2);
    liana__test_free_arrays(weights, model->num_weights);
}

/* Of two calls, the mean follows as if one came after the other. */
static void test_updates_of_a_batch_normalization_called_twice(void **state)
{
    (void)state;
    liana_layer a = liana_input(model, .shape = LIANA_INTS(1)), b = liana_input(model, .shape = LIANA_INTS(1));
    liana_layer x = liana_batch_normalization(model, .momentum = 0.75, .input = a), y = liana_layer_reuse(x, b);
    liana_add(model, .inputs = {x, y});
    liana_tensor inputs[2] = {liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 1)),
                              liana_graph_input(graph, "b", LIANA_F32, liana_shape_of(2, 1))};
    liana_tensor output;
    liana_call_effects effects;
    liana_model_call(model, inputs, 2, &(liana_call_mode){.training = true}, &output, &effects);
    assert_int_equal(effects.num_updates, 2);
    liana_graph_output(graph, "mean", effects.updates[0].value);
    liana_graph_output(graph, "variance", effects.updates[1].value);
    const float left[2] = {1, 3}, right[2] = {8, 10};
    float **weights = liana__test_weights(model, 1);
    weights[2][0] = 5;
    weights[3][0] = 2;
    float **found = run(weights, (const void *const[]){left, right});
    double once = 0.75 * 5 + 0.25 * 2, twice = 0.75 * once + 0.25 * 9;
    assert_near(found[0][0], twice, 1e-5);
    /* The variance of both calls' values together, the second call's weighted 1 to 0.75. */
    double share = 1 / 1.75, mean = (1 - share) * 2 + share * 9;
    double square = (1 - share) * (1 + 9) / 2 + share * (64 + 100) / 2, kept = 0.75 * 0.75;
    assert_near(found[1][0], kept * 2 + (1 - kept) * (square - mean * mean), 1e-4);
    liana__test_free_arrays(found, 2);
    liana__test_free_arrays(weights, model->num_weights);
}

/* ---- masks ---- */

static void test_masks_reach_outputs_and_layers(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(4), .dtype = LIANA_S32);
    liana_embedding(model, .input_dim = 5, .output_dim = 2, .mask_zero = true);
    liana_layer steps = liana_dense(model, .units = 1);
    liana_layer mean = liana_global_average_pooling1d(model);
    liana_model_outputs(model, mean, steps);
    liana_tensor ids = liana_graph_input(graph, "ids", LIANA_S32, liana_shape_of(2, 4)), outputs[2];
    liana_call_effects effects;
    liana_model_call(model, &ids, 1, NULL, outputs, &effects);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_int_equal(effects.masks[0].id, 0);
    assert_int_equal(liana_tensor_dtype(effects.masks[1]), LIANA_BOOL);
    liana_shape shape = liana_tensor_shape(effects.masks[1]), expected = liana_shape_of(2, 4);
    assert_true(liana_shape_equal(&shape, &expected));
    liana_graph_output(graph, "mean", outputs[0]);
    liana_graph_output(graph, "steps", outputs[1]);
    liana_graph_output(graph, "mask", liana_op_cast(effects.masks[1], LIANA_F32));
    const int32_t values[8] = {3, 0, 1, 0, 0, 0, 0, 0};
    float **weights = liana__test_weights(model, 2), **found = run(weights, (const void *const[]){values});
    assert_near(found[0][0], ((double)found[1][0] + (double)found[1][2]) / 2, 1e-6);
    assert_compare(found[0][1], ==, 0); /* nothing but padding */
    const float mask[8] = {1, 0, 1, 0, 0, 0, 0, 0};
    assert_memory_equal(found[2], mask, sizeof mask);
    liana__test_free_arrays(found, 3);
    liana__test_free_arrays(weights, model->num_weights);
}

static void test_a_mask_that_is_given(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(3, 1));
    liana_layer mean = liana_global_average_pooling1d(model);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(1, 3, 1)), y;
    liana_tensor mask = liana_graph_constant(graph, LIANA_BOOL, liana_shape_of(1, 3), ((const uint8_t[]){1, 0, 1}));
    liana_call_mode mode = {.masks = &mask};
    liana_model_call(model, &x, 1, &mode, &y, NULL);
    liana_graph_output(graph, "whole", y);
    liana_graph_output(graph, "alone", liana_layer_call(mean, &x, 1, &mode, NULL));
    liana_graph_output(graph, "without", liana_layer_call(mean, &x, 1, NULL, NULL));
    float **found = run(NULL, (const void *const[]){(const float[]){1, 100, 5}});
    assert_compare(found[0][0], ==, 3);
    assert_compare(found[1][0], ==, 3);
    assert_near(found[2][0], 106.0 / 3, 1e-5);
    liana__test_free_arrays(found, 3);
}

/* ---- bad input ---- */

#define assert_call_refused(call, ...)                                                                 \
    do {                                                                                               \
        new_graph();                                                                                   \
        liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 3)), outputs[2];   \
        liana_tensor ids = liana_graph_input(graph, "ids", LIANA_S32, liana_shape_of(4, 5));           \
        liana_tensor few = liana_graph_input(graph, "few", LIANA_S32, liana_shape_of(3, 5));           \
        liana_tensor wide = liana_graph_input(graph, "wide", LIANA_F32, liana_shape_of(4, 7));         \
        assert_int_not_equal(x.id + ids.id + few.id + wide.id, 0);                                     \
        call;                                                                                          \
        assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, __VA_ARGS__); \
        (void)outputs;                                                                                 \
    } while (0)
#define BOTH(a, b) ((const liana_tensor[]){a, b})

static void test_wrong_tensors_are_named(void **state)
{
    (void)state;
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3), .name = "a");
    liana_layer b = liana_input(model, .shape = LIANA_INTS(5), .dtype = LIANA_S32, .name = "b");
    liana_layer y = liana_dense(model, .units = 2, .input = a, .name = "d");
    liana_concatenate(model, .inputs = {y, liana_category_encoding(model, .num_tokens = 4, .input = b)});
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *other;
    assert_ok(liana_graph_create(context, &other), &context->error);
    liana_tensor far = liana_graph_input(other, "far", LIANA_S32, liana_shape_of(4, 5));
    assert_call_refused(liana_model_call(model, BOTH(wide, ids), 2, NULL, outputs, NULL),
                        "test_model_tensors.c:", "'model'", "'a'", "[4, 7]", "[1, 3] with any batch size");
    assert_call_refused(liana_model_call(model, BOTH(x, few), 2, NULL, outputs, NULL), "'b'", "[3, 5]", "[4, 5]",
                        "batch size of the first");
    assert_call_refused(liana_model_call(model, BOTH(ids, x), 2, NULL, outputs, NULL), "'a'", "s32", "a float dtype");
    assert_call_refused(liana_model_call(model, BOTH(x, wide), 2, NULL, outputs, NULL), "'b'", "f32", "expected s32");
    assert_call_refused(liana_model_call(model, BOTH(x, far), 2, NULL, outputs, NULL), "'b'",
                        "no tensor of this graph");
    assert_call_refused(liana_model_call(model, &x, 1, NULL, outputs, NULL), "1 inputs", "expected 2");
    assert_call_refused(liana_model_call(NULL, &x, 1, NULL, outputs, NULL), "model is NULL");
    assert_call_refused(liana_model_call(model, BOTH(x, ids), 2, NULL, NULL, NULL), "outputs is NULL");
    assert_call_refused(liana_model_call(model, BOTH(x, ids), 2, &(liana_call_mode){.dtype = LIANA_U8}, outputs, NULL),
                        "u8", "expected f32, bf16 or f64");
    assert_call_refused(liana_model_call(model, BOTH(x, ids), 2, &(liana_call_mode){.masks = BOTH(x, ids)}, outputs,
                                         NULL),
                        "mask", "input 0", "bool");
    assert_call_refused(liana_layer_call(y, &wide, 1, NULL, NULL), "layer 'd' (Dense)", "'kernel' is [3, 2]", "[7, 2]");
    assert_call_refused(liana_layer_call(y, BOTH(x, x), 2, NULL, NULL), "layer 'd'", "2 inputs", "expected 1");
    assert_call_refused(liana_layer_call(a, &x, 1, NULL, NULL), "an input");
    assert_call_refused(liana_layer_call((liana_layer){0}, &x, 1, NULL, NULL), "not a layer");
    assert_call_refused(liana_layer_call(y, &x, 99, NULL, NULL), "too many");
    liana_tensor outputs[1] = {{NULL, 5}};
    liana_model_call(model, NULL, 0, NULL, outputs, NULL);
    assert_int_equal(outputs[0].id, 0);
    assert_int_equal(liana_layer_call(y, NULL, 0, NULL, NULL).id, 0);
    liana_effects_assign(NULL);
    liana_graph_destroy(other);
}

static void test_floats_of_one_dtype(void **state)
{
    (void)state;
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3), .name = "a");
    liana_layer b = liana_input(model, .shape = LIANA_INTS(3), .name = "b");
    liana_add(model, .inputs = {a, b});
    liana_tensor inputs[2] = {liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(2, 3)),
                              liana_graph_input(graph, "b", LIANA_F64, liana_shape_of(2, 3))};
    liana_tensor output;
    liana_model_call(model, inputs, 2, NULL, &output, NULL);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "'b'", "f64", "the inputs before");
    assert_int_equal(output.id, 0);
}

/* ---- Normalization ---- */

static void test_a_normalization_adapts_to_a_dataset(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(2), .name = "sizes");
    liana_layer layer = liana_normalization(model);
    const float sizes[8] = {1, 1000, 2, 1004, 6, 1001, 3, 1003};
    const liana_array arrays[] = {{"sizes", LIANA_F32, liana_shape_of(4, 2), sizes}};
    liana_dataset *dataset = liana_dataset_from_tensor_slices(context, arrays, 1);
    assert_non_null(dataset);
    assert_ok(liana_layer_adapt(layer, dataset, NULL), &context->error);
    assert_compare(model->values[0][0], ==, 3);
    assert_compare(model->values[0][1], ==, 1002);
    assert_compare(model->values[1][0], ==, 3.5f);
    assert_compare(model->values[1][1], ==, 2.5f);
    assert_compare(model->values[2][0], ==, 4);
    uint64_t version = model->values_version;
    assert_fails(liana_layer_adapt(layer, dataset, "size"), LIANA_NOT_FOUND, &context->error, "'size'");
    assert_fails(liana_layer_adapt(layer, NULL, NULL), LIANA_INVALID_ARGUMENT, &context->error, "NULL");
    assert_fails(liana_layer_adapt(liana_model_layer(model, "sizes"), dataset, NULL), LIANA_INVALID_ARGUMENT,
                 &context->error, "'sizes' (InputLayer)", "Normalization");
    liana_dataset *endless = liana_dataset_repeat(liana_dataset_retain(dataset), -1);
    assert_fails(liana_layer_adapt(layer, endless, NULL), LIANA_INVALID_ARGUMENT, &context->error, "does not end");
    const float holes[4] = {1, 2, NAN, 3};
    const liana_array damaged[] = {{"sizes", LIANA_F32, liana_shape_of(2, 2), holes}};
    liana_dataset *bad = liana_dataset_from_tensor_slices(context, damaged, 1);
    assert_fails(liana_layer_adapt(layer, bad, NULL), LIANA_INVALID_DATA, &context->error, "element 1", "'sizes'",
                 "NaN");
    const liana_array wide[] = {{"sizes", LIANA_F32, liana_shape_of(1, 8), sizes}};
    liana_dataset *other = liana_dataset_from_tensor_slices(context, wide, 1);
    assert_fails(liana_layer_adapt(layer, other, NULL), LIANA_INVALID_ARGUMENT, &context->error, "[8]",
                 "numbers of the shape [2]");
    assert_int_equal(model->values_version, version);
    assert_int_equal(liana_layer_adapt((liana_layer){0}, dataset, NULL), LIANA_INVALID_ARGUMENT);
    liana_dataset_close(other);
    liana_dataset_close(bad);
    liana_dataset_close(endless);
    liana_dataset_close(dataset);
}

/* Large means and small deviations, in pieces, against the two-pass formula. */
static void test_moments_are_accurate(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    double *values = calloc(COUNT, sizeof *values), mean[3] = {0}, variance[3] = {0};
    assert_non_null(values);
    for (int i = 0; i < COUNT; i++) values[i] = 1e8 + (double)((i * 7919) % 1013) / 1013;
    for (int i = 0; i < COUNT; i++) mean[i % 3] += (values[i] - 1e8) / (COUNT / 3);
    for (int i = 0; i < COUNT; i++) variance[i % 3] += pow(values[i] - 1e8 - mean[i % 3], 2) / (COUNT / 3);
    liana__moments moments;
    assert_ok(liana__moments_create(3, &moments, &error), &error);
    assert_ok(liana__moments_add(&moments, LIANA_F64, values, 999, &error), &error);
    assert_ok(liana__moments_add(&moments, LIANA_F64, values + 999, COUNT - 999, &error), &error);
    assert_int_equal(moments.count, COUNT / 3);
    for (int i = 0; i < 3; i++) {
        assert_near(moments.mean[i] - 1e8, mean[i], 1e-6, i);
        assert_near(moments.squares[i] / (double)moments.count, variance[i], 1e-6, i);
    }
    assert_fails(liana__moments_add(&moments, LIANA_F64, values, 4, &error), LIANA_INVALID_ARGUMENT, &error, "4 values",
                 "multiple of 3");
    liana__moments_free(&moments);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shared_weights_get_the_gradients_of_both_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_layer_called_on_tensors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_f64_model_has_f64_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_of_a_dropout_draw_differently, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_updates_of_a_batch_normalization, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_updates_of_a_batch_normalization_called_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_masks_reach_outputs_and_layers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_mask_that_is_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_tensors_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_floats_of_one_dtype, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_normalization_adapts_to_a_dataset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moments_are_accurate, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
