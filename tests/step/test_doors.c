/* The doors of the step: a fit, single batches, a step of a program's own, and an estimator. Each does the same updates
 * of one line, and each must have the abilities of the others. Deaths: tests/distribute/cluster/test_deaths.c. */
#include "harness/cluster/hub_fit.h"
#include "harness/pjrt_plugin.h"
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last batch is a partial one. */
enum { ROWS = 44, WIDTH = 3, BATCH = 8, SHARD = 4, UPDATES = 6, STOPPED = 2, NUM_WEIGHTS = WIDTH + 1 };

static const char optimizer[] = "{name: Adam, learning_rate: 0.05}";

/* The work of a door: the updates from `first` to before `end`. */
typedef struct recipe {
    const char *device; /* NULL: "cpu" */
    int64_t steps_per_execution;
    int64_t end;
    const char *folder; /* for a later run to go on from; NULL: none */
    bool goes_on;
    float bad; /* a value of example 21; 0: it is as the others are */
    liana_on_bad_numbers policy;
} recipe;

typedef struct result {
    liana_status status;
    char message[1024];
    float weights[NUM_WEIGHTS];
} result;

typedef struct rows {
    liana_context *context;
    liana_model *model;
    float x[ROWS][WIDTH], y[ROWS][1];
} rows;

static rows open_rows(const recipe *wanted)
{
    rows own = {.context = NULL};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++) own.x[i][k] = (float)((7 * i + 3 * k) % 11) / 11 - 0.5F;
        own.y[i][0] = 2 * own.x[i][0] - 3 * own.x[i][1] + own.x[i][2] + 1;
    }
    if (wanted->bad != 0) own.x[21][1] = wanted->bad;
    done(liana_model_create(own.context, NULL, &own.model));
    liana_input(own.model, .shape = LIANA_INTS(WIDTH), .name = "x");
    liana_dense(own.model, .units = 1, .name = "line", .kernel_initializer = "ones");
    return own;
}

static void close_rows(rows *own)
{
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
}

static void keep(const rows *given, liana_status status, result *made)
{
    const rows own = *given;
    made->status = status;
    snprintf(made->message, sizeof made->message, "%s", status ? liana_context_message(own.context) : "");
    if (status != LIANA_OK) return;
    liana_array array;
    done(liana_model_get_weights(own.model, "line/kernel", &array));
    memcpy(made->weights, array.data, WIDTH * sizeof(float));
    done(liana_model_get_weights(own.model, "line/bias", &array));
    memcpy(made->weights + WIDTH, array.data, sizeof(float));
}

static liana_dataset *dataset_of(const rows *own)
{
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, WIDTH), (void *)(uintptr_t)own->x},
                                  {"y", LIANA_F32, liana_shape_of(ROWS, 1), (void *)(uintptr_t)own->y}};
    liana_dataset *data = liana_dataset_from_tensor_slices(own->context, arrays, 2);
    assert_non_null(data);
    return data;
}

/* The examples of an update; each epoch has six. */
static int64_t first_of(int64_t update)
{
    return update % UPDATES * BATCH;
}

static int64_t count_of(int64_t update)
{
    return ROWS - first_of(update) < BATCH ? ROWS - first_of(update) : BATCH;
}

static void batch_of(const rows *own, int64_t update, liana_array arrays[2])
{
    const int64_t first = first_of(update), count = count_of(update);
    arrays[0] = (liana_array){"x", LIANA_F32, liana_shape_of(count, WIDTH), (void *)(uintptr_t)own->x[first]};
    arrays[1] = (liana_array){"y", LIANA_F32, liana_shape_of(count, 1), (void *)(uintptr_t)own->y[first]};
}

static const char *path_in(const recipe *wanted, const char *name, char *path, size_t size)
{
    if (!wanted->folder) return NULL;
    snprintf(path, size, "%s/%s", wanted->folder, name);
    return path;
}

/* ---- the doors ---- */

