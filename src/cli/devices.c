/* liana devices: which devices this machine has, and why one is missing. */
#include "backends/pjrt/platform.h"
#include "backends/pjrt/survey.h"
#include "backends/remote/look.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "cli/session.h"
#include "formats/yaml.h"

#include <liana/context.h>
#include <stdlib.h>

static const liana__option options[] = {
    {"cluster", "CONFIG", "also those of the servers that this configuration's section 'cluster' names"},
    LIANA__OPTION_JSON,
    {0},
};

static const double GIB = 1 << 30;

/* What libtpu reads of the environment, in the invocation's arena; "": nothing is set. */
static const char *tpu_environment(liana__invocation *invocation)
{
    liana__text text = {0};
    liana__tpu_environment_print(&text);
    const char *copy = text.length ? liana__arena_string(&invocation->arena, text.data) : "";
    liana__text_free(&text);
    return copy ? copy : "";
}

static bool is_tpu(const char *name)
{
    return name && strcmp(name, "tpu") == 0;
}

/* ---- as JSON ---- */

static void set_text(liana__invocation *invocation, liana__value *event, const char *key, const char *text)
{
    if (text) liana__value_set(&invocation->arena, event, key, liana__value_string(&invocation->arena, text));
}

static void set_bytes(liana__invocation *invocation, liana__value *event, const char *key, int64_t bytes)
{
    if (bytes >= 0) liana__value_set(&invocation->arena, event, key, liana__value_int(&invocation->arena, bytes));
}

static void print_missing_json(liana__invocation *invocation, const char *name, const char *reason)
{
    liana__value *event = liana__session_event(invocation, "missing_device");
    set_text(invocation, event, "name", name);
    set_text(invocation, event, "reason", reason);
    if (is_tpu(name)) set_text(invocation, event, "environment", tpu_environment(invocation));
    liana__invocation_print_json(invocation, event);
}

static void print_device_json(liana__invocation *invocation, const liana__pjrt_survey *survey, size_t number)
{
    const liana__pjrt_device_facts *facts = &survey->devices[number];
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "device");
    set_text(invocation, event, "name", liana__arena_format(arena, "%s:%zu", survey->name, number));
    set_text(invocation, event, "kind", facts->kind);
    set_bytes(invocation, event, "memory", facts->memory);
    set_bytes(invocation, event, "memory_used", facts->memory_used);
    set_text(invocation, event, "plugin", survey->plugin);
    set_text(invocation, event, "interface", liana__arena_format(arena, "%d.%d", survey->major, survey->minor));
    set_text(invocation, event, "platform", survey->platform);
    set_text(invocation, event, "version", survey->version);
    if (is_tpu(survey->platform)) set_text(invocation, event, "environment", tpu_environment(invocation));
    liana__invocation_print_json(invocation, event);
}

/* ---- as text ---- */

static void print_environment(liana__invocation *invocation)
{
    const char *environment = tpu_environment(invocation);
    if (*environment) fprintf(invocation->out, "    environment %s\n", environment);
}

static void print_devices(liana__invocation *invocation, const liana__pjrt_survey *survey)
{
    for (size_t i = 0; i < survey->num_devices; i++) {
        const liana__pjrt_device_facts *facts = &survey->devices[i];
        char memory[64] = "";
        if (facts->memory >= 0) {
            snprintf(memory, sizeof memory, ", %.1f GiB, %.1f GiB in use", (double)facts->memory / GIB,
                     (double)facts->memory_used / GIB);
        }
        fprintf(invocation->out, "%s:%zu  %s%s\n", survey->name, i, facts->kind, memory);
    }
    fprintf(invocation->out, "    plugin %s, PJRT %d.%d, platform %s %s\n", survey->plugin, survey->major,
            survey->minor, survey->platform, survey->version);
    if (is_tpu(survey->platform)) print_environment(invocation);
}

/* ---- of servers ---- */

static void show_list(liana__invocation *invocation, const liana__served_list *list)
{
    for (size_t i = 0; i < list->num_devices; i++) {
        const liana__served_facts *facts = &list->devices[i];
        if (!liana__invocation_has(invocation, "json")) {
            fprintf(invocation->out, "%s  %s\n", facts->name, facts->text);
            continue;
        }
        liana__value *event = liana__session_event(invocation, "device");
        set_text(invocation, event, "name", facts->name);
        set_text(invocation, event, "kind", facts->text);
        set_text(invocation, event, "address", list->address);
        set_text(invocation, event, "version", list->version);
        liana__invocation_print_json(invocation, event);
    }
    if (liana__invocation_has(invocation, "json")) return;
    fprintf(invocation->out, "    server at %s, liana %s\n", list->address, list->version);
}

static void show_server(liana__invocation *invocation, liana_context *context, const char *name)
{
    liana__served_list list;
    liana__error error = {0};
    if (liana__served_look(context, name, &invocation->arena, &list, &error) == LIANA_OK) {
        show_list(invocation, &list);
    } else if (liana__invocation_has(invocation, "json")) {
        print_missing_json(invocation, name, error.message);
    } else {
        fprintf(invocation->out, "%s  missing: %s\n", name, error.message);
    }
}

