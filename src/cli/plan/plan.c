/* liana plan: measures a few steps here, and predicts the steps of a cluster. */
#include "base/cpu.h"
#include "base/scoped.h"
#include "cli/plan/plan_device.h"
#include "distribute/cluster/worker_devices.h"
#include "distribute/strategies/strategies.h"
#include "distribute/transport/frame.h"
#include "distribute/transport/message_cost.h"
#include "train/run/measure.h"

#include <stdlib.h>
#include <string.h>

static const liana__option options[] = {
    {"workers", "N", "plan for so many workers (default: a table from 1 to 4096)"},
    {"bandwidth", "RATE", "what a worker can send, and receive at the same time: 25Gb, 900Mb (default: 25Gb a second)"},
    {"latency", "TIME", "how long a message is on its way: 20us, 1ms (default: 20us)"},
    {"transport", "NAME", "zmq: encrypted over TCP; mpi: the network's own hardware (default: zmq)"},
    {"cores", "N", "all workers share so many cores of one machine (default: each has a machine)"},
    {"batch-per-worker", "N", "the batch grows with the workers (default: train.batch_size for all together)"},
    {"microbatch", "N", "only shards of so many examples (default: the best of several)"},
    {"seconds", "S", "each measurement takes at least so long (default: 1)"},
    {"device", "NAME", "tpu: what padding to its tiles wastes, layer by layer, and memory; no TPU is needed"},
    {"topology", "NAME", "with --device: TPUs, such as v4 or v5e:2x2 (default: v5e:2x2), or FILE.txtpb, a GPU"},
    {"all", NULL, "with --device: all layers"},
    {"compile", NULL, "with --device: compile an update with libtpu or the plugin for GPUs, and say what it needs"},
    {"replicas", "N", "with --compile: cores that share a batch (default: 1)"},
    {"quick", NULL, "with --compile: the compiler makes least effort: sooner ready, a program that may be slower"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

enum { MOST_WORKERS = 1 << 16, TABLE_END = 4096, MOST_CANDIDATES = 8, MOST_COMPANIONS = 15, MIB = 1 << 20 };

/* The question. */
typedef struct question {
    int64_t workers; /* 0: a table */
    int64_t batch_per_worker, microbatch, cores;
    double seconds;
    bool encrypted;
    liana__plan_cluster cluster;
} question;

/* The measurements, and one answer. */
typedef struct planner {
    liana__invocation *invocation;
    question asked;
    liana__plan_training training;
    liana__plan_messages messages;
    liana__plan_work works[MOST_CANDIDATES];
    size_t num_works;
    liana__session *sessions; /* of the companions */
    liana__plan_companion *companions;
    size_t num_sessions;
    double alone; /* examples a second of one worker; 0: not known yet */
} planner;

typedef struct answer {
    int64_t workers, batch;
    const liana__plan_work *work;
    liana__cluster_bytes bytes;
    liana__step_time time;
} answer;

/* ---- options ---- */

typedef struct unit {
    const char *name;
    double factor;
} unit;

/* Bits a second, in bytes. */
static const unit rates[] = {{"Tb", 1e12 / 8}, {"Gb", 1e9 / 8}, {"Mb", 1e6 / 8}, {"Kb", 1e3 / 8}, {NULL, 0}};
static const unit times[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

/* A number with a unit. Errors: INVALID_CONFIG with the units that there are. */
static liana_status read_quantity(liana__invocation *invocation, const char *name, const unit *units, const char *hint,
                                  double least, double *quantity)
{
    const char *text = liana__invocation_text(invocation, name);
    if (!text) return LIANA_OK;
    char *end;
    const double number = strtod(text, &end);
    for (const unit *one = units; end != text && one->name; one++) {
        if (strcmp(end, one->name) != 0) continue;
        if (!(number * one->factor >= least && number * one->factor < 1e15)) break;
        *quantity = number * one->factor;
        return LIANA_OK;
    }
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "%s: --%s is '%.100s', expected %s",
                       invocation->command->name, name, text, hint);
}

static liana_status read_transport(liana__invocation *invocation, bool *encrypted)
{
    const char *name = liana__invocation_text(invocation, "transport");
    *encrypted = !name || strcmp(name, "zmq") == 0;
    if (*encrypted || strcmp(name, "mpi") == 0) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "%s: --transport is '%.100s', expected zmq or mpi",
                       invocation->command->name, name);
}

static liana_status read_question(liana__invocation *invocation, question *asked)
{
    *asked = (question){.seconds = 1, .cluster = {.bandwidth = 25e9 / 8, .latency = 20e-6}};
    LIANA_TRY(liana__invocation_int(invocation, "workers", 1, MOST_WORKERS, &asked->workers));
    LIANA_TRY(liana__invocation_int(invocation, "batch-per-worker", 1, 1 << 20, &asked->batch_per_worker));
    LIANA_TRY(liana__invocation_int(invocation, "microbatch", 1, 1 << 20, &asked->microbatch));
    LIANA_TRY(liana__invocation_int(invocation, "cores", 1, 1 << 16, &asked->cores));
    LIANA_TRY(liana__invocation_float(invocation, "seconds", 0.01, 600, &asked->seconds));
    LIANA_TRY(read_transport(invocation, &asked->encrypted));
    LIANA_TRY(
        read_quantity(invocation, "latency", times, "a time such as 20us, 1ms or 0s", 0, &asked->cluster.latency));
    asked->cluster.shared_cores = (size_t)asked->cores;
    return read_quantity(invocation, "bandwidth", rates, "bits a second such as 900Mb, 25Gb or 0.4Tb", 1,
                         &asked->cluster.bandwidth);
}

/* ---- measuring ---- */

static void say(planner *own, const char *text)
{
    if (liana__invocation_has(own->invocation, "json")) return;
    fprintf(own->invocation->out, "%s\n", text);
    fflush(own->invocation->out);
}

static liana_status measure_messages(planner *own)
{
    liana__message_cost cost = {0};
    liana__error *error = &own->invocation->error;
    LIANA_TRY(own->asked.encrypted ? liana__message_cost_measure(&cost, error)
                                   : liana__copy_cost_measure(&cost.copied, error));
    /* A copy into the network's memory, and one out of it. */
    if (!own->asked.encrypted) cost.byte = 2 * cost.copied;
    own->messages = (liana__plan_messages){.copied = cost.copied,
                                           .byte = cost.byte,
                                           .one_way = cost.one_way,
                                           .one_more = cost.one_more,
                                           .piece = own->asked.encrypted ? LIANA__FRAME_ENCRYPTED_PIECE : 0};
    return LIANA_OK;
}

/* The workers that compute at the same time as the one that is measured. Where they are asked about this machine
 * itself, all are there; else as many as have cores. */
static size_t count_companions(const planner *own)
{
    const int64_t threads = liana__pool_num_threads(own->training.context->pool), here = liana__cpu_count();
    const int64_t cores = own->asked.cores < here ? own->asked.cores : here, workers = own->asked.workers;
    int64_t side_by_side = cores / threads;
    if (workers && (workers < side_by_side || own->asked.cores == here)) side_by_side = workers;
    if (side_by_side > MOST_COMPANIONS + 1) side_by_side = MOST_COMPANIONS + 1;
    return side_by_side > 1 ? (size_t)side_by_side - 1 : 0;
}

/* Contexts of their own, since a context's threads do one thing at a time. */
static liana_status open_companions(planner *own)
{
    const size_t count = count_companions(own);
    own->sessions = calloc(count + 1, sizeof *own->sessions);
    own->companions = calloc(count + 1, sizeof *own->companions);
    if (!own->sessions || !own->companions) return liana__fail_memory(&own->invocation->error, "the other workers");
    for (size_t i = 0; i < count; i++) {
        liana__session *session = &own->sessions[own->num_sessions++];
        LIANA_TRY(liana__session_open(own->invocation, own->invocation->operands[0], session));
        own->companions[i] = (liana__plan_companion){session->context, &session->config};
    }
    own->training.companions = own->companions;
    own->training.num_companions = count;
    return LIANA_OK;
}

static void close_planner(planner *own)
{
    liana__plan_close(&own->training);
    for (size_t i = 0; i < own->num_sessions; i++) liana__session_close(&own->sessions[i]);
    free(own->sessions);
    free(own->companions);
}

/* Half of, as much as and twice the wanted microbatch, or the values of --microbatch; as many as there are examples
 * for. */
static size_t list_candidates(const planner *own, int64_t sizes[MOST_CANDIDATES])
{
    const liana__plan_training *training = &own->training;
    const int64_t batch = own->asked.batch_per_worker ? own->asked.batch_per_worker : training->batch_size;
    int64_t first = own->asked.microbatch ? own->asked.microbatch : training->microbatch;
    size_t count = 0;
    int64_t last = own->asked.microbatch ? first : 2 * first;
    for (int i = 0; i < 2 && !own->asked.microbatch && first > 1; i++) first /= 2;
    for (int64_t size = first; size <= last && size <= batch && count < MOST_CANDIDATES; size *= 2) {
        if (liana__plan_can_measure(training, size)) sizes[count++] = size;
    }
    return count;
}

static liana_status measure_works(planner *own)
{
    int64_t sizes[MOST_CANDIDATES];
    const size_t count = list_candidates(own, sizes);
    for (size_t i = 0; i < count; i++) {
        char line[128];
        snprintf(line, sizeof line, "measuring shards of %lld examples", (long long)sizes[i]);
        say(own, line);
        LIANA_TRY(
            liana__plan_measure(&own->training, sizes[i], own->asked.seconds, &own->works[i], &own->invocation->error));
    }
    own->num_works = count;
    if (count) return LIANA_OK;
    return liana__fail(
        &own->invocation->error, LIANA_INVALID_CONFIG,
        "plan: %lld training examples in batches of %lld are too few to measure shards of %lld examples; "
        "give a smaller --microbatch",
        (long long)own->training.num_examples, (long long)own->training.batch_size,
        (long long)(own->asked.microbatch ? own->asked.microbatch : own->training.microbatch));
}

/* ---- planning ---- */

static liana_status answer_with(const planner *own, const liana__plan_work *work, answer *found, liana__error *error)
{
    const int64_t shards = (found->batch + work->microbatch - 1) / work->microbatch;
    found->work = work;
    LIANA_TRY(liana__cluster_bytes_of(&own->training.update, (size_t)shards, (size_t)found->workers, &found->bytes,
                                      NULL, error));
    found->time = liana__step_time_of(work, &own->messages, &own->asked.cluster, &found->bytes, found->batch);
    return LIANA_OK;
}

/* The best microbatch for this number of workers. */
static liana_status answer_for(const planner *own, int64_t workers, answer *best)
{
    const int64_t each = own->asked.batch_per_worker;
    *best = (answer){0};
    for (size_t i = 0; i < own->num_works; i++) {
        answer one = {.workers = workers, .batch = each ? each * workers : own->training.batch_size};
        LIANA_TRY(answer_with(own, &own->works[i], &one, &own->invocation->error));
        if (!best->work || one.time.total < best->time.total) *best = one;
    }
    return LIANA_OK;
}

static double rate_of(const answer *found)
{
    return (double)found->batch / found->time.total;
}

/* ---- printing ---- */

static void print_json(planner *own, const answer *found)
{
    liana__invocation *invocation = own->invocation;
    liana__value *event = liana__session_event(invocation, "plan");
    const liana__step_time *time = &found->time;
    liana__event_int(invocation, event, "workers", found->workers);
    liana__event_int(invocation, event, "threads", (int64_t)found->work->threads);
    liana__event_int(invocation, event, "batch_size", found->batch);
    liana__event_int(invocation, event, "microbatch", found->work->microbatch);
    liana__event_float(invocation, event, "step_seconds", time->total);
    liana__event_float(invocation, event, "examples_per_second", rate_of(found));
    liana__event_float(invocation, event, "efficiency", rate_of(found) / ((double)found->workers * own->alone));
    liana__event_float(invocation, event, "computing_seconds", time->computing);
    liana__event_float(invocation, event, "reading_seconds", time->reading);
    liana__event_float(invocation, event, "update_seconds", time->update);
    liana__event_float(invocation, event, "sums_seconds", time->sums);
    liana__event_float(invocation, event, "values_seconds", time->values);
    liana__event_float(invocation, event, "latency_seconds", time->latency);
    liana__event_float(invocation, event, "exchange_share", liana__exchange_share(time));
    liana__event_int(invocation, event, "bytes_sent", (int64_t)found->bytes.most_sent);
    liana__event_float(invocation, event, "ring_bytes", liana__ring_bytes(&found->bytes));
    liana__event_int(invocation, event, "variable_bytes", (int64_t)found->bytes.variables);
    liana__event_float(invocation, event, "memory", time->memory);
    liana__value_set(&invocation->arena, event, "limit",
                     liana__value_string(&invocation->arena, liana__plan_limit_name(time->limit)));
    liana__invocation_print_json(invocation, event);
}

/* How long before the end of a turn a gradient is there, on the average of all bytes. */
static double mean_left(const liana__plan_work *work)
{
    double sum = 0;
    for (size_t i = 0; i < LIANA__PLAN_PORTIONS; i++) sum += work->left[i];
    return sum / LIANA__PLAN_PORTIONS;
}

static void print_machine(planner *own)
{
    liana__invocation *invocation = own->invocation;
    if (!liana__invocation_has(invocation, "json")) return;
    liana__value *event = liana__session_event(invocation, "messages");
    liana__event_float(invocation, event, "seconds_per_copied_byte", own->messages.copied);
    liana__event_float(invocation, event, "seconds_per_byte", own->messages.byte);
    liana__event_float(invocation, event, "one_way_seconds", own->messages.one_way);
    liana__event_float(invocation, event, "seconds_per_message", own->messages.one_more);
    liana__invocation_print_json(invocation, event);
    for (size_t i = 0; i < own->num_works; i++) {
        const liana__plan_work *work = &own->works[i];
        event = liana__session_event(invocation, "work");
        liana__event_int(invocation, event, "microbatch", work->microbatch);
        liana__event_int(invocation, event, "threads", (int64_t)work->threads);
        liana__event_float(invocation, event, "lone_leaf_seconds", work->lone_shard);
        liana__event_float(invocation, event, "full_turn_seconds", work->full_turn);
        liana__event_float(invocation, event, "next_turn_seconds", work->next_turn);
        liana__event_float(invocation, event, "update_seconds", work->update);
        liana__event_float(invocation, event, "seconds_left_behind_sums", mean_left(work));
        liana__event_float(invocation, event, "reading_seconds_per_example", work->example);
        liana__invocation_print_json(invocation, event);
    }
}

static void print_head(planner *own)
{
    fprintf(own->invocation->out, "%8s %9s %10s %10s %12s %6s %9s %12s %11s  %s\n", "workers", "batch", "microbatch",
            "step ms", "examples/s", "eff.", "exchange", "sent MB", "memory MiB", "limited by");
}

static void print_row(planner *own, const answer *found)
{
    if (liana__invocation_has(own->invocation, "json")) {
        print_json(own, found);
        return;
    }
    const liana__step_time *time = &found->time;
    fprintf(own->invocation->out, "%8lld %9lld %10lld %10.2f %12.1f %5.0f%% %8.1f%% %12.3f %11.0f  %s\n",
            (long long)found->workers, (long long)found->batch, (long long)found->work->microbatch, 1e3 * time->total,
            rate_of(found), 100 * rate_of(found) / ((double)found->workers * own->alone),
            100 * liana__exchange_share(time), 1e-6 * (double)found->bytes.most_sent, time->memory / MIB,
            liana__plan_limit_name(time->limit));
}

/* The table ends where half of the workers have nothing to compute. */
static liana_status print_plan(planner *own)
{
    answer found;
    LIANA_TRY(answer_for(own, 1, &found));
    own->alone = rate_of(&found);
    print_machine(own);
    if (!liana__invocation_has(own->invocation, "json")) print_head(own);
    if (own->asked.workers) {
        LIANA_TRY(answer_for(own, own->asked.workers, &found));
        print_row(own, &found);
        return LIANA_OK;
    }
    for (int64_t workers = 1; workers <= TABLE_END; workers *= 2) {
        LIANA_TRY(answer_for(own, workers, &found));
        print_row(own, &found);
        if (2 * found.bytes.num_shards <= found.bytes.num_workers) break;
    }
    return LIANA_OK;
}

/* Options that would have no effect. */
static liana_status check_options(liana__invocation *invocation, bool of_device)
{
    static const char *const of_clusters[] = {"workers", "bandwidth",        "latency", "transport",
                                              "cores",   "batch-per-worker", "seconds", NULL};
    static const char *const of_devices[] = {"topology", "all", "compile", "replicas", "quick", NULL};
    for (const char *const *name = of_device ? of_clusters : of_devices; *name; name++) {
        if (!liana__invocation_has(invocation, *name)) continue;
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           of_device
                               ? "plan: --%s is of a plan for workers, and --device plans for a TPU; leave one of "
                                 "them out"
                               : "plan: --%s is of a plan for a TPU: add --device tpu",
                           *name);
    }
    return LIANA_OK;
}

