/* Losses and metrics of values: against the formulas in plain loops of double, and the gradients against differences of
 * these. */
#include "harness/harness.h"

#include "base/random.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "ir/graph.h"
#include "ir/shape.h"
#include "losses/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

enum { BATCH = 4, STEPS = 3, VALUES = 5, ROWS = BATCH * STEPS, SIZE = ROWS * VALUES };

/* A loss of one row, written down again. */
typedef double (*formula)(const double *x, const double *target, double option);

/* The tried loss: with options as they are written, on numbers or on a softmax or sigmoid of them. */
typedef struct trial {
    const char *written;
    formula expected;
    double option;
    bool of_logits;
} trial;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double binary_formula(const double *x, const double *target, double smoothing)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++) {
        double p = sigmoid(x[i]), t = target[i] * (1 - smoothing) + smoothing / 2;
        sum -= t * log(p) + (1 - t) * log(1 - p);
    }
    return sum / VALUES;
}

static double categorical_formula(const double *x, const double *target, double smoothing)
{
    double sum = 0, loss = 0;
    for (int i = 0; i < VALUES; i++) sum += exp(x[i]);
    for (int i = 0; i < VALUES; i++) {
        loss -= (target[i] * (1 - smoothing) + smoothing / VALUES) * log(exp(x[i]) / sum);
    }
    return loss;
}

static double squared_formula(const double *x, const double *target, double option)
{
    (void)option;
    double sum = 0;
    for (int i = 0; i < VALUES; i++) sum += (x[i] - target[i]) * (x[i] - target[i]);
    return sum / VALUES;
}

static double absolute_formula(const double *x, const double *target, double option)
{
    (void)option;
    double sum = 0;
    for (int i = 0; i < VALUES; i++) sum += fabs(x[i] - target[i]);
    return sum / VALUES;
}

static double huber_formula(const double *x, const double *target, double delta)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++) {
        double e = fabs(x[i] - target[i]);
        sum += e <= delta ? e * e / 2 : delta * e - delta * delta / 2;
    }
    return sum / VALUES;
}

static const trial trials[] = {
    {"binary_crossentropy", binary_formula, 0, true},
    {"binary_crossentropy", binary_formula, 0, false},
    {"{name: BinaryCrossentropy, label_smoothing: 0.2}", binary_formula, 0.2, true},
    {"{name: bce, label_smoothing: 0.2}", binary_formula, 0.2, false},
    {"categorical_crossentropy", categorical_formula, 0, true},
    {"{name: categorical_crossentropy, label_smoothing: 0.1}", categorical_formula, 0.1, true},
    {"{name: categorical_crossentropy, label_smoothing: 0.1}", categorical_formula, 0.1, false},
    {"mean_squared_error", squared_formula, 0, false},
    {"mse", squared_formula, 0, false},
    {"mean_absolute_error", absolute_formula, 0, false},
    {"huber", huber_formula, 1, false},
    {"{name: huber, delta: 0.3}", huber_formula, 0.3, false},
};

/* Numbers from -2 to 2; targets are probabilities that add up to 1 in a row. */
static void draw(double *x, double *target)
{
    liana__philox_key key = liana__philox_make_key(21, LIANA__STREAM_TEST, 4);
    for (uint32_t row = 0; row < ROWS; row++) {
        double sum = 0;
        for (uint32_t i = 0; i < VALUES; i++) {
            uint32_t words[4], at = row * VALUES + i;
            liana__philox(key, (uint32_t[4]){at, 0, 0, 0}, words);
            x[at] = (double)liana__uniform_float(words[0]) * 4 - 2;
            target[at] = (double)liana__uniform_float(words[1]);
            sum += target[at];
        }
        for (uint32_t i = 0; i < VALUES; i++) target[row * VALUES + i] /= sum;
    }
}

static liana__test_value value_of(const double *numbers, liana_dtype dtype)
{
    liana_shape shape = liana_shape_of(BATCH, STEPS, VALUES);
    liana__test_value value = {dtype, shape, malloc(liana__byte_size(dtype, &shape))};
    assert_non_null(value.data);
    for (int64_t i = 0; i < SIZE; i++) liana__store(value.data, dtype, i, numbers[i]);
    return value;
}

/* The loss's output: the numbers, or its activation's probabilities of them. */
static liana_tensor output_of(const trial *t, const liana_loss_type *loss, liana_tensor x)
{
    (void)t;
    switch (loss->activation) {
    case LIANA_LOGITS_SOFTMAX: return liana_op_softmax(x);
    case LIANA_LOGITS_SIGMOID: return liana_op_logistic(x);
    case LIANA_LOGITS_NONE: break;
    }
    return x;
}

static void read_choice(const char *written, liana__arena *arena, liana__loss_choice *choice)
{
    liana__error error = {0};
    liana__value *value;
    assert_ok(liana__yaml_parse(written, strlen(written), "loss", arena, &value, &error), &error);
    assert_ok(liana__loss_read(NULL, value, "loss", arena, choice, &error), &error);
}

