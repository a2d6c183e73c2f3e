/* block_order.h - a shuffled order for sources that are read in blocks, such as compressed files. Blocks are permuted;
 * then, in windows of LIANA__BLOCK_WINDOW blocks, their records are permuted. Like every order it is a pure function of
 * the seed and the pass. It reads each block once in a pass. */
#ifndef LIANA_DATA_BLOCK_ORDER_H
#define LIANA_DATA_BLOCK_ORDER_H

#include "data/source/source.h"

typedef struct liana__block_order liana__block_order;

/* Makes the order of num_records records in blocks, as a source gives them (data/source/source.h). block_starts must
 * outlive the order. Errors: OUT_OF_MEMORY. */
liana_status liana__block_order_create(const uint64_t *block_starts, size_t num_blocks, uint64_t num_records,
                                       uint64_t seed, liana__block_order **order, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__block_order_destroy(liana__block_order *order);

/* The record at `index` (below num_records) of a pass. One thread at a time: the windows of a pass are made when it is
 * first asked for. */
uint64_t liana__block_order_record(liana__block_order *order, uint64_t pass, uint64_t index);

#endif