/* The dtype in which gradients are sent. */
static liana_status read_wire(planner *own, const liana__config *config)
{
    liana__strategy_choice choice;
    LIANA_TRY(liana__strategy_read(config->job.strategy, "train.strategy", &own->invocation->arena, &choice,
                                   &own->invocation->error));
    const bool has_wire = choice.strategy && choice.strategy->needs_cluster;
    own->training.update.short_sums = has_wire && liana__worker_wire(choice.options) == LIANA__WIRE_BFLOAT16;
    return LIANA_OK;
}

static liana_status plan_cluster(liana__invocation *invocation, const liana__session *session)
{
    LIANA__SCOPED_BY(close_planner) planner own = {.invocation = invocation};
    LIANA_TRY(liana__config_require_training_data(&session->config, &invocation->error));
    LIANA_TRY(read_question(invocation, &own.asked));
    LIANA_TRY(measure_messages(&own));
    LIANA_TRY(liana__plan_open(session->context, &session->config, &own.training, &invocation->error));
    /* Only this transport goes on without a process that died. */
    own.training.update.mirrored = own.asked.encrypted && session->config.cluster.mirrors;
    LIANA_TRY(read_wire(&own, &session->config));
    LIANA_TRY(open_companions(&own));
    LIANA_TRY(measure_works(&own));
    return print_plan(&own);
}