/* The losses of all rows, and the gradient of their sum with respect to the numbers. */
static void run(const trial *t, liana__device *device, liana_dtype dtype, const double *x, const double *target,
                double *losses, double *gradients)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana__loss_choice choice;
    read_choice(t->written, &graph->arena, &choice);
    liana_shape shape = liana_shape_of(BATCH, STEPS, VALUES);
    liana_tensor given = liana_graph_input(graph, "x", dtype, shape), gradient;
    liana_tensor truth = liana_graph_input(graph, "target", dtype, shape);
    const liana_loss_call call = {.options = choice.options,
                                  .output = output_of(t, choice.loss, given),
                                  .logits = t->of_logits ? given : (liana_tensor){0},
                                  .target = {LIANA_TARGET_VALUES, truth}};
    liana_tensor each = choice.loss->elements(&call);
    liana_gradients(each, &given, 1, &gradient);
    liana_graph_output(graph, "loss", each);
    liana_graph_output(graph, "gradient", gradient);
    assert_ok(liana_graph_status(graph), &context->error);
    liana_shape found = liana_tensor_shape(each), expected = liana_shape_of(BATCH, STEPS);
    assert_true(liana_shape_equal(&found, &expected));
    liana__test_value inputs[2] = {value_of(x, dtype), value_of(target, dtype)}, outputs[2];
    liana__test_run(device, graph, inputs, outputs);
    for (int64_t i = 0; i < ROWS; i++) losses[i] = liana__load(outputs[0].data, dtype, i);
    for (int64_t i = 0; i < SIZE; i++) gradients[i] = liana__load(outputs[1].data, dtype, i);
    liana__test_free_values(inputs, 2);
    liana__test_free_values(outputs, 2);
    liana_graph_destroy(graph);
}

static void check_close(const trial *t, const char *what, double found, double expected, double tolerance)
{
    if (fabs(found - expected) <= tolerance * (1 + fabs(expected))) return;
    fail_msg("%s: %s is %.12g, expected %.12g", t->written, what, found, expected);
}

static void check(const trial *t, liana__device *device, liana_dtype dtype, double tolerance)
{
    double x[SIZE], target[SIZE], losses[ROWS], gradients[SIZE];
    draw(x, target);
    run(t, device, dtype, x, target, losses, gradients);
    for (int row = 0; row < ROWS; row++) {
        double *own = x + row * VALUES;
        const double *truth = target + row * VALUES;
        check_close(t, "a loss", losses[row], t->expected(own, truth, t->option), tolerance);
        for (int i = 0; i < VALUES; i++) {
            const double h = 1e-6, at = own[i];
            own[i] = at + h;
            double above = t->expected(own, truth, t->option);
            own[i] = at - h;
            double below = t->expected(own, truth, t->option);
            own[i] = at;
            check_close(t, "a gradient", gradients[row * VALUES + i], (above - below) / (2 * h), tolerance + 1e-8);
        }
    }
}

static void test_losses_are_what_they_are_by_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        check(&trials[i], devices[0], LIANA_F64, 1e-10);
        check(&trials[i], devices[0], LIANA_F32, 3e-6);
        check(&trials[i], devices[1], LIANA_F32, 3e-6);
    }
}

/* Margins at which exp overflows: the loss is the margin, or nothing. */
static void test_extreme_logits_stay_finite(void **state)
{
    (void)state;
    const trial t = {"binary_crossentropy", NULL, 0, true};
    double x[SIZE] = {0}, target[SIZE] = {0}, losses[ROWS], gradients[SIZE];
    for (int i = 0; i < VALUES; i++) {
        x[i] = 1e4;
        x[VALUES + i] = -1e4;
        target[VALUES + i] = 1;
        x[2 * VALUES + i] = 1e4;
        target[2 * VALUES + i] = 1;
    }
    for (int d = 0; d < 2; d++) {
        run(&t, devices[d], LIANA_F32, x, target, losses, gradients);
        check_close(&t, "wrong and sure", losses[0], 1e4, 1e-6);
        check_close(&t, "wrong and sure", losses[1], 1e4, 1e-6);
        check_close(&t, "right and sure", losses[2], 0, 0);
        check_close(&t, "a gradient", gradients[0], 1.0 / VALUES, 1e-6);
        check_close(&t, "a gradient", gradients[VALUES], -1.0 / VALUES, 1e-6);
        check_close(&t, "a gradient", gradients[2 * VALUES], 0, 0);
    }
}

static void check_refused(const char *written, const char *first, const char *second)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    liana__loss_choice choice;
    assert_ok(liana__yaml_parse(written, strlen(written), "loss", &arena, &value, &error), &error);
    assert_fails(liana__loss_read(NULL, value, "train.loss", &arena, &choice, &error), LIANA_INVALID_CONFIG, &error,
                 "train.loss", first, second);
    liana__arena_free(&arena);
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    check_refused("meen_squared_error", "no loss 'meen_squared_error'", "did you mean 'mean_squared_error'");
    check_refused("{name: mse, from_logits: true}", "from_logits", "'mean_squared_error' compares numbers");
    check_refused("{name: bce, from_logits: 1}", "from_logits: found the number 1", "expected true or false");
    check_refused("{name: bce, label_smoothing: 1.5}", "label_smoothing", "1.5");
    check_refused("{name: huber, delta: 0}", "delta", "0");
    check_refused("{name: mse, delta: 1}", "unknown key 'delta'", "there are no keys");
    check_refused("{from_logits: true}", "the key 'name' is missing", "expected the name of a loss");
    check_refused("[mse]", "found a list of 1", "expected the name of a loss");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_are_what_they_are_by_definition),
        cmocka_unit_test(test_extreme_logits_stay_finite),
        cmocka_unit_test(test_mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
