/* Compiles a training. */
#include "train/training/training.h"

#include "backends/pjrt/platform.h"
#include "backends/pjrt/tpu_environment.h"
#include "base/scoped.h"
#include "distribute/cluster/held.h"
#include "distribute/strategies/strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The choice of `auto` is said, and recorded: a training that goes on keeps it. */
static void note_recomputation(liana__training *training, const liana__notes *notes, size_t limit)
{
    const bool on_plugin = liana__pjrt_platform_of(training->device) != NULL;
    liana__recompute_result result =
        liana__recompute_report(training->trainer, training->wanted_recompute, limit, on_plugin);
    training->recompute = result.recompute;
    if (result.recompute == LIANA_RECOMPUTE_AUTO) training->memory = result.memory;
    training->state.recompute_memory = result.memory;
    if (*result.note) liana__note(notes, "%s", result.note);
}

static void choose_precision(liana__training *training, const liana__training_options *options,
                             liana__trainer_options *wanted)
{
    liana__precision_choice choice = liana__precision_choose(training->device, options->precision);
    training->precision = choice.precision;
    snprintf(training->state.precision, sizeof training->state.precision, "%s",
             liana__precision_names[choice.precision]);
    wanted->mixed_precision = choice.precision == LIANA_MIXED_BFLOAT16;
    for (size_t i = 0; i < training->devices.count; i++) {
        liana__pjrt_set_products(training->devices.items[i], choice.precision == LIANA_FLOAT32_DEFAULT);
    }
    wanted->evaluates_in_float32 = choice.evaluates_in_float32;
    if (*choice.note) liana__note(&options->notes, "%s", choice.note);
}

/* In exact mode a plugin gets the settings that make its programs repeatable, and the user is told of them. */
static void choose_exactness(const liana__training *training, bool is_exact, const liana__notes *notes)
{
    LIANA__SCOPED(liana__text) text = {0};
    for (size_t i = 0; i < training->devices.count; i++) {
        liana__pjrt_set_exact(training->devices.items[i], is_exact, i == 0 ? &text : NULL);
    }
    if (text.length && !text.failed) liana__note(notes, "deterministic: %s", text.data);
}

/* The device's name; of a TPU also the variables of the environment that its library reads. */
static void note_device(const liana__device *device, const liana__notes *notes)
{
    const char *platform = liana__pjrt_platform_of(device);
    if (*device->note) liana__note(notes, "%s", device->note);
    if (!platform || strcmp(platform, "tpu") != 0) return;
    LIANA__SCOPED(liana__text) environment = {0};
    liana__tpu_environment_print(&environment);
    liana__note(notes, "environment of the TPU: %s", environment.length ? environment.data : "nothing is set");
}

/* Replicas, and the threads of each; a plugin decides about its own threads. */
static void describe_replicas(const liana__training *training, char *text, size_t size)
{
    const size_t count = training->num_replicas;
    const int threads = (int)training->device->num_tracks;
    char replicas[64] = "";
    *text = '\0';
    if (liana__pjrt_platform_of(training->device)) {
        if (count > 1) snprintf(text, size, "; %zu replicas", count);
        return;
    }
    if (count > 1) snprintf(replicas, sizeof replicas, "%zu replicas of ", count);
    snprintf(text, size, "; %s%d thread%s, %s", replicas, threads, threads == 1 ? "" : "s",
             liana__isa_name(training->context->isa));
}

static void note_size(const liana__training *training, const liana__training_options *options)
{
    const liana__trainer *trainer = training->trainer;
    const liana_model *model = training->model;
    int64_t all = 0, trained = 0;
    char replicas[128];
    describe_replicas(training, replicas, sizeof replicas);
    for (size_t i = 0; i < trainer->num_weights; i++) {
        const int64_t size = liana_shape_size(&trainer->weights[i].shape);
        all += size;
        trained += trainer->weights[i].is_average ? 0 : size;
    }
    liana__note(&options->notes, "%s: %lld parameters (%lld trainable), %zu %s; batches of %lld in shards of %lld%s",
                model ? liana__model_name(model) : options->trainer.function->name, (long long)all, (long long)trained,
                model ? model->num_layers : trainer->num_weights, model ? "layers" : "variables",
                (long long)options->trainer.batch_size, (long long)liana__trainer_microbatch(trainer), replicas);
}

