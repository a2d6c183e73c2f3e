/* Lists and reads checkpoints. */
#include "train/checkpoint/checkpoint.h"

#include "base/crc32c.h"
#include "base/scoped.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "program/variables_file.h"
#include "train/checkpoint/data_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *const liana__checkpoint_variables = "variables.safetensors";
const char *const liana__checkpoint_state = "state.json";
enum { STATE_LIMIT = 64 << 20 };

static liana_status list_checkpoints(const char *folder, liana__arena *arena, liana__paths *names, liana__error *error)
{
    *names = (liana__paths){0};
    if (!liana__folder_exists(folder)) return LIANA_OK;
    liana__paths all;
    LIANA_TRY(liana__folder_list(folder, arena, &all, error));
    names->items = all.items;
    for (size_t i = 0; i < all.count; i++) {
        if (liana__checkpoint_is_name(all.items[i])) names->items[names->count++] = all.items[i];
    }
    return LIANA_OK;
}

liana_status liana__checkpoint_set_aside(const char *path, const char *ending, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *aside = liana__arena_format(&arena, "%s%s", path, ending), *folder = liana__path_folder(&arena, path);
    LIANA_TRY(aside && folder ? liana__folder_remove(aside, error) : liana__fail_memory(error, "a checkpoint"));
    /* It may be anything: no folder at all, or one that cannot be opened. */
    if (rename(path, aside) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot rename '%s' to '%s': %s", path, aside, strerror(errno));
    }
    return liana__folder_sync(folder, error);
}

/* ---- loading ---- */

liana_status liana__checkpoint_list(const char *folder, liana__arena *arena, liana__paths *paths, liana__error *error)
{
    LIANA_TRY(list_checkpoints(folder, arena, paths, error));
    for (size_t i = 0; i < paths->count; i++) {
        paths->items[i] = liana__path_join(arena, folder, paths->items[i]);
        if (!paths->items[i]) return liana__fail_memory(error, "the name of a checkpoint");
    }
    return LIANA_OK;
}

liana_status liana__checkpoint_newest(const char *folder, liana__arena *arena, const char **path, liana__error *error)
{
    liana__paths paths;
    *path = NULL;
    LIANA_TRY(liana__checkpoint_list(folder, arena, &paths, error));
    if (paths.count) *path = paths.items[paths.count - 1];
    return LIANA_OK;
}

static bool same_type(const liana__safetensors_tensor *tensor, const liana__buffer *buffer)
{
    if (tensor->dtype != liana__file_dtype(buffer->dtype) || tensor->rank != buffer->shape.rank) return false;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] != buffer->shape.dims[i]) return false;
    }
    return true;
}

static liana_status load_variable(const liana__safetensors *file, liana__variable *variable, liana__error *error)
{
    const liana__safetensors_tensor *tensor = liana__safetensors_find(file, variable->name);
    const liana__buffer *buffer = variable->buffer;
    if (!tensor) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "it has no tensor '%s', which this model needs; it belongs to another model or optimizer",
                           variable->name);
    }
    if (!same_type(tensor, buffer)) {
        liana_shape found = {.rank = tensor->rank};
        memcpy(found.dims, tensor->shape, sizeof found.dims);
        return liana__fail(error, LIANA_INVALID_DATA, "tensor '%s' is %s%s, this model expects %s", variable->name,
                           liana__safetensors_dtype_name(tensor->dtype), liana__shape_print(&found).text,
                           liana__type_print(buffer->dtype, &buffer->shape).text);
    }
    LIANA__SCOPED_MEMORY void *data = NULL;
    LIANA_TRY(liana__safetensors_take(file, tensor, &data, error));
    return liana__variable_write(variable, data, error);
}

/* A checkpoint appears whole or not at all, so a part of it that is missing or cannot be read was damaged later: it was
 * cut, or something else is in its place (a folder, a pipe, a link that leads nowhere), or nobody may read it. */
static liana_status call_damaged(const char *path, liana_status status, liana__error *error)
{
    bool unreadable = status == LIANA_NOT_FOUND || status == LIANA_INVALID_DATA || status == LIANA_OUT_OF_RANGE ||
                      status == LIANA_DATA_LOSS || status == LIANA_IO_ERROR;
    if (!unreadable) return status;
    if (error) error->status = LIANA_DATA_LOSS;
    return liana__fail_within(error, "the checkpoint '%s' is damaged", path);
}

