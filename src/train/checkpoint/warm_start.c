/* Finds each weight of a model in a file of weights, and tells the matches. */
#include "train/checkpoint/warm_start.h"

#include "base/named.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "train/checkpoint/named_weights.h"
#include "train/checkpoint/weights.h"

#include <liana/train.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 4 }; /* weights that one message names */

static const liana__field items[] = {
    LIANA__FIELD_ROW(liana__warm_start, from, PATH, .is_name = liana__weights_are_named,
                     .doc = "what training begins from: a run folder (its best checkpoint, else its newest), a "
                            "checkpoint, a folder of liana_model_save, a file of Keras (.h5, .keras) or safetensors, a "
                            "TensorFlow checkpoint; or imagenet, as for model.weights"),
    LIANA__FIELD_ROW(liana__warm_start, map, VALUE,
                     .doc = "{pattern of names in the model: name in the file}, where names differ; each * of the name "
                            "is what that of the pattern stood for"),
    LIANA__FIELD_ROW(liana__warm_start, skip, STRINGS,
                     .doc = "patterns of weights or layers that keep their initial values"),
};
const liana__fields liana__warm_start_fields = LIANA__FIELD_TABLE("warm_start", liana__warm_start, items);

/* ---- the configuration ---- */

static liana_status check_stars(const char *pattern, const char *key, const liana__place *place, liana__error *error)
{
    if (liana__warm_count_stars(pattern) <= LIANA__WARM_MAX_STARS) return LIANA_OK;
    return liana__fail_at(error, place, key, "'%.100s' has more than %d '*'", pattern, LIANA__WARM_MAX_STARS);
}

static liana_status check_map(const liana__value *map, const char *key, const liana__place *place, liana__error *error)
{
    char found[128];
    if (!map || map->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (map->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(error, map->place.file ? &map->place : place, key,
                              "found %s, expected {pattern of names in the model: name in the file}",
                              liana__value_describe(map, found, sizeof found));
    }
    for (size_t i = 0; i < map->count; i++) {
        const liana__value *to = map->items[i];
        const liana__place *here = &map->key_places[i];
        LIANA_TRY(check_stars(map->keys[i], key, here, error));
        if (to->kind != LIANA__VALUE_STRING || !*to->string) {
            return liana__fail_at(error, here, key, "'%.100s': found %s, expected the name in the file", map->keys[i],
                                  liana__value_describe(to, found, sizeof found));
        }
        if (liana__warm_count_stars(to->string) <= liana__warm_count_stars(map->keys[i])) continue;
        return liana__fail_at(error, here, key, "'%.100s' has more '*' than its pattern '%.100s'", to->string,
                              map->keys[i]);
    }
    return LIANA_OK;
}

/* The names of keys in messages: "model.warm_start.map". */
typedef struct key_names {
    char map[96], skip[96];
} key_names;

static key_names name_keys(const char *where)
{
    key_names keys;
    snprintf(keys.map, sizeof keys.map, "%s.map", where);
    snprintf(keys.skip, sizeof keys.skip, "%s.skip", where);
    return keys;
}

liana_status liana__warm_start_check(const liana__warm_start *warm, const char *where, const liana__place *place,
                                     liana__error *error)
{
    const key_names keys = name_keys(where);
    bool has_map = warm->map && warm->map->kind != LIANA__VALUE_NULL;
    if (!warm->from && (has_map || warm->skip.count)) {
        return liana__fail_at(error, place, where, "'%s' needs 'from', a run, a checkpoint or a file of weights",
                              has_map ? "map" : "skip");
    }
    LIANA_TRY(check_map(warm->map, keys.map, place, error));
    for (size_t i = 0; i < warm->skip.count; i++) LIANA_TRY(check_stars(warm->skip.items[i], keys.skip, place, error));
    return LIANA_OK;
}

/* ---- patterns and the model ---- */

static bool matches_any(const liana_model *model, const char *pattern)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        if (liana__warm_matches(pattern, model->weights[i].name, NULL, NULL)) return true;
    }
    return false;
}

