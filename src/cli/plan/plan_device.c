/* Plans for devices that need not be there. */
#include "cli/plan/plan_device.h"

#include "backends/dump.h"
#include "backends/pjrt/ahead.h"
#include "backends/pjrt/recompute.h"
#include "backends/pjrt/whole_text.h"
#include "base/file.h"
#include "base/scoped.h"
#include "passes/pass.h"
#include "report/reports.h"
#include "stablehlo/module.h"

#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

enum { SHOWN = 12, MOST_SHARD = 1 << 20, MIB = 1 << 20, MOST_REPLICAS = 1024, MOST_DESCRIPTION = 1 << 20 };

typedef struct device_plan {
    liana__invocation *invocation;
    const char *device, *topology;
    const liana__tpu_generation *generation; /* NULL: it is a GPU */
    char *target;                            /* the description of a GPU */
    int64_t shard;
    bool default_products, may_recompute;
    double memory; /* bytes that training may take; 0: all that the device has */
} device_plan;

static void device_plan_free(device_plan *own)
{
    free(own->target);
}

static liana_status read_target(device_plan *own)
{
    size_t size;
    return liana__file_read(own->topology, MOST_DESCRIPTION, &own->target, &size, &own->invocation->error);
}

static liana_status read_options(device_plan *own)
{
    liana__invocation *invocation = own->invocation;
    liana__error *error = &invocation->error;
    const char *given = liana__invocation_text(invocation, "topology");
    own->device = liana__invocation_text(invocation, "device");
    own->topology = given ? given : "v5e:2x2";
    const bool is_gpu = strncmp(own->device, "gpu", 3) == 0, is_described = liana__ends_with(own->topology, ".txtpb");
    if (!is_gpu && strncmp(own->device, "tpu", 3) != 0 && strncmp(own->device, "pjrt:", 5) != 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "plan: --device is '%.100s', expected tpu, gpu, or pjrt:PATH of a plugin for them",
                           own->device);
    }
    if (is_gpu && !(is_described && liana__invocation_has(invocation, "compile"))) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "plan: --device gpu needs --compile, and --topology FILE.txtpb, a description of the GPU "
                           "(docs/guides/devices.md)");
    }
    if (is_described) return read_target(own);
    return liana__tpu_generation_find(own->topology, &own->generation, error);
}

/* ---- printing ---- */

static void print_json(const device_plan *own, const liana__tile_plan *plan)
{
    liana__invocation *invocation = own->invocation;
    for (size_t i = 0; i < plan->count; i++) {
        const liana__tile_row *row = &plan->rows[i];
        liana__value *event = liana__session_event(invocation, "layer");
        liana__event_text(invocation, event, "layer", row->layer);
        liana__event_text(invocation, event, "type", row->type);
        liana__event_float(invocation, event, "flops", row->flops);
        liana__event_float(invocation, event, "padded_flops", row->padded_flops);
        liana__event_float(invocation, event, "bytes", row->bytes);
        liana__event_float(invocation, event, "padded_bytes", row->padded_bytes);
        liana__invocation_print_json(invocation, event);
    }
    liana__value *event = liana__session_event(invocation, "device_plan");
    liana__event_text(invocation, event, "generation", plan->generation->name);
    liana__value_set(&invocation->arena, event, "shard", liana__value_int(&invocation->arena, plan->shard));
    liana__event_float(invocation, event, "flops", plan->flops);
    liana__event_float(invocation, event, "padded_flops", plan->padded_flops);
    liana__event_float(invocation, event, "memory", plan->variables + plan->sums + plan->activations);
    liana__event_float(invocation, event, "padded_memory", liana__tile_plan_memory(plan));
    liana__event_float(invocation, event, "device_memory", plan->generation->memory);
    liana__invocation_print_json(invocation, event);
}

static liana_status print(const device_plan *own, const liana__tile_plan *plan)
{
    liana__invocation *invocation = own->invocation;
    if (liana__invocation_has(invocation, "json")) {
        print_json(own, plan);
        return LIANA_OK;
    }
    liana__text text = {0};
    liana__tile_report(plan, liana__invocation_has(invocation, "all") ? 0 : SHOWN, &text);
    return liana__session_print(invocation, &text, "the plan");
}

/* ---- the compiler's own numbers ---- */

/* The program that is compiled: a whole update, or where none can be made the program of a shard. */
typedef struct compiled_text {
    int64_t replicas, batch;
    liana__whole_text update;
    char *shard; /* NULL: it is an update */
} compiled_text;

static liana_status write_shard(const device_plan *own, const liana__training *training, char **text)
{
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *graph = NULL;
    liana__error *error = &own->invocation->error;
    LIANA_TRY(liana__step_build_shard(training->trainer->step, LIANA__STEP_TRAINING, own->shard, false, &graph, error));
    const liana__stablehlo_options options = {.donate_variables = true, .highest_precision = !own->default_products};
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *prepared = NULL;
    LIANA_TRY(liana__passes_run_asked_for(graph, &prepared, error));
    return liana__stablehlo_print(prepared ? prepared : graph, &options, text, error);
}

