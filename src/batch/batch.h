/* batch.h - a batch of examples: named components, from the source to the shards.
 *
 * A loader fills one, a program's arrays become one, and a step reads one. A reader of a component asks for it by its
 * name. */
#ifndef LIANA_BATCH_BATCH_H
#define LIANA_BATCH_BATCH_H

#include <liana/graph.h>

/* Components of a batch, with those that mixing and a step add. */
enum { LIANA__MAX_COMPONENTS = 40 };

/* A component: the values of all examples, one behind the other. */
typedef struct liana__batch_component {
    const char *name;
    liana_dtype dtype;
    liana_shape shape; /* of one example */
    void *rows;        /* [count, shape...]; of a loader aligned to LIANA__ALIGNMENT */
    /* Of mixed examples: the component of which these are the partners' values. NULL: they are the examples' own. */
    const struct liana__batch_component *partner_of;
} liana__batch_component;

/* The facts of a whole step that several processes share; a batch has only some of its shards. */
typedef struct liana__step_workers {
    size_t count; /* of processes */
    size_t self;
    bool one_reader; /* one process makes all of the step ... */
    size_t reader;   /* ... this one */
    int64_t num_shards;
    int64_t *bounds;       /* [count + 1]: process w has the shards bounds[w] to before bounds[w + 1] */
    int64_t *shard_counts; /* [num_shards]: the examples that are there, of all processes */
    bool by_count;         /* shards are as large as these say, and not cut from the positions */
    int64_t num_examples;  /* their sum */
} liana__step_workers;

/* A batch covers num_positions positions. Its examples are the usable ones, without gaps between them; there may be
 * none. Each knows its position, so neither its order nor its draws depend on missing examples. */
typedef struct liana__batch {
    int64_t count;           /* of examples */
    int64_t num_positions;   /* `count`, or more where examples are missing: shards are those of all positions */
    uint64_t first_position; /* in the endless stream */
    size_t num_components;
    liana__batch_component components[LIANA__MAX_COMPONENTS];
    uint64_t *positions; /* [count] in the endless stream, ascending */
    uint64_t *records;   /* [count] indices in the source; NULL: not known */
    char **ids;          /* [count], NULL where the data have no ids; NULL: none has one */
    /* The rows of the image and the label once more, for their makers. NULL: the batch has none. */
    uint8_t *images;  /* if they are u8 */
    float *fractions; /* if they are f32 */
    int32_t *labels;
    uint64_t epoch;      /* from 0 */
    uint64_t step;       /* in the epoch, from 0 */
    double wait_seconds; /* that its reader waited for it */
    /* Where several processes share the step: `count` and all rows are of our shards, num_positions and first_position
     * of the whole step. NULL: all of it is here. */
    const liana__step_workers *workers;
    /* Of rows that were gathered from all processes (train/objective/gathered_rows.h): those of this one, with all
     * components. NULL: the batch is not gathered. */
    const struct liana__batch *own;
} liana__batch;

/* Where a component is; num_components: the batch has none of that name. */
size_t liana__batch_find(const liana__batch *batch, const char *name);
/* Its rows; NULL: the batch has none of that name. Those of "positions" are the batch's. */
const void *liana__batch_rows_of(const liana__batch *batch, const char *name);
/* Adds one; the name and the rows are borrowed. The batch has room. */
void liana__batch_add(liana__batch *batch, const char *name, liana_dtype dtype, const liana_shape *shape,
                      const void *rows);

/* Bytes of one example. */
static inline size_t liana__batch_row_size(const liana__batch_component *component)
{
    return (size_t)liana_shape_size(&component->shape) * liana_dtype_size(component->dtype);
}

/* The share of its own image and label that an example of a mixed batch has, 0 to 1: a component. */
#define LIANA__SHARES "shares"

/* Copies the image of example i, of `size` values, as u8: fractions are rounded. */
static inline void liana__batch_pixels(const liana__batch *batch, int64_t i, size_t size, uint8_t *pixels)
{
    for (size_t k = 0; k < size; k++) {
        size_t at = (size_t)i * size + k;
        pixels[k] = batch->fractions ? (uint8_t)(batch->fractions[at] + 0.5f) : batch->images[at];
    }
}

/* The examples of the whole step, in all processes. */
static inline int64_t liana__batch_step_count(const liana__batch *batch)
{
    return batch->workers ? batch->workers->num_examples : batch->count;
}

#endif