static liana_status fail_pattern(const liana_model *model, const char *pattern, const char *key,
                                 const liana__place *place, liana__error *error)
{
    liana__nearest_search search = liana__nearest_begin(pattern);
    for (size_t i = 0; i < model->num_weights; i++) liana__nearest_add(&search, model->weights[i].name);
    for (size_t i = 0; i < model->num_layers; i++) {
        if (model->layers[i].num_weights) liana__nearest_add(&search, model->layers[i].name);
    }
    const char *first = model->num_weights ? model->weights[0].name : "";
    const char *last = model->num_weights ? model->weights[model->num_weights - 1].name : "";
    return liana__fail_at(error, place, key,
                          "'%.100s' matches no weight and no layer of the model; weights are called '%.100s' to "
                          "'%.100s'%s",
                          pattern, first, last, liana__hint(search.nearest).text);
}

static liana_status check_patterns(const liana_model *model, const liana__warm_start *warm, const char *where,
                                   const liana__place *place, liana__error *error)
{
    const key_names keys = name_keys(where);
    for (size_t i = 0; warm->map && i < warm->map->count; i++) {
        if (matches_any(model, warm->map->keys[i])) continue;
        return fail_pattern(model, warm->map->keys[i], keys.map, &warm->map->key_places[i], error);
    }
    for (size_t i = 0; i < warm->skip.count; i++) {
        if (!matches_any(model, warm->skip.items[i])) {
            return fail_pattern(model, warm->skip.items[i], keys.skip, place, error);
        }
    }
    return LIANA_OK;
}

static bool is_skipped(const liana__warm_start *warm, const char *name)
{
    for (size_t i = 0; i < warm->skip.count; i++) {
        if (liana__warm_matches(warm->skip.items[i], name, NULL, NULL)) return true;
    }
    return false;
}

/* The name that a weight has in the file. NULL: out of memory. */
static const char *name_in_file(const liana__warm_start *warm, const char *name, liana__arena *arena)
{
    for (size_t i = warm->map ? warm->map->count : 0; i-- > 0;) {
        liana__warm_stars stars;
        const char *rest;
        if (!liana__warm_matches(warm->map->keys[i], name, &stars, &rest)) continue;
        return liana__warm_rename(warm->map->items[i]->string, &stars, rest, arena);
    }
    return name;
}

/* ---- the file ---- */

/* One weight of the model. */
typedef struct pairing {
    bool skipped;
    const char *wanted; /* its name in the file */
    const liana__source_layer *layer;
    const liana__source_weight *weight; /* NULL: not found */
} pairing;

typedef struct warm_run {
    const liana_model *model;
    const liana__weight_source *source;
    pairing *pairs; /* one for each weight of the model */
    liana__arena *arena;
    liana__error *error;
} warm_run;

/* "kernel:0" of HDF5 is "kernel". */
static bool same_short_name(const char *in_file, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(in_file, wanted, length) == 0 && (in_file[length] == 0 || in_file[length] == ':');
}

static bool find_weight(const warm_run *own, size_t index)
{
    const liana__weight *weight = &own->model->weights[index];
    const liana__layer *layer = &own->model->layers[weight->layer];
    pairing *pair = &own->pairs[index];
    /* The name of a held layer's weight has more than one '/' behind the layer's. */
    const size_t length = strlen(pair->wanted), own_length = strlen(weight->short_name);
    const bool is_own = liana__ends_with(pair->wanted, weight->short_name) && length > own_length &&
                        pair->wanted[length - own_length - 1] == '/';
    const char *slash = is_own ? pair->wanted + length - own_length - 1 : strrchr(pair->wanted, '/');
    if (!slash) return true;
    const char *name = liana__arena_format(own->arena, "%.*s", (int)(slash - pair->wanted), pair->wanted);
    if (!name) return false;
    pair->layer = liana__weight_source_find(own->source, name);
    if (!pair->layer) return true;
    bool by_order = !own->source->by_name &&
                    pair->layer->num_weights == liana__layer_num_saved(own->model, layer, layer->num_weights) &&
                    strcmp(slash + 1, weight->short_name) == 0;
    const size_t place = liana__layer_num_saved(own->model, layer, index - layer->first_weight);
    if (by_order) pair->weight = liana__source_weight_at(pair->layer, weight, place);
    for (size_t i = 0; !pair->weight && i < pair->layer->num_weights; i++) {
        const liana__source_weight *one = &pair->layer->weights[i];
        if (same_short_name(one->short_name, slash + 1)) pair->weight = one;
    }
    return true;
}

