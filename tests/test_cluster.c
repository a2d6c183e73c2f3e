/* Trainings in several processes, which are threads here: the same bits as in one, whoever computes and owns what. */
#include "harness/hub.h"
#include "harness/tiny_fit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 4, MAX_PROCESSES = 12, MAX_EPOCHS = 4 };

/* Of the data; the harness's own paths are for one thread. */
static char training_path[512], validation_path[512];

/* ---- a fit, and what came of it ---- */

/* What is fitted, but for the strategy. */
typedef struct recipe {
    const char *optimizer;
    int64_t epochs, batch_size, microbatch;
    int64_t steps;
    const char *metrics[3];
    const char *augment;
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
    ((result *)user)->num_replicas = liana_fit_num_replicas_in_sync(context);
    return LIANA_OK;
}

static liana_status keep_weights(liana_model *model, result *own)
{
    for (size_t i = 0; liana_model_weight_name(model, i); i++) {
        liana_array array;
        LIANA_TRY(liana_model_get_weights(model, liana_model_weight_name(model, i), &array));
        const size_t size = (size_t)liana_shape_size(&array.shape) * sizeof(float);
        char *larger = realloc(own->weights, own->size + size);
        if (!larger) return LIANA_OUT_OF_MEMORY;
        memcpy(larger + own->size, array.data, size);
        own->weights = larger;
        own->size += size;
    }
    return LIANA_OK;
}

/* With batch normalisation and dropout; its dense layer is cut when there are several owners. */
static liana_model *build_model(liana_context *context)
{
    liana_model *model = NULL;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) return NULL;
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 8, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_max_pooling2d(model);
    liana_dropout(model, .rate = 0.25);
    liana_flatten(model);
    liana_dense(model, .units = 70, .activation = "relu");
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    return model;
}

static liana_status fit(liana_context *context, const recipe *wanted, liana_strategy strategy, result *own)
{
    liana_dataset *training = NULL, *validation = NULL;
    liana_model *model = build_model(context);
    if (!model) return liana_context_status(context);
    const liana_callback look = {.size = sizeof look, .train_begin = train_begin, .user = own};
    liana_status status = liana_dataset_open(context, training_path, NULL, &training);
    if (status == LIANA_OK) {
        status = liana_dataset_open(context, validation_path, NULL, &validation);
    }
    liana_fit_options options = {.training = training,
                                 .validation = validation,
                                 .epochs = wanted->epochs ? wanted->epochs : 2,
                                 .steps = wanted->steps,
                                 .batch_size = wanted->batch_size ? wanted->batch_size : BATCH,
                                 .microbatch = wanted->microbatch ? wanted->microbatch : MICROBATCH,
                                 .optimizer = wanted->optimizer,
                                 .augment = wanted->augment,
                                 .strategy = strategy,
                                 .seed = 3,
                                 .callbacks = (const liana_callback *const[]){&look},
                                 .num_callbacks = 1,
                                 .on_epoch = keep_epoch,
                                 .user = own};
    memcpy(options.metrics, wanted->metrics, sizeof wanted->metrics);
    if (status == LIANA_OK) status = liana_fit(model, &options);
    if (status == LIANA_OK) status = keep_weights(model, own);
    liana_model_destroy(model);
    liana_dataset_close(training);
    liana_dataset_close(validation);
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
    got->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (got->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->cluster = &cluster;
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK) got->status = fit(context, own->wanted, own->strategy, got);
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
    for (size_t i = 0; i < count; i++) {
        if (results[i].status != LIANA_OK) print_error("process %zu: %s\n", i, results[i].message);
    }
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

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    snprintf(training_path, sizeof training_path, "%s", liana__test_path("train-images"));
    snprintf(validation_path, sizeof validation_path, "%s", liana__test_path("validation-images"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_workers_give_the_bits_of_one_process),
        cmocka_unit_test(test_any_number_of_workers),
        cmocka_unit_test(test_parameter_servers),
        cmocka_unit_test(test_what_updates_read),
        cmocka_unit_test(test_each_worker_computes_its_leaves_only),
        cmocka_unit_test(test_workers_of_servers_hold_no_slots),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
