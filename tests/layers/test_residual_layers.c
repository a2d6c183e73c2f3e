/* LayerScale and StochasticDepth, which end a residual branch: values, gradients, and that neither threads nor shards
 * change what is drawn. Their files and results are compared with Keras's elsewhere (tests/train/model). */
#include "harness/harness.h"

#include "harness/model_run.h"
#include "harness/one_context.h"
#include "ir/graph.h"

#include <liana/layers.h>
#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, PLACES = 6, CHANNELS = 3, EXAMPLE = PLACES * CHANNELS, SIZE = BATCH * EXAMPLE };

static const double rate = 0.3;

static liana_model *new_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    return model;
}

/* The two layers on [6, 3], with the run's positions from `first` on. */
typedef struct branch {
    liana_model *model;
    liana__device *device;
    float *weights[1];
} branch;

static branch open_branch(void)
{
    branch own = {.model = new_model()};
    liana__error error = {0};
    assert_ok(liana__device_open(context, "reference", &own.device, &error), &error);
    liana_input(own.model, .shape = LIANA_INTS(PLACES, CHANNELS));
    liana_layer_scale(own.model, .init_values = 0.25, .projection_dim = CHANNELS);
    liana_stochastic_depth(own.model, .drop_path_rate = rate);
    assert_ok(liana_model_status(own.model), &context->error);
    assert_int_equal(own.model->num_weights, 1);
    assert_string_equal(own.model->weights[0].name, "layer_scale/gamma");
    float **first = liana__test_weights(own.model, 1);
    for (int c = 0; c < CHANNELS; c++) assert_compare(first[0][c], ==, 0.25f);
    own.weights[0] = first[0];
    free(first);
    for (int c = 0; c < CHANNELS; c++) own.weights[0][c] = 0.5f - 0.75f * (float)c;
    return own;
}

static void close_branch(branch *own)
{
    free(own->weights[0]);
    liana_model_destroy(own->model);
    liana__device_close(own->device);
}

static float element(int i)
{
    return (float)sin(0.7 * (i + 1));
}

static float slope(int i)
{
    return (float)cos(0.3 * i);
}

/* The result, and the gradients of sum(slope * result) for x and gamma. Free them with liana__test_free_arrays. */
static float **run_branch(const branch *own, const float *x, uint64_t first, int64_t count, bool training)
{
    liana_graph *graph;
    float *slopes = malloc(SIZE * sizeof *slopes);
    uint64_t positions[BATCH];
    assert_non_null(slopes);
    for (int i = 0; i < SIZE; i++) slopes[i] = slope(i);
    for (int64_t i = 0; i < count; i++) positions[i] = first + (uint64_t)i;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    const liana_shape shape = liana_shape_of(count, PLACES, CHANNELS);
    liana_tensor input = liana_graph_input(graph, "x", LIANA_F32, shape), y;
    const liana_call_mode mode = {.training = training,
                                  .positions = liana_graph_constant(graph, LIANA_U64, liana_shape_of(count), positions),
                                  .seed = 5};
    liana_model_call(own->model, &input, 1, &mode, &y, NULL);
    liana_tensor gamma = liana_graph_variable(graph, "layer_scale/gamma", LIANA_F32, liana_shape_of(CHANNELS));
    liana_tensor weighted = liana_op_multiply(y, liana_graph_constant(graph, LIANA_F32, shape, slopes));
    liana_tensor sum = liana_op_reduce_sum(weighted, LIANA_ALL_AXES, false), of[2] = {input, gamma}, gradients[2];
    liana_gradients(sum, of, 2, gradients);
    liana_graph_output(graph, "y", y);
    liana_graph_output(graph, "dx", gradients[0]);
    liana_graph_output(graph, "dgamma", gradients[1]);
    assert_ok(liana_graph_status(graph), &context->error);
    float **results =
        liana__test_graph_run(own->device, graph, own->model, (float *const *)own->weights, (const void *const[]){x});
    liana_graph_destroy(graph);
    free(slopes);
    return results;
}

