/* liana devices: which devices this machine has, and why one is missing. */
#include "backends/remote/names.h"
#include "base/scoped.h"
#include "cli/session.h"
#include "formats/yaml.h"
#include "program/device_list.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)
LIANA__SCOPED_POINTER(liana_device_list_destroy, liana_device_list)

static const liana__option options[] = {
    {"cluster", "CONFIG", "also those of the servers that this configuration's section 'cluster' names"},
    {LIANA__OPTION_JSON},
    {0},
};

static const double GIB = 1 << 30;

/* ---- as JSON ---- */

static void set_text(liana__invocation *invocation, liana__value *event, const char *key, const char *text)
{
    if (text) liana__value_set(&invocation->arena, event, key, liana__value_string(&invocation->arena, text));
}

static void print_json(liana__invocation *invocation, const liana_device_facts *facts)
{
    liana__value *event = liana__session_event(invocation, facts->missing ? "missing_device" : "device");
    set_text(invocation, event, "name", facts->name);
    set_text(invocation, event, "reason", facts->missing);
    set_text(invocation, event, "kind", facts->kind);
    if (facts->threads > 0) liana__event_int(invocation, event, "threads", facts->threads);
    if (facts->memory >= 0) liana__event_int(invocation, event, "memory", facts->memory);
    if (facts->memory_used >= 0) liana__event_int(invocation, event, "memory_used", facts->memory_used);
    set_text(invocation, event, "plugin", facts->plugin);
    set_text(invocation, event, "interface", facts->interface_version);
    set_text(invocation, event, "platform", facts->platform);
    set_text(invocation, event, "version", facts->version);
    set_text(invocation, event, "environment", facts->environment);
    set_text(invocation, event, "address", facts->address);
    liana__invocation_print_json(invocation, event);
}

/* ---- as text ---- */

static void print_device(liana__invocation *invocation, const liana_device_facts *facts)
{
    fprintf(invocation->out, "%s  ", facts->name);
    if (facts->threads > 0) {
        fprintf(invocation->out, "%lld thread%s, ", (long long)facts->threads, facts->threads == 1 ? "" : "s");
    }
    fprintf(invocation->out, "%s", facts->kind ? facts->kind : "?");
    if (facts->memory >= 0) fprintf(invocation->out, ", %.1f GiB", (double)facts->memory / GIB);
    if (facts->memory >= 0 && facts->address && facts->threads > 0) fprintf(invocation->out, " for clients");
    if (facts->memory >= 0 && facts->memory_used >= 0) {
        fprintf(invocation->out, ", %.1f GiB in use", (double)facts->memory_used / GIB);
    }
    fputc('\n', invocation->out);
}

static void print_environment(liana__invocation *invocation, const liana_device_facts *facts)
{
    if (facts->environment) fprintf(invocation->out, "    environment %s\n", facts->environment);
}

static const char *or_unknown(const char *text)
{
    return text ? text : "?";
}

/* Facts that the devices of a plugin, or of a server, have in common: behind the last of them. */
static void print_source(liana__invocation *invocation, const liana_device_facts *facts)
{
    if (facts->address) {
        fprintf(invocation->out, "    server at %s, liana %s\n", facts->address, liana_version());
    } else if (facts->plugin) {
        fprintf(invocation->out, "    plugin %s, PJRT %s, platform %s %s\n", facts->plugin,
                or_unknown(facts->interface_version), or_unknown(facts->platform), or_unknown(facts->version));
        print_environment(invocation, facts);
    }
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool have_same_source(const liana_device_facts *a, const liana_device_facts *b)
{
    if (!b || b->missing || !is_same(a->address, b->address)) return false;
    return a->address || is_same(a->plugin, b->plugin);
}

static void print_text(liana__invocation *invocation, const liana_device_facts *facts, const liana_device_facts *next)
{
    if (facts->missing) {
        fprintf(invocation->out, "%s  missing: %s\n", facts->name, facts->missing);
        print_environment(invocation, facts);
        return;
    }
    print_device(invocation, facts);
    if (!have_same_source(facts, next)) print_source(invocation, facts);
}

/* ---- the devices ---- */

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

/* `name` NULL: all. */
static liana_status show(liana__invocation *invocation, liana_context *context, const char *name)
{
    LIANA__SCOPED_BY(liana_device_list_destroy_scoped) liana_device_list *list = NULL;
    LIANA_TRY(liana__device_list_make(context, name, &list, &invocation->error));
    const liana_device_facts *facts;
    for (size_t i = 0; (facts = liana_device_list_at(list, i)) != NULL; i++) {
        if (liana__invocation_has(invocation, "json")) {
            print_json(invocation, facts);
        } else {
            print_text(invocation, facts, liana_device_list_at(list, i + 1));
        }
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    const liana_status status = liana_context_create(NULL, &context);
    if (status != LIANA_OK) return liana__fail(&invocation->error, status, "a context cannot be made");
    const char *cluster = liana__invocation_text(invocation, "cluster");
    if (cluster) LIANA_TRY(use_cluster(invocation, context, cluster));
    if (!invocation->num_operands) return show(invocation, context, NULL);
    for (size_t i = 0; i < invocation->num_operands; i++) {
        LIANA_TRY(show(invocation, context, invocation->operands[i]));
    }
    return LIANA_OK;
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
