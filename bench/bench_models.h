/* bench_models.h - the networks that bench_step measures: those of the examples, one for each family of layers, and
 * every architecture of the zoo. */
#ifndef LIANA_BENCH_MODELS_H
#define LIANA_BENCH_MODELS_H

#include "base/error.h"

#include <liana/dataset.h>
#include <liana/model.h>

/* A network's training settings unless the command line says otherwise. */
typedef struct bench_model {
    const char *name;
    int64_t batch_size;
    int64_t microbatch; /* 0: liana's own choice */
    int64_t height, width, channels;
    int64_t classes;
    double learning_rate;
    liana_scale scale;
    void (*build)(liana_model *model); /* NULL: the architecture of that name, with its own classifier */
} bench_model;

/* "flowers", "mnist", "mlp", one of the layers ("lstm", "conv3d"), or an architecture such as "ResNet50" at 192 x 192
 * with 104 classes. Errors: NOT_FOUND with the names that there are. */
liana_status bench_model_find(const char *name, bench_model *found, liana__error *error) LIANA_MUST_USE;

/* Adds the network's layers to an empty model. */
liana_status bench_model_build(const bench_model *what, liana_model *model, liana__error *error) LIANA_MUST_USE;

#endif
