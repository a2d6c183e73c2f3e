/* TerminateOnNaN: a loss that is not finite ends the training well, as Keras's callback of this name does. Without it
 * such a loss is an error that names what has gone wrong (on_bad_numbers). */
#include "train/callbacks/callback.h"

typedef struct terminate_options {
    bool raise_error;
} terminate_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(terminate_options, raise_error, BOOL, .default_text = "false",
                     .doc = "Whether it is an error, as without this callback."),
};

static liana_status divergence(liana_callback_item *item, liana_fit_context *context)
{
    const terminate_options *options = item->options;
    if (options->raise_error) return LIANA_OK;
    context->recovered = true;
    liana__fit_stop(context, "the loss is not finite after update %lld", (long long)context->training->state.iteration);
    return LIANA_OK;
}

const liana_callback_type liana__callback_TerminateOnNaN = {
    LIANA_PART(CALLBACK, liana_callback_type, "TerminateOnNaN", "Ends the training when a loss is not finite.",
               LIANA_PART_OPTIONS(terminate_options, fields)),
    .on = {[LIANA_ON_DIVERGENCE] = divergence},
};
