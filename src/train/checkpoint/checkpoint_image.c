/* Copies the state of a training, and writes checkpoints. */
#include "train/checkpoint/checkpoint_writer.h"

#include "base/scoped.h"
#include "formats/json.h"
#include "program/variables_file.h"
#include "train/checkpoint/data_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64 };

void liana__checkpoint_image_free(liana__checkpoint_image *image)
{
    liana__arena_free(&image->arena);
    free(image->bytes);
    *image = (liana__checkpoint_image){0};
}

void liana__checkpoint_name(const liana__training_state *state, char name[LIANA__CHECKPOINT_NAME])
{
    snprintf(name, LIANA__CHECKPOINT_NAME, "%s%010lld%s", LIANA__CHECKPOINT_PREFIX, (long long)state->iteration,
             state->changed_after_update ? LIANA__CHECKPOINT_CHANGED : "");
}

/* ---- taking ---- */

static size_t padded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static liana_status reserve(liana__checkpoint_image *image, size_t size, liana__error *error)
{
    if (size <= image->capacity) return LIANA_OK;
    free(image->bytes);
    image->capacity = 0;
    image->bytes = liana__allocate_aligned(size);
    if (!image->bytes) return liana__fail_memory(error, "a copy of the training's state for checkpoints");
    image->capacity = size;
    return LIANA_OK;
}

static size_t size_of(const liana__variables *variables)
{
    size_t size = 0;
    for (size_t i = 0; i < variables->count; i++) size += padded(variables->items[i].buffer->size);
    return size;
}

liana_status liana__checkpoint_image_reserve(liana__checkpoint_image *image, const liana__variables *variables,
                                             liana__error *error)
{
    return reserve(image, size_of(variables), error);
}

/* The variables, then the arrays that callbacks keep. */
static liana_status copy_tensors(liana__checkpoint_image *image, const liana__variables *variables,
                                 const liana__kept_values *kept, liana__error *error)
{
    size_t size = size_of(variables);
    for (size_t i = 0; i < kept->num_arrays; i++) size += padded(liana__kept_array_size(&kept->arrays[i]));
    LIANA_TRY(reserve(image, size, error));
    image->num_tensors = variables->count + kept->num_arrays;
    image->tensors = liana__arena_allocate(&image->arena, (image->num_tensors + 1) * sizeof *image->tensors);
    if (!image->tensors) return liana__fail_memory(error, "a checkpoint");
    uint8_t *to = image->bytes;
    for (size_t i = 0; i < image->num_tensors; i++) {
        const liana__variable *variable = i < variables->count ? &variables->items[i] : NULL;
        const liana__kept_array *array = variable ? NULL : &kept->arrays[i - variables->count];
        const liana_shape *shape = variable ? &variable->buffer->shape : &array->shape;
        liana__safetensors_tensor *tensor = &image->tensors[i];
        *tensor = (liana__safetensors_tensor){
            .name = variable ? liana__arena_string(&image->arena, variable->name)
                             : liana__arena_format(&image->arena, "%s%s", LIANA__CHECKPOINT_CALLBACKS, array->name),
            .dtype = liana__file_dtype(variable ? variable->buffer->dtype : array->dtype),
            .rank = shape->rank,
            .data = to,
            .size = variable ? variable->buffer->size : liana__kept_array_size(array)};
        memcpy(tensor->shape, shape->dims, sizeof tensor->shape);
        if (variable) LIANA_TRY(liana__variable_read(variable, to, error));
        if (array) memcpy(to, array->data, tensor->size);
        to += padded(tensor->size);
    }
    return image->arena.failed ? liana__fail_memory(error, "a checkpoint") : LIANA_OK;
}

