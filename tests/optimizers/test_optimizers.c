/* Optimizers on both backends, against the published formulas in double and against numbers of PyTorch 1.13.
 *
 * PyTorch (float64) started from w[i] = (i - 2) / 4 and was given, at update t from 1, the gradient
 * ((7 t + 3 i) mod 11 - 5) / 8. Its SGD multiplies the velocity by the learning rate where Keras multiplies the
 * gradient, which is the same for a constant rate. Its Adam adds epsilon to the bias-corrected root, so it was given
 * Keras's epsilon / sqrt(1 - beta_2^t) at each update. */
#include "harness/harness.h"

#include "base/random.h"
#include "base/text.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "ir/shape.h"
#include "optimizers/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 256 };

static liana_context *context;
static liana__device *devices[2];
static const char *const device_names[2] = {"reference", "cpu"};

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    for (int i = 0; i < 2; i++) {
        if (liana__device_open(context, device_names[i], &devices[i], &context->error) != LIANA_OK) return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) liana__device_close(devices[i]);
    liana_context_destroy(context);
    return 0;
}

/* Options as a configuration would give them, from a YAML mapping; malloc'ed. */
static void *options_of(const liana_optimizer_type *optimizer, const char *yaml)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *map = NULL;
    void *options = calloc(1, optimizer->part.options.size);
    assert_non_null(options);
    assert_ok(liana__yaml_parse(yaml, strlen(yaml), "test.yaml", &arena, &map, &error), &error);
    assert_ok(liana__fields_read(&optimizer->part.options, map, "train.optimizer", NULL, &arena, options, &error),
              &error);
    liana__arena_free(&arena);
    return options;
}

/* A run: the variable, its slots and the inputs of each update. */
typedef struct run {
    const liana_optimizer_type *optimizer;
    const void *options;
    liana_dtype dtype;
    liana_shape shape;
    double variable[MAX_ELEMENTS];
    double slots[LIANA_MAX_SLOTS][MAX_ELEMENTS];
} run;

static liana__test_value value_of(liana_dtype dtype, const liana_shape *shape, const double *numbers)
{
    liana__test_value value = {dtype, *shape, malloc(liana__byte_size(dtype, shape))};
    assert_non_null(value.data);
    for (int64_t i = 0; i < liana_shape_size(shape); i++) liana__store(value.data, dtype, i, numbers[i]);
    return value;
}

static void numbers_of(const liana__test_value *value, double *numbers)
{
    for (int64_t i = 0; i < liana_shape_size(&value->shape); i++) {
        numbers[i] = liana__load(value->data, value->dtype, i);
    }
}

/* Inputs: variable, gradient, rate, iteration, slots. Outputs: new variable, new slots. */
static liana_graph *update_graph(const run *r, size_t num_slots)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_optimizer_step step = {
        .options = r->options,
        .variable = liana_graph_input(graph, "variable", r->dtype, r->shape),
        .gradient = liana_graph_input(graph, "gradient", r->dtype, r->shape),
        .learning_rate = liana_graph_input(graph, "rate", r->dtype, LIANA_SCALAR),
        .iteration = liana_graph_input(graph, "iteration", r->dtype, LIANA_SCALAR),
    };
    char name[32];
    for (size_t i = 0; i < num_slots; i++) {
        snprintf(name, sizeof name, "slot %zu", i);
        step.slots[i] = liana_graph_input(graph, name, r->dtype, r->shape);
    }
    r->optimizer->update(&step);
    liana_graph_output(graph, "variable", step.new_variable);
    for (size_t i = 0; i < num_slots; i++) {
        snprintf(name, sizeof name, "slot %zu", i);
        liana_graph_output(graph, name, step.new_slots[i]);
    }
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