static liana_status load_array(const liana__safetensors *file, const liana__safetensors_tensor *tensor,
                               liana__kept_values *kept, liana__error *error)
{
    liana__kept_array array = {.name = tensor->name + strlen(LIANA__CHECKPOINT_CALLBACKS)};
    while (array.dtype < LIANA_NUM_DTYPES && liana__file_dtype(array.dtype) != tensor->dtype) array.dtype++;
    array.shape.rank = tensor->rank;
    memcpy(array.shape.dims, tensor->shape, sizeof tensor->shape);
    bool fits = array.dtype < LIANA_NUM_DTYPES && liana__kept_array_size(&array) == tensor->size;
    if (!fits) return liana__fail(error, LIANA_INVALID_DATA, "'%s' is of no kind that callbacks keep", tensor->name);
    LIANA__SCOPED_MEMORY void *data = NULL;
    LIANA_TRY(liana__safetensors_take(file, tensor, &data, error));
    array.data = data;
    return liana__kept_values_add(kept, &array, error);
}

/* The arrays of callbacks. The callbacks of the training may not be known yet. */
static liana_status load_arrays(const liana__safetensors *file, liana__kept_values *kept, liana__error *error)
{
    const liana__safetensors_contents *contents = &file->contents;
    for (size_t i = 0; i < contents->num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &contents->tensors[i];
        if (liana__starts_with(tensor->name, LIANA__CHECKPOINT_CALLBACKS))
            LIANA_TRY(load_array(file, tensor, kept, error));
    }
    return LIANA_OK;
}

/* `kept` may be NULL. */
static liana_status load_variables(const char *path, uint32_t checksum, liana__variables *variables,
                                   liana__kept_values *kept, liana__error *error)
{
    liana__safetensors file;
    liana_status status = liana__safetensors_open(path, &file, error);
    if (status != LIANA_OK) return call_damaged(path, status, error);
    uint32_t found = 0;
    status = liana__safetensors_checksum(&file, &found, error);
    if (status == LIANA_OK && found != checksum) {
        status =
            liana__fail(error, LIANA_DATA_LOSS,
                        "the checkpoint is damaged: its checksum is %08x, but %08x was recorded when it was written",
                        found, checksum);
    }
    for (size_t i = 0; status == LIANA_OK && i < variables->count; i++) {
        status = load_variable(&file, &variables->items[i], error);
    }
    if (status == LIANA_OK && kept) status = load_arrays(&file, kept, error);
    liana__safetensors_close(&file);
    return status == LIANA_OK ? status : liana__fail_within(error, "'%s'", path);
}

static liana_status read_count(const liana__value *state, const char *key, int64_t *count, liana__error *error)
{
    const liana__value *value = liana__value_get(state, key);
    *count = 0;
    if (!value || value->kind != LIANA__VALUE_INT || value->integer < 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is missing or is not a count", key);
    }
    *count = value->integer;
    return LIANA_OK;
}

/* The changes and the values of callbacks. Checkpoints of an older liana have none of them. */
static liana_status read_callbacks(const liana__value *value, liana__training_state *state, liana__error *error)
{
    state->rate_factor = liana__value_number_of(value, "rate_factor", 1);
    state->adapted_rate = liana__value_number_of(value, "adapted_rate", 0);
    state->averaged = liana__value_true_of(value, "averaged");
    const liana__value *end = liana__value_get(value, "ended"), *kept = liana__value_get(value, "callbacks");
    state->ended = end && end->kind == LIANA__VALUE_MAP;
    if (state->ended) {
        const char *stopped_by = liana__value_text_of(end, "stopped_by", "");
        state->ended_length = (liana__training_length){.epochs = (int64_t)liana__value_number_of(end, "epochs", 0),
                                                       .steps = (int64_t)liana__value_number_of(end, "steps", 0),
                                                       .minutes = liana__value_number_of(end, "minutes", 0)};
        snprintf(state->stopped_by, sizeof state->stopped_by, "%s", stopped_by);
    }
    if (!kept || kept->kind != LIANA__VALUE_MAP) return LIANA_OK;
    state->callbacks.values = liana__value_copy(&state->callbacks.arena, kept);
    return state->callbacks.arena.failed ? liana__fail_memory(error, "the states of the callbacks") : LIANA_OK;
}