/* How a training ended, if it did. */
static void add_end(const liana__training_state *state, liana__value *map, liana__arena *arena)
{
    if (!state->ended) return;
    const liana__training_length *length = &state->ended_length;
    liana__value *end = liana__value_map(arena);
    liana__value_set(arena, end, "epochs", liana__value_int(arena, length->epochs));
    liana__value_set(arena, end, "steps", liana__value_int(arena, length->steps));
    liana__value_set(arena, end, "minutes", liana__value_float(arena, length->minutes));
    liana__value_set(arena, end, "stopped_by", liana__value_string(arena, state->stopped_by));
    liana__value_set(arena, map, "ended", end);
}

static liana__value *state_value(const liana__variables *variables, const liana__training_state *state,
                                 liana__arena *arena)
{
    const char *isa = liana__isa_name(variables->device->context->isa);
    liana__value *map = liana__value_map(arena);
    char name[LIANA__CHECKPOINT_NAME];
    liana__checkpoint_name(state, name);
    liana__value_set(arena, map, "version", liana__value_int(arena, LIANA__CHECKPOINT_VERSION));
    liana__value_set(arena, map, "name", liana__value_string(arena, name));
    liana__value_set(arena, map, "isa", liana__value_string(arena, isa));
    liana__value_set(arena, map, "precision", liana__value_string(arena, state->precision));
    if (*state->exchange) liana__value_set(arena, map, "exchange", liana__value_string(arena, state->exchange));
    liana__value_set(arena, map, "recompute_memory", liana__value_int(arena, state->recompute_memory));
    if (state->settings) liana__value_set(arena, map, "settings", liana__value_copy(arena, state->settings));
    if (state->data) liana__value_set(arena, map, "data", liana__data_state_value(state->data, arena));
    liana__value_set(arena, map, "earlier_epochs", liana__value_int(arena, state->earlier_epochs));
    liana__value_set(arena, map, "epoch", liana__value_int(arena, state->epoch));
    liana__value_set(arena, map, "step", liana__value_int(arena, state->step));
    liana__value_set(arena, map, "iteration", liana__value_int(arena, state->iteration));
    if (*state->best_checkpoint) {
        liana__value_set(arena, map, "best", liana__value_string(arena, state->best_checkpoint));
    }
    liana__value_set(arena, map, "running", liana__totals_state(&state->running, arena));
    liana__gradient_counts_set(&state->gradients, map, arena);
    liana__value_set(arena, map, "history", liana__history_state(&state->history, state->running.objective, arena));
    if (state->taken_back) liana__value_set(arena, map, "taken_back", liana__value_int(arena, state->taken_back));
    if (state->num_skipped) liana__value_set(arena, map, "skipped", liana__value_int(arena, state->num_skipped));
    if (state->stage || state->skipped_epochs) {
        liana__value *stage = liana__value_map(arena);
        liana__value_set(arena, stage, "number", liana__value_int(arena, state->stage));
        liana__value_set(arena, stage, "epoch", liana__value_int(arena, state->stage_epoch));
        liana__value_set(arena, stage, "updates", liana__value_int(arena, state->stage_updates));
        liana__value_set(arena, stage, "skipped_epochs", liana__value_int(arena, state->skipped_epochs));
        liana__value_set(arena, map, "stage", stage);
    }
    if (state->decisions.count) {
        liana__value_set(arena, map, "decisions", liana__decisions_value(&state->decisions, arena));
    }
    liana__value_set(arena, map, "initial_epoch", liana__value_int(arena, state->history.first_epoch));
    liana__value_set(arena, map, "rate_factor", liana__value_float(arena, state->rate_factor));
    if (state->adapted_rate > 0) {
        liana__value_set(arena, map, "adapted_rate", liana__value_float(arena, state->adapted_rate));
    }
    liana__value *doubts = liana__training_state_doubts(state, arena);
    if (doubts) liana__value_set(arena, map, "not_reproducible", doubts);
    if (state->averaged) liana__value_set(arena, map, "averaged", liana__value_bool(arena, true));
    if (state->callbacks.values) {
        liana__value_set(arena, map, "callbacks", liana__value_copy(arena, state->callbacks.values));
    }
    add_end(state, map, arena);
    return map;
}

