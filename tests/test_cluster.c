/* Trainings in several processes, which are threads here: the same bits as in one, whoever computes and owns what. */
#include "harness/hub.h"
#include "harness/tiny_fit.h"
#include "harness/tiny_records.h"

#include "base/file.h"
#include "train/checkpoint/checkpoint.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 4, MAX_PROCESSES = 12, MAX_EPOCHS = 4 };

/* Of the data; the harness's own paths are for one thread. */
static char training_path[512], validation_path[512], odd_path[512], sampled[1600];

/* ---- a fit, and what came of it ---- */

/* What is fitted, but for the strategy. */
typedef struct recipe {
    const char *optimizer;
    int64_t epochs, batch_size, microbatch;
    int64_t steps;
    const char *metrics[3];
    const char *augment;
    const char *checkpoints; /* a folder */
    bool resume;
    const char *callbacks;
    const char *stages;
    int64_t checkpoint_steps;
    const char *training; /* NULL: training_path */
    bool skips_bad_records, keeps_order;
    liana_on_bad_numbers on_bad_numbers;
    bool breaks_folder; /* that of the checkpoints, once it is there */
    bool is_wide;       /* a larger network, without validation */
    bool is_step;       /* a loop of one's own instead of a fit */
} recipe;

/* Of one process. */
typedef struct result {
    liana_status status;
    char message[512];
    char *weights; /* all weights, one behind the other */
    size_t size;
    liana_epoch epochs[MAX_EPOCHS];
    size_t num_epochs;
    int64_t num_replicas;
    const char *broken_folder; /* NULL: none */
    const liana__cluster *cluster;
    liana__cluster_counters counters; /* at the end of the last epoch */
} result;

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    result *own = user;
    if (own->num_epochs < MAX_EPOCHS) own->epochs[own->num_epochs] = *epoch;
    own->num_epochs++;
    if (!own->cluster) return true;
    own->counters = own->cluster->counters;
    own->cluster->transport->counters(own->cluster->instance, &own->counters.transport);
    return true;
}

static liana_status train_begin(void *user, liana_fit_context *context)
{
    const char *broken = ((result *)user)->broken_folder;
    if (broken && liana_fit_is_chief(context)) {
        /* A file is where the folder was: nothing can be saved any more. */
        assert_int_equal(liana__folder_remove(broken, NULL), LIANA_OK);
        fclose(fopen(broken, "w"));
    }
    ((result *)user)->num_replicas = liana_fit_num_replicas_in_sync(context);
    return LIANA_OK;
}

/* With batch normalisation and dropout; its dense layer is cut when there are several owners. */
static liana_model *build_model(liana_context *context, int64_t units)
{
    liana_model *model = NULL;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) return NULL;
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 8, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_max_pooling2d(model);
    liana_dropout(model, .rate = 0.25);
    liana_flatten(model);
    liana_dense(model, .units = units, .activation = "relu");
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    return model;
}

/* A path, or a mapping as in YAML. */
static liana_status open_training(liana_context *context, const char *text, liana_dataset **training)
{
    return *text == '{' ? liana_dataset_configure(context, text, NULL, training)
                        : liana_dataset_open(context, text, NULL, training);
}

