/* Summaries: event files of a training for TensorBoard and 'liana plot': what changes from update to update, with the
 * norms of gradients, weights and updates, and histograms. All steps are numbers of updates. A training that goes on
 * from a checkpoint has no value twice. What is written changes no bit of the training. */
#include "backends/host_squares.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "train/callbacks/event_activations.h"
#include "train/callbacks/event_graph.h"
#include "train/callbacks/event_images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NORMS_NONE, NORMS_WHOLE, NORMS_BY_WEIGHT };

static const char *const norm_names[] = {"none", "whole", "by_weight", NULL};

typedef struct summaries_options {
    const char *folder;
    int64_t every_steps, histogram_freq, image_freq;
    int norms;
    bool activations, graph;
} summaries_options;

typedef struct gradients {
    float **values; /* [count]: sums over the examples */
    size_t count;
    double examples;
} gradients;

typedef struct summaries {
    liana__event_files files;
    liana__event_weights before, after; /* an update that is written */
    gradients gradients;
    liana__event_list of_batch; /* histograms of activations and images of the epoch's last update */
    liana__event_review review;
    bool has_before, has_gradients, lacks_activations;
    int64_t begin;  /* updates done at the begin of the step */
    int64_t images; /* of the epoch at the last value; the same of the next two */
    double seconds, wait;
} summaries;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(summaries_options, folder, STRING, .default_text = "summaries",
                     .doc = "The folder of the event files, in which train and validation are; a relative name is in "
                            "the run folder, of C programs in the current folder."),
    LIANA_OPTION_ROW(summaries_options, every_steps, INT, .default_text = "100", .minimum = 0, .maximum = INT32_MAX,
                     .doc = "Updates from one value to the next; 0: values of epochs alone."),
    LIANA_OPTION_ROW(summaries_options, histogram_freq, INT, .default_text = "1", .minimum = 0, .maximum = INT32_MAX,
                     .doc = "Epochs from one histogram of weights and gradients to the next; 0: none."),
    LIANA_OPTION_ROW(summaries_options, activations, BOOL, .default_text = "true",
                     .doc = "Whether the layers' outputs for some examples of the epoch's last batch get histograms "
                            "too."),
    LIANA_OPTION_ROW(summaries_options, image_freq, INT, .default_text = "1", .minimum = 0, .maximum = INT32_MAX,
                     .doc = "Epochs from one set of images to the next: examples as they are trained on and as they "
                            "are validated, the confusion matrix, the most confident mistakes; 0: none."),
    LIANA_OPTION_ROW(summaries_options, norms, ENUM, .default_text = "by_weight", .names = norm_names,
                     .doc = "The norms of gradients, weights and updates: none; whole: of all weights together; "
                            "by_weight: of each weight too."),
    LIANA_OPTION_ROW(summaries_options, graph, BOOL, .default_text = "true",
                     .doc = "Whether the graph of layers and ops is written."),
};

static liana_status check(liana_check *check)
{
    const summaries_options *options = check->options;
    if (options->folder && *options->folder) return LIANA_OK;
    return liana_option_refuse(check, "folder", "it is empty, expected the name of a folder");
}

static void free_gradients(gradients *all)
{
    for (size_t i = 0; i < all->count; i++) free(all->values[i]);
    free(all->values);
    *all = (gradients){0};
}

static void destroy(liana_callback_item *item)
{
    summaries *own = item->self;
    liana__event_files_free(&own->files);
    liana__event_weights_free(&own->before);
    liana__event_weights_free(&own->after);
    free_gradients(&own->gradients);
    liana__event_list_free(&own->of_batch);
    liana__event_review_free(&own->review);
}

/* ---- the chief ---- */

