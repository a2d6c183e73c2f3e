/* Places in a cluster that lists of addresses give: TF_CONFIG, cluster.workers, and LIANA_CLUSTER of `liana launch`. */
#include "distribute/transport/cluster_found.h"

#include "base/text.h"
#include "formats/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static liana_status read_json(const liana__cluster_reader *reader, const char *name, const char *text,
                              const liana__value **map)
{
    liana__value *value = NULL;
    if (liana__json_parse(text, strlen(text), name, reader->arena, &value, reader->error) != LIANA_OK) {
        reader->error->status = LIANA_INVALID_CONFIG;
        return liana__fail_within(reader->error, "%s is no JSON", name);
    }
    if (value->kind != LIANA__VALUE_MAP) {
        char found[96];
        return liana__fail(reader->error, LIANA_INVALID_CONFIG, "%s: found %s, expected a mapping", name,
                           liana__value_describe(value, found, sizeof found));
    }
    *map = value;
    return LIANA_OK;
}

static liana_status fail_member(const liana__cluster_reader *reader, const char *name, const char *key,
                                const liana__value *value, const char *expected)
{
    char found[96];
    return liana__fail(reader->error, LIANA_INVALID_CONFIG, "%s: %s: found %s, expected %s", name, key,
                       value ? liana__value_describe(value, found, sizeof found) : "nothing", expected);
}

/* A whole number, which some programs write as text. */
static liana_status read_index(const liana__cluster_reader *reader, const char *name, const char *key,
                               const liana__value *value, size_t *number)
{
    const liana__value *word = value;
    if (value && value->kind == LIANA__VALUE_STRING) word = liana__value_from_word(reader->arena, value->string);
    if (word && word->kind == LIANA__VALUE_INT && word->integer >= 0 && word->integer <= 100000) {
        *number = (size_t)word->integer;
        return LIANA_OK;
    }
    return fail_member(reader, name, key, value, "a whole number from 0");
}

/* Appends the addresses of a list to found->addresses. A missing list is an empty one. */
static liana_status add_addresses(const liana__cluster_reader *reader, const char *name, const char *key,
                                  const liana__value *list, liana__cluster_found *found, size_t *count)
{
    if (!list) return LIANA_OK;
    if (list->kind != LIANA__VALUE_LIST) return fail_member(reader, name, key, list, "a list of addresses");
    for (size_t i = 0; i < list->count; i++) {
        const liana__value *address = list->items[i];
        if (address->kind != LIANA__VALUE_STRING) return fail_member(reader, name, key, address, "an address");
        LIANA_TRY(liana__cluster_check_address(reader, name, address->string));
        found->addresses[(*count)++] = address->string;
    }
    return LIANA_OK;
}

static size_t count_of(const liana__value *map, const char *key)
{
    const liana__value *list = liana__value_get(map, key);
    return list ? list->count : 0;
}

static liana_status make_addresses(const liana__cluster_reader *reader, liana__cluster_found *found, size_t count)
{
    found->addresses = liana__arena_allocate(reader->arena, (count + 1) * sizeof *found->addresses);
    return found->addresses ? LIANA_OK : liana__fail_memory(reader->error, "the cluster");
}

/* ---- TF_CONFIG ---- */

static const char tf_config[] = "TF_CONFIG";

static liana_status fail_task(const liana__cluster_reader *reader, const char *type, size_t index, size_t count)
{
    if (count == 0) {
        return liana__fail(
            reader->error, LIANA_INVALID_CONFIG,
            "TF_CONFIG: the task is %s %zu, but the cluster has no %s; expected a task of cluster: chief, "
            "worker, ps or evaluator",
            type, index, type);
    }
    return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                       "TF_CONFIG: the task is %s %zu, but the cluster has %zu of them: index from 0 to %zu", type,
                       index, count, count - 1);
}

