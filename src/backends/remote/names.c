/* Reads names of remote devices, and finds out where their servers are. */
#include "backends/remote/names.h"

#include "base/scoped.h"
#include "base/text.h"
#include "base/waiting.h"
#include "distribute/transport/cluster_found.h"
#include "formats/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static const char ipc[] = "ipc:///";

/* The end of "host:port" in "host:port/device"; NULL: it does not begin with an address. */
static const char *end_of_address(const char *text)
{
    const char *slash = strchr(text, '/');
    if (liana__starts_with(text, ipc)) return strrchr(text, '/') > text + strlen(ipc) ? strrchr(text, '/') : NULL;
    if (!slash || slash == text) return NULL;
    const char *digits = slash;
    while (digits > text && isdigit((unsigned char)digits[-1])) digits--;
    return digits < slash && digits - 1 > text && digits[-1] == ':' ? slash : NULL;
}

bool liana__served_knows(const char *name)
{
    if (!name) return false;
    return *name == '/' || end_of_address(name) != NULL;
}

static liana_status fail_name(const char *text, const char *part, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the device '%.200s': '%.100s' is not understood; expected /job:NAME/task:N/cpu:0 or "
                       "host:port/cpu:0",
                       text, part);
}

static liana_status check_address(const char *source, const char *address, liana__error *error)
{
    const liana__cluster_reader reader = {.error = error};
    return liana__cluster_check_address(&reader, source, address);
}

static bool read_number(const char *text, size_t *number)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*text) || strlen(text) > 9) return false;
    *number = strtoul(text, &end, 10);
    return *end == '\0';
}

/* "CPU:0" to "cpu:0", "gpu?a=b" to "gpu:0?a=b". */
static const char *plain_device(const char *text, liana__arena *arena)
{
    size_t length = strcspn(text, "?");
    char *device = liana__arena_format(arena, "%.*s", (int)length, text);
    if (!device) return NULL;
    for (char *at = device; *at; at++) *at = (char)tolower((unsigned char)*at);
    const char *colon = strrchr(device, ':');
    bool has_number = colon && isdigit((unsigned char)colon[1]);
    return liana__arena_format(arena, "%s%s%s", device, has_number ? "" : ":0", text + length);
}

/* One part of a name, between slashes. */
static liana_status read_part(const char *text, const char *part, liana__arena *arena, liana__served_name *name,
                              liana__error *error)
{
    size_t number;
    if (name->device) return fail_name(text, part, error);
    if (liana__starts_with(part, "job:")) {
        if (name->job || name->address || part[4] == '\0') return fail_name(text, part, error);
        name->job = part + 4;
    } else if (liana__starts_with(part, "replica:")) {
        if (!read_number(part + 8, &number) || number != 0) return fail_name(text, part, error);
    } else if (liana__starts_with(part, "task:")) {
        if (!name->job || name->has_task || !read_number(part + 5, &name->task)) return fail_name(text, part, error);
        name->has_task = true;
    } else {
        const char *device = liana__starts_with(part, "device:") ? part + 7 : part;
        if (!isalpha((unsigned char)*device)) return fail_name(text, part, error);
        name->device = plain_device(device, arena);
    }
    return LIANA_OK;
}

liana_status liana__served_name_read(const char *text, liana__arena *arena, liana__served_name *name,
                                     liana__error *error)
{
    *name = (liana__served_name){0};
    const char *at = end_of_address(text);
    if (at) {
        name->address = liana__arena_format(arena, "%.*s", (int)(at - text), text);
        if (name->address) LIANA_TRY(check_address("the device's name", name->address, error));
    } else {
        at = text;
    }
    while (*at == '/') {
        /* Options may have slashes. */
        size_t length = strcspn(++at, "/?");
        if (at[length] == '?') length = strlen(at);
        const char *part = liana__arena_format(arena, "%.*s", (int)length, at);
        if (!part) return liana__fail_memory(error, "the name of a device");
        LIANA_TRY(read_part(text, part, arena, name, error));
        at += length;
    }
    if (!name->device) name->device = "cpu:0";
    return arena->failed ? liana__fail_memory(error, "the name of a device") : LIANA_OK;
}

