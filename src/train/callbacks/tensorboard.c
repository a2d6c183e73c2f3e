/* TensorBoard: event files of a training. Options, folders and tags are those of Keras's callback of this name
 * (keras/src/callbacks/tensorboard.py). A training that goes on from a checkpoint has no value twice. */
#include "base/memory.h"
#include "base/scoped.h"
#include "train/callbacks/event_graph.h"
#include "train/callbacks/event_values.h"

#include <string.h>

typedef struct tensorboard_options {
    const char *log_dir;
    int64_t histogram_freq;
    bool write_graph, write_images, write_steps_per_second;
    const liana__value *update_freq; /* "epoch", "batch" or a number of updates; NULL: "epoch" */
    int64_t profile_batch, embeddings_freq;
} tensorboard_options;

typedef struct tensorboard {
    liana__event_files files;
    int64_t since;         /* updates since the last that was written */
    double seconds_before; /* of the epoch, at the end of the step before */
} tensorboard;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(tensorboard_options, log_dir, STRING, .default_text = "logs",
                     .doc = "The folder of the event files, in which train and validation are; a relative name is in "
                            "the run folder, of C programs in the current folder."),
    LIANA_OPTION_ROW(tensorboard_options, histogram_freq, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "Epochs from one histogram of each weight to the next; 0: none."),
    LIANA_OPTION_ROW(tensorboard_options, write_graph, BOOL, .default_text = "true",
                     .doc = "Whether the model's layers are written as a graph."),
    LIANA_OPTION_ROW(tensorboard_options, write_images, BOOL, .default_text = "false",
                     .doc = "Whether weights are drawn as images where they get histograms."),
    LIANA_OPTION_ROW(tensorboard_options, write_steps_per_second, BOOL, .default_text = "false",
                     .doc = "Whether updates per second are written too."),
    LIANA_OPTION_ROW(tensorboard_options, update_freq, VALUE,
                     .doc = "epoch: values of epochs alone; batch: also of each update; a number: of every so many."),
    LIANA_OPTION_ROW(tensorboard_options, profile_batch, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "0: profiles are made by liana profile."),
    LIANA_OPTION_ROW(tensorboard_options, embeddings_freq, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "0: embeddings are written by liana predict --layer."),
};

/* Updates from one value to the next; 0: values of epochs alone. */
static int64_t frequency(const tensorboard_options *options)
{
    const liana__value *freq = options->update_freq;
    if (!freq || freq->kind == LIANA__VALUE_NULL) return 0;
    if (freq->kind == LIANA__VALUE_INT) return freq->integer;
    return freq->kind == LIANA__VALUE_STRING && strcmp(freq->string, "batch") == 0;
}

static liana_status check(liana_check *check)
{
    const tensorboard_options *options = check->options;
    const liana__value *freq = options->update_freq;
    const bool is_word = freq && freq->kind == LIANA__VALUE_STRING &&
                         (strcmp(freq->string, "epoch") == 0 || strcmp(freq->string, "batch") == 0);
    const bool is_count = freq && freq->kind == LIANA__VALUE_INT && freq->integer >= 1;
    if (freq && freq->kind != LIANA__VALUE_NULL && !is_word && !is_count) {
        return liana_option_refuse(check, "update_freq", "expected epoch, batch, or a number of updates of at least 1");
    }
    if (options->profile_batch) {
        return liana_option_refuse(check, "profile_batch", "expected 0: 'liana profile' shows where the time goes");
    }
    if (options->embeddings_freq) {
        return liana_option_refuse(check, "embeddings_freq", "expected 0: 'liana predict --layer' writes embeddings");
    }
    if (options->log_dir && *options->log_dir) return LIANA_OK;
    return liana_option_refuse(check, "log_dir", "it is empty, expected the name of a folder");
}

static void destroy(liana_callback_item *item)
{
    liana__event_files_free(&((tensorboard *)item->self)->files);
}

/* ---- writing ---- */

/* The work of the chief. */
typedef struct task {
    tensorboard *own;
    const tensorboard_options *options;
    const liana_fit_context *context;
    liana_status (*write)(const struct task *task, liana__error *error);
} task;

static liana_status run_task(void *user, bool is_chief, liana__error *error)
{
    const task *own = user;
    return is_chief ? own->write(own, error) : LIANA_OK;
}

static liana_status do_task(liana_callback_item *item, const liana_fit_context *context,
                            liana_status (*write)(const task *own, liana__error *error))
{
    task made = {item->self, item->options, context, write};
    return liana__chief_does(context->training->cluster, run_task, &made, context->error);
}

static liana_status flush(const task *own, liana__error *error)
{
    return liana__event_files_flush(&own->own->files, error);
}

/* ---- events ---- */

/* Values that come again are of the epoch that goes on and those behind it, and of later updates. */
static bool still_holds(void *user, int64_t step, const char *tag)
{
    const liana_fit_context *context = user;
    const bool counts_updates = strncmp(tag, "batch_", 6) == 0 || strncmp(tag, "evaluation_", 11) == 0;
    if (counts_updates) return step <= context->training->state.iteration;
    return step < context->training->state.epoch;
}

