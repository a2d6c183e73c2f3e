/* A model with its losses and metrics, or a model function, as a step. */
#include "train/objective/trainer.h"

#include "backends/host.h"
#include "base/context.h"
#include "base/scoped.h"
#include "distribute/strategies/strategies.h"
#include "layers/model_place.h"
#include "train/objective/step_graphs.h"

#include <liana/layers/normalization.h>

#include <stdlib.h>
#include <string.h>

/* ---- the shard builder ---- */

static liana_status build_function(void *user, liana__step_kind kind, const liana__shard_rows *rows,
                                   liana_graph **graph, liana__error *error)
{
    const liana__trainer *own = user;
    const liana__trained_function *function = own->options.function;
    return function->build(function->user, &own->options, kind, rows, graph, error);
}

/* The builder leaves its message in the context. */
static liana_status build_model(void *user, liana__step_kind kind, const liana__shard_rows *rows, liana_graph **graph,
                                liana__error *error)
{
    liana__trainer *own = user;
    liana_context *context = own->device->context;
    liana__shard_sums sums = {0};
    const liana_status status = liana__build_model_shard(context, &own->options, kind, rows, &sums, graph);
    const bool same =
        status != LIANA_OK || kind != LIANA__STEP_TRAINING || liana__shard_sums_keep(&sums, &own->arena, &own->sums);
    liana__shard_sums_free(&sums);
    if (status != LIANA_OK && error && error != &context->error) *error = context->error;
    if (own->arena.failed) return liana__fail_memory(error, "the trainer");
    return same ? status : liana__fail(error, LIANA_INTERNAL, "shards of two sizes have other sums");
}

static liana_status build_penalty(void *user, liana_graph **graph, liana__error *error)
{
    const liana__trainer *own = user;
    return liana__penalty_build(own->device->context, own->weights, own->num_weights, graph, error);
}

/* Sets the scales so that dividing by the number of examples, as the update does, divides each loss of a counted output
 * by its own count. A loss of which nothing counts is 0. */
static void take_counts(void *user, const liana__batch *batch, const float *counts)
{
    const liana__trainer *own = user;
    const int64_t count = liana__batch_step_count(batch);
    const liana__objective *objective = own->options.objective;
    size_t found = 0;
    for (size_t k = 0; k < objective->num_outputs; k++) {
        if (!objective->outputs[k].counted) continue;
        const bool is_sum = objective->outputs[k].choice.reduction == LIANA__REDUCE_SUM;
        const float counted = is_sum ? 1 : counts[found], scale = counted > 0 ? (float)count / counted : 0;
        found++;
        for (int64_t i = 0; i < batch->count; i++) own->scales[(size_t)i * objective->num_outputs + k] = scale;
    }
}

static bool find_fault(void *user, const float *sums, liana__fault *fault)
{
    return liana__find_bad_loss(((const liana__trainer *)user)->options.objective, sums, fault);
}

static liana_status check_partners(void *user, const liana__batch *batch, liana__error *error)
{
    const liana__objective *objective = ((const liana__trainer *)user)->options.objective;
    bool has_partners = liana__batch_rows_of(batch, LIANA__SHARES);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__component_name name = liana__partner_component(objective, i);
        has_partners = has_partners && (liana__batch_rows_of(batch, name.text) || !objective->outputs[i].choice.loss);
    }
    if (has_partners) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the trainer mixes, but a batch comes without partners");
}

static void name_layer(void *user, liana__error *error)
{
    const liana_model *model = ((const liana__trainer *)user)->options.model;
    if (model) liana__name_layer_at_place(model, error);
}

static void add_component(liana__trainer *trainer, liana__component_name name, const void *stand_in, bool of_record)
{
    trainer->shards.components[trainer->shards.num_components++] = (liana__step_component){name, stand_in, of_record};
}

