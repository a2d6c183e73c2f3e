/* Mixed precision: the ops that become bf16 and those that do not, and how far results lie from those in f32. */
#include "harness/harness.h"

#include "harness/objective.h"

#include "harness/graph_run.h"
#include "harness/model_run.h"

#include "base/random.h"
#include "ops/norm/batch_norm.h"
#include "ops/samples.h"
#include "passes/pass.h"
#include "train/objective/step_graphs.h"

#include <liana/layers.h>
#include <liana/models.h>
#include <liana/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *cpu, *reference;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &cpu, &reference);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, reference);
}

static liana_graph *mixed(const liana_graph *graph)
{
    liana_graph *result;
    assert_ok(liana_graph_status(graph), &context->error);
    assert_ok(liana__pass_run(&liana__pass_mixed_precision, graph, &result, &context->error), &context->error);
    assert_ok(liana__graph_verify(result, &context->error), &context->error);
    return result;
}

/* ---- what becomes of nodes ---- */

/* The needed nodes of an op whose result has that dtype. */
static int count(const liana_graph *graph, const liana__op *op, liana_dtype dtype)
{
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    assert_non_null(needed);
    liana__graph_mark_needed(graph, needed);
    int found = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        found += needed[id] && graph->nodes[id]->op == op && graph->nodes[id]->dtype == dtype;
    }
    free(needed);
    return found;
}

/* No cast of a cast, and no tensor that is cast to the same dtype twice. */
static void assert_casts_are_few(const liana_graph *graph)
{
    bool *needed = calloc(graph->num_nodes, sizeof *needed);
    assert_non_null(needed);
    liana__graph_mark_needed(graph, needed);
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!needed[id] || node->op != &liana__op_cast || !liana__dtype_is_float(node->inputs[0]->dtype)) continue;
        assert_ptr_not_equal(node->inputs[0]->op, &liana__op_cast);
        for (size_t other = id + 1; other < graph->num_nodes; other++) {
            const liana__node *second = graph->nodes[other];
            bool same = needed[other] && second->op == node->op && second->inputs[0] == node->inputs[0];
            if (same && second->dtype == node->dtype) fail_msg("node %u is cast twice", node->inputs[0]->id);
        }
    }
    free(needed);
}

enum { SIZE = 9, CHANNELS = 5, FILTERS = 6, CLASSES = 4, BATCH = 3 };