static liana_fit_options fit_options(const recipe *wanted)
{
    return (liana_fit_options){.batch_size = BATCH,
                               .microbatch = SHARD,
                               .optimizer = optimizer,
                               .loss = "mean_squared_error",
                               .device = wanted->device,
                               .steps_per_execution = wanted->steps_per_execution,
                               .on_bad_numbers = wanted->policy,
                               .keep_order = true};
}

static void run_fit(const recipe *wanted, result *made)
{
    char path[600];
    rows own = open_rows(wanted);
    liana_dataset *data = dataset_of(&own);
    liana_fit_options options = fit_options(wanted);
    options.training = data;
    options.steps = wanted->end;
    options.checkpoints = path_in(wanted, "fit", path, sizeof path);
    options.checkpoint_steps = options.checkpoints ? 1 : 0;
    options.resume = wanted->goes_on;
    keep(&own, liana_fit(own.model, &options), made);
    liana_dataset_close(data);
    close_rows(&own);
}

static void run_batches(const recipe *wanted, result *made)
{
    char path[600];
    rows own = open_rows(wanted);
    liana_fit_options options = fit_options(wanted);
    liana_status status = LIANA_OK;
    options.checkpoints = path_in(wanted, "batches", path, sizeof path);
    options.resume = wanted->goes_on;
    for (int64_t i = wanted->goes_on ? STOPPED : 0; status == LIANA_OK && i < wanted->end; i++) {
        liana_array arrays[2];
        batch_of(&own, i, arrays);
        status = liana_train_on_batch(own.model, &options, arrays, 2, NULL);
    }
    keep(&own, status, made);
    close_rows(&own);
}

static void build_shard(liana_shard *shard, void *user)
{
    const rows *own = user;
    liana_tensor x = liana_shard_input(shard, "x"), output, variables[2];
    liana_model_call(own->model, &x, 1, &shard->mode, &output, NULL);
    liana_tensor error = liana_op_subtract(output, liana_shard_input(shard, "y"));
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_op_square(error));
    liana_shard_gradients(shard, loss, variables, liana_model_variables(own->model, shard->graph, variables));
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "Adam", .learning_rate = 0.05});
}

typedef struct loop {
    const rows *own;
    int64_t first;
} loop;

static liana_status give_batch(void *user, int64_t step, liana_step_input *batch)
{
    const loop *running = user;
    batch_of(running->own, running->first + step, batch->arrays);
    return LIANA_OK;
}

static void run_step(const recipe *wanted, result *made)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {WIDTH}}},
                                                 {.name = "y", .dtype = LIANA_F32, .shape = {1, {1}}}};
    char path[600];
    const char *file = path_in(wanted, "step.safetensors", path, sizeof path);
    rows own = open_rows(wanted);
    loop running = {&own, wanted->goes_on ? STOPPED : 0};
    liana_step *step;
    done(liana_step_create(own.context,
                           &(liana_step_options){.name = "line",
                                                 .shard = build_shard,
                                                 .update = build_update,
                                                 .user = &own,
                                                 .components = components,
                                                 .num_components = 2,
                                                 .batch_size = BATCH,
                                                 .microbatch = SHARD,
                                                 .steps_per_execution = wanted->steps_per_execution,
                                                 .device = wanted->device},
                           &step));
    liana_variables *variables = liana_step_variables(step);
    if (wanted->goes_on) {
        done(liana_variables_load(variables, file, false));
        liana_step_set_position(step, (uint64_t)(running.first * BATCH));
    } else {
        done(liana_model_to_variables(own.model, variables));
        done(liana_variables_initialize(variables, NULL));
    }
    const liana_step_input input = {.give_batch = give_batch,
                                    .num_steps = wanted->end - running.first,
                                    .user = &running};
    const liana_status status = liana_step_run(step, &input, NULL);
    if (status == LIANA_OK) done(liana_model_from_variables(own.model, variables));
    if (status == LIANA_OK && file) done(liana_variables_save(variables, file));
    keep(&own, status, made);
    liana_step_destroy(step);
    close_rows(&own);
}

