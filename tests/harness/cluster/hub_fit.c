/* Trainings over a hub. */
#include "harness/cluster/hub_fit.h"

#include "harness/command_run.h"
#include "harness/tiny_fit.h"
#include "harness/tiny_records.h"

#include "base/file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

char liana__hub_training[512], liana__hub_validation[512], liana__hub_odd[512], liana__hub_sampled[1600];

void liana__hub_make_data(void)
{
    liana__test_folder();
    liana__test_tiny_run(LIANA__HUB_COUNT);
    snprintf(liana__hub_training, sizeof liana__hub_training, "%s", liana__test_path("train-images"));
    snprintf(liana__hub_validation, sizeof liana__hub_validation, "%s", liana__test_path("validation-images"));
}

void liana__hub_make_odd_data(void)
{
    static const char no_image[] = "no image";
    enum { NUM_ODD = 12 };
    liana__test_odd odd[NUM_ODD];
    for (int i = 0; i < NUM_ODD; i++) {
        odd[i] = (liana__test_odd){.record = i < 8 ? 4 + i : 30 + 7 * (i - 8),
                                   .image = no_image,
                                   .image_size = sizeof no_image};
    }
    liana__test_tiny_records("odd.tfrecord", 5, 0, LIANA__HUB_COUNT, odd, NUM_ODD);
    liana__test_tiny_records("some.tfrecord", 5, 0, 50, NULL, 0);
    liana__test_tiny_records("more.tfrecord", 6, 0, 40, NULL, 0);
    snprintf(liana__hub_odd, sizeof liana__hub_odd, "%s", liana__test_path("odd.tfrecord"));
    int length = snprintf(liana__hub_sampled, sizeof liana__hub_sampled, "{sample_from: [{paths: %s, weight: 3}, ",
                          liana__test_path("some.tfrecord"));
    snprintf(liana__hub_sampled + length, sizeof liana__hub_sampled - (size_t)length, "%s]}",
             liana__test_path("more.tfrecord"));
}

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    liana__hub_result *own = user;
    if (own->num_epochs < LIANA__HUB_EPOCHS) own->epochs[own->num_epochs] = *epoch;
    own->num_epochs++;
    if (!own->cluster) return true;
    own->counters = own->cluster->counters;
    own->cluster->transport->counters(own->cluster->instance, &own->counters.transport);
    return true;
}

