/* ResetStates: sets the states of stateful layers to zeros where sequences begin anew. Keras resets nothing by itself:
 * its users call reset_state() of the layers at these events. */
#include "train/callbacks/callback.h"

#include <stdlib.h>

typedef struct reset_options {
    bool epoch_begin, validation;
} reset_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(reset_options, epoch_begin, BOOL, .default_text = "true",
                     .doc = "Whether each epoch begins with zeros."),
    LIANA_OPTION_ROW(reset_options, validation, BOOL, .default_text = "true",
                     .doc = "Whether each validation begins with zeros; training then goes on with its own states."),
};

/* The states of the training while a validation has its own. */
typedef struct reset_states {
    float **kept; /* [weights]; NULL: nothing is kept */
    size_t count;
} reset_states;

static void forget(reset_states *own)
{
    for (size_t i = 0; own->kept && i < own->count; i++) free(own->kept[i]);
    free(own->kept);
    *own = (reset_states){0};
}

static void close_states(liana_callback_item *item)
{
    forget(item->self);
}

static liana__variable *find_state(const liana_fit_context *context, size_t weight)
{
    const liana_model *model = context->training->model;
    if (!model->weights[weight].is_state) return NULL;
    return liana__variables_find(&context->training->variables, model->weights[weight].name);
}

static liana_status set_to_zeros(liana_fit_context *context)
{
    for (size_t i = 0; i < context->training->model->num_weights; i++) {
        liana__variable *variable = find_state(context, i);
        if (!variable) continue;
        float *zeros = calloc(variable->buffer->size, 1);
        if (!zeros) return liana__fail_memory(context->error, "the states");
        const liana_status status = liana__fit_write_variable(context, variable, zeros, context->error);
        free(zeros);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

static liana_status keep(reset_states *own, const liana_fit_context *context)
{
    forget(own);
    own->count = context->training->model->num_weights;
    own->kept = calloc(own->count + 1, sizeof *own->kept);
    if (!own->kept) return liana__fail_memory(context->error, "the states");
    for (size_t i = 0; i < own->count; i++) {
        const liana__variable *variable = find_state(context, i);
        if (!variable) continue;
        own->kept[i] = malloc(variable->buffer->size);
        if (!own->kept[i]) return liana__fail_memory(context->error, "the states");
        LIANA_TRY(liana__variable_read(variable, own->kept[i], context->error));
    }
    return LIANA_OK;
}

/* ---- events ---- */

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    (void)item;
    if (context->training->model && liana__model_stateful_layer(context->training->model)) return LIANA_OK;
    return liana__fail(
        context->error, LIANA_INVALID_CONFIG,
        "no layer of the model has stateful: true; set it in the layers whose states are kept, or remove "
        "this callback");
}

static liana_status epoch_begin(liana_callback_item *item, liana_fit_context *context)
{
    const reset_options *options = item->options;
    return options->epoch_begin ? set_to_zeros(context) : LIANA_OK;
}

static liana_status validation_begin(liana_callback_item *item, liana_fit_context *context)
{
    const reset_options *options = item->options;
    if (!options->validation) return LIANA_OK;
    LIANA_TRY(keep(item->self, context));
    return set_to_zeros(context);
}

static liana_status validation_end(liana_callback_item *item, liana_fit_context *context)
{
    reset_states *own = item->self;
    for (size_t i = 0; own->kept && i < own->count; i++) {
        if (!own->kept[i]) continue;
        LIANA_TRY(liana__fit_write_variable(context, find_state(context, i), own->kept[i], context->error));
    }
    forget(own);
    return LIANA_OK;
}

const liana_callback_type liana__callback_ResetStates = {
    LIANA_PART(CALLBACK, liana_callback_type, "ResetStates",
               "Sets the states of stateful layers to zeros where epochs and validations begin.",
               LIANA_PART_OPTIONS(reset_options, fields)),
    .self_size = sizeof(reset_states),
    .close = close_states,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_EPOCH_BEGIN] = epoch_begin,
           [LIANA_ON_VALIDATION_BEGIN] = validation_begin,
           [LIANA_ON_VALIDATION_END] = validation_end},
};