static void test_whole_examples_are_dropped(void **state)
{
    (void)state;
    branch own = open_branch();
    float x[SIZE];
    for (int i = 0; i < SIZE; i++) x[i] = element(i);
    float **trained = run_branch(&own, x, 100, BATCH, true), **same = run_branch(&own, x, 100, BATCH, false);
    int dropped = 0;
    for (int e = 0; e < BATCH; e++) {
        const bool is_gone = trained[0][e * EXAMPLE] == 0;
        dropped += is_gone;
        for (int i = e * EXAMPLE; i < (e + 1) * EXAMPLE; i++) {
            const double y = (double)own.weights[0][i % CHANNELS] * (double)x[i];
            assert_near((double)same[0][i], y, 1e-7, i);
            assert_near((double)trained[0][i], is_gone ? 0 : y / (1 - rate), 1e-6, i);
        }
    }
    assert_near((double)dropped / BATCH, rate, 4 * sqrt(rate * (1 - rate) / BATCH));
    /* A shard of the last 20 examples draws the same for them. */
    float **part = run_branch(&own, x + 44 * EXAMPLE, 144, 20, true);
    assert_memory_equal(part[0], trained[0] + 44 * EXAMPLE, 20 * EXAMPLE * sizeof(float));
    liana__test_free_arrays(part, 3);
    liana__test_free_arrays(trained, 3);
    liana__test_free_arrays(same, 3);
    close_branch(&own);
}

static double loss_of(const branch *own, const float *x)
{
    double loss = 0;
    float **results = run_branch(own, x, 100, BATCH, true);
    for (int i = 0; i < SIZE; i++) loss += (double)slope(i) * (double)results[0][i];
    liana__test_free_arrays(results, 3);
    return loss;
}

/* Both layers are linear, so that wide differences are exact but for rounding. */
static void test_gradients_are_finite_differences(void **state)
{
    (void)state;
    branch own = open_branch();
    float x[SIZE];
    for (int i = 0; i < SIZE; i++) x[i] = element(i);
    float **results = run_branch(&own, x, 100, BATCH, true);
    for (int c = 0; c < CHANNELS; c++) {
        const float before = own.weights[0][c];
        own.weights[0][c] = before + 2;
        const double above = loss_of(&own, x);
        own.weights[0][c] = before - 2;
        const double below = loss_of(&own, x);
        own.weights[0][c] = before;
        assert_near((double)results[2][c], (above - below) / 4, 1e-4, c);
        assert_compare(fabs((double)results[2][c]), >, 0.01, c);
    }
    int changed = 0;
    for (int i = 0; i < SIZE; i += 7) {
        const float before = x[i];
        x[i] = before + 2;
        const double above = loss_of(&own, x);
        x[i] = before - 2;
        const double below = loss_of(&own, x);
        x[i] = before;
        assert_near((double)results[1][i], (above - below) / 4, 1e-4, i);
        changed += fabs((double)results[1][i]) > 1e-3;
    }
    assert_compare(changed, >, SIZE / 7 / 3);
    liana__test_free_arrays(results, 3);
    close_branch(&own);
}

/* ---- training ---- */

enum { SIDE = 6, NUM_IMAGES = 48 };

/* A small residual network as ConvNeXt has them. */
static liana_model *make_network(liana_context *in)
{
    liana_model *m;
    assert_ok(liana_model_create(in, NULL, &m), &in->error);
    liana_input(m, .shape = LIANA_INTS(SIDE, SIDE, 3), .name = "numbers");
    liana_layer input = liana_conv2d(m, .filters = 4, .kernel_size = 2);
    liana_conv2d(m, .filters = 4, .kernel_size = 7, .padding = LIANA_PADDING_SAME, .groups = 4);
    liana_layer_normalization(m, .epsilon = 1e-6);
    liana_dense(m, .units = 16, .activation = "gelu");
    liana_dense(m, .units = 4);
    liana_layer_scale(m, .init_values = 0.5, .projection_dim = 4);
    liana_layer x = liana_stochastic_depth(m, .drop_path_rate = 0.4);
    liana_add(m, .inputs = {input, x});
    liana_global_average_pooling2d(m);
    liana_dense(m, .units = 3, .activation = "softmax");
    assert_ok(liana_model_status(m), &in->error);
    return m;
}

