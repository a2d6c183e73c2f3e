/* One fit has the same bytes under every strategy and on any number of processes (which are threads here): weights, losses
 * and metrics, with all that an update may have. Counters show that each process did its own part only. */
#include "harness/hub.h"
#include "harness/tiny_fit.h"
#include "harness/tiny_records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, EPOCHS = 2, MAX_PROCESSES = 10 };

static char odd_path[512], validation_path[512], sampled[1600], images_path[512];

typedef struct recipe {
    const char *training, *optimizer, *augment;
    int64_t microbatch;
    bool skips_bad_records;
    bool counts; /* the examples of the data are read in order, and counted */
} recipe;

typedef struct result {
    liana_status status;
    char message[512];
    char *weights;
    size_t size;
    liana_epoch epochs[EPOCHS];
    liana__cluster *cluster;
    liana__cluster_counters counters;
    int64_t num_replicas;
    atomic_int made[COUNT]; /* how often an example was made here */
} result;

/* ---- a fit ---- */

/* Changes nothing. */
static liana_status count_example(void *user, const liana_example_address *address, const liana_element *input,
                                  liana_element *output)
{
    result *own = user;
    (void)input;
    (void)output;
    atomic_fetch_add(&own->made[address->record % COUNT], 1);
    return LIANA_OK;
}

static liana_dataset *open_training(liana_context *context, const recipe *wanted, result *own)
{
    liana_dataset *data = NULL;
    const liana_status status = *wanted->training == '{'
                                    ? liana_dataset_configure(context, wanted->training, NULL, &data)
                                    : liana_dataset_open(context, wanted->training, NULL, &data);
    if (status != LIANA_OK || !wanted->counts) return data;
    return liana_dataset_map(data, &(liana_map_options){.name = "count", .function = count_example, .user = own});
}

/* With batch normalisation and dropout, and a layer that is cut where there are several owners. */
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

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    result *own = user;
    if (epoch->epoch <= EPOCHS) own->epochs[epoch->epoch - 1] = *epoch;
    if (own->cluster) own->counters = own->cluster->counters;
    return true;
}

static liana_status train_begin(void *user, liana_fit_context *context)
{
    ((result *)user)->num_replicas = liana_fit_num_replicas_in_sync(context);
    return LIANA_OK;
}

static liana_status fit(liana_context *context, const recipe *wanted, liana_strategy strategy, result *own)
{
    const liana_callback look = {.size = sizeof look, .train_begin = train_begin, .user = own};
    liana_dataset *training = open_training(context, wanted, own), *validation = NULL;
    liana_model *model = build_model(context);
    liana_status status = liana_dataset_open(context, validation_path, NULL, &validation);
    const liana_fit_options options = {.training = training,
                                       .validation = validation,
                                       .epochs = EPOCHS,
                                       .batch_size = BATCH,
                                       .microbatch = wanted->microbatch,
                                       .optimizer = wanted->optimizer,
                                       .metrics = {"accuracy", "AUC"},
                                       .augment = wanted->augment,
                                       .skip_bad_records = wanted->skips_bad_records,
                                       .keep_order = wanted->counts,
                                       .strategy = strategy,
                                       .seed = 3,
                                       .callbacks = (const liana_callback *const[]){&look},
                                       .num_callbacks = 1,
                                       .on_epoch = keep_epoch,
                                       .user = own};
    if (status == LIANA_OK && (!training || !model)) status = liana_context_status(context);
    if (status == LIANA_OK) status = liana_fit(model, &options);
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &own->weights, &own->size);
    liana_model_destroy(model);
    liana_dataset_close(training);
    liana_dataset_close(validation);
    return status;
}

/* ---- who computes ---- */

typedef struct setting {
    liana_strategy strategy;
    size_t num_workers, num_servers; /* 0: this process alone */
    int num_threads;
    int64_t num_replicas;
} setting;

static const setting ONE = {{.name = "one_device"}, 0, 0, 1, 1};

static const setting SETTINGS[] = {
    {{.name = "one_device"}, 0, 0, 3, 1},
    {{.name = "mirrored", .replicas = 2}, 0, 0, 2, 2},
    {{.name = "mirrored", .replicas = 7, .threads = 1}, 0, 0, 1, 7},
    {{.name = "multi_worker"}, 1, 0, 2, 1},
    {{.name = "multi_worker"}, 2, 0, 1, 2},
    {{.name = "multi_worker"}, 3, 0, 1, 3},
    {{.name = "multi_worker"}, 4, 0, 1, 4},
    {{.name = "multi_worker"}, 7, 0, 1, 7},
    {{.name = "multi_worker", .replicas = 2, .threads = 1}, 1, 0, 1, 2},
    {{.name = "multi_worker", .replicas = 2, .threads = 1}, 3, 0, 1, 6},
    {{.name = "multi_worker", .replicas = 3, .threads = 1}, 2, 0, 1, 6},
    {{.name = "parameter_server"}, 1, 1, 1, 1},
    {{.name = "parameter_server"}, 2, 2, 1, 2},
    {{.name = "parameter_server"}, 3, 1, 1, 3},
    {{.name = "parameter_server"}, 4, 3, 1, 4},
    {{.name = "parameter_server"}, 7, 2, 1, 7},
    {{.name = "parameter_server", .replicas = 2, .threads = 1}, 2, 1, 1, 4},
};
enum { NUM_SETTINGS = sizeof SETTINGS / sizeof *SETTINGS };

