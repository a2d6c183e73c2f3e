/* The settings and data that the processes of a cluster must have in common before they train. */
#include "base/file.h"
#include "base/scoped.h"
#include "train/checkpoint/data_state.h"
#include "train/run/run_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that may differ; a key means all below it. The keys of the job are in its own table. Own keys may differ from
 * process to process: they say where things are and how many of them this process has. The others may change in a run
 * that goes on. (Until a record is bad, a run that would skip it is one that would fail at it.) */
static const liana__job_key KEYS[] = {{"output", true, LIANA__RESUME_FREE},
                                      {"cluster", true, LIANA__RESUME_FREE},
                                      {"data.threads", true, LIANA__RESUME_FREE},
                                      {"data.memory", true, LIANA__RESUME_FREE},
                                      {"data.cache", true, LIANA__RESUME_FREE},
                                      {"data.cache_dir", true, LIANA__RESUME_FREE},
                                      {"data.remote_cache", true, LIANA__RESUME_FREE},
                                      {"data.remote_cache_limit", true, LIANA__RESUME_FREE},
                                      {"data.on_bad_record", false, LIANA__RESUME_FREE},
                                      {"data.max_bad", false, LIANA__RESUME_FREE},
                                      {"model.training", false, LIANA__RESUME_SAFE},
                                      {"data.validation", false, LIANA__RESUME_SAFE},
                                      {"data.test", false, LIANA__RESUME_SAFE},
                                      {"data.augment", false, LIANA__RESUME_SAFE},
                                      {"data.sample_weights", false, LIANA__RESUME_SAFE}};
enum { NUM_KEYS = sizeof KEYS / sizeof *KEYS };

bool liana__run_key(size_t index, liana__job_key *key)
{
    if (index >= NUM_KEYS + liana__job_num_keys()) return false;
    *key = index < NUM_KEYS ? KEYS[index] : liana__job_key_at(index - NUM_KEYS);
    return true;
}

liana__job_key liana__run_key_rule(const char *name)
{
    liana__job_key key, rule = {.own = false, .resume = LIANA__RESUME_SAME};
    for (size_t i = 0; liana__run_key(i, &key); i++) {
        const size_t length = strlen(key.name);
        const bool is_it = strncmp(name, key.name, length) == 0 && (name[length] == 0 || name[length] == '.');
        if (is_it && length >= strlen(rule.name)) rule = key;
    }
    return rule;
}

void liana__run_drop_key(liana__value *config, const char *key)
{
    const char *dot = strchr(key, '.');
    char section[32] = "";
    if (dot) memcpy(section, key, (size_t)(dot - key));
    liana__value *map = dot ? (liana__value *)(uintptr_t)liana__value_get(config, section) : config;
    if (!map || map->kind != LIANA__VALUE_MAP) return;
    liana__value_remove(map, dot ? dot + 1 : key);
    if (dot && !map->count) liana__value_remove(config, section);
}

/* The data may be in other folders on other machines: their files are compared by name and contents. */
void liana__run_drop_folders(liana__value *tree)
{
    for (size_t i = 0; i < tree->count; i++) liana__run_drop_folders(tree->items[i]);
    const char *slash = tree->kind == LIANA__VALUE_STRING ? strrchr(tree->string, '/') : NULL;
    if (slash) tree->string = slash + 1;
}

static void drop_data_folders(const liana__value *config)
{
    static const char *const parts[] = {"train", "validation", "test"};
    const liana__value *data = liana__value_get(config, "data");
    for (size_t i = 0; data && data->kind == LIANA__VALUE_MAP && i < 3; i++) {
        const liana__value *part = liana__value_get(data, parts[i]);
        if (part) liana__run_drop_folders((liana__value *)(uintptr_t)part);
    }
}

/* The chief alone opens files of weights. */
static void drop_weights_folders(const liana__value *config)
{
    const liana__value *model = liana__value_get(config, "model");
    if (!model || model->kind != LIANA__VALUE_MAP) return;
    const liana__value *weights = liana__value_get(model, "weights"), *warm = liana__value_get(model, "warm_start");
    if (weights) liana__run_drop_folders((liana__value *)(uintptr_t)weights);
    if (warm && warm->kind == LIANA__VALUE_MAP) warm = liana__value_get(warm, "from");
    if (warm) liana__run_drop_folders((liana__value *)(uintptr_t)warm);
}

static liana_status add_settings(const liana__run *run, liana__facts *facts, liana__error *error)
{
    liana__value *tree;
    LIANA_TRY(liana__config_tree(run->config, &facts->arena, &tree, error));
    liana__job_key key;
    for (size_t i = 0; liana__run_key(i, &key); i++) {
        if (key.own) liana__run_drop_key(tree, key.name);
    }
    drop_data_folders(tree);
    drop_weights_folders(tree);
    liana__run_drop_key(tree, "model.weights_sha256");
    liana__facts_add(facts, "the version of liana", LIANA_VERSION);
    liana__facts_add_tree(facts, "", tree);
    return LIANA_OK;
}

