/* ModelCheckpoint: writes the model into a file after epochs or updates. Options and rules are those of Keras's
 * callback of this name (keras.io/api/callbacks/model_checkpoint). The end of the file's name says its format, as for
 * liana_model_save. */
#include "base/file.h"
#include "base/scoped.h"
#include "base/value_read.h"
#include "train/callbacks/callback.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct checkpoint_options {
    liana__monitor_options watched; /* min_delta is 0 */
    const char *filepath;
    int64_t verbose;
    bool save_best_only, save_weights_only;
    const liana__value *save_freq; /* "epoch", or a number of updates; NULL: "epoch" */
    double initial_value_threshold;
} checkpoint_options;

typedef struct model_checkpoint {
    bool began;
    double best;   /* NaN: none yet */
    int64_t since; /* updates since the last file */
} model_checkpoint;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(checkpoint_options, filepath, STRING, .required = true,
                     .doc = "The file, with values in braces: model-{epoch:02d}-{val_loss:.2f}.keras. A relative name "
                            "is in the run folder, of C programs in the current folder."),
    LIANA_OPTION_ROW(liana__monitor_options, monitor, STRING, .default_text = "val_loss",
                     .doc = "With save_best_only, what is watched: loss or a metric, with val_ before it that of the "
                            "validation."),
    LIANA_OPTION_ROW(checkpoint_options, verbose, INT, .minimum = 0, .maximum = 2, .doc = "Whether each file is told."),
    LIANA_OPTION_ROW(checkpoint_options, save_best_only, BOOL, .default_text = "false",
                     .doc = "Whether only a model that is better than those before is written."),
    LIANA_OPTION_ROW(checkpoint_options, save_weights_only, BOOL, .default_text = "false",
                     .doc = "Whether the file has weights alone; it must then end with .weights.h5."),
    LIANA_OPTION_ROW(liana__monitor_options, mode, ENUM, .default_text = "auto", .names = liana__monitor_modes,
                     .doc = "Which values are better: min, max, or auto: smaller losses and errors, greater other "
                            "metrics."),
    LIANA_OPTION_ROW(checkpoint_options, save_freq, VALUE,
                     .doc = "epoch: after each epoch; a number: after so many updates."),
    LIANA_OPTION_ROW(checkpoint_options, initial_value_threshold, FLOAT, .default_text = "null", .minimum = -1e30,
                     .maximum = 1e30, .doc = "A value that the first model must pass; null: none."),
};

/* Updates from one file to the next; 0: files after epochs. */
static int64_t frequency(const checkpoint_options *options)
{
    return liana__value_is_number(options->save_freq) ? options->save_freq->integer : 0;
}

static liana_status check(liana_check *check)
{
    const checkpoint_options *options = check->options;
    const liana__value *freq = options->save_freq;
    const bool is_epoch = !freq || freq->kind == LIANA__VALUE_NULL ||
                          (freq->kind == LIANA__VALUE_STRING && strcmp(freq->string, "epoch") == 0);
    if (!is_epoch && !(freq->kind == LIANA__VALUE_INT && freq->integer >= 1)) {
        return liana_option_refuse(check, "save_freq", "expected epoch, or a number of updates of at least 1");
    }
    const char *end = strstr(options->filepath, ".weights.h5");
    const bool has_weights = end && strcmp(end, ".weights.h5") == 0;
    if (!*options->filepath || options->save_weights_only != has_weights) {
        return liana_option_refuse(check, "filepath", "found '%.200s', expected a name that %s", options->filepath,
                                   options->save_weights_only ? "ends with .weights.h5, for weights alone"
                                   : has_weights ? "does not end with .weights.h5 without save_weights_only: true"
                                                 : "is not empty");
    }
    return LIANA_OK;
}

/* ---- the name of the file ---- */

/* The number of {name}; *is_whole: it is a count. */
static liana_status find_number(const liana_fit_context *context, const char *name, double *number, bool *is_whole)
{
    bool known = false;
    *is_whole = strcmp(name, "epoch") == 0 || strcmp(name, "batch") == 0;
    if (strcmp(name, "epoch") == 0) *number = (double)context->epoch;
    if (strcmp(name, "batch") == 0) *number = (double)context->step;
    if (*is_whole) return LIANA_OK;
    if (strcmp(name, "learning_rate") == 0) {
        *number = context->learning_rate;
        return LIANA_OK;
    }
    LIANA_TRY(liana__fit_metric(context, name, number, &known, context->error));
    if (known) return LIANA_OK;
    return liana__fail(context->error, LIANA_INVALID_CONFIG,
                       "filepath: nothing was measured for {%s} yet; validate before the file is written", name);
}

/* Python's format of a number: 0 and a width, a precision, and d, f, e, g or none. False: another one. */
static bool add_number(liana__text *text, const char *format, double number, bool is_whole)
{
    char digits[64];
    const char *at = format;
    const bool zeros = *at == '0';
    char *end;
    const long width = strtol(at, &end, 10);
    at = end;
    long precision = -1;
    if (*at == '.') {
        precision = strtol(at + 1, &end, 10);
        at = end;
    }
    const char kind = *at ? *at++ : is_whole ? 'd' : 'g';
    if (*at || !strchr("dfeg", kind) || width < 0 || width > 40 || precision > 30) return false;
    if (kind == 'd') {
        snprintf(digits, sizeof digits, zeros ? "%0*lld" : "%*lld", (int)width, (long long)number);
    } else {
        const int most = precision >= 0 ? (int)precision : *format ? 6 : 17;
        if (kind == 'f') snprintf(digits, sizeof digits, zeros ? "%0*.*f" : "%*.*f", (int)width, most, number);
        if (kind == 'e') snprintf(digits, sizeof digits, zeros ? "%0*.*e" : "%*.*e", (int)width, most, number);
        if (kind == 'g') snprintf(digits, sizeof digits, zeros ? "%0*.*g" : "%*.*g", (int)width, most, number);
    }
    liana__text_add(text, "%s", digits);
    return true;
}