/* One update; `iteration` counts from 1. */
static void update(run *r, liana__device *device, int iteration, double rate, const double *gradient)
{
    size_t num_slots = liana__optimizer_num_slots(r->optimizer, r->options);
    liana_graph *graph = update_graph(r, num_slots);
    double t = iteration;
    liana__test_value inputs[4 + LIANA_MAX_SLOTS] = {
        value_of(r->dtype, &r->shape, r->variable),
        value_of(r->dtype, &r->shape, gradient),
        value_of(r->dtype, &LIANA_SCALAR, &rate),
        value_of(r->dtype, &LIANA_SCALAR, &t),
    };
    liana__test_value outputs[1 + LIANA_MAX_SLOTS];
    for (size_t i = 0; i < num_slots; i++) inputs[4 + i] = value_of(r->dtype, &r->shape, r->slots[i]);
    liana__test_run(device, graph, inputs, outputs);
    numbers_of(&outputs[0], r->variable);
    for (size_t i = 0; i < num_slots; i++) numbers_of(&outputs[1 + i], r->slots[i]);
    liana__test_free_values(inputs, 4 + num_slots);
    liana__test_free_values(outputs, 1 + num_slots);
    liana_graph_destroy(graph);
}

static void assert_close(const char *what, const double *got, const double *expected, int64_t count, double tolerance)
{
    for (int64_t i = 0; i < count; i++) {
        if (fabs(got[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]))) continue;
        fail_msg("%s[%lld] is %.17g, expected %.17g", what, (long long)i, got[i], expected[i]);
    }
}

/* ---- against PyTorch ---- */

enum { TORCH_ELEMENTS = 6, TORCH_UPDATES = 10 };

typedef struct torch_case {
    const liana_optimizer_type *optimizer;
    const char *yaml;
    double rate;
    double variable[TORCH_ELEMENTS];
    size_t num_slots;
    double slot_factor; /* from PyTorch's slot to Keras's */
    double slots[2][TORCH_ELEMENTS];
} torch_case;

static const torch_case torch_cases[] = {
    {&liana__optimizer_Adam,
     "{}",
     1e-3,
     {-0.50321490868905405, -0.25307927172929795, 0.0016647097386760501, 0.25213196455302145, 0.49865031863123294,
      0.75135203672970696},
     2,
     1,
     {{0.026872025724999984, -0.0086119630624999985, 0.009052667162499993, -0.02458336425, 0.042521396962499992,
       0.019532914687499993},
      {0.0013219061936364657, 0.001648304345934181, 0.0016962528892427806, 0.0014624993984465309, 0.0014618146420965991,
       0.0016947121871555546}}},
    {&liana__optimizer_Adam,
     "{beta_1: 0.8, beta_2: 0.95, epsilon: 1.0e-3}",
     0.1,
     {-0.79201623058630621, -0.49671921497518978, 0.16087656282610485, 0.43873359514450705, 0.3634850407942532,
      0.84648061568875743},
     2,
     1,
     {{0.018474278400000002, -0.037102719999999992, 0.047832486399999985, -0.028682176000000004, 0.07238082559999999,
       0.037565631999999995},
      {0.052620571948846465, 0.065521200460350093, 0.070055743379411367, 0.059515158510620156, 0.058103218815354962,
       0.066877266098259031}}},
    {&liana__optimizer_SGD, "{}", 0.1, {-0.5625, -0.275, 0.0125, 0.3, 0.45, 0.7375}, 0, 1, {{0}}},
    {&liana__optimizer_SGD,
     "{momentum: 0.9}",
     0.1,
     {-0.8831517684750001, -0.57750766756250005, 0.20647400446250005, 0.5287497217499999, 0.38269257266250001,
      0.80079623218749996},
     1,
     -0.1,
     {{0.26872025725000004, -0.086119630624999999, 0.090526671624999944, -0.2458336425, 0.42521396962499997,
       0.19532914687500005}}},
    {&liana__optimizer_SGD,
     "{momentum: 0.9, nesterov: true}",
     0.1,
     {-0.9073365916274998, -0.56975690080625008, 0.19832660401625007, 0.55087474957499993, 0.34442331539625004,
      0.78321660896875001},
     1,
     -0.1,
     {{0.26872025725000004, -0.086119630624999999, 0.090526671624999944, -0.2458336425, 0.42521396962499997,
       0.19532914687500005}}},
};