/* A convolution, batch normalisation, relu6, pooling over the image, a classifier and its loss; and all gradients. */
static liana_graph *small_step(void)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana__sample_input(graph, "x", LIANA_F32, liana_shape_of(BATCH, SIZE, SIZE, CHANNELS), -1, 1);
    liana_tensor labels = liana__sample_input(graph, "labels", LIANA_S32, liana_shape_of(BATCH), 0, CLASSES - 1);
    liana_tensor wrt[] = {liana__sample_input(graph, "kernel", LIANA_F32, liana_shape_of(3, 3, CHANNELS, FILTERS), -0.3,
                                              0.3),
                          liana__sample_input(graph, "gamma", LIANA_F32, liana_shape_of(FILTERS), 0.5, 2),
                          liana__sample_input(graph, "beta", LIANA_F32, liana_shape_of(FILTERS), -1, 1),
                          liana__sample_input(graph, "dense", LIANA_F32, liana_shape_of(FILTERS, CLASSES), -1, 1),
                          liana__sample_input(graph, "bias", LIANA_F32, liana_shape_of(CLASSES), -1, 1)};
    enum { NUM_WEIGHTS = sizeof wrt / sizeof *wrt };
    liana_tensor y = liana_op_conv2d(x, wrt[0], (liana_conv_options){.padding = LIANA_PADDING_SAME});
    y = liana_op_batch_norm_training(y, wrt[1], wrt[2], liana_op_batch_norm_statistics(y), 1e-3);
    y = liana_op_reduce_mean(liana_op_relu6(y), LIANA_AXES(1, 2), false);
    liana_tensor logits = liana_op_add(liana_op_matmul(y, wrt[3], false, false), wrt[4]);
    liana__keep_wide(logits);
    liana_tensor loss =
        liana_op_reduce_sum(liana_op_sparse_softmax_cross_entropy(logits, labels), LIANA_ALL_AXES, false);
    liana_tensor gradients[NUM_WEIGHTS];
    liana_gradients(loss, wrt, NUM_WEIGHTS, gradients);
    liana_graph_output(graph, "loss", loss);
    for (int i = 0; i < NUM_WEIGHTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        liana_graph_output(graph, name, gradients[i]);
    }
    graph->mixed_precision = true;
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static void test_matrices_and_activations_become_bf16(void **state)
{
    (void)state;
    liana_graph *plain = small_step(), *graph = mixed(plain);
    static const liana__op *const narrow[] = {&liana__op_conv2d, &liana__op_batch_norm_training, &liana__op_relu6,
                                              &liana__op_relu6_gradient, &liana__op_batch_norm_input_gradient};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        assert_int_equal(count(graph, narrow[i], LIANA_BF16), 1);
        assert_int_equal(count(graph, narrow[i], LIANA_F32), 0);
    }
    static const liana__op *const wide[] = {&liana__op_batch_norm_statistics,
                                            &liana__op_batch_norm_gradient_sums,
                                            &liana__op_conv2d_kernel_gradient,
                                            &liana__op_reduce_mean,
                                            &liana__op_sparse_softmax_cross_entropy,
                                            &liana__op_sparse_softmax_cross_entropy_gradient,
                                            &liana__op_add};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        assert_int_equal(count(graph, wide[i], LIANA_BF16), 0);
        assert_compare(count(graph, wide[i], LIANA_F32), ==, count(plain, wide[i], LIANA_F32), i);
    }
    /* Logits and the gradient of the classifier's kernel are wide products; the gradient for its input is a number for
     * each channel, which is repeated over the image as bf16. */
    assert_int_equal(count(graph, &liana__op_matmul, LIANA_F32), 2);
    assert_int_equal(count(graph, &liana__op_matmul, LIANA_BF16), 1);
    assert_int_equal(count(graph, &liana__op_broadcast_to, LIANA_BF16), 1);
    assert_casts_are_few(graph);
    for (size_t i = 0; i < graph->num_outputs; i++) assert_int_equal(graph->outputs[i].node->dtype, LIANA_F32);
    assert_false(graph->mixed_precision);
    liana_graph_destroy(graph);
    liana_graph_destroy(plain);
}

/* |a - b| / |b|, as vectors. */
static double distance(const float *a, const float *b, int64_t size)
{
    double difference = 0, length = 0;
    for (int64_t i = 0; i < size; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        length += (double)b[i] * b[i];
    }
    return sqrt(difference / (length + 1e-30));
}

/* Of the angle between them. */
static double cosine(const float *a, const float *b, int64_t size)
{
    double product = 0, of_a = 0, of_b = 0;
    for (int64_t i = 0; i < size; i++) {
        product += (double)a[i] * b[i];
        of_a += (double)a[i] * a[i];
        of_b += (double)b[i] * b[i];
    }
    return product / sqrt(of_a * of_b);
}

/* On both devices: the plain loops run the same rewritten graph. */
static void check_results(void)
{
    liana_graph *graph = small_step();
    liana__device *const devices[] = {cpu, reference};
    liana__test_value inputs[16], exact[16], got[16];
    liana__test_draw_inputs(graph, 5, inputs);
    graph->mixed_precision = false;
    liana__test_run(reference, graph, inputs, exact);
    graph->mixed_precision = true;
    for (int device = 0; device < 2; device++) {
        liana__test_run(devices[device], graph, inputs, got);
        for (size_t i = 0; i < graph->num_outputs; i++) {
            double far = distance(got[i].data, exact[i].data, liana_shape_size(&exact[i].shape));
            if (far > 0.02) fail_msg("output %s is %.3g away", graph->outputs[i].name, far);
            if (i > 0) assert_compare(far, >, 1e-5); /* it was computed in bf16 */
        }
        liana__test_free_values(got, graph->num_outputs);
    }
    liana__test_free_values(inputs, graph->num_inputs);
    liana__test_free_values(exact, graph->num_outputs);
    liana_graph_destroy(graph);
}

