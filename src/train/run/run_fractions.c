/* Whether the pixels of a run are floats. Resized ones have fractions, as in Keras; where no image is resized, bytes hold
 * the same numbers in a quarter of the memory. */
#include "train/run/run_internal.h"

#include "data/augment/augment.h"

/* Looking at more than this takes longer than bytes save. */
enum { MOST_RECORDS = 1 << 18 };
static const uint64_t MOST_BYTES = UINT64_C(2) << 30;

static liana_status find_size(const liana_source_record *record, liana__image *image)
{
    *image = (liana__image){.height = record->height, .width = record->width};
    return record->bytes ? liana__image_probe(record->bytes, record->size, NULL, image, NULL) : LIANA_OK;
}

/* Whether images of this size are all that there are. Records that cannot be read are told when their turn comes. */
static bool is_of_size(const liana__source *source, const int64_t size[2])
{
    if (source->lacks_images) return true;
    if (source->streams || source->varies || source->num_records > MOST_RECORDS) return false;
    void *scratch = liana__source_scratch_create(source);
    bool same = scratch != NULL;
    uint64_t bytes = 0;
    for (uint64_t i = 0; same && i < source->num_records && bytes <= MOST_BYTES; i++) {
        liana_source_record record;
        liana__image image;
        if (liana__source_read(source, i, scratch, &record, NULL) != LIANA_OK) continue;
        bytes += record.bytes ? record.size : 0;
        if (find_size(&record, &image) != LIANA_OK) continue;
        same = image.height == size[0] && image.width == size[1];
        /* Pixels without a file, as in IDX files, are of one size. */
        if (record.pixels && !record.bytes) break;
    }
    liana__source_scratch_destroy(source, scratch);
    return same && bytes <= MOST_BYTES;
}

static bool needs_fractions(const liana__run *run)
{
    /* Augmentation works on bytes. */
    bool trains_on_bytes = !run->training.source || run->training.augment;
    if (!trains_on_bytes && !is_of_size(run->training.source, run->image_shape)) return true;
    if (run->validation.source && !is_of_size(run->validation.source, run->image_shape)) return true;
    return run->test.source && !is_of_size(run->test.source, run->image_shape);
}

void liana__run_find_fractions(liana__run *run, const liana__run_options *options)
{
    const liana__data_config *data = &run->config->data;
    if (!run->image_shape[0] && !data->image_size[0]) return;
    if (data->resize.round && run->config->is_older) {
        liana__run_tell(run, "resized pixels are rounded to whole numbers, as they were when this run began "
                             "(data.resize.round: true)");
    }
    /* What a run without training reads is opened later. */
    run->fractions = !data->resize.round && (!options->training || needs_fractions(run));
}
