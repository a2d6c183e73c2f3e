/* Leaves out elements by chance, so that classes come as often as is wanted. */
#include "data/dataset/dataset.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_CLASSES = 1000000, FIRST_COUNT = 10 };

typedef struct resample {
    uint64_t seed;
    bool same_each_epoch;
    size_t num_classes;
    int64_t (*class_of)(void *user, const liana_example_address *address, const liana_element *element);
    void *user;
    size_t label;    /* the component, without a function */
    double *target;  /* [num_classes] */
    double *initial; /* [num_classes]; NULL: counted */
} resample;

typedef struct resample_cursor {
    double *counts; /* of the classes so far */
} resample_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    const resample *own = cursor->dataset->own;
    resample_cursor *at = cursor->own;
    if (!own->initial) {
        at->counts = malloc(own->num_classes * sizeof *at->counts);
        if (!at->counts) return liana__fail_memory(error, cursor->dataset->name);
        for (size_t i = 0; i < own->num_classes; i++) at->counts[i] = FIRST_COUNT;
    }
    return liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
}

static void free_cursor(liana__cursor *cursor)
{
    free(((resample_cursor *)cursor->own)->counts);
}

/* The chance that an element of a class stays: the one of the rarest class, in proportion, is 1. A common factor of the
 * frequencies does not matter, so counts serve as well. */
static double chance_of(const resample *own, const double *initial, size_t class)
{
    double largest = 0;
    for (size_t i = 0; i < own->num_classes; i++) {
        if (initial[i] > 0) largest = fmax(largest, own->target[i] / initial[i]);
    }
    return initial[class] > 0 && largest > 0 ? own->target[class] / initial[class] / largest : 0;
}

static int64_t find_class(const resample *own, const liana_example_address *address, const liana_element *element)
{
    return own->class_of ? own->class_of(own->user, address, element) : *(const int64_t *)element->data[own->label];
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const resample *own = cursor->dataset->own;
    resample_cursor *at = cursor->own;
    for (;;) {
        const liana__at where = {cursor->seed, cursor->epoch, cursor->inputs[0]->index};
        LIANA_TRY(liana__cursor_next(cursor->inputs[0], element, error));
        const liana_example_address address = liana__example_address(&where, element);
        const int64_t class = find_class(own, &address, element);
        if (class < 0 || (uint64_t) class >= own->num_classes) {
            return liana__fail(
                error, LIANA_OUT_OF_RANGE,
                "%s: position %llu of epoch %llu (record %llu): the class is %lld, expected 0 to %zu, as "
                "target_dist has them",
                cursor->dataset->name, (unsigned long long)where.index, (unsigned long long)where.epoch,
                (unsigned long long)element->record, (long long)class, own->num_classes - 1);
        }
        if (at->counts) at->counts[class]++;
        const double chance = chance_of(own, at->counts ? at->counts : own->initial, (size_t) class);
        const uint64_t epoch = own->same_each_epoch ? 0 : where.epoch;
        const uint64_t word = liana__draw_for(own->seed, epoch, where.index, LIANA__SALT_RESAMPLE);
        if ((double)(word >> 11) * 0x1p-53 < chance) return LIANA_OK;
    }
}

/* A copy of frequencies; of an initial one, a class that is wanted must be there. */
static liana_status copy_dist(liana_dataset *dataset, const char *name, const double *from, const double *wanted,
                              double **out, liana__error *error)
{
    const size_t count = ((const resample *)dataset->own)->num_classes;
    double total = 0;
    *out = liana__arena_allocate(&dataset->arena, count * sizeof **out);
    if (!*out) return liana__fail_memory(error, dataset->name);
    for (size_t i = 0; i < count; i++) {
        const bool fits = from[i] >= 0 && isfinite(from[i]) && (!wanted || wanted[i] == 0 || from[i] > 0);
        if (!fits) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s[%zu] is %g, expected a number of at least 0%s", name,
                               i, from[i],
                               wanted && wanted[i] > 0 ? ", and above 0 for a class that target_dist wants" : "");
        }
        total += (*out)[i] = from[i];
    }
    return total > 0 ? LIANA_OK : liana__fail(error, LIANA_INVALID_ARGUMENT, "%s has only zeros", name);
}

static liana_status check(liana_dataset *dataset, const liana_rejection_resample_options *options, liana__error *error)
{
    resample *own = dataset->own;
    if (!options->target_dist || options->num_classes < 1 || options->num_classes > MAX_CLASSES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "target_dist has %zu classes, expected a frequency for each of 1 to %d classes",
                           options->target_dist ? options->num_classes : 0, MAX_CLASSES);
    }
    if (!own->class_of) {
        const int label = liana__spec_find(&dataset->spec, "label");
        const liana_component *found = label < 0 ? NULL : &dataset->spec.components[label];
        if (!found || found->dtype != LIANA_S64 || found->shape.rank) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "there is no component 'label' that is s64 []; give the function class_of");
        }
        own->label = (size_t)label;
    }
    LIANA_TRY(copy_dist(dataset, "target_dist", options->target_dist, NULL, &own->target, error));
    if (!options->initial_dist) return LIANA_OK;
    return copy_dist(dataset, "initial_dist", options->initial_dist, own->target, &own->initial, error);
}

liana_dataset *liana_dataset_rejection_resample(liana_dataset *input, const liana_rejection_resample_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_rejection_resample, input, sizeof(resample));
    if (!dataset) return NULL;
    *(resample *)dataset->own = (resample){.seed = options->seed,
                                           .same_each_epoch = options->same_each_epoch,
                                           .num_classes = options->num_classes,
                                           .class_of = options->class_of,
                                           .user = options->user};
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    dataset->random_access = false;
    dataset->varies = dataset->varies || options->class_of || !options->same_each_epoch;
    dataset->length_varies = dataset->length_varies || !options->same_each_epoch;
    liana__dataset_call(dataset, options->name);
    return liana__dataset_finish(dataset, check(dataset, options, &dataset->context->error));
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    const resample *own = dataset->own;
    liana__fingerprint_add(settings, own->target, own->num_classes * sizeof *own->target);
    if (own->initial) liana__fingerprint_add(settings, own->initial, own->num_classes * sizeof *own->initial);
}

const liana_stage_type liana__stage_rejection_resample = {
    LIANA_PART(STAGE, liana_stage_type, "rejection_resample",
               "Leaves out elements by chance, so that classes come as often as is wanted."),
    .options_size = offsetof(resample, class_of),
    .describe = describe,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(resample_cursor),
    .cursor_free = free_cursor,
};
