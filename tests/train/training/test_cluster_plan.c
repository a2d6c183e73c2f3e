/* liana plan: the bytes that it foretells are those that clusters send, its times are those of the formulas in
 * docs/explanation/scaling.md, and the command's messages and refusals are right. */
#include "harness/cluster/hub.h"
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"

#include "base/context.h"
#include "train/objective/batch_components.h"
#include "train/objective/trainer.h"
#include "train/run/measure.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 192, MAX_WORKERS = 8, MAX_OVERRIDES = 6, STEPS = 3 };

/* Of the data; the harness's own paths are for one thread. */
static char config_path[512];

/* ---- clusters ---- */

typedef struct process {
    liana__hub *hub;
    size_t rank;
    const char *overrides[MAX_OVERRIDES];
    size_t num_overrides;
    liana__cluster cluster;
    uint64_t sent[STEPS]; /* after each step */
    size_t num_steps;
    liana_status status;
    liana__error error;
} process;

static bool keep_step(void *user, const liana__fit_event *event)
{
    process *own = user;
    liana__transport_counters counters;
    if (event->kind != LIANA__FIT_STEP) return true;
    own->cluster.transport->counters(own->cluster.instance, &counters);
    if (own->num_steps < STEPS) own->sent[own->num_steps++] = counters.bytes_sent;
    return true;
}

static liana_status train(process *own, liana_context *context, liana__arena *arena)
{
    liana__config config;
    liana__run run;
    LIANA_TRY(liana__config_load(context, LIANA__PLUGINS_IGNORED, config_path, own->overrides, own->num_overrides,
                                 arena, &config, &own->error));
    liana__run_options options = {.training = true, .on_event = keep_step, .user = own};
    liana_status status = liana__run_open(context, &config, &options, &run, &own->error);
    if (status == LIANA_OK) status = liana__run_train(&run, &options, &own->error);
    liana__run_close(&run);
    return status;
}

static void *run_process(void *user)
{
    process *own = user;
    liana_context *context = NULL;
    liana__arena arena = {0};
    liana__hub_join(own->hub, own->rank, &own->cluster);
    own->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (own->status == LIANA_OK) own->status = liana__cluster_join(context, &own->cluster);
    if (own->status == LIANA_OK) own->status = train(own, context, &arena);
    liana__cluster_close(&own->cluster);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return NULL;
}

/* The bytes of each worker in an update of a real cluster: between the second step and the third. */
static void count_sent(const char *const *overrides, size_t num_workers, bool mirrors, bool in_bfloat16, uint64_t *sent)
{
    pthread_t threads[MAX_WORKERS];
    process *processes = calloc(num_workers, sizeof *processes);
    liana__hub *hub = liana__hub_create(num_workers, 0);
    assert_non_null(processes);
    assert_non_null(hub);
    liana__hub_set(hub, true, mirrors);
    for (size_t i = 0; i < num_workers; i++) {
        process *own = &processes[i];
        own->hub = hub;
        own->rank = i;
        for (; overrides[own->num_overrides]; own->num_overrides++) {
            own->overrides[own->num_overrides] = overrides[own->num_overrides];
        }
        own->overrides[own->num_overrides++] =
            in_bfloat16 ? "train.strategy={name: multi_worker, wire: bfloat16}" : "train.strategy=multi_worker";
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, own), 0);
    }
    for (size_t i = 0; i < num_workers; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < num_workers; i++) {
        assert_ok(processes[i].status, &processes[i].error);
        assert_int_equal(processes[i].num_steps, STEPS);
        sent[i] = processes[i].sent[2] - processes[i].sent[1];
    }
    liana__hub_destroy(hub);
    free(processes);
}

/* ---- plans ---- */

typedef struct fixture {
    liana__arena arena;
    liana__config config;
    liana_context *context;
    liana__plan_training training;
} fixture;

