/* One update, or one batch of an evaluation, as a strategy computes it. */
#include "train/core/trainer_internal.h"

#include "batch/cut.h"
#include "layers/model_place.h"
#include "train/core/penalty.h"
#include "train/spans/span_job.h"

#include <stdlib.h>
#include <string.h>

/* Builders leave their message in the context. */
liana_status liana__trainer_take_error(const liana__trainer *trainer, liana_status status, liana__error *error)
{
    if (status != LIANA_OK && error && error != &trainer->device->context->error) {
        *error = trainer->device->context->error;
    }
    return status;
}

/* ---- setting up ---- */

void liana__trainer_destroy(liana__trainer *trainer)
{
    if (!trainer) return;
    if (trainer->instance) trainer->strategy->functions->destroy(trainer->instance);
    liana__trainer_update_free(&trainer->update);
    liana__program_destroy(trainer->penalty);
    liana__leaf_sums_free(&trainer->sums);
    free(trainer->first_sum);
    free(trainer->penalties);
    free(trainer->no_targets);
    free(trainer->no_weights);
    free(trainer->counts);
    free(trainer->scales);
    liana__leaf_list_free(&trainer->leaves);
    free(trainer);
}

static liana_status build_training(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    liana_context *context = own->device->context;
    liana_status status = liana__build_training_leaf(context, &own->options, size, masked, &own->sums, graph);
    return liana__trainer_take_error(own, status, error);
}

static liana_status build_evaluation(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    liana_status status = liana__build_evaluation_leaf(own->device->context, &own->options, size, masked, graph);
    return liana__trainer_take_error(own, status, error);
}

static liana_status build_counting(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    liana_status status = liana__build_counting_leaf(own->device->context, &own->options, size, masked, graph);
    return liana__trainer_take_error(own, status, error);
}

liana_status liana__trainer_prepare_update(liana__trainer *own, liana__error *error)
{
    return liana__trainer_update_prepare(&own->update, own->device->context, &own->options, &own->sums, error);
}

liana_status liana__trainer_update_graph(void *user, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    *graph = NULL;
    const liana__leaf_function *function = own->options.function;
    if (function && function->build_update) return function->build_update(function->user, graph, error);
    LIANA_TRY(liana__trainer_prepare_update(own, error));
    return liana__trainer_take_error(own, liana__trainer_update_build(&own->update, LIANA__WHOLE_UPDATE, graph), error);
}

static liana_status build_sums(void *user, size_t round, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    *graph = NULL;
    LIANA_TRY(liana__trainer_prepare_update(own, error));
    const liana_status status = liana__trainer_update_build_sums(&own->update, LIANA__WHOLE_UPDATE, round, graph);
    return liana__trainer_take_error(own, status, error);
}

static liana_status cut_update(void *user, size_t num_slices, liana__error *error)
{
    liana__trainer *own = user;
    LIANA_TRY(liana__trainer_prepare_update(own, error));
    return liana__trainer_update_cut(&own->update, num_slices, error);
}

static liana_status build_slice(void *user, size_t slice, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    return liana__trainer_take_error(own, liana__trainer_update_build(&own->update, slice, graph), error);
}

static liana_status build_slice_sums(void *user, size_t slice, size_t round, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    return liana__trainer_take_error(own, liana__trainer_update_build_sums(&own->update, slice, round, graph), error);
}

static size_t first_finished(void *user, size_t slice, size_t round)
{
    liana__trainer *own = user;
    return liana__trainer_update_first_finished(&own->update, slice, round);
}

static const liana__update_slicing slicing = {cut_update, build_slice, build_slice_sums, first_finished};

static liana_status finish_sums(void *user, size_t round, const float *chunk_sums, float *scalars,
                                const float **finished, liana__error *error)
{
    (void)error;
    liana__trainer *own = user;
    *finished = liana__trainer_update_finish(&own->update, round, chunk_sums, scalars);
    return LIANA_OK;
}

liana_status liana__trainer_build_leaf(liana__trainer *trainer, int64_t size, liana_graph **graph, liana__error *error)
{
    return build_training(trainer, size, false, graph, error);
}