/* The rank of a task: chief, workers, servers. */
static liana_status find_task(const liana__cluster_reader *reader, const liana__value *cluster,
                              const liana__value *task, liana__cluster_found *found)
{
    const liana__value *type = liana__value_get(task, "type");
    size_t index = 0, num_chiefs = count_of(cluster, "chief") + count_of(cluster, "master");
    if (!type || type->kind != LIANA__VALUE_STRING) return fail_member(reader, tf_config, "task.type", type, "text");
    LIANA_TRY(read_index(reader, tf_config, "task.index", liana__value_get(task, "index"), &index));
    const char *name = type->string;
    if (index >= count_of(cluster, name) && strcmp(name, "evaluator") != 0) {
        return fail_task(reader, name, index, count_of(cluster, name));
    }
    found->has_rank = true;
    if (strcmp(name, "chief") == 0 || strcmp(name, "master") == 0) {
        found->rank = 0;
    } else if (strcmp(name, "worker") == 0) {
        found->rank = num_chiefs + index;
    } else if (strcmp(name, "ps") == 0) {
        found->rank = found->num_workers + index;
    } else if (strcmp(name, "evaluator") == 0) {
        found->is_evaluator = true;
    } else {
        return fail_member(reader, tf_config, "task.type", type, "chief, worker, ps or evaluator");
    }
    return LIANA_OK;
}

liana_status liana__find_tf_config(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    const char *text = liana__cluster_variable(reader, tf_config);
    const liana__value *map = NULL;
    size_t count = 0;
    if (!text) return LIANA_OK;
    LIANA_TRY(read_json(reader, tf_config, text, &map));
    const liana__value *cluster = liana__value_get(map, "cluster"), *task = liana__value_get(map, "task");
    /* Without a cluster it is about other things. */
    if (!cluster || (cluster->kind == LIANA__VALUE_MAP && cluster->count == 0)) return LIANA_OK;
    if (cluster->kind != LIANA__VALUE_MAP) return fail_member(reader, tf_config, "cluster", cluster, "a mapping");
    if (!task || task->kind != LIANA__VALUE_MAP) return fail_member(reader, tf_config, "task", task, "a mapping");
    size_t num_chiefs = count_of(cluster, "chief") + count_of(cluster, "master");
    if (num_chiefs > 1) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "TF_CONFIG: the cluster has %zu chiefs, expected one at most", num_chiefs);
    }
    found->has_chief_task = num_chiefs > 0;
    found->num_workers = num_chiefs + count_of(cluster, "worker");
    found->num_servers = count_of(cluster, "ps");
    if (found->num_workers == 0) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "TF_CONFIG: the cluster has neither a chief nor a worker");
    }
    LIANA_TRY(make_addresses(reader, found, found->num_workers + found->num_servers));
    LIANA_TRY(add_addresses(reader, tf_config, "cluster.chief", liana__value_get(cluster, "chief"), found, &count));
    LIANA_TRY(add_addresses(reader, tf_config, "cluster.master", liana__value_get(cluster, "master"), found, &count));
    LIANA_TRY(add_addresses(reader, tf_config, "cluster.worker", liana__value_get(cluster, "worker"), found, &count));
    LIANA_TRY(add_addresses(reader, tf_config, "cluster.ps", liana__value_get(cluster, "ps"), found, &count));
    found->source = tf_config;
    return find_task(reader, cluster, task, found);
}

/* ---- cluster.workers ---- */

static liana_status add_strings(const liana__cluster_reader *reader, const char *name, const liana__strings *strings,
                                liana__cluster_found *found, size_t *count)
{
    for (size_t i = 0; i < strings->count; i++) {
        LIANA_TRY(liana__cluster_check_address(reader, name, strings->items[i]));
        found->addresses[(*count)++] = strings->items[i];
    }
    return LIANA_OK;
}