static liana_status pair_weights(const warm_run *own, const liana__warm_start *warm)
{
    for (size_t i = 0; i < own->model->num_weights; i++) {
        const char *name = own->model->weights[i].name;
        own->pairs[i].skipped = is_skipped(warm, name) || own->model->weights[i].is_state;
        own->pairs[i].wanted = name_in_file(warm, name, own->arena);
        if (!own->pairs[i].wanted) return liana__fail_memory(own->error, "a warm start");
        if (!own->pairs[i].skipped && !find_weight(own, i)) return liana__fail_memory(own->error, "a warm start");
    }
    return LIANA_OK;
}

static liana_shape shape_of(const liana__source_weight *weight)
{
    liana_shape shape = {.rank = weight->rank};
    memcpy(shape.dims, weight->shape, (size_t)weight->rank * sizeof *shape.dims);
    return shape;
}

/* Values of an optimizer or a training in a checkpoint, which are no weights. */
static bool is_state(const liana__source_layer *layer)
{
    return liana__starts_with(layer->name, "optimizer/");
}

/* ---- messages ---- */

static const char *nearest_in_file(const warm_run *own, const char *wanted)
{
    liana__nearest_search search = liana__nearest_begin(wanted);
    for (size_t i = 0; i < own->source->num_layers; i++) {
        const liana__source_layer *layer = &own->source->layers[i];
        for (size_t k = 0; !is_state(layer) && k < layer->num_weights; k++) {
            int length = (int)strcspn(layer->weights[k].short_name, ":");
            const char *name =
                liana__arena_format(own->arena, "%s/%.*s", layer->name, length, layer->weights[k].short_name);
            if (name) liana__nearest_add(&search, name);
        }
    }
    return search.nearest;
}

/* "(as 'fc/kernel'; did you mean 'dense/kernel'?)" */
static void add_wanted(const warm_run *own, const char *name, const char *wanted, liana__text *text)
{
    const char *nearest = nearest_in_file(own, wanted);
    bool renamed = strcmp(name, wanted) != 0;
    if (!renamed && !nearest) return;
    liana__text_add(text, " (");
    if (renamed) liana__text_add(text, "as '%s'", wanted);
    if (nearest) liana__text_add(text, "%sdid you mean '%s'?", renamed ? "; " : "", nearest);
    liana__text_add(text, ")");
}

static size_t add_missing(const warm_run *own, liana__text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < own->model->num_weights; i++) {
        const pairing *pair = &own->pairs[i];
        if (pair->skipped || pair->weight || count++ >= MOST_NAMED) continue;
        const char *name = own->model->weights[i].name;
        liana__text_add(text, "%s%s", count > 1 ? ", " : "", name);
        add_wanted(own, name, pair->wanted, text);
    }
    if (count > MOST_NAMED) liana__text_add(text, " and %zu more", count - MOST_NAMED);
    return count;
}

static size_t add_different(const warm_run *own, liana__text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < own->model->num_weights; i++) {
        const pairing *pair = &own->pairs[i];
        const liana__weight *weight = &own->model->weights[i];
        if (!pair->weight) continue;
        liana_shape shape = shape_of(pair->weight);
        if (liana_shape_equal(&shape, &weight->shape) || count++ >= MOST_NAMED) continue;
        liana__text_add(text, "%s%s is %s in the file, %s in the model", count > 1 ? ", " : "", weight->name,
                        liana__shape_print(&shape).text, liana__shape_print(&weight->shape).text);
    }
    if (count > MOST_NAMED) liana__text_add(text, " and %zu more", count - MOST_NAMED);
    return count;
}

static liana_status check_pairs(const warm_run *own)
{
    LIANA__SCOPED(liana__text) missing = {0}, different = {0};
    size_t num_missing = add_missing(own, &missing), num_different = add_different(own, &different);
    liana_status status = LIANA_OK;
    if (missing.failed || different.failed) {
        status = liana__fail_memory(own->error, "a warm start");
    } else if (num_missing) {
        status = liana__fail(
            own->error, LIANA_INVALID_DATA,
            "%s: %zu of the %zu weights of the model '%s' are not in the file: %s; say in map what they are "
            "called there, or let them keep their initial values with skip%s",
            own->source->path, num_missing, own->model->num_weights, liana__model_name(own->model), missing.data,
            liana__weight_source_difference(own->source).text);
    } else if (num_different) {
        status = liana__fail(own->error, LIANA_INVALID_DATA,
                             "%s: %s; let weights of another shape keep their initial values with skip",
                             own->source->path, different.data);
    }
    return status;
}