typedef struct task {
    summaries *own;
    const summaries_options *options;
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

/* ---- when ---- */

/* Whether a value is written after updates `before` to `after`: the first update, and each that is a multiple. */
static bool is_due(int64_t every, int64_t before, int64_t after)
{
    if (!every || after <= before) return false;
    return before == 0 || before / every != after / every;
}

/* Whether an epoch is the first or a multiple. */
static bool is_epoch_of(int64_t every, const liana_fit_context *context)
{
    return every && (context->epoch - 1) % every == 0;
}

/* Histograms are of the last update of an epoch. */
static bool draws_histograms(const summaries_options *options, const liana_fit_context *context)
{
    return is_epoch_of(options->histogram_freq, context);
}

static bool draws_images(const summaries_options *options, const liana_fit_context *context)
{
    return is_epoch_of(options->image_freq, context);
}

static bool draws_activations(const summaries_options *options, const liana_fit_context *context)
{
    return options->activations && draws_histograms(options, context);
}

/* ---- numbers ---- */

static liana__host_squares squares_of(const task *own, const float *values, const float *before, int64_t count)
{
    return liana__host_choose_squares(own->context->training->context->isa)(values, before, count);
}

static liana_status reserve(gradients *all, const liana__step *step, liana__error *error)
{
    const size_t count = liana__step_num_gradients(step);
    if (all->count == count) return LIANA_OK;
    free_gradients(all);
    all->values = calloc(count + 1, sizeof *all->values);
    if (!all->values) return liana__fail_memory(error, "the gradients");
    for (; all->count < count; all->count++) {
        const liana_shape *shape = &liana__step_gradient(step, all->count)->shape;
        all->values[all->count] = malloc((size_t)liana_shape_size(shape) * sizeof **all->values + 1);
        if (!all->values[all->count]) return liana__fail_memory(error, "the gradients");
    }
    return LIANA_OK;
}

/* The gradients of an update's batch. In a cluster all processes read. If one of them dies meanwhile they
 * are not known, and the next update tells what is to be done. */
static liana_status read_gradients(summaries *own, const liana_fit_context *context)
{
    const liana__training *training = context->training;
    const liana__step *step = training->trainer->step;
    liana__error lost = {0};
    own->has_gradients = false;
    if (!context->num_each || !context->each[context->num_each - 1].count) return LIANA_OK;
    LIANA_TRY(reserve(&own->gradients, step, context->error));
    own->gradients.examples = (double)context->each[context->num_each - 1].count;
    for (size_t i = 0; i < own->gradients.count; i++) {
        liana__error *error = training->cluster ? &lost : context->error;
        const liana_status status = liana__step_read_gradient(step, i, own->gradients.values[i], error);
        if (status != LIANA_OK && training->cluster) return LIANA_OK;
        LIANA_TRY(status);
    }
    own->has_gradients = own->gradients.count > 0;
    return LIANA_OK;
}

/* ---- the values of an update ---- */

static void add_norm(const task *own, liana__event_list *list, const char *what, const char *name, double square,
                     double *all)
{
    *all += square;
    if (own->options->norms != NORMS_BY_WEIGHT) return;
    liana__event_list_add(list, liana__arena_format(&list->arena, "%s_norm/%s", what, name), sqrt(square));
}

static void add_gradient_norms(const task *own, liana__event_list *list)
{
    const liana__step *step = own->context->training->trainer->step;
    double all = 0;
    for (size_t i = 0; i < own->own->gradients.count; i++) {
        const liana__step_sum *gradient = liana__step_gradient(step, i);
        const int64_t size = liana_shape_size(&gradient->shape);
        /* Of the mean loss, not of the sum. */
        const double square = squares_of(own, own->own->gradients.values[i], NULL, size).values /
                              (own->own->gradients.examples * own->own->gradients.examples);
        add_norm(own, list, "gradient", gradient->variable, square, &all);
    }
    liana__event_list_add(list, "norm/gradient", sqrt(all));
}

/* Moving averages are no weights here. */
static void add_weight_norms(const task *own, liana__event_list *list)
{
    const summaries *self = own->own;
    const liana__trainer *trainer = own->context->training->trainer;
    double weights = 0, updates = 0;
    for (size_t i = 0; i < self->after.count; i++) {
        const liana__updated_variable *weight = &trainer->weights[i];
        const int64_t size = liana_shape_size(&weight->shape);
        if (weight->is_average) continue;
        const liana__host_squares squares =
            squares_of(own, self->after.values[i], self->has_before ? self->before.values[i] : NULL, size);
        add_norm(own, list, "weight", weight->name, squares.values, &weights);
        if (self->has_before) add_norm(own, list, "update", weight->name, squares.changes, &updates);
    }
    liana__event_list_add(list, "norm/weights", sqrt(weights));
    if (self->has_before) liana__event_list_add(list, "norm/update", sqrt(updates));
}

static liana_status add_batch_values(const task *own, liana__event_list *list, liana__error *error)
{
    const liana_fit_context *context = own->context;
    const liana__update_sums *last = &context->each[context->num_each - 1];
    liana__totals totals = {0};
    LIANA_TRY(liana__totals_create(context->training->objective, &totals, error));
    liana__totals_add(&totals, last->sums, last->count, 0);
    liana__event_list_add_totals(list, context->training, &totals, "batch/", "");
    liana__totals_free(&totals);
    return LIANA_OK;
}

static void add_speed(const task *own, liana__event_list *list)
{
    summaries *self = own->own;
    const liana_fit_context *context = own->context;
    const double seconds = context->seconds - self->seconds;
    if (seconds > 0) {
        liana__event_list_add(list, "speed/examples_per_second", (double)(context->images - self->images) / seconds);
        liana__event_list_add(list, "speed/input_wait", (context->wait - self->wait) / seconds);
    }
    self->seconds = context->seconds;
    self->wait = context->wait;
    self->images = context->images;
}

static liana_status write_step(const task *own, liana__error *error)
{
    const liana_fit_context *context = own->context;
    liana__event_list list = {0};
    liana_status status = context->num_each ? add_batch_values(own, &list, error) : LIANA_OK;
    list.failed |= status != LIANA_OK;
    liana__event_list_add(&list, "learning_rate", context->learning_rate);
    add_speed(own, &list);
    if (own->options->norms != NORMS_NONE) {
        if (own->own->has_gradients) add_gradient_norms(own, &list);
        add_weight_norms(own, &list);
    }
    const liana_status written = liana__event_list_write(&list, &own->own->files, LIANA__EVENTS_TRAINING,
                                                         context->training->state.iteration, status ? NULL : error);
    LIANA_TRY(status);
    LIANA_TRY(written);
    return flush(own, error);
}

/* ---- the values of an epoch ---- */

static liana_status write_histograms(const task *own, liana__event_list *list, liana__error *error)
{
    summaries *self = own->own;
    const liana__training *training = own->context->training;
    LIANA_TRY(liana__event_weights_read(&self->after, training, error));
    for (size_t i = 0; i < self->after.count; i++) {
        const liana__updated_variable *weight = &training->trainer->weights[i];
        const char *tag = liana__arena_format(&list->arena, "weights/%s", weight->name);
        liana__event_list_add_histogram(list, tag, self->after.values[i], liana_shape_size(&weight->shape));
    }
    for (size_t i = 0; self->has_gradients && i < self->gradients.count; i++) {
        const liana__step_sum *gradient = liana__step_gradient(training->trainer->step, i);
        const char *tag = liana__arena_format(&list->arena, "gradients/%s", gradient->variable);
        const int64_t size = liana_shape_size(&gradient->shape);
        for (int64_t k = 0; k < size; k++) self->gradients.values[i][k] /= (float)self->gradients.examples;
        liana__event_list_add_histogram(list, tag, self->gradients.values[i], size);
    }
    return LIANA_OK;
}

static liana_status write_epoch(const task *own, liana__error *error)
{
    const liana_fit_context *context = own->context;
    const liana__training *training = context->training;
    const int64_t step = training->state.iteration;
    liana__event_list values = own->own->of_batch, measured = {0};
    own->own->of_batch = (liana__event_list){0};
    liana__event_list_add_totals(&values, training, context->totals, "", "");
    liana_status status = draws_histograms(own->options, context) ? write_histograms(own, &values, error) : LIANA_OK;
    values.failed |= status != LIANA_OK;
    const liana_status written =
        liana__event_list_write(&values, &own->own->files, LIANA__EVENTS_TRAINING, step, status ? NULL : error);
    LIANA_TRY(status);
    LIANA_TRY(written);
    if (context->validates) liana__event_list_add_totals(&measured, training, context->validation, "", "");
    if (context->validation->count && draws_images(own->options, context)) {
        liana__event_list_add_review(&measured, &own->own->review, context->class_names);
    }
    LIANA_TRY(liana__event_list_write(&measured, &own->own->files, LIANA__EVENTS_VALIDATION, step, error));
    return flush(own, error);
}

/* ---- the begin ---- */

/* Values of updates are those with these texts before; others are of epochs. */
static bool is_of_updates(const char *tag)
{
    static const char *const begins[] = {"batch/",         "learning_rate", "speed/",      "norm/",
                                         "gradient_norm/", "weight_norm/",  "update_norm/"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (strncmp(tag, begins[i], strlen(begins[i])) == 0) return true;
    }
    return false;
}

/* Values of an epoch that was not finished come again at its end. */
static bool still_holds(void *user, int64_t step, const char *tag)
{
    const liana__training_state *state = &((const liana_fit_context *)user)->training->state;
    return step <= state->iteration - (is_of_updates(tag) ? 0 : state->step);
}

/* The resolved configuration of a run, as Markdown. */
static liana_status write_configuration(const task *own, liana__error *error)
{
    enum { MOST_BYTES = 1 << 20 };
    LIANA__SCOPED(liana__text) path = {0};
    char *bytes;
    size_t size;
    if (!own->context->folder) return LIANA_OK;
    liana__text_add(&path, "%s/config.yaml", own->context->folder);
    if (path.failed) return liana__fail_memory(error, "an event file");
    if (!liana__file_exists(path.data)) return LIANA_OK;
    LIANA_TRY(liana__file_read(path.data, MOST_BYTES, &bytes, &size, error));
    liana__event_list list = {0};
    const char *text = liana__arena_format(&list.arena, "```yaml\n%.*s\n```\n", (int)size, bytes);
    free(bytes);
    list.failed |= !text;
    liana__event_list_add_text(&list, "configuration", text);
    return liana__event_list_write(&list, &own->own->files, LIANA__EVENTS_TRAINING, 0, error);
}

static liana_status begin(const task *own, liana__error *error)
{
    const liana_fit_context *context = own->context;
    liana__event_files *files = &own->own->files;
    LIANA_TRY(liana__event_files_begin(files, context, own->options->folder, true, still_holds,
                                       (void *)(uintptr_t)context, error));
    if (context->resumed) return LIANA_OK;
    LIANA_TRY(write_configuration(own, error));
    return own->options->graph ? liana__event_files_add_graphs(files, context, error) : LIANA_OK;
}

/* ---- events ---- */

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    return do_task(item, context, begin);
}