static void check_torch_case(const torch_case *c, liana__device *device, liana_dtype dtype, double tolerance)
{
    void *options = options_of(c->optimizer, c->yaml);
    run r = {.optimizer = c->optimizer, .options = options, .dtype = dtype, .shape = liana_shape_of(2, 3)};
    assert_int_equal(liana__optimizer_num_slots(c->optimizer, options), c->num_slots);
    for (int i = 0; i < TORCH_ELEMENTS; i++) r.variable[i] = (i - 2) / 4.0;
    for (int t = 1; t <= TORCH_UPDATES; t++) {
        double gradient[TORCH_ELEMENTS];
        for (int i = 0; i < TORCH_ELEMENTS; i++) gradient[i] = ((7 * t + 3 * i) % 11 - 5) / 8.0;
        update(&r, device, t, c->rate, gradient);
    }
    assert_close("variable", r.variable, c->variable, TORCH_ELEMENTS, tolerance);
    for (size_t slot = 0; slot < c->num_slots; slot++) {
        double expected[TORCH_ELEMENTS];
        for (int i = 0; i < TORCH_ELEMENTS; i++) expected[i] = c->slot_factor * c->slots[slot][i];
        assert_close("slot", r.slots[slot], expected, TORCH_ELEMENTS, tolerance);
    }
    free(options);
}

static void test_agree_with_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof torch_cases / sizeof *torch_cases; i++) {
        check_torch_case(&torch_cases[i], devices[0], LIANA_F64, 1e-14);
        check_torch_case(&torch_cases[i], devices[0], LIANA_F32, 3e-7);
        check_torch_case(&torch_cases[i], devices[1], LIANA_F32, 3e-7);
    }
}

/* ---- against the formulas ---- */

/* Kingma and Ba, algorithm 1 with the efficiency note of section 2: beta_1 = 0.7, beta_2 = 0.9, epsilon = 1e-2. */
static void adam_by_hand(double *w, double slots[2], double g, double rate, int t)
{
    slots[0] = 0.7 * slots[0] + 0.3 * g;
    slots[1] = 0.9 * slots[1] + 0.1 * g * g;
    *w -= rate * sqrt(1 - pow(0.9, t)) / (1 - pow(0.7, t)) * slots[0] / (sqrt(slots[1]) + 1e-2);
}

static void sgd_by_hand(double *w, double slots[2], double g, double rate, int t)
{
    (void)slots;
    (void)t;
    *w -= rate * g;
}

/* Polyak's heavy ball, momentum 0.8. */
static void momentum_by_hand(double *w, double slots[2], double g, double rate, int t)
{
    (void)t;
    double before = *w;
    *w += 0.8 * slots[0] - rate * g;
    slots[0] = *w - before;
}

/* Sutskever's form keeps the point at which the gradient is taken, w, ahead of the iterate x by momentum * velocity:
 * v' = mu v - rate g(x + mu v), x' = x + v', so the next point is x' + mu v'. */
static void nesterov_by_hand(double *w, double slots[2], double g, double rate, int t)
{
    (void)t;
    double iterate = *w - 0.8 * slots[0];
    slots[0] = 0.8 * slots[0] - rate * g;
    *w = iterate + slots[0] + 0.8 * slots[0];
}

typedef struct formula_case {
    const liana_optimizer_type *optimizer;
    const char *yaml;
    void (*by_hand)(double *w, double slots[2], double g, double rate, int t);
} formula_case;

static const formula_case formula_cases[] = {
    {&liana__optimizer_Adam, "{beta_1: 0.7, beta_2: 0.9, epsilon: 0.01}", adam_by_hand},
    {&liana__optimizer_SGD, "{}", sgd_by_hand},
    {&liana__optimizer_SGD, "{momentum: 0.8}", momentum_by_hand},
    {&liana__optimizer_SGD, "{momentum: 0.8, nesterov: true}", nesterov_by_hand},
};

