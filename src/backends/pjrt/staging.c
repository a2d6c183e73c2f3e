/* Lays out batches for whole updates, and sends them. */
#include "backends/pjrt/staging.h"

#include "backends/shard_programs.h"

#include <string.h>

/* Behind the inputs. */
enum { PLACES, SCALARS, NUM_STEPS, NUM_OTHERS };

static size_t num_buffers(const liana__staging_layout *layout)
{
    return layout->leaves->num_inputs + NUM_OTHERS;
}

static bool is_table(const liana__staging_layout *layout, size_t input)
{
    return layout->in_table && layout->in_table[input];
}

size_t liana__staging_row_size(const liana__node *input)
{
    return liana__byte_size(input->dtype, &input->shape) / (size_t)input->shape.dims[0];
}

/* Rows of a device in an execution. */
static size_t num_rows(const liana__staging_layout *layout)
{
    return layout->most_steps * (size_t)(layout->places * layout->size);
}

liana_status liana__staging_create(const liana__staging_layout *layout, liana__staging *staging, liana__error *error)
{
    const size_t buffers = layout->num_devices * num_buffers(layout), inputs = layout->leaves->num_inputs;
    const size_t rows = layout->num_devices * num_rows(layout);
    *staging = (liana__staging){.layout = layout};
    liana__arena *arena = &staging->arena;
    staging->rows = liana__arena_allocate(arena, (inputs + 1) * sizeof *staging->rows);
    staging->scalars = liana__arena_allocate(arena, layout->most_steps * layout->num_scalars * sizeof(float));
    staging->buffers = liana__arena_allocate(arena, buffers * sizeof *staging->buffers);
    staging->fences = liana__arena_allocate(arena, buffers * sizeof *staging->fences);
    if (layout->in_table) staging->records = liana__arena_allocate(arena, rows * sizeof *staging->records);
    for (size_t i = 0; !arena->failed && i < inputs; i++) {
        if (is_table(layout, i)) continue;
        staging->rows[i] = liana__arena_allocate(arena, rows * liana__staging_row_size(layout->leaves->inputs[i]));
    }
    return arena->failed ? liana__fail_memory(error, "the batches of an execution") : LIANA_OK;
}

void liana__staging_free(liana__staging *staging)
{
    if (staging->buffers && staging->fences) (void)!liana__staging_clear(staging, NULL);
    liana__arena_free(&staging->arena);
    *staging = (liana__staging){0};
}

/* ---- rows ---- */

static void fill_present(float *present, int64_t there, int64_t size)
{
    for (int64_t i = 0; i < size; i++) present[i] = i < there ? 1 : 0;
}

/* The rows of a shard, and behind them copies of the batch's first row: values that any input may have. */
static void fill_rows(char *to, const char *rows, size_t bytes, const liana__leaf *leaf, int64_t size)
{
    const size_t there = (size_t)leaf->size * bytes;
    memcpy(to, rows + (size_t)leaf->begin * bytes, there);
    for (int64_t i = leaf->size; i < size; i++) memcpy(to + (size_t)i * bytes, rows, bytes);
}

/* The same of their places in tables. */
static void fill_records(int32_t *to, const uint64_t *records, const liana__leaf *leaf, int64_t size)
{
    for (int64_t i = 0; i < size; i++) to[i] = (int32_t)(i < leaf->size ? records[leaf->begin + i] : records[0]);
}

/* One place of a device; a shard of size 0: it has none. */
static void fill_place(liana__staging *staging, const liana__leaf_batch *batch, size_t place, const liana__leaf *leaf)
{
    const liana__staging_layout *layout = staging->layout;
    const size_t first = place * (size_t)layout->size;
    if (staging->records) fill_records(staging->records + first, batch->records, leaf, layout->size);
    for (size_t i = 0; i < layout->leaves->num_inputs; i++) {
        const size_t bytes = liana__staging_row_size(layout->leaves->inputs[i]);
        if (is_table(layout, i)) continue;
        char *to = staging->rows[i] + place * (size_t)layout->size * bytes;
        if (layout->components[i] == LIANA__COMPONENT_PRESENT) {
            fill_present((float *)(void *)to, leaf->size, layout->size);
        } else {
            fill_rows(to, batch->rows[layout->components[i]], bytes, leaf, layout->size);
        }
    }
}