static void test_results_are_near_those_in_f32(void **state)
{
    (void)state;
    const liana__isa best = context->isa;
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
        context->isa = (liana__isa)isa;
        check_results();
    }
    context->isa = best;
}

static void test_a_graph_that_does_not_ask_stays(void **state)
{
    (void)state;
    liana_graph *graph = small_step(), *result;
    graph->mixed_precision = false;
    assert_ok(liana__passes_run_asked_for(graph, &result, &context->error), &context->error);
    assert_null(result);
    graph->mixed_precision = true;
    context->skipped_passes = "mixed_precision";
    assert_ok(liana__passes_run_asked_for(graph, &result, &context->error), &context->error);
    assert_null(result);
    context->skipped_passes = NULL;
    assert_ok(liana__passes_run_asked_for(graph, &result, &context->error), &context->error);
    assert_int_equal(count(result, &liana__op_conv2d, LIANA_BF16), 1);
    liana_graph_destroy(result);
    liana_graph_destroy(graph);
}

/* A product that is read in bf16 but marked, and a pass before. */
static void test_marked_tensors_stay_wide(void **state)
{
    (void)state;
    for (int marked = 0; marked < 2; marked++) {
        liana_graph *plain = liana__test_new_graph(context), *copy;
        liana_tensor x = liana__sample_input(plain, "x", LIANA_F32, liana_shape_of(6, 5), -1, 1);
        liana_tensor w = liana__sample_input(plain, "w", LIANA_F32, liana_shape_of(5, 5), -1, 1);
        liana_tensor y = liana_op_logistic(liana_op_matmul(x, w, false, false));
        if (marked) liana__keep_wide(y);
        liana_graph_output(plain, "sum", liana_op_reduce_sum(y, LIANA_ALL_AXES, false));
        plain->mixed_precision = true;
        assert_ok(liana__pass_run(&liana__pass_fold_padding, plain, &copy, &context->error), &context->error);
        assert_true(copy->mixed_precision);
        liana_graph *graph = mixed(copy);
        assert_int_equal(count(graph, &liana__op_logistic, LIANA_F32), marked);
        assert_int_equal(count(graph, &liana__op_matmul, LIANA_F32), marked);
        liana_graph_destroy(graph);
        liana_graph_destroy(copy);
        liana_graph_destroy(plain);
    }
}

/* Two uses of a weight: their gradients are added in f32, before anything is rounded. */
static void test_gradients_of_shared_weights_are_added_wide(void **state)
{
    (void)state;
    liana_graph *plain = liana__test_new_graph(context);
    liana_tensor x = liana__sample_input(plain, "x", LIANA_F32, liana_shape_of(7, 5), -1, 1);
    liana_tensor w = liana__sample_input(plain, "w", LIANA_F32, liana_shape_of(5, 5), -1, 1), gradient;
    liana_tensor y = liana_op_matmul(liana_op_relu(liana_op_matmul(x, w, false, false)), w, false, false);
    liana_gradients(liana_op_reduce_sum(liana_op_square(y), LIANA_ALL_AXES, false), &w, 1, &gradient);
    liana_graph_output(plain, "gradient", gradient);
    plain->mixed_precision = true;
    liana_graph *graph = mixed(plain);
    assert_int_equal(count(graph, &liana__op_add, LIANA_F32), 1);
    assert_int_equal(count(graph, &liana__op_matmul, LIANA_F32), 2);
    assert_casts_are_few(graph);
    liana_graph_destroy(graph);
    liana_graph_destroy(plain);
}

