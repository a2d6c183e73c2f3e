/* The data of several processes of a training: each makes its own examples only, a stream is read by one, and
 * predictions are written as by one process. The processes are threads here. */
#include "harness/cluster/hub.h"
#include "harness/made_examples.h"
#include "harness/tiny_fit.h"

#include "base/file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 4, MAX_PROCESSES = 9 };

/* Of the data; the harness's own paths are for one thread. */
static char training_path[512], validation_path[512];

/* ---- a fit ---- */

typedef struct recipe {
    bool streams;     /* the training data */
    bool predictions; /* are logged, in a folder named for the number of processes and servers */
} recipe;

typedef struct result {
    liana_status status;
    char message[512];
    char *weights;
    size_t size;
    liana__made_examples made, validated; /* of the training and of the validation data */
} result;

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

static liana_dataset *open_training(liana_context *context, const recipe *wanted, result *own)
{
    liana_dataset *dataset = NULL;
    if (liana_dataset_open(context, training_path, NULL, &dataset) != LIANA_OK) return NULL;
    if (wanted->streams) dataset = liana_dataset_filter(dataset, &(liana_filter_options){.function = keep_all});
    return liana__count_made(dataset, &own->made);
}

static liana_model *build_model(liana_context *context)
{
    liana_model *model = NULL;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) return NULL;
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 4, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_flatten(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    return model;
}

/* One process's part of it. */
typedef struct process {
    liana__hub *hub; /* NULL: alone */
    size_t rank;
    const recipe *wanted;
    liana_strategy strategy;
    const char *folder;
    result *result;
} process;

static liana_status fit(liana_context *context, const process *self, result *own)
{
    const recipe *wanted = self->wanted;
    liana_dataset *training = open_training(context, wanted, own), *validation = NULL;
    liana_model *model = build_model(context);
    char callbacks[700];
    if (!model || !training) return liana_context_status(context);
    snprintf(callbacks, sizeof callbacks, "[PredictionsLogger: {folder: '%s'}]", self->folder);
    liana_fit_options options = {.training = training,
                                 .epochs = 2,
                                 .batch_size = BATCH,
                                 .validation_batch_size = 20,
                                 .microbatch = MICROBATCH,
                                 .optimizer = "Adam",
                                 .keep_order = true,
                                 .named_callbacks = wanted->predictions ? callbacks : NULL,
                                 .strategy = self->strategy,
                                 .seed = 3};
    liana_status status = liana_dataset_open(context, validation_path, NULL, &validation);
    if (status == LIANA_OK) {
        validation = liana__count_made(validation, &own->validated);
        options.validation = validation;
        status = liana_fit(model, &options);
    }
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &own->weights, &own->size);
    liana_model_destroy(model);
    liana_dataset_close(training);
    liana_dataset_close(validation);
    return status;
}

static void *run_process(void *user)
{
    const process *own = user;
    result *got = own->result;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    got->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (got->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK) got->status = fit(context, own, got);
    if (got->status != LIANA_OK) snprintf(got->message, sizeof got->message, "%s", liana_context_message(context));
    if (own->hub) liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

/* Results by rank; no worker: one process alone. */
static size_t run(const recipe *wanted, size_t num_workers, size_t num_servers, const char *folder, result *results)
{
    pthread_t threads[MAX_PROCESSES];
    process processes[MAX_PROCESSES];
    const size_t count = num_workers ? num_workers + num_servers : 1;
    liana__hub *hub = num_workers ? liana__hub_create(num_workers, num_servers) : NULL;
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count; i++) {
        processes[i] = (process){.hub = hub, .rank = i, .wanted = wanted, .folder = folder, .result = &results[i]};
        if (hub) processes[i].strategy.name = num_servers ? "parameter_server" : "multi_worker";
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < count; i++) {
        if (results[i].status != LIANA_OK) print_error("process %zu: %s\n", i, results[i].message);
        assert_int_equal(results[i].status, LIANA_OK);
    }
    if (hub) assert_int_equal(liana__hub_num_kept(hub), 0);
    if (hub) liana__hub_destroy(hub);
    return count;
}

