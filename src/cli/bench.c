/* liana bench data: measures how fast the input of a run is. */
#include "base/scoped.h"
#include "cli/session.h"
#include "train/run/measure.h"

#include <string.h>

static const liana__option options[] = {
    {"seconds", "S", "seconds for which each part is measured (default: 2)"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* "decode bounds the input: 148 of 216 us for an image" */
static void describe_verdict(const liana__data_bench *bench, liana__text *text)
{
    const liana__data_bench_stage *slowest = liana__data_bench_slowest(bench);
    liana__text_add(text, "%s limits the input: %.1f of %.1f us for an image (%.0f%%)", slowest->name,
                    slowest->seconds * 1e6, bench->seconds * 1e6,
                    bench->seconds > 0 ? 100 * slowest->seconds / bench->seconds : 0);
    if (bench->cached_rate > 0) liana__text_add(text, "; from the second epoch on, images come from the cache");
}

/* Examples per second, also by their older name. */
static void set_rate(liana__invocation *invocation, liana__value *event, const char *end, double number)
{
    static const char *const begins[] = {"examples_per_second", "images_per_second"};
    for (int i = 0; i < 2; i++) {
        const char *key = liana__arena_format(&invocation->arena, "%s%s", begins[i], end);
        if (key) liana__event_float(invocation, event, key, number);
    }
}

static double rate_of(double seconds)
{
    return seconds > 0 ? 1 / seconds : 0;
}

static void print_json(liana__invocation *invocation, const liana__data_bench *bench)
{
    liana__arena *arena = &invocation->arena;
    for (size_t i = 0; i < bench->num_stages; i++) {
        liana__value *event = liana__session_event(invocation, "stage");
        liana__value_set(arena, event, "stage", liana__value_string(arena, bench->stages[i].name));
        liana__event_float(invocation, event, "seconds", bench->stages[i].seconds);
        set_rate(invocation, event, "_per_thread", rate_of(bench->stages[i].seconds));
        liana__invocation_print_json(invocation, event);
    }
    liana__value *event = liana__session_event(invocation, "pipeline");
    liana__text verdict = {0};
    describe_verdict(bench, &verdict);
    liana__value_set(arena, event, "threads", liana__value_int(arena, bench->num_threads));
    set_rate(invocation, event, "", bench->first_rate);
    set_rate(invocation, event, "_per_thread", bench->first_rate / bench->num_threads);
    set_rate(invocation, event, "_cached", bench->cached_rate);
    liana__event_float(invocation, event, "first_batch_seconds", bench->start_seconds);
    liana__value_set(arena, event, "bound", liana__value_string(arena, liana__data_bench_slowest(bench)->name));
    liana__value_set(arena, event, "verdict", liana__value_string(arena, verdict.data ? verdict.data : ""));
    liana__text_free(&verdict);
    liana__invocation_print_json(invocation, event);
}

static void print_row(FILE *out, const char *name, double seconds, double all)
{
    fprintf(out, "%-28s %10.1f", name, seconds * 1e6);
    if (seconds * 1e6 >= 0.05) {
        fprintf(out, " %12.0f %6.0f%%\n", rate_of(seconds), all > 0 ? 100 * seconds / all : 0);
    } else {
        fprintf(out, " %12s %6s\n", "-", "-");
    }
}

static void print_text(liana__invocation *invocation, const liana__data_bench *bench)
{
    FILE *out = invocation->out;
    fprintf(out, "%-28s %10s %12s %7s\n", "stage, on one thread", "us/example", "examples/s", "share");
    for (size_t i = 0; i < bench->num_stages; i++) {
        print_row(out, bench->stages[i].name, bench->stages[i].seconds, bench->seconds);
    }
    print_row(out, "all of them", bench->seconds, bench->seconds);
    fprintf(out, "the pipeline on %d thread%s: %.0f examples/s in the first epoch (%.0f for each thread)",
            bench->num_threads, bench->num_threads == 1 ? "" : "s", bench->first_rate,
            bench->first_rate / bench->num_threads);
    if (bench->cached_rate > 0) fprintf(out, ", %.0f examples/s from the cache", bench->cached_rate);
    fprintf(out, "\nthe first batch is ready after %.1f ms\n", bench->start_seconds * 1e3);
    liana__text verdict = {0};
    describe_verdict(bench, &verdict);
    fprintf(out, "%s\n", verdict.data ? verdict.data : "");
    liana__text_free(&verdict);
}

static liana_status run(liana__invocation *invocation)
{
    double seconds = 2;
    liana__error *error = &invocation->error;
    LIANA_TRY(liana__invocation_float(invocation, "seconds", 0.01, 3600, &seconds));
    if (strcmp(invocation->operands[0], "data") != 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "bench: found '%.100s', expected 'data'; to measure training steps, use 'liana profile'",
                           invocation->operands[0]);
    }
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open(invocation, invocation->operands[1], &session));
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    const liana__run_options wanted = {.training = true, .on_note = liana__session_note, .user = invocation};
    LIANA_TRY(liana__config_require_training_data(&session.config, error));
    LIANA_TRY(liana__run_open_model(session.context, &session.config, &wanted, &run, error));
    liana__data_bench bench;
    LIANA_TRY(liana__data_bench_run(&run, seconds, &bench, error));
    (liana__invocation_has(invocation, "json") ? print_json : print_text)(invocation, &bench);
    return LIANA_OK;
}

const liana__command liana__subcommand_bench = {
    .name = "bench",
    .operands = "data CONFIG.yaml [key=value ...]",
    .summary = "Measure how fast the input of a run is",
    .help = "Measures each stage of the input on one thread: reading, checksums, decoding, resizing, each\n"
            "augmentation, copying into the batch. Then measures the whole pipeline as training uses it, and\n"
            "says which stage limits it. Writes no run folder, but may write to 'data.cache_dir'.\n",
    .options = options,
    .min_operands = 2,
    .max_operands = 2,
    .overrides = true,
    .run = run,
};