static liana_status fit(liana_context *context, const recipe *wanted, liana_strategy strategy, result *own)
{
    liana_dataset *training = NULL, *validation = NULL;
    liana_model *model = build_model(context, wanted->is_wide ? 3000 : 70);
    if (!model) return liana_context_status(context);
    const liana_callback look = {.size = sizeof look, .train_begin = train_begin, .user = own};
    liana_status status = open_training(context, wanted->training ? wanted->training : training_path, &training);
    if (status == LIANA_OK) {
        status = liana_dataset_open(context, validation_path, NULL, &validation);
    }
    liana_fit_options options = {.training = training,
                                 .validation = wanted->is_wide ? NULL : validation,
                                 .epochs = wanted->epochs ? wanted->epochs : 2,
                                 .steps = wanted->steps,
                                 .on_bad_numbers = wanted->on_bad_numbers,
                                 .bad_numbers_factor = wanted->on_bad_numbers ? 1e-12 : 0,
                                 .batch_size = wanted->batch_size ? wanted->batch_size : BATCH,
                                 .microbatch = wanted->microbatch ? wanted->microbatch : MICROBATCH,
                                 .optimizer = wanted->optimizer,
                                 .augment = wanted->augment,
                                 .checkpoints = wanted->checkpoints,
                                 .resume = wanted->resume,
                                 .checkpoint_steps = wanted->checkpoint_steps,
                                 .named_callbacks = wanted->callbacks,
                                 .stages = wanted->stages,
                                 .skip_bad_records = wanted->skips_bad_records,
                                 .keep_order = wanted->keeps_order,
                                 .strategy = strategy,
                                 .seed = 3,
                                 .callbacks = (const liana_callback *const[]){&look},
                                 .num_callbacks = 1,
                                 .on_epoch = keep_epoch,
                                 .user = own};
    memcpy(options.metrics, wanted->metrics, sizeof wanted->metrics);
    if (status == LIANA_OK) status = liana_fit(model, &options);
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &own->weights, &own->size);
    liana_model_destroy(model);
    liana_dataset_close(training);
    liana_dataset_close(validation);
    return status;
}

/* ---- a loop of one's own ---- */

enum { STEP_BATCH = 32, FEATURES = 6, STEPS = 3 };

static void build_leaf(liana_leaf *leaf, void *user)
{
    (void)user;
    liana_tensor x = liana_leaf_input(leaf, "x"), y = liana_leaf_input(leaf, "y");
    liana_tensor weight = liana_graph_variable(leaf->graph, "weight", LIANA_F32, liana_shape_of(FEATURES, 1));
    liana_tensor error = liana_op_subtract(liana_op_matmul(x, weight, false, false), y);
    liana_tensor loss = liana_leaf_sum(leaf, "loss", liana_op_square(error));
    liana_leaf_gradients(leaf, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "Adam", .rate = liana_update_scalar(update, "rate")});
}

/* The losses of the steps, and the weights they end with. */
static liana_status run_steps(liana_context *context, liana_strategy strategy, result *own)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {FEATURES}}},
                                                 {.name = "y", .dtype = LIANA_F32, .shape = {1, {1}}}};
    float x[STEP_BATCH * FEATURES], y[STEP_BATCH];
    liana_device *device = NULL;
    liana_variables *variables = NULL;
    liana_step *step = NULL;
    for (int i = 0; i < STEP_BATCH * FEATURES; i++) x[i] = (float)((i * 37) % 101) / 50 - 1;
    for (int i = 0; i < STEP_BATCH; i++) y[i] = (float)((i * 13) % 17) / 8;
    liana_step_options options = {.leaf = build_leaf,
                                  .update = build_update,
                                  .components = components,
                                  .num_components = 2,
                                  .scalars = {"rate"},
                                  .batch_size = STEP_BATCH,
                                  .microbatch = 4,
                                  .strategy = strategy};
    liana_status status = liana_device_open(context, "cpu", &device);
    if (status == LIANA_OK) status = liana_variables_create(device, &variables);
    if (status == LIANA_OK) status = liana_step_create(device, variables, &options, &step);
    const float zeros[FEATURES] = {0};
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", zeros, sizeof zeros);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    own->num_replicas = liana_step_num_replicas_in_sync(step);
    for (int64_t i = 0; status == LIANA_OK && i < STEPS; i++) {
        const int64_t count = i == STEPS - 1 ? STEP_BATCH - 5 : STEP_BATCH;
        liana_step_results results;
        status = liana_step_run(step,
                                &(liana_step_batch){.arrays = {{"x", LIANA_F32, liana_shape_of(count, FEATURES), x},
                                                               {"y", LIANA_F32, liana_shape_of(count, 1), y}},
                                                    .scalars = {{"rate", 0.1}}},
                                &results);
        own->epochs[i].training.loss = liana_step_mean(&results, "loss");
    }
    own->size = FEATURES * sizeof(float);
    own->weights = calloc(1, own->size);
    if (status == LIANA_OK) status = liana_variables_read(variables, "weight", own->weights, own->size);
    liana_step_destroy(step);
    liana_variables_destroy(variables);
    liana_device_close(device);
    return status;
}

