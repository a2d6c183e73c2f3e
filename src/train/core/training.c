/* Compiles a training. */
#include "train/core/training.h"

#include <stdio.h>

/* What `auto` came to is said, and recorded: a training that goes on keeps it. */
static void note_recomputation(liana__training *training, const liana__training_options *options, size_t limit)
{
    liana__recompute_result result = liana__recompute_report(training->trainer, options->recompute, limit);
    training->recompute = result.recompute;
    if (result.recompute == LIANA_RECOMPUTE_AUTO) training->memory = result.memory;
    training->state.recompute_memory = result.memory;
    if (*result.note) liana__note(&options->notes, "%s", result.note);
}

static void choose_precision(liana__training *training, const liana__training_options *options,
                             liana__trainer_options *wanted)
{
    liana__precision_choice choice = liana__precision_choose(training->device, options->precision);
    training->precision = choice.precision;
    snprintf(training->state.precision, sizeof training->state.precision, "%s",
             liana__precision_names[choice.precision]);
    wanted->mixed_precision = choice.precision == LIANA_MIXED_BFLOAT16;
    wanted->evaluates_in_float32 = choice.evaluates_in_float32;
    if (*choice.note) liana__note(&options->notes, "%s", choice.note);
}

static void note_size(const liana__training *training, const liana__training_options *options)
{
    const liana_model *model = training->model;
    liana__note(&options->notes,
                "%s: %lld parameters (%lld trainable), %zu layers; batches of %lld in shards of %lld; %d threads, %s",
                liana__model_name(model), (long long)liana_model_num_parameters(model, false),
                (long long)liana_model_num_parameters(model, true), model->num_layers,
                (long long)options->trainer.batch_size, (long long)liana__trainer_microbatch(training->trainer),
                (int)training->device->num_tracks, liana__isa_name(training->context->isa));
}

liana_status liana__training_open(liana__training *training, const liana__training_options *options,
                                  liana__error *error)
{
    liana__trainer_options wanted = options->trainer;
    *training = (liana__training){.context = wanted.model->context,
                                  .model = (liana_model *)wanted.model,
                                  .seed = wanted.seed,
                                  .memory = options->memory,
                                  .recompute = options->recompute,
                                  .objective = wanted.objective,
                                  .metric_names = wanted.objective->value_names + 1,
                                  .num_metrics = wanted.objective->num_values - 1,
                                  .state = {.rate_factor = 1}};
    LIANA_TRY(liana__totals_create(wanted.objective, &training->state.running, error));
    if (options->optimizer) {
        wanted.optimizer = options->optimizer->optimizer;
        wanted.optimizer_options = options->optimizer->options;
        training->learning_rate = options->optimizer->learning_rate;
    }
    LIANA_TRY(liana__device_open(training->context, options->device, &training->device, error));
    choose_precision(training, options, &wanted);
    wanted.strategy = options->strategy;
    liana__variables_init(&training->variables, training->device);
    liana_recompute recompute = options->optimizer ? options->recompute : LIANA_RECOMPUTE_NONE;
    wanted.memory_limit = liana__recompute_limit(recompute, options->memory, options->data_memory);
    LIANA_TRY(liana__trainer_create(training->device, &wanted, &training->variables, &training->trainer, error));
    if (options->optimizer) note_recomputation(training, options, wanted.memory_limit);
    note_size(training, options);
    return LIANA_OK;
}

void liana__training_close(liana__training *training)
{
    liana__trainer_destroy(training->trainer);
    if (training->variables.device) liana__variables_free(&training->variables);
    liana__device_close(training->device);
    liana__training_state_free(&training->state);
    *training = (liana__training){0};
}