static liana_status run(liana__invocation *invocation)
{
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    const bool of_device = liana__invocation_has(invocation, "device");
    LIANA_TRY(check_options(invocation, of_device));
    LIANA_TRY(liana__session_open(invocation, invocation->operands[0], &session));
    return of_device ? liana__plan_device(invocation, &session) : plan_cluster(invocation, &session);
}

const liana__command liana__subcommand_plan = {
    .name = "plan",
    .operands = "CONFIG.yaml [key=value ...]",
    .summary = "Say what a step would take on many workers, or on a TPU",
    .help = "Trains a few steps on this machine, with the threads that each worker will have (train.threads or\n"
            "LIANA_THREADS), and measures what messages cost its processors. From this, the network's bandwidth and\n"
            "latency, and the sizes of the model, it says for each number of workers: the step's time, the examples\n"
            "per second, the efficiency (eff.: their share of what as many independent workers would reach), the\n"
            "exchange's share of the time, the best microbatch, what a worker sends for an update, its memory, and\n"
            "the part that takes most of a step. Writes no run folder.\n"
            "docs/guides/scaling.md explains it. With --device tpu it says instead what a TPU core makes of each\n"
            "layer: how much of its matrix units and its memory is padding, and which shards and widths would waste\n"
            "nothing (docs/guides/devices.md). With --device gpu it compiles an update for an absent GPU.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