/* An exponential between bf16 tensors is computed in f32, and so is the rest of the difference from 1 (ELU). */
static void test_sensitive_ops_stay_wide(void **state)
{
    (void)state;
    liana_graph *plain = liana__test_new_graph(context);
    liana_tensor x = liana__sample_input(plain, "x", LIANA_F32, liana_shape_of(6, 5), -1, 1);
    liana_tensor w = liana__sample_input(plain, "w", LIANA_F32, liana_shape_of(5, 5), -1, 1);
    liana_tensor y = liana_op_matmul(x, w, false, false), one = liana_graph_scalar(plain, LIANA_F32, 1);
    liana_tensor elu = liana_op_select(liana_op_greater(y, liana_graph_scalar(plain, LIANA_F32, 0)), y,
                                       liana_op_subtract(liana_op_exp(y), one));
    liana_graph_output(plain, "z", liana_op_matmul(elu, w, false, false));
    plain->mixed_precision = true;
    liana_graph *graph = mixed(plain);
    assert_int_equal(count(graph, &liana__op_exp, LIANA_F32), 1);
    assert_int_equal(count(graph, &liana__op_subtract, LIANA_F32), 1);
    assert_int_equal(count(graph, &liana__op_select, LIANA_BF16), 1);
    assert_int_equal(count(graph, &liana__op_matmul, LIANA_BF16), 1);
    assert_casts_are_few(graph);
    liana_graph_destroy(graph);
    liana_graph_destroy(plain);
}

/* A batch normalisation that only f32 ops read is computed in f32, its statistics from the convolution's results. */
static void test_a_normalisation_before_a_softmax(void **state)
{
    (void)state;
    liana_graph *plain = liana__test_new_graph(context);
    liana_tensor x = liana__sample_input(plain, "x", LIANA_F32, liana_shape_of(6, 5), -1, 1);
    liana_tensor w = liana__sample_input(plain, "w", LIANA_F32, liana_shape_of(5, 5), -1, 1);
    liana_tensor gamma = liana__sample_input(plain, "gamma", LIANA_F32, liana_shape_of(5), 0.5, 2);
    liana_tensor y = liana_op_matmul(x, w, false, false);
    y = liana_op_batch_norm_training(y, gamma, gamma, liana_op_batch_norm_statistics(y), 1e-3);
    liana_graph_output(plain, "p", liana_op_softmax(y));
    plain->mixed_precision = true;
    liana_graph *graph = mixed(plain);
    assert_int_equal(count(graph, &liana__op_batch_norm_training, LIANA_F32), 1);
    assert_int_equal(count(graph, &liana__op_softmax, LIANA_F32), 1);
    liana_graph_destroy(graph);
    liana_graph_destroy(plain);
}

/* ---- a whole model ---- */

enum { IMAGE = 96, NUM_IMAGES = 16 };

static liana_model *make_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_mobilenet_v2(model, .input_shape = LIANA_INTS(IMAGE, IMAGE, 3), .alpha = 0.35, .include_top = false);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    assert_ok(liana_model_status(model), &context->error);
    return model;
}

static liana_graph *training_graph(const liana_model *model, bool mixed_precision)
{
    liana__trainer_options options = {.model = model,
                                      .objective = liana__test_objective(model, "[]"),
                                      .scale = LIANA_SCALE_MINUS_ONE_ONE,
                                      .mixed_precision = mixed_precision};
    const liana__shard_rows rows = {NUM_IMAGES, 1, false};
    liana__shard_sums sums = {0};
    liana_graph *graph;
    assert_ok(liana__build_model_shard(context, &options, LIANA__STEP_TRAINING, &rows, &sums, &graph), &context->error);
    liana__shard_sums_free(&sums);
    return graph;
}

typedef struct step_data {
    uint8_t images[NUM_IMAGES * IMAGE * IMAGE * 3];
    int32_t labels[NUM_IMAGES];
    uint64_t positions[NUM_IMAGES];
} step_data;