static liana_status epoch_begin(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    (void)context;
    own->seconds = own->wait = 0;
    own->images = 0;
    /* A stage may train other weights. */
    liana__event_weights_free(&own->before);
    liana__event_weights_free(&own->after);
    free_gradients(&own->gradients);
    liana__event_list_free(&own->of_batch);
    return LIANA_OK;
}

/* Asks for what the next updates must keep. How many they will be is not known yet: at most `most`. */
static liana_status step_begin(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    const summaries_options *options = item->options;
    const liana__training *training = context->training;
    const int64_t most = liana__step_plan_of(training->trainer->step)->steps_per_execution;
    own->begin = training->state.iteration;
    own->has_before = own->has_gradients = false;
    const int64_t after = own->begin + (most > 1 ? most : 1);
    const bool due = options->norms != NORMS_NONE && is_due(options->every_steps, own->begin, after);
    const bool ends = context->step + after - own->begin >= context->steps;
    context->wants_gradients |= due || (ends && draws_histograms(options, context));
    context->wants_batches |= ends && (draws_activations(options, context) || draws_images(options, context));
    if (!due) return LIANA_OK;
    own->has_before = true;
    return liana__event_weights_read(&own->before, training, context->error);
}

/* Of the last batch of an epoch; of a batch that is done again, once. */
static liana_status see_batch(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    const summaries_options *options = item->options;
    if (!context->is_chief || context->step + 1 < context->steps) return LIANA_OK;
    liana__event_list_free(&own->of_batch);
    if (draws_images(options, context)) liana__event_list_add_examples(&own->of_batch, "examples", context->batch);
    if (!draws_activations(options, context) || own->lacks_activations) return LIANA_OK;
    liana__error fault = {0};
    const liana_status status =
        liana__event_list_add_activations(&own->of_batch, context->training, context->batch, &fault);
    /* A training does not end because one of its pictures cannot be drawn. */
    if (status == LIANA_OUT_OF_MEMORY) *context->error = fault;
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    own->lacks_activations = true;
    liana__note(&context->notes, "the event files have no activations: %s", fault.message);
    return LIANA_OK;
}