/* The learning rate changes with each update, and each element has its own history. */
static void check_formula(const formula_case *c, liana__device *device, liana_dtype dtype, liana_shape shape,
                          double tolerance)
{
    int64_t count = liana_shape_size(&shape);
    void *options = options_of(c->optimizer, c->yaml);
    run r = {.optimizer = c->optimizer, .options = options, .dtype = dtype, .shape = shape};
    double expected[MAX_ELEMENTS], hand_slots[MAX_ELEMENTS][2] = {{0}}, gradient[MAX_ELEMENTS];
    liana__philox_key key = liana__philox_make_key(3, LIANA__STREAM_TEST, 0);
    for (int t = 0; t <= 7; t++) {
        double rate = 0.05 / (1 + t);
        for (int64_t i = 0; i < count; i++) {
            uint32_t words[4];
            liana__philox(key, (uint32_t[4]){(uint32_t)i, (uint32_t)t, 0, 0}, words);
            gradient[i] = liana__uniform_float(words[0]) * 4 - 2;
            if (t == 0) expected[i] = r.variable[i] = gradient[i];
            if (t > 0) c->by_hand(&expected[i], hand_slots[i], gradient[i], rate, t);
        }
        if (t > 0) update(&r, device, t, rate, gradient);
    }
    assert_close("variable", r.variable, expected, count, tolerance);
    for (int64_t i = 0; i < count; i++) {
        size_t num_slots = liana__optimizer_num_slots(c->optimizer, options);
        for (size_t slot = 0; slot < num_slots; slot++) {
            assert_close("slot", &r.slots[slot][i], &hand_slots[i][slot], 1, tolerance);
        }
    }
    free(options);
}

static void test_follow_the_formulas_on_all_shapes(void **state)
{
    (void)state;
    const liana_shape shapes[] = {LIANA_SCALAR, liana_shape_of(1), liana_shape_of(17), liana_shape_of(3, 3, 2, 5)};
    for (size_t i = 0; i < sizeof formula_cases / sizeof *formula_cases; i++) {
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            check_formula(&formula_cases[i], devices[0], LIANA_F64, shapes[k], 1e-13);
            check_formula(&formula_cases[i], devices[1], LIANA_F32, shapes[k], 2e-6);
        }
    }
}

/* Gradients of zero must neither move a variable nor divide zero by zero. */
static void test_adam_stays_where_the_gradient_is_zero(void **state)
{
    (void)state;
    void *options = options_of(&liana__optimizer_Adam, "{}");
    run r = {.optimizer = &liana__optimizer_Adam, .options = options, .dtype = LIANA_F32, .shape = liana_shape_of(3)};
    for (int i = 0; i < 3; i++) r.variable[i] = i + 0.5;
    for (int t = 1; t <= 3; t++) update(&r, devices[1], t, 1e-3, (const double[3]){0, 0, 0});
    for (int i = 0; i < 3; i++) assert_compare(r.variable[i], ==, i + 0.5, i);
    free(options);
}

/* After a long run the corrections are 1 and beta^t underflows; nothing may become NaN on the way. */
static void test_adam_after_ten_million_updates(void **state)
{
    (void)state;
    void *options = options_of(&liana__optimizer_Adam, "{}");
    run r = {.optimizer = &liana__optimizer_Adam, .options = options, .dtype = LIANA_F32, .shape = liana_shape_of(1)};
    r.slots[0][0] = 0.5;
    r.slots[1][0] = 0.25;
    update(&r, devices[1], 10000000, 1e-3, (const double[1]){0.5});
    assert_near(r.variable[0], -1e-3, 1e-9);
    free(options);
}

/* ---- names and options ---- */

static void test_find_by_name(void **state)
{
    (void)state;
    const char *nearest = "unset";
    assert_ptr_equal(liana__part_find(NULL, &liana__optimizer_kind, "Adam", &nearest), &liana__optimizer_Adam);
    assert_ptr_equal(liana__part_find(NULL, &liana__optimizer_kind, "sgd", &nearest), &liana__optimizer_SGD);
    assert_null(liana__part_find(NULL, &liana__optimizer_kind, "Adan", &nearest));
    assert_string_equal(nearest, "Adam");
    assert_null(liana__part_find(NULL, &liana__optimizer_kind, "Shampoo", &nearest));
    assert_null(nearest);
}

