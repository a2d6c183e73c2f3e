/* Reads the file of a sweep. */
#include "train/config/sweep.h"

#include "base/file.h"
#include "base/named.h"
#include "formats/yaml.h"
#include "train/checkpoint/temporary.h"

#include <stdio.h>
#include <string.h>

/* The file as it is written. */
typedef struct sweep_file {
    const char *base, *output, *title;
    int64_t jobs, threads;
    liana__ints seeds;
    const liana__value *set, *grid, *settings, *comparisons;
    liana__strings metrics;
    int value;
} sweep_file;

static const char *const values[] = {"last", "best", NULL};

static const liana__field items[] = {
    LIANA__FIELD_ROW(sweep_file, base, PATH, .required = true, .doc = "the configuration that all runs begin with"),
    LIANA__FIELD_ROW(sweep_file, output, PATH, .doc = "the folder of the sweep"),
    LIANA__FIELD_ROW(sweep_file, title, STRING, .doc = "the heading of the report"),
    LIANA__FIELD_ROW(sweep_file, jobs, INT, .default_text = "2", .minimum = 1, .maximum = 1024,
                     .doc = "the number of runs at a time, at most one for each thread"),
    LIANA__FIELD_ROW(sweep_file, threads, INT, .maximum = 1024,
                     .doc = "threads of all runs together (0: LIANA_THREADS, else the number of cores)"),
    LIANA__FIELD_ROW(sweep_file, seeds, INTS, .default_text = "[1]", .minimum = 0, .maximum = 9007199254740991,
                     .doc = "each setting is trained once with each of them as train.seed"),
    LIANA__FIELD_ROW(sweep_file, set, VALUE, .doc = "changes of the base for all runs: {dotted.key: value}"),
    LIANA__FIELD_ROW(sweep_file, grid, VALUE,
                     .doc = "{dotted.key: [value, value]}: a setting for each combination of the values"),
    LIANA__FIELD_ROW(sweep_file, settings, VALUE,
                     .doc = "a list of {name: NAME, set: {dotted.key: value}}; with a grid, each with each of its "
                            "combinations"),
    LIANA__FIELD_ROW(sweep_file, metrics, STRINGS,
                     .doc = "what the table shows, as history.json has it: [val_loss, val_accuracy] (default: all of "
                            "the validation)"),
    LIANA__FIELD_ROW(sweep_file, value, ENUM, .default_text = "last", .names = values,
                     .doc = "the epoch that the table shows: the last, or for each metric its best"),
    LIANA__FIELD_ROW(sweep_file, comparisons, VALUE,
                     .doc = "a list of {question: TEXT, first: SETTING, second: SETTING} for the report"),
};
static const liana__fields file_fields = LIANA__FIELD_TABLE("sweep", sweep_file, items);

const liana__fields *liana__sweep_fields(void)
{
    return &file_fields;
}

typedef struct listed_setting {
    const char *name, *about;
    const liana__value *set;
} listed_setting;

static const liana__field setting_items[] = {
    LIANA__FIELD_ROW(listed_setting, name, STRING, .required = true, .doc = "the name of its folder"),
    LIANA__FIELD_ROW(listed_setting, about, STRING, .doc = "a sentence for the report"),
    LIANA__FIELD_ROW(listed_setting, set, VALUE, .doc = "{dotted.key: value}"),
};
static const liana__fields setting_fields = LIANA__FIELD_TABLE("settings", listed_setting, setting_items);

typedef struct listed_comparison {
    const char *question, *first, *second;
} listed_comparison;

static const liana__field comparison_items[] = {
    LIANA__FIELD_ROW(listed_comparison, question, STRING, .required = true, .doc = "what is asked"),
    LIANA__FIELD_ROW(listed_comparison, first, STRING, .required = true, .doc = "the name of a setting"),
    LIANA__FIELD_ROW(listed_comparison, second, STRING, .required = true, .doc = "the name of another"),
};
static const liana__fields comparison_fields = LIANA__FIELD_TABLE("comparisons", listed_comparison, comparison_items);

