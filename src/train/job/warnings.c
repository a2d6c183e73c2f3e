/* Finds probable mistakes and says each once. */
#include "train/job/warnings.h"

#include "base/format.h"
#include "base/scoped.h"
#include "layers/model.h"
#include "train/job/fit.h"

#include <liana/layers/normalization.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes without examples ---- */

enum { MOST_NAMED = 5 };

static void name_class(const liana__warnings *own, int64_t number, liana__text *text)
{
    bool named = (size_t)number < own->num_class_names;
    liana__text_add(text, "%s%.60s%s%lld%s", named ? "'" : "", named ? own->class_names[number] : "",
                    named ? "' (" : "", (long long)number, named ? ")" : "");
}

/* "2 of 5 classes have no training example: 'a' (0), 'b' (3)". */
static void warn_of_classes(const liana__warnings *own, const char *where)
{
    LIANA__SCOPED(liana__text) names = {0};
    int64_t missing = 0;
    for (int64_t c = 0; c < own->num_classes; c++) {
        if (own->seen[c]) continue;
        if (missing && missing < MOST_NAMED) liana__text_add(&names, ", ");
        if (missing++ < MOST_NAMED) name_class(own, c, &names);
    }
    /* Where targets are no labels, nobody has looked. */
    if (missing == own->num_classes) missing = 0;
    if (missing > MOST_NAMED) liana__text_add(&names, " and %lld more", (long long)missing - MOST_NAMED);
    bool counts_from_1 = missing == 1 && !own->seen[0] && own->num_classes > 1 && !own->num_class_names;
    if (counts_from_1) {
        liana__text_add(&names, "; if the labels count from 1, set %slabel_offset to %lld",
                        own->configured ? "data." : "", (long long)own->label_offset - 1);
    }
    if (missing && names.data) {
        liana__note(&own->notes, "%lld of %lld classes %s no training example%s: %s", (long long)missing,
                    (long long)own->num_classes, missing == 1 ? "has" : "have", where, names.data);
    }
}

liana_status liana__warn_find_classes(liana__warnings *own, const liana__source *source, liana__arena *arena,
                                      liana__error *error)
{
    if (!own->seen) {
        own->seen = liana__arena_allocate(arena, (size_t)(own->num_classes + 1));
        if (!own->seen) return liana__fail_memory(error, "the classes");
        own->knows_classes = liana__source_known_classes(source, own->label_offset, own->num_classes, own->seen);
    }
    if (own->knows_classes) warn_of_classes(own, "");
    return LIANA_OK;
}

bool *liana__warn_classes_to_see(liana__warnings *own)
{
    const liana__training_state *state = &own->training->state;
    if (own->knows_classes) return NULL;
    if (state->epoch || state->step) own->seen = NULL;
    return own->seen;
}

/* ---- the warm-up ---- */

void liana__warn_of_warmup(const liana__warnings *own, const liana__loader *loader,
                           const liana__training_length *length)
{
    liana_learning_rate rate = own->training->learning_rate;
    liana__fit_plan_make(&own->training->state, loader, length, &rate);
    const liana__training_stages *stages = own->training->stages;
    const liana__training_state *state = &own->training->state;
    if (stages) liana__fit_plan_stage(state, loader, stages->items[state->stage].end, &rate);
    double warmup = liana__warmup_length(&rate);
    if (rate.total_steps == 0 || warmup < (double)rate.total_steps) return;
    liana__note(&own->notes,
                "the warm-up of %g updates does not end in this run of %lld updates: the learning rate reaches only "
                "%.3g, and the schedule does not begin",
                warmup, (long long)rate.total_steps, liana__learning_rate_at(&rate, rate.total_steps - 1));
}

/* ---- batch normalisation ---- */

/* More than this share of the initial values in a moving average spoils the results computed with it. */
static const double GREATEST_SHARE = 0.1;

static liana_status is_initial(const liana__warnings *own, size_t weight, bool *initial, liana__error *error)
{
    const liana__weight *item = &own->training->model->weights[weight];
    const liana__buffer *buffer = liana__variables_find(&own->training->variables, item->name)->buffer;
    LIANA__SCOPED_MEMORY float *values = malloc(2 * buffer->size + 1);
    if (!values) return liana__fail_memory(error, item->name);
    float *first = values + buffer->size / sizeof *values;
    liana_status status = buffer->device->backend->download(buffer, values, error);
    liana__model_initialize(own->training->model, own->training->seed, weight, first);
    *initial = status == LIANA_OK && memcmp(values, first, buffer->size) == 0;
    return status;
}

/* Whether the layer's moving averages have their initial values: nothing was loaded, nothing trained. */
static liana_status begins_anew(const liana__warnings *own, const liana__layer *layer, bool *anew, liana__error *error)
{
    *anew = true;
    for (size_t i = layer->first_weight; *anew && i < layer->first_weight + layer->num_weights; i++) {
        if (!own->training->model->weights[i].trainable) LIANA_TRY(is_initial(own, i, anew, error));
    }
    return LIANA_OK;
}

liana_status liana__warn_find_averages(liana__warnings *own, liana__error *error)
{
    own->new_averages_momentum = 0;
    for (size_t i = 0; i < own->training->model->num_layers; i++) {
        const liana__layer *layer = &own->training->model->layers[i];
        if (layer->type != &liana__layer_batch_normalization || !layer->trainable) continue;
        double momentum = ((const liana_batch_normalization_options *)layer->options)->momentum;
        bool anew = false;
        if (momentum > own->new_averages_momentum) LIANA_TRY(begins_anew(own, layer, &anew, error));
        if (anew) own->new_averages_momentum = momentum;
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

static void warn_of_averages(liana__warnings *own)
{
    int64_t updates = own->training->state.iteration;
    double momentum = own->new_averages_momentum, share = pow(momentum, (double)updates);
    double better = better_momentum(updates);
    char number[40] = "lower it";
    if (own->told_of_averages || momentum <= 0 || share <= GREATEST_SHARE) return;
    own->told_of_averages = true;
    if (better > 0) liana__format(number, sizeof number, "set it to %g", better);
    liana__note(&own->notes,
                "after %lld updates, the moving averages of batch normalisation are still %.0f%% initial values "
                "(momentum %g); validation and prediction use them: %s with %s, or train longer",
                (long long)updates, 100 * share, momentum, number,
                own->configured ? "model.batch_norm_momentum" : "liana_model_set_batch_norm_momentum");
}

/* A class is seen if any process of a cluster saw it. If the cluster has failed, the next step says so: then the
 * classes of this process count. */
static void share_classes(const liana__warnings *own)
{
    liana__cluster *cluster = own->training->cluster;
    LIANA__SCOPED(liana__gathered) all = {0};
    const size_t count = (size_t)own->num_classes;
    if (!cluster) return;
    if (liana__cluster_gather_sized(cluster, own->seen, count * sizeof *own->seen, &all, NULL) == LIANA_OK) {
        /* Of those that are gone there is nothing. */
        const size_t told = all.offsets[liana__cluster_size(cluster)];
        for (size_t i = 0; i < told; i++) own->seen[i % count] |= all.data[i] != 0;
    }
}

void liana__warn_after_epoch(liana__warnings *own)
{
    bool is_first = own->training->state.epoch == 0;
    if (is_first && own->seen && !own->knows_classes) share_classes(own);
    if (is_first && own->seen && !own->knows_classes) warn_of_classes(own, " in the first epoch");
    warn_of_averages(own);
}