static liana_status write_text(const device_plan *own, const liana__training *training, compiled_text *text)
{
    liana__leaf_plan leaf;
    liana__whole_plan plan;
    liana__error *error = &own->invocation->error;
    const bool is_update = liana__step_lend_whole_plan(training->trainer->step, &leaf, &plan);
    text->update.replicas = (size_t)text->replicas;
    text->update.default_products = own->default_products;
    if (is_update) {
        LIANA_TRY(liana__whole_text_write(&plan, &text->update, error));
    } else {
        LIANA_TRY(write_shard(own, training, &text->shard));
    }
    return liana__dump_text(training->context, "ahead.mlir", is_update ? text->update.text : text->shard, error);
}

static double total_of(const liana__pjrt_ahead_program *program)
{
    return (double)(program->arguments + program->results - program->aliased + program->temporaries + program->code);
}

/* Numbers of a compiled program by name, those of memory first. */
enum { MEMORY_PARTS = 6, PROGRAM_PARTS = 17 };
static void list_parts(const liana__pjrt_ahead_program *program, const char *names[PROGRAM_PARTS],
                       double parts[PROGRAM_PARTS])
{
    const liana__pjrt_optimized *made = &program->optimized;
    const struct {
        const char *name;
        double number;
    } list[PROGRAM_PARTS] = {
        {"arguments", (double)program->arguments},
        {"results", (double)program->results},
        {"aliased", (double)program->aliased},
        {"temporaries", (double)program->temporaries},
        {"code", (double)program->code},
        {"total", total_of(program)},
        {"steps", (double)made->steps},
        {"fused", (double)made->fused},
        {"products", (double)made->products},
        {"copies", (double)made->copies},
        {"device_sums", (double)made->device_sums},
        {"written", made->written},
        {"padding", made->padding},
        {"copied", made->copied},
        {"device_bytes", made->device_bytes},
        {"flops", made->flops},
        {"accessed", made->accessed},
    };
    for (size_t i = 0; i < PROGRAM_PARTS; i++) {
        names[i] = list[i].name;
        parts[i] = list[i].number;
    }
}

static void print_compiled_json(liana__invocation *invocation, const compiled_text *text,
                                const liana__pjrt_ahead_program *program)
{
    const char *names[PROGRAM_PARTS];
    double parts[PROGRAM_PARTS];
    list_parts(program, names, parts);
    const size_t count = program->optimized.is_known ? PROGRAM_PARTS : MEMORY_PARTS;
    liana__value *event = liana__session_event(invocation, "compiled");
    for (size_t i = 0; i < count; i++) liana__event_float(invocation, event, names[i], parts[i]);
    liana__event_text(invocation, event, "program", text->shard ? "shard" : "update");
    liana__event_float(invocation, event, "replicas", (double)text->replicas);
    liana__event_float(invocation, event, "rounds", (double)text->update.rounds);
    liana__event_float(invocation, event, "recomputed", (double)text->update.num_recomputed);
    liana__event_float(invocation, event, "seconds", program->seconds);
    liana__invocation_print_json(invocation, event);
}

/* The contents of the optimised program, in words. */
static void print_optimized(FILE *out, const liana__pjrt_optimized *made)
{
    if (made->is_known) {
        const double share = made->written > 0 ? 100 * made->padding / made->written : 0;
        fprintf(out, "\nSteps: %lld, of which %lld are fused. Convolutions and products: %lld.\n",
                (long long)made->steps, (long long)made->fused, (long long)made->products);
        fprintf(out, "Steps write %.1f MiB, of which %.1f MiB (%.0f%%) are padding.\n", made->written / MIB,
                made->padding / MIB, share);
        fprintf(out, "Steps that only copy, mostly to another layout: %lld, %.1f MiB.\n", (long long)made->copies,
                made->copied / MIB);
    }
    if (made->device_sums) {
        fprintf(out, "Sums over devices: %lld, %.1f MiB.\n", (long long)made->device_sums, made->device_bytes / MIB);
    }
    if (made->loops) fprintf(out, "Loops: %lld; what they repeat is counted once.\n", (long long)made->loops);
    if (made->flops > 0) fprintf(out, "An execution has %.4g GFLOP, as the compiler counts them", made->flops / 1e9);
    if (made->flops > 0 && made->accessed > 0) fprintf(out, ", and moves %.1f MiB", made->accessed / MIB);
    if (made->flops > 0) fprintf(out, ".\n");
}