/* ---- processes ---- */

typedef struct process {
    liana__hub *hub; /* NULL: alone */
    size_t rank;
    const recipe *wanted;
    liana_strategy strategy;
    result *result;
} process;

static void *run_process(void *user)
{
    process *own = user;
    result *got = own->result;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    if (own->wanted->breaks_folder) got->broken_folder = own->wanted->checkpoints;
    got->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (got->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->cluster = &cluster;
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK && own->wanted->is_step) {
        got->status = run_steps(context, own->strategy, got);
    } else if (got->status == LIANA_OK) {
        got->status = fit(context, own->wanted, own->strategy, got);
    }
    if (got->status != LIANA_OK) snprintf(got->message, sizeof got->message, "%s", liana_context_message(context));
    if (own->hub) liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

static result run_alone(const recipe *wanted)
{
    result got = {0};
    run_process(&(process){.wanted = wanted, .result = &got});
    if (got.status != LIANA_OK) print_error("alone: %s\n", got.message);
    assert_int_equal(got.status, LIANA_OK);
    return got;
}

/* Runs a cluster; results by rank. */
static void run_cluster(const recipe *wanted, size_t num_workers, size_t num_servers, result *results)
{
    pthread_t threads[MAX_PROCESSES];
    process processes[MAX_PROCESSES];
    const size_t count = num_workers + num_servers;
    liana__hub *hub = liana__hub_create(num_workers, num_servers);
    assert_non_null(hub);
    for (size_t i = 0; i < count; i++) {
        results[i] = (result){0};
        processes[i] =
            (process){hub, i, wanted, {.name = num_servers ? "parameter_server" : "multi_worker"}, &results[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    assert_int_equal(liana__hub_num_kept(hub), 0);
    liana__hub_destroy(hub);
}

static void free_results(result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) free(results[i].weights);
}

static void assert_same_epoch(const liana_epoch *a, const liana_epoch *b)
{
    assert_memory_equal(&a->training.loss, &b->training.loss, sizeof(double));
    assert_memory_equal(&a->validation.loss, &b->validation.loss, sizeof(double));
    assert_memory_equal(a->training.metrics, b->training.metrics, sizeof a->training.metrics);
    assert_memory_equal(a->validation.metrics, b->validation.metrics, sizeof a->validation.metrics);
}

static void assert_same_result(const result *a, const result *b)
{
    if (b->status != LIANA_OK) print_error("%s\n", b->message);
    assert_int_equal(b->status, LIANA_OK);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->weights, b->weights, a->size);
    assert_int_equal(a->num_epochs, b->num_epochs);
    for (size_t i = 0; i < a->num_epochs && i < MAX_EPOCHS; i++) assert_same_epoch(&a->epochs[i], &b->epochs[i]);
}

/* All processes end with the bits of one that is alone. */
static void assert_same_on(const recipe *wanted, size_t num_workers, size_t num_servers)
{
    result results[MAX_PROCESSES], alone = run_alone(wanted);
    const size_t count = num_workers + num_servers;
    run_cluster(wanted, num_workers, num_servers, results);
    for (size_t i = 0; i < count; i++) {
        assert_same_result(&alone, &results[i]);
        assert_int_equal(results[i].num_replicas, num_workers);
    }
    free_results(results, count);
    free(alone.weights);
}

/* ---- the tests ---- */

static const recipe ADAM = {.optimizer = "Adam"};

static void test_two_workers_give_the_bits_of_one_process(void **state)
{
    (void)state;
    assert_same_on(&ADAM, 2, 0);
}

static void test_any_number_of_workers(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 3, 4, 7};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) assert_same_on(&ADAM, counts[i], 0);
    /* More than there are shards: some have no leaves. */
    assert_same_on(&(recipe){.optimizer = "Adam", .microbatch = 16}, 7, 0);
}

static void test_parameter_servers(void **state)
{
    (void)state;
    static const size_t counts[][2] = {{1, 1}, {2, 1}, {3, 2}, {2, 3}, {4, 2}, {7, 2}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) assert_same_on(&ADAM, counts[i][0], counts[i][1]);
}

