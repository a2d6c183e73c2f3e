/* warm_start.h - a model begins with the weights of another: by name, by a map of names, with exceptions. */
#ifndef LIANA_TRAIN_WARM_START_H
#define LIANA_TRAIN_WARM_START_H

#include "base/field.h"
#include "layers/model.h"
#include "remote/remote.h"

/* A warm start as a configuration or a program's text gives it: {from, map, skip}. */
typedef struct liana__warm_start {
    const char *from;        /* as liana__warm_source_find takes it; NULL: no warm start */
    const liana__value *map; /* {pattern of names in the model: name in the file}; NULL: the same names */
    liana__strings skip;     /* patterns of weights that keep their values */
} liana__warm_start;

extern const liana__fields liana__warm_start_fields;

typedef struct liana__warm_result {
    size_t num_matched;
    size_t num_skipped;
    size_t num_unused;   /* weights of the file, without what an optimizer keeps */
    const char *file;    /* the local file that was read; in the arena, as is the listing */
    const char *note;    /* what the file leaves open, in a sentence; else NULL */
    const char *listing; /* CSV: what,weight,in_file,shape; the first is "matched", "skipped" or "unused" */
} liana__warm_result;

/* Checks the parts of a warm start against each other. `where` is its key in messages, and `place` where it was
 * written. Errors: INVALID_CONFIG. */
liana_status liana__warm_start_check(const liana__warm_start *warm, const char *where, const liana__place *place,
                                     liana__error *error) LIANA_MUST_USE;

/* Reads the weights that are not skipped; values[w] has room for weight w of the model. In an HDF5 file the weights of
 * a layer that keep their own names count by their order, as for liana__weights_load. A weight that two patterns of the
 * map match has the name that the last one gives. Errors: INVALID_CONFIG (a pattern that matches nothing, with the
 * nearest name); INVALID_DATA (weights that are not in the file, weights of another shape, with both shapes, numbers
 * that are not finite); those of finding and reading the file. After an error the values are undefined. */
liana_status liana__warm_start_read(const liana_model *model, const liana__warm_start *warm, const char *where,
                                    const liana__place *place, liana__remote *remote, float *const *values,
                                    liana__arena *arena, liana__warm_result *result, liana__error *error)
    LIANA_MUST_USE;

#endif