liana_status liana__trainer_build_masked_leaf(liana__trainer *trainer, int64_t size, liana_graph **graph,
                                              liana__error *error)
{
    return build_training(trainer, size, true, graph, error);
}

liana_status liana__trainer_build_evaluation(liana__trainer *trainer, int64_t size, liana_graph **graph,
                                             liana__error *error)
{
    return build_evaluation(trainer, size, false, graph, error);
}

liana_status liana__trainer_build_update(liana__trainer *trainer, liana_graph **graph, liana__error *error)
{
    return liana__trainer_update_graph(trainer, graph, error);
}

/* The leaf's sum that the update reads under a weight's name. */
size_t liana__trainer_find_sum(void *user, const char *input)
{
    const liana__trainer *own = user;
    const liana__leaf_function *function = own->options.function;
    if (function && function->build_update) return function->find_sum(function->user, input);
    size_t weight = (size_t)liana__model_find_weight(own->options.model, input), sum = 0;
    while (own->sums.weights[sum] != weight) sum++;
    return 1 + sum;
}

/* Sums that are no gradient are statistics of weights that no update trains. */
static bool is_gradient(void *user, size_t sum)
{
    const liana__trainer *own = user;
    return sum > 0 && liana__weight_trainable(own->options.model, own->sums.weights[sum - 1]);
}

liana_status liana__trainer_read_sum(liana__trainer *trainer, const char *input, void *data, liana__error *error)
{
    return trainer->strategy->functions->read_sum(trainer->instance, liana__trainer_find_sum(trainer, input), data,
                                                  error);
}

size_t liana__trainer_num_sum_rounds(const liana__trainer *trainer)
{
    const liana__trainer_options *options = &trainer->options;
    if (!options->optimizer || (options->function && options->function->build_update)) return 0;
    const liana__update_rule rule = liana__trainer_rule(options);
    return liana__rule_reads(&rule).num_rounds;
}

liana_status liana__trainer_build_sums(liana__trainer *trainer, size_t round, liana_graph **graph, liana__error *error)
{
    return build_sums(trainer, round, graph, error);
}

const float *liana__trainer_finish_sums(liana__trainer *trainer, size_t round, const float *chunk_sums,
                                        float *learning_rate)
{
    float scalars[LIANA__NUM_UPDATE_SCALARS] = {[LIANA__UPDATE_RATE] = *learning_rate};
    const float *finished = liana__trainer_update_finish(&trainer->update, round, chunk_sums, scalars);
    *learning_rate = scalars[LIANA__UPDATE_RATE];
    return finished;
}

/* The largest number of examples in a batch. */
static int64_t largest_batch(const liana__trainer *trainer, bool training)
{
    const liana__trainer_options *options = &trainer->options;
    return training || !options->evaluation_batch_size ? options->batch_size : options->evaluation_batch_size;
}

static int64_t most_examples(const liana__trainer *trainer)
{
    const int64_t trained = largest_batch(trainer, true), evaluated = largest_batch(trainer, false);
    return trained > evaluated ? trained : evaluated;
}

static liana__leaf_plan plan_leaves(liana__trainer *trainer, liana__step_kind kind)
{
    static const char *const names[LIANA__NUM_STEP_KINDS] = {"training", "evaluation", "counting"};
    int64_t largest = largest_batch(trainer, kind != LIANA__STEP_EVALUATION);
    liana__leaf_plan plan = {
        .name = names[kind],
        .build = kind == LIANA__STEP_TRAINING     ? build_training
                 : kind == LIANA__STEP_EVALUATION ? build_evaluation
                                                  : build_counting,
        .user = trainer,
        .num_components = trainer->num_names,
        .leaf_size = trainer->microbatch,
        .max_leaves = (size_t)liana__cut_batch(largest, trainer->microbatch).count,
        .gives_rows =
            kind == LIANA__STEP_EVALUATION && (!trainer->options.function || trainer->options.function->gives_rows),
        .variables = trainer->variables,
    };
    for (size_t i = 0; i < plan.num_components; i++) plan.components[i] = trainer->names[i].text;
    return plan;
}