static liana_status begin(const task *own, liana__error *error)
{
    const liana_fit_context *context = own->context;
    LIANA_TRY(liana__event_files_begin(&own->own->files, context, own->options->log_dir, true, still_holds,
                                       (void *)(uintptr_t)context, error));
    if (!own->options->write_graph || context->resumed) return LIANA_OK;
    return liana__event_files_add_graphs(&own->own->files, context, error);
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    return do_task(item, context, begin);
}

static liana_status write_step(const task *own, liana__error *error)
{
    const liana_fit_context *context = own->context;
    liana__event_list list = {.count = 0};
    liana__event_list_add_totals(&list, context->training, context->totals, "batch_", "");
    const double seconds = context->seconds - own->own->seconds_before;
    if (own->options->write_steps_per_second && seconds > 0) {
        liana__event_list_add(&list, "batch_steps_per_second", (double)context->updates / seconds);
    }
    return liana__event_list_write(&list, &own->own->files, LIANA__EVENTS_TRAINING, context->training->state.iteration,
                                   error);
}

static liana_status step_end(liana_callback_item *item, liana_fit_context *context)
{
    tensorboard *own = item->self;
    const int64_t wanted = frequency(item->options);
    liana_status status = LIANA_OK;
    own->since += context->updates;
    if (wanted && own->since >= wanted) {
        own->since = 0;
        status = do_task(item, context, write_step);
    }
    own->seconds_before = context->seconds;
    return status;
}

static liana_status epoch_begin(liana_callback_item *item, liana_fit_context *context)
{
    tensorboard *own = item->self;
    (void)context;
    own->seconds_before = 0;
    return LIANA_OK;
}

static liana_status write_validation(const task *own, liana__error *error)
{
    const liana__training *training = own->context->training;
    liana__event_list list = {.count = 0};
    liana__event_list_add_totals(&list, training, own->context->validation, "evaluation_", "_vs_iterations");
    return liana__event_list_write(&list, &own->own->files, LIANA__EVENTS_VALIDATION, training->state.iteration, error);
}

static liana_status validation_end(liana_callback_item *item, liana_fit_context *context)
{
    return do_task(item, context, write_validation);
}

static void add_weight(const task *own, liana__event_list *list, const liana__variable *variable, const float *values)
{
    const liana_shape *shape = &variable->buffer->shape;
    const liana_model *model = own->context->training->model;
    /* Keras's path of a weight has the name of a Sequential before the layer's. */
    const bool is_named = model && liana__model_is_sequential(model);
    const char *path = is_named ? liana__arena_format(&list->arena, "%s/%s", liana__model_name(model), variable->name)
                                : variable->name;
    liana__event_list_add_histogram(list, liana__arena_format(&list->arena, "%s/histogram", path), values,
                                    liana_shape_size(shape));
    if (!own->options->write_images) return;
    liana__event_list_add_weight_images(list, liana__arena_format(&list->arena, "%s/image", path), values, shape);
}

static liana_status add_weights(const task *own, liana__event_list *list, liana__error *error)
{
    const liana__training *training = own->context->training;
    liana__event_weights weights = {0};
    const liana_status status = liana__event_weights_read(&weights, training, error);
    for (size_t i = 0; status == LIANA_OK && i < weights.count; i++) {
        add_weight(own, list, &training->variables.items[i], weights.values[i]);
    }
    liana__event_weights_free(&weights);
    return status;
}

static liana_status write_epoch(const task *own, liana__error *error)
{
    const liana_fit_context *context = own->context;
    const liana__training *training = context->training;
    const int64_t step = context->epoch - 1, wanted = own->options->histogram_freq; /* Keras counts from 0 */
    liana__event_list values = {.count = 0}, measured = {.count = 0};
    liana__event_list_add_totals(&values, training, context->totals, "epoch_", "");
    if (values.count) liana__event_list_add(&values, "epoch_learning_rate", context->learning_rate);
    if (own->options->write_steps_per_second && context->seconds > 0) {
        liana__event_list_add(&values, "epoch_steps_per_second", (double)context->steps / context->seconds);
    }
    liana_status status = wanted && step % wanted == 0 ? add_weights(own, &values, error) : LIANA_OK;
    values.failed |= status != LIANA_OK;
    const liana_status written =
        liana__event_list_write(&values, &own->own->files, LIANA__EVENTS_TRAINING, step, status ? NULL : error);
    LIANA_TRY(status);
    LIANA_TRY(written);
    if (context->validates) liana__event_list_add_totals(&measured, training, context->validation, "epoch_", "");
    LIANA_TRY(liana__event_list_write(&measured, &own->own->files, LIANA__EVENTS_VALIDATION, step, error));
    return flush(own, error);
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    return do_task(item, context, write_epoch);
}

/* What was computed before a checkpoint is in the files before it is needed there. */
static liana_status checkpoint(liana_callback_item *item, liana_fit_context *context)
{
    return do_task(item, context, flush);
}

const liana_callback_type liana__callback_TensorBoard = {
    LIANA_PART(
        CALLBACK, liana_callback_type, "TensorBoard",
        "Writes event files for TensorBoard, with the tags and steps of Keras's callback; Summaries writes more.",
        LIANA_PART_OPTIONS(tensorboard_options, fields), .check = check),
    .self_size = sizeof(tensorboard),
    .close = destroy,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_EPOCH_BEGIN] = epoch_begin,
           [LIANA_ON_STEP_END] = step_end,
           [LIANA_ON_VALIDATION_END] = validation_end,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_CHECKPOINT] = checkpoint},
};
