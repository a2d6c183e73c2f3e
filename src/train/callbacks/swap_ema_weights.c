/* SwapEMAWeights: validations measure the averages of the weights, which an optimizer with use_ema keeps. The option is
 * that of Keras's callback of this name (keras.io/api/callbacks/swap_ema_weights). The loop does it (train/job/fit.c);
 * training goes on with the weights themselves. */
#include "train/callbacks/callback.h"

typedef struct swap_options {
    bool swap_on_epoch;
} swap_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(swap_options, swap_on_epoch, BOOL, .default_text = "false",
                     .doc = "Whether checkpoints, and other callbacks at the end of an epoch, get the averages too."),
};

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    const swap_options *options = item->options;
    if (!liana__averaged_weights_are_kept(context->training)) {
        return liana__fail(context->error, LIANA_INVALID_CONFIG,
                           "the optimizer keeps no averages of the weights; give it use_ema: true, or remove this "
                           "callback");
    }
    context->measures_averages = true;
    context->saves_averages = options->swap_on_epoch;
    return LIANA_OK;
}

const liana_callback_type liana__callback_SwapEMAWeights = {
    LIANA_PART(CALLBACK, liana_callback_type, "SwapEMAWeights",
               "Validates with the averages of the weights that an optimizer with use_ema keeps.",
               LIANA_PART_OPTIONS(swap_options, fields)),
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin},
};