static void list_components(liana__trainer *trainer)
{
    const liana__objective *objective = trainer->options.objective;
    for (size_t i = 0; i < trainer->num_inputs; i++) {
        add_component(trainer, liana__port_component(&trainer->inputs[i]), NULL, true);
    }
    for (size_t i = 0; i < objective->num_outputs; i++) {
        add_component(trainer, liana__target_component(objective, i), trainer->no_targets, true);
    }
    add_component(trainer, (liana__component_name){"positions"}, NULL, false);
    add_component(trainer, (liana__component_name){LIANA__WEIGHTS}, trainer->no_weights, true);
    add_component(trainer, (liana__component_name){LIANA__SHARES}, NULL, false);
    add_component(trainer, (liana__component_name){LIANA__SCALES}, trainer->scales, false);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        add_component(trainer, liana__partner_component(objective, i), NULL, false);
    }
}

static const liana__step_sums *sums_of(const liana__trainer *trainer)
{
    return trainer->options.function ? trainer->options.function->sums : &trainer->sums;
}

/* The layer whose training needs the whole batch, and what of it, as a message begins. */
static const char *find_whole_layer(const liana_model *model, liana__arena *arena)
{
    for (size_t i = 0; model && i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (liana__layer_infers(model, i)) continue;
        const char *what = liana__layer_whole_batch(layer->type, layer->options, layer->trainable);
        if (!what) continue;
        return liana__arena_format(arena, "layer '%s' (%s): its %s", layer->name, layer->type->part.name, what);
    }
    return NULL;
}

/* The states that evaluations change too. */
static liana_status list_kept(liana__trainer *trainer, liana__error *error)
{
    const liana_model *model = trainer->options.model;
    const liana__layer *keeper = liana__model_stateful_layer(model);
    liana__shard_builder *shards = &trainer->shards;
    if (!keeper) return LIANA_OK;
    liana__step_kept *kept = liana__arena_allocate(&trainer->arena, model->num_weights * sizeof *kept);
    if (!kept) return liana__fail_memory(error, "the trainer");
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        if (!weight->is_state) continue;
        kept[shards->num_kept++] =
            (liana__step_kept){weight->name, liana_shape_size(&weight->shape) / weight->shape.dims[0]};
    }
    shards->kept = kept;
    shards->keeper = keeper->name;
    shards->row_values = liana__trainer_row_size(trainer);
    return LIANA_OK;
}

static void make_shard_builder(liana__trainer *trainer)
{
    const liana__trainer_options *options = &trainer->options;
    const liana__objective *objective = options->objective;
    const liana__trained_function *function = options->function;
    trainer->shards = (liana__shard_builder){
        .build = function ? build_function : build_model,
        .builds = {options->optimizer != NULL, true, trainer->scales != NULL},
        .gives_rows = !function || function->gives_rows,
        .side_by_side = liana__shards_stand_side_by_side(options),
        .whole_batch = function ? NULL : find_whole_layer(options->model, &trainer->arena),
        .sums = sums_of(trainer),
        .num_sums = objective->num_sums,
        .num_losses = objective->num_outputs,
        .num_leaf_variables = trainer->num_weights,
        .num_counts = trainer->scales ? objective->num_counted : 0,
        .take_counts = take_counts,
        .build_penalty = liana__has_penalty(trainer->weights, trainer->num_weights) ? build_penalty : NULL,
        .penalty_sum = objective->penalty_sum,
        .find_fault = find_fault,
        .check_batch = options->mixes ? check_partners : NULL,
        .name_error = name_layer,
        .user = trainer,
    };
    list_components(trainer);
}

/* ---- the update builder ---- */

static bool has_own_update(const liana__trainer *trainer)
{
    return trainer->options.function && trainer->options.function->update;
}

liana__update_rule liana__trainer_rule(const liana__trainer_options *options)
{
    return (liana__update_rule){.optimizer = options->optimizer,
                                .options = options->optimizer_options,
                                .adapts_rate = options->adapted_rate != NULL};
}

static liana__updated_variable updated_weight(const liana_model *model, size_t weight)
{
    const liana__weight *item = &model->weights[weight];
    const bool is_regularized = liana__weight_is_regularized(model, weight);
    const bool begins_elsewhere = item->begins_as != LIANA__NO_WEIGHT;
    return (liana__updated_variable){.name = item->name,
                                     .shape = item->shape,
                                     .is_average = !liana__weight_trainable(model, weight),
                                     .regularizer = is_regularized ? &item->regularizer : NULL,
                                     .constraint = &item->constraint,
                                     .whole = begins_elsewhere || liana__weight_is_needed_whole(model, weight),
                                     .about = LIANA__NO_VARIABLE,
                                     .begins_as = begins_elsewhere ? model->weights[item->begins_as].name : NULL,
                                     .owner = item->layer,
                                     .owner_name = model->layers[item->layer].name};
}