bool liana__trainer_lend_whole_plan(liana__trainer *trainer, liana__leaf_plan *leaf, liana__whole_plan *plan)
{
    if (!trainer->whole.build_leaves) return false;
    *leaf = plan_leaves(trainer, LIANA__STEP_TRAINING);
    *plan = trainer->whole;
    plan->leaf = leaf;
    plan->variables = trainer->variables;
    return true;
}

static liana_status make_strategy(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    liana__leaf_plan leaves[LIANA__NUM_STEP_KINDS];
    for (int i = 0; i < LIANA__NUM_STEP_KINDS; i++) leaves[i] = plan_leaves(trainer, (liana__step_kind)i);
    liana__strategy_plan plan = {.leaves = {options->optimizer ? &leaves[LIANA__STEP_TRAINING] : NULL,
                                            &leaves[LIANA__STEP_EVALUATION],
                                            trainer->counts ? &leaves[LIANA__STEP_COUNTING] : NULL},
                                 .build_update = liana__trainer_update_graph,
                                 .build_sums = build_sums,
                                 .finish_sums = finish_sums,
                                 .find_sum = liana__trainer_find_sum,
                                 .is_gradient = is_gradient,
                                 .user = trainer,
                                 .num_scalars = LIANA__NUM_UPDATE_SCALARS,
                                 .variables = trainer->variables,
                                 .num_leaf_variables = options->model->num_weights};
    if (options->optimizer && !(options->function && options->function->build_update)) {
        const liana__update_rule rule = liana__trainer_rule(options);
        plan.num_sum_rounds = liana__rule_reads(&rule).num_rounds;
        plan.slicing = &slicing;
    }
    if (liana__trainer_plan_whole(trainer, plan.num_sum_rounds, &trainer->whole)) plan.whole = &trainer->whole;
    size_t count = 1 + options->num_more_devices;
    liana__device **devices = malloc(count * sizeof *devices);
    if (!devices) return liana__fail_memory(error, "the strategy");
    devices[0] = trainer->device;
    for (size_t i = 1; i < count; i++) devices[i] = options->more_devices[i - 1];
    const liana__strategy_devices given = {devices,          count,
                                           options->speeds,  options->groups,
                                           options->cluster, options->strategy_options};
    liana_status status = trainer->strategy->create(&given, &plan, &trainer->instance, error);
    free(devices);
    return status;
}

liana_status liana__trainer_name_layer(const liana__trainer *trainer, liana_status status, liana__error *error)
{
    if (status != LIANA_OK) liana__name_layer_at_place(trainer->options.model, error);
    return status;
}

static liana_status prepare(liana__trainer *trainer, int64_t count, bool training, liana__error *error)
{
    liana__leaf_batch batch = liana__leaf_list_whole(&trainer->leaves, count);
    if (training && trainer->counts) {
        LIANA_TRY(trainer->strategy->functions->prepare(trainer->instance, LIANA__STEP_COUNTING, &batch, error));
    }
    return trainer->strategy->functions->prepare(trainer->instance,
                                                 training ? LIANA__STEP_TRAINING : LIANA__STEP_EVALUATION, &batch,
                                                 error);
}

liana_status liana__trainer_prepare(liana__trainer *trainer, int64_t count, bool training, liana__error *error)
{
    return liana__trainer_name_layer(trainer, prepare(trainer, count, training, error), error);
}

static liana_status add_slot(liana__trainer *trainer, const liana__weight *weight, size_t slot, double begins_at,
                             liana__error *error)
{
    char name[512];
    float *values = NULL;
    const liana__strategy *strategy = trainer->strategy;
    liana__slot_name(&trainer->options, slot, weight->name, name, sizeof name);
    if (strategy->functions->hold) {
        return strategy->functions->hold(trainer->instance, name, LIANA_F32, &weight->shape, begins_at, error);
    }
    if (begins_at != 0) {
        int64_t count = liana_shape_size(&weight->shape);
        values = malloc((size_t)count * sizeof *values);
        if (!values) return liana__fail_memory(error, name);
        for (int64_t i = 0; i < count; i++) values[i] = (float)begins_at;
    }
    liana_status status = liana__variables_add(trainer->variables, name, LIANA_F32, &weight->shape, values, error);
    free(values);
    return status;
}