static void fill_step(step_data *data)
{
    for (uint32_t i = 0; i < sizeof data->images; i++) {
        uint32_t pixel = i / 3, image = pixel / IMAGE / IMAGE, words[4];
        double column = pixel % IMAGE, row = pixel / IMAGE % IMAGE, value = 128;
        for (uint32_t wave = 0; wave < 8; wave++) {
            liana__philox_key key = liana__philox_make_key(7, LIANA__STREAM_TEST, image);
            liana__philox(key, (uint32_t[]){wave, i % 3, 0, 0}, words);
            double angle = 6.28 * liana__uniform_float(words[0]), waves = 0.5 * pow(2, (double)wave / 2) / IMAGE;
            value +=
                40 * sin(6.28 * (waves * (column * cos(angle) + row * sin(angle)) + liana__uniform_float(words[1])));
        }
        data->images[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    for (int i = 0; i < NUM_IMAGES; i++) data->labels[i] = i % CLASSES;
    for (int i = 0; i < NUM_IMAGES; i++) data->positions[i] = (uint64_t)i;
}

/* As bf16 would hold them. */
static void round_weights(float **weights, const liana_model *model)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k++) {
            weights[i][k] = liana__bf16_to_float(liana__float_to_bf16(weights[i][k]));
        }
    }
}

/* One output of three graphs. */
static void compare_gradients(const liana__output *output, const float *got, const float *rounded, const float *exact,
                              int *compared)
{
    int64_t size = liana_shape_size(&output->node->shape);
    double far = distance(got, exact, size), usual = distance(rounded, exact, size), along = cosine(got, exact, size);
    /* The gradients of offsets before a normalisation are nearly 0. */
    if (!strstr(output->name, "kernel")) return;
    (*compared)++;
    bool late = strncmp(output->name, "Conv_1", 6) == 0 || strncmp(output->name, "dense", 5) == 0;
    if (far > 5 * usual || (late && along < 0.85)) {
        fail_msg("%s is %.3g away, where rounded weights make %.3g; cosine %.3g", output->name, far, usual, along);
    }
}

/* The loss and the gradients of MobileNetV2 lie about as far from those in f32 as they do when the weights alone are
 * rounded and all else is computed in f32: 50 layers with batch normalisation magnify small differences on the way to
 * the loss, and the gradient is that of their results. (The way back adds 2 to 4 percent.) */
static void test_gradients_of_a_model_are_near_those_in_f32(void **state)
{
    (void)state;
    static step_data data;
    const char *path = liana__test_data("weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5");
    fill_step(&data);
    liana_model *model = make_model();
    assert_ok(liana_model_load_weights(model, path, true), &context->error);
    float **weights = model->values;
    liana_graph *plain = training_graph(model, false), *graph = training_graph(model, true);
    const void *const inputs[] = {data.images, data.labels, data.positions};
    float **exact = liana__test_graph_run(cpu, plain, model, weights, inputs);
    float **got = liana__test_graph_run(cpu, graph, model, weights, inputs);
    context->validate = true;
    float **validated = liana__test_graph_run(cpu, graph, model, weights, inputs);
    context->validate = false;
    round_weights(weights, model);
    float **rounded = liana__test_graph_run(cpu, plain, model, weights, inputs);
    assert_near(got[0][0], exact[0][0], 0.06 * exact[0][0]);
    int compared = 0;
    for (size_t i = 1; i < plain->num_outputs; i++) {
        compare_gradients(&plain->outputs[i], got[i], rounded[i], exact[i], &compared);
        size_t bytes = liana__byte_size(LIANA_F32, &plain->outputs[i].node->shape);
        assert_memory_equal(got[i], validated[i], bytes);
    }
    assert_compare(compared, >, 50);
    liana__test_free_arrays(exact, plain->num_outputs);
    liana__test_free_arrays(got, plain->num_outputs);
    liana__test_free_arrays(validated, plain->num_outputs);
    liana__test_free_arrays(rounded, plain->num_outputs);
    liana_graph_destroy(plain);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices_and_activations_become_bf16),
        cmocka_unit_test(test_results_are_near_those_in_f32),
        cmocka_unit_test(test_a_graph_that_does_not_ask_stays),
        cmocka_unit_test(test_marked_tensors_stay_wide),
        cmocka_unit_test(test_gradients_of_shared_weights_are_added_wide),
        cmocka_unit_test(test_sensitive_ops_stay_wide),
        cmocka_unit_test(test_a_normalisation_before_a_softmax),
        cmocka_unit_test(test_gradients_of_a_model_are_near_those_in_f32),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