static liana_status train_begin(void *user, liana_fit_context *context)
{
    const char *broken = ((liana__hub_result *)user)->broken_folder;
    if (broken && liana_fit_info(context).is_chief) {
        /* A file is where the folder was: nothing can be saved any more. */
        assert_int_equal(liana__folder_remove(broken, NULL), LIANA_OK);
        fclose(fopen(broken, "w"));
    }
    ((liana__hub_result *)user)->num_replicas = liana_fit_info(context).num_replicas_in_sync;
    /* All have just found that they compute the same bits. */
    const liana__hub_result *own = user;
    if (own->doubts_mirrors) ((liana__cluster *)(uintptr_t)own->cluster)->computes_alike = false;
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

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

static liana_status fit(liana_context *context, const liana__hub_recipe *wanted, liana_strategy strategy,
                        liana__hub_result *own)
{
    liana_dataset *training = NULL, *validation = NULL;
    liana_model *model = build_model(context, wanted->is_wide ? 3000 : 70);
    if (!model) return liana_context_status(context);
    own->doubts_mirrors = wanted->doubts_mirrors;
    const liana_callback look = {.size = sizeof look, .train_begin = train_begin, .user = own};
    liana_status status = open_training(context, wanted->training ? wanted->training : liana__hub_training, &training);
    if (status == LIANA_OK && wanted->streams) {
        training = liana_dataset_filter(training, &(liana_filter_options){.function = keep_all});
    }
    if (status == LIANA_OK && wanted->counts) training = liana__count_made(training, &own->made);
    if (status == LIANA_OK && !training) status = liana_context_status(context);
    if (status == LIANA_OK) {
        status = liana_dataset_open(context, liana__hub_validation, NULL, &validation);
    }
    liana_fit_options options = {.training = training,
                                 .validation = wanted->is_wide ? NULL : validation,
                                 .epochs = wanted->epochs ? wanted->epochs : 2,
                                 .steps = wanted->steps,
                                 .on_bad_numbers = wanted->on_bad_numbers,
                                 .bad_numbers_factor = wanted->on_bad_numbers ? 1e-12 : 0,
                                 .batch_size = wanted->batch_size ? wanted->batch_size : LIANA__HUB_BATCH,
                                 .microbatch = wanted->microbatch ? wanted->microbatch : LIANA__HUB_MICROBATCH,
                                 .optimizer = wanted->optimizer,
                                 .device = wanted->device,
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

static void build_shard(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor x = liana_shard_input(shard, "x"), y = liana_shard_input(shard, "y");
    liana_tensor weight = liana_graph_variable(shard->graph, "weight", LIANA_F32, liana_shape_of(FEATURES, 1));
    liana_tensor error = liana_op_subtract(liana_op_matmul(x, weight, false, false), y);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_op_square(error));
    liana_shard_gradients(shard, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "Adam", .rate = liana_update_scalar(update, "rate")});
}

/* The losses of the steps, and the weights they end with. */
static liana_status run_steps(liana_context *context, liana_strategy strategy, liana__hub_result *own)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {FEATURES}}},
                                                 {.name = "y", .dtype = LIANA_F32, .shape = {1, {1}}}};
    float x[STEP_BATCH * FEATURES], y[STEP_BATCH];
    liana_step *step = NULL;
    for (int i = 0; i < STEP_BATCH * FEATURES; i++) x[i] = (float)((i * 37) % 101) / 50 - 1;
    for (int i = 0; i < STEP_BATCH; i++) y[i] = (float)((i * 13) % 17) / 8;
    liana_step_options options = {.shard = build_shard,
                                  .update = build_update,
                                  .components = components,
                                  .num_components = 2,
                                  .scalars = {"rate"},
                                  .batch_size = STEP_BATCH,
                                  .microbatch = 4,
                                  .strategy = strategy};
    liana_status status = liana_step_create(context, &options, &step);
    liana_variables *variables = liana_step_variables(step);
    const float zeros[FEATURES] = {0};
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", zeros, sizeof zeros);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    own->num_replicas = liana_step_info(step).num_replicas_in_sync;
    for (int64_t i = 0; status == LIANA_OK && i < STEPS; i++) {
        const int64_t count = i == STEPS - 1 ? STEP_BATCH - 5 : STEP_BATCH;
        liana_step_results results;
        status = liana_step_run(step,
                                &(liana_step_input){.arrays = {{"x", LIANA_F32, liana_shape_of(count, FEATURES), x},
                                                               {"y", LIANA_F32, liana_shape_of(count, 1), y}},
                                                    .scalars = {{"rate", 0.1}}},
                                &results);
        own->epochs[i].training.loss = liana_step_mean(&results, "loss");
    }
    own->size = FEATURES * sizeof(float);
    own->weights = calloc(1, own->size);
    if (status == LIANA_OK) status = liana_variables_read(variables, "weight", own->weights, own->size);
    liana_step_destroy(step);
    return status;
}

/* ---- batches that the caller gives ---- */

static liana_status run_batches(liana_context *context, const liana__hub_recipe *wanted, liana_strategy strategy,
                                liana__hub_result *own)
{
    enum { SIZE = LIANA__TINY_SIZE * LIANA__TINY_SIZE };
    static const liana_shape images = {4, {STEP_BATCH, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1}};
    uint8_t pixels[STEP_BATCH * SIZE];
    int32_t labels[STEP_BATCH];
    liana_model *model = build_model(context, 70);
    if (!model) return liana_context_status(context);
    const liana_fit_options options = {.optimizer = wanted->optimizer,
                                       .microbatch = LIANA__HUB_MICROBATCH,
                                       .checkpoints = wanted->checkpoints,
                                       .strategy = strategy,
                                       .seed = 3};
    liana_status status = LIANA_OK;
    for (uint32_t step = 0; status == LIANA_OK && step < STEPS; step++) {
        for (uint32_t i = 0; i < STEP_BATCH; i++) {
            labels[i] = liana__test_tiny_image(5, step * STEP_BATCH + i, pixels + i * SIZE);
        }
        const liana_array arrays[] = {{"image", LIANA_U8, images, pixels},
                                      {"label", LIANA_S32, liana_shape_of(STEP_BATCH), labels}};
        status = liana_train_on_batch(model, &options, arrays, 2, NULL);
    }
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &own->weights, &own->size);
    liana_model_destroy(model);
    return status;
}

/* ---- an estimator ---- */

typedef struct estimated {
    liana_model *model;
    const char *optimizer;
    liana__hub_result *result;
} estimated;