static liana_status add_slots(liana__trainer *trainer, liana__error *error)
{
    const liana_model *model = trainer->options.model;
    const liana__update_rule rule = liana__trainer_rule(&trainer->options);
    size_t num_slots = liana__rule_num_slots(&rule);
    for (size_t slot = 0; slot < num_slots; slot++) {
        double begins_at = liana__rule_slot_begins_at(&rule, slot);
        for (size_t i = 0; i < model->num_weights; i++) {
            if (!liana__weight_trainable(model, i)) continue;
            LIANA_TRY(add_slot(trainer, &model->weights[i], slot, begins_at, error));
        }
    }
    return LIANA_OK;
}

static liana_status add_function_variables(const liana__trainer *trainer, const liana__leaf_function *function,
                                           liana__error *error)
{
    const liana__strategy *strategy = trainer->strategy;
    for (size_t i = 0; i < function->num_update_variables; i++) {
        const liana__update_variable *one = &function->update_variables[i];
        LIANA_TRY(strategy->functions->hold
                      ? strategy->functions->hold(trainer->instance, one->name, one->dtype, &one->shape, 0, error)
                      : liana__variables_add(trainer->variables, one->name, one->dtype, &one->shape, NULL, error));
    }
    return LIANA_OK;
}

/* Those that only updates read. */
static liana_status add_update_variables(liana__trainer *trainer, liana__error *error)
{
    const liana__leaf_function *function = trainer->options.function;
    if (function && function->build_update) return add_function_variables(trainer, function, error);
    return add_slots(trainer, error);
}

static liana_status add_weights(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    const liana_model *model = options->model;
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        float *values = malloc(liana__byte_size(LIANA_F32, &weight->shape));
        if (!values) return liana__fail_memory(error, weight->name);
        liana__model_initialize(model, options->seed, i, values);
        liana_status status =
            liana__variables_add(trainer->variables, weight->name, LIANA_F32, &weight->shape, values, error);
        free(values);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

static liana_status check_inputs(const liana__trainer_options *options, liana__error *error)
{
    size_t count = liana__model_num_inputs(options->model);
    if (count > LIANA__MAX_INPUTS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "the model has %zu inputs, expected at most %d", count,
                           LIANA__MAX_INPUTS);
    }
    for (size_t i = 0; i < count; i++) {
        liana__model_port port = liana__model_input(options->model, i);
        if (!liana__trainer_input_of(options, i).is_image || port.shape.rank == 4) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model's input '%s' is %s, expected images: [batch, height, width, channels]", port.name,
                           liana__shape_print(&port.shape).text);
    }
    return LIANA_OK;
}

/* Patterns for weights that are frozen may be there: a later stage trains them. */
static liana_status check_multipliers(const liana__trainer_options *options, liana__error *error)
{
    const liana_model *model = options->model;
    const char **names = calloc(model->num_weights + 1, sizeof *names);
    if (!names) return liana__fail_memory(error, "the trainer");
    for (size_t i = 0; i < model->num_weights; i++) names[i] = model->weights[i].name;
    liana_status status = liana__rate_multipliers_check(options->rate_multipliers, names, model->num_weights, error);
    free(names);
    return status;
}

static liana_status check_model(const liana__trainer_options *options, liana__error *error)
{
    if (!options->function) LIANA_TRY(liana__model_check(options->model, error));
    LIANA_TRY(check_inputs(options, error));
    if (!options->optimizer) return LIANA_OK;
    bool learns = false;
    for (size_t i = 0; i < options->model->num_weights; i++) learns |= liana__weight_trainable(options->model, i);
    if (learns) return check_multipliers(options, error);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the model has no weight that training could change; check "
                       "'trainable' and 'trainable_from'");
}

