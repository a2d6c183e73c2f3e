/* liana devices: which devices this machine has, and why one is missing. */
#include "backends/pjrt/survey.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "cli/session.h"

#include <liana/context.h>
#include <stdlib.h>

static const liana__option options[] = {LIANA__OPTION_JSON, {0}};

static const double GIB = 1 << 30;

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
    liana__invocation_print_json(invocation, event);
}

/* ---- as text ---- */

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
}

/* ---- the devices ---- */

static void show_cpu(liana__invocation *invocation, const liana_context *context)
{
    const int threads = liana_context_num_threads(context);
    const char *isa = liana__isa_name(context->isa);
    const size_t memory = liana__machine_memory();
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "cpu  %d threads, %s, %.1f GiB\n", threads, isa, (double)memory / GIB);
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
    }
}

static liana_status show_named(liana__invocation *invocation, liana_context *context)
{
    for (size_t i = 0; i < invocation->num_operands; i++) {
        liana__pjrt_survey survey;
        LIANA_TRY(liana__pjrt_look(context, invocation->operands[i], &invocation->arena, &survey, &invocation->error));
        show(invocation, &survey);
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    liana_context *context;
    liana_status status = liana_context_create(NULL, &context);
    if (status != LIANA_OK) return liana__fail(&invocation->error, status, "a context cannot be made");
    if (invocation->num_operands) {
        status = show_named(invocation, context);
    } else {
        show_cpu(invocation, context);
        /* Looking should not take the memory of others. */
        show_kind(invocation, context, "gpu", "?preallocate=false");
        show_kind(invocation, context, "tpu", "");
        show_kind(invocation, context, "pjrt:cpu", "");
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
        "plugin for CPUs, which stand for accelerators in tests. A GPU or TPU is opened to be looked at.\n",
    .options = options,
    .max_operands = -1,
    .run = run,
};
