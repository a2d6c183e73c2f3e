/* widened.h - kernels for f32 that run nodes of bf16: the operands are copied as f32, the result is rounded.
 *
 * For ops without a kernel that reads bf16. It is slower than f32 by the copies, and as exact as bf16 can be. Weights
 * are copied when they are packed, once for as long as they stay. */
#ifndef LIANA_KERNELS_WIDENED_H
#define LIANA_KERNELS_WIDENED_H

#include "ir/op.h"

/* The part of src[0] that a tile of the plain kernel reads, and the part that it writes: `rows` rows of `row_size`,
 * `stride` apart. In elements. */
typedef struct liana__widened_part {
    int64_t source, source_size;
    int64_t target, rows, row_size, stride;
} liana__widened_part;

/* A kernel's `prepare` for a node of two bf16 inputs whose result is bf16 or f32. `plain` runs the same node in f32 and
 * prepared it; of its members run, release and pack are used, the last two may be NULL. Takes the prepared values over,
 * also on failure. Errors: OUT_OF_MEMORY. */
liana_status liana__widened_prepare(const liana__node *node, const liana__kernel *plain,
                                    const liana__prepared *of_plain, liana__prepared *prepared, liana__error *error)
    LIANA_MUST_USE;

/* The plain kernel's prepared data, for a kernel's `cut`, which cuts them and then calls liana__widened_use_cut. `find`
 * gives the parts that its tiles read and write. */
liana__prepared *liana__widened_plain(liana__prepared *prepared);
void liana__widened_use_cut(liana__prepared *prepared,
                            void (*find)(const void *plain_plan, size_t tile, liana__widened_part *part));

/* A kernel's `run`, `pack` and `release`. */
liana_status liana__widened_run(const liana__call *call);
liana_status liana__widened_pack(const liana__call *call, void *packed);
void liana__widened_release(void *plan);
#define LIANA__WIDENED_MEMBERS .release = liana__widened_release, .run = liana__widened_run, .pack = liana__widened_pack

#endif