void liana__staging_add(liana__staging *staging, const liana__leaf_batch *batch)
{
    const liana__staging_layout *layout = staging->layout;
    const size_t step = (size_t)staging->num_steps++, places = (size_t)layout->places;
    const liana__leaf none = {batch->num_leaves ? batch->leaves[0].begin : 0, 0};
    for (size_t device = 0; device < layout->num_devices; device++) {
        /* Neighbours stay together, and no device has more than one shard more than another. */
        const size_t first = device * batch->num_leaves / layout->num_devices,
                     end = (device + 1) * batch->num_leaves / layout->num_devices;
        for (size_t i = 0; i < places; i++) {
            const size_t place = (device * layout->most_steps + step) * places + i;
            fill_place(staging, batch, place, first + i < end ? &batch->leaves[first + i] : &none);
        }
    }
}

/* ---- sending ---- */

static liana_status send(liana__staging *staging, size_t device, size_t number, liana_dtype dtype,
                         const liana_shape *shape, const void *data, liana__error *error)
{
    const size_t place = device * num_buffers(staging->layout) + number;
    return liana__pjrt_upload(staging->layout->devices[device], dtype, shape, data, &staging->buffers[place],
                              &staging->fences[place], error);
}

static liana_status send_rows_to(liana__staging *staging, size_t device, liana__error *error)
{
    const liana__staging_layout *layout = staging->layout;
    for (size_t i = 0; i < layout->leaves->num_inputs; i++) {
        const liana__node *input = layout->leaves->inputs[i];
        if (is_table(layout, i)) continue;
        liana_shape shape = input->shape;
        shape.dims[0] = (int64_t)num_rows(layout);
        const char *rows = staging->rows[i] + device * num_rows(layout) * liana__staging_row_size(input);
        LIANA_TRY(send(staging, device, i, input->dtype, &shape, rows, error));
    }
    if (!staging->records) return LIANA_OK;
    const liana_shape shape = liana_shape_of((int64_t)num_rows(layout));
    return send(staging, device, layout->leaves->num_inputs + PLACES, LIANA_S32, &shape,
                staging->records + device * num_rows(layout), error);
}

liana_status liana__staging_send_rows(liana__staging *staging, liana__error *error)
{
    if (staging->is_sent) return LIANA_OK;
    staging->is_sent = true;
    for (size_t device = 0; device < staging->layout->num_devices; device++) {
        LIANA_TRY(send_rows_to(staging, device, error));
    }
    return LIANA_OK;
}

liana_status liana__staging_send_scalars(liana__staging *staging, const float *scalars, liana__error *error)
{
    const liana__staging_layout *layout = staging->layout;
    const size_t behind = layout->leaves->num_inputs;
    const liana_shape shape = liana_shape_of((int64_t)layout->most_steps, (int64_t)layout->num_scalars);
    memcpy(staging->scalars, scalars, (size_t)staging->num_steps * layout->num_scalars * sizeof *scalars);
    for (size_t device = 0; device < layout->num_devices; device++) {
        LIANA_TRY(send(staging, device, behind + SCALARS, LIANA_F32, &shape, staging->scalars, error));
        LIANA_TRY(send(staging, device, behind + NUM_STEPS, LIANA_S32, &LIANA_SCALAR, &staging->num_steps, error));
    }
    return LIANA_OK;
}

liana__buffer *const *liana__staging_buffers(const liana__staging *staging, size_t device, size_t *count)
{
    *count = num_buffers(staging->layout);
    return staging->buffers + device * *count;
}

liana_status liana__staging_clear(liana__staging *staging, liana__error *error)
{
    const size_t count = staging->layout->num_devices * num_buffers(staging->layout);
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < count; i++) {
        liana_status one = liana__pjrt_wait(staging->fences[i], status == LIANA_OK ? error : NULL);
        if (status == LIANA_OK) status = one;
        liana__pjrt_buffer_destroy(staging->buffers[i]);
        staging->fences[i] = NULL;
        staging->buffers[i] = NULL;
    }
    staging->num_steps = 0;
    staging->is_sent = false;
    return status;
}
