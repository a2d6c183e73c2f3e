/* dataset.h - the inside of liana_dataset. */
#ifndef LIANA_TRAIN_DATASET_H
#define LIANA_TRAIN_DATASET_H

#include "base/context.h"
#include "data/loader.h"

#include <liana/dataset.h>

struct liana_dataset {
    liana_context *context;
    liana__source *source;
    liana_scale scale;
    int64_t label_offset;
    bool antialias;
};

#endif
