/* The true classes of data that are predicted. */
#include "train/run/run_truth.h"

#include "data/source/cast.h"
#include "data/source/image_names.h"
#include "data/source/source_open.h"
#include "models/imagenet.h"
#include "train/run/run_internal.h"

#include <string.h>

/* Single image files have no class: their folder is no part of the data. */
static bool names_images_alone(const liana__source_config *where)
{
    for (size_t i = 0; i < where->paths.count; i++) {
        if (!liana__named_as_image(where->paths.items[i]) || liana__folder_exists(where->paths.items[i])) return false;
    }
    return true;
}

static void close_source(liana__run_truth *truth)
{
    if (truth->source) liana__source_scratch_destroy(truth->source, truth->scratch);
    if (truth->source) liana__source_close(truth->source);
    truth->source = NULL;
    truth->scratch = NULL;
}

/* A folder's names mean nothing to a run whose classes have none. */
static bool names_mean_something(const liana__run *run, const liana__source *source)
{
    return !source->class_names.count || liana__run_output_names(run, 0).count;
}

static liana_status open_labelled(liana__run *run, const liana__source_config *where, liana__run_truth *truth,
                                  liana__error *error)
{
    liana__source_options options = liana__config_source_options(run->config, where);
    options.class_names = run->class_names;
    options.labels_are_names = run->config->data.label_kind == LIANA__LABELS_NAMES;
    options.columns_optional = options.measured = true;
    options.remote = run->remote;
    LIANA_TRY(liana__source_open(where->paths.items, where->paths.count, &options, &truth->source, error));
    return liana__run_leave_out(run, &truth->source, error);
}

liana_status liana__run_open_truth(liana__run *run, const liana__source_config *where, const liana__run_data *data,
                                   liana__run_truth *truth, liana__error *error)
{
    liana__error own = {0};
    *truth = (liana__run_truth){.run = run};
    /* Other data than ImageNet's have other classes of these numbers. */
    const bool is_imagenet = liana__run_output_names(run, 0).items == liana__imagenet_names;
    if (!liana__run_predicts_classes(run) || is_imagenet || names_images_alone(where)) return LIANA_OK;
    const liana_status status = open_labelled(run, where, truth, &own);
    if (status == LIANA_OUT_OF_MEMORY) *error = own;
    if (status != LIANA_OK) {
        close_source(truth);
        if (status == LIANA_OUT_OF_MEMORY) return status;
        truth->why_not = liana__arena_string(&run->arena, own.message);
        return LIANA_OK;
    }
    truth->place = liana__run_find_truth(run, truth->source);
    if (truth->place != SIZE_MAX) truth->scratch = liana__source_scratch_create(truth->source);
    if (truth->place != SIZE_MAX && !truth->scratch) return liana__fail_memory(error, "the true classes");
    const bool same = truth->source->num_records == data->source->num_records;
    if (truth->place == SIZE_MAX || !same || !names_mean_something(run, truth->source)) close_source(truth);
    return LIANA_OK;
}

/* Whether the record is the example: its id says so. */
static bool is_of(const liana_source_record *record, const char *id)
{
    if (!record->id || !id) return true;
    const size_t size = record->id_size ? record->id_size : strlen(record->id);
    return strlen(id) == size && memcmp(record->id, id, size) == 0;
}

int liana__run_truth_of(const liana__run_truth *truth, const liana__batch *batch, int64_t index)
{
    liana_source_record record;
    liana__error own;
    int32_t label = -1;
    if (!truth->source || !batch->records) return -1;
    const uint64_t number = batch->records[index];
    if (liana__source_read(truth->source, number, truth->scratch, &record, &own) != LIANA_OK) return -1;
    if (!is_of(&record, batch->ids ? batch->ids[index] : NULL)) return -1;
    const int64_t count = (int64_t)liana__run_output_classes(truth->run, 0).count;
    if (truth->place == LIANA_MAX_COMPONENTS) {
        const int64_t offset = truth->run->config->data.label_offset;
        const bool good = record.has_label &&
                          liana__source_label(truth->source, number, &record, offset, count, &label, &own) == LIANA_OK;
        return good ? label : -1;
    }
    const liana_dtype dtype = (liana_dtype)truth->source->components[truth->place].dtype;
    if (liana__cast_values(dtype, record.values[truth->place], LIANA_S32, &label, 1) >= 0) return -1;
    return label >= 0 && label < count ? label : -1;
}

void liana__run_truth_free(liana__run_truth *truth)
{
    close_source(truth);
}
