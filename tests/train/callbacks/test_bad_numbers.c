/* Numbers that go bad: faults of many kinds are put into a training, and each must be named: the program, the first bad
 * node, its layer, and the example. The bundle must say the same on another number of threads. */
#include "harness/command_run.h"
#include "harness/sum_problem.h"

#include "base/context.h"
#include "base/file.h"
#include "train/callbacks/callback.h"
#include "train/training/bundle.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The expected finding; NULL: nothing to compare. */
typedef struct expected {
    const char *what, *kind, *op, *name, *layer;
    int64_t step;        /* from 1, in the first epoch */
    int64_t bad_example; /* its position; -1: none must be marked */
} expected;

typedef struct fault_case {
    const char *title;
    void (*build)(liana_model *model);       /* behind the input; NULL: two Dense layers */
    void (*inject)(liana__sum_problem *own); /* NULL: the model itself is the fault */
    expected expected;
} fault_case;

/* ---- faults ---- */

static void nan_kernel(liana__sum_problem *own)
{
    liana__sum_problem_set(own, "first/kernel", 5, NAN);
}

static void inf_bias(liana__sum_problem *own)
{
    liana__sum_problem_set(own, "second/bias", 0, -INFINITY);
}

static void build_normalized(liana_model *model)
{
    liana_dense(model, .units = 4, .name = "first");
    liana_batch_normalization(model, .name = "norm");
    liana_dense(model, .units = 1, .name = "second");
}

static void nan_gamma(liana__sum_problem *own)
{
    liana__sum_problem_set(own, "norm/gamma", 2, NAN);
}

/* A callback that spoils a variable before the third update. */
typedef struct spoiler {
    const char *variable;
    float value;
} spoiler;

static liana_status spoil(void *user, liana_fit_context *context)
{
    const spoiler *own = user;
    if (liana_fit_info(context).step != 2) return LIANA_OK;
    liana__error error = {0};
    liana__variable *variable = liana__variables_find(&context->training->variables, own->variable);
    assert_non_null(variable);
    const size_t count = variable->buffer->size / sizeof(float);
    float *values = malloc(variable->buffer->size);
    assert_ok(liana__variable_read(variable, values, &error), &error);
    values[count - 1] = own->value;
    assert_ok(liana__fit_write_variable(context, variable, values, &error), &error);
    free(values);
    return LIANA_OK;
}

static void add_spoiler(liana__sum_problem *own, spoiler *user)
{
    own->callback =
        (liana_callback){.size = sizeof(liana_callback), .name = "spoiler", .user = user, .step_begin = spoil};
    own->callbacks[0] = &own->callback;
    own->options.callbacks = own->callbacks;
    own->options.num_callbacks = 1;
}

static void spoil_weight(liana__sum_problem *own)
{
    static spoiler user = {"second/kernel", NAN};
    add_spoiler(own, &user);
}

static void spoil_slot(liana__sum_problem *own)
{
    static spoiler user = {"optimizer/Adam/m/first/kernel", INFINITY};
    own->options.optimizer = "{name: Adam, learning_rate: 0.01}";
    add_spoiler(own, &user);
}

static void nan_input(liana__sum_problem *own)
{
    own->x[21][1] = NAN;
}

static void inf_input(liana__sum_problem *own)
{
    own->x[6][0] = INFINITY;
}

static void nan_target(liana__sum_problem *own)
{
    own->y[13][0] = NAN;
}

static void inf_target(liana__sum_problem *own)
{
    own->y[31][0] = -INFINITY;
}

static void nan_example_weight(liana__sum_problem *own)
{
    own->options.example_weight = "weight";
    own->weight[2] = NAN;
}

static void build_wide(liana_model *model)
{
    liana_dense(model, .units = 1, .name = "first", .kernel_initializer = "ones");
}

static void huge_input(liana__sum_problem *own)
{
    for (int k = 0; k < LIANA__SUM_WIDTH; k++) own->x[9][k] = 3e38f;
}

static void huge_target(liana__sum_problem *own)
{
    own->y[18][0] = 1e25f;
}

static void build_exponential(liana_model *model)
{
    liana_dense(model, .units = 4, .name = "first", .kernel_initializer = "ones");
    liana_activation(model, .activation = "exponential", .name = "explode");
    liana_dense(model, .units = 1, .name = "second");
}

