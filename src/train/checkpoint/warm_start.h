/* warm_start.h - a model begins with the weights of another: by name, by a map of names, with exceptions. */
#ifndef LIANA_TRAIN_WARM_START_H
#define LIANA_TRAIN_WARM_START_H

#include "base/field.h"
#include "base/memory.h"
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
    size_t num_unused;   /* weights of the file, without an optimizer's slots */
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

/* ---- warm source ---- */

/* The file of weights that a warm start's `from` means. */

/* `from` is a file; a TensorFlow checkpoint as liana__tf_checkpoint_find takes it; a folder of liana_model_save; a
 * checkpoint; a run folder or a folder of checkpoints: then it is the best checkpoint, if the run keeps one
 * (checkpoint.best), else the newest. *file is in the arena. Errors: NOT_FOUND with the name that was looked for. */
liana_status liana__warm_source_find(const char *from, liana__arena *arena, const char **file, liana__error *error)
    LIANA_MUST_USE;

/* The same for a name that may be a URL, in the view of `remote`. Web servers have no folders: there `from` is a
 * file. */
liana_status liana__warm_source_fetch(liana__remote *remote, const char *from, liana__arena *arena, const char **file,
                                      liana__error *error) LIANA_MUST_USE;

/* ---- warm names ---- */

/* Patterns of the names of weights, and the names that a map gives them. */

/* The texts that the '*' of a pattern stood for, in their order. */
enum { LIANA__WARM_MAX_STARS = 8 };
typedef struct liana__warm_stars {
    size_t count;
    const char *begin[LIANA__WARM_MAX_STARS];
    size_t length[LIANA__WARM_MAX_STARS];
} liana__warm_stars;

/* Whether a pattern is the name of a weight ("encoder/dense/kernel"), or of a layer or a model around it:
 * "encoder/dense", "encoder". '*' is any text (as little as fits), '?' any letter. *rest is the part of the name behind
 * the match ("/kernel"). `stars` and `rest` may be NULL. A pattern has at most LIANA__WARM_MAX_STARS '*'. */
bool liana__warm_matches(const char *pattern, const char *name, liana__warm_stars *stars, const char **rest);

size_t liana__warm_count_stars(const char *pattern);

/* The name that a match means: each '*' of `to` stands for the text of the pattern's, and the rest follows. `to` has at
 * most as many '*' as the pattern. In the arena; NULL: out of memory. */
const char *liana__warm_rename(const char *to, const liana__warm_stars *stars, const char *rest, liana__arena *arena);

#endif