liana_status liana__model_list_weights(const liana_model *model, liana__arena *arena,
                                       const liana__updated_variable **weights, liana__error *error)
{
    liana__updated_variable *made = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof *made);
    if (!made) return liana__fail_memory(error, "the weights");
    for (size_t i = 0; i < model->num_weights; i++) made[i] = updated_weight(model, i);
    *weights = made;
    return LIANA_OK;
}

static size_t find_weight(const liana__updated_variable *weights, size_t count, const char *name)
{
    size_t found = 0;
    while (found < count && strcmp(weights[found].name, name) != 0) found++;
    return found;
}

/* Their names, in the arena; NULL: out of memory. */
static const char **names_of(const liana__updated_variable *weights, size_t count, liana__arena *arena)
{
    const char **names = liana__arena_allocate(arena, (count + 1) * sizeof *names);
    for (size_t i = 0; names && i < count; i++) names[i] = weights[i].name;
    return names;
}

liana_status liana__list_updated(const liana__updated_variable *weights, size_t num_weights,
                                 const liana__update_rule *rule, const liana__step_sums *sums, liana__arena *arena,
                                 const liana__updated_variable **variables, size_t *count, liana__error *error)
{
    liana__updated_variable *made = liana__arena_allocate(arena, (num_weights + 1) * sizeof *made);
    size_t *places = liana__arena_allocate(arena, (num_weights + 1) * sizeof *places);
    const char **names = names_of(weights, num_weights, arena);
    if (!made || !places || !names) return liana__fail_memory(error, "the update");
    LIANA_TRY(liana__rule_check_names(rule, names, num_weights, error));
    *variables = made;
    *count = 0;
    for (size_t i = 0; i < num_weights; i++) {
        places[i] = *count;
        if (liana__step_sums_find(sums, weights[i].name)) made[(*count)++] = weights[i];
    }
    for (size_t i = 0; i < *count; i++) {
        const liana__step_sum *sum = liana__step_sums_find(sums, made[i].name);
        made[i].momentum = sum->momentum;
        if (sum->about) made[i].about = places[find_weight(weights, num_weights, sum->about)];
    }
    return LIANA_OK;
}

static liana_status list_updated(void *user, liana__arena *arena, const liana__updated_variable **variables,
                                 size_t *count, liana__error *error)
{
    const liana__trainer *own = user;
    const liana__update_rule rule = liana__trainer_rule(&own->options);
    return liana__list_updated(own->weights, own->num_weights, &rule, sums_of(own), arena, variables, count, error);
}

size_t liana__trainer_find_sum(const liana__trainer *own, const char *input)
{
    const liana__step_sums *sums = sums_of(own);
    return 1 + (size_t)(liana__step_sums_find(sums, input) - sums->items);
}

static size_t find_sum(void *user, const char *input)
{
    return liana__trainer_find_sum(user, input);
}

static liana_status make_update_builder(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    if (has_own_update(trainer)) {
        trainer->scalars = liana__arena_allocate(&trainer->arena, LIANA__NUM_UPDATE_SCALARS * sizeof(double));
        return trainer->scalars ? LIANA_OK : liana__fail_memory(error, "the trainer");
    }
    liana__optimizer_plan plan = {.context = trainer->device->context,
                                  .rule = liana__trainer_rule(options),
                                  .adapted_rate = options->adapted_rate,
                                  .rate_multipliers = options->rate_multipliers,
                                  .list = list_updated,
                                  .find_sum = find_sum,
                                  .user = trainer};
    liana__updated_variable *trained =
        liana__arena_allocate(&trainer->arena, (trainer->num_weights + 1) * sizeof *trained);
    trainer->scalars = liana__arena_allocate(&trainer->arena, liana__trainer_num_scalars(trainer) * sizeof(double));
    if (!trained || !trainer->scalars) return liana__fail_memory(error, "the trainer");
    for (size_t i = 0; i < trainer->num_weights; i++) {
        if (!trainer->weights[i].is_average) trained[plan.num_trained++] = trainer->weights[i];
    }
    plan.trained = trained;
    return liana__optimizer_builder_create(&plan, &trainer->update, error);
}

