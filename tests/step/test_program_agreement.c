/* C programs of a cluster that differ: each process says what differs, and nobody trains. Processes are threads. */
#include "harness/cluster/hub.h"
#include "harness/harness.h"
#include "harness/made_examples.h"
#include "harness/tiny_fit.h"

#include "base/file.h"

#include <fcntl.h>
#include <liana/liana.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROCESSES = 3, COUNT = 60, FEATURES = 4, BATCH = 8 };

/* The work of a process, which may differ in the last one. */
typedef struct recipe {
    int64_t batch_size, microbatch, epochs, units, steps;
    uint64_t seed;
    const char *optimizer, *loss, *augment, *data, *metric, *input;
    float weight;
    double dropout, high, constant, rate;
    bool predicts;
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

static char images[2][300], estimator_folder[300];

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

/* The difference of the last process, and the message of all then. Zeros: as the others. */
typedef struct difference {
    recipe change;
    const char *text;
} difference;

static recipe changed(const recipe *all, const recipe *by)
{
    recipe made = *all;
    if (by->batch_size) made.batch_size = by->batch_size;
    if (by->steps) made.steps = by->steps;
    if (by->units) made.units = by->units;
    if (by->seed) made.seed = by->seed;
    if (by->optimizer) made.optimizer = by->optimizer;
    if (by->loss) made.loss = by->loss;
    if (by->augment) made.augment = by->augment;
    if (by->data) made.data = by->data;
    if (by->metric) made.metric = by->metric;
    if (by->input) made.input = by->input;
    if (by->weight != 0) made.weight = by->weight;
    if (by->dropout > 0) made.dropout = by->dropout;
    if (by->high > 0) made.high = by->high;
    if (by->constant > 0) made.constant = by->constant;
    if (by->rate > 0) made.rate = by->rate;
    return made;
}

static void assert_each_differs(liana_status (*run)(liana_context *context, const recipe *own), const recipe *all,
                                const difference *differences, size_t count)
{
    assert_agree(run, all);
    for (size_t i = 0; i < count; i++) {
        const recipe last = changed(all, &differences[i].change);
        assert_differ(run, all, &last, differences[i].text);
    }
}

/* ---- liana_fit ---- */

static liana_model *make_model(liana_context *context, const recipe *own)
{
    liana_model *model = NULL;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) return NULL;
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = own->units, .activation = "relu", .name = "hidden");
    liana_dropout(model, .rate = own->dropout, .name = "drop");
    liana_dense(model, .units = 4, .activation = "softmax", .name = "classes");
    return model;
}

static liana_status fit(liana_context *context, const recipe *own)
{
    liana_model *model = make_model(context, own);
    liana_dataset *data = NULL;
    if (!model) return liana_context_status(context);
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
                                                       .inputs = {{NULL, own->input}},
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
    const difference differences[] = {
        {{.batch_size = 32}, "batch_size is 16 on the chief, and 32 on process 2"},
        {{.seed = 4}, "seed is 3 on the chief, and 4 on process 2"},
        {{.optimizer = "SGD"}, "optimizer is Adam on the chief, and SGD on process 2"},
        {{.loss = "mean_squared_error"}, "loss and metrics is "},
        {{.augment = "[random_flip]"}, "augment is null on the chief, and [random_flip] on process 2"},
        {{.units = 9}, "units is 8 on the chief, and 9 on process 2"},
        {{.data = images[1]}, "the training data.files[train-images].contents is "},
        {{.dropout = 0.5}, ".rate is "},
        {{.input = "image"}, "inputs[] is not there on the chief, and image on process 2"},
    };
    assert_each_differs(fit, &all, differences, sizeof differences / sizeof *differences);
}

/* ---- evaluations and predictions ---- */