static void assert_same_weights(const result *a, const result *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->weights, b->weights, a->size);
}

static void free_results(result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) free(results[i].weights);
}

/* Workers and servers. */
static const size_t CLUSTERS[][2] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {7, 0}, {3, 2}};
enum { NUM_CLUSTERS = sizeof CLUSTERS / sizeof *CLUSTERS };

/* ---- the tests ---- */

static void assert_made(const result *results, size_t num_workers, size_t count)
{
    const liana__made_examples *made[MAX_PROCESSES], *validated[MAX_PROCESSES];
    for (size_t i = 0; i < count; i++) {
        made[i] = &results[i].made;
        validated[i] = &results[i].validated;
    }
    liana__assert_made_by_one(made, count, COUNT);
    liana__assert_made_by_workers(validated, num_workers, count, COUNT / 2);
}

/* In the order of the data a step's shards are the same examples in each epoch, so no example is made by two. */
static void test_each_process_makes_its_own_examples(void **state)
{
    (void)state;
    static const recipe plain = {0};
    result alone, results[MAX_PROCESSES];
    run(&plain, 0, 0, "", &alone);
    for (size_t k = 0; k < NUM_CLUSTERS; k++) {
        const size_t count = run(&plain, CLUSTERS[k][0], CLUSTERS[k][1], "", results);
        assert_made(results, CLUSTERS[k][0], count);
        for (size_t i = 0; i < count; i++) assert_same_weights(&alone, &results[i]);
        free_results(results, count);
    }
    free_results(&alone, 1);
}

static void test_a_stream_is_read_by_one(void **state)
{
    (void)state;
    static const recipe stream = {.streams = true};
    result alone, results[MAX_PROCESSES];
    run(&stream, 0, 0, "", &alone);
    for (size_t k = 0; k < NUM_CLUSTERS; k++) {
        const size_t count = run(&stream, CLUSTERS[k][0], CLUSTERS[k][1], "", results);
        for (size_t i = 0; i < count; i++) {
            for (size_t example = 0; example < COUNT; example++) {
                assert_int_equal(results[i].made.made[example] > 0, i == 0);
            }
            assert_same_weights(&alone, &results[i]);
        }
        free_results(results, count);
    }
    free_results(&alone, 1);
}

static void test_predictions_are_the_same_files(void **state)
{
    (void)state;
    static const recipe logged = {.predictions = true};
    result alone, results[MAX_PROCESSES];
    char expected[300], folder[300], file[400], other[400];
    snprintf(expected, sizeof expected, "%s", liana__test_path("alone"));
    run(&logged, 0, 0, expected, &alone);
    for (size_t k = 0; k < NUM_CLUSTERS; k++) {
        char name[40];
        snprintf(name, sizeof name, "%zu-%zu", CLUSTERS[k][0], CLUSTERS[k][1]);
        snprintf(folder, sizeof folder, "%s", liana__test_path(name));
        const size_t count = run(&logged, CLUSTERS[k][0], CLUSTERS[k][1], folder, results);
        for (int epoch = 1; epoch <= 2; epoch++) {
            snprintf(file, sizeof file, "%s/epoch-%04d-validation.csv", folder, epoch);
            snprintf(other, sizeof other, "%s/epoch-%04d-validation.csv", expected, epoch);
            assert_same_file(file, other);
        }
        for (size_t i = 0; i < count; i++) assert_same_weights(&alone, &results[i]);
        free_results(results, count);
    }
    free_results(&alone, 1);
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
        cmocka_unit_test(test_each_process_makes_its_own_examples),
        cmocka_unit_test(test_a_stream_is_read_by_one),
        cmocka_unit_test(test_predictions_are_the_same_files),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