static const liana__update_builder *update_builder(const liana__trainer *trainer)
{
    if (!trainer->options.optimizer) return NULL;
    return has_own_update(trainer) ? trainer->options.function->update : &trainer->update.builder;
}

/* ---- checks ---- */

static liana_status check_inputs(const liana__trainer *trainer, liana__error *error)
{
    if (trainer->num_inputs > LIANA__MAX_INPUTS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "the model has %zu inputs, expected at most %d",
                           trainer->num_inputs, LIANA__MAX_INPUTS);
    }
    for (size_t i = 0; i < trainer->num_inputs; i++) {
        const liana__model_port *port = &trainer->inputs[i];
        if (!liana__trainer_input_of(&trainer->options, port, i).is_image || port->shape.rank == 4) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model's input '%s' is %s, expected images: [batch, height, width, channels]",
                           port->name, liana__shape_print(&port->shape).text);
    }
    return LIANA_OK;
}

/* Patterns for weights that are frozen may be there: a later stage trains them. */
static liana_status check_weights(liana__trainer *trainer, liana__error *error)
{
    bool learns = false;
    if (!trainer->options.optimizer) return LIANA_OK;
    for (size_t i = 0; i < trainer->num_weights; i++) learns |= !trainer->weights[i].is_average;
    if (!learns) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model has no weight that training could change; check "
                           "'trainable' and 'trainable_from'");
    }
    const char **names = names_of(trainer->weights, trainer->num_weights, &trainer->arena);
    if (!names) return liana__fail_memory(error, "the trainer");
    return liana__rate_multipliers_check(trainer->options.rate_multipliers, names, trainer->num_weights, error);
}

/* ---- setting up ---- */

/* The trained model, and its inputs. */
static liana_status take_trained(liana__trainer *trainer, liana__error *error)
{
    const liana__trained_function *function = trainer->options.function;
    const liana_model *model = trainer->options.model;
    trainer->num_inputs = function ? function->num_inputs : liana__model_num_inputs(model);
    trainer->num_weights = function ? function->num_weights : model->num_weights;
    if (function) {
        trainer->inputs = function->inputs;
        trainer->weights = function->weights;
        return LIANA_OK;
    }
    LIANA_TRY(liana__model_check(model, error));
    liana__model_port *inputs = liana__arena_allocate(&trainer->arena, (trainer->num_inputs + 1) * sizeof *inputs);
    if (!inputs) return liana__fail_memory(error, "the trainer");
    for (size_t i = 0; i < trainer->num_inputs; i++) inputs[i] = liana__model_input(model, i);
    trainer->inputs = inputs;
    return liana__model_list_weights(model, &trainer->arena, &trainer->weights, error);
}

/* The value of a weight that the options give. */
static liana_status add_given(const liana__trainer *trainer, size_t index, liana__variables *variables,
                              liana__error *error)
{
    const liana__updated_variable *weight = &trainer->weights[index];
    float *values = trainer->options.values[index];
    liana__buffer *buffer;
    if (!trainer->device->backend->in_host_memory || trainer->options.model->weights[index].is_state) {
        return liana__variables_add(variables, weight->name, LIANA_F32, &weight->shape, values, error);
    }
    LIANA_TRY(liana__host_buffer_lend(trainer->device, LIANA_F32, &weight->shape, values, &buffer, error));
    const liana_status status = liana__variables_add_buffer(variables, weight->name, buffer, error);
    if (status != LIANA_OK) liana__host_buffer_destroy(buffer);
    return status;
}