/* Twice: compiled programs are kept. */
static liana_status evaluate(liana_context *context, const recipe *own)
{
    liana_model *model = make_model(context, own);
    liana_dataset *data = NULL;
    if (!model) return liana_context_status(context);
    liana_evaluate_options options = {.batch_size = own->batch_size,
                                      .steps = own->steps,
                                      .loss = own->loss,
                                      .metrics = {own->metric},
                                      .strategy = {.name = "multi_worker"}};
    liana_status status = liana_dataset_open(context, own->data, NULL, &data);
    for (int i = 0; status == LIANA_OK && i < 2; i++) status = liana_evaluate(model, data, &options, NULL);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static liana_status predict(liana_context *context, const recipe *own)
{
    if (!own->predicts) return evaluate(context, own);
    liana_model *model = make_model(context, own);
    liana_dataset *data = NULL;
    float outputs[COUNT * 4];
    if (!model) return liana_context_status(context);
    const liana_predict_options options = {.batch_size = own->batch_size,
                                           .steps = own->steps,
                                           .inputs = {{NULL, own->input}},
                                           .strategy = {.name = "multi_worker"}};
    liana_status status = liana_dataset_open(context, own->data, NULL, &data);
    if (status == LIANA_OK) status = liana_predict(model, data, &options, outputs);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void test_evaluations(void **state)
{
    (void)state;
    const recipe all = {.batch_size = 16, .units = 8, .data = images[0], .loss = "sparse_categorical_crossentropy"};
    const difference differences[] = {
        {{.batch_size = 32}, "batch_size is 16 on the chief, and 32 on process 2"},
        {{.steps = 2}, "steps is 0 on the chief, and 2 on process 2"},
        {{.metric = "accuracy"}, "loss and metrics is "},
        {{.units = 9}, "units is 8 on the chief, and 9 on process 2"},
        {{.data = images[1]}, "the data.files[train-images].contents is "},
    };
    assert_each_differs(evaluate, &all, differences, sizeof differences / sizeof *differences);
}

static void test_predictions(void **state)
{
    (void)state;
    const recipe all = {.batch_size = 16, .units = 8, .data = images[0], .predicts = true};
    const difference differences[] = {
        {{.batch_size = 8}, "batch_size is 16 on the chief, and 8 on process 2"},
        {{.input = "image"}, "inputs[] is not there on the chief, and image on process 2"},
        {{.data = images[1]}, "the data.files[train-images].contents is "},
    };
    assert_each_differs(predict, &all, differences, sizeof differences / sizeof *differences);
    /* One process evaluates while the others predict. */
    recipe last = all;
    last.predicts = false;
    assert_differ(predict, &all, &last,
                  "the function that was called is liana_predict on the chief, and liana_evaluate on process 2");
}

/* ---- single batches ---- */

static void fill_batch(uint8_t *pictures, int32_t *classes, int64_t count, liana_array *arrays)
{
    const int64_t size = LIANA__TINY_SIZE * LIANA__TINY_SIZE;
    for (int64_t i = 0; i < count * size; i++) pictures[i] = (uint8_t)(i * 37);
    for (int64_t i = 0; i < count; i++) classes[i] = (int32_t)(i % 4);
    arrays[0] =
        (liana_array){"image", LIANA_U8, liana_shape_of(count, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1), pictures};
    arrays[1] = (liana_array){"label", LIANA_S32, liana_shape_of(count), classes};
}

/* `predicts`: the batch is measured, else trained on. */
static liana_status on_batch(liana_context *context, const recipe *own)
{
    uint8_t pictures[BATCH * LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    int32_t classes[BATCH];
    liana_array arrays[2];
    liana_results results;
    liana_model *model = make_model(context, own);
    if (!model) return liana_context_status(context);
    fill_batch(pictures, classes, BATCH, arrays);
    liana_status status;
    if (own->predicts) {
        const liana_evaluate_options options = {.loss = "sparse_categorical_crossentropy",
                                                .metrics = {own->metric},
                                                .strategy = {.name = "multi_worker"}};
        status = liana_test_on_batch(model, &options, arrays, 2, &results);
    } else {
        const liana_fit_options options = {.optimizer = own->optimizer,
                                           .microbatch = own->microbatch,
                                           .strategy = {.name = "multi_worker"}};
        status = liana_train_on_batch(model, &options, arrays, 2, &results);
    }
    liana_model_destroy(model);
    return status;
}

static void test_batches(void **state)
{
    (void)state;
    const recipe all = {.units = 8, .microbatch = 2, .dropout = 0.25, .optimizer = "SGD"};
    const difference differences[] = {
        /* The ops of a model's layers: an attribute of the op that a layer has made. */
        {{.dropout = 0.5}, "'rate' of op "},
        {{.dropout = 0.5}, "(dropout) of a shard, behind 'hidden/bias', is 0.25 on the chief, and 0.5 on"},
        {{.optimizer = "{name: SGD, momentum: 0.5}"}, "optimizer.momentum is 0.0 on the chief, and 0.5 on process 2"},
        {{.optimizer = "{name: SGD, learning_rate: 0.5}"},
         "learning_rate.initial_learning_rate is null on the chief, and 0.5 on process 2"},
    };
    assert_each_differs(on_batch, &all, differences, sizeof differences / sizeof *differences);
    recipe measured = all;
    measured.predicts = true;
    const difference wider = {
        {.units = 9},
        "the variable 'hidden/kernel' of a shard is f32[144, 8] on the chief, and f32[144, 9] on process 2"};
    assert_each_differs(on_batch, &measured, &wider, 1);
}

/* ---- a step of one's own ---- */

static void build_shard(liana_shard *shard, void *user)
{
    const recipe *own = user;
    liana_tensor x = liana_shard_input(shard, "x");
    liana_tensor weight = liana_graph_variable(shard->graph, "weight", LIANA_F32, liana_shape_of(FEATURES, own->units));
    liana_tensor product = liana_op_matmul(x, weight, false, false);
    if (own->loss) product = liana_op_relu(product);
    if (own->high > 0) product = liana_op_clip(product, 0, own->high);
    if (own->constant > 0) {
        product = liana_op_multiply(product, liana_graph_scalar(shard->graph, LIANA_F32, own->constant));
    }
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_op_square(product));
    liana_shard_gradients(shard, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    const recipe *own = user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = own->rate});
}

static liana_status step(liana_context *context, const recipe *own)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {FEATURES}}}};
    float x[BATCH * FEATURES], weights[FEATURES * 16];
    liana_step *made = NULL;
    for (int i = 0; i < BATCH * FEATURES; i++) x[i] = (float)((i * 37) % 101) / 50 - 1;
    for (int i = 0; i < FEATURES * 16; i++) weights[i] = own->weight;
    const liana_step_options options = {.name = "mine",
                                        .shard = build_shard,
                                        .update = build_update,
                                        .user = (void *)(uintptr_t)own,
                                        .components = components,
                                        .num_components = 1,
                                        .batch_size = own->batch_size,
                                        .microbatch = own->microbatch,
                                        .strategy = {.name = "multi_worker"}};
    liana_status status = liana_step_create(context, &options, &made);
    liana_variables *variables = liana_step_variables(made);
    const size_t size = FEATURES * (size_t)own->units * sizeof(float);
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", weights, size);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    for (int64_t i = 0; status == LIANA_OK && i < own->steps; i++) {
        liana_step_results results;
        status = liana_step_run(made,
                                &(liana_step_input){
                                    .arrays = {{"x", LIANA_F32, liana_shape_of(own->batch_size, FEATURES), x}}},
                                &results);
    }
    liana_step_destroy(made);
    return status;
}