typedef struct reader {
    const sweep_file *file;
    const char *path;
    liana__arena *arena;
    liana__sweep *sweep;
    liana__error *error;
} reader;

static liana_status no_memory(const reader *own)
{
    return liana__fail_memory(own->error, own->path);
}

static liana_status fail_kind(const reader *own, const liana__value *value, const char *where, const char *expected)
{
    char found[128];
    return liana__fail_at(own->error, &value->place, where, "found %s, expected %s",
                          liana__value_describe(value, found, sizeof found), expected);
}

/* ---- changes ---- */

static liana_status check_map(const reader *own, const liana__value *map, const char *where)
{
    if (!map || map->kind == LIANA__VALUE_MAP) return LIANA_OK;
    return fail_kind(own, map, where, "a mapping such as {train.epochs: 3}");
}

static size_t count_of(const liana__value *map)
{
    return map ? map->count : 0;
}

static void add_changes(const liana__value *map, liana__config_change *changes, size_t *count)
{
    for (size_t i = 0; i < count_of(map); i++) {
        changes[(*count)++] = (liana__config_change){map->keys[i], map->items[i]};
    }
}

/* ---- names ---- */

/* A name is a folder's. */
static const char *clean_name(liana__arena *arena, const char *name)
{
    char *clean = liana__arena_string(arena, name);
    for (char *at = clean; at && *at; at++) {
        bool kept = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        if (!kept && !strchr("._=+,-", *at)) *at = '-';
    }
    if (clean && *clean == '.') *clean = '-';
    return clean;
}

/* "batch_size=32"; of a value that is no number or word, its number in the list. */
static void add_point(liana__text *name, const char *key, const liana__value *list, size_t index)
{
    const liana__value *value = list->items[index];
    const char *dot = strrchr(key, '.');
    bool is_word = value->kind == LIANA__VALUE_STRING && strlen(value->string) <= 40;
    bool is_plain = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT ||
                    value->kind == LIANA__VALUE_BOOL || value->kind == LIANA__VALUE_NULL;
    liana__text_add(name, "%s%s=", name->length ? "," : "", dot ? dot + 1 : key);
    if (is_word) {
        liana__text_add(name, "%s", value->string);
    } else if (is_plain) {
        liana__value_write_json(value, 0, name);
    } else {
        liana__text_add(name, "%zu", index + 1);
    }
}

/* ---- settings ---- */

static size_t grid_size(const liana__value *grid)
{
    size_t size = 1;
    for (size_t i = 0; i < count_of(grid) && size <= LIANA__SWEEP_MOST_RUNS; i++) size *= grid->items[i]->count;
    return size;
}

/* Point `index` of the grid: the last key changes fastest. */
static liana_status add_setting(const reader *own, const listed_setting *listed, size_t index)
{
    const liana__value *grid = own->file->grid;
    size_t most = count_of(own->file->set) + count_of(listed->set) + count_of(grid) + 1, count = 0;
    liana__config_change *changes = liana__arena_allocate(own->arena, most * sizeof *changes);
    if (!changes) return no_memory(own);
    add_changes(own->file->set, changes, &count);
    add_changes(listed->set, changes, &count);
    liana__text name = {0};
    if (listed->name) liana__text_add(&name, "%s", listed->name);
    size_t block = grid_size(grid);
    for (size_t i = 0; i < count_of(grid); i++) {
        const liana__value *list = grid->items[i];
        block /= list->count;
        size_t at = index / block % list->count;
        changes[count++] = (liana__config_change){grid->keys[i], list->items[at]};
        add_point(&name, grid->keys[i], list, at);
    }
    const char *clean = clean_name(own->arena, name.length ? name.data : "base");
    bool failed = name.failed || !clean;
    liana__text_free(&name);
    if (failed) return no_memory(own);
    own->sweep->settings[own->sweep->num_settings++] = (liana__sweep_setting){clean, listed->about, changes, count};
    return LIANA_OK;
}

