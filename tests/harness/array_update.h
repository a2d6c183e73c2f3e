/* array_update.h - updates of a model's variables in slices, for tests: the numbers are arrays of the host, which each
 * update uploads, and its graphs are compiled anew. sliced_update.h has one that is compiled once. */
#ifndef LIANA_TESTS_ARRAY_UPDATE_H
#define LIANA_TESTS_ARRAY_UPDATE_H

#include "harness/harness.h"

#include "harness/update_items.h"

enum { LIANA__ARRAY_MAX_WEIGHTS = 24 };

/* By weight of the model: values, the shards' sums, and the slots. */
typedef struct liana__update_arrays {
    int64_t sizes[LIANA__ARRAY_MAX_WEIGHTS];
    float *values[LIANA__ARRAY_MAX_WEIGHTS];
    float *sums[LIANA__ARRAY_MAX_WEIGHTS];
    float *slots[LIANA__ARRAY_MAX_WEIGHTS][LIANA_MAX_SLOTS];
} liana__update_arrays;

typedef struct liana__array_update {
    liana_model *model;
    liana__average averages[LIANA__ARRAY_MAX_WEIGHTS];
    bool updated[LIANA__ARRAY_MAX_WEIGHTS];
    liana__update_rule rule;
    void *options;
    liana__arena arena; /* of the options */
    size_t num_slots;
    const liana__rate_multipliers *multipliers;
    liana__update_items items;
    float count; /* examples of an update */
    double learning_rate;
} liana__array_update;

/* An update of the model, which it takes. `yaml` as a configuration would give the options. */
liana__array_update liana__array_update_create(liana_model *model, const liana_optimizer_type *optimizer,
                                               const char *yaml);
/* Lists the updated arrays. The struct stays where it is from now on. */
void liana__array_update_begin(liana__array_update *f);
void liana__array_update_free(liana__array_update *f);

/* First values of the weights; sums and slots are 0. */
liana__update_arrays liana__update_arrays_create(const liana_model *model);
void liana__update_arrays_free(liana__update_arrays *n);
/* The shards' sums of an update, of different sizes. */
void liana__update_arrays_draw(const liana__array_update *f, liana__update_arrays *n, uint32_t update);

/* One update in slices that end at `ends`. */
void liana__array_update_run(liana__array_update *f, liana__update_arrays *n, liana__device *device,
                             const liana__slice_end *ends, size_t num_slices, int iteration);

#endif
