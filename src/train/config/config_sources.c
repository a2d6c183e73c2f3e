/* Sources that are made of others. */
#include "train/config/config_internal.h"

enum { MAX_DEPTH = 16 };

/* `x` and `[x, y]` mean {paths: ...}, as at the top. */
static const liana__value *spell_out(const liana__value *value, liana__arena *arena)
{
    if (value->kind != LIANA__VALUE_STRING && value->kind != LIANA__VALUE_LIST) return value;
    liana__value *map = liana__value_map(arena);
    if (!map) return NULL;
    map->place = value->place;
    liana__value_append(arena, map, "paths", &value->place, (liana__value *)value);
    return map;
}

liana_status liana__config_read_source(const liana__value *value, const char *where, liana__arena *arena,
                                       liana__source_config *source, liana__error *error)
{
    const liana__value *map = spell_out(value, arena);
    if (!map) return liana__fail_memory(error, "the configuration");
    if (map->kind == LIANA__VALUE_MAP) {
        return liana__fields_read(liana__config_source_fields(), map, where, NULL, arena, source, error);
    }
    char found[128];
    return liana__fail_at(error, &value->place, where, "found %s, expected a path, a list of paths, or a mapping",
                          liana__value_describe(value, found, sizeof found));
}

bool liana__config_has_source(const liana__source_config *source)
{
    return source->paths.count || source->images || source->concatenate || source->sample_from ||
           source->interleave.sources;
}

bool liana__config_combines(const liana__source_config *source)
{
    return source->concatenate || source->sample_from || source->interleave.sources ||
           source->interleave.cycle_length || source->filter || source->map || source->take_while || source->unique ||
           source->rejection_resample.target_dist || source->window.size || source->shard.count || source->skip ||
           source->take || source->snapshot;
}

/* Options that would change nothing. */
static liana_status check_stages(const liana__source_config *source, const char *where, const liana__place *place,
                                 liana__error *error)
{
    const liana__window_config *window = &source->window;
    if (!window->size &&
        (window->shift != 1 || window->stride != 1 || window->targets.count || window->target_offset)) {
        return liana__fail_at(error, place, where,
                              "'window' has no 'size', expected the number of examples of a window");
    }
    if (window->target_offset && !window->targets.count) {
        return liana__fail_at(error, place, where,
                              "window.target_offset is %lld, but no 'window.targets' have it; name the components",
                              (long long)window->target_offset);
    }
    const liana__resample_config *resample = &source->rejection_resample;
    if (!resample->target_dist && (resample->initial_dist || resample->same_each_epoch)) {
        return liana__fail_at(error, place, where,
                              "'rejection_resample' has no 'target_dist', expected a share for each class");
    }
    if (source->snapshot || !source->snapshot_compression) return LIANA_OK;
    return liana__fail_at(error, place, where, "'snapshot_compression' needs 'snapshot', the folder");
}

static liana_status check_source(const liana__source_config *source, const char *where, const liana__place *place,
                                 liana__error *error)
{
    if (source->paths.count && (source->images || source->labels)) {
        return liana__fail_at(error, place, where, "'paths' and 'images' exclude each other; keep one of them");
    }
    if (source->labels && !source->images) {
        return liana__fail_at(error, place, where, "'labels' needs 'images'");
    }
    const liana__interleave_config *interleave = &source->interleave;
    int ways = (source->paths.count || source->images) + (source->concatenate != NULL) + (source->sample_from != NULL) +
               (interleave->sources != NULL);
    if (ways > 1) {
        return liana__fail_at(error, place, where,
                              "'paths', 'images', 'concatenate', 'sample_from' and 'interleave.sources' exclude each "
                              "other; keep one of them");
    }
    if (ways == 0 && liana__config_combines(source)) {
        return liana__fail_at(
            error, place, where,
            "no source found, expected 'paths', 'images', 'concatenate', 'sample_from' or 'interleave.sources'");
    }
    if (interleave->cycle_length && !interleave->sources && !source->paths.count) {
        return liana__fail_at(error, place, where,
                              "interleave.cycle_length is the number of files of 'paths', or of 'interleave.sources', "
                              "that are taken in turn, but neither is given");
    }
    if (interleave->block_length > 1 && !interleave->sources && !interleave->cycle_length) {
        return liana__fail_at(
            error, place, where,
            "interleave.block_length is %lld; set interleave.cycle_length too: the number of files taken in turn",
            (long long)interleave->block_length);
    }
    LIANA_TRY(check_stages(source, where, place, error));
    const liana__shard_config *shard = &source->shard;
    if (shard->index == 0 || shard->index < shard->count) return LIANA_OK;
    return liana__fail_at(error, place, where, "shard.index is %lld, expected less than shard.count, which is %lld",
                          (long long)shard->index, (long long)shard->count);
}