liana_status liana__checkpoint_image_take(liana__checkpoint_image *image, const liana__variables *variables,
                                          const liana__training_state *state, liana__error *error)
{
    liana__arena_free(&image->arena);
    image->state = state_value(variables, state, &image->arena);
    char name[LIANA__CHECKPOINT_NAME];
    liana__checkpoint_name(state, name);
    image->name = liana__arena_string(&image->arena, name);
    image->best = liana__arena_string(&image->arena, state->best_checkpoint);
    image->kept = state->keeps_checkpoint;
    image->epoch = state->epoch;
    image->step = state->step;
    image->ended = state->ended;
    return copy_tensors(image, variables, &state->callbacks, error);
}

/* ---- writing ---- */

static liana_status write_variables(const liana__checkpoint_image *image, const char *path, uint32_t *checksum,
                                    liana__error *error)
{
    liana__safetensors_entry entry = {"liana", LIANA_VERSION};
    liana__safetensors_contents contents = {image->tensors, image->num_tensors, &entry, 1};
    liana__safetensors_writer writer;
    LIANA_TRY(liana__safetensors_begin(&writer, path, &contents, error));
    for (size_t i = 0; i < image->num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &image->tensors[i];
        liana_status status = liana__safetensors_put(&writer, tensor->data, tensor->size, error);
        if (status == LIANA_OK) continue;
        liana__safetensors_abandon(&writer);
        return status;
    }
    return liana__safetensors_finish(&writer, true, checksum, error);
}

static liana_status write_state(liana__checkpoint_image *image, const char *path, uint32_t checksum,
                                liana__error *error)
{
    liana__arena *arena = &image->arena;
    uint32_t own;
    liana__value_set(arena, image->state, "variables_crc32", liana__value_int(arena, checksum));
    if (arena->failed || !liana__checkpoint_checksum(image->state, &own)) {
        return liana__fail_memory(error, "a checkpoint");
    }
    liana__value_set(arena, image->state, LIANA__CHECKPOINT_CHECKSUM, liana__value_int(arena, own));
    return liana__json_write(path, arena->failed ? NULL : image->state, error);
}

/* An empty file in a checkpoint says that it is kept for good. */
static const char KEPT[] = "kept";

static liana_status mark_kept(liana__checkpoint_image *image, const char *folder, liana__error *error)
{
    const char *path = liana__path_join(&image->arena, folder, KEPT);
    return path ? liana__file_replace(path, "", 0, error) : liana__fail_memory(error, "a checkpoint");
}

/* Another process that has saved the same removes the outer folder when it is empty, so it may go before the inner one
 * is made. */
static liana_status make_both(const char *folder, const char *unfinished, const char *written, liana__error *error)
{
    enum { MOST_TRIES = 1000 };
    liana_status status = LIANA_OK;
    for (int i = 0; i < MOST_TRIES; i++) {
        status = liana__folder_make_in(unfinished, error);
        if (status == LIANA_OK) status = liana__folder_make_in(written, error);
        if (status == LIANA_OK || !liana__folder_exists(folder)) break;
    }
    return status;
}

static liana_status write_parts(liana__checkpoint_image *image, const char *folder, const char *unfinished,
                                const char *written, liana__error *error)
{
    const char *variables_path = liana__path_join(&image->arena, written, liana__checkpoint_variables);
    const char *state_path = liana__path_join(&image->arena, written, liana__checkpoint_state);
    if (image->arena.failed) return liana__fail_memory(error, "a checkpoint");
    uint32_t checksum;
    /* Each in the one before it: a run folder may be taken away at any moment, and must not be made again. It would
     * hold an end without a beginning. */
    LIANA_TRY(liana__folder_make_in(folder, error));
    LIANA_TRY(make_both(folder, unfinished, written, error));
    LIANA_TRY(write_variables(image, variables_path, &checksum, error));
    if (image->kept) LIANA_TRY(mark_kept(image, written, error));
    return write_state(image, state_path, checksum, error);
}