/* Sums that are other numbers than those of one process are named from the beginning. */
static void note_exchange(liana__training *training, const liana__strategy_choice *choice, const liana__notes *notes)
{
    liana__exchange_reason reason;
    const bool is_doubted = liana__note_exchange(choice->strategy, choice->options, training->cluster, notes, &reason);
    snprintf(training->state.exchange, sizeof training->state.exchange, "%s", reason.exchange);
    if (is_doubted) liana__training_state_doubt(&training->state, reason.text);
}

static liana_status open_devices(liana__training *training, const liana__training_options *options,
                                 liana__trainer_options *wanted, liana__error *error)
{
    liana__strategy_choice choice = options->strategy;
    if (!choice.strategy) choice.strategy = &liana__strategy_one_device;
    liana__device_set *devices = &training->devices;
    if (choice.strategy->needs_cluster) {
        LIANA_TRY(liana__cluster_require(training->context, choice.strategy->name, &training->cluster, error));
        wanted->cluster = training->cluster;
        training->cluster->advice =
            options->optimizer ? "start the training again: it goes on from its newest checkpoint" : "start it again";
    }
    LIANA_TRY(liana__device_set_open(training->context, options->device, &choice, NULL, devices, error));
    training->device = devices->items[0];
    training->num_replicas = devices->count * (training->cluster ? training->cluster->place.num_workers : 1);
    training->strategy = choice.strategy->name;
    wanted->strategy = choice.strategy;
    wanted->strategy_options = choice.options;
    note_exchange(training, &choice, &options->notes);
    wanted->more_devices = devices->items + 1;
    wanted->num_more_devices = devices->count - 1;
    wanted->groups = devices->groups;
    return LIANA_OK;
}

/* The rates of a MultiOptimizer. */
static liana_status take_rates(liana__training *training, liana__trainer_options *wanted, liana__error *error)
{
    const liana__update_rule rule = liana__trainer_rule(wanted);
    const size_t count = liana__rule_num_rates(&rule);
    free(training->rates);
    training->rates = NULL;
    training->num_rates = 0;
    wanted->rates = NULL;
    wanted->num_skipped = &training->state.num_skipped;
    if (count == 1) return LIANA_OK;
    wanted->rates = training->rates = calloc(count, sizeof *training->rates);
    if (!training->rates) return liana__fail_memory(error, "the learning rates");
    training->num_rates = count;
    for (size_t i = 0; i < count; i++) {
        const liana_learning_rate *own = liana__rule_rate(&rule, i);
        training->rates[i] = own ? *own : training->learning_rate;
        training->rates[i].batch_size = wanted->batch_size;
    }
    return LIANA_OK;
}

static liana_status take_optimizer(liana__training *training, const liana__optimizer_choice *optimizer,
                                   liana__trainer_options *wanted, liana__error *error)
{
    wanted->optimizer = optimizer->optimizer;
    wanted->optimizer_options = optimizer->options;
    wanted->rate_multipliers = optimizer->rate_multipliers;
    training->learning_rate = optimizer->learning_rate;
    training->learning_rate.batch_size = wanted->batch_size;
    wanted->adapted_rate = optimizer->learning_rate.schedule->adapt ? &training->learning_rate : NULL;
    return take_rates(training, wanted, error);
}

static void note_doubts(const liana__objective *objective, const liana__notes *notes)
{
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *item = &objective->metrics[i];
        const liana_metric_type *metric = item->choice.metric;
        const liana_shape *output = &objective->outputs[item->output].shape;
        const char *doubt = metric->doubt ? metric->doubt(item->choice.options, output) : NULL;
        if (doubt) liana__note(notes, "the metric '%s': %s", item->name, doubt);
    }
}

/* A softmax of one value inside of the model is most often a mistake, too. The outputs' are refused. */
static void note_lone_softmax(const liana_model *model, const liana__notes *notes)
{
    for (size_t i = 0; model && i < model->num_nodes; i++) {
        if (!liana__model_is_lone_softmax(model, i)) continue;
        liana__note(notes,
                    "layer '%s' is a softmax of one value, which is always 1: nothing before it is learnt through it",
                    model->layers[model->nodes[i].layer].name);
    }
}