static void large_input(liana__sum_problem *own)
{
    own->x[27][2] = 500;
}

static void build_scaled(liana_model *model)
{
    liana_dense(model, .units = 4, .name = "first", .kernel_initializer = "ones");
    liana_rescaling(model, .scale = 1e36, .name = "scale");
    liana_rescaling(model, .scale = 1e-36, .name = "back");
    liana_dense(model, .units = 1, .name = "second");
}

static void build_squares(liana_model *model)
{
    liana_layer x = liana_dense(model, .units = 2, .name = "first", .kernel_initializer = "ones");
    liana_multiply(model, .inputs = {x, x}, .name = "squares");
    liana_dense(model, .units = 1, .name = "second");
}

static void great_input(liana__sum_problem *own)
{
    own->x[4][0] = 1e20f;
}

/* The prediction is about 1, the gradient of the kernel is above 1e39. */
static void gradient_overflow(liana__sum_problem *own)
{
    liana__sum_problem_fill(own, "first/kernel", 0);
    own->x[2][0] = 1e25f;
    own->y[2][0] = 1e15f;
}

/* Each shard's loss is finite, that of both is not. */
static void sum_overflow(liana__sum_problem *own)
{
    liana__sum_problem_fill(own, "first/kernel", 0);
    own->y[8][0] = own->y[12][0] = 1.5e19f;
}

/* The first update has the rate 0. */
static void exploding_schedule(liana__sum_problem *own)
{
    own->options.optimizer =
        "{name: SGD, learning_rate: {name: Constant, initial_learning_rate: 1.0e+38, warmup_steps: 2}}";
    for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) own->y[i][0] = 100;
}

/* A callback that makes the rate larger and larger. */
static liana_status explode(void *user, liana_fit_context *context)
{
    (void)user;
    const double factors[] = {1, 1e-30, 1e60};
    const int64_t step = liana_fit_info(context).step;
    return step < 3 ? liana_fit_set_rate_factor(context, factors[step]) : LIANA_OK;
}

static void exploding_callback(liana__sum_problem *own)
{
    own->callback = (liana_callback){.size = sizeof(liana_callback), .name = "explode", .step_begin = explode};
    own->callbacks[0] = &own->callback;
    own->options.callbacks = own->callbacks;
    own->options.num_callbacks = 1;
}

static void huge_rate(liana__sum_problem *own)
{
    for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) own->y[i][0] = 1000;
    own->options.optimizer = "{name: SGD, learning_rate: 1.0e+37}";
}

/* m and v of a weight that has no gradient are 0: 0 / (sqrt(0) + 0). */
/* The gradient is finite, and its square is not. */
static void clipped_norm(liana__sum_problem *own)
{
    own->options.optimizer = "{name: SGD, learning_rate: 0.01, clipnorm: 1}";
    own->x[18][0] = 1e11F;
}

/* The same of the weights; the data are so small that the loss is finite. */
static void norm_of_weights(liana__sum_problem *own)
{
    own->options.optimizer = "{name: Lamb, learning_rate: 0.01}";
    for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) {
        for (int k = 0; k < LIANA__SUM_WIDTH; k++) own->x[i][k] *= 1e-16F;
    }
    liana__sum_problem_fill(own, "first/kernel", 1e20F);
}

static void no_epsilon(liana__sum_problem *own)
{
    for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) own->x[i][1] = 0;
    own->options.optimizer = "{name: Adam, learning_rate: 0.01, epsilon: 0.0}";
}

/* The sums of two devices meet on the host. */
static void two_devices(liana__sum_problem *own)
{
    own->options.strategy = (liana_strategy){.name = "mirrored", .replicas = 2, .threads = 1};
    no_epsilon(own);
}

static void build_regularized(liana_model *model)
{
    liana_dense(model, .units = 1, .name = "first", .kernel_regularizer = "l2");
}

/* Nothing reads that row of the kernel but its penalty. */
static void huge_penalty(liana__sum_problem *own)
{
    liana__sum_problem_set(own, "first/kernel", 1, 1e25f);
    for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) own->x[i][1] = 0;
}

static void bfloat16(liana__sum_problem *own)
{
    own->options.precision = LIANA_MIXED_BFLOAT16;
    large_input(own);
}