liana_status liana__run_agree_on_settings(const liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__cluster *cluster = liana__cluster_of(run->context);
    if (!cluster) return LIANA_OK;
    const liana__notes notes = {options->on_note, options->user};
    LIANA__SCOPED(liana__facts) facts = {0};
    LIANA_TRY(liana__cluster_agree_status(cluster, add_settings(run, &facts, error), error));
    LIANA_TRY(liana__facts_agree(&facts, cluster, error));
    return liana__agree_on_isa(run->context, cluster, &notes, error);
}

liana_status liana__run_agree_to_go_on(const liana__run *run, const liana__run_options *options, liana_status status,
                                       liana__error *error)
{
    const bool stops = options->stop && options->stop(options->user);
    if (status == LIANA_OK && stops) {
        status = liana__fail(error, LIANA_CANCELLED,
                             "stopped on request before the first step; the same command begins again");
    }
    return liana__cluster_agree_status(liana__cluster_of(run->context), status, error);
}

/* ---- data ---- */

liana_status liana__run_agree_on_data(const liana__run *run, liana__error *error)
{
    const liana__data_parts parts = {{run->training.source, run->validation.source, run->test.source},
                                     {"data.train", "data.validation", "data.test"},
                                     3};
    return liana__agree_on_data(&parts, liana__cluster_of(run->context), error);
}

liana_status liana__run_agree_on_part(const liana__run *run, const liana__source *source, liana__error *error)
{
    const liana__data_parts parts = {{source}, {"the data"}, 1};
    return liana__agree_on_data(&parts, liana__cluster_of(run->context), error);
}

liana_status liana__run_agree_on_arithmetic(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__notes notes = {options->on_note, options->user};
    return liana__agree_on_arithmetic(&run->core, run->config->cluster.exact, &notes, error);
}

/* ---- the files of the chief's run folder for the others: only the chief reaches it ---- */

enum { MOST_CONFIG = 1 << 26 };

/* Nothing where no run is there yet. */
static liana_status read_beginning(liana__run *run, char **text, size_t *size, const char **newest, liana__error *error)
{
    const char *config = liana__path_join(&run->arena, run->folder, "config.yaml");
    const char *checkpoints = liana__path_join(&run->arena, run->folder, "checkpoints");
    if (!config || !checkpoints) return liana__fail_memory(error, "the run folder");
    if (!liana__file_exists(config)) return LIANA_OK;
    LIANA_TRY(liana__file_read(config, MOST_CONFIG, text, size, error));
    return liana__checkpoint_newest(checkpoints, &run->arena, newest, error);
}

/* The configuration of the run that goes on, and a checkpoint's name: its choices are then used, as the chief does. */
static liana_status send_beginning(liana__run *run, liana__cluster *cluster, liana_status status, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size = 0;
    const char *newest = NULL;
    if (status == LIANA_OK) status = read_beginning(run, &text, &size, &newest, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__cluster_tell_sized(cluster, cluster->chief, (void **)&text, &size, error);
    char name[LIANA__CHECKPOINT_NAME] = "";
    if (newest) snprintf(name, sizeof name, "%s", liana__path_name(newest));
    return status == LIANA_OK ? liana__cluster_tell(cluster, cluster->chief, name, sizeof name, error) : status;
}

static liana_status write_beginning(liana__run *run, const char *text, size_t size, const char *checkpoint,
                                    liana__error *error)
{
    if (size == 0) return LIANA_OK;
    const char *config = liana__path_join(&run->arena, run->folder, "config.yaml");
    const char *name = liana__arena_format(&run->arena, "%s/checkpoints/%s", run->folder, checkpoint);
    if (!config || !name) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__file_replace(config, text, size, error));
    return *checkpoint ? liana__folder_make(name, error) : LIANA_OK;
}

static liana_status receive_beginning(liana__run *run, liana__cluster *cluster, liana_status status,
                                      liana__error *error)
{
    LIANA__SCOPED_MEMORY char *text = NULL;
    char name[LIANA__CHECKPOINT_NAME] = "";
    size_t size = 0;
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    status = liana__cluster_tell_sized(cluster, cluster->chief, (void **)&text, &size, error);
    if (status == LIANA_OK) status = liana__cluster_tell(cluster, cluster->chief, name, sizeof name, error);
    name[sizeof name - 1] = 0;
    return status == LIANA_OK ? write_beginning(run, text, size, name, error) : status;
}

liana_status liana__run_share_beginning(liana__run *run, const liana__run_options *options, liana_status status,
                                        liana__error *error)
{
    liana__cluster *cluster = liana__cluster_of(run->context);
    if (!cluster || (!options->resume && !options->resume_from)) return status;
    if (liana__cluster_is_chief(cluster)) return send_beginning(run, cluster, status, error);
    return receive_beginning(run, cluster, status, error);
}
