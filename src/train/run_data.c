/* The data of a run: sources, classes, the shape of the images, loaders. */
#include "train/run_internal.h"

static bool is_configured(const liana__source_config *where)
{
    return where->images || where->paths.count > 0;
}

static liana_status open_source(const liana__run *run, const liana__source_config *where, bool need_labels,
                                liana__source **source, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    liana__source_options options = {.kind = where->images ? "idx" : "auto",
                                     .image_feature = data->features.image,
                                     .label_feature = data->features.label,
                                     .id_feature = data->features.id,
                                     .labels = where->labels,
                                     .class_names = run->class_names,
                                     .take = (uint64_t)data->take,
                                     .need_labels = need_labels};
    const char *const *patterns = where->images ? &where->images : where->paths.items;
    size_t count = where->images ? 1 : where->paths.count;
    return liana__source_open(patterns, count, &options, source, error);
}

void liana__run_close_data(liana__run_data *data)
{
    liana__loader_destroy(data->loader);
    if (data->source) liana__source_close(data->source);
    *data = (liana__run_data){0};
}

/* ---- classes ---- */

static liana_status find_classes(liana__run *run, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    run->num_classes = data->num_classes;
    const liana__source *source = run->training.source ? run->training.source : run->validation.source;
    if (!run->class_names.count && source && source->class_names.count) run->class_names = source->class_names;
    if (!run->num_classes) run->num_classes = (int64_t)run->class_names.count;
    if (run->num_classes) return LIANA_OK;
    if (!source) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the number of classes is not known; set data.class_names or "
                           "data.num_classes");
    }
    return liana__source_count_classes(source, data->label_offset, &run->num_classes, error);
}

/* ---- the shape of the images ---- */

/* As configured; what is not, as in the first record. */
static liana_status find_image_shape(liana__run *run, const liana__source *source, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    int64_t wanted[3] = {data->image_size[0], data->image_size[1], data->channels};
    int64_t height = 0, width = 0;
    int channels = 0;
    if (!wanted[0] || !wanted[1] || !wanted[2]) {
        LIANA_TRY(liana__decode_probe(source, &height, &width, &channels, error));
    }
    run->image_shape[0] = wanted[0] ? wanted[0] : height;
    run->image_shape[1] = wanted[1] ? wanted[1] : width;
    run->image_shape[2] = wanted[2] ? wanted[2] : channels;
    return LIANA_OK;
}

/* ---- loaders ---- */

static liana_status start_loader(const liana__run *run, liana__run_data *part, bool training, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    const liana__train_config *train = &run->config->train;
    size_t memory = data->memory ? (size_t)data->memory << 20 : (size_t)1 << 30;
    liana__loader_options options = {
        .image = {.height = run->image_shape[0],
                  .width = run->image_shape[1],
                  .channels = (int)run->image_shape[2],
                  .antialias = data->resize.antialias},
        .batch_size = train->batch_size,
        .steps_per_epoch = training ? train->steps_per_epoch : 0,
        .remainder = training ? (liana__remainder)train->remainder : LIANA__REMAINDER_KEEP,
        .shuffle = training && data->shuffle,
        .seed = (uint64_t)train->seed,
        .num_classes = run->num_classes,
        .label_offset = data->label_offset,
        .num_threads = (int)data->threads,
        .memory = memory / 2,
        .cache_memory = data->cache ? memory / 2 : 0,
    };
    return liana__loader_create(part->source, &options, &part->loader, error);
}

liana_status liana__run_start_loaders(liana__run *run, liana__error *error)
{
    liana__run_data *parts[] = {&run->training, &run->validation, &run->test};
    for (int i = 0; i < 3; i++) {
        if (!parts[i]->source) continue;
        LIANA_TRY(start_loader(run, parts[i], i == 0, error));
    }
    return LIANA_OK;
}

liana_status liana__run_open_data(liana__run *run, const liana__source_config *where, bool need_labels,
                                  liana__run_data *data, liana__error *error)
{
    *data = (liana__run_data){0};
    LIANA_TRY(open_source(run, where, need_labels, &data->source, error));
    liana_status status = start_loader(run, data, false, error);
    if (status != LIANA_OK) liana__run_close_data(data);
    return status;
}

/* ---- all of it ---- */

liana_status liana__run_find_data(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    run->class_names = data->class_names;
    if (options->training || !is_configured(&data->validation)) {
        LIANA_TRY(open_source(run, &data->train, true, &run->training.source, error));
    }
    if (is_configured(&data->validation)) {
        LIANA_TRY(open_source(run, &data->validation, true, &run->validation.source, error));
    }
    if (options->training && is_configured(&data->test)) {
        LIANA_TRY(open_source(run, &data->test, false, &run->test.source, error));
    }
    LIANA_TRY(find_classes(run, error));
    const liana__source *first = run->training.source ? run->training.source : run->validation.source;
    LIANA_TRY(find_image_shape(run, first, error));
    liana__run_note(options, "%llu training, %llu validation, %llu test examples; %lld classes; images %lldx%lldx%lld",
                    run->training.source ? (unsigned long long)run->training.source->num_records : 0,
                    run->validation.source ? (unsigned long long)run->validation.source->num_records : 0,
                    run->test.source ? (unsigned long long)run->test.source->num_records : 0,
                    (long long)run->num_classes, (long long)run->image_shape[0], (long long)run->image_shape[1],
                    (long long)run->image_shape[2]);
    return LIANA_OK;
}
