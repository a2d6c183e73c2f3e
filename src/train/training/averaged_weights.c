/* Weights and their averages. */
#include "train/training/training.h"

#include "base/scoped.h"
#include "train/objective/step_graphs.h"

#include <stdlib.h>

static bool keeps_averages(const liana__training *training)
{
    const liana__trainer_options *options = liana__trainer_options_of(training->trainer);
    if (!options->optimizer || (options->function && options->function->update)) return false;
    const liana__update_rule rule = liana__trainer_rule(options);
    return liana__rule_keeps_averages(&rule);
}

bool liana__averaged_weights_are_kept(const liana__training *training)
{
    const liana__training_stages *stages = training->stages;
    for (size_t i = 0; stages && i < stages->count; i++) {
        const liana__optimizer_choice *choice = &stages->items[i].optimizer;
        const liana__update_rule rule = {.optimizer = choice->optimizer, .options = choice->options};
        if (liana__rule_keeps_averages(&rule)) return true;
    }
    return keeps_averages(training);
}

/* NULL: its optimizer keeps none. */
static liana__variable *average_of(const liana__training *training, size_t weight)
{
    const char *own = training->trainer->weights[weight].name;
    const liana__update_rule whole = liana__trainer_rule(liana__trainer_options_of(training->trainer));
    const liana__update_rule rule = liana__rule_of(&whole, own);
    char name[512];
    if (!liana__rule_keeps_averages(&rule)) return NULL;
    liana__rule_slot_variable(&rule, liana__rule_average_slot(&rule), own, name, sizeof name);
    return liana__variables_find(&training->variables, name);
}

/* Writes the average into the weight if it is to be exchanged, and the weight into the average. */
static liana_status move(const liana__training *training, size_t weight, bool exchange, liana__error *error)
{
    liana__variable *value = liana__variables_find(&training->variables, training->trainer->weights[weight].name);
    liana__variable *average = average_of(training, weight);
    if (!average) return LIANA_OK;
    const size_t size = value->buffer->size;
    LIANA__SCOPED_MEMORY char *both = malloc(2 * size + 1);
    if (!both) return liana__fail_memory(error, "the averages of the weights");
    LIANA_TRY(liana__variable_read(value, both, error));
    LIANA_TRY(liana__variable_read(average, both + size, error));
    LIANA_TRY(liana__variable_write(average, both, error));
    if (exchange) LIANA_TRY(liana__variable_write(value, both + size, error));
    return LIANA_OK;
}

static liana_status move_all(const liana__training *training, bool exchange, liana__error *error)
{
    for (size_t i = 0; i < training->trainer->num_weights; i++) {
        if (!training->trainer->weights[i].is_average) LIANA_TRY(move(training, i, exchange, error));
    }
    return LIANA_OK;
}

liana_status liana__averaged_weights_take(liana__training *training, liana__error *error)
{
    liana__training_state *state = &training->state;
    if (!keeps_averages(training) || state->iteration == 0 || state->averaged) return LIANA_OK;
    LIANA_TRY(move_all(training, true, error));
    state->averaged = true;
    return LIANA_OK;
}

liana_status liana__averaged_weights_return(liana__training *training, liana__error *error)
{
    if (!training->state.averaged) return LIANA_OK;
    if (keeps_averages(training)) LIANA_TRY(move_all(training, true, error));
    training->state.averaged = false;
    return LIANA_OK;
}

liana_status liana__averaged_weights_follow(liana__training *training, liana__error *error)
{
    return keeps_averages(training) ? move_all(training, false, error) : LIANA_OK;
}

liana_status liana__averaged_weights_begin_anew(liana__training *training, liana__error *error)
{
    if (!training->state.averaged) return LIANA_OK;
    LIANA_TRY(liana__averaged_weights_follow(training, error));
    training->state.averaged = false;
    return LIANA_OK;
}