static liana_status add_weights(const liana__trainer *trainer, liana__variables *variables, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    for (size_t i = 0; options->values && i < trainer->num_weights; i++) {
        LIANA_TRY(add_given(trainer, i, variables, error));
    }
    if (options->values) return LIANA_OK;
    for (size_t i = 0; i < trainer->num_weights; i++) {
        const liana__updated_variable *weight = &trainer->weights[i];
        float *values = options->model ? malloc(liana__byte_size(LIANA_F32, &weight->shape)) : NULL;
        if (options->model && !values) return liana__fail_memory(error, weight->name);
        if (options->model) liana__model_initialize(options->model, options->seed, i, values);
        liana_status status = liana__variables_add(variables, weight->name, LIANA_F32, &weight->shape, values, error);
        free(values);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

/* The rows that stand in for components that a batch does not have. Batches of evaluations may be larger than those of
 * updates. */
static liana_status make_stand_ins(liana__trainer *trainer, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    const liana__objective *objective = options->objective;
    const int64_t evaluated = options->evaluation_batch_size;
    const size_t rows = (size_t)(evaluated > options->batch_size ? evaluated : options->batch_size);
    size_t largest = 1;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const size_t size = liana__byte_size(objective->outputs[i].target_dtype, &objective->outputs[i].target_shape);
        if (size > largest) largest = size;
    }
    trainer->no_targets = calloc(rows, largest);
    if (!trainer->no_targets) return liana__fail_memory(error, "the trainer");
    if (objective->num_counted && options->optimizer) {
        trainer->scales = calloc((size_t)options->batch_size * objective->num_outputs, sizeof *trainer->scales);
        if (!trainer->scales) return liana__fail_memory(error, "the trainer");
    }
    if (!options->weighted) return LIANA_OK;
    trainer->no_weights = malloc(rows * sizeof *trainer->no_weights);
    if (!trainer->no_weights) return liana__fail_memory(error, "the trainer");
    for (size_t i = 0; i < rows; i++) trainer->no_weights[i] = 1;
    return LIANA_OK;
}

/* Whether it is convolutional: weights have four dimensions. */
static int64_t find_microbatch(bool has_images, const liana_shape *input, int64_t batch_size)
{
    int64_t size;
    if (has_images) {
        const int64_t pixels = input->dims[1] * input->dims[2];
        size = pixels <= 64 * 64 ? 32 : pixels <= 320 * 320 ? 16 : 8;
    } else {
        size = batch_size / 8 > 64 ? batch_size / 8 : 64;
    }
    return size < batch_size ? size : batch_size;
}

int64_t liana__default_microbatch(const liana_model *model, int64_t batch_size)
{
    bool has_images = false;
    for (size_t i = 0; i < model->num_weights; i++) has_images |= model->weights[i].shape.rank == 4;
    const liana_shape input = liana__model_input_shape(model);
    return find_microbatch(has_images, &input, batch_size);
}

static int64_t default_microbatch(const liana__trainer *trainer)
{
    bool has_images = false;
    for (size_t i = 0; i < trainer->num_weights; i++) has_images |= trainer->weights[i].shape.rank == 4;
    return find_microbatch(has_images, &trainer->inputs[0].shape, trainer->options.batch_size);
}

/* The loss that compares the examples of a batch with each other; NULL: none does. */
static const liana_loss_type *find_whole_loss(const liana__objective *objective)
{
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__loss_choice *choice = &objective->outputs[i].choice;
        const bool whole = choice->loss && choice->loss->needs_whole_batch;
        if (whole && choice->loss->needs_whole_batch(choice->options)) return choice->loss;
    }
    return NULL;
}

/* A model with a state for each example of a batch takes batches of that size, each in one shard. */
static liana_status check_stateful(const liana__trainer *trainer, const liana__layer *layer, int64_t *microbatch,
                                   liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    const char *class_name = layer->type->part.name;
    const int64_t size = liana__model_batch_size(options->model), evaluated = options->evaluation_batch_size;
    if (options->batch_size != size || (evaluated && evaluated != size)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "layer '%s' (%s): stateful: found batches of %lld examples, expected %lld, the batch_size "
                           "of the model's InputLayer; set the same batch_size in both (also of validation and "
                           "prediction), or leave stateful out",
                           layer->name, class_name,
                           (long long)(options->batch_size != size ? options->batch_size : evaluated), (long long)size);
    }
    *microbatch = options->microbatch ? options->microbatch : size;
    if (*microbatch < size) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "layer '%s' (%s): stateful: the %lld examples of a batch would be computed in shards of "
                           "%lld; set microbatch (train.microbatch) to %lld, or leave it out",
                           layer->name, class_name, (long long)size, (long long)*microbatch, (long long)size);
    }
    *microbatch = size;
    if (!options->num_more_devices && !options->cluster) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "layer '%s' (%s): stateful: found a strategy of several devices or processes, which cut a "
                       "batch; use one device, or leave stateful out",
                       layer->name, class_name);
}