static liana_status check_version(const liana__value *state, liana__error *error)
{
    int64_t version;
    LIANA_TRY(read_count(state, "version", &version, error));
    if (version == LIANA__CHECKPOINT_VERSION) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       version > LIANA__CHECKPOINT_VERSION
                           ? "a newer liana wrote it: its version is %lld, but this liana reads version %d; use the "
                             "newer one"
                           : "its version is %lld, but this liana reads version %d",
                       (long long)version, LIANA__CHECKPOINT_VERSION);
}

/* To those of this process. */
static void read_doubts(const liana__value *list, liana__training_state *state)
{
    for (size_t i = 0; list && list->kind == LIANA__VALUE_LIST && i < list->count; i++) {
        if (list->items[i]->kind == LIANA__VALUE_STRING) liana__training_state_doubt(state, list->items[i]->string);
    }
}

static liana_status read_state(const liana__value *value, liana__training_state *state, liana__error *error)
{
    char exchange[sizeof state->exchange];
    memcpy(exchange, state->exchange, sizeof exchange);
    char doubts[sizeof state->not_reproducible];
    memcpy(doubts, state->not_reproducible, sizeof doubts);
    *state = (liana__training_state){.data = state->data,
                                     .settings = state->settings,
                                     .matches = state->matches,
                                     .running = state->running};
    memcpy(state->not_reproducible, doubts, sizeof doubts);
    memcpy(state->exchange, exchange, sizeof exchange);
    const char *loaded = liana__value_text_of(value, "exchange", ""), *isa = liana__value_text_of(value, "isa", ""),
               *best = liana__value_text_of(value, "best", "");
    snprintf(state->loaded_exchange, sizeof state->loaded_exchange, "%s", loaded);
    read_doubts(liana__value_get(value, "not_reproducible"), state);
    /* Older checkpoints are of a first fit. */
    if (liana__value_get(value, "earlier_epochs")) {
        LIANA_TRY(read_count(value, "earlier_epochs", &state->earlier_epochs, error));
    }
    LIANA_TRY(read_count(value, "epoch", &state->epoch, error));
    LIANA_TRY(read_count(value, "step", &state->step, error));
    LIANA_TRY(read_count(value, "iteration", &state->iteration, error));
    if (liana__value_get(value, "taken_back")) {
        LIANA_TRY(read_count(value, "taken_back", &state->taken_back, error));
    }
    if (liana__value_get(value, "skipped")) LIANA_TRY(read_count(value, "skipped", &state->num_skipped, error));
    const liana__value *stage = liana__value_get(value, "stage");
    if (stage) {
        LIANA_TRY(read_count(stage, "number", &state->stage, error));
        LIANA_TRY(read_count(stage, "epoch", &state->stage_epoch, error));
        LIANA_TRY(read_count(stage, "updates", &state->stage_updates, error));
        /* Older checkpoints lack it: stages were as long as they were to be. */
        if (liana__value_get(stage, "skipped_epochs")) {
            LIANA_TRY(read_count(stage, "skipped_epochs", &state->skipped_epochs, error));
        }
    }
    if (state->data) LIANA_TRY(liana__data_state_check(liana__value_get(value, "data"), state->data, error));
    snprintf(state->isa, sizeof state->isa, "%s", isa);
    snprintf(state->precision, sizeof state->precision, "%s", liana__value_text_of(value, "precision", "float32"));
    snprintf(state->best_checkpoint, sizeof state->best_checkpoint, "%s", best);
    state->gradients = liana__gradient_counts_read(value);
    LIANA_TRY(liana__totals_read(liana__value_get(value, "running"), &state->running, error));
    LIANA_TRY(read_callbacks(value, state, error));
    LIANA_TRY(
        liana__history_read(liana__value_get(value, "history"), state->running.objective, &state->history, error));
    if (liana__value_get(value, "initial_epoch")) {
        LIANA_TRY(read_count(value, "initial_epoch", &state->history.first_epoch, error));
    }
    return liana__decisions_read(liana__value_get(value, "decisions"), &state->decisions, error);
}