liana_status liana__training_open(liana__training *training, const liana__training_options *options,
                                  liana__error *error)
{
    liana__trainer_options wanted = options->trainer;
    liana_context *owner = wanted.model ? wanted.model->context : wanted.function->context;
    *training = (liana__training){.context = options->context ? options->context : owner,
                                  .model = (liana_model *)wanted.model,
                                  .seed = wanted.seed,
                                  .memory = options->memory,
                                  .recompute = options->recompute,
                                  .objective = wanted.objective,
                                  .metric_names = wanted.objective->value_names + 1,
                                  .num_metrics = wanted.objective->num_values - 1,
                                  .state = {.rate_factor = 1}};
    LIANA_TRY(liana__totals_create(wanted.objective, &training->state.running, error));
    if (options->optimizer) LIANA_TRY(take_optimizer(training, options->optimizer, &wanted, error));
    LIANA_TRY(open_devices(training, options, &wanted, error));
    note_device(training->device, &options->notes);
    choose_precision(training, options, &wanted);
    choose_exactness(training, wanted.deterministic, &options->notes);
    liana__variables_init(&training->variables, training->device);
    liana_recompute recompute = options->optimizer ? options->recompute : LIANA_RECOMPUTE_NONE;
    const size_t on_plugin = liana__pjrt_room(training->device, training->devices.count);
    wanted.memory_limit = liana__recompute_limit(recompute, options->memory, options->data_memory, on_plugin);
    LIANA_TRY(liana__trainer_create(training->device, &wanted, &training->variables, &training->trainer, error));
    training->compiled = wanted;
    training->wanted_recompute = options->recompute;
    if (options->optimizer && !wanted.unprepared) note_recomputation(training, &options->notes, wanted.memory_limit);
    note_size(training, options);
    if (options->optimizer) note_lone_softmax(training->model, &options->notes);
    note_doubts(training->objective, &options->notes);
    return LIANA_OK;
}

/* ---- stages ---- */

/* A new trainer and new variables in place of those that there are. */
static liana_status compile_again(liana__training *training, const liana__notes *notes, liana__error *error)
{
    liana__trainer_destroy(training->trainer);
    training->trainer = NULL;
    liana__variables_free(&training->variables);
    liana__variables_init(&training->variables, training->device);
    LIANA_TRY(
        liana__trainer_create(training->device, &training->compiled, &training->variables, &training->trainer, error));
    note_recomputation(training, notes, training->compiled.memory_limit);
    return LIANA_OK;
}

static void note_stage(const liana__training *training, size_t index, const liana__notes *notes)
{
    const liana__training_stage *stage = &training->stages->items[index];
    liana__note(notes,
                "stage %zu of %zu (%s) begins with epoch %lld, for %lld epochs: %lld of %lld parameters are trained",
                index + 1, training->stages->count, stage->name, (long long)training->state.epoch + 1,
                (long long)stage->epochs, (long long)liana__model_num_parameters(training->model, true),
                (long long)liana__model_num_parameters(training->model, false));
}

liana_status liana__training_read_weights(const liana__training *training, float ***values, liana__error *error)
{
    const liana_model *model = training->model;
    *values = calloc(model->num_weights + 1, sizeof **values);
    if (!*values) return liana__fail_memory(error, "the weights");
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__variable *variable = liana__variables_find(&training->variables, model->weights[i].name);
        (*values)[i] = malloc(variable->buffer->size);
        if (!(*values)[i]) return liana__fail_memory(error, "the weights");
        LIANA_TRY(liana__variable_read(variable, (*values)[i], error));
    }
    return LIANA_OK;
}

liana_status liana__training_write_weights(liana__training *training, float *const *values, liana__error *error)
{
    const liana_model *model = training->model;
    for (size_t i = 0; i < model->num_weights; i++) {
        liana__variable *variable = liana__variables_find(&training->variables, model->weights[i].name);
        LIANA_TRY(liana__variable_write(variable, values[i], error));
    }
    return LIANA_OK;
}