typedef struct process {
    liana__hub *hub; /* NULL: alone */
    size_t rank;
    const recipe *wanted;
    const setting *setting;
    result *result;
} process;

static void *run_process(void *user)
{
    const process *own = user;
    result *got = own->result;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    got->status = liana_context_create(&(liana_context_options){.num_threads = own->setting->num_threads}, &context);
    if (got->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->cluster = &cluster;
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK) got->status = fit(context, own->wanted, own->setting->strategy, got);
    if (got->status != LIANA_OK) snprintf(got->message, sizeof got->message, "%s", liana_context_message(context));
    if (own->hub) liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

/* Results by rank. */
static size_t run(const recipe *wanted, const setting *chosen, result *results)
{
    pthread_t threads[MAX_PROCESSES];
    process processes[MAX_PROCESSES];
    const size_t count = chosen->num_workers ? chosen->num_workers + chosen->num_servers : 1;
    liana__hub *hub = chosen->num_workers ? liana__hub_create(chosen->num_workers, chosen->num_servers) : NULL;
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count; i++) {
        processes[i] = (process){hub, i, wanted, chosen, &results[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    if (hub) liana__hub_destroy(hub);
    for (size_t i = 0; i < count; i++) {
        if (results[i].status != LIANA_OK) {
            print_error("%s, %zu workers, process %zu: %s\n", chosen->strategy.name, chosen->num_workers, i,
                        results[i].message);
        }
        assert_int_equal(results[i].status, LIANA_OK);
        assert_int_equal(results[i].num_replicas, chosen->num_replicas);
    }
    return count;
}

static void free_results(result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) free(results[i].weights);
}

static void assert_same(const result *a, const result *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->weights, b->weights, a->size);
    for (int i = 0; i < EPOCHS; i++) {
        const liana_epoch *x = &a->epochs[i], *y = &b->epochs[i];
        assert_memory_equal(&x->training.loss, &y->training.loss, sizeof(double));
        assert_memory_equal(&x->validation.loss, &y->validation.loss, sizeof(double));
        assert_memory_equal(x->training.metrics, y->training.metrics, sizeof x->training.metrics);
        assert_memory_equal(x->validation.metrics, y->validation.metrics, sizeof x->validation.metrics);
    }
}

/* ---- the tests ---- */

/* 78 of 90 records can be used, so the last update of an epoch is partial, and shards are missing or small. An update
 * accumulates up to eight shards, or two: then most processes have none. */
static void test_every_strategy_ends_in_the_same_bytes(void **state)
{
    (void)state;
    const recipe recipes[] = {
        {odd_path, "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}", NULL, 4, true, false},
        {odd_path, "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}", NULL, 16, true, false},
        {sampled, "{name: Adam, amsgrad: true, clipnorm: 0.05}", "[random_flip, {mixup: {alpha: 0.3}}]", 4, false,
         false},
    };
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++) {
        result alone, results[MAX_PROCESSES];
        run(&recipes[k], &ONE, &alone);
        assert_true(alone.epochs[0].training.loss > 0 && alone.epochs[EPOCHS - 1].validation.metrics[1] > 0);
        for (size_t i = 0; i < NUM_SETTINGS; i++) {
            const size_t count = run(&recipes[k], &SETTINGS[i], results);
            for (size_t rank = 0; rank < count; rank++) assert_same(&alone, &results[rank]);
            free_results(results, count);
        }
        free_results(&alone, 1);
    }
}

/* Of 90 examples in updates of 32, 32 and 26: 8 + 8 + 7 shards an epoch. */
static void test_each_process_does_its_own_part(void **state)
{
    (void)state;
    const recipe counted = {images_path, "{name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}", NULL, 4, false,
                            true};
    result alone, results[MAX_PROCESSES];
    run(&counted, &ONE, &alone);
    for (size_t i = 0; i < NUM_SETTINGS; i++) {
        const setting *chosen = &SETTINGS[i];
        if (!chosen->num_workers) continue;
        const size_t count = run(&counted, chosen, results);
        uint64_t leaves = 0;
        for (int example = 0; example < COUNT; example++) {
            size_t makers = 0;
            for (size_t rank = 0; rank < count; rank++) makers += results[rank].made[example] > 0;
            assert_int_equal(makers, 1);
        }
        for (size_t rank = 0; rank < count; rank++) {
            const liana__cluster_counters *counters = &results[rank].counters;
            const bool works = rank < chosen->num_workers;
            assert_same(&alone, &results[rank]);
            leaves += counters->leaves_computed;
            assert_true(works ? counters->leaves_computed > 0 : counters->leaves_computed == 0);
            if (works && chosen->num_servers) assert_int_equal(counters->slot_bytes, 0);
            if (!works) assert_true(counters->slot_bytes > 0);
        }
        /* The validation data are 45 images in batches of 32: 8 + 4 shards. */
        assert_int_equal(leaves, EPOCHS * (8 + 8 + 7 + 8 + 4));
        free_results(results, count);
    }
    free_results(&alone, 1);
}

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    snprintf(images_path, sizeof images_path, "%s", liana__test_path("train-images"));
    snprintf(validation_path, sizeof validation_path, "%s", liana__test_path("validation-images"));
    static const char no_image[] = "no image";
    liana__test_odd odd[12];
    /* Two neighbouring shards, if the order is kept, and single ones. */
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
        cmocka_unit_test(test_every_strategy_ends_in_the_same_bytes),
        cmocka_unit_test(test_each_process_does_its_own_part),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