/* The examples of a shard. */
static liana_status choose_microbatch(const liana__trainer *trainer, int64_t *microbatch, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    const liana__layer *stateful = liana__model_stateful_layer(options->model);
    if (stateful) return check_stateful(trainer, stateful, microbatch, error);
    const liana_loss_type *whole = options->optimizer ? find_whole_loss(options->objective) : NULL;
    const bool by_layer = options->optimizer && trainer->shards.whole_batch;
    const int64_t usual = whole || by_layer ? options->batch_size : default_microbatch(trainer);
    const int64_t asked = options->microbatch ? options->microbatch : usual;
    *microbatch = asked < options->batch_size ? asked : options->batch_size;
    if (!whole || (*microbatch == options->batch_size && !options->num_more_devices && !options->cluster)) {
        return LIANA_OK;
    }
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "loss: '%s' compares the %lld examples of a batch with each other, but they are computed in shards "
        "of %lld%s; set microbatch: %lld on one device%s",
        whole->part.name, (long long)options->batch_size, (long long)*microbatch,
        options->num_more_devices || options->cluster ? " on several devices" : "", (long long)options->batch_size,
        liana__fields_find(&whole->part.options, "axis") ? ", or axes without the first, as axis: [1]" : "");
}

static liana_status make_step(liana__trainer *trainer, liana__variables *variables, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    const size_t count = 1 + options->num_more_devices;
    int64_t microbatch = 0;
    LIANA_TRY(choose_microbatch(trainer, &microbatch, error));
    LIANA__SCOPED_MEMORY liana__device **devices = malloc(count * sizeof *devices);
    if (!devices) return liana__fail_memory(error, "the strategy");
    devices[0] = trainer->device;
    for (size_t i = 1; i < count; i++) devices[i] = options->more_devices[i - 1];
    for (size_t i = 0; i < count; i++) devices[i]->memory_limit = options->memory_limit;
    const liana__step_plan plan = {
        .shards = &trainer->shards,
        .update = update_builder(trainer),
        .batch_size = options->batch_size,
        .evaluation_batch_size = options->evaluation_batch_size,
        .microbatch = microbatch,
        .steps_per_execution = options->steps_per_execution,
        .table_rows = options->table_rows,
        .deterministic = options->deterministic,
        .strategy = options->strategy ? options->strategy : &liana__strategy_one_device,
        .devices = {devices, count, options->speeds, options->groups, options->cluster, options->strategy_options},
    };
    return liana__step_create(&plan, variables, &trainer->step, error);
}

static liana_status set_up(liana__trainer *trainer, liana__variables *variables, liana__error *error)
{
    const liana__trainer_options *options = &trainer->options;
    LIANA_TRY(take_trained(trainer, error));
    LIANA_TRY(check_inputs(trainer, error));
    LIANA_TRY(check_weights(trainer, error));
    LIANA_TRY(make_stand_ins(trainer, error));
    LIANA_TRY(add_weights(trainer, variables, error));
    make_shard_builder(trainer);
    LIANA_TRY(list_kept(trainer, error));
    if (options->optimizer) LIANA_TRY(make_update_builder(trainer, error));
    LIANA_TRY(make_step(trainer, variables, error));
    if (!options->optimizer || options->unprepared) return LIANA_OK;
    return liana__step_prepare(trainer->step, options->batch_size, true, error);
}

liana_status liana__trainer_create(liana__device *device, const liana__trainer_options *options,
                                   liana__variables *variables, liana__trainer **out, liana__error *error)
{
    *out = NULL;
    liana__trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer) return liana__fail_memory(error, "the trainer");
    trainer->device = device;
    trainer->options = *options;
    const liana_status status = set_up(trainer, variables, error);
    if (status != LIANA_OK) {
        name_layer(trainer, error);
        liana__trainer_destroy(trainer);
        return status;
    }
    *out = trainer;
    return LIANA_OK;
}