/* Reads the section `cluster` of a configuration. */
static liana_status use_cluster(liana__invocation *invocation, liana_context *context, const char *path)
{
    liana__error *error = &invocation->error;
    liana__cluster_options cluster;
    liana__value *file;
    LIANA_TRY(liana__yaml_read(path, &invocation->arena, &file, error));
    const liana__value *map = file->kind == LIANA__VALUE_MAP ? liana__value_get(file, "cluster") : NULL;
    if (!map) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: there is no section 'cluster', which names servers", path);
    }
    LIANA_TRY(liana__fields_read(&liana__cluster_fields, map, "cluster", NULL, &invocation->arena, &cluster, error));
    return liana__served_use_cluster(context, &cluster, error);
}

/* The devices of all servers that the cluster names. */
static liana_status show_cluster(liana__invocation *invocation, liana_context *context)
{
    liana__served_cluster cluster;
    LIANA_TRY(liana__served_find_cluster(context, &invocation->arena, &cluster, &invocation->error));
    for (size_t i = 0; i < cluster.num_jobs; i++) {
        for (size_t k = 0; k < cluster.jobs[i].num_tasks; k++) {
            const char *name = liana__arena_format(&invocation->arena, "/job:%s/task:%zu", cluster.jobs[i].name, k);
            if (name) show_server(invocation, context, name);
        }
    }
    return LIANA_OK;
}

/* ---- the devices ---- */

static void show_cpu(liana__invocation *invocation, const liana_context *context)
{
    const int threads = liana_context_num_threads(context);
    const char *isa = liana__isa_name(context->isa);
    const size_t memory = liana__machine_memory();
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "cpu  %d thread%s, %s, %.1f GiB\n", threads, threads == 1 ? "" : "s", isa,
                (double)memory / GIB);
        return;
    }
    liana__value *event = liana__session_event(invocation, "device");
    set_text(invocation, event, "name", "cpu");
    set_text(invocation, event, "kind", isa);
    set_bytes(invocation, event, "threads", threads);
    set_bytes(invocation, event, "memory", (int64_t)memory);
    liana__invocation_print_json(invocation, event);
}

static void show(liana__invocation *invocation, const liana__pjrt_survey *survey)
{
    if (!liana__invocation_has(invocation, "json")) {
        print_devices(invocation, survey);
        return;
    }
    for (size_t i = 0; i < survey->num_devices; i++) print_device_json(invocation, survey, i);
}

/* One kind of devices, which may be missing. The plugin's options begin with a '?'. */
static void show_kind(liana__invocation *invocation, liana_context *context, const char *shown,
                      const char *plugin_options)
{
    const char *name = liana__arena_format(&invocation->arena, "%s%s", shown, plugin_options);
    if (!name) return;
    liana__error error = {0};
    liana__pjrt_survey survey;
    if (liana__pjrt_look(context, name, &invocation->arena, &survey, &error) == LIANA_OK) {
        show(invocation, &survey);
    } else if (liana__invocation_has(invocation, "json")) {
        print_missing_json(invocation, shown, error.message);
    } else {
        fprintf(invocation->out, "%s  missing: %s\n", shown, error.message);
        if (is_tpu(shown)) print_environment(invocation);
    }
}

static liana_status show_named(liana__invocation *invocation, liana_context *context)
{
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const char *name = invocation->operands[i];
        liana__pjrt_survey survey;
        liana__served_list list;
        if (liana__served_knows(name)) {
            LIANA_TRY(liana__served_look(context, name, &invocation->arena, &list, &invocation->error));
            show_list(invocation, &list);
        } else {
            LIANA_TRY(liana__pjrt_look(context, name, &invocation->arena, &survey, &invocation->error));
            show(invocation, &survey);
        }
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    liana_context *context;
    liana_status status = liana_context_create(NULL, &context);
    if (status != LIANA_OK) return liana__fail(&invocation->error, status, "a context cannot be made");
    const char *cluster = liana__invocation_text(invocation, "cluster");
    if (cluster) status = use_cluster(invocation, context, cluster);
    if (status != LIANA_OK) {
        /* told below */
    } else if (invocation->num_operands) {
        status = show_named(invocation, context);
    } else {
        show_cpu(invocation, context);
        /* Looking should not take the memory of others. */
        show_kind(invocation, context, "gpu", "?preallocate=false");
        show_kind(invocation, context, "tpu", "");
        show_kind(invocation, context, "pjrt:cpu", "");
        status = show_cluster(invocation, context);
    }
    liana_context_destroy(context);
    return status;
}

const liana__command liana__subcommand_devices = {
    .name = "devices",
    .operands = "[DEVICE ...]",
    .summary = "List the devices of this machine, and why one is missing",
    .help =
        "DEVICE is what train.device would be, such as pjrt:/path/plugin.so or 'pjrt:cpu?cpu_device_count=8': only\n"
        "the devices of that plugin are listed. Without it: the CPU, the GPUs, the TPUs, and the devices of PJRT's\n"
        "plugin for CPUs, which stand for accelerators in tests. A GPU or TPU is opened to be looked at. Then come "
        "the\n"
        "devices of the servers that --cluster or TF_CONFIG names; DEVICE may also be one server, as\n"
        "/job:worker/task:1 or host:port/cpu:0.\n",
    .options = options,
    .max_operands = -1,
    .run = run,
};
