/* doors.c - a small network trained by each door of the C interface, for the cases in cases/doors.sh:
 *
 *     doors on_batch [STRATEGY]
 *     doors fit [STRATEGY [MORE]]              MORE: stages, control, groups, resume, precision or weights
 *     doors estimator|own_update STRATEGY UPDATES
 *     doors step|many [STRATEGY]
 *     doors replicas [STRATEGY]
 *
 * Weights are saved as `out`, and in the checkpoints of `checkpoints` and `model_dir`; results are printed with
 * all digits. base/doors.c is the same for the interface that liana had before each door led to one engine. */
#define LIANA_STICKY_ERRORS
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 200, BATCH = 20, MICROBATCH = 4, WIDTH = 6, CLASSES = 3, WEIGHTS = 16 };

static const liana_component COMPONENTS[] = {{"x", LIANA_F32, {1, {WIDTH}}},
                                             {"label", LIANA_S32, {0}},
                                             {"weight", LIANA_F32, {0}},
                                             {"counts", LIANA_BOOL, {0}}};
enum { NUM_COMPONENTS = sizeof COMPONENTS / sizeof *COMPONENTS };

/* ---- the data ---- */

static void make_row(int64_t n, float x[WIDTH], int32_t *label, float *weight, bool *counts)
{
    float sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        x[i] = (float)((n * 31 + i * 17 + n * n * 7) % 101) / 50 - 1;
        sum += i % 2 ? x[i] : -x[i];
    }
    *label = sum < -0.5F ? 0 : sum < 0.5F ? 1 : 2;
    *weight = 0.5F + (float)(n % 4);
    *counts = n % 5 != 0;
}

static liana_status make_example(void *user, const liana_example_address *address, const liana_element *number,
                                 liana_element *example)
{
    (void)user, (void)address;
    make_row(*(const int64_t *)liana_element_array(number, "value").data, liana_element_output(example, "x"),
             liana_element_output(example, "label"), liana_element_output(example, "weight"),
             liana_element_output(example, "counts"));
    return LIANA_OK;
}

static liana_dataset *make_data(liana_context *context, int64_t first, int64_t count)
{
    return liana_dataset_map(liana_dataset_range(context, first, first + count, 1),
                             &(liana_map_options){.function = make_example,
                                                  .components = COMPONENTS,
                                                  .num_components = NUM_COMPONENTS});
}

typedef struct rows {
    float x[BATCH * WIDTH], weight[BATCH];
    int32_t label[BATCH];
    bool counts[BATCH];
} rows;

static void fill(rows *batch, int64_t number, liana_array arrays[NUM_COMPONENTS])
{
    for (int64_t i = 0; i < BATCH; i++) {
        make_row(number * BATCH + i, batch->x + i * WIDTH, batch->label + i, batch->weight + i, batch->counts + i);
    }
    arrays[0] = (liana_array){"x", LIANA_F32, liana_shape_of(BATCH, WIDTH), batch->x};
    arrays[1] = (liana_array){"label", LIANA_S32, liana_shape_of(BATCH), batch->label};
    arrays[2] = (liana_array){"weight", LIANA_F32, liana_shape_of(BATCH), batch->weight};
    arrays[3] = (liana_array){"counts", LIANA_BOOL, liana_shape_of(BATCH), batch->counts};
}

static liana_model *make_model(liana_context *context)
{
    liana_model *model = NULL;
    liana_model_create(context, "doors", &model);
    liana_input(model, .name = "x", .shape = LIANA_INTS(WIDTH));
    liana_dense(model, .units = 9, .activation = "tanh", .kernel_regularizer = "l2(l2=0.001)");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_dropout(model, .rate = 0.25);
    liana_dense(model, .units = CLASSES, .activation = "softmax", .name = "label");
    return model;
}

static void print_results(const char *what, const liana_results *results)
{
    printf("%s: loss %.17g", what, results->loss);
    for (size_t i = 0; i < results->num_metrics; i++)
        printf(", %s %.17g", results->metric_names[i], results->metrics[i]);
    printf("\n");
}

/* Each process of a cluster saves under a name of its own: RANKED (cases/doors.sh) says which one it is. */
static const char *own_name(const char *name)
{
    static char path[64];
    const char *rank = getenv("RANKED");
    snprintf(path, sizeof path, "%s%s", rank ? rank : "", name);
    return path;
}

static void on_note(void *user, const char *note)
{
    (void)user;
    printf("note: %s\n", note);
}

/* ---- fits and batches ---- */