/* What the losses of masked outputs are scaled by, for training. */
static liana_status make_scales(liana__trainer *trainer, liana__error *error)
{
    const liana__objective *objective = trainer->options.objective;
    if (!objective->num_masked || !trainer->options.optimizer) return LIANA_OK;
    trainer->counts = calloc(objective->num_masked, sizeof *trainer->counts);
    trainer->scales = calloc((size_t)trainer->options.batch_size * objective->num_outputs, sizeof *trainer->scales);
    return trainer->counts && trainer->scales ? LIANA_OK : liana__fail_memory(error, "the trainer");
}

/* What stands in for what a batch does not have. */
static liana_status make_stand_ins(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    size_t largest = 1;
    for (size_t i = 0; i < options->objective->num_outputs; i++) {
        const liana__objective_output *output = &options->objective->outputs[i];
        size_t size = liana__byte_size(output->target_dtype, &output->target_shape);
        if (size > largest) largest = size;
    }
    /* Of any batch: those of evaluations may be larger than those of updates. */
    const int64_t rows = most_examples(trainer);
    trainer->no_targets = calloc((size_t)rows, largest);
    trainer->first_sum = calloc(options->objective->num_sums, sizeof *trainer->first_sum);
    trainer->penalties = calloc((size_t)options->steps_per_execution + 1, sizeof *trainer->penalties);
    if (!trainer->no_targets || !trainer->first_sum || !trainer->penalties) {
        return liana__fail_memory(error, "the trainer");
    }
    LIANA_TRY(make_scales(trainer, error));
    if (options->weighted) {
        trainer->no_weights = malloc((size_t)rows * sizeof *trainer->no_weights);
        if (!trainer->no_weights) return liana__fail_memory(error, "the trainer");
        for (int64_t i = 0; i < rows; i++) trainer->no_weights[i] = 1;
    }
    for (size_t i = 0; i < trainer->num_names; i++) {
        const char *name = trainer->names[i].text;
        if (strncmp(name, "targets/", 8) == 0) trainer->stand_ins[i] = trainer->no_targets;
        if (strcmp(name, LIANA__WEIGHTS) == 0) trainer->stand_ins[i] = trainer->no_weights;
        if (strcmp(name, LIANA__SCALES) == 0) trainer->stand_ins[i] = trainer->scales;
    }
    return LIANA_OK;
}

static liana_status set_up(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    LIANA_TRY(check_model(options, error));
    trainer->num_names = liana__list_components(options, trainer->names);
    trainer->microbatch =
        options->microbatch ? options->microbatch : liana__default_microbatch(options->model, options->batch_size);
    if (trainer->microbatch > options->batch_size) trainer->microbatch = options->batch_size;
    const int64_t largest = most_examples(trainer);
    const struct liana__cluster *cluster = trainer->strategy->needs_cluster ? options->cluster : NULL;
    LIANA_TRY(liana__leaf_list_create(largest, trainer->microbatch, cluster, &trainer->leaves, error));
    LIANA_TRY(make_stand_ins(trainer, error));
    LIANA_TRY(liana__leaf_sums_create(options->model, &trainer->sums, error));
    LIANA_TRY(add_weights(trainer, error));
    LIANA_TRY(liana__penalty_create(trainer->device, options->model, trainer->variables, &trainer->penalty, error));
    LIANA_TRY(make_strategy(trainer, error));
    if (!options->optimizer) return LIANA_OK;
    LIANA_TRY(add_update_variables(trainer, error));
    return options->unprepared ? LIANA_OK : liana__trainer_prepare(trainer, options->batch_size, true, error);
}

liana_status liana__trainer_create(liana__device *device, const liana__trainer_options *options,
                                   liana__variables *variables, liana__trainer **out, liana__error *error)
{
    *out = NULL;
    liana__trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer) return liana__fail_memory(error, "the trainer");
    trainer->device = device;
    trainer->options = *options;
    trainer->strategy = options->strategy ? options->strategy : &liana__strategy_one_device;
    trainer->variables = variables;
    device->memory_limit = options->memory_limit;
    for (size_t i = 0; i < options->num_more_devices; i++) {
        options->more_devices[i]->memory_limit = options->memory_limit;
    }
    const liana_status status = liana__trainer_name_layer(trainer, set_up(trainer, error), error);
    if (status != LIANA_OK) {
        liana__trainer_destroy(trainer);
        return status;
    }
    *out = trainer;
    return LIANA_OK;
}