void liana__trainer_destroy(liana__trainer *trainer)
{
    if (!trainer) return;
    liana__step_destroy(trainer->step);
    liana__optimizer_builder_free(&trainer->update);
    liana__arena_free(&trainer->arena);
    free(trainer->no_targets);
    free(trainer->no_weights);
    free(trainer->scales);
    free(trainer);
}

/* ---- members ---- */

int64_t liana__trainer_num_classes(const liana__trainer *trainer)
{
    const liana__objective_output *output = &trainer->options.objective->outputs[0];
    return output->target == LIANA_TARGET_CLASSES ? output->shape.dims[output->shape.rank - 1] : 0;
}

int64_t liana__trainer_row_size(const liana__trainer *trainer)
{
    int64_t size = 0;
    const liana__objective *objective = trainer->options.objective;
    for (size_t i = 0; i < objective->num_outputs; i++) size += liana_shape_size(&objective->outputs[i].shape);
    return size;
}

const liana__trainer_options *liana__trainer_options_of(const liana__trainer *trainer)
{
    return &trainer->options;
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
    return liana__step_plan_of(trainer->step)->microbatch;
}

/* ---- running ---- */

double liana__trainer_learning_rate(const liana__trainer *trainer)
{
    return trainer->update.learning_rate;
}

void liana__trainer_set_rate(liana__trainer *trainer, double learning_rate)
{
    trainer->update.learning_rate = learning_rate;
}

int64_t liana__trainer_num_skipped(const liana__trainer *trainer)
{
    return trainer->update.num_skipped;
}

static size_t num_rates(const liana__trainer *trainer)
{
    if (!trainer->options.optimizer || !trainer->options.rates || has_own_update(trainer)) return 1;
    const liana__update_rule rule = liana__trainer_rule(&trainer->options);
    return liana__rule_num_rates(&rule);
}

size_t liana__trainer_num_scalars(const liana__trainer *trainer)
{
    return LIANA__NUM_UPDATE_SCALARS + num_rates(trainer) - 1;
}

/* The other rates change by the factor that the first one differs by from its schedule's. */
static double rate_of(const liana__trainer *trainer, size_t number, double learning_rate, int64_t iteration)
{
    const liana__trainer_options *options = &trainer->options;
    const int64_t update = iteration - 1 - (options->num_skipped ? *options->num_skipped : 0);
    const double first = liana__learning_rate_at(&options->rates[0], update);
    const double own = liana__learning_rate_at(&options->rates[number], update);
    return first > 0 ? own * (learning_rate / first) : own;
}

void liana__trainer_set_scalars(const liana__trainer *trainer, double learning_rate, int64_t iteration, float *scalars)
{
    scalars[LIANA__UPDATE_RATE] = (float)learning_rate;
    scalars[LIANA__UPDATE_ITERATION] = (float)iteration;
    for (size_t i = 1; i < num_rates(trainer); i++) {
        scalars[LIANA__NUM_UPDATE_SCALARS - 1 + i] = (float)rate_of(trainer, i, learning_rate, iteration);
    }
}

const double *liana__trainer_scalars(liana__trainer *trainer, double learning_rate, int64_t iteration)
{
    double *scalars = trainer->scalars;
    scalars[LIANA__UPDATE_RATE - 1] = learning_rate;
    scalars[LIANA__UPDATE_ITERATION - 1] = (double)iteration;
    for (size_t i = 1; i < num_rates(trainer); i++) {
        scalars[LIANA__NUM_UPDATE_SCALARS - 2 + i] = rate_of(trainer, i, learning_rate, iteration);
    }
    return scalars;
}

liana_status liana__trainer_step(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                 int64_t iteration, const float **sums, liana__error *error)
{
    const double *scalars = liana__trainer_scalars(trainer, learning_rate, iteration);
    liana__trainer_set_rate(trainer, learning_rate);
    return liana__step_update(trainer->step, batch, scalars, sums, error);
}

liana_status liana__trainer_step_by_parts(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                          int64_t iteration, liana__error *error)
{
    const double *scalars = liana__trainer_scalars(trainer, learning_rate, iteration);
    liana__trainer_set_rate(trainer, learning_rate);
    return liana__step_update_by_parts(trainer->step, batch, scalars, error);
}