static void open_plan(fixture *own, const char *const *overrides)
{
    size_t count = 0;
    liana__error error = {0};
    *own = (fixture){0};
    while (overrides[count]) count++;
    const char *given[MAX_OVERRIDES];
    memcpy(given, overrides, count * sizeof *given);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &own->context), LIANA_OK);
    assert_ok(liana__config_load(own->context, LIANA__PLUGINS_IGNORED, config_path, given, count, &own->arena,
                                 &own->config, &error),
              &error);
    assert_ok(liana__plan_open(own->context, &own->config, &own->training, &error), &error);
}

static void close_plan(fixture *own)
{
    liana__plan_close(&own->training);
    liana_context_destroy(own->context);
    liana__arena_free(&own->arena);
}

static void write_data(void)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(COUNT));
}

/* The plan of each worker equals its sent bytes. */
static void assert_planned_with(const char *const *overrides, size_t num_shards, bool mirrors, bool in_bfloat16)
{
    static const size_t workers[] = {2, 3, 4, 5, 7};
    uint64_t sent[MAX_WORKERS], planned[MAX_WORKERS];
    liana__error error = {0};
    liana__cluster_bytes bytes;
    fixture own;
    open_plan(&own, overrides);
    own.training.update.mirrored = mirrors;
    own.training.update.short_sums = in_bfloat16;
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        uint64_t most = 0;
        count_sent(overrides, workers[i], mirrors, in_bfloat16, sent);
        assert_ok(liana__cluster_bytes_of(&own.training.update, num_shards, workers[i], &bytes, planned, &error),
                  &error);
        for (size_t rank = 0; rank < workers[i]; rank++) {
            assert_compare(planned[rank], ==, sent[rank], rank);
            if (sent[rank] > most) most = sent[rank];
        }
        assert_int_equal(bytes.most_sent, most);
    }
    close_plan(&own);
}

static void assert_planned(const char *const *overrides, size_t num_shards)
{
    assert_planned_with(overrides, num_shards, false, false);
    assert_planned_with(overrides, num_shards, true, false);
    assert_planned_with(overrides, num_shards, true, true);
}

static void test_bytes_are_those_that_clusters_send(void **state)
{
    (void)state;
    write_data();
    assert_planned((const char *const[]){"train.epochs=1", "train.batch_size=64", "train.microbatch=8", NULL}, 8);
    /* A shard for some workers only; an optimizer whose update reads sums over chunks. */
    assert_planned((const char *const[]){"train.epochs=1", "train.batch_size=64", "train.microbatch=22",
                                         "train.optimizer={name: Adam, global_clipnorm: 1}", NULL},
                   3);
    assert_planned((const char *const[]){"train.epochs=1", "train.batch_size=64", "train.microbatch=11",
                                         "train.optimizer=Lamb", NULL},
                   6);
}

static const char WIDE[] = "model.layers=[{Flatten: {}}, {Dense: {units: 2000, activation: relu}}, "
                           "{Dense: {units: 4, activation: softmax}}]";

