/* C programs of a cluster that differ: each process says what differs, and nobody trains. Processes are threads. */
#include "harness/harness.h"
#include "harness/hub.h"
#include "harness/made_examples.h"
#include "harness/tiny_fit.h"

#include "base/file.h"

#include <liana/liana.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 3, COUNT = 60, FEATURES = 4, BATCH = 8 };

/* What a process does, which the last one may do otherwise. */
typedef struct recipe {
    int64_t batch_size, microbatch, epochs, units, steps;
    uint64_t seed;
    const char *optimizer, *loss, *augment, *data;
    float weight;
} recipe;

typedef struct process {
    size_t rank;
    liana__hub *hub;
    const recipe *own;
    liana_status (*run)(liana_context *context, const recipe *own);
    liana_status status;
    char message[1024];
    bool computes_alike;
} process;

static char images[2][300];

static void *run_process(void *user)
{
    process *self = user;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    self->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (self->status != LIANA_OK) return NULL;
    liana__hub_join(self->hub, self->rank, &cluster);
    cluster.computes_alike = false;
    self->status = liana__cluster_join(context, &cluster);
    if (self->status == LIANA_OK) self->status = self->run(context, self->own);
    if (self->status != LIANA_OK) snprintf(self->message, sizeof self->message, "%s", liana_context_message(context));
    self->computes_alike = cluster.computes_alike;
    liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

static void run_all(liana_status (*run)(liana_context *context, const recipe *own), const recipe *most,
                    const recipe *last, process *processes)
{
    pthread_t threads[PROCESSES];
    liana__hub *hub = liana__hub_create(PROCESSES, 0);
    assert_non_null(hub);
    for (size_t i = 0; i < PROCESSES; i++) {
        processes[i] = (process){.rank = i, .hub = hub, .own = i == PROCESSES - 1 ? last : most, .run = run};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < PROCESSES; i++) pthread_join(threads[i], NULL);
    liana__hub_destroy(hub);
}

static void assert_agree(liana_status (*run)(liana_context *context, const recipe *own), const recipe *all)
{
    process processes[PROCESSES];
    run_all(run, all, all, processes);
    for (size_t i = 0; i < PROCESSES; i++) {
        if (processes[i].status != LIANA_OK) print_error("process %zu: %s\n", i, processes[i].message);
        assert_int_equal(processes[i].status, LIANA_OK);
        assert_true(processes[i].computes_alike);
    }
}

static void assert_differ(liana_status (*run)(liana_context *context, const recipe *own), const recipe *most,
                          const recipe *last, const char *text)
{
    process processes[PROCESSES];
    run_all(run, most, last, processes);
    for (size_t i = 0; i < PROCESSES; i++) {
        const bool says = strstr(processes[i].message, text) && strstr(processes[i].message, "process 2");
        if (!says) print_error("process %zu, expected '%s': %s\n", i, text, processes[i].message);
        assert_int_equal(processes[i].status, LIANA_INVALID_CONFIG);
        assert_true(says);
    }
}

/* ---- liana_fit ---- */

static liana_status fit(liana_context *context, const recipe *own)
{
    liana_model *model = NULL;
    liana_dataset *data = NULL;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) return liana_context_status(context);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = own->units, .activation = "relu", .name = "hidden");
    liana_dense(model, .units = 4, .activation = "softmax", .name = "classes");
    liana_status status = liana_dataset_open(context, own->data, NULL, &data);
    if (status == LIANA_OK) {
        status = liana_fit(model, &(liana_fit_options){.training = data,
                                                       .epochs = own->epochs,
                                                       .batch_size = own->batch_size,
                                                       .microbatch = own->microbatch,
                                                       .seed = own->seed,
                                                       .optimizer = own->optimizer,
                                                       .loss = own->loss,
                                                       .augment = own->augment,
                                                       .strategy = {.name = "multi_worker"}});
    }
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void test_fits(void **state)
{
    (void)state;
    const recipe all = {.batch_size = 16, .microbatch = 4, .epochs = 1, .units = 8, .seed = 3, .data = images[0]};
    recipe last = all;
    assert_agree(fit, &all);
    last.batch_size = 32;
    assert_differ(fit, &all, &last, "batch_size is 16 on the chief, and 32 on process 2");
    last = all;
    last.seed = 4;
    assert_differ(fit, &all, &last, "seed is 3 on the chief, and 4 on process 2");
    last = all;
    last.optimizer = "SGD";
    assert_differ(fit, &all, &last, "optimizer is null on the chief, and SGD on process 2");
    last = all;
    last.loss = "mean_squared_error";
    assert_differ(fit, &all, &last, "loss and metrics is ");
    last = all;
    last.augment = "[random_flip]";
    assert_differ(fit, &all, &last, "augment is null on the chief, and [random_flip] on process 2");
    last = all;
    last.units = 9;
    assert_differ(fit, &all, &last, "units is 8 on the chief, and 9 on process 2");
    last = all;
    last.data = images[1];
    assert_differ(fit, &all, &last, "the training data.files[train-images].contents is ");
}

