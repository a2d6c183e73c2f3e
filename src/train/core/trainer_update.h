/* trainer_update.h - the graphs of a training's update, all variables in one slice, and the sums that it reads. */
#ifndef LIANA_TRAIN_TRAINER_UPDATE_H
#define LIANA_TRAIN_TRAINER_UPDATE_H

#include "train/core/slice_update.h"

/* The scalars of an update. */
enum {
    LIANA__UPDATE_COUNT,
    LIANA__UPDATE_RATE,
    LIANA__UPDATE_ITERATION,
    LIANA__NUM_UPDATE_SCALARS,
};

typedef struct liana__trainer_update {
    liana_context *context;
    const liana__trainer_options *options;
    bool *updated; /* by weight of the model */
    liana__update_items items;
    liana__slice_piece *pieces;
    /* Once it was cut: the pieces of slice s are cut_pieces[first_pieces[s]] to before first_pieces[s + 1]. */
    liana__slice_piece *cut_pieces;
    size_t *first_pieces;
    size_t num_slices; /* 0: it was not cut */
    float *finished[LIANA_MAX_SUM_ROUNDS];
    double learning_rate; /* of the last update */
} liana__trainer_update;

/* Lists what changes, once the sums of a leaf are known. Does nothing the second time. Errors: those of
 * liana__update_items_create. Free it in any case. */
liana_status liana__trainer_update_prepare(liana__trainer_update *update, liana_context *context,
                                           const liana__trainer_options *options, const liana__leaf_sums *sums,
                                           liana__error *error) LIANA_MUST_USE;
void liana__trainer_update_free(liana__trainer_update *update);

/* Cuts it into slices. Errors: OUT_OF_MEMORY. */
liana_status liana__trainer_update_cut(liana__trainer_update *update, size_t num_slices, liana__error *error)
    LIANA_MUST_USE;

/* The graph of the update, or of a round of its sums, of one slice; LIANA__WHOLE_UPDATE: of all. Builders leave their
 * message in the context. *graph NULL: the slice has nothing to do. */
#define LIANA__WHOLE_UPDATE SIZE_MAX
liana_status liana__trainer_update_build(const liana__trainer_update *update, size_t slice, liana_graph **graph)
    LIANA_MUST_USE;
liana_status liana__trainer_update_build_sums(const liana__trainer_update *update, size_t slice, size_t round,
                                              liana_graph **graph) LIANA_MUST_USE;
/* The graph of a round whose sums are finished on the device (liana__build_finished_sums). */
liana_status liana__trainer_update_build_finished(const liana__trainer_update *update, size_t round,
                                                  liana_graph **graph) LIANA_MUST_USE;
/* The first of the finished sums of a round that a slice reads. */
size_t liana__trainer_update_first_finished(const liana__trainer_update *update, size_t slice, size_t round);

/* Adds up a round. That of the learning rate changes it: in the scalars, and in `learning_rate`. */
const float *liana__trainer_update_finish(liana__trainer_update *update, size_t round, const float *chunk_sums,
                                          float *scalars);

#endif
