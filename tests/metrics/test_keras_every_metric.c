/* Every metric of Keras 3.15.1 against Keras (tests/samples/keras_every_metric.py): over uneven batches, without
 * weights and with them, on both backends. */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "metrics/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 23, MOST_VALUES = 8, MOST_SUMS = 2048, MOST_WIDTH = 5 };

/* Kinds of numbers, as in the script. */
typedef struct keras_metric {
    const char *yaml;
    char output, target;
    int width, num_values;
    double plain[MOST_VALUES], weighted[MOST_VALUES];
} keras_metric;

#include "samples/keras_every_metric.h"

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

/* ---- the formulas of keras_every_metric.py ---- */

static int drawn(int i, int k, int salt)
{
    return (i * 37 + k * 53 + i * k % 11 * 7 + salt * 29 + i / 3 * 17) % 97;
}

static float value_of(char kind, int i, int k, int width)
{
    const int number = drawn(i, k, kind - 'a');
    switch (kind) {
    case 'a': return (float)((number + 0.5) / 98);
    case 'b': return (float)(number - 48) / 16;
    case 'c': return number % 3 == 0;
    case 'd': return (float)(number % 4);
    case 'e': return (float)(number + 1) / 128;
    case 'g': return drawn(i, 0, 3) % width == k;
    default: return (float)(number + 3) / 32;
    }
}

/* Rows moved down by `turn`. */
static void make(char kind, int width, int turn, float *values)
{
    for (int i = 0; i < EXAMPLES; i++) {
        const int from = (i - turn + EXAMPLES) % EXAMPLES;
        float *row = values + i * width, sum = 0;
        for (int k = 0; k < width; k++) row[k] = value_of(kind, from, k, width);
        for (int k = 0; k < width; k++) sum = k ? sum + row[k] : row[k];
        for (int k = 0; k < width && kind == 'e'; k++) row[k] /= sum;
    }
}

typedef struct samples {
    float outputs[EXAMPLES * MOST_WIDTH], targets[EXAMPLES * MOST_WIDTH], weights[EXAMPLES];
    int32_t classes[EXAMPLES];
} samples;

static samples draw(const keras_metric *keras)
{
    samples made = {0};
    make(keras->output, keras->width, 0, made.outputs);
    if (keras->target == 'D') {
        make('d', keras->width, 3, made.targets);
    } else if (keras->target != 'f') {
        make(keras->target, keras->width, keras->output == keras->target ? 2 : 0, made.targets);
    }
    for (int i = 0; i < EXAMPLES; i++) {
        made.weights[i] = (float)(i * 5 % 4 + 1) / 4;
        made.classes[i] = drawn(i, 0, 3) % keras->width;
    }
    return made;
}

/* ---- a metric ---- */

/* What examples of a batch add: the sums of a metric, or of a mean's values and weights. */
static liana_tensor build(const liana__metric_choice *choice, const liana_metric_call *call, bool weighted)
{
    if (!choice->metric->elements) return liana__metric_add(choice->metric, call);
    liana_tensor each = liana__metric_elements(choice->metric, call);
    liana_tensor weights =
        weighted ? call->weights : liana_op_broadcast_to(liana__scalar_like(each, 1), liana_tensor_shape(each));
    const liana_loss_type *loss = choice->metric->mean_of;
    if (weighted && loss && loss->leaves_out && loss->leaves_out(choice->options)) {
        const liana_loss_call of = {.options = choice->options, .output = call->output, .target = call->target};
        weights = liana_op_multiply(weights, loss->counts(&of));
    }
    const liana_tensor parts[] = {liana_op_multiply(each, weights), weights};
    liana_tensor sums[2];
    for (int i = 0; i < 2; i++) {
        sums[i] = liana_op_reshape(liana_op_reduce_sum(parts[i], LIANA_ALL_AXES, false), liana_shape_of(1));
    }
    return liana_op_concat(sums, 2, 0);
}

static size_t add_batch(const keras_metric *keras, liana__device *device, const liana__metric_choice *choice,
                        samples *all, int begin, int count, bool weighted, double *sums)
{
    const bool classes = keras->target == 'f';
    const liana_shape rows = liana_shape_of(count, keras->width), column = liana_shape_of(count);
    liana_graph *graph = liana__test_new_graph(context);
    liana_metric_call call = {.options = choice->options, .activation = LIANA_LOGITS_NONE};
    call.output = liana_graph_input(graph, "output", LIANA_F32, rows);
    call.target.kind = classes ? LIANA_TARGET_CLASSES : LIANA_TARGET_VALUES;
    call.target.tensor = liana_graph_input(graph, "target", classes ? LIANA_S32 : LIANA_F32, classes ? column : rows);
    if (weighted) call.weights = liana_graph_input(graph, "weights", LIANA_F32, column);
    liana_graph_output(graph, "sums", build(choice, &call, weighted));
    assert_ok(liana_graph_status(graph), &context->error);
    liana__test_value inputs[] = {{LIANA_F32, rows, all->outputs + begin * keras->width},
                                  {classes ? LIANA_S32 : LIANA_F32, classes ? column : rows,
                                   classes ? (void *)(all->classes + begin)
                                           : (void *)(all->targets + begin * keras->width)},
                                  {LIANA_F32, column, all->weights + begin}};
    liana__test_value result;
    liana__test_run(device, graph, inputs, &result);
    const size_t size = (size_t)liana_shape_size(&result.shape);
    assert_compare(size, <=, MOST_SUMS);
    for (size_t i = 0; i < size; i++) sums[i] += (double)((const float *)result.data)[i];
    liana__test_free_values(&result, 1);
    liana_graph_destroy(graph);
    return size;
}

static void check(const keras_metric *keras, liana__device *device, bool weighted)
{
    static const int batches[] = {5, 1, 9, 2, 6};
    const double *expected = weighted ? keras->weighted : keras->plain;
    samples all = draw(keras);
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *written;
    liana__metric_choice choice;
    double sums[MOST_SUMS] = {0}, values[MOST_VALUES] = {0};
    size_t size = 0;
    int begin = 0;
    assert_ok(liana__yaml_parse(keras->yaml, strlen(keras->yaml), "metric", &arena, &written, &error), &error);
    assert_ok(liana__metric_read(NULL, written, "metrics", &arena, &choice, &error), &error);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        size = add_batch(keras, device, &choice, &all, begin, batches[i], weighted, sums);
        begin += batches[i];
    }
    const liana_metric_type *metric = choice.metric;
    const liana_shape shape = liana_shape_of(1, keras->width);
    const size_t found = metric->num_values ? metric->num_values(choice.options, &shape) : 0;
    assert_int_equal(found ? found : 1, keras->num_values);
    if (found) {
        metric->finish_all(choice.options, sums, size, values);
    } else {
        values[0] = metric->elements ? sums[0] / sums[1] : metric->finish(choice.options, sums, size);
    }
    for (int i = 0; i < keras->num_values; i++) {
        if (fabs(values[i] - expected[i]) <= 1e-5 * fmax(1, fabs(expected[i]))) continue;
        fail_msg("%s%s, number %d: %.9g, Keras has %.9g", keras->yaml, weighted ? " with weights" : "", i, values[i],
                 expected[i]);
    }
    liana__arena_free(&arena);
}

static void test_metrics_equal_those_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof keras_metrics / sizeof *keras_metrics; i++) {
        for (int device = 0; device < 2; device++) {
            check(&keras_metrics[i], devices[device], false);
            check(&keras_metrics[i], devices[device], true);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_metrics_equal_those_of_keras, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