const char *liana__served_name_print(const liana__served_name *name, size_t task, liana__arena *arena)
{
    if (name->address) return liana__arena_format(arena, "%s/%s", name->address, name->device);
    return liana__arena_format(arena, "/job:%s/task:%zu/%s", name->job, task, name->device);
}

liana_status liana__served_local_name(const char *device, const char **local, liana__error *error)
{
    static const char *const hosts[] = {"cpu", "reference"};
    static const char *const kinds[] = {"gpu:", "tpu:", "pjrt:cpu:"};
    size_t length = strcspn(device, ":?"), number;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        if (length != strlen(hosts[i]) || memcmp(device, hosts[i], length) != 0) continue;
        *local = hosts[i];
        if (device[length] == ':' && read_number(device + length + 1, &number) && number == 0) return LIANA_OK;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no device '%.100s': a server has one %s, '%s:0', whose threads share its cores",
                           device, hosts[i], hosts[i]);
    }
    *local = device;
    /* A number, and nothing that could be the path of a library: clients do not choose the code that runs here. */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *digits = device + strlen(kinds[i]), *end = digits;
        if (!liana__starts_with(device, kinds[i])) continue;
        while (isdigit((unsigned char)*end)) end++;
        if (end > digits && (*end == '\0' || *end == '?')) return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "a server offers no device '%.100s'; expected cpu, gpu, tpu, reference or pjrt:cpu and a number",
                       device);
}

/* ---- the cluster of a context ---- */

static const char kind[] = "cluster of servers";

static liana_status add_job(liana__served_cluster *cluster, const char *name, size_t num_tasks, liana__arena *arena,
                            liana__served_job **job, liana__error *error)
{
    if (cluster->num_jobs == LIANA__SERVED_JOBS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: the cluster has more than %d jobs", cluster->source,
                           LIANA__SERVED_JOBS);
    }
    *job = &cluster->jobs[cluster->num_jobs++];
    **job = (liana__served_job){.name = liana__arena_string(arena, name), .num_tasks = num_tasks};
    (*job)->addresses = liana__arena_allocate(arena, (num_tasks + 1) * sizeof *(*job)->addresses);
    return arena->failed ? liana__fail_memory(error, "a cluster") : LIANA_OK;
}

static liana_status add_strings(liana__served_cluster *cluster, const char *name, const liana__strings *strings,
                                liana__arena *arena, liana__error *error)
{
    liana__served_job *job;
    if (strings->count == 0) return LIANA_OK;
    LIANA_TRY(add_job(cluster, name, strings->count, arena, &job, error));
    for (size_t i = 0; i < strings->count; i++) {
        LIANA_TRY(check_address("cluster", strings->items[i], error));
        job->addresses[i] = liana__arena_string(arena, strings->items[i]);
    }
    return arena->failed ? liana__fail_memory(error, "a cluster") : LIANA_OK;
}

liana_status liana__served_use_cluster(liana_context *context, const liana__cluster_options *options,
                                       liana__error *error)
{
    liana__arena *arena = &context->parts;
    liana__served_cluster *cluster = liana__arena_allocate(arena, sizeof *cluster);
    if (!cluster) return liana__fail_memory(error, "a cluster");
    cluster->source = "cluster";
    cluster->keys = liana__arena_string(arena, options->keys);
    cluster->timeout = options->timeout;
    cluster->heartbeat = options->heartbeat;
    LIANA_TRY(add_strings(cluster, "worker", &options->workers, arena, error));
    LIANA_TRY(add_strings(cluster, "ps", &options->servers, arena, error));
    return liana__context_register(context, kind, kind, NULL, cluster);
}

static liana_status read_job(const liana__value *map, size_t number, liana__arena *arena,
                             liana__served_cluster *cluster, liana__error *error)
{
    liana__served_job *job;
    const liana__value *list = map->items[number];
    const char *name = map->keys[number];
    if (list->kind != LIANA__VALUE_LIST) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "TF_CONFIG: cluster.%s is no list of addresses", name);
    }
    LIANA_TRY(add_job(cluster, name, list->count, arena, &job, error));
    for (size_t i = 0; i < list->count; i++) {
        const liana__value *address = list->items[i];
        if (address->kind != LIANA__VALUE_STRING) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "TF_CONFIG: cluster.%s[%zu] is no address", name, i);
        }
        LIANA_TRY(check_address("TF_CONFIG", address->string, error));
        job->addresses[i] = address->string;
    }
    return LIANA_OK;
}