static void run_on_batch(liana_context *context, liana_strategy strategy)
{
    static rows batch;
    static float outputs[BATCH * CLASSES];
    const double weights[] = {1, 2, 0.5};
    liana_array arrays[NUM_COMPONENTS];
    liana_results results;
    liana_model *model = make_model(context);
    liana_fit_options options = {.optimizer = "{name: Adam, learning_rate: {name: ExponentialDecay, "
                                              "initial_learning_rate: 0.02, decay_steps: 3}}",
                                 .metrics = {"accuracy"},
                                 .class_weights = weights,
                                 .num_class_weights = 3,
                                 .example_weight = "weight",
                                 .microbatch = MICROBATCH,
                                 .batch_size = BATCH,
                                 .strategy = strategy,
                                 .seed = 4};
    for (int64_t i = 0; i < 12; i++) {
        fill(&batch, i, arrays);
        liana_train_on_batch(model, &options, arrays, 3, &results);
        print_results("update", &results);
    }
    liana_test_on_batch(model, NULL, arrays, 2, &results);
    print_results("test", &results);
    liana_predict_on_batch(model, arrays, 1, outputs);
    for (int i = 0; i < 2 * CLASSES; i++) printf("%.9g%c", (double)outputs[i], i % CLASSES == 2 ? '\n' : ' ');
    liana_model_save(model, own_name("out"));
    liana_model_destroy(model);
}

static bool on_epoch(void *user, const liana_epoch *epoch)
{
    (void)user;
    print_results("epoch", &epoch->training);
    return true;
}

static void run_fit(liana_context *context, liana_strategy strategy, const char *more)
{
    const double weights[] = {1, 2, 0.5};
    liana_dataset *training = make_data(context, 0, COUNT), *validation = make_data(context, COUNT, 50);
    liana_model *model = make_model(context);
    liana_results results = {0};
    liana_fit_options options = {.training = training,
                                 .validation = validation,
                                 .epochs = 3,
                                 .batch_size = BATCH,
                                 .microbatch = MICROBATCH,
                                 .optimizer = "{name: SGD, momentum: 0.9, learning_rate: 0.05}",
                                 .metrics = {"accuracy"},
                                 .strategy = strategy,
                                 .seed = 4,
                                 .checkpoints = "checkpoints",
                                 .named_callbacks = "[ReduceLROnPlateau: {monitor: val_loss, patience: 0}]",
                                 .on_note = on_note,
                                 .on_epoch = on_epoch};
    if (strcmp(more, "stages") == 0)
        options.stages = "[{epochs: 1, trainable_from: label}, {epochs: 2, train_all: true}]";
    if (strcmp(more, "control") == 0)
        options.control = "{name: annealing, monitor: loss, every_steps: 3, energy: 0.001}";
    if (strcmp(more, "groups") == 0) options.steps_per_execution = 4;
    if (strcmp(more, "resume") == 0) options.resume = true, options.epochs = 5;
    if (strcmp(more, "precision") == 0) options.precision = LIANA_MIXED_BFLOAT16;
    if (strcmp(more, "weights") == 0) {
        options.class_weights = weights, options.num_class_weights = 3, options.example_weight = "weight";
    }
    liana_fit(model, &options);
    liana_evaluate(model, validation, &(liana_evaluate_options){.batch_size = 7, .strategy = strategy}, &results);
    print_results("evaluation", &results);
    liana_model_save(model, own_name("out"));
    liana_model_destroy(model);
    liana_dataset_close(validation);
    liana_dataset_close(training);
}

/* ---- estimators ---- */

static liana_tensor dense(liana_graph *graph, const char *name, liana_tensor x, int64_t units)
{
    liana_tensor w = liana_graph_variable(graph, name, LIANA_F32, liana_shape_of(liana_tensor_shape(x).dims[1], units));
    return liana_op_matmul(x, liana_graph_initializer(w, "glorot_uniform"), false, false);
}

static void apply_own(liana_update *update, void *user)
{
    (void)user;
    liana_tensor rate = liana_update_scalar(update, "learning_rate");
    for (size_t i = 0; i < update->num_variables; i++) {
        liana_tensor change = liana_op_multiply(rate, update->gradients[i]);
        liana_graph_assign(update->variables[i], liana_op_subtract(update->variables[i], change));
    }
}