static const fault_case cases[] = {
    {"a NaN in a kernel", NULL, nan_kernel, {"shard", "variable", NULL, "first/kernel", "first", 1, -1}},
    {"an infinite bias", NULL, inf_bias, {"shard", "variable", NULL, "second/bias", "second", 1, -1}},
    {"a NaN in a gamma", build_normalized, nan_gamma, {"shard", "variable", NULL, "norm/gamma", "norm", 1, -1}},
    {"a callback that spoils a weight",
     NULL,
     spoil_weight,
     {"shard", "variable", NULL, "second/kernel", "second", 3, -1}},
    {"a callback that spoils a slot",
     NULL,
     spoil_slot,
     {"update", "variable", NULL, "optimizer/Adam/m/first/kernel", "first", 3, -1}},
    {"a NaN in the data", NULL, nan_input, {"shard", "input", NULL, NULL, NULL, 3, 21}},
    {"an infinity in the data", NULL, inf_input, {"shard", "input", NULL, NULL, NULL, 1, 6}},
    {"a NaN target", NULL, nan_target, {"shard", "input", NULL, NULL, NULL, 2, 13}},
    {"an infinite target", NULL, inf_target, {"shard", "input", NULL, NULL, NULL, 4, 31}},
    {"a NaN weight of an example", NULL, nan_example_weight, {"shard", "input", NULL, "weights", NULL, 1, 2}},
    {"a product that overflows", build_wide, huge_input, {"shard", "op", "matmul", NULL, "first", 2, 9}},
    {"a loss that overflows", NULL, huge_target, {"shard", "op", "square", NULL, NULL, 3, 18}},
    {"an exponential that overflows", build_exponential, large_input, {"shard", "op", "exp", NULL, "explode", 4, 27}},
    {"a scale that overflows", build_scaled, large_input, {"shard", "op", "multiply", NULL, "scale", 4, 27}},
    {"a square that overflows", build_squares, great_input, {"shard", "op", "multiply", NULL, "squares", 1, 4}},
    {"a gradient that overflows", build_wide, gradient_overflow, {"shard", "op", "matmul", NULL, "first", 1, -1}},
    {"a sum over shards that overflows", build_wide, sum_overflow, {"sum over shards", "op", "add", NULL, NULL, 2, -1}},
    {"a schedule that explodes", build_wide, exploding_schedule, {"update", "op", "multiply", NULL, "first", 2, -1}},
    {"a rate factor that explodes", NULL, exploding_callback, {"update", "input", NULL, "learning_rate", NULL, 3, -1}},
    {"a rate whose step overflows", build_wide, huge_rate, {"update", "op", "multiply", NULL, "first", 1, -1}},
    {"an optimizer that divides by 0", build_wide, no_epsilon, {"update", "op", "divide", NULL, "first", 1, -1}},
    {"the same on two devices", build_wide, two_devices, {"update", "op", "divide", NULL, "first", 1, -1}},
    {"a norm that overflows, for clipping",
     build_wide,
     clipped_norm,
     {"sums that the update reads", "op", "square", NULL, "first", 3, -1}},
    {"a norm that overflows, for LAMB",
     build_wide,
     norm_of_weights,
     {"sums that the update reads", "op", "square", NULL, "first", 1, -1}},
    {"a penalty that overflows", build_regularized, huge_penalty, {"penalty", "op", NULL, NULL, NULL, 1, -1}},
    {"an exponential in bfloat16", build_exponential, bfloat16, {"shard", "op", "exp", NULL, "explode", 4, 27}},
};
enum { NUM_CASES = sizeof cases / sizeof *cases };

/* ---- findings ---- */

static const char *member(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    return value && value->kind == LIANA__VALUE_STRING ? value->string : "";
}

static int64_t number(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    assert_non_null(value);
    return value->integer;
}

static void check_text(const char *title, const char *what, const char *found, const char *wanted)
{
    if (!wanted || strcmp(found, wanted) == 0) return;
    fail_msg("%s: the %s is '%s', expected '%s'", title, what, found, wanted);
}

static void check_examples(const char *title, const liana__incident *incident, const liana__value *finding,
                           int64_t position)
{
    const liana__value *rows = liana__value_get(finding, "bad_examples"),
                       *examples = liana__value_get(incident->facts, "examples");
    if (position < 0) {
        if (rows->count) fail_msg("%s: %zu examples are marked, expected none", title, rows->count);
        return;
    }
    if (rows->count != 1) fail_msg("%s: %zu examples are marked, expected one", title, rows->count);
    assert_int_equal(examples->count, LIANA__SUM_SHARD);
    assert_int_equal(number(examples->items[rows->items[0]->integer], "position"), position);
    assert_int_equal(number(examples->items[rows->items[0]->integer], "record"), position);
}