/* ---- values and the list ---- */

static liana_status read_values(const warm_run *own, float *const *values, liana__warm_result *result)
{
    for (size_t i = 0; i < own->model->num_weights; i++) {
        const pairing *pair = &own->pairs[i];
        result->num_skipped += pair->skipped;
        if (pair->skipped) continue;
        LIANA_TRY(liana__weights_read_one(own->source, pair->weight, own->model, &own->model->weights[i], values[i],
                                          own->error));
        result->num_matched++;
    }
    if (result->num_matched || !own->model->num_weights) return LIANA_OK;
    return liana__fail(own->error, LIANA_INVALID_CONFIG,
                       "%s: skip leaves no weight to read; leave the warm start out, or skip less", own->source->path);
}

/* One entry of a file may be several weights, of which at most one is used. */
static bool is_used(const warm_run *own, const liana__source_weight *weight)
{
    for (size_t i = 0; i < own->model->num_weights; i++) {
        const liana__source_weight *used = own->pairs[i].weight;
        if (used && used->entry == weight->entry) return true;
    }
    return false;
}

/* The name that was found: a file may have more before it, or another one for a layer. */
static const char *found_name(const warm_run *own, const pairing *pair)
{
    if (!own->source->by_name) return pair->wanted;
    return liana__arena_format(own->arena, "%s/%s", pair->layer->name, pair->weight->short_name);
}

/* RFC 4180: names may have commas and quotes. */
static void add_cell(liana__text *text, const char *cell, const char *end)
{
    liana__text_add_bytes(text, "\"", 1);
    for (; *cell; cell++) {
        if (*cell == '"') liana__text_add_bytes(text, "\"", 1);
        liana__text_add_bytes(text, cell, 1);
    }
    liana__text_add(text, "\"%s", end);
}

static void add_row(liana__text *text, const char *what, const char *weight, const char *in_file,
                    const liana_shape *shape)
{
    liana__text_add(text, "%s,", what);
    add_cell(text, weight, ",");
    add_cell(text, in_file, ",");
    add_cell(text, liana__shape_print(shape).text, "\n");
}

static void list_pairs(const warm_run *own, liana__text *text)
{
    liana__text_add(text, "what,weight,in_file,shape\n");
    for (size_t i = 0; i < own->model->num_weights; i++) {
        const pairing *pair = &own->pairs[i];
        const char *in_file = pair->skipped ? "" : found_name(own, pair);
        if (!in_file) return;
        add_row(text, pair->skipped ? "skipped" : "matched", own->model->weights[i].name, in_file,
                &own->model->weights[i].shape);
    }
}

static void list_unused(const warm_run *own, liana__text *text, liana__warm_result *result)
{
    for (size_t i = 0; i < own->source->num_layers; i++) {
        const liana__source_layer *layer = &own->source->layers[i];
        for (size_t k = 0; !is_state(layer) && k < layer->num_weights; k++) {
            const liana__source_weight *weight = &layer->weights[k];
            if (!weight->entry || is_used(own, weight) || (k && weight[-1].entry == weight->entry)) continue;
            const char *name = liana__arena_format(own->arena, "%s%s%s/%s", layer->model ? layer->model : "",
                                                   layer->model ? "/" : "", layer->name, weight->short_name);
            liana_shape shape = shape_of(weight);
            if (name) add_row(text, "unused", "", name, &shape);
            result->num_unused++;
        }
    }
}

static liana_status tell(const warm_run *own, liana__warm_result *result)
{
    LIANA__SCOPED(liana__text) text = {0};
    list_pairs(own, &text);
    list_unused(own, &text, result);
    if (!text.failed) result->listing = liana__arena_string(own->arena, text.data);
    return result->listing && !own->arena->failed ? LIANA_OK : liana__fail_memory(own->error, "a warm start");
}

/* ---- the whole ---- */

static liana_status read_source(const warm_run *own, const liana__warm_start *warm, float *const *values,
                                liana__warm_result *result)
{
    LIANA_TRY(pair_weights(own, warm));
    LIANA_TRY(check_pairs(own));
    LIANA_TRY(read_values(own, values, result));
    result->note = liana__weight_source_note(own->source);
    return tell(own, result);
}

