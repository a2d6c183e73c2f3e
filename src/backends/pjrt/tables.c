/* Fills tables on the host, and sends them. */
#include "backends/pjrt/tables.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t num_inputs(const liana__tables *tables)
{
    return tables->layout->leaves->num_inputs;
}

static size_t row_size(const liana__tables *tables, size_t input)
{
    return liana__staging_row_size(tables->layout->leaves->inputs[input]);
}

static void free_rows(liana__tables *tables)
{
    for (size_t i = 0; tables->rows && i < num_inputs(tables); i++) free(tables->rows[i]);
    free(tables->rows);
    tables->rows = NULL;
}

void liana__tables_free(liana__tables *tables)
{
    if (!tables->layout) return;
    free_rows(tables);
    for (size_t i = 0; tables->buffers && i < tables->layout->num_devices * num_inputs(tables); i++) {
        liana__pjrt_buffer_destroy(tables->buffers[i]);
    }
    free(tables->buffers);
    free(tables->is_there);
    *tables = (liana__tables){0};
}

size_t liana__tables_size(const liana__tables *tables)
{
    size_t row = 0;
    for (size_t i = 0; i < num_inputs(tables); i++) row += tables->layout->in_table[i] ? row_size(tables, i) : 0;
    return row * (size_t)tables->num_rows;
}

static liana_status allocate(liana__tables *tables, liana__error *error)
{
    const size_t count = (size_t)tables->num_rows;
    tables->rows = calloc(num_inputs(tables) + 1, sizeof *tables->rows);
    tables->is_there = calloc(count, 1);
    bool made = tables->rows && tables->is_there;
    for (size_t i = 0; made && i < num_inputs(tables); i++) {
        if (!tables->layout->in_table[i]) continue;
        tables->rows[i] = calloc(count, row_size(tables, i));
        made = tables->rows[i] != NULL;
    }
    return made ? LIANA_OK : liana__fail_memory(error, "the examples that are sent to the devices");
}

static liana_status check_records(const liana__tables *tables, const liana__leaf_batch *batch, liana__error *error)
{
    for (size_t k = 0; batch->records && k < batch->num_leaves; k++) {
        const liana__leaf *leaf = &batch->leaves[k];
        for (int64_t i = leaf->begin; i < leaf->begin + leaf->size; i++) {
            if (batch->records[i] < (uint64_t)tables->num_rows) continue;
            return liana__fail(error, LIANA_INTERNAL, "there is no record %llu in tables of %lld",
                               (unsigned long long)batch->records[i], (long long)tables->num_rows);
        }
    }
    if (batch->records) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "a batch does not say where its rows are in the tables");
}

static void keep_leaf(const liana__tables *tables, const liana__leaf_batch *batch, const liana__leaf *leaf)
{
    for (int64_t i = leaf->begin; i < leaf->begin + leaf->size; i++) {
        const size_t record = (size_t)batch->records[i];
        tables->is_there[record] = 1;
        for (size_t k = 0; k < num_inputs(tables); k++) {
            const size_t bytes = row_size(tables, k);
            if (!tables->rows[k]) continue;
            const char *rows = batch->rows[tables->layout->components[k]];
            memcpy(tables->rows[k] + record * bytes, rows + (size_t)i * bytes, bytes);
        }
    }
}

liana_status liana__tables_keep(liana__tables *tables, const liana__leaf_batch *batch, liana__error *error)
{
    if (tables->is_sent) return liana__fail(error, LIANA_INTERNAL, "the tables are on the devices already");
    LIANA_TRY(check_records(tables, batch, error));
    if (!tables->rows) LIANA_TRY(allocate(tables, error));
    for (size_t k = 0; k < batch->num_leaves; k++) keep_leaf(tables, batch, &batch->leaves[k]);
    return LIANA_OK;
}

static liana_status send_to(liana__tables *tables, size_t device, liana__error *error)
{
    const liana__staging_layout *layout = tables->layout;
    for (size_t i = 0; i < num_inputs(tables); i++) {
        const liana__node *input = layout->leaves->inputs[i];
        if (!layout->in_table[i]) continue;
        liana_shape shape = input->shape;
        shape.dims[0] = tables->num_rows;
        LIANA_TRY(liana__pjrt_upload(layout->devices[device], input->dtype, &shape, tables->rows[i],
                                     &tables->buffers[device * num_inputs(tables) + i], NULL, error));
    }
    return LIANA_OK;
}

liana_status liana__tables_send(liana__tables *tables, liana__error *error)
{
    const size_t num_devices = tables->layout->num_devices;
    if (!tables->rows) LIANA_TRY(allocate(tables, error));
    tables->buffers = calloc(num_devices * num_inputs(tables) + 1, sizeof *tables->buffers);
    if (!tables->buffers) return liana__fail_memory(error, "the examples that are sent to the devices");
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < num_devices; i++) status = send_to(tables, i, error);
    free_rows(tables);
    tables->is_sent = status == LIANA_OK;
    return status;
}

liana_status liana__tables_check(const liana__tables *tables, const liana__leaf_batch *batch, liana__error *error)
{
    if (!tables->is_sent) return liana__fail(error, LIANA_INTERNAL, "the tables are not on the devices yet");
    LIANA_TRY(check_records(tables, batch, error));
    for (size_t k = 0; k < batch->num_leaves; k++) {
        const liana__leaf *leaf = &batch->leaves[k];
        for (int64_t i = leaf->begin; i < leaf->begin + leaf->size; i++) {
            if (tables->is_there[batch->records[i]]) continue;
            return liana__fail(error, LIANA_DATA_LOSS,
                               "record %llu could not be read when the data were sent to the device, and now it can: "
                               "did its file change? begin the training again",
                               (unsigned long long)batch->records[i]);
        }
    }
    return LIANA_OK;
}

liana__buffer *liana__tables_buffer(const liana__tables *tables, size_t device, size_t input)
{
    return tables->buffers[device * num_inputs(tables) + input];
}