/* The values of all weights after two epochs, one after the other. */
static float *train(int num_threads, int64_t microbatch, liana_precision precision, size_t *count)
{
    liana_context *own;
    static float images[NUM_IMAGES * SIDE * SIDE * 3];
    static int32_t labels[NUM_IMAGES];
    for (int i = 0; i < NUM_IMAGES * SIDE * SIDE * 3; i++) images[i] = (float)sin(0.9 * i + i / 108 % 3);
    for (int i = 0; i < NUM_IMAGES; i++) labels[i] = i % 3;
    assert_ok(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &own), NULL);
    const liana_array arrays[] = {{"numbers", LIANA_F32, liana_shape_of(NUM_IMAGES, SIDE, SIDE, 3), images},
                                  {"label", LIANA_S32, liana_shape_of(NUM_IMAGES), labels}};
    liana_dataset *data = liana_dataset_from_tensor_slices(own, arrays, 2);
    liana_model *m = make_network(own);
    assert_ok(liana_fit(m, &(liana_fit_options){.training = data,
                                                .epochs = 2,
                                                .batch_size = 16,
                                                .microbatch = microbatch,
                                                .precision = precision,
                                                .optimizer = "{name: SGD, learning_rate: 0.1}"}),
              &own->error);
    float *values = malloc((size_t)liana_model_info(m).num_parameters * sizeof *values);
    assert_non_null(values);
    *count = 0;
    for (size_t i = 0; i < m->num_weights; i++) {
        const size_t size = (size_t)liana_shape_size(&m->weights[i].shape);
        memcpy(values + *count, m->values[i], size * sizeof *values);
        *count += size;
    }
    liana_dataset_close(data);
    liana_model_destroy(m);
    liana_context_destroy(own);
    return values;
}

static void assert_close(const float *found, const float *expected, size_t count, double tolerance)
{
    double distance = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        distance += pow((double)found[i] - (double)expected[i], 2);
        norm += pow((double)expected[i], 2);
    }
    assert_compare(sqrt(distance), <, tolerance * sqrt(norm));
}

/* Threads change no bit. Shards of another size round otherwise, but draw the same examples: another draw would change
 * weights by more than a hundredth. So does bfloat16. */
static void test_threads_and_shards_draw_alike(void **state)
{
    (void)state;
    size_t count;
    float *one = train(1, 4, LIANA_FLOAT32, &count), *three = train(3, 4, LIANA_FLOAT32, &count);
    assert_memory_equal(one, three, count * sizeof *one);
    float *whole = train(2, 16, LIANA_FLOAT32, &count), *mixed = train(2, 4, LIANA_MIXED_BFLOAT16, &count);
    assert_close(whole, one, count, 1e-5);
    assert_memory_not_equal(mixed, one, count * sizeof *one);
    assert_close(mixed, one, count, 0.01);
    free(one);
    free(three);
    free(whole);
    free(mixed);
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    (void)state;
    liana_model *model = new_model();
    liana_input(model, .shape = LIANA_INTS(PLACES, CHANNELS));
    liana_layer_scale(model, .init_values = 0.1, .projection_dim = 5);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "layer_scale", "[batch, 6, 3]",
                 "projection_dim: 5 channels");
    liana_model_destroy(model);
    model = new_model();
    liana_input(model, .shape = LIANA_INTS(PLACES, CHANNELS));
    liana_stochastic_depth(model, .drop_path_rate = 1);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "stochastic_depth.drop_path_rate",
                 "found the number 1.0");
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_examples_are_dropped),
        cmocka_unit_test(test_gradients_are_finite_differences),
        cmocka_unit_test(test_threads_and_shards_draw_alike),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