/* Writing is deterministic. So a byte that is another one is found also where it changes no value, such as 1E5 for
 * 1e5. */
static bool is_as_written(const liana__value *value, const char *bytes, size_t size)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__value_write_json(value, 2, &text);
    return !text.failed && text.length == size && memcmp(text.data, bytes, size) == 0;
}

bool liana__checkpoint_checksum(const liana__value *state, uint32_t *checksum)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__value_write_json(state, 0, &text);
    bool enough = !text.failed && text.data;
    *checksum = enough ? liana__crc32c(text.data, text.length) : 0;
    return enough;
}

static liana_status read_state_file(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
{
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, STATE_LIMIT, &text, &size, error));
    liana_status status = liana__json_parse(text, size, path, arena, value, error);
    if (status == LIANA_OK && !is_as_written(*value, text, size)) {
        status = liana__fail(error, LIANA_INVALID_DATA, "it is not as it was written");
    }
    free(text);
    LIANA_TRY(status);
    int64_t expected;
    uint32_t found;
    LIANA_TRY(read_count(*value, LIANA__CHECKPOINT_CHECKSUM, &expected, error));
    liana__value_remove(*value, LIANA__CHECKPOINT_CHECKSUM);
    if (!liana__checkpoint_checksum(*value, &found)) return liana__fail_memory(error, "a checkpoint");
    if (found == expected) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "its checksum is %lld, but it records %lld", (long long)found,
                       (long long)expected);
}

/* The state of the checkpoint at `path`, which is the one that its name says. */
static liana_status read_named_state(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
{
    const char *file = liana__path_join(arena, path, liana__checkpoint_state);
    if (!file) return liana__fail_memory(error, "a checkpoint");
    liana_status status = read_state_file(file, arena, value, error);
    if (status != LIANA_OK) return call_damaged(file, status, error);
    return liana__checkpoint_check_name(path, *value, error);
}

liana_status liana__checkpoint_read_place(const char *path, liana__checkpoint_place *place, liana__error *error)
{
    liana__arena arena = {0};
    liana__value *state;
    liana_status status = read_named_state(path, &arena, &state, error);
    if (status == LIANA_OK) status = read_count(state, "iteration", &place->iteration, error);
    if (status == LIANA_OK) status = read_count(state, "epoch", &place->epoch, error);
    if (status == LIANA_OK) status = read_count(state, "step", &place->step, error);
    liana__arena_free(&arena);
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    if (error) error->status = LIANA_DATA_LOSS;
    liana__fail_within(error, "the checkpoint '%s' cannot be used", path);
    return LIANA_DATA_LOSS;
}

liana_status liana__checkpoint_matches(const char *path, const liana__value *matches, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *state;
    LIANA_TRY(read_named_state(path, &arena, &state, error));
    return liana__checkpoint_check_settings(path, state, matches, error);
}

bool liana__checkpoint_is_at(const char *path, int64_t epoch, int64_t step, bool ended)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *state;
    int64_t own_epoch = -1, own_step = -1;
    bool is_read = read_named_state(path, &arena, &state, NULL) == LIANA_OK &&
                   read_count(state, "epoch", &own_epoch, NULL) == LIANA_OK &&
                   read_count(state, "step", &own_step, NULL) == LIANA_OK;
    return is_read && own_epoch == epoch && own_step == step && (liana__value_get(state, "ended") != NULL) == ended;
}

/* The state of the newest checkpoint that can be read, or NULL. */
static const liana__value *newest_state(const char *folder, liana__arena *arena)
{
    liana__paths all;
    if (liana__checkpoint_list(folder, arena, &all, NULL) != LIANA_OK) return NULL;
    for (size_t i = all.count; i-- > 0;) {
        liana__value *state;
        if (read_named_state(all.items[i], arena, &state, NULL) == LIANA_OK) return state;
    }
    return NULL;
}