static liana_status read_listed(const reader *own, size_t index, listed_setting *listed)
{
    const liana__value *list = own->file->settings;
    *listed = (listed_setting){0};
    if (!count_of(list)) return LIANA_OK;
    char where[32];
    snprintf(where, sizeof where, "settings[%zu]", index);
    if (list->items[index]->kind != LIANA__VALUE_MAP) {
        return fail_kind(own, list->items[index], where, "a mapping such as {name: fast, set: {train.epochs: 3}}");
    }
    LIANA_TRY(liana__fields_read(&setting_fields, list->items[index], where, NULL, own->arena, listed, own->error));
    return check_map(own, listed->set, where);
}

static liana_status check_names(const reader *own)
{
    const liana__sweep *sweep = own->sweep;
    for (size_t i = 0; i < sweep->num_settings; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(sweep->settings[i].name, sweep->settings[k].name) != 0) continue;
            return liana__fail(own->error, LIANA_INVALID_CONFIG, "%s: two settings have the name '%s'", own->path,
                               sweep->settings[i].name);
        }
    }
    return LIANA_OK;
}

static liana_status read_grid(const reader *own)
{
    const liana__value *grid = own->file->grid;
    LIANA_TRY(check_map(own, grid, "grid"));
    for (size_t i = 0; i < count_of(grid); i++) {
        const liana__value *list = grid->items[i];
        char where[128];
        snprintf(where, sizeof where, "grid.%s", grid->keys[i]);
        if (list->kind != LIANA__VALUE_LIST || !list->count) return fail_kind(own, list, where, "a list of values");
    }
    return LIANA_OK;
}

static liana_status read_settings(const reader *own)
{
    const sweep_file *file = own->file;
    LIANA_TRY(check_map(own, file->set, "set"));
    LIANA_TRY(read_grid(own));
    bool listed = file->settings != NULL;
    if (listed && (file->settings->kind != LIANA__VALUE_LIST || !file->settings->count)) {
        return fail_kind(own, file->settings, "settings", "a list such as [{name: fast, set: {train.epochs: 3}}]");
    }
    size_t num_listed = listed ? file->settings->count : 1, points = grid_size(file->grid);
    size_t num_runs = num_listed * points * (size_t)file->seeds.count;
    if (points > LIANA__SWEEP_MOST_RUNS || num_runs > LIANA__SWEEP_MOST_RUNS) {
        return liana__fail(own->error, LIANA_INVALID_CONFIG, "%s: the sweep has more than %d runs", own->path,
                           LIANA__SWEEP_MOST_RUNS);
    }
    own->sweep->settings = liana__arena_allocate(own->arena, num_listed * points * sizeof *own->sweep->settings);
    if (!own->sweep->settings) return no_memory(own);
    for (size_t i = 0; i < num_listed; i++) {
        listed_setting setting;
        LIANA_TRY(read_listed(own, i, &setting));
        for (size_t k = 0; k < points; k++) LIANA_TRY(add_setting(own, &setting, k));
    }
    return check_names(own);
}

/* ---- runs and comparisons ---- */

static liana_status make_runs(const reader *own)
{
    liana__sweep *sweep = own->sweep;
    liana__arena *arena = own->arena;
    const liana__ints *seeds = &own->file->seeds;
    for (int64_t i = 0; i < seeds->count; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (seeds->values[i] != seeds->values[k]) continue;
            return liana__fail_at(own->error, &sweep->seeds_place, "seeds", "%lld is there twice",
                                  (long long)seeds->values[i]);
        }
    }
    sweep->num_seeds = seeds->count;
    sweep->runs = liana__arena_allocate(arena, sweep->num_settings * (size_t)seeds->count * sizeof *sweep->runs + 1);
    if (!sweep->runs) return no_memory(own);
    for (size_t i = 0; i < sweep->num_settings; i++) {
        for (int64_t k = 0; k < seeds->count; k++) {
            liana__sweep_run *run = &sweep->runs[sweep->num_runs++];
            *run = (liana__sweep_run){.setting = i, .seed = seeds->values[k]};
            run->name =
                liana__arena_format(arena, "%s/seed-%lld", sweep->settings[i].name, (long long)seeds->values[k]);
            if (run->name) run->folder = liana__path_join(arena, sweep->folder, run->name);
            if (!run->folder) return no_memory(own);
            run->config = liana__arena_format(arena, "%s.yaml", run->folder);
            run->log = liana__arena_format(arena, "%s.log", run->folder);
            run->done = liana__arena_format(arena, "%s.done", run->folder);
        }
    }
    return arena->failed ? no_memory(own) : LIANA_OK;
}

