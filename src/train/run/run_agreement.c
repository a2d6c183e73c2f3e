/* What the processes of a cluster must have in common before they train: settings and data. */
#include "formats/yaml.h"
#include "train/checkpoint/data_state.h"
#include "train/core/agreement.h"
#include "train/run/run_internal.h"

#include <string.h>

/* Keys that may differ from process to process: they say where things are and how many there are of them here. */
static const char *const OWN_KEYS[] = {"output",       "cluster",        "data.threads",      "data.memory",
                                       "data.cache",   "data.cache_dir", "data.remote_cache", "data.remote_cache_limit",
                                       "train.threads"};

static void drop_own_keys(liana__value *config)
{
    for (size_t i = 0; i < sizeof OWN_KEYS / sizeof *OWN_KEYS; i++) {
        const char *key = OWN_KEYS[i], *dot = strchr(key, '.');
        char section[32] = "";
        if (dot) memcpy(section, key, (size_t)(dot - key));
        liana__value *map = dot ? (liana__value *)(uintptr_t)liana__value_get(config, section) : config;
        if (map && map->kind == LIANA__VALUE_MAP) liana__value_remove(map, dot ? dot + 1 : key);
    }
}

/* The data may be in other folders on other machines: their files are compared by name and contents. */
static void drop_folders(liana__value *tree)
{
    for (size_t i = 0; i < tree->count; i++) drop_folders(tree->items[i]);
    const char *slash = tree->kind == LIANA__VALUE_STRING ? strrchr(tree->string, '/') : NULL;
    if (slash) tree->string = slash + 1;
}

static void drop_data_folders(const liana__value *config)
{
    static const char *const parts[] = {"train", "validation", "test"};
    const liana__value *data = liana__value_get(config, "data");
    for (size_t i = 0; data && data->kind == LIANA__VALUE_MAP && i < 3; i++) {
        const liana__value *part = liana__value_get(data, parts[i]);
        if (part) drop_folders((liana__value *)(uintptr_t)part);
    }
}

static liana_status add_settings(const liana__run *run, liana__facts *facts, liana__error *error)
{
    liana__text text = {0};
    liana__value *tree = NULL;
    liana__config_write(run->config, &text);
    liana_status status = text.failed
                              ? liana__fail_memory(error, "the configuration")
                              : liana__yaml_parse(text.data, text.length, "configuration", &facts->arena, &tree, error);
    liana__text_free(&text);
    LIANA_TRY(status);
    drop_own_keys(tree);
    drop_data_folders(tree);
    liana__facts_add(facts, "the version of liana", LIANA_VERSION);
    liana__facts_add_tree(facts, "", tree);
    return LIANA_OK;
}

liana_status liana__run_agree_on_settings(const liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__cluster *cluster = liana__cluster_of(run->context);
    if (!cluster) return LIANA_OK;
    const liana__notes notes = {options->on_note, options->user};
    liana__facts facts = {0};
    liana_status status = liana__cluster_agree_status(cluster, add_settings(run, &facts, error), error);
    if (status == LIANA_OK) status = liana__facts_agree(&facts, cluster, error);
    liana__facts_free(&facts);
    return status == LIANA_OK ? liana__agree_on_isa(run->context, cluster, &notes, error) : status;
}

/* ---- data ---- */

static void remove_key(liana__value *tree, const char *key)
{
    if (tree->kind == LIANA__VALUE_MAP) liana__value_remove(tree, key);
    for (size_t i = 0; i < tree->count; i++) remove_key(tree->items[i], key);
}

typedef struct data_parts {
    const liana__source *sources[3]; /* NULL: there is none */
    const char *names[3];
    size_t count;
} data_parts;

/* Names, sizes and times of the files of a part; or with their contents and no times. */
static liana_status add_data(const liana__source *source, const char *name, bool contents, liana__facts *facts,
                             liana__error *error)
{
    liana__data_state state = {0};
    if (!source) return LIANA_OK;
    LIANA_TRY(liana__data_state_find(source, &facts->arena, &state, error));
    if (contents) liana__data_state_read_contents(&state);
    liana__value *tree = liana__data_state_value(&state, &facts->arena);
    if (!tree || facts->arena.failed) return liana__fail_memory(error, "the state of the data");
    if (contents) remove_key(tree, "time");
    liana__facts_add_tree(facts, name, tree);
    return LIANA_OK;
}

static liana_status add_parts(const data_parts *parts, bool contents, liana__facts *facts, liana__error *error)
{
    for (size_t i = 0; i < parts->count; i++) {
        LIANA_TRY(add_data(parts->sources[i], parts->names[i], contents, facts, error));
    }
    return LIANA_OK;
}

static liana_status compare_data(const data_parts *parts, liana__cluster *cluster, bool contents, bool *same,
                                 liana__error *error)
{
    liana__facts facts = {0};
    liana_status status = liana__cluster_agree_status(cluster, add_parts(parts, contents, &facts, error), error);
    if (status == LIANA_OK && contents) status = liana__facts_agree(&facts, cluster, error);
    if (status == LIANA_OK && !contents) status = liana__facts_compare(&facts, cluster, same, error);
    liana__facts_free(&facts);
    return status;
}

/* Times alone decide nothing: copies have other times. Where anything differs, contents are read, and what differs then is
 * named. */
static liana_status agree_on_parts(const liana__run *run, const data_parts *parts, liana__error *error)
{
    liana__cluster *cluster = liana__cluster_of(run->context);
    bool same = true;
    if (!cluster) return LIANA_OK;
    LIANA_TRY(compare_data(parts, cluster, false, &same, error));
    return same ? LIANA_OK : compare_data(parts, cluster, true, &same, error);
}

liana_status liana__run_agree_on_data(const liana__run *run, liana__error *error)
{
    const data_parts parts = {{run->training.source, run->validation.source, run->test.source},
                              {"data.train", "data.validation", "data.test"},
                              3};
    return agree_on_parts(run, &parts, error);
}

liana_status liana__run_agree_on_part(const liana__run *run, const liana__source *source, liana__error *error)
{
    const data_parts parts = {{source}, {"the data"}, 1};
    return agree_on_parts(run, &parts, error);
}

liana_status liana__run_agree_on_arithmetic(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__notes notes = {options->on_note, options->user};
    return liana__agree_on_arithmetic(&run->core, run->config->cluster.exact, &notes, error);
}