static void check_bundle(const fault_case *fault, const char *path, int num_threads)
{
    liana_context *context;
    liana__incident incident;
    const liana__value *recorded;
    liana__error error = {0};
    const expected *wanted = &fault->expected;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &context), LIANA_OK);
    assert_ok(liana__bundle_read(context, path, &incident, &recorded, &error), &error);
    assert_ok(liana__incident_examine(&incident, &error), &error);
    check_text(fault->title, "program", member(incident.facts, "what"), wanted->what);
    check_text(fault->title, "kind", member(recorded, "kind"), wanted->kind);
    check_text(fault->title, "op", member(recorded, "op"), wanted->op);
    check_text(fault->title, "name", member(recorded, "name"), wanted->name);
    check_text(fault->title, "layer", member(recorded, "layer"), wanted->layer ? wanted->layer : "");
    assert_int_equal(number(incident.facts, "step"), wanted->step);
    assert_int_equal(number(incident.facts, "epoch"), 1);
    check_examples(fault->title, &incident, recorded, wanted->bad_example);
    if (!liana__value_equal(recorded, incident.finding)) fail_msg("%s: it is found differently again", fault->title);
    liana__incident_free(&incident);
    liana_context_destroy(context);
}

static void bundle_path(char path[256], int64_t update)
{
    snprintf(path, 256, "%s/bad-numbers-%lld", liana__test_path("bundles"), (long long)update);
}

static void test_each_fault_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        const fault_case *fault = &cases[i];
        liana__sum_problem own;
        char path[256];
        liana__test_folder();
        liana__sum_problem_begin(&own, fault->build);
        if (fault->inject) fault->inject(&own);
        own.options.bad_numbers_folder = liana__test_path("bundles");
        liana_status status = liana__sum_problem_fit(&own);
        const char *message = liana_context_message(own.context);
        if (status != LIANA_OUT_OF_RANGE) fail_msg("%s: %s %s", fault->title, liana_status_name(status), message);
        bundle_path(path, fault->expected.step);
        if (!strstr(message, path))
            fail_msg("%s: not in step %d: %s", fault->title, (int)fault->expected.step, message);
        for (int threads = 1; threads <= 3; threads += 2) check_bundle(fault, path, threads);
        liana__sum_problem_end(&own);
    }
}

/* A training without faults has no bundle and no note. */
static void test_good_numbers_are_left_alone(void **state)
{
    (void)state;
    liana__sum_problem own;
    liana__test_folder();
    liana__sum_problem_begin(&own, NULL);
    own.options.bad_numbers_folder = liana__test_path("bundles");
    assert_int_equal(liana__sum_problem_fit(&own), LIANA_OK);
    assert_false(liana__folder_exists(liana__test_path("bundles")));
    liana__sum_problem_end(&own);
}

/* ---- bundles and the command ---- */

/* A run with a fault in one record of a table; the path of its bundle, in a static buffer. */
static const char *make_bundle(void)
{
    static char path[256];
    static const char config[] = "data:\n"
                                 "  train: {paths: table.csv, kind: table}\n"
                                 "  targets: y\n"
                                 "  columns: {x: [a, b], y: y}\n"
                                 "  shuffle: false\n"
                                 "model:\n"
                                 "  layers: [InputLayer: {shape: [2]}, Dense: {units: 1, name: only}]\n"
                                 "train: {epochs: 1, batch_size: 4, microbatch: 2, loss: mse}\n";
    static const char table[] = "a,b,y\n1,2,3\n2,2,4\n0,1,1\n1,1,2\n3,3,6\n2,3.0e38,5\n1,0,1\n0,0,0\n";
    liana__test_folder();
    liana__test_write("table.csv", table, sizeof table - 1);
    const char *run = liana__test_path("run");
    assert_refused(liana__test_command("train", liana__test_write("config.yaml", config, sizeof config - 1), "--out",
                                       run),
                   1, "at epoch 1, step 2", "table.csv', record 5", "liana replay ");
    snprintf(path, sizeof path, "%s/bad-numbers-2", run);
    return path;
}