/* ---- a step of one's own ---- */

static void build_leaf(liana_leaf *leaf, void *user)
{
    const recipe *own = user;
    liana_tensor x = liana_leaf_input(leaf, "x");
    liana_tensor weight = liana_graph_variable(leaf->graph, "weight", LIANA_F32, liana_shape_of(FEATURES, own->units));
    liana_tensor product = liana_op_matmul(x, weight, false, false);
    if (own->loss) product = liana_op_relu(product);
    liana_tensor loss = liana_leaf_sum(leaf, "loss", liana_op_square(product));
    liana_leaf_gradients(leaf, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.01});
}

static liana_status step(liana_context *context, const recipe *own)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {FEATURES}}}};
    float x[BATCH * FEATURES], weights[FEATURES * 16];
    liana_device *device = NULL;
    liana_variables *variables = NULL;
    liana_step *made = NULL;
    for (int i = 0; i < BATCH * FEATURES; i++) x[i] = (float)((i * 37) % 101) / 50 - 1;
    for (int i = 0; i < FEATURES * 16; i++) weights[i] = own->weight;
    const liana_step_options options = {.name = "mine",
                                        .leaf = build_leaf,
                                        .update = build_update,
                                        .user = (void *)(uintptr_t)own,
                                        .components = components,
                                        .num_components = 1,
                                        .batch_size = own->batch_size,
                                        .microbatch = own->microbatch,
                                        .strategy = {.name = "multi_worker"}};
    liana_status status = liana_device_open(context, "cpu", &device);
    if (status == LIANA_OK) status = liana_variables_create(device, &variables);
    if (status == LIANA_OK) status = liana_step_create(device, variables, &options, &made);
    const size_t size = FEATURES * (size_t)own->units * sizeof(float);
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", weights, size);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    for (int64_t i = 0; status == LIANA_OK && i < own->steps; i++) {
        liana_step_results results;
        status = liana_step_run(made,
                                &(liana_step_batch){
                                    .arrays = {{"x", LIANA_F32, liana_shape_of(own->batch_size, FEATURES), x}}},
                                &results);
    }
    liana_step_destroy(made);
    liana_variables_destroy(variables);
    liana_device_close(device);
    return status;
}

static void test_steps(void **state)
{
    (void)state;
    const recipe all = {.batch_size = BATCH, .microbatch = 2, .units = 3, .steps = 2, .weight = 0.5f};
    recipe last = all;
    assert_agree(step, &all);
    last.batch_size = 4;
    assert_differ(step, &all, &last, "batch_size is 8 on the chief, and 4 on process 2");
    last = all;
    last.loss = "rectified";
    assert_differ(step, &all, &last, "the graph of a shard of mine is ");
    /* Weights that a program has read from another file: no processor is blamed. */
    last = all;
    last.weight = 0.25f;
    assert_differ(step, &all, &last, "the values of the variable 'weight' is ");
}

static int make_data(void **state)
{
    (void)state;
    char *data, name[64];
    size_t size;
    liana__error error = {0};
    liana__test_folder();
    liana__test_tiny_data("train", COUNT, 1);
    static const char *const files[] = {"train-images", "train-labels"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "machine%d", i);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        for (int k = 0; k < 2; k++) {
            assert_ok(liana__file_read(liana__test_path(files[k]), 1 << 24, &data, &size, &error), &error);
            if (i == 1 && k == 0) data[size / 2] ^= 1;
            snprintf(name, sizeof name, "machine%d/%s", i, files[k]);
            assert_ok(liana__file_replace(liana__test_path(name), data, size, &error), &error);
            free(data);
        }
        snprintf(name, sizeof name, "machine%d/train-images", i);
        snprintf(images[i], sizeof images[i], "%s", liana__test_path(name));
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