static liana_estimator_spec model_fn(const liana_features *features, const liana_features *labels,
                                     const liana_estimator_mode *mode, void *user)
{
    liana_tensor x = liana_op_tanh(dense(features->graph, "hidden", liana_feature(features, "x"), 7));
    liana_tensor output = liana_op_softmax(dense(features->graph, "output", x, CLASSES));
    liana_estimator_spec spec = {.predictions = {{"probabilities", output}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    liana_tensor label = liana_feature(labels, "label");
    spec.loss = liana_loss_of(output, label, NULL);
    liana_tensor counts = liana_op_cast(liana_feature(features, "counts"), LIANA_F32);
    spec.loss_mask = liana_op_greater(counts, liana_graph_scalar(features->graph, LIANA_F32, 0));
    spec.metrics[0] = (liana_estimator_metric){.output = output, .target = label};
    spec.optimizer = (liana_optimizer_options){.optimizer = "{name: Adam, learning_rate: {name: CosineDecay, "
                                                            "initial_learning_rate: 0.03, decay_steps: 40}}"};
    if (*(const bool *)user) spec.update = apply_own;
    return spec;
}

static void run_estimator(liana_context *context, liana_strategy strategy, int64_t updates, bool own_update)
{
    static float probabilities[50 * CLASSES];
    liana_dataset *training = make_data(context, 0, COUNT), *test = make_data(context, COUNT, 50);
    liana_estimator *estimator = NULL;
    liana_results results = {0};
    liana_run_config config = {.model_dir = "model_dir",
                               .strategy = strategy,
                               .batch_size = BATCH,
                               .microbatch = MICROBATCH,
                               .save_checkpoints_steps = 6,
                               .keep_checkpoint_max = -1,
                               .log_step_count_steps = 0,
                               .on_note = on_note};
    liana_estimator_create(context, &(liana_estimator_options){model_fn, &own_update, .config = config}, &estimator);
    liana_train_spec train = {.input.dataset = training, .max_steps = updates};
    liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = test, .every_steps = 9});
    liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = test}, &results);
    print_results("evaluation", &results);
    printf("%d updates\n", (int)liana_estimator_global_step(estimator));
    liana_predict_spec predict = {.input.dataset = test,
                                  .predictions = {{"probabilities", probabilities, 50 * CLASSES}}};
    liana_estimator_predict(estimator, &predict);
    for (int i = 0; i < 6; i++) printf("%.9g%c", (double)probabilities[i], i % CLASSES == 2 ? '\n' : ' ');
    liana_estimator_destroy(estimator);
    liana_dataset_close(test);
    liana_dataset_close(training);
}

/* ---- steps ---- */

static void build_shard(liana_shard *shard, void *model)
{
    liana_tensor x = liana_shard_input(shard, "x"), label = liana_shard_input(shard, "label"), output, weights[WEIGHTS];
    liana_model_call(model, &x, 1, &shard->mode, &output, NULL);
    liana_tensor each = liana_op_multiply(liana_loss_of(output, label, NULL), liana_shard_input(shard, "weight"));
    each = liana_op_multiply(each, liana_op_cast(liana_shard_input(shard, "counts"), LIANA_F32));
    liana_tensor loss = liana_shard_sum(shard, "loss", each);
    liana_shard_gradients(shard, loss, weights, liana_model_variables(model, shard->graph, weights));
}

static void build_update(liana_update *update, void *model)
{
    liana_update_add_loss(update, liana_model_penalty(model, update->graph));
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "{name: Adam, clipvalue: 0.1}",
                                                     .rate = liana_update_scalar(update, "rate")});
}

static liana_status give_batch(void *user, int64_t step, liana_step_input *batch)
{
    fill(user, step, batch->arrays);
    return LIANA_OK;
}

static liana_status give_rate(void *user, int64_t update, liana_setting *scalars)
{
    (void)user;
    scalars[0] = (liana_setting){"rate", 0.05 / (double)(1 + update)};
    return LIANA_OK;
}