static void test_powers_of_two_send_what_a_ring_sends(void **state)
{
    (void)state;
    write_data();
    fixture own;
    liana__error error = {0};
    liana__cluster_bytes bytes;
    uint64_t sent[MAX_WORKERS];
    const char *const overrides[] = {"train.epochs=1", "train.batch_size=64", "train.microbatch=8", WIDE, NULL};
    open_plan(&own, overrides);
    for (size_t workers = 2; workers <= MAX_WORKERS; workers *= 2) {
        assert_ok(liana__cluster_bytes_of(&own.training.update, 8, workers, &bytes, NULL, &error), &error);
        /* Dense layers of 144 x 2000 and 2000 x 4, with biases. */
        assert_int_equal(bytes.variables, 4 * (144 * 2000 + 2000 + 2000 * 4 + 4));
        const double ring = 2 * (double)(workers - 1) / (double)workers * (double)bytes.variables;
        assert_near(liana__ring_bytes(&bytes), ring, 1e-6);
        assert_compare((double)bytes.most_sent, <=, 1.05 * ring);
        assert_compare((double)bytes.most_sent, >, 0.99 * ring);
    }
    /* A mirror gets its owner's block, or of more than two workers its owner's sums, and no new values: the number of
     * sent bytes stays the same. */
    own.training.update.mirrored = true;
    assert_ok(liana__cluster_bytes_of(&own.training.update, 8, 2, &bytes, sent, &error), &error);
    assert_true(bytes.has_mirrors);
    assert_int_equal(bytes.most_mirrored, 0);
    assert_int_equal(bytes.most_sums, bytes.variables);
    assert_int_equal(bytes.num_operations, 7);
    assert_int_equal(bytes.most_values, 0);
    const uint64_t mirrored = sent[0] + sent[1];
    own.training.update.mirrored = false;
    assert_ok(liana__cluster_bytes_of(&own.training.update, 8, 2, &bytes, sent, &error), &error);
    assert_int_equal(mirrored, sent[0] + sent[1]);
    assert_false(bytes.has_mirrors);
    own.training.update.mirrored = true;
    assert_ok(liana__cluster_bytes_of(&own.training.update, 8, 4, &bytes, NULL, &error), &error);
    assert_int_equal(bytes.most_mirrored, bytes.largest_slice);
    assert_int_equal(bytes.num_operations, 8);
    own.training.update.mirrored = false;
    count_sent(overrides, 4, false, false, sent);
    assert_ok(liana__cluster_bytes_of(&own.training.update, 8, 4, &bytes, NULL, &error), &error);
    for (size_t i = 0; i < 4; i++) assert_compare(sent[i], <=, bytes.most_sent, i);
    assert_ok(liana__cluster_bytes_of(&own.training.update, 8, 1, &bytes, NULL, &error), &error);
    assert_int_equal(bytes.most_sent, 0);
    assert_int_equal(bytes.num_operations, 0);
    assert_fails(liana__cluster_bytes_of(&own.training.update, 0, 2, &bytes, NULL, &error), LIANA_INVALID_ARGUMENT,
                 &error, "0 shards", "2 workers");
    assert_fails(liana__cluster_bytes_of(&own.training.update, 4, 0, &bytes, NULL, &error), LIANA_INVALID_ARGUMENT,
                 &error, "0 workers");
    close_plan(&own);
}

/* ---- times ---- */

static const liana__plan_work WORK = {.microbatch = 16,
                                      .threads = 4,
                                      .lone_shard = 0.1,
                                      .full_turn = 0.13,
                                      .next_turn = 0.12,
                                      .update = 0.04,
                                      .memory = 1000,
                                      .slots = 600};
static const liana__plan_messages FREE_MESSAGES;
static const liana__plan_cluster FAST = {.bandwidth = 1e15};

static liana__step_time time_of(const liana__plan_work *work, size_t leaves, size_t workers,
                                const liana__plan_cluster *cluster, const liana__plan_messages *messages)
{
    const uint64_t variables = 100 << 20, slice = variables / workers;
    const liana__cluster_bytes bytes = {.num_workers = workers,
                                        .num_shards = leaves,
                                        .most_shards = (leaves + workers - 1) / workers,
                                        .most_blocks = 1,
                                        .num_blocks = workers,
                                        .variables = variables,
                                        .largest_slice = slice,
                                        .most_sums = variables - slice,
                                        .most_values = variables - slice,
                                        .num_operations = workers > 1 ? 7 : 0};
    return liana__step_time_of(work, messages, cluster, &bytes, 16 * (int64_t)leaves);
}

static void assert_close(double found, double expected)
{
    assert_near(found, expected, 1e-9 * fabs(expected) + 1e-12);
}