/* The file that `from` means, which may be the name of weights. */
static liana_status find_file(const liana_model *model, const char *from, liana__remote *remote, liana__arena *arena,
                              const char **file, liana__error *error)
{
    static const liana__notes nobody;
    liana__weights_wanted wanted;
    size_t num_layers;
    if (!liana__weights_are_named(from, from)) return liana__warm_source_fetch(remote, from, arena, file, error);
    LIANA_TRY(liana__named_weights_of(model, from, &wanted, &num_layers, error));
    return liana__named_weights_fetch(&wanted, remote, model->context, &nobody, arena, file, error);
}

liana_status liana__warm_start_read(const liana_model *model, const liana__warm_start *warm, const char *where,
                                    const liana__place *place, liana__remote *remote, float *const *values,
                                    liana__arena *arena, liana__warm_result *result, liana__error *error)
{
    *result = (liana__warm_result){0};
    LIANA_TRY(liana__warm_start_check(warm, where, place, error));
    LIANA_TRY(check_patterns(model, warm, where, place, error));
    LIANA_TRY(find_file(model, warm->from, remote, arena, &result->file, error));
    warm_run own = {.model = model, .arena = arena, .error = error};
    LIANA__SCOPED_MEMORY pairing *pairs = calloc(model->num_weights + 1, sizeof *pairs);
    own.pairs = pairs;
    if (!pairs) return liana__fail_memory(error, "a warm start");
    LIANA__SCOPED_BY(liana__weight_source_close) liana__weight_source source = {0};
    own.source = &source;
    /* A map speaks of the file's own names. */
    const bool has_map = warm->map && warm->map->count;
    LIANA_TRY(liana__weight_source_open(result->file, has_map ? NULL : model, model->num_layers, &source, error));
    return read_source(&own, warm, values, result);
}

/* The warm start of a program's model. */

typedef struct warm_call {
    const liana__warm_start *warm;
    liana__remote *remote;
    liana__warm_result *result;
} warm_call;

static liana_status read_for_model(liana_model *model, const void *options, float *const *values, liana__arena *arena,
                                   liana__error *error)
{
    const warm_call *call = options;
    const liana__place place = {.file = NULL};
    return liana__warm_start_read(model, call->warm, "warm_start", &place, call->remote, values, arena, call->result,
                                  error);
}

static liana_status take_options(const liana_warm_start_options *options, liana__arena *arena, liana__warm_start *warm,
                                 liana__error *error)
{
    const liana_warm_name *names = options->map;
    liana__value *map = liana__value_map(arena);
    *warm = (liana__warm_start){.from = options->from, .map = map, .skip = {.items = options->skip}};
    if (!options->from) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "warm_start: 'from' is missing; expected a run, a checkpoint or a file of weights");
    }
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES && names[i].pattern; i++) {
        const char *in_file = names[i].in_file ? names[i].in_file : "";
        liana__value_set(arena, map, names[i].pattern, liana__value_string(arena, in_file));
    }
    while (warm->skip.count < LIANA_MAX_WARM_NAMES && options->skip[warm->skip.count]) warm->skip.count++;
    return arena->failed ? liana__fail_memory(error, "a warm start") : LIANA_OK;
}

static liana_status call_warm_start(liana_model *model, const liana_warm_start_options *options,
                                    liana_warm_report *report)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error *error = &model->context->error;
    liana__warm_start warm;
    liana__warm_result result;
    LIANA_TRY(take_options(options, &arena, &warm, error));
    warm_call call = {.warm = &warm, .result = &result};
    LIANA_TRY(liana__remote_create(NULL, &call.remote, error));
    liana_status status = liana__model_values_change(model, read_for_model, &call, &arena, error);
    if (status != LIANA_OK) liana__remote_fail_within(call.remote, error);
    liana__remote_destroy(call.remote);
    LIANA_TRY(status);
    if (report) {
        *report =
            (liana_warm_report){(int64_t)result.num_matched, (int64_t)result.num_skipped, (int64_t)result.num_unused};
    }
    const char *listing = options->listing;
    return listing ? liana__file_replace(listing, result.listing, strlen(result.listing), error) : LIANA_OK;
}

liana_status liana_model_warm_start(liana_model *model, const liana_warm_start_options *options,
                                    liana_warm_report *report)
{
    if (report) *report = (liana_warm_report){0};
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__CONTEXT_CALL(model->context, call_warm_start(model, options, report));
}