void liana__training_free_weights(const liana__training *training, float **values)
{
    for (size_t i = 0; values && i < training->model->num_weights; i++) free(values[i]);
    free(values);
}

liana_status liana__training_begin_stage(liana__training *training, size_t stage, const liana__notes *notes,
                                         liana__error *error)
{
    liana__training_state *state = &training->state;
    float **values;
    liana_status status = liana__training_read_weights(training, &values, error);
    if (status == LIANA_OK) {
        liana__training_stage_apply(training->stages, stage, training->model);
        status = take_optimizer(training, &training->stages->items[stage].optimizer, &training->compiled, error);
        if (status == LIANA_OK) status = compile_again(training, notes, error);
    }
    if (status == LIANA_OK) status = liana__training_write_weights(training, values, error);
    liana__training_free_weights(training, values);
    LIANA_TRY(status);
    state->stage_updates += liana__training_state_applied(state);
    state->stage = (int64_t)stage;
    state->stage_epoch = state->epoch;
    state->rate_factor = 1;
    state->adapted_rate = 0;
    state->num_skipped = 0;
    note_stage(training, stage, notes);
    return LIANA_OK;
}

typedef liana_status (*chief_teller)(liana__cluster *cluster, void *data, size_t size, liana__error *error);

static liana_status tell_alone(liana__cluster *cluster, void *data, size_t size, liana__error *error)
{
    return liana__cluster_tell(cluster, cluster->chief, data, size, error);
}

static liana_status share_variable(liana__cluster *cluster, liana__variable *variable, chief_teller tell,
                                   liana__error *error)
{
    const size_t size = variable->buffer->size;
    LIANA__SCOPED_MEMORY void *values = malloc(size + 1);
    if (!values) return liana__fail_memory(error, variable->name);
    LIANA_TRY(liana__variable_read(variable, values, error));
    LIANA_TRY(tell(cluster, values, size, error));
    if (!liana__cluster_is_chief(cluster)) LIANA_TRY(liana__variable_write(variable, values, error));
    return LIANA_OK;
}

static liana_status share_variables(liana__training *training, chief_teller tell, liana__error *error)
{
    if (!training->cluster) return LIANA_OK;
    for (size_t i = 0; i < training->variables.count; i++) {
        liana__variable *variable = &training->variables.items[i];
        if (!liana__is_held(variable)) LIANA_TRY(share_variable(training->cluster, variable, tell, error));
    }
    return LIANA_OK;
}

liana_status liana__training_share_variables(liana__training *training, liana__error *error)
{
    return share_variables(training, liana__cluster_follow_chief, error);
}

liana_status liana__training_take_variables(liana__training *training, liana__error *error)
{
    return share_variables(training, tell_alone, error);
}

void liana__training_close(liana__training *training)
{
    liana__trainer_destroy(training->trainer);
    if (training->variables.device) liana__variables_free(&training->variables);
    liana__device_set_close(&training->devices);
    liana__training_state_free(&training->state);
    free(training->rates);
    *training = (liana__training){0};
}

double liana__training_rate(const liana__training *training, const liana_learning_rate *schedule, int64_t iteration)
{
    double adapted = training->state.adapted_rate;
    if (schedule->schedule->adapt && adapted > 0) return adapted;
    return liana__learning_rate_at(schedule, iteration - training->state.num_skipped);
}

void liana__training_set_lengths(liana__training *training, const liana_learning_rate *schedule)
{
    for (size_t i = 0; i < training->num_rates; i++) {
        training->rates[i].steps_per_epoch = schedule->steps_per_epoch;
        training->rates[i].total_steps = schedule->total_steps;
    }
}

double liana__training_keep_rate(liana__training *training, double learning_rate)
{
    const int64_t skipped = liana__trainer_num_skipped(training->trainer);
    training->state.num_skipped += skipped - training->skipped_before;
    training->skipped_before = skipped;
    if (!training->learning_rate.schedule->adapt) return learning_rate;
    double used = liana__trainer_learning_rate(training->trainer);
    if (training->state.rate_factor > 0) training->state.adapted_rate = used / training->state.rate_factor;
    return used;
}
