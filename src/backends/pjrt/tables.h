/* tables.h - rows of a data set that stay on the devices, for whole updates: each device has all of them. */
#ifndef LIANA_BACKENDS_PJRT_TABLES_H
#define LIANA_BACKENDS_PJRT_TABLES_H

#include "backends/pjrt/staging.h"

/* One table for each input of a shard that the layout says is in one. Zeros but for the first two; free it in any
 * case. */
typedef struct liana__tables {
    const liana__staging_layout *layout; /* borrowed */
    int64_t num_rows;
    char **rows;             /* by input, while tables are filled: num_rows rows on the host */
    unsigned char *is_there; /* [num_rows]: the row was put there */
    bool is_sent;
    liana__buffer **buffers; /* [devices, inputs] */
} liana__tables;

void liana__tables_free(liana__tables *tables);

/* Bytes on a device. */
size_t liana__tables_size(const liana__tables *tables);
/* Puts the rows of a batch to the places that its records say. Errors: OUT_OF_MEMORY (of the host), INTERNAL. */
liana_status liana__tables_keep(liana__tables *tables, const liana__leaf_batch *batch, liana__error *error)
    LIANA_MUST_USE;
/* Sends the tables to all devices; the host's are freed. Errors: those of an upload. */
liana_status liana__tables_send(liana__tables *tables, liana__error *error) LIANA_MUST_USE;
/* Whether all rows of a batch are in the tables, on the devices. Errors: INTERNAL. */
liana_status liana__tables_check(const liana__tables *tables, const liana__leaf_batch *batch, liana__error *error)
    LIANA_MUST_USE;
liana__buffer *liana__tables_buffer(const liana__tables *tables, size_t device, size_t input);

#endif