static void test_computing_goes_by_turns(void **state)
{
    (void)state;
    static const struct {
        size_t leaves;
        double seconds;
    } cases[] = {{1, 0.1}, {2, 0.11}, {4, 0.13}, {5, 0.13 + 0.1 - 0.01}, {8, 0.13 + 0.12}, {12, 0.13 + 2 * 0.12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__step_time one = time_of(&WORK, cases[i].leaves, 1, &FAST, &FREE_MESSAGES);
        assert_close(one.computing, cases[i].seconds);
        assert_close(one.total, cases[i].seconds + 0.04);
        assert_close(liana__exchange_share(&one), 0);
        assert_close(one.memory, 1000);
    }
    /* Two workers: half of the shards and of the update each. */
    const liana__step_time two = time_of(&WORK, 8, 2, &FAST, &FREE_MESSAGES);
    assert_close(two.computing, 0.13);
    assert_close(two.update, 0.02);
    /* On four cores that both share, each thread has half of one. */
    const liana__plan_cluster shared = {.bandwidth = 1e15, .shared_cores = 4};
    const liana__step_time crowded = time_of(&WORK, 8, 2, &shared, &FREE_MESSAGES);
    assert_close(crowded.computing, 0.26);
    assert_close(crowded.update, 0.04);
    /* Unless they were as crowded when they were measured; or half as crowded. */
    liana__plan_work work = WORK;
    work.crowding = 2;
    assert_close(time_of(&work, 8, 2, &shared, &FREE_MESSAGES).computing, 0.13);
    assert_close(time_of(&work, 16, 4, &shared, &FREE_MESSAGES).computing, 0.26);
    work.crowding = 0.5;
    assert_close(time_of(&work, 8, 2, &shared, &FREE_MESSAGES).computing, 0.26);
    assert_int_equal(two.limit, LIANA__LIMIT_COMPUTING);
    assert_int_equal(time_of(&WORK, 4, 2, &FAST, &FREE_MESSAGES).limit, LIANA__LIMIT_SHARDS);
}

static void test_all_wait_for_the_slowest(void **state)
{
    (void)state;
    liana__plan_work work = WORK;
    assert_close(liana__slowest_of(&work, 4096, 1), 1);
    /* Half of the turns take a tenth less than the median, half a fifth more: two workers are both fast in a
     * quarter. */
    for (size_t i = 0; i < LIANA__PLAN_QUANTILES; i++) work.quantiles[i] = i < LIANA__PLAN_QUANTILES / 2 ? 0.9 : 1.2;
    assert_close(liana__slowest_of(&work, 1, 1), 1.05);
    assert_close(liana__slowest_of(&work, 2, 1), 0.25 * 0.9 + 0.75 * 1.2);
    assert_close(liana__slowest_of(&work, 2, 4), 1.05 + 0.075 / 2);
    assert_near(liana__slowest_of(&work, 4096, 1), 1.2, 1e-9);
    assert_close(time_of(&work, 8, 2, &FAST, &FREE_MESSAGES).computing, 0.13 * (0.25 * 0.9 + 0.75 * 1.2));
}

static void test_exchange_goes_by_bytes(void **state)
{
    (void)state;
    const double half = 50.0 * (1 << 20);
    /* Each worker sends half of the sums and half of the values, and receives as much at the same time. */
    const liana__plan_cluster slow = {.bandwidth = 1e8, .latency = 1e-3};
    liana__step_time time = time_of(&WORK, 8, 2, &slow, &FREE_MESSAGES);
    assert_close(time.sums, half / 1e8 * 1538 / 1448);
    assert_close(time.values, time.sums);
    assert_close(time.latency, 7e-3);
    assert_int_equal(time.limit, LIANA__LIMIT_BANDWIDTH);
    assert_close(liana__exchange_share(&time), 1 - (0.13 + 0.02) / time.total);
    /* Encryption slower than the network: two of the threads of a worker work at it. */
    const liana__plan_messages encrypted = {.byte = 4e-8, .one_way = 1e-4, .one_more = 1e-5};
    time = time_of(&WORK, 8, 2, &slow, &encrypted);
    assert_close(time.sums, half * 4e-8 / 2);
    assert_close(time.latency, 7 * (1e-3 + 1e-4));
    assert_int_equal(time.limit, LIANA__LIMIT_MESSAGES);
    /* Of four workers each tells two more. */
    time = time_of(&WORK, 16, 4, &slow, &encrypted);
    assert_close(time.latency, 7 * (1e-3 + 1e-4 + 2e-5));
    /* The first piece is encrypted before the wire has anything, the last one decrypted after it. */
    const liana__plan_messages in_pieces = {.byte = 1e-9, .piece = 1e6};
    time = time_of(&WORK, 8, 2, &slow, &in_pieces);
    assert_close(time.sums, 1e6 * 1e-9 / 2 + half / 1e8 * 1538 / 1448);
    const liana__plan_messages slow_pieces = {.byte = 4e-8, .piece = 1e6};
    assert_close(time_of(&WORK, 8, 2, &slow, &slow_pieces).sums, half * 4e-8 / 2);
    /* Copies: additions and a check; then another check, and all values. */
    const liana__plan_messages copies = {.copied = 1e-9};
    time = time_of(&WORK, 8, 2, &FAST, &copies);
    assert_near(time.sums, (half + half) * 1e-9, 1e-6);
    assert_near(time.values, (half + 2 * half) * 1e-9, 1e-6);
}

/* Of two workers the first owns the sums that are made last, of four the middle ones wait less. */
static void test_sums_travel_while_leaves_are_computed(void **state)
{
    (void)state;
    liana__plan_work work = WORK;
    assert_close(liana__exposed_seconds(&work, 2, 1, 0.3), 0.3);
    assert_close(liana__exposed_seconds(&work, 1, 1, 0), 0);
    for (size_t i = 0; i < LIANA__PLAN_PORTIONS; i++) work.left[i] = i < LIANA__PLAN_PORTIONS / 2 ? 0.1 : 0.3;
    /* The second half is sent from 0.3 s before the end on, the first half from 0.1 s on. */
    assert_close(liana__exposed_seconds(&work, 2, 1, 0.05), 0);
    assert_close(liana__exposed_seconds(&work, 2, 1, 0.2), 0.1);
    assert_close(liana__exposed_seconds(&work, 2, 1, 0.35), 0.25);
    /* Where cores are shared, computing and its rest take longer. */
    assert_close(liana__exposed_seconds(&work, 2, 2, 0.35), 0.15);
    /* A quarter of all comes from three others: the sums that are made last have the last tenth of a second. */
    assert_close(liana__exposed_seconds(&work, 4, 1, 0.15), 0.05);
    /* Each gets all: half of it may begin at once, the other half 0.1 s before the end. */
    assert_close(liana__exposed_seconds(&work, 1, 1, 0.3), 0.05);
    const liana__plan_cluster slow = {.bandwidth = 1e9};
    const double half = 50.0 * (1 << 20) / 1e9 * 1538 / 1448;
    const liana__step_time time = time_of(&work, 8, 2, &slow, &FREE_MESSAGES);
    assert_close(time.sums, half - 0.1 > 0 ? half - 0.1 : 0);
    assert_close(time.values, half);
    /* Slower: half of it travels behind the end. Processors work at the other half while they should compute. */
    const liana__plan_cluster slower = {.bandwidth = half * 1e9 / 0.2};
    const liana__plan_messages messages = {.byte = 1e-9};
    assert_close(time_of(&work, 8, 2, &slower, &messages).sums, 0.1 + 0.5 * 50.0 * (1 << 20) * 1e-9 / 2);
}

/* ---- sums while a shard is computed ---- */

enum { MOST_SUMS = 32 };

/* When each sum was heard of. */
typedef struct ear {
    size_t place[MOST_SUMS], count;
} ear;

static void hear(void *user, size_t block, size_t sum, const void *data)
{
    ear *own = user;
    (void)block;
    (void)data;
    assert_compare(sum, <, MOST_SUMS);
    assert_compare(own->place[sum], ==, 0);
    own->place[sum] = ++own->count;
}

static size_t place_of(const fixture *own, const ear *heard, const char *name)
{
    const size_t sum = liana__trainer_find_sum(own->training.run.core.trainer, name);
    assert_compare(sum, <, MOST_SUMS);
    assert_compare(heard->place[sum], >, 0);
    return heard->place[sum];
}

/* Also those that are copied to where they belong: gradients of normalisations come with those of their layer, and
 * statistics before all gradients. */
static void test_sums_are_heard_of_when_they_are_made(void **state)
{
    (void)state;
    static const char MODEL[] =
        "model.layers=[{Conv2D: {filters: 4, kernel_size: 3, name: first}}, {BatchNormalization: {name: a}}, ReLU, "
        "{Conv2D: {filters: 4, kernel_size: 3, name: second}}, {BatchNormalization: {name: b}}, ReLU, Flatten, "
        "{Dense: {units: 4, activation: softmax, name: last}}]";
    write_data();
    fixture own;
    liana__error error = {0};
    ear heard = {0};
    const liana__sum_watch watch = {hear, &heard};
    const float *sums;
    liana__batch *batch;
    open_plan(&own, (const char *const[]){"train.batch_size=16", "train.microbatch=16", MODEL, NULL});
    liana__trainer *trainer = own.training.run.core.trainer;
    liana__loader *loader = own.training.run.training.loader;
    liana__step_watch_sums(trainer->step, &watch);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    assert_ok(liana__loader_next(loader, &batch, &error), &error);
    assert_ok(liana__trainer_step(trainer, batch, 0.1, 1, &sums, &error), &error);
    liana__loader_release(loader, batch);
    const size_t first = place_of(&own, &heard, "first/kernel");
    static const char *const statistics[] = {"a/moving_mean", "a/moving_variance", "b/moving_mean",
                                             "b/moving_variance"};
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        assert_compare(place_of(&own, &heard, statistics[i]), <, place_of(&own, &heard, "last/kernel"), i);
    }
    assert_compare(place_of(&own, &heard, "b/gamma"), <, place_of(&own, &heard, "a/gamma"));
    assert_compare(place_of(&own, &heard, "b/beta"), <, first);
    assert_compare(place_of(&own, &heard, "second/kernel"), <, first);
    assert_compare(place_of(&own, &heard, "a/gamma"), <, first);
    close_plan(&own);
}

