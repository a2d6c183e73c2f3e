/* Gathers predictions from the processes that made them. */
#include "train/objective/gathered_rows.h"

#include "base/message.h"
#include "train/objective/step_graphs.h"

#include <stdlib.h>
#include <string.h>

/* The ids of the last step go with their messages. */
static void drop_messages(liana__gathered_rows *rows)
{
    for (size_t i = 0; i < rows->num_told; i++) free(rows->told[i].data);
    free(rows->told);
    rows->told = NULL;
    rows->num_told = 0;
}

static void free_arrays(liana__gathered_rows *rows)
{
    liana__batch *batch = &rows->batch;
    free(batch->positions);
    free(batch->records);
    free(batch->ids);
    free(rows->outputs);
    for (size_t i = 0; i < batch->num_components; i++) free(batch->components[i].rows);
    *batch = (liana__batch){0};
    rows->outputs = NULL;
    rows->capacity = 0;
}

void liana__gathered_rows_free(liana__gathered_rows *rows)
{
    drop_messages(rows);
    free_arrays(rows);
}

/* The targets among the components of a batch; calls them component 0, 1, ... */
static size_t find_targets(const liana__trainer *trainer, const liana__batch *batch, size_t found[LIANA__MAX_OUTPUTS])
{
    const liana__trainer_options *options = liana__trainer_options_of(trainer);
    size_t count = 0;
    for (size_t i = 0; i < options->objective->num_outputs; i++) {
        const size_t place = liana__batch_find(batch, liana__target_component(options->objective, i).text);
        if (place < batch->num_components) found[count++] = place;
    }
    return count;
}

static liana_status reserve(liana__gathered_rows *rows, const liana__trainer *trainer, const liana__batch *from,
                            liana__error *error)
{
    liana__batch *batch = &rows->batch;
    const int64_t needed = liana__batch_step_count(from);
    if (batch->positions && needed <= rows->capacity) return LIANA_OK;
    free_arrays(rows);
    const size_t count = (size_t)needed + 1;
    size_t targets[LIANA__MAX_OUTPUTS];
    const size_t num_targets = find_targets(trainer, from, targets);
    batch->positions = malloc(count * sizeof *batch->positions);
    batch->records = malloc(count * sizeof *batch->records);
    batch->ids = malloc(count * sizeof *batch->ids);
    rows->outputs = malloc(count * (size_t)liana__trainer_row_size(trainer) * sizeof *rows->outputs);
    bool enough = batch->positions && batch->records && batch->ids && rows->outputs;
    for (size_t i = 0; i < num_targets; i++) {
        const liana__batch_component *target = &from->components[targets[i]];
        void *made = malloc(count * liana__batch_row_size(target));
        liana__batch_add(batch, target->name, target->dtype, &target->shape, made);
        enough = enough && made;
        if (from->labels && target->rows == from->labels) batch->labels = made;
    }
    rows->capacity = needed;
    return enough ? LIANA_OK : liana__fail_memory(error, "the model's outputs");
}

/* ---- messages ---- */

static void write_rows(const liana__gathered_rows *rows, const liana__trainer *trainer, const liana__batch *batch,
                       const float *outputs, liana__text *message)
{
    const size_t count = (size_t)batch->count;
    size_t targets[LIANA__MAX_OUTPUTS];
    find_targets(trainer, batch, targets);
    liana__message_put_bytes(message, batch->positions, count * sizeof *batch->positions);
    liana__message_put_bytes(message, batch->records, count * sizeof *batch->records);
    for (size_t i = 0; i < count; i++) liana__message_put_text(message, batch->ids[i]);
    for (size_t i = 0; i < rows->batch.num_components; i++) {
        const liana__batch_component *target = &batch->components[targets[i]];
        liana__message_put_bytes(message, target->rows, count * liana__batch_row_size(target));
    }
    const size_t row_size = (size_t)liana__trainer_row_size(trainer) * sizeof *outputs;
    liana__message_put_bytes(message, outputs, count * row_size);
}

/* Copies bytes of a message that must have this size. */
static void copy(liana__message_reader *reader, void *to, size_t expected)
{
    size_t size;
    const void *bytes = liana__message_get_bytes(reader, &size);
    if (size != expected) reader->failed = true;
    if (bytes && size == expected && size) memcpy(to, bytes, size);
}

bool liana__gathered_rows_read(liana__gathered_rows *rows, size_t row_size, const liana__told *told, int64_t count)
{
    liana__batch *batch = &rows->batch;
    liana__message_reader reader = {.data = told->data, .size = told->size};
    const size_t at = (size_t)batch->count, size = (size_t)count;
    copy(&reader, batch->positions + at, size * sizeof *batch->positions);
    copy(&reader, batch->records + at, size * sizeof *batch->records);
    for (size_t i = 0; i < size; i++) batch->ids[at + i] = (char *)(uintptr_t)liana__message_get_text(&reader);
    for (size_t i = 0; i < batch->num_components; i++) {
        const size_t row = liana__batch_row_size(&batch->components[i]);
        copy(&reader, (char *)batch->components[i].rows + at * row, size * row);
    }
    copy(&reader, rows->outputs + at * row_size, size * row_size * sizeof *rows->outputs);
    batch->count += count;
    return liana__message_is_read(&reader);
}

static liana_status read_all(liana__gathered_rows *rows, const liana__trainer *trainer,
                             const liana__step_workers *workers, liana__error *error)
{
    const size_t row_size = (size_t)liana__trainer_row_size(trainer);
    for (size_t i = 0; i < workers->count; i++) {
        int64_t count = 0;
        for (int64_t k = workers->bounds[i]; k < workers->bounds[i + 1]; k++) count += workers->shard_counts[k];
        if (rows->told[i].size == 0 && count == 0) continue; /* it is gone */
        if (liana__gathered_rows_read(rows, row_size, &rows->told[i], count)) continue;
        return liana__fail(error, LIANA_INTERNAL, "what process %zu predicts for its part of a step cannot be read", i);
    }
    return LIANA_OK;
}

/* Facts of the whole step. */
static void describe(liana__batch *to, const liana__batch *from)
{
    to->count = 0;
    to->num_positions = from->num_positions;
    to->first_position = from->first_position;
    to->epoch = from->epoch;
    to->step = from->step;
    to->wait_seconds = from->wait_seconds;
    to->own = from;
}

liana_status liana__gathered_rows_take(liana__gathered_rows *rows, const liana__trainer *trainer,
                                       const liana__input_workers *workers, const liana__batch *batch,
                                       const float *outputs, liana__error *error)
{
    liana__text message = {0};
    drop_messages(rows);
    LIANA_TRY(reserve(rows, trainer, batch, error));
    describe(&rows->batch, batch);
    rows->told = calloc(workers->count, sizeof *rows->told);
    write_rows(rows, trainer, batch, outputs, &message);
    liana_status status = rows->told && !message.failed ? LIANA_OK : liana__fail_memory(error, "the model's outputs");
    if (status == LIANA_OK) {
        status = workers->gather(workers->user, message.data, message.length, rows->told, error);
        if (status == LIANA_OK) rows->num_told = workers->count;
    }
    liana__text_free(&message);
    return status == LIANA_OK ? read_all(rows, trainer, batch->workers, error) : status;
}