static void test_steps(void **state)
{
    (void)state;
    const recipe all = {.batch_size = BATCH, .microbatch = 2, .units = 3, .steps = 2, .weight = 0.5f, .rate = 0.25};
    const difference differences[] = {
        {{.batch_size = 4}, "batch_size is 8 on the chief, and 4 on process 2"},
        {{.loss = "rectified"},
         "op 5 of a shard of mine, behind 'weight', is square of 4 : f32[2, 3] on the chief, and relu of 4 : f32[2, 3] "
         "on process 2"},
        {{.rate = 0.5}, "of the update of mine"},
        /* Weights that a program has read from another file: no processor is blamed. */
        {{.weight = 0.25f}, "the values of the variable 'weight' is "},
    };
    assert_each_differs(step, &all, differences, sizeof differences / sizeof *differences);
}

static void test_attributes_and_constants(void **state)
{
    (void)state;
    const recipe all = {.batch_size = BATCH,
                        .microbatch = 2,
                        .units = 3,
                        .steps = 2,
                        .weight = 0.5f,
                        .rate = 0.25,
                        .high = 6,
                        .constant = 0.5};
    const difference differences[] = {
        {{.high = 4},
         "'high' of op 5 (clip) of a shard of mine, behind 'weight', is 6.0 on the chief, and 4.0 on process 2"},
        {{.constant = 0.25}, "the value of op 6 (constant) of a shard of mine is 0.5 ("},
    };
    assert_each_differs(step, &all, differences, sizeof differences / sizeof *differences);
}