static liana_status find_setting(const reader *own, const liana__value *map, const char *where, const char *name,
                                 size_t *index)
{
    const liana__sweep *sweep = own->sweep;
    const char *nearest;
    *index =
        liana__named_find(LIANA__NAMED(liana__sweep_setting, sweep->settings, sweep->num_settings), name, &nearest);
    if (*index < sweep->num_settings) return LIANA_OK;
    return liana__fail_at(own->error, &map->place, where, "there is no setting '%.100s'%s", name,
                          liana__hint(nearest).text);
}

static liana_status read_comparisons(const reader *own)
{
    const liana__value *list = own->file->comparisons;
    liana__sweep *sweep = own->sweep;
    if (!list) return LIANA_OK;
    if (list->kind != LIANA__VALUE_LIST) {
        return fail_kind(own, list, "comparisons", "a list such as [{question: Is it better?, first: a, second: b}]");
    }
    sweep->comparisons = liana__arena_allocate(own->arena, list->count * sizeof *sweep->comparisons + 1);
    if (!sweep->comparisons) return no_memory(own);
    for (size_t i = 0; i < list->count; i++) {
        const liana__value *map = list->items[i];
        listed_comparison listed;
        char where[40];
        snprintf(where, sizeof where, "comparisons[%zu]", i);
        if (map->kind != LIANA__VALUE_MAP) return fail_kind(own, map, where, "a mapping");
        LIANA_TRY(liana__fields_read(&comparison_fields, map, where, NULL, own->arena, &listed, own->error));
        liana__sweep_comparison *made = &sweep->comparisons[sweep->num_comparisons++];
        made->question = listed.question;
        LIANA_TRY(find_setting(own, map, where, listed.first, &made->first));
        LIANA_TRY(find_setting(own, map, where, listed.second, &made->second));
    }
    return LIANA_OK;
}

liana_status liana__sweep_read(const char *path, const char *folder, liana__arena *arena, liana__sweep *sweep,
                               liana__error *error)
{
    sweep_file file;
    liana__value *root;
    *sweep = (liana__sweep){.file = path};
    liana_status status = liana__yaml_read(path, arena, &root, error);
    if (status == LIANA_NOT_FOUND && error) error->status = LIANA_INVALID_CONFIG;
    if (status != LIANA_OK) return status == LIANA_NOT_FOUND ? LIANA_INVALID_CONFIG : status;
    reader own = {&file, path, arena, sweep, error};
    if (root->kind != LIANA__VALUE_MAP) return fail_kind(&own, root, NULL, "a mapping with the key 'base'");
    LIANA_TRY(liana__fields_read(&file_fields, root, NULL, NULL, arena, &file, error));
    sweep->base = file.base;
    sweep->folder = folder ? folder : file.output;
    sweep->title = file.title;
    sweep->jobs = file.jobs;
    sweep->threads = file.threads;
    sweep->metrics = file.metrics;
    sweep->value = file.value;
    const liana__value *seeds = liana__value_get(root, "seeds");
    sweep->seeds_place = seeds ? seeds->place : root->place;
    if (!sweep->folder) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "sweep: it has no folder: give --out DIR, or 'output' in '%s'",
                           path);
    }
    LIANA_TRY(liana__folder_name_check(sweep->folder, "a folder of runs", error));
    if (liana__path_is_remote(sweep->folder)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "sweep: '%s' is no local folder", sweep->folder);
    }
    if (!file.seeds.count) {
        return liana__fail_at(error, &sweep->seeds_place, "seeds", "the list is empty, expected at least one seed");
    }
    LIANA_TRY(read_settings(&own));
    LIANA_TRY(make_runs(&own));
    return read_comparisons(&own);
}
