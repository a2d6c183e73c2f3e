/* liana compare-devices: whether two devices compute the same training. */
#include "cli/session.h"

#include "base/context.h"
#include "base/scoped.h"
#include "report/reports.h"
#include "step/incident.h"

#include <stdlib.h>
#include <string.h>

static const liana__option options[] = {
    {"devices", "A,B", "the two devices (default: cpu and train.device; if that is cpu, too: cpu and reference)"},
    {"updates", "N", "the number of updates (default: 5); 0: only the first shard's outputs, loss and gradients"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

enum { MOST_UPDATES = 1000, NUM_RUNS = 3 };

/* ---- the devices ---- */

static liana_status find_names(liana__invocation *invocation, const liana__config *config, const char *names[2])
{
    const char *given = liana__invocation_text(invocation, "devices");
    if (!given) {
        const bool is_cpu = !config->job.device || strcmp(config->job.device, "cpu") == 0;
        names[0] = "cpu";
        names[1] = is_cpu ? "reference" : config->job.device;
        return LIANA_OK;
    }
    const char *comma = strchr(given, ',');
    if (!comma || comma == given || !comma[1] || strchr(comma + 1, ',')) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "compare-devices: --devices: found '%.200s', expected two names with a comma between them, "
                           "such as cpu,gpu:0",
                           given);
    }
    names[0] = liana__arena_format(&invocation->arena, "%.*s", (int)(comma - given), given);
    names[1] = comma + 1;
    return names[0] ? LIANA_OK : liana__fail_memory(&invocation->error, "names of devices");
}

/* ---- printing ---- */

static void set_number(liana__invocation *invocation, liana__value *event, const char *key, double number)
{
    liana__value_set(&invocation->arena, event, key, liana__incident_number(&invocation->arena, number));
}

static void print_json(liana__invocation *invocation, const liana__device_comparison *comparison,
                       const char *const names[2])
{
    for (size_t i = 0; i < comparison->count; i++) {
        const liana__device_difference *item = &comparison->items[i];
        liana__value *event = liana__session_event(invocation, "difference");
        liana__event_text(invocation, event, "what", liana__compared_names[item->what]);
        liana__event_text(invocation, event, "layer", item->layer);
        liana__event_text(invocation, event, "name", item->name);
        liana__event_text(invocation, event, "type", item->type);
        liana__event_text(invocation, event, "place", item->place);
        set_number(invocation, event, "first", item->first);
        set_number(invocation, event, "second", item->second);
        set_number(invocation, event, "size", item->size);
        set_number(invocation, event, "largest", item->largest);
        set_number(invocation, event, "explained", item->explained);
        liana__invocation_print_json(invocation, event);
    }
    liana__text verdict = {0};
    liana__device_verdict(comparison, names, &verdict);
    liana__value *event = liana__session_event(invocation, "comparison");
    liana__arena *arena = &invocation->arena;
    liana__event_text(invocation, event, "first", names[0]);
    liana__event_text(invocation, event, "second", names[1]);
    liana__value_set(arena, event, "updates", liana__value_int(arena, comparison->num_updates));
    liana__value_set(arena, event, "agree", liana__value_bool(arena, !liana__device_comparison_first(comparison)));
    liana__event_text(invocation, event, "verdict", verdict.data);
    liana__invocation_print_json(invocation, event);
    liana__text_free(&verdict);
}

static liana_status print(liana__invocation *invocation, const liana__device_comparison *comparison,
                          const char *const names[2])
{
    if (liana__device_comparison_first(comparison)) invocation->exit_code = 1;
    if (liana__invocation_has(invocation, "json")) {
        print_json(invocation, comparison, names);
        return LIANA_OK;
    }
    liana__text text = {0};
    liana__text_add(&text, "\n");
    liana__device_report(comparison, names, &text);
    liana__text_add(&text, "\n");
    liana__device_verdict(comparison, names, &text);
    liana__text_add(&text, "\n");
    return liana__session_print(invocation, &text, "the comparison");
}

/* ---- the runs ---- */

/* Sums of the third run have another order, too: its kernels are those of a lesser instruction set. */
static void lower_level(liana_context *context)
{
    const liana__isa isa = context->isa;
    context->isa = isa > LIANA__ISA_AVX2 ? LIANA__ISA_AVX2 : LIANA__ISA_BASELINE;
}

/* The third run is on the first device. The data of all are opened, but only those of the first are read, for
 * training. */
static liana_status open_run(liana__invocation *invocation, const liana__session *session, const char *device,
                             const liana__run *before, bool unprepared, liana__run *run)
{
    liana__config config = session->config;
    if (before) config.job.precision = (int)before->core.precision;
    config.job.device = device;
    config.job.strategy = NULL;
    config.data.validation = (liana__source_config){0};
    config.data.test = (liana__source_config){0};
    const liana__run_options opened = {.training = true,
                                       .unprepared = unprepared,
                                       .on_note = before ? NULL : liana__session_note,
                                       .user = invocation};
    return liana__run_open(session->context, &config, &opened, run, &invocation->error);
}

static liana_status compare(liana__invocation *invocation, const liana__session *session, const liana__session *moved,
                            int64_t updates)
{
    liana__run runs[NUM_RUNS];
    const char *names[2];
    size_t opened = 0;
    liana__device_comparison comparison = {0};
    liana_status status = find_names(invocation, &session->config, names);
    while (status == LIANA_OK && opened < NUM_RUNS) {
        status = open_run(invocation, opened < 2 ? session : moved, names[opened % 2], opened ? &runs[0] : NULL,
                          updates == 0, &runs[opened]);
        if (status == LIANA_OK) opened++;
    }
    if (status == LIANA_OK) {
        const liana__device_comparison_options wanted = {.first = &runs[0].core,
                                                         .second = &runs[1].core,
                                                         .moved = &runs[2].core,
                                                         .names = {names[0], names[1]},
                                                         .loader = runs[0].training.loader,
                                                         .updates = updates};
        status = liana__device_comparison_run(&wanted, &comparison, &invocation->error);
    }
    if (status == LIANA_OK) status = print(invocation, &comparison, names);
    liana__device_comparison_free(&comparison);
    while (opened) liana__run_close(&runs[--opened]);
    return status;
}

static liana_status run(liana__invocation *invocation)
{
    int64_t updates = 5;
    LIANA_TRY(liana__invocation_int(invocation, "updates", 0, MOST_UPDATES, &updates));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA__SCOPED_BY(liana__session_close) liana__session moved = {0};
    const char *config = invocation->operands[0];
    LIANA_TRY(liana__session_open(invocation, config, &session));
    LIANA_TRY(liana__config_require_training_data(&session.config, &invocation->error));
    LIANA_TRY(liana__session_open(invocation, config, &moved));
    lower_level(moved.context);
    return compare(invocation, &session, &moved, updates);
}

const liana__command liana__subcommand_compare_devices = {
    .name = "compare-devices",
    .operands = "CONFIG.yaml [key=value ...]",
    .summary = "Compare what two devices compute, layer by layer",
    .help = "Trains on two devices from the same state, and prints for each layer the largest difference of its\n"
            "output and its gradients in the first update, and of its weights after all. How much of it rounding\n"
            "explains is measured: the first device trains once more with all numbers moved by one unit in the\n"
            "last place, a CPU with sums in another order. More than 32 times what that changes is not\n"
            "explained; then the command ends with 1.\n"
            "Writes no run folder.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
