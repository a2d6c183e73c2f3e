/* Numbers, texts and arrays by name. */
#include "train/training/training_state.h"

#include "ir/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void liana__kept_values_free(liana__kept_values *kept)
{
    liana__arena_free(&kept->arena);
    free(kept->arrays);
    *kept = (liana__kept_values){0};
}

static const char *full_name(const liana_callback_state *state, const char *key)
{
    return liana__arena_format(&state->kept->arena, "%s/%s", state->owner, key);
}

static void put(const liana_callback_state *state, const char *key, liana__value *value)
{
    liana__kept_values *kept = state->kept;
    if (!kept->values) kept->values = liana__value_map(&kept->arena);
    const char *name = full_name(state, key);
    if (kept->values && name) liana__value_set(&kept->arena, kept->values, name, value);
}

/* JSON has no NaN and no infinity: they are kept as words. */
void liana__keep_number(liana_callback_state *state, const char *key, double number)
{
    liana__arena *arena = &state->kept->arena;
    const char *word = isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    put(state, key, isfinite(number) ? liana__value_float(arena, number) : liana__value_string(arena, word));
}

void liana__keep_count(liana_callback_state *state, const char *key, int64_t count)
{
    put(state, key, liana__value_int(&state->kept->arena, count));
}

void liana__keep_text(liana_callback_state *state, const char *key, const char *text)
{
    put(state, key, liana__value_string(&state->kept->arena, text));
}

static void add_array(liana__kept_values *kept, const liana__kept_array *array)
{
    bool grown = array->name && liana__grow(&kept->arrays, kept->num_arrays, &kept->capacity, sizeof *kept->arrays);
    if (!grown) {
        kept->arena.failed = true;
        return;
    }
    kept->arrays[kept->num_arrays++] = *array;
}

void liana__keep_array(liana_callback_state *state, const char *key, liana_dtype dtype, const liana_shape *shape,
                       const void *data)
{
    add_array(state->kept, &(liana__kept_array){full_name(state, key), dtype, *shape, data});
}

/* ---- reading ---- */

static const liana__value *get(const liana_callback_state *state, const char *key)
{
    size_t length = strlen(state->owner);
    const liana__value *map = state->kept->values;
    for (size_t i = 0; map && i < map->count; i++) {
        const char *name = map->keys[i];
        bool same =
            strncmp(name, state->owner, length) == 0 && name[length] == '/' && strcmp(name + length + 1, key) == 0;
        if (same) return map->items[i];
    }
    return NULL;
}

bool liana__kept_number(const liana_callback_state *state, const char *key, double *number)
{
    const liana__value *value = get(state, key);
    if (!value) return false;
    if (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT) {
        *number = value->number;
        return true;
    }
    if (value->kind != LIANA__VALUE_STRING) return false;
    static const struct {
        const char *word;
        double number;
    } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value->string, words[i].word) != 0) continue;
        *number = words[i].number;
        return true;
    }
    return false;
}

bool liana__kept_count(const liana_callback_state *state, const char *key, int64_t *count)
{
    const liana__value *value = get(state, key);
    if (!value || value->kind != LIANA__VALUE_INT) return false;
    *count = value->integer;
    return true;
}

const char *liana__kept_text(const liana_callback_state *state, const char *key)
{
    const liana__value *value = get(state, key);
    return value && value->kind == LIANA__VALUE_STRING ? value->string : NULL;
}

const liana__kept_array *liana__kept_array_find(const liana_callback_state *state, const char *key)
{
    size_t length = strlen(state->owner);
    for (size_t i = 0; i < state->kept->num_arrays; i++) {
        const liana__kept_array *array = &state->kept->arrays[i];
        bool same = strncmp(array->name, state->owner, length) == 0 && array->name[length] == '/' &&
                    strcmp(array->name + length + 1, key) == 0;
        if (same) return array;
    }
    return NULL;
}

/* ---- all of them ---- */

size_t liana__kept_array_size(const liana__kept_array *array)
{
    return liana__byte_size(array->dtype, &array->shape);
}

liana_status liana__kept_values_add(liana__kept_values *kept, const liana__kept_array *array, liana__error *error)
{
    liana__kept_array copy = *array;
    copy.name = liana__arena_string(&kept->arena, array->name);
    copy.data = liana__arena_copy(&kept->arena, array->data, liana__kept_array_size(array));
    if (copy.data) add_array(kept, &copy);
    return kept->arena.failed ? liana__fail_memory(error, array->name) : LIANA_OK;
}

liana_status liana__kept_values_own(liana__kept_values *kept, liana__error *error)
{
    for (size_t i = 0; i < kept->num_arrays; i++) {
        liana__kept_array *array = &kept->arrays[i];
        array->data = liana__arena_copy(&kept->arena, array->data, liana__kept_array_size(array));
    }
    if (!kept->arena.failed) return LIANA_OK;
    kept->num_arrays = 0;
    return liana__fail_memory(error, "the states of the callbacks");
}

/* Names may have several parts: a/b/key. The owner of a value is the part before the first '/'. */
static void tell_owner(const char *name, void (*each)(void *user, const char *owner), void *user)
{
    char owner[128];
    size_t length = strcspn(name, "/");
    if (length >= sizeof owner) length = sizeof owner - 1;
    memcpy(owner, name, length);
    owner[length] = 0;
    each(user, owner);
}

void liana__kept_values_owners(const liana__kept_values *kept, void (*each)(void *user, const char *owner), void *user)
{
    for (size_t i = 0; kept->values && i < kept->values->count; i++) tell_owner(kept->values->keys[i], each, user);
    for (size_t i = 0; i < kept->num_arrays; i++) tell_owner(kept->arrays[i].name, each, user);
}
