/* warnings.h - probable mistakes while a model trains: said in a line each, and once. */
#ifndef LIANA_TRAIN_WARNINGS_H
#define LIANA_TRAIN_WARNINGS_H

#include "data/loader/loader.h"
#include "train/training/training.h"

typedef struct liana__warnings {
    liana__training *training;
    liana__notes notes;
    bool configured; /* messages name keys of a configuration, else functions */
    /* Classes. */
    int64_t num_classes;
    const char *const *class_names; /* [num_class_names]; 0: classes are numbers */
    size_t num_class_names;
    int64_t label_offset;
    bool *seen;         /* by class: there are examples of it; NULL: nobody looks */
    bool knows_classes; /* which was known before the first step; else those of the first epoch */
    /* Batch normalisation. */
    double new_averages_momentum; /* the greatest of those whose averages began anew; 0: missing */
    bool told_of_averages;
} liana__warnings;

/* Which classes have no training example: said at once, where labels are known without reading the data. Else `seen` is
 * filled in by the first epoch. The memory is the arena's. */
liana_status liana__warn_find_classes(liana__warnings *warnings, const liana__source *source, liana__arena *arena,
                                      liana__error *error) LIANA_MUST_USE;
/* Filled in by the first epoch; NULL: the classes are known, or the first epoch has begun before. */
bool *liana__warn_classes_to_see(liana__warnings *warnings);

/* Says that the warm-up does not end in a training of this length. No error: trials of a long one are short. */
void liana__warn_of_warmup(const liana__warnings *warnings, const liana__loader *loader,
                           const liana__training_length *length);

/* Finds which moving averages are as their layers were made. Those that were loaded hold statistics of images, if of
 * others. Before training, and before a checkpoint is loaded. */
liana_status liana__warn_find_averages(liana__warnings *warnings, liana__error *error) LIANA_MUST_USE;

/* At the end of each epoch, before the state counts it: classes that were not seen; moving averages that still hold
 * much of their initial values. */
void liana__warn_after_epoch(liana__warnings *warnings);

#endif