int64_t liana__trainer_num_classes(const liana__trainer *trainer)
{
    const liana__objective_output *output = &trainer->options.objective->outputs[0];
    return output->target == LIANA__TARGET_CLASSES ? output->shape.dims[output->shape.rank - 1] : 0;
}

int64_t liana__trainer_row_size(const liana__trainer *trainer)
{
    int64_t size = 0;
    const liana__objective *objective = trainer->options.objective;
    for (size_t i = 0; i < objective->num_outputs; i++) size += liana_shape_size(&objective->outputs[i].shape);
    return size;
}

struct liana__cluster *liana__trainer_cluster(const liana__trainer *trainer)
{
    return trainer->strategy->needs_cluster ? trainer->options.cluster : NULL;
}

const liana__trainer_options *liana__trainer_options_of(const liana__trainer *trainer)
{
    return &trainer->options;
}

double liana__trainer_learning_rate(const liana__trainer *trainer)
{
    return trainer->update.learning_rate;
}

const void *liana__trainer_targets(const liana__trainer *trainer, const liana__batch *batch, size_t output)
{
    return liana__batch_rows_of(batch, liana__target_component(trainer->options.objective, output).text);
}

const liana__objective *liana__trainer_objective(const liana__trainer *trainer)
{
    return trainer->options.objective;
}

const liana__update_items *liana__trainer_update_items(const liana__trainer *trainer)
{
    return trainer->update.items.num_items ? &trainer->update.items : NULL;
}

int64_t liana__trainer_microbatch(const liana__trainer *trainer)
{
    return trainer->microbatch;
}

liana__trainer_memory liana__trainer_memory_of(const liana__trainer *trainer)
{
    liana__replica_memory needed;
    liana__trainer *own = (liana__trainer *)(uintptr_t)trainer;
    liana__leaf_batch batch = liana__leaf_list_whole(&own->leaves, trainer->options.batch_size);
    trainer->strategy->functions->memory(trainer->instance, LIANA__STEP_TRAINING, &batch, &needed);
    size_t held = atomic_load(&trainer->device->bytes_held);
    return (liana__trainer_memory){.bytes = held + needed.workspace,
                                   .bytes_before = held + needed.workspace_before,
                                   .num_segments = needed.num_segments,
                                   .flops_again = needed.flops,
                                   .flops_before = needed.flops_before};
}

int64_t liana__default_microbatch(const liana_model *model, int64_t batch_size)
{
    bool has_images = false;
    for (size_t i = 0; i < model->num_weights; i++) has_images |= model->weights[i].shape.rank == 4;
    int64_t size;
    if (has_images) {
        liana_shape input = liana__model_input_shape(model);
        int64_t pixels = input.dims[1] * input.dims[2];
        size = pixels <= 64 * 64 ? 32 : pixels <= 320 * 320 ? 16 : 8;
    } else {
        size = batch_size / 8 > 64 ? batch_size / 8 : 64;
    }
    return size < batch_size ? size : batch_size;
}

/* ---- running ---- */

liana_status liana__trainer_check_batch(const liana__trainer *trainer, const liana__batch *batch, bool training,
                                        liana__error *error)
{
    int64_t largest = largest_batch(trainer, training), count = liana__batch_step_count(batch);
    if (count < 1 || count > largest || batch->count > largest || batch->num_positions > largest) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a batch of %lld examples, expected 1 to %lld",
                           (long long)count, (long long)largest);
    }
    if (batch->count == 0 || !training || !trainer->options.mixes) return LIANA_OK;
    const liana__objective *objective = trainer->options.objective;
    bool has_partners = liana__batch_rows_of(batch, LIANA__SHARES);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__component_name name = liana__partner_component(trainer->options.objective, i);
        has_partners = has_partners && (liana__batch_rows_of(batch, name.text) || !objective->outputs[i].choice.loss);
    }
    if (has_partners) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the trainer mixes, but a batch comes without partners");
}

