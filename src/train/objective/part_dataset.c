/* The elements that one process makes. A dataset of this kind belongs to an iterator over replicas; programs see
 * none. */
#include "train/objective/part_dataset.h"

/* The place in the input of element `index` of the part. */
static uint64_t place_of(const liana__batch_part *part, uint64_t index)
{
    const uint64_t rows = (uint64_t)(part->end - part->begin), size = (uint64_t)part->batch_size;
    const uint64_t full = part->num_full < 0 ? UINT64_MAX : (uint64_t)part->num_full;
    if (rows > 0 && index / rows < full) return index / rows * size + (uint64_t)part->begin + index % rows;
    return full * size + (uint64_t)part->last_begin + (index - full * rows);
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    const liana__at inner = {at->seed, at->epoch, place_of(reader->dataset->own, at->index)};
    return liana__reader_read(reader->inputs[0], &inner, element, error);
}

static size_t trace(const liana_dataset *dataset, uint64_t *index)
{
    *index = place_of(dataset->own, *index);
    return 0;
}

static const liana_stage_type kind = {
    LIANA_PART(STAGE, liana_stage_type, "part of a batch", "A range of each batch."),
    .options_size = sizeof(liana__batch_part),
    .read = read_element,
    .trace = trace,
};

liana_dataset *liana__part_dataset(liana_dataset *input, const liana__batch_part *part)
{
    liana_dataset *dataset = liana__dataset_stage(&kind, input, sizeof *part);
    if (!dataset) return NULL;
    *(liana__batch_part *)dataset->own = *part;
    dataset->length = part->num_full < 0
                          ? (part->end > part->begin ? LIANA_INFINITE : 0)
                          : part->num_full * (part->end - part->begin) + part->last_end - part->last_begin;
    dataset->num_blocks = 0;
    return liana__dataset_finish(dataset, LIANA_OK);
}
