#include "train/dataset.h"

#include <stdlib.h>

static liana_status open_source(const char *pattern, const liana_dataset_options *options, liana_dataset *dataset,
                                liana__error *error)
{
    if (options->take < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "take is %lld, expected 0 (all) or more",
                           (long long)options->take);
    }
    liana__source_options wanted = {.image_feature = options->image_feature,
                                    .label_feature = options->label_feature,
                                    .id_feature = options->id_feature,
                                    .labels = options->labels,
                                    .class_names = options->classes_of ? options->classes_of->source->class_names
                                                                       : (liana__strings){0},
                                    .take = (uint64_t)options->take,
                                    .need_labels = !options->unlabelled,
                                    .ignore_labels = options->unlabelled};
    return liana__source_open(&pattern, 1, &wanted, &dataset->source, error);
}

liana_status liana_dataset_open(liana_context *context, const char *pattern, const liana_dataset_options *options,
                                liana_dataset **out)
{
    static const liana_dataset_options defaults;
    if (!options) options = &defaults;
    *out = NULL;
    liana_dataset *dataset = calloc(1, sizeof *dataset);
    if (!dataset) return liana__fail_memory(&context->error, "a dataset");
    dataset->context = context;
    dataset->scale = options->scale;
    dataset->label_offset = options->label_offset;
    dataset->antialias = options->antialias;
    liana_status status = open_source(pattern, options, dataset, &context->error);
    if (status != LIANA_OK) {
        free(dataset);
        return status;
    }
    *out = dataset;
    return LIANA_OK;
}

void liana_dataset_close(liana_dataset *dataset)
{
    if (!dataset) return;
    liana__source_close(dataset->source);
    free(dataset);
}

int64_t liana_dataset_num_examples(const liana_dataset *dataset)
{
    return (int64_t)dataset->source->num_records;
}

liana_status liana_dataset_count_classes(const liana_dataset *dataset, int64_t *num_classes)
{
    return liana__source_count_classes(dataset->source, dataset->label_offset, num_classes, &dataset->context->error);
}

liana_status liana_dataset_image_shape(const liana_dataset *dataset, int64_t shape[3])
{
    int channels = 0;
    liana_status status =
        liana__decode_probe(dataset->source, &shape[0], &shape[1], &channels, &dataset->context->error);
    shape[2] = channels;
    return status;
}