static liana_status read_tf_config(const char *text, liana__arena *arena, liana__served_cluster *cluster,
                                   liana__error *error)
{
    liana__value *value = NULL;
    if (liana__json_parse(text, strlen(text), "TF_CONFIG", arena, &value, error) != LIANA_OK) {
        if (error) error->status = LIANA_INVALID_CONFIG;
        return liana__fail_within(error, "TF_CONFIG is no JSON");
    }
    const liana__value *jobs = value->kind == LIANA__VALUE_MAP ? liana__value_get(value, "cluster") : NULL;
    if (!jobs) return LIANA_OK;
    if (jobs->kind != LIANA__VALUE_MAP) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "TF_CONFIG: cluster is no mapping");
    }
    cluster->source = "TF_CONFIG";
    for (size_t i = 0; i < jobs->count; i++) LIANA_TRY(read_job(jobs, i, arena, cluster, error));
    return LIANA_OK;
}

liana_status liana__served_find_cluster(const liana_context *context, liana__arena *arena,
                                        liana__served_cluster *cluster, liana__error *error)
{
    const liana__registered *own = liana__context_registered(context, kind, kind);
    const char *text = getenv("TF_CONFIG"), *keys = getenv("LIANA_CLUSTER_KEYS");
    liana__cluster_options defaults;
    LIANA_TRY(liana__fields_default(&liana__cluster_fields, arena, &defaults, error));
    *cluster = (liana__served_cluster){.timeout = defaults.timeout, .heartbeat = defaults.heartbeat};
    if (own) *cluster = *(const liana__served_cluster *)own->user;
    if (cluster->num_jobs == 0 && text && *text) LIANA_TRY(read_tf_config(text, arena, cluster, error));
    if (!cluster->keys && keys && *keys) cluster->keys = keys;
    return LIANA_OK;
}

/* ---- where a device is ---- */

static liana_status fail_job(const liana__served_name *name, const liana__served_cluster *cluster, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    for (size_t i = 0; i < cluster->num_jobs; i++) {
        liana__text_add(&text, "%s%s", i ? ", " : "", cluster->jobs[i].name);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       cluster->num_jobs
                           ? "there is no job '%s' in the cluster of %s, which has: %s"
                           : "there is no job '%s', since no cluster is named: say where its servers are in "
                             "'cluster' or TF_CONFIG%.0s%.0s",
                       name->job, cluster->source ? cluster->source : "", text.data ? text.data : "");
}

liana_status liana__served_resolve(const liana__served_name *name, const liana__served_cluster *cluster,
                                   const char *const **addresses, size_t *count, liana__error *error)
{
    *count = 1;
    *addresses = (const char *const *)&name->address;
    if (name->address) return LIANA_OK;
    const liana__served_job *job = NULL;
    for (size_t i = 0; i < cluster->num_jobs && !job; i++) {
        if (strcmp(cluster->jobs[i].name, name->job) == 0) job = &cluster->jobs[i];
    }
    if (!job || job->num_tasks == 0) return fail_job(name, cluster, error);
    *addresses = (const char *const *)job->addresses;
    *count = job->num_tasks;
    if (!name->has_task) return LIANA_OK;
    if (name->task >= job->num_tasks) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no task %zu in the job '%s' of %s, which has %zu: tasks are counted from 0",
                           name->task, name->job, cluster->source, job->num_tasks);
    }
    *addresses += name->task;
    *count = 1;
    return LIANA_OK;
}

static bool stops(void *user)
{
    return liana__waiting_stops(user);
}

liana__service_place liana__served_place(const liana__served_cluster *cluster, const char *address,
                                         liana_context *context)
{
    static const double longest_wait = 20;
    return (liana__service_place){.address = address,
                                  .keys = cluster->keys,
                                  .source = cluster->source ? cluster->source : "the device's name",
                                  .timeout = cluster->timeout < longest_wait ? cluster->timeout : longest_wait,
                                  .heartbeat = cluster->heartbeat,
                                  .stop = stops,
                                  .user = context};
}
