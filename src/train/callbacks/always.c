/* Keras's callbacks that every training has anyway: naming them changes nothing. */
#include "train/callbacks/callback.h"

const liana_callback_type liana__callback_History = {
    LIANA_PART(CALLBACK, liana_callback_type, "History",
               "Keeps the loss and the metrics of each epoch, as every training does."),
};

const liana_callback_type liana__callback_ProgbarLogger = {
    LIANA_PART(CALLBACK, liana_callback_type, "ProgbarLogger",
               "Shows how the training goes on, as the command does; programs have on_epoch and on_step."),
};