/* Sums that an update reads, over a variable and over all; values that only owners hold; a rate that follows the
 * training; metrics of a whole epoch; a fit that ends in the middle of an epoch. */
static void test_what_updates_read(void **state)
{
    (void)state;
    static const recipe recipes[] = {
        {.optimizer = "{name: Adam, global_clipnorm: 0.1}"},
        {.optimizer = "{name: SGD, momentum: 0.9, clipnorm: 0.05}"},
        {.optimizer = "{name: Lamb, learning_rate: 0.01}"},
        {.optimizer = "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}"},
        {.optimizer = "{name: SGD, learning_rate: {online: hypergradient, initial_learning_rate: 0.02}}"},
        {.optimizer = "{name: Adam, use_ema: true}"},
        {.optimizer = "{name: Adam, amsgrad: true}", .metrics = {"accuracy", "AUC"}},
        {.optimizer = "{name: RMSprop, centered: true, momentum: 0.5}", .steps = 4},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        assert_same_on(&recipes[i], 3, 0);
        assert_same_on(&recipes[i], 2, 2);
    }
}

/* Mixed examples, early ends that put the best weights back, stages with other optimizers. */
static void test_what_else_happens_in_a_fit(void **state)
{
    (void)state;
    static const recipe recipes[] = {
        {.optimizer = "Adam", .augment = "[random_flip, {mixup: {alpha: 0.3}}]"},
        {.optimizer = "Adam", .epochs = 4, .callbacks = "[EarlyStopping: {patience: 1, restore_best_weights: true}]"},
        {.stages = "[{epochs: 1, trainable_from: dense}, {epochs: 1, optimizer: {name: SGD, momentum: 0.9}}]"},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        assert_same_on(&recipes[i], 3, 0);
        assert_same_on(&recipes[i], 2, 1);
    }
}

/* Records that cannot be used leave gaps: a shard without any example is no leaf, and a worker may have none. Classes
 * that are drawn more often than others. */
static void test_gaps_and_draws(void **state)
{
    (void)state;
    const recipe recipes[] = {
        {.optimizer = "Adam", .training = odd_path, .skips_bad_records = true, .keeps_order = true},
        {.optimizer = "Adam", .training = odd_path, .skips_bad_records = true},
        {.optimizer = "Adam", .training = odd_path, .skips_bad_records = true, .keeps_order = true, .microbatch = 16},
        {.optimizer = "Adam", .training = sampled},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        assert_same_on(&recipes[i], 2, 0);
        assert_same_on(&recipes[i], 3, 2);
        assert_same_on(&recipes[i], 7, 0);
    }
}

/* What cannot be read on one worker ends the fit on all, with the message of the one. */
static void test_an_error_of_one_is_that_of_all(void **state)
{
    (void)state;
    const recipe wanted = {.optimizer = "Adam", .training = odd_path, .keeps_order = true};
    result results[MAX_PROCESSES];
    run_cluster(&wanted, 3, 1, results);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(results[i].status, results[0].status);
        assert_int_not_equal(results[i].status, LIANA_OK);
        assert_non_null(strstr(results[i].message, "odd"));
    }
    free_results(results, 4);
}

/* All processes find that a step has gone bad, and do the same about it. */
static void test_bad_numbers_of_all(void **state)
{
    (void)state;
    static const char diverging[] = "{name: SGD, learning_rate: 1.0e+25}";
    const recipe restores = {.optimizer = diverging, .on_bad_numbers = LIANA_ON_BAD_NUMBERS_RESTORE};
    assert_same_on(&restores, 3, 0);
    assert_same_on(&restores, 2, 1);
    result results[MAX_PROCESSES];
    run_cluster(&(recipe){.optimizer = diverging}, 3, 1, results);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(results[i].status, LIANA_OUT_OF_RANGE);
        assert_string_equal(results[i].message, results[0].message);
    }
    free_results(results, 4);
}

/* ---- checkpoints ---- */