static liana_status remove_old(const char *folder, const char *best, int64_t keep, liana__arena *arena,
                               liana__error *error)
{
    liana__paths paths;
    LIANA_TRY(liana__checkpoint_list(folder, arena, &paths, error));
    for (size_t i = 0; keep > 0 && i + (size_t)keep < paths.count; i++) {
        const char *mark = liana__path_join(arena, paths.items[i], KEPT);
        if (!mark) return liana__fail_memory(error, "a checkpoint");
        bool stays = strcmp(liana__path_name(paths.items[i]), best) == 0 || liana__file_exists(mark);
        const liana_status status = stays ? LIANA_OK : liana__folder_remove(paths.items[i], error);
        if (status != LIANA_OK && liana__folder_exists(paths.items[i])) return status;
    }
    return LIANA_OK;
}

liana_status liana__checkpoints_remove_old(const char *folder, const liana__training_state *state, int64_t keep,
                                           liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    return remove_old(folder, state->best_checkpoint, keep, &arena, error);
}

/* Puts the written folder in its place. Another process may have saved the same meanwhile (see write_folder). */
static liana_status put_in_place(const liana__checkpoint_image *image, const char *written, const char *final,
                                 liana__error *error)
{
    if (liana__folder_exists(final)) return liana__folder_exchange(written, final, error);
    const liana_status status = liana__folder_rename(written, final, error);
    const bool is_there = status != LIANA_OK && liana__checkpoint_is_at(final, image->epoch, image->step, image->ended);
    return is_there ? LIANA_OK : status;
}

/* A chief that was halted in a save, and comes back while its successor saves, may be about to do any of this: so each
 * process writes in a folder of its own. */
static liana_status write_folder(liana__checkpoint_image *image, const char *folder, int64_t keep, liana__error *error)
{
    const char *final = liana__path_join(&image->arena, folder, image->name);
    const char *unfinished = liana__path_join(&image->arena, folder, "unfinished");
    if (image->arena.failed) return liana__fail_memory(error, "a checkpoint");
    const char *written = liana__arena_format(&image->arena, "%s/%d", unfinished, (int)getpid());
    const bool exists = liana__folder_exists(final);
    if (exists && liana__checkpoint_is_at(final, image->epoch, image->step, image->ended)) return LIANA_OK;
    if (exists) image->kept |= liana__file_exists(liana__arena_format(&image->arena, "%s/%s", final, KEPT));
    if (image->arena.failed) return liana__fail_memory(error, "a checkpoint");
    LIANA_TRY(liana__folder_remove(written, error));
    liana_status status = write_parts(image, folder, unfinished, written, error);
    if (status == LIANA_OK) status = put_in_place(image, written, final, error);
    /* Also useless files of a full disk. If that fails too, the next save tries again. */
    const liana_status cleaned = liana__folder_remove(written, NULL);
    (void)cleaned;
    rmdir(unfinished);
    return status == LIANA_OK ? remove_old(folder, image->best, keep, &image->arena, error) : status;
}

liana_status liana__checkpoints_remove_unfinished(const char *folder, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *unfinished = liana__path_join(&arena, folder, "unfinished");
    return unfinished ? liana__folder_remove(unfinished, error) : liana__fail_memory(error, "a checkpoint");
}

liana_status liana__checkpoint_image_write(liana__checkpoint_image *image, const char *folder, int64_t keep,
                                           liana__error *error)
{
    liana_status status = write_folder(image, folder, keep, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "the checkpoint could not be saved");
}

liana_status liana__checkpoint_save(const char *folder, const liana__variables *variables,
                                    const liana__training_state *state, int64_t keep, liana__error *error)
{
    LIANA__SCOPED(liana__checkpoint_image) image = {0};
    LIANA_TRY(liana__checkpoint_image_take(&image, variables, state, error));
    LIANA_TRY(liana__folder_make(folder, error));
    return liana__checkpoint_image_write(&image, folder, keep, error);
}
