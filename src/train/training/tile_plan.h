/* tile_plan.h - the tiles of a TPU for a training: how much of its products and of its memory is padding.
 *
 * A TPU core keeps two axes of an array in tiles: 8 rows (16 of bf16, 32 of bytes) by 128 columns. Its matrix units
 * multiply blocks of 128 by 128 (256 by 256 from v6e on). The rest of a tile is padding, which costs as much as numbers
 * do (Google, "Cloud TPU performance guide": batch and feature dimensions are padded to 8 and 128, or to 128 and 8).
 * The compiler chooses the two axes. Memory is counted with the pair that pads least, products as they are written:
 * channels by filters at each place of a kernel. The compiler may keep less than all that the backward pass reads,
 * since it computes some of it again. */
#ifndef LIANA_TRAIN_TILE_PLAN_H
#define LIANA_TRAIN_TILE_PLAN_H

#include "train/training/training.h"

/* A generation of TPUs (Google, "Cloud TPU documentation", system architecture). */
typedef struct liana__tpu_generation {
    const char *name;    /* "v5e", as in topologies: "v5e:2x2" */
    double memory;       /* bytes of a core, or of a chip whose cores work as one */
    int64_t matrix_unit; /* rows and columns of a block */
} liana__tpu_generation;

extern const liana__tpu_generation liana__tpu_generations[]; /* ends with a name of NULL */

/* The generation of a name or topology. Errors: INVALID_CONFIG with the known ones. */
liana_status liana__tpu_generation_find(const char *name, const liana__tpu_generation **generation, liana__error *error)
    LIANA_MUST_USE;

/* The products of one layer for one shard. */
typedef struct liana__tile_row {
    const char *layer;
    const char *type;           /* of its last result: "f32[16, 28, 28, 8]" */
    double flops;               /* of its products, forward and backward */
    double padded_flops;        /* with blocks filled up */
    int64_t features;           /* the result's last axis */
    double bytes, padded_bytes; /* of its results that the backward pass reads */
} liana__tile_row;

/* Zero-initialise; free with liana__tile_plan_free. */
typedef struct liana__tile_plan {
    liana__arena arena;
    const liana__tpu_generation *generation;
    int64_t shard; /* examples */
    liana__tile_row *rows;
    size_t count;
    double flops, padded_flops;
    double activations, padded_activations;
    double variables, padded_variables; /* weights and slots */
    double sums, padded_sums;           /* gradients and statistics */
} liana__tile_plan;

/* Of shards of `shard` examples. Layers without results of their own have no row. Errors: those of building the graph,
 * OUT_OF_MEMORY. */
liana_status liana__tile_plan_make(const liana__training *training, int64_t shard,
                                   const liana__tpu_generation *generation, liana__tile_plan *plan, liana__error *error)
    LIANA_MUST_USE;
void liana__tile_plan_free(liana__tile_plan *plan);

/* Bytes that a core needs for one shard at a time: variables, whose buffers updates use in place, sums and the values
 * that the backward pass reads, all in tiles. Memory that the compiler needs in between is left out. */
double liana__tile_plan_memory(const liana__tile_plan *plan);

/* The bytes of a tensor in tiles of the two axes that pad least. */
double liana__tiled_bytes(liana_dtype dtype, const liana_shape *shape);

/* ---- tile advice ---- */

/* Advice on a training: how a TPU pads less of it, and which shards fit into its memory. */

/* The rows of a plan by their loss, the worst first; malloc'ed. NULL: out of memory. */
const liana__tile_row **liana__tile_rows_by_loss(const liana__tile_plan *plan);

/* The percentage that a part is of the whole. */
int liana__tile_share(double part, double whole);

/* A line of how much of the products is no padding, and one for each thing to change: the shards, and the `most_widths`
 * layers that lose most. `rows` are in the order of their loss. */
void liana__tile_advice_add(const liana__tile_plan *plan, const liana__tile_row *const *rows, size_t most_widths,
                            liana__text *text);

/* A line about the part of a core's memory that training needs, where that is known (generation->memory), with advice
 * if it does not fit. */
void liana__tile_memory_add(const liana__tile_plan *plan, liana__text *text);

/* Tells the chief of a training on TPUs, at the beginning of its run, a few lines of all this: the worst layers,
 * shards, memory, and the command that says more. Other devices and other processes: nothing. Facts that cannot be
 * found out are left out: advice ends no run. */
void liana__tile_advice_note(const liana__training *training, const liana__notes *notes);

#endif
