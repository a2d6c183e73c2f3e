/* Warnings about runs that probably train in another way than was meant: one line each, once. */
#include "train/run/run_internal.h"

#include "base/format.h"
#include "layers/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes without examples ---- */

enum { MOST_NAMED = 5 };

static void name_class(const liana__run *run, int64_t number, liana__text *text)
{
    bool named = (size_t)number < run->class_names.count;
    liana__text_add(text, "%s%.60s%s%lld%s", named ? "'" : "", named ? run->class_names.items[number] : "",
                    named ? "' (" : "", (long long)number, named ? ")" : "");
}

/* "2 of 5 classes have no training example: 'a' (0), 'b' (3)". */
static void warn_of_classes(const liana__run *run, const liana__run_options *options, const char *where)
{
    liana__text names = {0};
    int64_t missing = 0;
    for (int64_t c = 0; c < run->num_classes; c++) {
        if (run->seen_classes[c]) continue;
        if (missing && missing < MOST_NAMED) liana__text_add(&names, ", ");
        if (missing++ < MOST_NAMED) name_class(run, c, &names);
    }
    if (missing > MOST_NAMED) liana__text_add(&names, " and %lld more", (long long)missing - MOST_NAMED);
    bool counts_from_1 = missing == 1 && !run->seen_classes[0] && run->num_classes > 1 && !run->class_names.count;
    if (counts_from_1) {
        liana__text_add(&names, "; if the labels count from 1, set %slabel_offset to %lld",
                        run->config->root ? "data." : "", (long long)run->config->data.label_offset - 1);
    }
    if (missing && names.data) {
        liana__run_note(options, "%lld of %lld classes %s no training example%s: %s", (long long)missing,
                        (long long)run->num_classes, missing == 1 ? "has" : "have", where, names.data);
    }
    liana__text_free(&names);
}

liana_status liana__run_find_seen_classes(liana__run *run, const liana__run_options *options, liana__error *error)
{
    if (!run->seen_classes) {
        run->seen_classes = liana__arena_allocate(&run->arena, (size_t)(run->num_classes + 1));
        if (!run->seen_classes) return liana__fail_memory(error, "the classes");
        run->knows_classes = liana__source_known_classes(run->training.source, run->config->data.label_offset,
                                                         run->num_classes, run->seen_classes);
    }
    if (run->knows_classes) warn_of_classes(run, options, "");
    return LIANA_OK;
}

bool *liana__run_classes_to_see(liana__run *run)
{
    if (run->knows_classes) return NULL;
    if (run->state.epoch || run->state.step) run->seen_classes = NULL;
    return run->seen_classes;
}

/* ---- the warm-up ---- */

void liana__run_warn_of_warmup(const liana__run *run, const liana__run_options *options)
{
    const liana__loader *loader = run->training.loader;
    liana__learning_rate rate = run->learning_rate;
    rate.steps_per_epoch = (int64_t)liana__loader_steps_per_epoch(loader, 0);
    for (int64_t epoch = 0; epoch < run->config->train.epochs; epoch++) {
        rate.total_steps += (int64_t)liana__loader_steps_per_epoch(loader, (uint64_t)epoch);
    }
    double warmup = liana__warmup_length(&rate);
    if (rate.total_steps == 0 || warmup < (double)rate.total_steps) return;
    liana__run_note(options,
                    "the warm-up of %g updates does not end in this run of %lld updates: the learning rate reaches "
                    "only %.3g, and the schedule does not begin",
                    warmup, (long long)rate.total_steps, liana__learning_rate_at(&rate, rate.total_steps - 1));
}

/* ---- batch normalisation ---- */

/* More than this share of the initial values in a moving average spoils what is computed with it. */
static const double GREATEST_SHARE = 0.1;

static liana_status is_initial(const liana__run *run, size_t weight, bool *initial, liana__error *error)
{
    const liana__weight *item = &run->model->weights[weight];
    const liana__buffer *buffer = liana__variables_find(&run->variables, item->name)->buffer;
    float *values = malloc(2 * buffer->size + 1);
    if (!values) return liana__fail_memory(error, item->name);
    float *first = values + buffer->size / sizeof *values;
    liana_status status = buffer->device->backend->buffer_read(buffer, values, error);
    liana__model_initialize(run->model, (uint64_t)run->config->train.seed, weight, first);
    *initial = status == LIANA_OK && memcmp(values, first, buffer->size) == 0;
    free(values);
    return status;
}

/* Whether the layer's moving averages have their initial values: nothing was loaded, nothing trained. */
static liana_status begins_anew(const liana__run *run, const liana__layer *layer, bool *anew, liana__error *error)
{
    *anew = true;
    for (size_t i = layer->first_weight; *anew && i < layer->first_weight + layer->num_weights; i++) {
        if (!run->model->weights[i].trainable) LIANA_TRY(is_initial(run, i, anew, error));
    }
    return LIANA_OK;
}

liana_status liana__run_find_new_averages(liana__run *run, liana__error *error)
{
    run->new_averages_momentum = 0;
    for (size_t i = 0; i < run->model->num_layers; i++) {
        const liana__layer *layer = &run->model->layers[i];
        if (layer->type != &liana__layer_batch_normalization || !layer->trainable) continue;
        double momentum = ((const liana_batch_normalization_options *)layer->options)->momentum;
        bool anew = false;
        if (momentum > run->new_averages_momentum) LIANA_TRY(begins_anew(run, layer, &anew, error));
        if (anew) run->new_averages_momentum = momentum;
    }
    return LIANA_OK;
}

/* The largest of the usual momenta that leaves little of the initial values after that many updates; 0: none does. */
static double better_momentum(int64_t updates)
{
    static const double usual[] = {0.99, 0.95, 0.9, 0.8, 0.5};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (pow(usual[i], (double)updates) <= GREATEST_SHARE) return usual[i];
    }
    return 0;
}

static void warn_of_averages(liana__run *run, const liana__run_options *options)
{
    int64_t updates = run->state.iteration;
    double momentum = run->new_averages_momentum, share = pow(momentum, (double)updates);
    double better = better_momentum(updates);
    char number[40] = "lower it";
    if (run->told_of_averages || momentum <= 0 || share <= GREATEST_SHARE) return;
    run->told_of_averages = true;
    if (better > 0) liana__format(number, sizeof number, "set it to %g", better);
    liana__run_note(options,
                    "after %lld updates, the moving averages of batch normalisation are still %.0f%% initial values "
                    "(momentum %g); validation and prediction use them: %s with %s, or train longer",
                    (long long)updates, 100 * share, momentum, number,
                    run->config->root ? "model.batch_norm_momentum" : "liana_model_set_batch_norm_momentum");
}

void liana__run_warn_after_epoch(liana__run *run, const liana__run_options *options)
{
    bool is_first = run->state.epoch == 0;
    if (is_first && run->seen_classes && !run->knows_classes) warn_of_classes(run, options, " in the first epoch");
    warn_of_averages(run, options);
}