static void test_defaults_are_kerass(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__text text = {0};
    void *adam = options_of(&liana__optimizer_Adam, "{}"), *sgd = options_of(&liana__optimizer_SGD, "{}");
    liana__value_write_json(liana__fields_write(&liana__optimizer_Adam.part.options, &arena, adam), 0, &text);
    liana__value_write_json(liana__fields_write(&liana__optimizer_SGD.part.options, &arena, sgd), 0, &text);
    assert_non_null(text.data);
    assert_says(text.data, "\"beta_1\": 0.9");
    assert_says(text.data, "\"beta_2\": 0.999");
    assert_says(text.data, "\"epsilon\": 1.0e-07");
    assert_says(text.data, "\"momentum\": 0.0");
    assert_says(text.data, "\"nesterov\": false");
    assert_compare(liana__optimizer_Adam.default_learning_rate, ==, 1e-3);
    assert_compare(liana__optimizer_SGD.default_learning_rate, ==, 1e-2);
    liana__text_free(&text);
    liana__arena_free(&arena);
    free(adam);
    free(sgd);
}

static void test_slots_have_keras_names(void **state)
{
    (void)state;
    void *plain = options_of(&liana__optimizer_SGD, "{momentum: 0}");
    void *heavy = options_of(&liana__optimizer_SGD, "{momentum: 0.5}");
    void *adam = options_of(&liana__optimizer_Adam, "{}");
    assert_int_equal(liana__optimizer_num_slots(&liana__optimizer_SGD, plain), 0);
    assert_int_equal(liana__optimizer_num_slots(&liana__optimizer_SGD, heavy), 1);
    assert_int_equal(liana__optimizer_num_slots(&liana__optimizer_Adam, adam), 2);
    assert_string_equal(liana__optimizer_SGD.slots[0], "momentum");
    assert_string_equal(liana__optimizer_Adam.slots[0], "m");
    assert_string_equal(liana__optimizer_Adam.slots[1], "v");
    free(plain);
    free(heavy);
    free(adam);
}

static void refuse(const liana_optimizer_type *optimizer, const char *yaml, const char *found, const char *expected)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *map = NULL;
    void *options = calloc(1, optimizer->part.options.size);
    assert_non_null(options);
    assert_ok(liana__yaml_parse(yaml, strlen(yaml), "run.yaml", &arena, &map, &error), &error);
    assert_fails(liana__fields_read(&optimizer->part.options, map, "train.optimizer", NULL, &arena, options, &error),
                 LIANA_INVALID_CONFIG, &error, "run.yaml:1:", "train.optimizer", found, expected);
    free(options);
    liana__arena_free(&arena);
}

static void test_wrong_options_are_named(void **state)
{
    (void)state;
    refuse(&liana__optimizer_Adam, "{beta1: 0.9}", "beta1", "did you mean 'beta_1'");
    refuse(&liana__optimizer_SGD, "{momentun: 0.9}", "momentun", "did you mean 'momentum'");
    refuse(&liana__optimizer_SGD, "{momentum: 1.5}", "1.5", "1");
    refuse(&liana__optimizer_Adam, "{beta_2: 1.0}", "1.0", "0.9999999");
    refuse(&liana__optimizer_Adam, "{epsilon: tiny}", "tiny", "a number");
    refuse(&liana__optimizer_SGD, "{nesterov: 3}", "3", "true or false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree_with_pytorch),
        cmocka_unit_test(test_follow_the_formulas_on_all_shapes),
        cmocka_unit_test(test_adam_stays_where_the_gradient_is_zero),
        cmocka_unit_test(test_adam_after_ten_million_updates),
        cmocka_unit_test(test_find_by_name),
        cmocka_unit_test(test_defaults_are_kerass),
        cmocka_unit_test(test_slots_have_keras_names),
        cmocka_unit_test(test_wrong_options_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