static liana_estimator_spec model_fn(const liana_features *features, const liana_features *labels,
                                     const liana_estimator_mode *mode, void *params)
{
    const estimated *own = params;
    liana_tensor image = liana_feature(features, "image"), output;
    liana_model_call(own->model, &image, 1, &mode->call, &output, NULL);
    liana_estimator_spec spec = {.predictions = {{"probabilities", output}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    const liana_tensor label = liana_feature(labels, "label");
    spec.loss = liana_loss_of(output, label, NULL);
    spec.metrics[0] = (liana_estimator_metric){.output = output, .target = label};
    spec.optimizer.optimizer = own->optimizer;
    return spec;
}

static void keep_evaluation(void *user, int64_t step, const liana_results *results)
{
    liana__hub_result *own = user;
    (void)step;
    if (own->num_epochs < LIANA__HUB_EPOCHS) own->epochs[own->num_epochs].validation.loss = results->loss;
    own->num_epochs++;
}

/* Behind the weights: its predictions. */
static liana_status keep_predictions(liana_estimator *estimator, const liana_dataset *validation,
                                     liana__hub_result *own)
{
    enum { VALUES = LIANA__HUB_COUNT / 2 * LIANA__TINY_CLASSES };
    char *more = realloc(own->weights, own->size + VALUES * sizeof(float));
    assert_non_null(more);
    own->weights = more;
    float *values = calloc(VALUES, sizeof *values);
    assert_non_null(values);
    const liana_status status =
        liana_estimator_predict(estimator, &(liana_predict_spec){.input.dataset = validation,
                                                                 .predictions = {{"probabilities", values, VALUES}}});
    memcpy(own->weights + own->size, values, VALUES * sizeof *values);
    own->size += VALUES * sizeof *values;
    free(values);
    return status;
}

static liana_status use_estimator(liana_estimator *estimator, const estimated *own, const liana__hub_recipe *wanted,
                                  const liana_dataset *training, const liana_dataset *validation)
{
    liana__hub_result *result = own->result;
    const liana_train_spec train = {.input.dataset = training, .epochs = wanted->epochs};
    const liana_eval_spec eval = {.input.dataset = validation,
                                  .on_evaluation = keep_evaluation,
                                  .user = result,
                                  .every_steps = 2};
    liana_results results;
    liana_status status = liana_estimator_train(estimator, &train, &eval);
    if (status == LIANA_OK) status = liana_estimator_evaluate(estimator, &eval, &results);
    if (status == LIANA_OK) keep_evaluation(result, 0, &results);
    const liana_variables *variables = status == LIANA_OK ? liana_estimator_variables(estimator) : NULL;
    if (!variables) return status == LIANA_OK ? LIANA_INTERNAL : status;
    status = liana_model_from_variables(own->model, variables);
    if (status == LIANA_OK) status = liana__tiny_keep_weights(own->model, &result->weights, &result->size);
    return status == LIANA_OK ? keep_predictions(estimator, validation, result) : status;
}

static liana_status run_estimator(liana_context *context, const liana__hub_recipe *wanted, liana_strategy strategy,
                                  const char *folder, liana__hub_result *result)
{
    estimated own = {build_model(context, 70), wanted->optimizer, result};
    liana_dataset *training = NULL, *validation = NULL;
    liana_estimator *estimator = NULL;
    const liana_estimator_options options = {.model_fn = model_fn,
                                             .params = &own,
                                             .config = {.model_dir = folder,
                                                        .batch_size = LIANA__HUB_BATCH,
                                                        .microbatch = LIANA__HUB_MICROBATCH,
                                                        .strategy = strategy,
                                                        .seed = 3}};
    liana_status status = own.model ? LIANA_OK : liana_context_status(context);
    if (status == LIANA_OK) status = liana_dataset_open(context, liana__hub_training, NULL, &training);
    if (status == LIANA_OK) status = liana_dataset_open(context, liana__hub_validation, NULL, &validation);
    if (status == LIANA_OK) status = liana_estimator_create(context, &options, &estimator);
    if (status == LIANA_OK) status = use_estimator(estimator, &own, wanted, training, validation);
    liana_estimator_destroy(estimator);
    liana_dataset_close(training);
    liana_dataset_close(validation);
    liana_model_destroy(own.model);
    return status;
}

/* ---- processes ---- */

typedef struct process {
    liana__hub *hub; /* NULL: alone */
    size_t rank;
    const liana__hub_recipe *wanted;
    liana_strategy strategy;
    int num_threads;
    const char *folder; /* for checkpoints of an estimator: all reach it */
    liana__hub_result *result;
} process;

static liana_status lead(void *user, bool takes_over, liana__error *error)
{
    (void)user;
    (void)takes_over;
    (void)error;
    return LIANA_OK;
}

static void *run_process(void *user)
{
    process *own = user;
    liana__hub_result *got = own->result;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    if (own->wanted->breaks_folder) got->broken_folder = own->wanted->checkpoints;
    got->status = liana_context_create(&(liana_context_options){.num_threads = own->num_threads}, &context);
    if (got->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->cluster = &cluster;
        if (own->wanted->takes_over) liana__cluster_set_hooks(&cluster, &(liana__cluster_hooks){.lead = lead});
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK && own->wanted->is_step) {
        got->status = run_steps(context, own->strategy, got);
    } else if (got->status == LIANA_OK && own->wanted->is_batches) {
        got->status = run_batches(context, own->wanted, own->strategy, got);
    } else if (got->status == LIANA_OK && own->wanted->is_estimator) {
        got->status =
            run_estimator(context, own->wanted, own->strategy, own->wanted->lacks_folder ? NULL : own->folder, got);
    } else if (got->status == LIANA_OK) {
        got->status = fit(context, own->wanted, own->strategy, got);
    }
    if (got->status != LIANA_OK) snprintf(got->message, sizeof got->message, "%s", liana_context_message(context));
    got->cluster_changed = own->hub && liana__cluster_has_changed(&cluster);
    if (own->hub) liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

/* Of one run. In a static buffer. */
static const char *new_folder(void)
{
    static char path[600];
    static int number;
    char name[32];
    snprintf(name, sizeof name, "estimated%d", number++);
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    return path;
}

liana__hub_result liana__hub_fit_alone(const liana__hub_recipe *wanted)
{
    liana__hub_result got = {0};
    run_process(&(process){.wanted = wanted, .num_threads = 1, .folder = new_folder(), .result = &got});
    if (got.status != LIANA_OK) print_error("alone: %s\n", got.message);
    assert_int_equal(got.status, LIANA_OK);
    return got;
}

/* `hub` NULL: this process alone. */
static size_t fit_all(liana__hub *hub, const liana__hub_recipe *wanted, const liana__hub_layout *layout,
                      liana__hub_result *results)
{
    pthread_t threads[LIANA__HUB_PROCESSES];
    process processes[LIANA__HUB_PROCESSES];
    const size_t count = hub ? layout->num_workers + layout->num_servers : 1;
    const char *folder = new_folder();
    for (size_t i = 0; i < count; i++) {
        results[i] = (liana__hub_result){0};
        processes[i] = (process){hub, i, wanted, layout->strategy, layout->num_threads, folder, &results[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return count;
}

static liana__hub_layout layout_of(size_t num_workers, size_t num_servers)
{
    return (
        liana__hub_layout){{.name = num_servers ? "parameter_server" : "multi_worker"}, num_workers, num_servers, 1};
}

void liana__hub_fit_over(liana__hub *hub, const liana__hub_recipe *wanted, size_t num_workers, size_t num_servers,
                         liana__hub_result *results)
{
    const liana__hub_layout layout = layout_of(num_workers, num_servers);
    fit_all(hub, wanted, &layout, results);
}

size_t liana__hub_fit_as(const liana__hub_recipe *wanted, const liana__hub_layout *layout, liana__hub_result *results)
{
    if (!layout->num_workers) return fit_all(NULL, wanted, layout, results);
    liana__hub *hub = liana__hub_create(layout->num_workers, layout->num_servers);
    assert_non_null(hub);
    const size_t count = fit_all(hub, wanted, layout, results);
    assert_int_equal(liana__hub_num_kept(hub), 0);
    liana__hub_destroy(hub);
    return count;
}

void liana__hub_fit(const liana__hub_recipe *wanted, size_t num_workers, size_t num_servers, liana__hub_result *results)
{
    const liana__hub_layout layout = layout_of(num_workers, num_servers);
    liana__hub_fit_as(wanted, &layout, results);
}

void liana__hub_free_results(liana__hub_result *results, size_t count)
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

void liana__hub_assert_same(const liana__hub_result *a, const liana__hub_result *b)
{
    if (b->status != LIANA_OK) print_error("%s\n", b->message);
    assert_int_equal(b->status, LIANA_OK);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->weights, b->weights, a->size);
    assert_int_equal(a->num_epochs, b->num_epochs);
    for (size_t i = 0; i < a->num_epochs && i < LIANA__HUB_EPOCHS; i++) assert_same_epoch(&a->epochs[i], &b->epochs[i]);
}

/* All processes end with the bits of one that is alone. */
void liana__hub_assert_same_on(const liana__hub_recipe *wanted, size_t num_workers, size_t num_servers)
{
    liana__hub_result results[LIANA__HUB_PROCESSES], alone = liana__hub_fit_alone(wanted);
    const size_t count = num_workers + num_servers;
    liana__hub_fit(wanted, num_workers, num_servers, results);
    for (size_t i = 0; i < count; i++) {
        liana__hub_assert_same(&alone, &results[i]);
        assert_int_equal(results[i].num_replicas, num_workers);
    }
    liana__hub_free_results(results, count);
    free(alone.weights);
}