static liana_status resolve(liana__source_config *source, const char *where, const liana__place *place, int depth,
                            liana__arena *arena, liana__error *error);

static liana_status resolve_list(const liana__value **list, const char *where, const char *key, int depth,
                                 liana__arena *arena, liana__error *error)
{
    const liana__value *given = *list;
    char found[128];
    const char *own = liana__arena_format(arena, "%s.%s", where, key);
    liana__value *made = liana__value_list(arena);
    if (!own || !made) return liana__fail_memory(error, "the configuration");
    if (given->kind != LIANA__VALUE_LIST || given->count == 0) {
        return liana__fail_at(error, &given->place, own, "found %s, expected a list of sources",
                              liana__value_describe(given, found, sizeof found));
    }
    if (depth >= MAX_DEPTH) return liana__fail_at(error, &given->place, own, "nested more than %d deep", MAX_DEPTH);
    for (size_t i = 0; i < given->count; i++) {
        liana__source_config item;
        const liana__place *place = &given->items[i]->place;
        const char *name = liana__arena_format(arena, "%s[%zu]", own, i);
        if (!name) return liana__fail_memory(error, "the configuration");
        LIANA_TRY(liana__config_read_source(given->items[i], name, arena, &item, error));
        if (!liana__config_has_source(&item)) {
            return liana__fail_at(error, place, name, "no source found, expected paths");
        }
        LIANA_TRY(resolve(&item, name, place, depth + 1, arena, error));
        LIANA_TRY(liana__config_make_absolute(liana__config_source_fields(), arena, &item, error));
        liana__value *written = liana__fields_write(liana__config_source_fields(), arena, &item);
        if (written) written->place = *place;
        liana__value_add(arena, made, written);
    }
    made->place = given->place;
    *list = made;
    return arena->failed ? liana__fail_memory(error, "the configuration") : LIANA_OK;
}

static liana_status resolve(liana__source_config *source, const char *where, const liana__place *place, int depth,
                            liana__arena *arena, liana__error *error)
{
    LIANA_TRY(check_source(source, where, place, error));
    if (source->concatenate) {
        LIANA_TRY(resolve_list(&source->concatenate, where, "concatenate", depth, arena, error));
    }
    if (source->sample_from) {
        LIANA_TRY(resolve_list(&source->sample_from, where, "sample_from", depth, arena, error));
    }
    if (source->interleave.sources) {
        LIANA_TRY(resolve_list(&source->interleave.sources, where, "interleave.sources", depth, arena, error));
    }
    return LIANA_OK;
}

liana_status liana__config_resolve_source(liana__source_config *source, const char *where, const liana__place *place,
                                          liana__arena *arena, liana__error *error)
{
    return resolve(source, where, place, 0, arena, error);
}

/* A growing list in an arena. */
static liana_status add_files(const liana__source_config *source, liana__arena *arena, liana__value *list,
                              liana__error *error)
{
    const liana__value *const inputs[] = {source->concatenate, source->sample_from, source->interleave.sources};
    for (size_t i = 0; i < source->paths.count; i++) {
        liana__value_add(arena, list, liana__value_string(arena, source->paths.items[i]));
    }
    if (source->images) liana__value_add(arena, list, liana__value_string(arena, source->images));
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; inputs[k] && i < inputs[k]->count; i++) {
            liana__source_config item;
            LIANA_TRY(liana__config_read_source(inputs[k]->items[i], "data", arena, &item, error));
            LIANA_TRY(add_files(&item, arena, list, error));
        }
    }
    return LIANA_OK;
}

liana_status liana__config_files(const liana__source_config *source, liana__arena *arena, liana__strings *files,
                                 liana__error *error)
{
    liana__value *list = liana__value_list(arena);
    if (!list) return liana__fail_memory(error, "a list of files");
    LIANA_TRY(add_files(source, arena, list, error));
    const char **items = liana__arena_allocate(arena, (list->count + 1) * sizeof *items);
    if (arena->failed) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < list->count; i++) items[i] = list->items[i]->string;
    *files = (liana__strings){list->count, items};
    return LIANA_OK;
}
