/* Results of inner layers as files: features, embeddings. */
#include "train/run/run_internal.h"

#include "base/file.h"
#include "formats/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows are written as batches come: the memory does not depend on the number of examples. Of a cluster the chief
 * writes, and the others compute their parts of each batch. */
typedef struct features {
    const liana__run *run;
    const liana__objective *objective;
    bool is_npy;
    liana__npy arrays[LIANA__MAX_OUTPUTS]; /* one for each result */
    size_t num_arrays;                     /* that are open */
    liana__file_writer rows;               /* CSV: ids and values; beside .npy: ids */
    bool has_rows;                         /* it is open */
    liana__text text;                      /* of the batch */
    float *gathered;                       /* of several results: one result of the batch */
    int64_t capacity;                      /* examples for which it has room */
    liana__totals totals;
} features;

/* "features.npy" -> "features_1.npy", "features.ids.csv" */
static const char *path_beside(const char *path, const char *ending, liana__arena *arena)
{
    return liana__arena_format(arena, "%.*s%s", (int)(strlen(path) - strlen(".npy")), path, ending);
}

const char *liana__features_ids(const char *path, liana__arena *arena)
{
    return liana__ends_with(path, ".npy") ? path_beside(path, ".ids.csv", arena) : NULL;
}

static liana_status open_arrays(features *own, const char *path, liana__arena *arena, liana__error *error)
{
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        const liana_shape *shape = &own->objective->outputs[i].shape;
        char ending[32];
        snprintf(ending, sizeof ending, "_%zu.npy", i);
        const char *name = i ? path_beside(path, ending, arena) : path;
        if (!name) return liana__fail_memory(error, path);
        LIANA_TRY(liana__npy_begin(&own->arrays[i], name, shape->dims + 1, shape->rank - 1, error));
        own->num_arrays++;
    }
    return LIANA_OK;
}

static liana_status write_text(features *own, liana__error *error)
{
    if (own->text.failed) return liana__fail_memory(error, "the outputs of a layer");
    const liana_status status = liana__file_write(&own->rows, own->text.data, own->text.length, error);
    own->text.length = 0;
    return status;
}

static liana_status open_files(features *own, const char *path, liana__arena *arena, liana__error *error)
{
    const char *rows = own->is_npy ? liana__features_ids(path, arena) : path;
    if (!rows) return liana__fail_memory(error, path);
    if (own->is_npy) LIANA_TRY(open_arrays(own, path, arena, error));
    LIANA_TRY(liana__file_begin(&own->rows, rows, error));
    own->has_rows = true;
    if (own->is_npy) liana__text_add(&own->text, "id\n");
    if (!own->is_npy) liana__add_value_header(own->objective, &own->text);
    return write_text(own, error);
}

/* Of each example the results stand one behind the other. */
static liana_status write_array(features *own, size_t index, const float *outputs, int64_t count, size_t offset,
                                liana__error *error)
{
    const size_t size = (size_t)liana_shape_size(&own->objective->outputs[index].shape);
    const size_t row_size = (size_t)liana__trainer_row_size(own->run->core.trainer);
    if (size == row_size) return liana__npy_write(&own->arrays[index], outputs, count, error);
    if (count > own->capacity) {
        free(own->gathered);
        own->gathered = malloc((size_t)count * row_size * sizeof *own->gathered);
        own->capacity = own->gathered ? count : 0;
        if (!own->gathered) return liana__fail_memory(error, "the outputs of a layer");
    }
    for (size_t i = 0; i < (size_t)count; i++) {
        memcpy(own->gathered + i * size, outputs + i * row_size + offset, size * sizeof *outputs);
    }
    return liana__npy_write(&own->arrays[index], own->gathered, count, error);
}

static liana_status add_batch(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    features *own = user;
    const size_t row_size = (size_t)liana__trainer_row_size(own->run->core.trainer);
    if (!own->has_rows) return LIANA_OK;
    for (size_t i = 0, offset = 0; i < own->num_arrays; i++) {
        LIANA_TRY(write_array(own, i, outputs, batch->count, offset, error));
        offset += (size_t)liana_shape_size(&own->objective->outputs[i].shape);
    }
    for (int64_t i = 0; i < batch->count; i++) {
        if (!own->is_npy) {
            liana__add_value_row(own->run->core.trainer, batch, i, outputs + (size_t)i * row_size, &own->text);
            continue;
        }
        liana__add_example_id(batch, i, &own->text);
        liana__text_add(&own->text, "\n");
    }
    return write_text(own, error);
}

/* The ids appear last: where they are, everything is. */
static liana_status finish_files(features *own, liana__error *error)
{
    while (own->num_arrays) LIANA_TRY(liana__npy_finish(&own->arrays[--own->num_arrays], error));
    own->has_rows = false;
    return liana__file_commit(&own->rows, true, error);
}

static void free_features(features *own)
{
    for (size_t i = 0; i < own->num_arrays; i++) liana__npy_abandon(&own->arrays[i]);
    if (own->has_rows) liana__file_abandon(&own->rows);
    liana__text_free(&own->text);
    liana__totals_free(&own->totals);
    free(own->gathered);
}

/* A chief that has died had the files. */
static liana_status finish(features *own, bool is_chief, liana__error *error)
{
    if (!is_chief) return LIANA_OK;
    if (own->has_rows) return finish_files(own, error);
    return liana__fail(error, LIANA_UNAVAILABLE, "the process that wrote the outputs is gone; start again");
}

static liana_status write_all(features *own, const liana__run_data *data, const char *path, liana__arena *arena,
                              liana__error *error)
{
    liana__cluster *cluster = own->run->core.cluster;
    liana_status status = LIANA_OK;
    if (liana__cluster_is_chief(cluster)) status = open_files(own, path, arena, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    status = liana__evaluate(own->run->core.trainer, data->loader, 0, &own->totals, add_batch, own, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    return liana__cluster_agree_status(cluster, finish(own, liana__cluster_is_chief(cluster), error), error);
}

liana_status liana__run_write_features(liana__run *run, const liana__run_data *data, const char *path,
                                       liana__measured *measured, liana__error *error)
{
    features own = {.run = run,
                    .objective = liana__trainer_objective(run->core.trainer),
                    .is_npy = liana__ends_with(path, ".npy")};
    const liana_status status = write_all(&own, data, path, &run->arena, error);
    *measured = liana__totals_finish(&own.totals);
    free_features(&own);
    return status;
}