/* Counts the elements of masked outputs, and sets the scales so that dividing by the number of examples, as the update
 * does, divides each of these losses by its own count. A loss of which nothing counts is 0. */
static liana_status scale_losses(liana__trainer *trainer, const liana__leaf_batch *leaves, const liana__batch *batch,
                                 liana__error *error)
{
    const int64_t count = liana__batch_step_count(batch);
    const liana__objective *objective = trainer->options.objective;
    LIANA_TRY(
        trainer->strategy->functions->sum(trainer->instance, LIANA__STEP_COUNTING, leaves, trainer->counts, error));
    size_t found = 0;
    for (size_t k = 0; k < objective->num_outputs; k++) {
        if (!objective->outputs[k].masked) continue;
        float counted = trainer->counts[found++], scale = counted > 0 ? (float)count / counted : 0;
        for (int64_t i = 0; i < batch->count; i++) trainer->scales[(size_t)i * objective->num_outputs + k] = scale;
    }
    return LIANA_OK;
}

liana__leaf_batch liana__trainer_leaves(liana__trainer *trainer, const liana__batch *batch)
{
    liana__leaf_batch leaves = liana__leaf_list_of(&trainer->leaves, batch);
    leaves.records = batch->records;
    for (size_t i = 0; i < trainer->num_names; i++) {
        const void *rows = liana__batch_rows_of(batch, trainer->names[i].text);
        leaves.rows[i] = rows ? rows : trainer->stand_ins[i];
    }
    return leaves;
}

const void *liana__trainer_rows(const liana__trainer *trainer, const liana__leaf_batch *leaves, const char *component)
{
    for (size_t i = 0; i < trainer->num_names; i++) {
        if (strcmp(trainer->names[i].text, component) == 0) return leaves->rows[i];
    }
    return NULL;
}

liana_status liana__trainer_begin_batch(liana__trainer *trainer, const liana__batch *batch, bool training,
                                        liana__leaf_batch *leaves, liana__error *error)
{
    LIANA_TRY(liana__trainer_check_batch(trainer, batch, training, error));
    *leaves = liana__trainer_leaves(trainer, batch);
    return training && trainer->counts ? scale_losses(trainer, leaves, batch, error) : LIANA_OK;
}

static liana_status sum_batch(liana__trainer *trainer, const liana__batch *batch, bool training, float *outputs,
                              size_t *num_leaves, liana__error *error)
{
    liana__leaf_batch leaves;
    LIANA_TRY(liana__trainer_begin_batch(trainer, batch, training, &leaves, error));
    leaves.outputs = outputs;
    leaves.watch = training ? trainer->sum_watch : NULL;
    *num_leaves = leaves.num_leaves;
    liana__step_kind kind = training ? LIANA__STEP_TRAINING : LIANA__STEP_EVALUATION;
    LIANA_TRY(trainer->strategy->functions->sum(trainer->instance, kind, &leaves, trainer->first_sum, error));
    if (!trainer->penalty) return LIANA_OK;
    float *penalty = &trainer->first_sum[trainer->options.objective->penalty_sum];
    return liana__penalty_add(trainer->penalty, liana__batch_step_count(batch), penalty, error);
}

void liana__trainer_watch_sums(liana__trainer *trainer, const liana__sum_watch *watch)
{
    trainer->sum_watch = watch;
}

void liana__trainer_record(const liana__trainer *trainer, liana__event_kind kind, uint64_t begin, int64_t number)
{
    const liana__device *device = trainer->device;
    liana__event event = {.begin = begin, .kind = kind, .number = (uint32_t)number};
    if (device->recorder) liana__recorder_add(device->recorder, device->num_tracks, event);
}

uint64_t liana__trainer_clock(const liana__trainer *trainer)
{
    return trainer->device->recorder ? liana__clock() : 0;
}