static const char *newest(const char *folder, const char *file)
{
    static char paths[4][640];
    static size_t next;
    liana__arena arena = {0};
    liana__error error = {0};
    const char *path = NULL;
    assert_ok(liana__checkpoint_newest(folder, &arena, &path, &error), &error);
    assert_non_null(path);
    char *found = paths[next++ % 4];
    snprintf(found, sizeof paths[0], "%s/%s", path, file);
    liana__arena_free(&arena);
    return found;
}

/* State and variables, but for the times in the history. */
static void assert_same_checkpoint(const char *a, const char *b)
{
    assert_same_file(newest(a, "variables.safetensors"), newest(b, "variables.safetensors"));
}

/* The chief alone writes; the others have no folder. */
static void test_checkpoints_are_those_of_one_process(void **state)
{
    (void)state;
    char alone[512], shared[512];
    snprintf(alone, sizeof alone, "%s", liana__test_path("alone"));
    snprintf(shared, sizeof shared, "%s", liana__test_path("shared"));
    const recipe one = {.optimizer = "{name: Adam, use_ema: true}", .checkpoints = alone, .checkpoint_steps = 1};
    recipe several = one;
    several.checkpoints = shared;
    result results[MAX_PROCESSES], whole = run_alone(&one);
    run_cluster(&several, 2, 2, results);
    for (size_t i = 0; i < 4; i++) assert_same_result(&whole, &results[i]);
    assert_same_checkpoint(alone, shared);
    free_results(results, 4);
    free(whole.weights);
}

/* What the chief cannot write ends the fit on all; nobody waits for what it did not ask for. */
static void test_a_failing_save_is_that_of_all(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("broken"));
    const recipe wanted = {.optimizer = "Adam", .checkpoints = folder, .checkpoint_steps = 1, .breaks_folder = true};
    result results[MAX_PROCESSES];
    run_cluster(&wanted, 3, 0, results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].status, results[0].status);
        assert_int_not_equal(results[i].status, LIANA_OK);
        assert_non_null(strstr(results[i].message, "broken"));
    }
    free_results(results, 3);
}

/* Three workers begin, in the middle of an epoch two workers and a server go on, one process ends it. */
static void test_a_fit_goes_on_in_any_number_of_processes(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("goes_on"));
    const recipe whole = {.optimizer = "Lamb", .epochs = 3};
    recipe part = {.optimizer = "Lamb", .epochs = 3, .steps = 2, .checkpoints = folder};
    result results[MAX_PROCESSES], alone = run_alone(&whole);
    run_cluster(&part, 3, 0, results);
    for (size_t i = 0; i < 3; i++) assert_int_equal(results[i].status, LIANA_OK);
    free_results(results, 3);
    part.resume = true;
    part.steps = 5;
    run_cluster(&part, 2, 1, results);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(results[i].status, LIANA_OK);
        assert_int_equal(results[i].counters.updates, 3);
    }
    free_results(results, 3);
    part.steps = 0;
    result end = run_alone(&part);
    assert_int_equal(end.size, alone.size);
    assert_memory_equal(end.weights, alone.weights, alone.size);
    free(end.weights);
    free(alone.weights);
}

/* Two slots of each weight that is trained, held once in the cluster. */
static uint64_t adam_slots(const result *results, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) total += results[i].counters.slot_bytes;
    return total;
}

/* 8 shards of the update, and 12 of the validation: 45 images in batches of 32. */
static void test_each_worker_computes_its_leaves_only(void **state)
{
    (void)state;
    result results[MAX_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 1};
    run_cluster(&wanted, 4, 0, results);
    const size_t averages = 2 * 8 * sizeof(float), trained = results[0].size - averages;
    assert_int_equal(adam_slots(results, 4), 2 * trained);
    for (size_t i = 0; i < 4; i++) {
        const liana__cluster_counters *counters = &results[i].counters;
        assert_int_equal(counters->updates, 1);
        assert_int_equal(counters->leaves_computed, 2 + 3);
        /* A quarter each, as far as chunks of 4,096 elements allow it. */
        assert_in_range(counters->slot_bytes, 1, trained / 2 + 2 * 4096 * sizeof(float));
    }
    free_results(results, 4);
}

