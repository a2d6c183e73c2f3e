/* BackupAndRestore: checkpoints from which an interrupted training goes on, as Keras's callback of this name makes
 * them. liana's checkpoints are these backups: the callback asks for them after epochs or updates. */
#include "base/value_read.h"
#include "train/callbacks/callback.h"

#include <string.h>

typedef struct backup_options {
    const char *backup_dir;
    const liana__value *save_freq; /* "epoch", or a number of updates; NULL: "epoch" */
    bool double_checkpoint, delete_checkpoint;
} backup_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(backup_options, backup_dir, STRING,
                     .doc = "Leave it out: checkpoints are in the run folder, of C programs in that of their options."),
    LIANA_OPTION_ROW(backup_options, save_freq, VALUE,
                     .doc = "epoch: after each epoch; a number: after so many updates too."),
    LIANA_OPTION_ROW(backup_options, double_checkpoint, BOOL, .default_text = "false",
                     .doc = "Checkpoints replace each other safely in any case."),
    LIANA_OPTION_ROW(backup_options, delete_checkpoint, BOOL, .default_text = "true",
                     .doc = "The last checkpoint of a run stays in any case."),
};

static liana_status check(liana_check *check)
{
    const backup_options *options = check->options;
    const liana__value *freq = options->save_freq;
    const bool is_epoch = !freq || freq->kind == LIANA__VALUE_NULL ||
                          (freq->kind == LIANA__VALUE_STRING && strcmp(freq->string, "epoch") == 0);
    if (options->backup_dir) {
        return liana_option_refuse(check, "backup_dir",
                                   "found '%.100s', expected nothing: checkpoints are in the run "
                                   "folder, or where liana_fit_options.checkpoints says",
                                   options->backup_dir);
    }
    if (is_epoch || (freq->kind == LIANA__VALUE_INT && freq->integer >= 1)) return LIANA_OK;
    return liana_option_refuse(check, "save_freq", "expected epoch, or a number of updates of at least 1");
}

static liana_status step_end(liana_callback_item *item, liana_fit_context *context)
{
    const backup_options *options = item->options;
    const bool counts = liana__value_is_number(options->save_freq);
    const int64_t done = context->training->state.iteration;
    if (counts && done / options->save_freq->integer > (done - context->updates) / options->save_freq->integer) {
        context->wants_checkpoint = true;
    }
    return LIANA_OK;
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    (void)item;
    context->wants_checkpoint = true;
    return LIANA_OK;
}

const liana_callback_type liana__callback_BackupAndRestore = {
    LIANA_PART(CALLBACK, liana_callback_type, "BackupAndRestore", "Saves checkpoints after epochs or updates.",
               LIANA_PART_OPTIONS(backup_options, fields), .check = check),
    .on = {[LIANA_ON_STEP_END] = step_end, [LIANA_ON_EPOCH_END] = epoch_end},
};