/* ---- validations ---- */

static liana_status validation_begin(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    if (!draws_images(item->options, context)) return LIANA_OK;
    LIANA_TRY(liana__event_review_begin(&own->review, context->training, context->error));
    context->wants_outputs |= own->review.num_classes > 0;
    return LIANA_OK;
}

static liana_status validation_step(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    if (!draws_images(item->options, context)) return LIANA_OK;
    if (context->step == 1) LIANA_TRY(liana__event_review_start(&own->review, context->batch, context->error));
    if (!context->outputs) return LIANA_OK;
    return liana__event_review_add(&own->review, context->training, context->batch, context->outputs, context->error);
}

static liana_status step_end(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    const summaries_options *options = item->options;
    const bool due = is_due(options->every_steps, own->begin, context->training->state.iteration);
    const bool ends = draws_histograms(options, context) && context->step >= context->steps;
    if ((due && options->norms != NORMS_NONE) || ends) LIANA_TRY(read_gradients(own, context));
    if (!due) return LIANA_OK;
    if (options->norms != NORMS_NONE)
        LIANA_TRY(liana__event_weights_read(&own->after, context->training, context->error));
    return do_task(item, context, write_step);
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    summaries *own = item->self;
    if (context->validation->count && draws_images(item->options, context)) {
        LIANA_TRY(liana__event_review_share(&own->review, context->training->cluster, context->error));
    }
    return do_task(item, context, write_epoch);
}

/* What was computed before a checkpoint is in the files before it is needed there. */
static liana_status checkpoint(liana_callback_item *item, liana_fit_context *context)
{
    return do_task(item, context, flush);
}

const liana_callback_type liana__callback_Summaries = {
    LIANA_PART(
        CALLBACK, liana_callback_type, "Summaries",
        "Writes event files for TensorBoard: loss and metrics, the learning rate, norms of gradients, weights and "
        "updates, histograms of these and of activations, images, speed, the graph, the configuration.",
        LIANA_PART_OPTIONS(summaries_options, fields), .check = check),
    .self_size = sizeof(summaries),
    .close = destroy,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_EPOCH_BEGIN] = epoch_begin,
           [LIANA_ON_STEP_BEGIN] = step_begin,
           [LIANA_ON_BATCH] = see_batch,
           [LIANA_ON_STEP_END] = step_end,
           [LIANA_ON_VALIDATION_BEGIN] = validation_begin,
           [LIANA_ON_VALIDATION_STEP] = validation_step,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_CHECKPOINT] = checkpoint},
};
