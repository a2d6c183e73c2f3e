/* Where it costs much to jump about in the data: the blocks of elements that are read together, handed on by stages
 * that keep the order. */
#include "data/dataset/dataset.h"

/* Blocks of elements offset, offset + step, ... that are below the length; none twice. */
liana_status liana__dataset_slice_blocks(liana_dataset *dataset, uint64_t offset, uint64_t step, liana__error *error)
{
    const liana_dataset *input = dataset->inputs[0];
    if (!input->block_starts || dataset->length < 0) return LIANA_OK;
    uint64_t *starts = liana__arena_allocate(&dataset->arena, input->num_blocks * sizeof *starts);
    if (!starts) return liana__fail_memory(error, dataset->name);
    size_t count = 0;
    for (size_t i = 0; i < input->num_blocks; i++) {
        uint64_t from = input->block_starts[i], start = from > offset ? (from - offset - 1) / step + 1 : 0;
        if (start >= (uint64_t)dataset->length) break;
        if (count && starts[count - 1] == start) count--;
        starts[count++] = start;
    }
    dataset->block_starts = starts;
    dataset->num_blocks = count;
    return LIANA_OK;
}

static size_t blocks_of(const liana_dataset *input)
{
    return input->block_starts ? input->num_blocks
                               : ((size_t)input->length + LIANA__PLAIN_BLOCK - 1) / LIANA__PLAIN_BLOCK;
}

liana_status liana__dataset_join_blocks(liana_dataset *dataset, liana__error *error)
{
    size_t count = 0;
    bool any = false;
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        if (dataset->inputs[i]->length < 0) return LIANA_OK;
        any = any || dataset->inputs[i]->block_starts;
        count += blocks_of(dataset->inputs[i]);
    }
    if (!any) return LIANA_OK;
    uint64_t *starts = liana__arena_allocate(&dataset->arena, (count + 1) * sizeof *starts), first = 0;
    if (!starts) return liana__fail_memory(error, dataset->name);
    dataset->block_starts = starts;
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        const liana_dataset *input = dataset->inputs[i];
        for (size_t k = 0; k < blocks_of(input); k++) {
            *starts++ = first + (input->block_starts ? input->block_starts[k] : (uint64_t)k * LIANA__PLAIN_BLOCK);
        }
        first += (uint64_t)input->length;
    }
    dataset->num_blocks = count;
    return LIANA_OK;
}
