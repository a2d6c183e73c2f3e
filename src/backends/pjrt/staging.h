/* staging.h - the batches of an execution on their way to the devices: laid out as a whole update's program reads them,
 * on the host, and then sent. */
#ifndef LIANA_BACKENDS_PJRT_STAGING_H
#define LIANA_BACKENDS_PJRT_STAGING_H

#include "backends/pjrt/buffer.h"
#include "backends/replica.h"

/* How shards lie in an execution's inputs: by update, then by place. A device has `places` places for shards of `size`
 * rows in each update. */
typedef struct liana__staging_layout {
    const liana_graph *leaves; /* its inputs are those of one round: some shards side by side */
    const size_t *components;  /* by input; LIANA__COMPONENT_PRESENT: which rows are examples */
    const bool *in_table;      /* by input: instead of its rows their places in a table are sent; NULL: of none */
    int64_t size, places;
    size_t most_steps, num_scalars, num_devices;
    liana__device *const *devices;
} liana__staging_layout;

/* Bytes of a row of an input. */
size_t liana__staging_row_size(const liana__node *input);

/* Zero-initialise; free it in any case. */
typedef struct liana__staging {
    const liana__staging_layout *layout;
    liana__arena arena; /* of all below */
    char **rows;        /* by input: [devices, updates, places, size] rows; NULL of one in a table */
    int32_t *records;   /* [devices, updates, places, size]: places in tables; NULL: there are none */
    float *scalars;     /* [updates, scalars] */
    int32_t num_steps;
    bool is_sent;            /* the rows are */
    liana__buffer **buffers; /* [devices, inputs + 3]: inputs, places in tables, scalars, number of updates; or NULL */
    liana__fence **fences;
} liana__staging;

/* The layout is borrowed. Errors: OUT_OF_MEMORY. */
liana_status liana__staging_create(const liana__staging_layout *layout, liana__staging *staging, liana__error *error)
    LIANA_MUST_USE;
void liana__staging_free(liana__staging *staging);

/* The buffers of a device in the order of a program's arguments; NULL: it is in a table, or not sent. */
liana__buffer *const *liana__staging_buffers(const liana__staging *staging, size_t device, size_t *count);

/* Takes one more update's batch. */
void liana__staging_add(liana__staging *staging, const liana__leaf_batch *batch);
/* Begins to send the rows, once. Errors: those of an upload. */
liana_status liana__staging_send_rows(liana__staging *staging, liana__error *error) LIANA_MUST_USE;
/* The same of the scalars [updates, num_scalars], which are copied, and of the number of updates. */
liana_status liana__staging_send_scalars(liana__staging *staging, const float *scalars, liana__error *error)
    LIANA_MUST_USE;
/* Waits until all that was sent is there, and frees the buffers; the next execution's batches may be added. */
liana_status liana__staging_clear(liana__staging *staging, liana__error *error) LIANA_MUST_USE;

#endif