static void test_workers_of_servers_hold_no_slots(void **state)
{
    (void)state;
    result results[MAX_PROCESSES];
    const recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 1};
    run_cluster(&wanted, 2, 2, results);
    const size_t averages = 2 * 8 * sizeof(float), trained = results[0].size - averages;
    for (size_t i = 0; i < 4; i++) {
        const liana__cluster_counters *counters = &results[i].counters;
        assert_int_equal(counters->leaves_computed, i < 2 ? 4 + 6 : 0);
        assert_true(i < 2 ? counters->slot_bytes == 0 : counters->slot_bytes > 0);
    }
    assert_int_equal(adam_slots(results, 4), 2 * trained);
    free_results(results, 4);
}

static void test_a_loop_of_ones_own(void **state)
{
    (void)state;
    static const recipe steps = {.is_step = true};
    assert_same_on(&steps, 2, 0);
    assert_same_on(&steps, 7, 0);
    assert_same_on(&steps, 3, 2);
}

/* Of the second update, without validation: half of the gradients, and half of the weights, by each worker. */
static void test_traffic_is_that_of_a_ring(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 4};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        result one[MAX_PROCESSES], two[MAX_PROCESSES];
        recipe wanted = {.optimizer = "Adam", .epochs = 1, .steps = 1, .is_wide = true};
        run_cluster(&wanted, counts[k], 0, one);
        wanted.steps = 2;
        run_cluster(&wanted, counts[k], 0, two);
        const double size = (double)one[0].size, workers = (double)counts[k];
        for (size_t i = 0; i < counts[k]; i++) {
            const double sent =
                (double)two[i].counters.transport.bytes_sent - (double)one[i].counters.transport.bytes_sent;
            assert_true(sent > 1.9 * (workers - 1) / workers * size);
            assert_true(sent <= 1.05 * 2 * (workers - 1) / workers * size);
        }
        free_results(one, counts[k]);
        free_results(two, counts[k]);
    }
}

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    snprintf(training_path, sizeof training_path, "%s", liana__test_path("train-images"));
    snprintf(validation_path, sizeof validation_path, "%s", liana__test_path("validation-images"));
    static const char no_image[] = "no image";
    liana__test_odd odd[12];
    /* The second and third shard of the first update, and single ones. */
    for (int i = 0; i < 12; i++) {
        odd[i] = (liana__test_odd){.record = i < 8 ? 4 + i : 30 + 7 * (i - 8),
                                   .image = no_image,
                                   .image_size = sizeof no_image};
    }
    liana__test_tiny_records("odd.tfrecord", 5, 0, COUNT, odd, 12);
    liana__test_tiny_records("some.tfrecord", 5, 0, 50, NULL, 0);
    liana__test_tiny_records("more.tfrecord", 6, 0, 40, NULL, 0);
    snprintf(odd_path, sizeof odd_path, "%s", liana__test_path("odd.tfrecord"));
    snprintf(sampled, sizeof sampled, "{sample_from: [{paths: %s, weight: 3}, %s]}", liana__test_path("some.tfrecord"),
             liana__test_path("more.tfrecord"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_workers_give_the_bits_of_one_process),
        cmocka_unit_test(test_any_number_of_workers),
        cmocka_unit_test(test_parameter_servers),
        cmocka_unit_test(test_what_updates_read),
        cmocka_unit_test(test_what_else_happens_in_a_fit),
        cmocka_unit_test(test_gaps_and_draws),
        cmocka_unit_test(test_an_error_of_one_is_that_of_all),
        cmocka_unit_test(test_bad_numbers_of_all),
        cmocka_unit_test(test_checkpoints_are_those_of_one_process),
        cmocka_unit_test(test_a_failing_save_is_that_of_all),
        cmocka_unit_test(test_a_fit_goes_on_in_any_number_of_processes),
        cmocka_unit_test(test_a_loop_of_ones_own),
        cmocka_unit_test(test_traffic_is_that_of_a_ring),
        cmocka_unit_test(test_each_worker_computes_its_leaves_only),
        cmocka_unit_test(test_workers_of_servers_hold_no_slots),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