static void print_compiled(const device_plan *own, const compiled_text *text, const liana__pjrt_ahead_program *program)
{
    liana__invocation *invocation = own->invocation;
    const char *names[PROGRAM_PARTS];
    double parts[PROGRAM_PARTS];
    if (liana__invocation_has(invocation, "json")) {
        print_compiled_json(invocation, text, program);
        return;
    }
    if (text->shard) {
        fprintf(invocation->out, "\nThe compiler's own plan of a shard of %lld for %s, made in %.0f s:\n",
                (long long)own->shard, own->topology, program->seconds);
    } else {
        fprintf(invocation->out,
                "\nThe compiler's own plan of an update of %lld examples on %lld of %s, made in %.0f s "
                "(%lld shards at a time, %lld times), for each %s:\n",
                (long long)text->batch, (long long)text->replicas, own->topology, program->seconds,
                (long long)text->update.side_by_side, (long long)text->update.rounds, own->target ? "GPU" : "core");
    }
    if (text->update.num_recomputed) {
        fprintf(invocation->out, "%zu parts of the forward pass are computed twice (train.recompute).\n",
                text->update.num_recomputed);
    }
    list_parts(program, names, parts);
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        fprintf(invocation->out, "%-12s %10.1f MiB\n", names[i], parts[i] / MIB);
    }
    print_optimized(invocation->out, &program->optimized);
}

static liana_status compile_text(const device_plan *own, const compiled_text *text, liana__pjrt_ahead_program *program)
{
    const char *code = text->shard ? text->shard : text->update.text;
    char gpus[32];
    snprintf(gpus, sizeof gpus, "1x1x%lld", (long long)text->replicas);
    const liana__pjrt_ahead_request request = {.device = own->device,
                                               .topology = own->target ? gpus : own->topology,
                                               .target = own->target,
                                               .num_replicas = text->shard ? 1 : text->update.replicas,
                                               .text = code,
                                               .text_size = strlen(code),
                                               .is_quick = liana__invocation_has(own->invocation, "quick")};
    return liana__pjrt_compile_ahead(&request, program, &own->invocation->error);
}

/* Whether another text may need less: half as many shards at a time, then parts that are computed twice. */
static bool take_less(const device_plan *own, compiled_text *text)
{
    if (text->shard) return false;
    if (text->update.side_by_side > 1) {
        text->update.side_by_side = (text->update.side_by_side + 1) / 2;
        return true;
    }
    return own->may_recompute && text->update.recomputed++ < LIANA__MOST_RECOMPUTED;
}

/* A program that does not fit is compiled again as a run would. */
static liana_status compile(const device_plan *own, const liana__training *training, int64_t batch)
{
    liana__pjrt_ahead_program program;
    compiled_text text = {.replicas = 1, .batch = batch};
    LIANA_TRY(liana__invocation_int(own->invocation, "replicas", 1, MOST_REPLICAS, &text.replicas));
    liana_status status = write_text(own, training, &text);
    while (status == LIANA_OK) {
        status = compile_text(own, &text, &program);
        const bool is_too_much =
            status == LIANA_OK && own->memory > 0 && own->may_recompute && total_of(&program) > own->memory;
        if ((status != LIANA_OUT_OF_MEMORY && !is_too_much) || !take_less(own, &text)) break;
        free(text.update.text);
        status = write_text(own, training, &text);
    }
    if (status == LIANA_OK) print_compiled(own, &text, &program);
    free(text.update.text);
    free(text.shard);
    return status;
}

/* The waste by padding, of a TPU. */
static liana_status plan_tiles(const device_plan *own, liana__run *run)
{
    LIANA__SCOPED(liana__tile_plan) plan = {0};
    LIANA_TRY(liana__tile_plan_make(&run->core, own->shard, own->generation, &plan, &own->invocation->error));
    return print(own, &plan);
}

static liana_status plan(device_plan *own, const liana__session *session)
{
    liana__invocation *invocation = own->invocation;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    liana__config config = session->config;
    own->may_recompute = config.job.recompute == LIANA_RECOMPUTE_AUTO;
    own->memory = (double)config.job.memory * MIB;
    config.job.device = "cpu";
    config.job.recompute = LIANA_RECOMPUTE_NONE;
    config.job.strategy = NULL;
    /* The precision that auto comes to on TPUs and GPUs. */
    if (config.job.precision == LIANA_PRECISION_AUTO) config.job.precision = LIANA_MIXED_BFLOAT16;
    own->default_products = config.job.precision == LIANA_FLOAT32_DEFAULT;
    config.data.validation = config.data.test = (liana__source_config){0};
    const liana__run_options opened = {.training = true};
    LIANA_TRY(liana__run_open(session->context, &config, &opened, &run, &invocation->error));
    own->shard = liana__trainer_microbatch(run.core.trainer);
    LIANA_TRY(liana__invocation_int(invocation, "microbatch", 1, MOST_SHARD, &own->shard));
    if (!own->target) LIANA_TRY(plan_tiles(own, &run));
    return liana__invocation_has(invocation, "compile") ? compile(own, &run.core, config.job.batch_size) : LIANA_OK;
}

liana_status liana__plan_device(liana__invocation *invocation, const liana__session *session)
{
    LIANA__SCOPED(device_plan) own = {.invocation = invocation};
    LIANA_TRY(read_options(&own));
    return plan(&own, session);
}