static liana_status read_task(const liana__cluster_reader *reader, const char *task, liana__cluster_found *found)
{
    const struct {
        const char *name;
        size_t count, first; /* of tasks, and the rank of the first */
    } kinds[] = {{"chief", 1, 0},
                 {"worker", found->num_workers, 0},
                 {"server", found->num_servers, found->num_workers},
                 {"evaluator", SIZE_MAX, 0}};
    const size_t length = strcspn(task, ":");
    const char *index = task[length] ? task + length + 1 : "0";
    char *end = NULL;
    const unsigned long number = *index >= '0' && *index <= '9' ? strtoul(index, &end, 10) : 0;
    const bool is_number = end && *end == '\0';
    found->has_rank = true;
    for (size_t i = 0; is_number && i < sizeof kinds / sizeof *kinds; i++) {
        const bool is_kind = strlen(kinds[i].name) == length && memcmp(task, kinds[i].name, length) == 0;
        if (!is_kind || number >= kinds[i].count) continue;
        found->is_evaluator = kinds[i].count == SIZE_MAX;
        if (!found->is_evaluator) found->rank = kinds[i].first + number;
        return LIANA_OK;
    }
    return liana__fail(
        reader->error, LIANA_INVALID_CONFIG,
        "cluster.task: found '%.60s', expected chief, evaluator, worker:N or server:N; cluster.workers has "
        "%zu addresses, cluster.servers %zu",
        task, found->num_workers, found->num_servers);
}

liana_status liana__find_options(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    const liana__cluster_options *options = reader->options;
    size_t count = 0;
    if (options->workers.count == 0) {
        if (options->servers.count == 0) return LIANA_OK;
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "cluster.servers has %zu addresses, but cluster.workers none", options->servers.count);
    }
    found->source = "cluster.workers";
    found->num_workers = options->workers.count;
    found->num_servers = options->servers.count;
    LIANA_TRY(make_addresses(reader, found, found->num_workers + found->num_servers));
    LIANA_TRY(add_strings(reader, "cluster.workers", &options->workers, found, &count));
    LIANA_TRY(add_strings(reader, "cluster.servers", &options->servers, found, &count));
    return options->task ? read_task(reader, options->task, found) : LIANA_OK;
}

/* ---- LIANA_CLUSTER ---- */

static liana_status read_text(const liana__cluster_reader *reader, const liana__value *map, const char *key,
                              const char **text)
{
    const liana__value *value = liana__value_get(map, key);
    if (!value) return LIANA_OK;
    if (value->kind != LIANA__VALUE_STRING) return fail_member(reader, "LIANA_CLUSTER", key, value, "text");
    *text = value->string;
    return LIANA_OK;
}

liana_status liana__find_launch(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    static const char name[] = "LIANA_CLUSTER";
    const char *text = liana__cluster_variable(reader, name);
    const liana__value *map = NULL;
    size_t count = 0;
    if (!text) return LIANA_OK;
    LIANA_TRY(read_json(reader, name, text, &map));
    found->source = name;
    found->has_rank = true;
    LIANA_TRY(read_index(reader, name, "rank", liana__value_get(map, "rank"), &found->rank));
    LIANA_TRY(read_index(reader, name, "num_workers", liana__value_get(map, "num_workers"), &found->num_workers));
    LIANA_TRY(read_index(reader, name, "num_servers", liana__value_get(map, "num_servers"), &found->num_servers));
    LIANA_TRY(read_text(reader, map, "master", &found->master));
    LIANA_TRY(read_text(reader, map, "id", &found->id));
    const liana__value *returns = liana__value_get(map, "returns");
    found->returns = returns && returns->kind == LIANA__VALUE_BOOL && returns->boolean;
    LIANA_TRY(read_text(reader, map, "keys", &found->keys));
    size_t size = found->num_workers + found->num_servers;
    if (found->master) LIANA_TRY(liana__cluster_check_address(reader, name, found->master));
    if (liana__value_get(map, "addresses")) {
        LIANA_TRY(make_addresses(reader, found, count_of(map, "addresses")));
        LIANA_TRY(add_addresses(reader, name, "addresses", liana__value_get(map, "addresses"), found, &count));
    }
    bool has_place = found->addresses ? count == size : found->master != NULL;
    if (found->num_workers > 0 && found->rank < size && has_place) return LIANA_OK;
    return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                       "LIANA_CLUSTER: rank %zu of %zu workers and %zu servers with %zu addresses is no place in a "
                       "cluster; 'liana launch' sets it",
                       found->rank, found->num_workers, found->num_servers, count);
}