/* ---- an estimator ---- */

typedef struct estimated {
    liana_model *model;
    const recipe *own;
} estimated;

static liana_estimator_spec model_fn(const liana_features *features, const liana_features *labels,
                                     const liana_estimator_mode *mode, void *params)
{
    const estimated *made = params;
    liana_tensor image = liana_feature(features, "image"), output;
    liana_model_call(made->model, &image, 1, &mode->call, &output, NULL);
    if (mode->kind != LIANA_MODE_TRAIN && made->own->high > 0) output = liana_op_clip(output, 0, made->own->high);
    liana_estimator_spec spec = {.predictions = {{"probabilities", output}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    spec.loss = liana_loss_of(output, liana_feature(labels, "label"), NULL);
    spec.optimizer.optimizer = "SGD";
    return spec;
}

/* Trains a step, and evaluates `data`. */
static liana_status estimate(liana_context *context, const recipe *own)
{
    estimated made = {make_model(context, own), own};
    liana_dataset *training = NULL, *measured = NULL;
    liana_estimator *estimator = NULL;
    const liana_estimator_options options = {.model_fn = model_fn,
                                             .params = &made,
                                             .config = {.model_dir = estimator_folder,
                                                        .batch_size = 16,
                                                        .microbatch = 4,
                                                        .strategy = {.name = "multi_worker"}}};
    liana_results results;
    liana_status status = made.model ? liana_dataset_open(context, images[0], NULL, &training) : LIANA_INTERNAL;
    if (status == LIANA_OK) status = liana_dataset_open(context, own->data, NULL, &measured);
    if (status == LIANA_OK) status = liana_estimator_create(context, &options, &estimator);
    if (status == LIANA_OK) {
        status = liana_estimator_train(estimator, &(liana_train_spec){.input.dataset = training, .steps = 1}, NULL);
    }
    if (status == LIANA_OK) {
        status = liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = measured, .steps = own->steps},
                                          &results);
    }
    liana_estimator_destroy(estimator);
    liana_dataset_close(training);
    liana_dataset_close(measured);
    liana_model_destroy(made.model);
    return status;
}

static void test_estimators(void **state)
{
    (void)state;
    const recipe all = {.units = 8, .data = images[0], .high = 0.75};
    const difference differences[] = {
        {{.steps = 2}, "steps is 0 on the chief, and 2 on process 2"},
        {{.high = 0.5}, "'high' of op "},
        {{.data = images[1]}, "the data.files[train-images].contents is "},
    };
    assert_each_differs(estimate, &all, differences, sizeof differences / sizeof *differences);
}

static int make_data(void **state)
{
    (void)state;
    char *data, name[64];
    size_t size;
    liana__error error = {0};
    liana__test_folder();
    liana__test_tiny_data("train", COUNT, 1);
    snprintf(estimator_folder, sizeof estimator_folder, "%s", liana__test_path("estimator"));
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
            /* Of the same size and of the same tick of the clock, they would be taken for one file. */
            const struct timespec times[2] = {{1700000000 + i, 0}, {1700000000 + i, 0}};
            assert_int_equal(utimensat(AT_FDCWD, liana__test_path(name), times, 0), 0);
        }
        snprintf(name, sizeof name, "machine%d/train-images", i);
        snprintf(images[i], sizeof images[i], "%s", liana__test_path(name));
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),        cmocka_unit_test(test_evaluations),
        cmocka_unit_test(test_predictions), cmocka_unit_test(test_batches),
        cmocka_unit_test(test_steps),       cmocka_unit_test(test_attributes_and_constants),
        cmocka_unit_test(test_estimators),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