static void run_steps(liana_context *context, liana_strategy strategy, bool many)
{
    enum { STEPS = 20 };
    static rows batch;
    static liana_step_outcome outcomes[STEPS];
    liana_step_counts counts;
    liana_step *step = NULL;
    liana_model *model = make_model(context);
    liana_step_options options = {.shard = build_shard,
                                  .update = build_update,
                                  .user = model,
                                  .components = COMPONENTS,
                                  .num_components = NUM_COMPONENTS,
                                  .scalars = {"rate"},
                                  .batch_size = BATCH,
                                  .microbatch = MICROBATCH,
                                  .seed = 3,
                                  .on_note = on_note,
                                  .strategy = strategy};
    liana_step_create(context, &options, &step);
    liana_variables *variables = liana_step_variables(step);
    liana_model_to_variables(model, variables);
    liana_variables_initialize(variables, NULL);
    if (many) {
        const liana_step_input all = {.give_batch = give_batch,
                                      .num_steps = STEPS,
                                      .give_scalars = give_rate,
                                      .user = &batch,
                                      .outcomes = outcomes,
                                      .counts = &counts};
        liana_step_run(step, &all, NULL);
    }
    for (int64_t i = 0; i < STEPS && !many; i++) {
        liana_step_input given = {0};
        fill(&batch, i, given.arrays);
        give_rate(NULL, i, given.scalars);
        liana_step_run(step, &given, &outcomes[i].results);
    }
    for (int i = 0; i < STEPS; i++) printf("step %d: %.17g\n", i, liana_step_mean(&outcomes[i].results, "loss"));
    liana_variables_save(variables, own_name("out.safetensors"));
    liana_step_destroy(step);
    liana_model_destroy(model);
}

/* ---- programs on replicas ---- */

static void build_measure(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor x = liana_graph_tensor(graph, "x"),
                 w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(WIDTH, 1));
    liana_tensor y = liana_op_matmul(x, w, false, false);
    liana_graph_output(graph, "squares", liana_op_square(y));
}

static void build_assign(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(WIDTH, 1));
    liana_tensor mean = liana_graph_tensor(graph, "mean");
    liana_graph_assign(w, liana_op_subtract(w, liana_op_multiply(w, mean)));
}

static void run_replicas(liana_context *context, liana_strategy strategy)
{
    static const float FIRST[WIDTH] = {0.5F, -0.25F, 0.75F, 0.1F, -0.6F, 0.3F};
    static rows batch;
    liana_array arrays[NUM_COMPONENTS], mean;
    liana_replicas *replicas = NULL;
    liana_replica_program *measure = NULL, *change = NULL;
    liana_replicas_open(context, &(liana_replicas_options){.strategy = strategy}, &replicas);
    liana_variables_add(liana_replicas_variables(replicas), "w", LIANA_F32, liana_shape_of(WIDTH, 1), FIRST);
    liana_replica_program_create(replicas, &(liana_replica_program_options){.build = build_measure}, &measure);
    liana_replica_program_create(replicas, &(liana_replica_program_options){.build = build_assign}, &change);
    for (int64_t i = 0; i < 5; i++) {
        liana_per_replica *split = NULL, *values = NULL;
        fill(&batch, i, arrays);
        liana_per_replica_split(replicas, arrays, 1, MICROBATCH, &split);
        if (liana_replica_program_run(measure, &split, 1, &values) != LIANA_OK) return;
        if (liana_per_replica_reduce(values, "squares", LIANA_REDUCE_ROW_MEAN, &mean) != LIANA_OK) return;
        printf("mean %.9g\n", (double)*(const float *)mean.data);
        mean.name = "mean";
        liana_replica_program_update(change, &mean, 1);
        liana_per_replica_destroy(values);
        liana_per_replica_destroy(split);
    }
    liana_variables_save(liana_replicas_variables(replicas), own_name("out.safetensors"));
    liana_replica_program_destroy(change);
    liana_replica_program_destroy(measure);
    liana_replicas_close(replicas);
}

int main(int argc, char **argv)
{
    liana_context *context;
    const char *door = argc > 1 ? argv[1] : "", *last = argc > 3 ? argv[3] : "";
    liana_strategy strategy = {.name = argc > 2 && *argv[2] ? argv[2] : NULL};
    liana_context_create(&(liana_context_options){.sticky_errors = true}, &context);
    if (strcmp(door, "on_batch") == 0) run_on_batch(context, strategy);
    if (strcmp(door, "fit") == 0) run_fit(context, strategy, last);
    if (strcmp(door, "estimator") == 0) run_estimator(context, strategy, atoi(last), false);
    if (strcmp(door, "own_update") == 0) run_estimator(context, strategy, atoi(last), true);
    if (strcmp(door, "step") == 0) run_steps(context, strategy, false);
    if (strcmp(door, "many") == 0) run_steps(context, strategy, true);
    if (strcmp(door, "replicas") == 0) run_replicas(context, strategy);
    const liana_status status = liana_context_status(context);
    if (status != LIANA_OK) fprintf(stderr, "%s\n", liana_context_message(context));
    liana_context_destroy(context);
    return status != LIANA_OK;
}