/* ---- the command ---- */

static double number_of(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static json_t *event_of(const char *line, const char *wanted)
{
    json_t *event = json_loadb(line, strcspn(line, "\n"), 0, NULL);
    assert_non_null(event);
    const char *name = json_string_value(json_object_get(event, "event"));
    if (name && strcmp(name, wanted) == 0) return event;
    json_decref(event);
    return NULL;
}

static void test_command_measures_and_plans(void **state)
{
    (void)state;
    write_data();
    liana__test_result got = liana__test_command("plan", config_path, "--json", "--seconds", "0.02", "--microbatch",
                                                 "4", "train.threads=1", "--bandwidth", "1Gb", "--latency", "1ms");
    if (got.code) print_error("%s\n", got.err);
    assert_int_equal(got.code, 0);
    int64_t workers = 1, num_works = 0;
    for (const char *line = got.out; *line; line = strchr(line, '\n') + 1) {
        json_t *event = event_of(line, "work");
        if (event) {
            const double left = number_of(event, "seconds_left_behind_sums");
            assert_compare(left, >, 0);
            assert_compare(left, <, number_of(event, "full_turn_seconds"));
            json_decref(event);
            num_works++;
        }
        event = event_of(line, "plan");
        if (!event) continue;
        assert_int_equal((int64_t)number_of(event, "workers"), workers);
        assert_int_equal((int64_t)number_of(event, "batch_size"), 32);
        assert_int_equal((int64_t)number_of(event, "microbatch"), 4);
        const double total = number_of(event, "step_seconds");
        assert_close(total, number_of(event, "computing_seconds") + number_of(event, "reading_seconds") +
                                number_of(event, "update_seconds") + number_of(event, "sums_seconds") +
                                number_of(event, "values_seconds") + number_of(event, "latency_seconds"));
        assert_close(number_of(event, "examples_per_second"), 32 / total);
        assert_compare(number_of(event, "bytes_sent") > 0, ==, workers > 1);
        assert_compare(number_of(event, "latency_seconds"), >=, workers > 1 ? 7e-3 : 0);
        assert_compare(number_of(event, "memory"), >, 0);
        workers *= 2;
        json_decref(event);
    }
    /* Of 8 shards: with 16 workers half of them have none. */
    assert_int_equal(workers, 32);
    assert_int_equal(num_works, 1);
    liana__test_free_result(&got);
}

/* A plugin does whole updates in one program where it trains alone. As a worker it does not, and so it is measured. */
static void test_command_measures_a_plugin(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    write_data();
    liana__test_result got =
        liana__test_command("plan", config_path, "--json", "--seconds", "0.02", "--microbatch", "4", "--workers", "2",
                            "train.threads=1", "data.cache=device", liana__test_on_plugin(""));
    if (got.code) print_error("%s\n", got.err);
    assert_int_equal(got.code, 0);
    int num_plans = 0;
    for (const char *line = got.out; *line; line = strchr(line, '\n') + 1) {
        json_t *event = event_of(line, "plan");
        if (!event) continue;
        assert_compare(number_of(event, "computing_seconds"), >, 0);
        assert_compare(number_of(event, "update_seconds"), >, 0);
        assert_compare(number_of(event, "examples_per_second"), >, 0);
        json_decref(event);
        num_plans++;
    }
    assert_int_equal(num_plans, 1);
    liana__test_free_result(&got);
}

/* Measured batches are of other sizes than the configuration's, so epochs have other numbers of them. */
static void test_command_measures_workers_side_by_side(void **state)
{
    (void)state;
    write_data();
    liana__test_result got =
        liana__test_command("plan", config_path, "--json", "--seconds", "0.02", "--microbatch", "8", "train.threads=1",
                            "--workers", "4", "--cores", "2", "train.steps_per_epoch=6", "train.batch_size=32");
    if (got.code) print_error("%s\n", got.err);
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\"workers\": 4");
    liana__test_free_result(&got);
}