static void test_the_command_replays(void **state)
{
    (void)state;
    const char *path = make_bundle();
    liana__test_result result = liana__test_command("replay", path);
    assert_int_equal(result.code, 0);
    static const char *const parts[] = {"epoch 1, step 2", "learning rate 0.001",
                                        "* position 5",    "record 5",
                                        "  position 4",    "this machine finds what the report says"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(result.out, parts[i])) fail_msg("no '%s' in: %s", parts[i], result.out);
    }
    liana__test_free_result(&result);
    result = liana__test_command("replay", path, "--json");
    assert_int_equal(result.code, 0);
    assert_says(result.out, "\"same\": true");
    liana__test_free_result(&result);
}

/* Replaces the first `from` in a file of the bundle. */
static void edit(const char *folder, const char *file, const char *from, const char *to)
{
    char path[320], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(liana__file_read(path, 1 << 20, &data, &size, NULL), NULL);
    char *at = strstr(data, from);
    assert_non_null(at);
    liana__text text = {0};
    liana__text_add(&text, "%.*s%s%s", (int)(at - data), data, to, at + strlen(from));
    assert_ok(liana__file_replace(path, text.data, text.length, NULL), NULL);
    liana__text_free(&text);
    free(data);
}

/* A report that says something else: the machine does not find it. */
static void test_a_difference_is_told(void **state)
{
    (void)state;
    const char *path = make_bundle();
    edit(path, "report.json", "\"op\": \"", "\"op\": \"another_");
    liana__test_result result = liana__test_command("replay", path);
    assert_int_equal(result.code, 0);
    assert_says(result.out, "this machine finds something else than the report, which says in \"op\"");
    assert_says(result.out, "the op another_");
    liana__test_free_result(&result);
}

/* Every byte of every file that is cut off or flipped is an error, or changes nothing that is read. */
static void damage(const char *folder, const char *file)
{
    char path[320], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(liana__file_read(path, 1 << 20, &data, &size, NULL), NULL);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    const size_t stride = size > 200 ? size / 100 : 1;
    for (size_t at = 0; at < 2 * size; at += stride) {
        const bool cuts = at >= size;
        if (!cuts) data[at] ^= 0x21;
        assert_ok(liana__file_replace(path, data, cuts ? at - size : size, NULL), NULL);
        if (!cuts) data[at] ^= 0x21;
        liana__incident incident;
        const liana__value *recorded;
        liana__error error = {0};
        liana_status status = liana__bundle_read(context, folder, &incident, &recorded, &error);
        const bool is_report = strcmp(file, "report.json") == 0;
        if (status == LIANA_OK && !is_report) fail_msg("%s: byte %zu is damaged, and nobody saw it", file, at);
        if (status != LIANA_OK) assert_says(error.message, file);
        if (status == LIANA_OK) assert_ok(liana__incident_examine(&incident, &error), &error);
        liana__text text = {0};
        if (status == LIANA_OK) liana__incident_report(&incident, &text);
        liana__text_free(&text);
        liana__incident_free(&incident);
    }
    assert_ok(liana__file_replace(path, data, size, NULL), NULL);
    free(data);
    liana_context_destroy(context);
}

static void test_damaged_bundles(void **state)
{
    (void)state;
    const char *path = make_bundle();
    damage(path, "graph.bin");
    damage(path, "tensors.safetensors");
    damage(path, "report.json");
    assert_code(liana__test_command("replay", path), 0);
    edit(path, "report.json", "\"version\": 1", "\"version\": 7");
    assert_refused(liana__test_command("replay", path), 1, "report.json", "version 7", "up to 1", "newer liana");
    edit(path, "report.json", "\"version\": 7", "\"version\": \"1\"");
    assert_refused(liana__test_command("replay", path), 1, "report.json", "no version");
    edit(path, "report.json", "liana numbers", "numbers");
    assert_refused(liana__test_command("replay", path), 1, "report.json", "\"format\"");
    assert_refused(liana__test_command("replay", liana__test_path("nothing")), 1, "nothing", "a bundle is a folder");
    assert_refused(liana__test_command("replay", liana__test_path("run")), 1, "report.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fault_is_named), cmocka_unit_test(test_good_numbers_are_left_alone),
        cmocka_unit_test(test_the_command_replays), cmocka_unit_test(test_a_difference_is_told),
        cmocka_unit_test(test_damaged_bundles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