static liana_status fail_to_find(const char *folder, const char *wanted, liana__arena *arena, liana__error *error)
{
    liana__paths all;
    LIANA__SCOPED(liana__text) names = {0};
    LIANA_TRY(list_checkpoints(folder, arena, &all, error));
    for (size_t i = 0; i < all.count; i++) liana__text_add(&names, "%s%s", i ? ", " : "", all.items[i]);
    const char *known = names.data ? names.data : "none";
    return strcmp(wanted, "best") == 0
               ? liana__fail(
                     error, LIANA_NOT_FOUND,
                     "no checkpoint in '%s' is known as the best: train with checkpoint.best: METRIC; there are: %s",
                     folder, known)
               : liana__fail(error, LIANA_NOT_FOUND,
                             "there is no checkpoint '%s', and none with that name in '%s'; there are: %s", wanted,
                             folder, known);
}

const char *liana__checkpoint_best(const char *folder, liana__arena *arena)
{
    const char *best = liana__value_text_of(newest_state(folder, arena), "best", "");
    return *best ? best : NULL;
}

liana_status liana__checkpoint_find(const char *folder, const char *wanted, liana__arena *arena, const char **path,
                                    liana__error *error)
{
    const char *name = wanted;
    if (strcmp(wanted, "best") == 0) {
        name = liana__checkpoint_best(folder, arena);
    } else if (liana__folder_exists(wanted)) {
        *path = wanted;
        return LIANA_OK;
    }
    *path = name ? liana__path_join(arena, folder, name) : NULL;
    if (arena->failed) return liana__fail_memory(error, "the name of a checkpoint");
    return *path && liana__folder_exists(*path) ? LIANA_OK : fail_to_find(folder, wanted, arena, error);
}

const char *liana__checkpoint_precision(const char *folder, liana__arena *arena)
{
    const liana__value *state = newest_state(folder, arena);
    return state ? liana__value_text_of(state, "precision", "float32") : NULL;
}

int64_t liana__checkpoint_recompute_memory(const char *folder, liana__arena *arena)
{
    const int64_t memory = liana__value_int_of(newest_state(folder, arena), "recompute_memory", -1);
    return memory >= 0 ? memory : -1;
}

int64_t liana__checkpoint_stage(const char *path)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *state;
    int64_t stage = -1;
    if (read_named_state(path, &arena, &state, NULL) == LIANA_OK) {
        stage = (int64_t)liana__value_number_of(liana__value_get(state, "stage"), "number", 0);
    }
    return stage;
}

liana_status liana__checkpoint_load(const char *path, liana__variables *variables, liana__training_state *state,
                                    liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *state_path = liana__path_join(&arena, path, liana__checkpoint_state);
    const char *variables_path = liana__path_join(&arena, path, liana__checkpoint_variables);
    if (arena.failed) return liana__fail_memory(error, "a checkpoint");
    liana__value *value;
    LIANA_TRY(read_named_state(path, &arena, &value, error));
    int64_t checksum = 0;
    liana_status status = check_version(value, error);
    if (status == LIANA_OK && state) {
        LIANA_TRY(liana__checkpoint_check_settings(path, value, state->matches, error));
    }
    if (status == LIANA_OK) status = read_count(value, "variables_crc32", &checksum, error);
    if (status == LIANA_OK && state) status = read_state(value, state, error);
    if (status != LIANA_OK) {
        if (state) liana__kept_values_free(&state->callbacks);
        return liana__fail_within(error, "'%s'", state_path);
    }
    status = load_variables(variables_path, (uint32_t)checksum, variables, state ? &state->callbacks : NULL, error);
    if (status != LIANA_OK && state) {
        liana__history_free(&state->history);
        liana__decisions_free(&state->decisions);
        liana__kept_values_free(&state->callbacks);
    }
    return status;
}

static liana_status check_variables(const char *path, uint32_t checksum, liana__error *error)
{
    liana__variables none = {0};
    return load_variables(path, checksum, &none, NULL, error);
}

liana_status liana__checkpoint_check(const char *state_path, const char *variables_path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *value;
    int64_t checksum = 0;
    liana_status status = read_state_file(state_path, &arena, &value, error);
    if (status != LIANA_OK) {
        status = call_damaged(state_path, status, error);
    } else {
        status = check_version(value, error);
        if (status == LIANA_OK) status = read_count(value, "variables_crc32", &checksum, error);
        if (status != LIANA_OK) status = liana__fail_within(error, "'%s'", state_path);
    }
    return status == LIANA_OK ? check_variables(variables_path, (uint32_t)checksum, error) : status;
}