/* "{epoch:02d}" at `text`, which begins with a brace. */
static liana_status add_value(const liana_fit_context *context, const char **text, liana__text *path)
{
    char inside[100];
    const char *close = strchr(*text, '}');
    const size_t length = close ? (size_t)(close - *text - 1) : sizeof inside;
    if (length >= sizeof inside) {
        return liana__fail(context->error, LIANA_INVALID_CONFIG, "filepath: '%.60s' has no closing brace", *text);
    }
    memcpy(inside, *text + 1, length);
    inside[length] = 0;
    char *format = strchr(inside, ':');
    if (format) *format++ = 0;
    double number = 0;
    bool is_whole;
    LIANA_TRY(find_number(context, inside, &number, &is_whole));
    *text = close + 1;
    if (add_number(path, format ? format : "", number, is_whole)) return LIANA_OK;
    return liana__fail(context->error, LIANA_INVALID_CONFIG,
                       "filepath: found the format '%s' of {%s}, expected one such as 02d or .2f", format, inside);
}

static liana_status make_path(const checkpoint_options *options, const liana_fit_context *context, liana__text *path)
{
    const bool inside = context->folder && options->filepath[0] != '/';
    if (inside) liana__text_add(path, "%s/", context->folder);
    for (const char *at = options->filepath; *at;) {
        if (*at == '{') {
            LIANA_TRY(add_value(context, &at, path));
        } else {
            liana__text_add(path, "%c", *at++);
        }
    }
    return path->failed ? liana__fail_memory(context->error, "the name of the model's file") : LIANA_OK;
}

/* ---- writing ---- */

typedef struct task {
    const liana_fit_context *context;
    const char *path;
} task;

static liana_status write_file(void *user, bool is_chief, liana__error *error)
{
    const task *own = user;
    liana__arena arena = {0};
    if (!is_chief) return LIANA_OK;
    const char *folder = liana__path_folder(&arena, own->path);
    liana_status status = folder ? liana__folder_make(folder, error) : liana__fail_memory(error, own->path);
    liana__arena_free(&arena);
    if (status != LIANA_OK) return status;
    return own->context->write_model(own->context->writer, own->path, error);
}

static liana_status write_model(const checkpoint_options *options, liana_fit_context *context)
{
    LIANA__SCOPED(liana__text) path = {0};
    LIANA_TRY(make_path(options, context, &path));
    if (!context->write_model) {
        return liana__fail(context->error, LIANA_UNIMPLEMENTED, "this training has no model that can be written");
    }
    task own = {context, path.data};
    LIANA_TRY(liana__chief_does(context->training->cluster, write_file, &own, context->error));
    if (options->verbose) liana__note(&context->notes, "the model is in '%s'", path.data);
    return LIANA_OK;
}

/* Whether the model is better than those before, which it then is compared with. */
static liana_status is_best(const checkpoint_options *options, model_checkpoint *own, const liana_fit_context *context,
                            bool *best)
{
    double value;
    bool known;
    LIANA_TRY(liana__fit_metric(context, options->watched.monitor, &value, &known, context->error));
    *best =
        known && !isnan(value) && (isnan(own->best) || liana__monitor_improves(&options->watched, value, own->best));
    if (*best) own->best = value;
    return LIANA_OK;
}

static liana_status save_now(liana_callback_item *item, liana_fit_context *context)
{
    const checkpoint_options *options = item->options;
    bool wanted = true;
    if (options->save_best_only) LIANA_TRY(is_best(options, item->self, context, &wanted));
    return wanted ? write_model(options, context) : LIANA_OK;
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    const checkpoint_options *options = item->options;
    model_checkpoint *own = item->self;
    if (!own->began) own->best = options->initial_value_threshold;
    own->began = true;
    return options->save_best_only ? liana__monitor_check(&options->watched, context, context->error) : LIANA_OK;
}

static liana_status step_end(liana_callback_item *item, liana_fit_context *context)
{
    const int64_t every = frequency(item->options);
    model_checkpoint *own = item->self;
    if (!every) return LIANA_OK;
    own->since += context->updates;
    if (own->since < every) return LIANA_OK;
    own->since = 0;
    return save_now(item, context);
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    return frequency(item->options) ? LIANA_OK : save_now(item, context);
}

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const model_checkpoint *own = item->self;
    liana__keep_number(state, "best", own->began ? own->best : NAN);
    liana__keep_count(state, "since", own->since);
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    (void)context;
    model_checkpoint *own = item->self;
    own->began = liana__kept_number(state, "best", &own->best);
    liana__kept_count(state, "since", &own->since);
    return LIANA_OK;
}

const liana_callback_type liana__callback_ModelCheckpoint = {
    LIANA_PART(CALLBACK, liana_callback_type, "ModelCheckpoint",
               "Writes the model into a file after epochs or updates.", LIANA_PART_OPTIONS(checkpoint_options, fields),
               .check = check),
    .self_size = sizeof(model_checkpoint),
    .save = save,
    .load = load,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_STEP_END] = step_end, [LIANA_ON_EPOCH_END] = epoch_end},
};