/* Whether a batch has no example left; then its sums are of nothing. */
static bool all_missing(liana__trainer *trainer, const liana__batch *batch)
{
    if (liana__batch_step_count(batch) > 0 || batch->num_positions == 0) return false;
    memset(trainer->first_sum, 0, trainer->options.objective->num_sums * sizeof *trainer->first_sum);
    return true;
}

/* An update that is measured or tried (a rate finder, a plan, a profile) takes all workers. */
static liana_status check_in_step(const liana__trainer *trainer, liana__error *error)
{
    const liana__strategy *strategy = trainer->strategy;
    const liana__trainer_options *options = &trainer->options;
    if (!liana__span_steps_of(strategy, options->strategy_options, options->cluster)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "all workers take part in an update that is measured or tried, so it cannot be asynchronous or "
                       "take the first gradients only: use synchronous updates of all workers for it");
}

liana__fault_check liana__trainer_check(const liana__trainer *trainer)
{
    return (liana__fault_check){trainer->strategy, trainer->instance, trainer->options.objective, trainer->first_sum,
                                trainer->update.learning_rate};
}

liana_status liana__trainer_step_by_parts(liana__trainer *trainer, const liana__batch *batch, const float *scalars,
                                          liana__error *error)
{
    size_t num_leaves;
    uint64_t begin = liana__trainer_clock(trainer);
    LIANA_TRY(sum_batch(trainer, batch, true, NULL, &num_leaves, error));
    liana__trainer_record(trainer, LIANA__EVENT_SHARDS, begin, (int64_t)num_leaves);
    begin = liana__trainer_clock(trainer);
    const liana__fault_check check = liana__trainer_check(trainer);
    LIANA_TRY(liana__fault_before_update(&check, &trainer->fault, error));
    LIANA_TRY(trainer->strategy->functions->update(trainer->instance, scalars, error));
    LIANA_TRY(liana__fault_after_update(&check, &trainer->fault, error));
    liana__trainer_record(trainer, LIANA__EVENT_UPDATE, begin, (int64_t)scalars[LIANA__UPDATE_ITERATION]);
    return LIANA_OK;
}

static liana_status step(liana__trainer *trainer, const liana__batch *batch, double learning_rate, int64_t iteration,
                         bool by_parts, liana__error *error)
{
    trainer->fault = (liana__fault){0};
    trainer->update.learning_rate = learning_rate;
    LIANA_TRY(check_in_step(trainer, error));
    if (all_missing(trainer, batch)) return LIANA_OK;
    const float scalars[LIANA__NUM_UPDATE_SCALARS] = {[LIANA__UPDATE_COUNT] = (float)liana__batch_step_count(batch),
                                                      [LIANA__UPDATE_RATE] = (float)learning_rate,
                                                      [LIANA__UPDATE_ITERATION] = (float)iteration};
    const bool whole = !by_parts && liana__trainer_whole(trainer);
    return (whole ? liana__trainer_step_as_a_whole : liana__trainer_step_by_parts)(trainer, batch, scalars, error);
}

liana_status liana__trainer_step(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                 int64_t iteration, const float **sums, liana__error *error)
{
    *sums = trainer->first_sum;
    return liana__trainer_name_layer(trainer, step(trainer, batch, learning_rate, iteration, false, error), error);
}

liana_status liana__trainer_step_with_sums(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                           int64_t iteration, liana__error *error)
{
    return liana__trainer_name_layer(trainer, step(trainer, batch, learning_rate, iteration, true, error), error);
}

const liana__fault *liana__trainer_fault(const liana__trainer *trainer)
{
    return &trainer->fault;
}

liana_status liana__trainer_evaluate(liana__trainer *trainer, const liana__batch *batch, float *outputs,
                                     const float **sums, liana__error *error)
{
    size_t num_leaves;
    *sums = trainer->first_sum;
    if (all_missing(trainer, batch)) return LIANA_OK;
    return liana__trainer_name_layer(trainer, sum_batch(trainer, batch, false, outputs, &num_leaves, error), error);
}
