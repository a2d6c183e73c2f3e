/* liana profile: watches some steps of a run and says where the time goes. */
#include "base/scoped.h"
#include "cli/session.h"
#include "report/reports.h"

static const liana__option options[] = {
    {"steps", "N", "number of measured steps (default: 5)"},
    {"warmup", "N", "number of steps before them, not measured (default: 2)"},
    {"nodes", NULL, "also print one line for each node of the graphs"},
    {"trace", "FILE", "write a trace for ui.perfetto.dev"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

enum { MOST_STEPS = 1000 };

static liana__value *row_event(liana__invocation *invocation, const char *name, const liana__profile *profile,
                               const liana__profile_row *row)
{
    liana__value *event = liana__session_event(invocation, name);
    char op[128];
    liana__profile_op_name(row, op, sizeof op);
    liana__event_text(invocation, event, "op", op);
    liana__event_float(invocation, event, "seconds", row->seconds / (double)profile->steps);
    liana__event_float(invocation, event, "share", liana__profile_share(profile, row->seconds));
    liana__event_float(invocation, event, "calls", (double)row->calls / (double)profile->steps);
    liana__event_float(invocation, event, "flops", row->flops / (double)profile->steps);
    liana__event_float(invocation, event, "bytes", row->bytes / (double)profile->steps);
    liana__event_float(invocation, event, "roofline", liana__profile_roofline_share(row));
    liana__event_text(invocation, event, "bound", liana__profile_bound(row));
    return event;
}

typedef void (*describer)(const liana__profile *profile, const liana__profile_row *op, liana__text *text);

static void set_described(liana__invocation *invocation, liana__value *event, const char *key, describer describe,
                          const liana__profile *profile, const liana__profile_row *row)
{
    liana__text text = {0};
    describe(profile, row, &text);
    liana__event_text(invocation, event, key, text.data);
    liana__text_free(&text);
}

static void print_rows(liana__invocation *invocation, const liana__profile *profile)
{
    for (size_t i = 0; i < profile->by_op.count; i++) {
        const liana__profile_row *row = &profile->by_op.items[i];
        liana__value *event = row_event(invocation, "op", profile, row);
        set_described(invocation, event, "kernel", liana__profile_kernels, profile, row);
        set_described(invocation, event, "declined", liana__profile_declined, profile, row);
        liana__invocation_print_json(invocation, event);
    }
    if (!liana__invocation_has(invocation, "nodes")) return;
    for (size_t i = 0; i < profile->by_node.count; i++) {
        const liana__profile_row *row = &profile->by_node.items[i];
        liana__value *event = row_event(invocation, "node", profile, row);
        liana__arena *arena = &invocation->arena;
        liana__value_set(arena, event, "node", liana__value_int(arena, row->node->id));
        liana__event_text(invocation, event, "type", liana__type_print(row->node->dtype, &row->node->shape).text);
        liana__event_text(invocation, event, "kernel", row->kernel->name);
        liana__event_text(invocation, event, "variable", liana__profile_variable_name(row->node));
        liana__invocation_print_json(invocation, event);
    }
}

static void print_json(liana__invocation *invocation, const liana__profile *profile)
{
    liana__arena *arena = &invocation->arena;
    const liana__roofline *roofline = &profile->roofline;
    double steps = (double)profile->steps;
    liana__value *event = liana__session_event(invocation, "profile");
    liana__value_set(arena, event, "workers", liana__value_int(arena, profile->num_workers));
    liana__event_text(invocation, event, "instruction_set", liana__isa_name(profile->context->isa));
    liana__event_float(invocation, event, "peak_flops", roofline->flops);
    liana__event_float(invocation, event, "peak_flops_bf16", roofline->bf16_flops);
    liana__value *bandwidths = liana__value_list(arena);
    for (int i = 0; i < LIANA__ROOFLINE_SIZES; i++) {
        liana__value *bandwidth = liana__value_map(arena);
        liana__value_set(arena, bandwidth, "size", liana__value_int(arena, (int64_t)roofline->memory[i].size));
        liana__event_float(invocation, bandwidth, "rate", roofline->memory[i].rate);
        liana__value_add(arena, bandwidths, bandwidth);
    }
    liana__value_set(arena, event, "bandwidths", bandwidths);
    liana__event_float(invocation, event, "peak_undisturbed", roofline->undisturbed);
    liana__value_set(arena, event, "steps", liana__value_int(arena, profile->steps));
    /* Also by older names. */
    static const char *const counts[] = {"examples", "images"};
    static const char *const rates[] = {"examples_per_second", "images_per_second"};
    for (int i = 0; i < 2; i++) {
        liana__value_set(arena, event, counts[i], liana__value_int(arena, profile->examples));
        liana__event_float(invocation, event, rates[i],
                           profile->seconds > 0 ? (double)profile->examples / profile->seconds : 0);
    }
    liana__event_float(invocation, event, "step_seconds", profile->seconds / steps);
    liana__event_float(invocation, event, "wait_seconds", profile->wait / steps);
    liana__event_float(invocation, event, "shards_seconds", profile->shards / steps);
    liana__event_float(invocation, event, "update_seconds", profile->update / steps);
    liana__event_float(invocation, event, "reduction_seconds", profile->reduction / steps);
    liana__event_float(invocation, event, "recomputed_seconds", profile->recomputed_seconds / steps);
    liana__event_float(invocation, event, "recomputed_flops", profile->recomputed_flops / steps);
    liana__event_float(invocation, event, "busy", liana__profile_share(profile, profile->busy));
    liana__event_float(invocation, event, "undisturbed", liana__profile_undisturbed(profile));
    liana__value_set(arena, event, "dropped_events", liana__value_int(arena, (int64_t)profile->dropped));
    liana__text verdict = {0};
    liana__profile_verdict(profile, &verdict);
    liana__event_text(invocation, event, "verdict", verdict.data);
    liana__text_free(&verdict);
    liana__invocation_print_json(invocation, event);
    print_rows(invocation, profile);
}

static liana_status print(liana__invocation *invocation, const liana__profile *profile)
{
    if (liana__invocation_has(invocation, "json")) {
        print_json(invocation, profile);
        return LIANA_OK;
    }
    liana__text text = {0};
    liana__profile_print(profile, liana__invocation_has(invocation, "nodes"), &text);
    return liana__session_print(invocation, &text, "the profile");
}

static liana_status run(liana__invocation *invocation)
{
    liana__error *error = &invocation->error;
    const char *trace;
    liana__profile_options wanted = {.warmup = 2, .steps = 5};
    LIANA_TRY(liana__invocation_int(invocation, "steps", 1, MOST_STEPS, &wanted.steps));
    LIANA_TRY(liana__invocation_int(invocation, "warmup", 1, MOST_STEPS, &wanted.warmup));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(liana__session_open(invocation, invocation->operands[0], &session));
    LIANA_TRY(liana__config_require_training_data(&session.config, error));
    LIANA_TRY(liana__invocation_output(invocation, "trace", &trace));
    LIANA_TRY(
        liana__run_open(session.context, &session.config,
                        &(liana__run_options){.training = true, .on_note = liana__session_note, .user = invocation},
                        &run, error));
    LIANA__SCOPED(liana__profile) profile = {0};
    LIANA_TRY(liana__profile_run(&run, &wanted, &profile, error));
    LIANA_TRY(print(invocation, &profile));
    return trace ? liana__profile_write_trace(&profile, trace, error) : LIANA_OK;
}

const liana__command liana__subcommand_profile = {
    .name = "profile",
    .operands = "CONFIG.yaml [key=value ...]",
    .summary = "Show where the time of a training step goes",
    .help = "Opens everything as for training, measures what this machine can do, and trains for a few steps.\n"
            "Prints for each op its time, its rates, its share of what the machine can do (the roofline), the\n"
            "kernel that ran, and why better kernels declined. Writes no run folder. docs/guides/profile.md\n"
            "explains how to read it.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