static liana_estimator_spec line_fn(const liana_features *features, const liana_features *labels,
                                    const liana_estimator_mode *mode, void *params)
{
    const rows *own = params;
    liana_tensor x = liana_feature(features, "x"), output;
    liana_model_call(own->model, &x, 1, &mode->call, &output, NULL);
    liana_estimator_spec spec = {.predictions = {{"y", output}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    spec.loss = liana_op_square(liana_op_subtract(output, liana_feature(labels, "y")));
    spec.optimizer.optimizer = optimizer;
    return spec;
}

static void run_estimator(const recipe *wanted, result *made)
{
    char path[600];
    rows own = open_rows(wanted);
    liana_dataset *data = dataset_of(&own);
    liana_estimator *estimator;
    const liana_estimator_options options = {.model_fn = line_fn,
                                             .params = &own,
                                             .labels = {"y"},
                                             .config = {.device = wanted->device,
                                                        .batch_size = BATCH,
                                                        .microbatch = SHARD,
                                                        .steps_per_execution = wanted->steps_per_execution,
                                                        .on_bad_numbers = wanted->policy,
                                                        .model_dir = path_in(wanted, "estimator", path, sizeof path)}};
    done(liana_estimator_create(own.context, &options, &estimator));
    const liana_train_spec train = {.input = {.dataset = data, .keep_order = true}, .max_steps = wanted->end};
    const liana_status status = liana_estimator_train(estimator, &train, NULL);
    if (status == LIANA_OK) done(liana_model_from_variables(own.model, liana_estimator_variables(estimator)));
    keep(&own, status, made);
    liana_estimator_destroy(estimator);
    liana_dataset_close(data);
    close_rows(&own);
}

typedef struct door {
    const char *name;
    void (*run)(const recipe *wanted, result *made);
    bool has_groups;   /* else a call is one update, whose results it gives */
    bool has_policies; /* for bad numbers */
} door;

static const door doors[] = {{"fit", run_fit, true, true},
                             {"batches", run_batches, false, false},
                             {"step", run_step, true, false},
                             {"estimator", run_estimator, true, true}};

enum { NUM_DOORS = sizeof doors / sizeof *doors };

static void run_well(const door *through, const recipe *wanted, result *made)
{
    *made = (result){.status = LIANA_OK};
    through->run(wanted, made);
    if (made->status != LIANA_OK) print_error("%s: %s\n", through->name, made->message);
    assert_int_equal(made->status, LIANA_OK);
}

/* ---- the abilities of each ---- */

/* On the CPU all doors come to the same bits. */
static void test_the_same_bits(void **state)
{
    (void)state;
    liana__test_folder();
    result first, other;
    const recipe wanted = {.end = UPDATES + 2};
    run_well(&doors[0], &wanted, &first);
    for (int i = 1; i < NUM_DOORS; i++) {
        run_well(&doors[i], &wanted, &other);
        assert_memory_equal(other.weights, first.weights, sizeof first.weights);
    }
}

/* On an accelerator an update is one execution, or several updates are; the weights are those of the CPU up to
 * rounding. */
static void test_whole_updates_and_groups(void **state)
{
    (void)state;
    char device[4096];
    liana__test_begin_on_plugin();
    snprintf(device, sizeof device, "%s", liana__test_plugin_device(""));
    for (int i = 0; i < NUM_DOORS; i++) {
        result cpu, one, group;
        run_well(&doors[i], &(recipe){.end = UPDATES}, &cpu);
        size_t before = liana__test_plugin_state()->executed;
        run_well(&doors[i], &(recipe){.device = device, .end = UPDATES}, &one);
        assert_int_equal(liana__test_plugin_state()->executed - before, UPDATES);
        before = liana__test_plugin_state()->executed;
        run_well(&doors[i], &(recipe){.device = device, .end = UPDATES, .steps_per_execution = 4}, &group);
        assert_int_equal(liana__test_plugin_state()->executed - before, doors[i].has_groups ? 2 : UPDATES);
        assert_memory_equal(group.weights, one.weights, sizeof one.weights);
        for (int k = 0; k < NUM_WEIGHTS; k++) assert_near(one.weights[k], cpu.weights[k], 1e-5F, i);
    }
    liana__test_plugin_is_clean();
}

/* A bad number ends a training, and is traced to data or to an op; on an accelerator and in groups too. */
static void check_bad_numbers(const char *device, int64_t steps_per_execution)
{
    for (int i = 0; i < NUM_DOORS; i++) {
        recipe wanted = {.device = device, .end = UPDATES, .steps_per_execution = steps_per_execution, .bad = INFINITY};
        result made;
        doors[i].run(&wanted, &made);
        assert_int_equal(made.status, LIANA_OUT_OF_RANGE);
        assert_says(made.message, "the first bad numbers are in the input '");
        assert_says(made.message, "1 of 4 examples of the shard have them, the first is");
        assert_says(made.message, "position 21");
        wanted.bad = 1e30F;
        doors[i].run(&wanted, &made);
        assert_int_equal(made.status, LIANA_OUT_OF_RANGE);
        assert_says(made.message, "the first bad numbers are the result of the op ");
        assert_says(made.message, "position 21");
    }
}

static void test_bad_numbers_are_traced(void **state)
{
    (void)state;
    liana__test_folder();
    check_bad_numbers(NULL, 0);
}

static void test_bad_numbers_on_a_device(void **state)
{
    (void)state;
    char device[4096];
    liana__test_begin_on_plugin();
    snprintf(device, sizeof device, "%s", liana__test_plugin_device(""));
    check_bad_numbers(device, 0);
    check_bad_numbers(device, 4);
}

/* Jobs leave a bad update out where they are told to: of an epoch's six one is missing. */
static void test_bad_updates_are_left_out(void **state)
{
    (void)state;
    result first = {.status = LIANA_INTERNAL}, made;
    liana__test_folder();
    for (int i = 0; i < NUM_DOORS; i++) {
        if (!doors[i].has_policies) continue;
        const recipe wanted = {.end = UPDATES, .bad = NAN, .policy = LIANA_ON_BAD_NUMBERS_SKIP};
        run_well(&doors[i], &wanted, &made);
        for (int k = 0; k < NUM_WEIGHTS; k++) assert_true(isfinite(made.weights[k]));
        if (first.status == LIANA_OK) assert_memory_equal(made.weights, first.weights, sizeof first.weights);
        first = made;
    }
}

/* A training that ended in the middle of an epoch goes on to the bits of one that was never stopped. */
static void test_going_on(void **state)
{
    (void)state;
    liana__test_folder();
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("kept"));
    for (int i = 0; i < NUM_DOORS; i++) {
        result whole, part, rest;
        run_well(&doors[i], &(recipe){.end = UPDATES + 2}, &whole);
        run_well(&doors[i], &(recipe){.end = STOPPED, .folder = folder}, &part);
        run_well(&doors[i], &(recipe){.end = UPDATES + 2, .folder = folder, .goes_on = true}, &rest);
        assert_memory_equal(rest.weights, whole.weights, sizeof whole.weights);
        assert_memory_not_equal(part.weights, whole.weights, sizeof whole.weights);
    }
}

/* In a cluster whose parameter servers hold the variables in slices the bits are those of one process. */
static void test_slices(void **state)
{
    (void)state;
    static const liana__hub_recipe recipes[] = {
        {.optimizer = "Adam", .epochs = 1},
        {.is_batches = true, .optimizer = "Adam"},
        {.is_step = true},
        {.is_estimator = true, .optimizer = "Adam", .epochs = 1},
    };
    liana__hub_make_data();
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        liana__hub_result results[4], alone = liana__hub_fit_alone(&recipes[i]);
        liana__hub_fit(&recipes[i], 2, 2, results);
        for (size_t rank = 0; rank < 4; rank++) liana__hub_assert_same(&alone, &results[rank]);
        liana__hub_free_results(results, 4);
        free(alone.weights);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_bits),
        cmocka_unit_test(test_whole_updates_and_groups),
        cmocka_unit_test(test_bad_numbers_are_traced),
        cmocka_unit_test(test_bad_numbers_on_a_device),
        cmocka_unit_test(test_bad_updates_are_left_out),
        cmocka_unit_test(test_going_on),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