static void test_command_prints_a_table(void **state)
{
    (void)state;
    write_data();
    liana__test_result got =
        liana__test_command("plan", config_path, "--seconds", "0.02", "--microbatch", "2", "train.threads=1",
                            "--workers", "6", "--batch-per-worker", "4", "--transport", "mpi", "--cores", "2");
    if (got.code) print_error("%s\n", got.err);
    assert_int_equal(got.code, 0);
    assert_says(got.out, "measuring shards of 2 examples");
    assert_says(got.out, "limited by");
    assert_says(got.out, "       6        24          2 ");
    liana__test_free_result(&got);
}

static void test_command_refuses(void **state)
{
    (void)state;
    write_data();
    assert_refused(liana__test_command("plan", config_path, "--bandwidth", "25GB"), 2, "--bandwidth", "25GB", "25Gb",
                   NULL);
    assert_refused(liana__test_command("plan", config_path, "--bandwidth", "0Gb"), 2, "--bandwidth", "0Gb", NULL);
    assert_refused(liana__test_command("plan", config_path, "--latency", "20"), 2, "--latency", "'20'", "20us", NULL);
    assert_refused(liana__test_command("plan", config_path, "--latency", "-1us"), 2, "--latency", NULL);
    assert_refused(liana__test_command("plan", config_path, "--transport", "tcp"), 2, "--transport", "zmq or mpi",
                   NULL);
    assert_refused(liana__test_command("plan", config_path, "--workers", "0"), 2, "--workers", NULL);
    assert_refused(liana__test_command("plan", config_path, "--topology", "v4"), 2, "--topology", "add --device tpu",
                   NULL);
    assert_refused(liana__test_command("plan", config_path, "--device", "tpu", "--workers", "4"), 2, "--workers",
                   "leave one", NULL);
    assert_refused(liana__test_command("plan", config_path, "--microbatch", "150", "train.threads=1",
                                       "train.batch_size=192", "--transport", "mpi"),
                   2, "192 training examples", "150", "--microbatch", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_those_that_clusters_send),
        cmocka_unit_test(test_powers_of_two_send_what_a_ring_sends),
        cmocka_unit_test(test_computing_goes_by_turns),
        cmocka_unit_test(test_all_wait_for_the_slowest),
        cmocka_unit_test(test_exchange_goes_by_bytes),
        cmocka_unit_test(test_sums_travel_while_leaves_are_computed),
        cmocka_unit_test(test_sums_are_heard_of_when_they_are_made),
        cmocka_unit_test(test_command_measures_and_plans),
        cmocka_unit_test(test_command_measures_a_plugin),
        cmocka_unit_test(test_command_measures_workers_side_by_side),
        cmocka_unit_test(test_command_prints_a_table),
        cmocka_unit_test(test_command_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
