/* liana profile: it counts every node that runs, changes no bit of the training, and leaves a trace that a viewer can
 * read. */
#include "harness/command_run.h"
#include "harness/graph_run.h"

#include "base/context.h"
#include "base/file.h"
#include "kernels/kernel_choice.h"
#include "report/reports.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, WARMUP = 2, BATCH = 32, SHARDS = 4, THREADS = 2 };

/* ---- a run ---- */

typedef struct fixture {
    liana__arena arena;
    liana__config config;
    liana_context *context;
    liana__run run;
} fixture;

static void open_run(fixture *own, const char *override)
{
    *own = (fixture){0};
    liana__error error = {0};
    const char *path = liana__test_tiny_run(200);
    assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, path, &override, override != NULL, &own->arena,
                                 &own->config, &error),
              &error);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = THREADS}, &own->context), LIANA_OK);
    liana__run_options options = {.training = true};
    assert_ok(liana__run_open(own->context, &own->config, &options, &own->run, &error), &error);
}

static void close_run(fixture *own)
{
    liana__run_close(&own->run);
    liana_context_destroy(own->context);
    liana__arena_free(&own->arena);
}

static void profile_run(fixture *own, const char *override, liana__profile *profile)
{
    liana__error error = {0};
    liana__test_folder();
    open_run(own, override);
    liana__profile_options options = {.warmup = WARMUP, .steps = STEPS};
    assert_ok(liana__profile_run(&own->run, &options, profile, &error), &error);
}

/* ---- counts ---- */

/* Counts, and checks which track each kind is on. */
static void count_events(const liana__profile *profile, int64_t counts[LIANA__NUM_EVENTS])
{
    memset(counts, 0, LIANA__NUM_EVENTS * sizeof *counts);
    for (size_t i = 0; i < profile->num_events; i++) {
        const liana__profile_event *item = &profile->events[i];
        assert_compare(item->event.end, >=, item->event.begin);
        bool reads = item->event.kind == LIANA__EVENT_READ, steps = item->track == (size_t)profile->num_workers;
        assert_compare(reads, ==, item->track > (size_t)profile->num_workers);
        bool phase = item->event.kind == LIANA__EVENT_SHARDS || item->event.kind == LIANA__EVENT_UPDATE ||
                     item->event.kind == LIANA__EVENT_WAIT || item->event.kind == LIANA__EVENT_STEP;
        assert_compare(steps, ==, phase);
        counts[item->event.kind]++;
    }
}

static int64_t calls_of(const liana__profile *profile, const char *op)
{
    int64_t calls = 0;
    for (size_t i = 0; i < profile->by_op.count; i++) {
        if (strcmp(profile->by_op.items[i].node->op->name, op) == 0) calls += profile->by_op.items[i].calls;
    }
    return calls;
}

static const liana__profile_row *row_of(const liana__profile *profile, const char *op)
{
    for (size_t i = 0; i < profile->by_op.count; i++) {
        if (strcmp(profile->by_op.items[i].node->op->name, op) == 0) return &profile->by_op.items[i];
    }
    fail_msg("no row for %s", op);
    return NULL;
}

static void check_counts(const liana__profile *profile)
{
    int64_t counts[LIANA__NUM_EVENTS];
    count_events(profile, counts);
    assert_int_equal(profile->dropped, 0);
    assert_int_equal(profile->examples, STEPS * BATCH);
    assert_int_equal(counts[LIANA__EVENT_STEP], STEPS);
    assert_int_equal(counts[LIANA__EVENT_WAIT], STEPS);
    assert_int_equal(counts[LIANA__EVENT_SHARDS], STEPS);
    assert_int_equal(counts[LIANA__EVENT_UPDATE], STEPS);
    assert_int_equal(counts[LIANA__EVENT_SHARD], STEPS * SHARDS);
    /* All is added output by output, within shards: two neighbours, and pairs of them. */
    assert_int_equal(counts[LIANA__EVENT_REDUCE], 0);
    assert_compare(counts[LIANA__EVENT_ADD], >, STEPS * (SHARDS - 1));
    assert_int_equal(counts[LIANA__EVENT_ADD] % (STEPS * (SHARDS - 1)), 0);
    /* One of each in a shard: the network has one such layer. Dropout has a gradient that is a dropout. */
    assert_int_equal(calls_of(profile, "conv2d"), STEPS * SHARDS);
    assert_int_equal(calls_of(profile, "conv2d_kernel_gradient"), STEPS * SHARDS);
    assert_int_equal(calls_of(profile, "conv2d_input_gradient"), 0); /* of the images: nobody wants it */
    assert_int_equal(calls_of(profile, "max_pool2d_gradient"), STEPS * SHARDS);
    assert_int_equal(calls_of(profile, "dropout"), 2 * STEPS * SHARDS);
    int64_t by_node = 0, by_op = 0;
    double seconds = 0;
    for (size_t i = 0; i < profile->by_node.count; i++) by_node += profile->by_node.items[i].calls;
    for (size_t i = 0; i < profile->by_op.count; i++) {
        by_op += profile->by_op.items[i].calls;
        seconds += profile->by_op.items[i].seconds;
        if (i) assert_compare(profile->by_op.items[i].seconds, <=, profile->by_op.items[i - 1].seconds, i);
    }
    assert_int_equal(by_node, counts[LIANA__EVENT_NODE]);
    assert_int_equal(by_op, counts[LIANA__EVENT_NODE]);
    assert_near(seconds, profile->nodes, 1e-9);
    /* 12 x 12 images, 3 x 3 windows, 8 filters: 10 x 10 x 8 outputs of 9 taps. */
    const liana__profile_row *conv = row_of(profile, "conv2d");
    assert_compare(conv->flops, ==, 2.0 * 800 * 9 * BATCH * STEPS);
    assert_compare(conv->cost.flops, ==, 2.0 * 800 * 9 * BATCH / SHARDS);
}

/* Of the events of two kinds, which each lie in one sum. */
static double seconds_of(const liana__profile *profile, liana__event_kind kind, liana__event_kind other)
{
    double seconds = 0;
    for (size_t i = 0; i < profile->num_events; i++) {
        const liana__event *event = &profile->events[i].event;
        if (event->kind == kind || event->kind == other) seconds += (double)(event->end - event->begin) * 1e-9;
    }
    return seconds;
}

/* Sums are of the events, and parts lie within the whole. */
static void check_times(const liana__profile *profile)
{
    assert_near(profile->seconds, seconds_of(profile, LIANA__EVENT_STEP, LIANA__EVENT_STEP), 1e-9);
    assert_near(profile->nodes, seconds_of(profile, LIANA__EVENT_NODE, LIANA__EVENT_PACK), 1e-9);
    assert_near(profile->update, seconds_of(profile, LIANA__EVENT_UPDATE, LIANA__EVENT_UPDATE), 1e-9);
    assert_near(profile->reduction, seconds_of(profile, LIANA__EVENT_REDUCE, LIANA__EVENT_ADD), 1e-9);
    assert_compare(profile->wait + profile->shards + profile->update, <=, profile->seconds * 1.0001);
    assert_compare(profile->nodes + profile->reduction, <=, profile->busy * 1.0001);
    assert_compare(profile->busy, <=, profile->seconds * THREADS * 1.0001);
    /* The events of a track are in order, and a node lies in its shard or an update, of which
     * any thread may have a part. */
    for (size_t i = 0; i < profile->num_events; i++) {
        const liana__event *event = &profile->events[i].event;
        if (event->kind != LIANA__EVENT_NODE) continue;
        bool inside = false;
        for (size_t k = 0; k < profile->num_events && !inside; k++) {
            const liana__event *outer = &profile->events[k].event;
            bool shard = outer->kind == LIANA__EVENT_SHARD && profile->events[k].track == profile->events[i].track;
            bool update = outer->kind == LIANA__EVENT_UPDATE;
            inside = (shard || update) && outer->begin <= event->begin && outer->end >= event->end;
        }
        assert_true(inside);
    }
}

/* ---- nothing changes ---- */

static void train_plainly(fixture *own, int64_t steps)
{
    liana__error error = {0};
    liana__loader *loader = own->run.training.loader;
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    liana_learning_rate rate = own->run.core.learning_rate;
    rate.steps_per_epoch = (int64_t)liana__loader_steps_per_epoch(loader, 0);
    rate.total_steps = 3 * rate.steps_per_epoch;
    for (int64_t i = 0; i < steps; i++) {
        liana__batch *batch;
        const float *sums;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        assert_ok(liana__trainer_step(own->run.core.trainer, batch, liana__learning_rate_at(&rate, i), i + 1, &sums,
                                      &error),
                  &error);
        liana__loader_release(loader, batch);
    }
}

static void test_profile(void **state)
{
    (void)state;
    fixture profiled, plain;
    liana__profile profile;
    profile_run(&profiled, NULL, &profile);
    check_counts(&profile);
    check_times(&profile);
    assert_null(profiled.run.core.device->recorder);
    open_run(&plain, NULL);
    train_plainly(&plain, WARMUP + STEPS);
    liana__error error = {0};
    assert_compare(plain.run.core.variables.count, >, 10);
    assert_int_equal(plain.run.core.variables.count, profiled.run.core.variables.count);
    for (size_t i = 0; i < plain.run.core.variables.count; i++) {
        const liana__buffer *a = plain.run.core.variables.items[i].buffer,
                            *b = profiled.run.core.variables.items[i].buffer;
        assert_int_equal(a->size, b->size);
        char *x = malloc(a->size), *y = malloc(a->size);
        assert_ok(plain.run.core.device->backend->download(a, x, &error), &error);
        assert_ok(profiled.run.core.device->backend->download(b, y, &error), &error);
        assert_memory_equal(x, y, a->size);
        free(x);
        free(y);
    }
    close_run(&plain);
    liana__profile_free(&profile);
    close_run(&profiled);
}

/* ---- the machine ---- */

static void test_roofline(void **state)
{
    (void)state;
    liana__error error = {0};
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = THREADS}, &context), LIANA_OK);
    liana__roofline roofline;
    assert_ok(liana__roofline_measure(context, &roofline, &error), &error);
    assert_int_equal(roofline.num_workers, THREADS);
    /* How fast it is, nobody knows: rates are numbers, and dot products of bf16 can be had in f32. */
    assert_compare(roofline.flops, >, 0);
    assert_true(isfinite(roofline.flops));
    assert_true(isfinite(roofline.bf16_flops));
    assert_compare(roofline.bf16_flops, >=, roofline.flops);
    if (context->isa < LIANA__ISA_AVX512_BF16) assert_compare(roofline.bf16_flops, ==, roofline.flops);
    assert_compare(roofline.undisturbed, >=, 0);
    assert_compare(roofline.undisturbed, <=, 1);
    for (int i = 0; i < LIANA__ROOFLINE_SIZES; i++) {
        assert_compare(roofline.memory[i].rate, >, 0, i);
        assert_true(isfinite(roofline.memory[i].rate));
        if (i) assert_compare(roofline.memory[i].rate, <=, roofline.memory[i - 1].rate, i);
        if (i) assert_compare(roofline.memory[i].size, >=, roofline.memory[i - 1].size, i);
    }
    liana_context_destroy(context);
    /* One of two workers has half of the machine; bytes count at the rate of the least size that holds them. */
    liana__roofline made = {.num_workers = 2, .flops = 4e9, .bf16_flops = 8e9};
    for (int i = 0; i < LIANA__ROOFLINE_SIZES; i++) made.memory[i] = (liana__bandwidth){100u << i, 1e9 / (1 << i)};
    assert_near(liana__roofline_compute_seconds(&made, 2e9, false), 1, 1e-12);
    assert_near(liana__roofline_compute_seconds(&made, 2e9, true), 0.5, 1e-12);
    assert_near(liana__roofline_memory_seconds(&made, 100), 100 * 2 / 1e9, 1e-18);
    assert_near(liana__roofline_memory_seconds(&made, 101), 101 * 2 / 0.5e9, 1e-18);
    assert_near(liana__roofline_memory_seconds(&made, 1e6), 1e6 * 2 / (1e9 / 32), 1e-12);
}

/* In mixed precision the same convolutions move fewer bytes and are held against the units for bf16; ops computed in
 * f32 are not. */
static void test_bf16_is_held_against_its_own_roof(void **state)
{
    (void)state;
    fixture single, mixed;
    liana__profile f32, bf16;
    profile_run(&single, NULL, &f32);
    profile_run(&mixed, "train.precision=mixed_bfloat16", &bf16);
    bool any = false;
    for (size_t i = 0; i < bf16.by_node.count; i++) {
        const liana__profile_row *row = &bf16.by_node.items[i];
        bool half = strcmp(row->node->op->name, "conv2d") == 0 && row->node->inputs[0]->dtype == LIANA_BF16;
        double peak = half ? bf16.roofline.bf16_flops : bf16.roofline.flops;
        if (strcmp(row->cost.family, "matrix products") == 0) continue;
        if (strcmp(row->cost.family, "convolutions") == 0 && !half) continue; /* gradients: as conv2d */
        assert_near(row->compute_seconds, row->flops * bf16.num_workers / peak, 1e-6 * row->compute_seconds);
        any = any || half;
    }
    assert_true(any);
    const liana__profile_row *wide = row_of(&f32, "conv2d"), *narrow = row_of(&bf16, "conv2d");
    assert_compare(narrow->flops, ==, wide->flops);
    assert_compare(narrow->bytes, <, 0.75 * wide->bytes);
    liana__profile_free(&f32);
    close_run(&single);
    liana__profile_free(&bf16);
    close_run(&mixed);
}

/* ---- messages ---- */

/* Rows made by hand: two passes of a convolution are one family, and the shares are of two workers' 10 seconds. */
static void test_verdict(void **state)
{
    (void)state;
    liana__op op = {.name = "op"};
    liana__node node = {.op = &op};
    liana__cost conv = {.family = "convolutions", .variant = "1x1"}, other = {.family = "element-wise ops"};
    liana__profile_row rows[] = {
        {&node, NULL, conv, 1, .seconds = 4, .roofline_seconds = 2, .compute_seconds = 2, .memory_seconds = 1},
        {&node, NULL, other, 1, .seconds = 3, .roofline_seconds = 2.4, .compute_seconds = 1, .memory_seconds = 2.4},
        {&node, NULL, conv, 1, .seconds = 4, .roofline_seconds = 1, .compute_seconds = 1, .memory_seconds = 0.5},
    };
    liana__profile profile = {.num_workers = 2,
                              .steps = 2,
                              .seconds = 10,
                              .wait = 1,
                              .busy = 13,
                              .reduction = 2,
                              .reading = 2,
                              .num_cores = 2,
                              .cpu = 7.5,
                              .by_op = {rows, 3}};
    liana__text text = {0};
    liana__profile_verdict(&profile, &text);
    assert_string_equal(text.data,
                        "40% in 1x1 convolutions (compute-bound) at 38% of the roofline; 15% in element-wise "
                        "ops (memory-bound) at 80% of the roofline; 10% adding gradients; 25% workers "
                        "idle; input wait 10%");
    liana__text_free(&text);
    assert_near(liana__profile_undisturbed(&profile), 0.5, 1e-12);
    profile.reading = 20; /* threads that wait for a core of the two */
    profile.cpu = 18;
    assert_near(liana__profile_undisturbed(&profile), 0.9, 1e-12);
    profile.cpu = 20.1;
    assert_near(liana__profile_undisturbed(&profile), 1, 1e-12);
}

/* ---- the command ---- */

static json_t *find_event(const char *lines, const char *event, const char *op)
{
    for (const char *line = lines; *line; line = strchr(line, '\n') + 1) {
        json_error_t problem;
        json_t *json = json_loadb(line, (size_t)(strchr(line, '\n') - line), 0, &problem);
        assert_non_null(json);
        const char *found_op = json_string_value(json_object_get(json, "op"));
        bool found = strcmp(json_string_value(json_object_get(json, "event")), event) == 0;
        if (found && (!op || (found_op && strcmp(found_op, op) == 0))) return json;
        json_decref(json);
    }
    fail_msg("no event %s %s in %s", event, op ? op : "", lines);
    return NULL;
}

static double number(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void test_command_prints(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200);
    liana__test_result got = liana__test_command("profile", config, "--steps", "2", "--nodes", "train.threads=2");
    static const char *const expected[] = {
        "machine: 2 workers",
        "GFLOP/s (f32",
        "2 steps of 32 examples:",
        "examples/s",
        "op (times: all workers together)",
        "conv2d_kernel_gradient 3x3",
        "batch_norm_training",
        "- adding gradients",
        "- without work",
        "kernel, place", /* nodes; which have a line depends on their times */
        "% of the roofline; ",
        "input wait ",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (!strstr(got.out, expected[i])) fail_msg("'%s' is missing in:\n%s", expected[i], got.out);
    }
    assert_code(got, 0);
    assert_false(liana__folder_exists(liana__test_path("run")));
}

static void test_command_json(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200);
    liana__test_result got =
        liana__test_command("profile", config, "--steps=3", "--json", "--nodes", "train.threads=2");
    json_t *whole = find_event(got.out, "profile", NULL);
    assert_int_equal(number(whole, "steps"), 3);
    assert_int_equal(number(whole, "examples"), 96);
    assert_int_equal(number(whole, "workers"), 2);
    assert_compare(number(whole, "busy"), >=, 0);
    assert_compare(number(whole, "busy"), <=, 1.0001);
    assert_compare(number(whole, "undisturbed"), >=, 0);
    assert_compare(number(whole, "undisturbed"), <=, 1);
    assert_compare(number(whole, "peak_undisturbed"), >=, 0);
    assert_compare(number(whole, "peak_undisturbed"), <=, 1);
    assert_compare(number(whole, "step_seconds"), >=, 0);
    assert_compare(number(whole, "peak_flops"), >, 0);
    assert_int_equal(json_array_size(json_object_get(whole, "bandwidths")), LIANA__ROOFLINE_SIZES);
    json_t *conv = find_event(got.out, "op", "conv2d 3x3");
    assert_int_equal(number(conv, "calls"), 4);
    assert_compare(number(conv, "flops"), ==, 2.0 * 800 * 9 * BATCH);
    assert_string_equal(json_string_value(json_object_get(conv, "kernel")), "onednn");
    /* f32 comparison of s32 labels: no vector form, and the table says why. */
    json_t *equal = find_event(got.out, "op", "equal"), *node = find_event(got.out, "node", "conv2d 3x3");
    assert_string_equal(json_string_value(json_object_get(equal, "kernel")), "reference");
    assert_says(json_string_value(json_object_get(equal, "declined")), "avx2: ");
    assert_string_equal(json_string_value(json_object_get(node, "variable")), "conv2d/kernel");
    json_decref(whole);
    json_decref(conv);
    json_decref(equal);
    json_decref(node);
    assert_code(got, 0);
}

static void test_command_refuses(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200);
    assert_refused(liana__test_command("profile", config, "--steps", "0"), 2, "--steps", "1");
    assert_refused(liana__test_command("profile", config, "data.train=null"), 2, "data.train");
    assert_refused(liana__test_command("profile", config, "train.device=reference", "--steps", "1", "--warmup", "1"), 1,
                   "the device 'reference' does not report", "train.device=cpu");
    assert_refused(liana__test_command("profile", config, "--steps", "1", "--trace",
                                       liana__test_path("no/such/t.json")),
                   1, "no/such/t.json");
}

/* ---- the trace ---- */

/* Begin and end of events of a track must nest, or a viewer draws nonsense. */
static void check_nesting(const json_t *events, int track)
{
    enum { MOST = 64 };
    double ends[MOST];
    size_t index, depth = 0, seen = 0;
    double previous = -1e300;
    json_t *event;
    json_t *sorted = json_array();
    json_array_foreach(events, index, event)
    {
        bool own = strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0 && number(event, "tid") == track;
        if (!own) continue;
        size_t at = json_array_size(sorted);
        /* Outer before inner where both begin together. */
        while (at > 0 && (number(json_array_get(sorted, at - 1), "ts") > number(event, "ts") ||
                          (number(json_array_get(sorted, at - 1), "ts") == number(event, "ts") &&
                           number(json_array_get(sorted, at - 1), "dur") < number(event, "dur")))) {
            at--;
        }
        json_array_insert(sorted, at, event);
    }
    json_array_foreach(sorted, index, event)
    {
        double begin = number(event, "ts"), end = begin + number(event, "dur");
        assert_compare(begin, >=, previous);
        assert_compare(end, >=, begin);
        previous = begin;
        while (depth > 0 && ends[depth - 1] <= begin + 1e-3) depth--;
        if (depth > 0) assert_compare(end, <=, ends[depth - 1] + 1e-3);
        assert_compare(depth, <, MOST);
        ends[depth++] = end;
        seen++;
    }
    assert_compare(seen, >, 0);
    json_decref(sorted);
}

static void test_trace(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200), *path = liana__test_path("trace.json");
    assert_code(liana__test_command("profile", config, "--steps", "3", "--trace", path, "train.threads=2",
                                    "data.threads=3"),
                0);
    json_error_t problem;
    json_t *trace = json_load_file(path, 0, &problem);
    if (!trace) fail_msg("%s: %s", path, problem.text);
    const json_t *events = json_object_get(trace, "traceEvents");
    size_t index;
    json_t *event;
    int names[6] = {0}, steps = 0, shards = 0, updates = 0, convolutions = 0;
    json_array_foreach(events, index, event)
    {
        const char *kind = json_string_value(json_object_get(event, "ph"));
        const char *name = json_string_value(json_object_get(event, "name"));
        assert_true(name);
        assert_compare(number(event, "pid"), ==, 1);
        if (strcmp(name, "thread_name") == 0) names[(int)number(event, "tid")]++;
        if (strcmp(kind, "X") != 0) continue;
        steps += strcmp(name, "step") == 0;
        shards += strcmp(name, "shard") == 0;
        updates += strcmp(name, "update") == 0;
        convolutions += strcmp(name, "conv2d 3x3") == 0;
    }
    for (int i = 0; i < 6; i++) assert_int_equal(names[i], 1); /* 2 workers, the steps, 3 reading threads */
    assert_int_equal(steps, 3);
    assert_int_equal(updates, 3);
    assert_int_equal(shards, 3 * SHARDS);
    assert_int_equal(convolutions, 3 * SHARDS);
    check_nesting(events, 0);
    check_nesting(events, 2);
    json_decref(trace);
}

/* ---- packing ---- */

static void check_packed_trace(const liana__profile *profile)
{
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("packed.json");
    assert_ok(liana__profile_write_trace(profile, path, &error), &error);
    json_error_t problem;
    json_t *trace = json_load_file(path, 0, &problem);
    if (!trace) fail_msg("%s: %s", path, problem.text);
    int packed = 0, run = 0;
    size_t index;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), index, event)
    {
        const json_t *args = json_object_get(event, "args");
        const char *name = json_string_value(json_object_get(event, "name"));
        bool packs = strcmp(name, "pack for conv2d 3x3") == 0, runs = strcmp(name, "conv2d 3x3") == 0;
        if (packs || runs) assert_compare(number(args, "flops"), ==, packs ? 0 : 2.0 * 64 * 9 * 4 * 5);
        packed += packs;
        run += runs;
    }
    assert_compare(packed, ==, 2);
    assert_compare(run, ==, 6);
    json_decref(trace);
}

static void expect_printed(const liana__profile *profile, const char *text, bool expected)
{
    liana__text printed = {0};
    liana__profile_print(profile, true, &printed);
    assert_false(printed.failed);
    if ((strstr(printed.data, text) != NULL) != expected) {
        fail_msg("'%s' %s in:\n%s", text, expected ? "is missing" : "is", printed.data);
    }
    liana__text_free(&printed);
}

/* A machine that is measured as slower than its kernels are: shares above 100% are said to be too large. */
static void check_shares_above_all(liana__profile *profile)
{
    static const char *const whys[] = {"above 100% of the roofline: the kernel does less work than is counted, or the",
                                       "other programs ran while the machine was measured"};
    profile->roofline.undisturbed = 1;
    expect_printed(profile, "f32[1, 8, 8, 5]", true);
    expect_printed(profile, "conv2d/kernel", true);
    expect_printed(profile, "      0%  compute  made", true);
    for (int i = 0; i < 2; i++) expect_printed(profile, whys[i], false);
    for (int i = 0; i < 2; i++) {
        liana__profile_row *row = i ? profile->by_op.items : profile->by_node.items;
        row->roofline_seconds = row->compute_seconds = 2.5 * row->seconds;
    }
    expect_printed(profile, "    250%  compute  made", true);
    expect_printed(profile, whys[0], true);
    expect_printed(profile, whys[1], false);
    profile->roofline.undisturbed = 0.4;
    expect_printed(profile, whys[1], true);
    expect_printed(profile, "for only 40% of the time", true);
}

/* Made by hand: two executions of a convolution that runs in three slices and packs its weights before the first.
 * Packing takes time, of the node's, and is no work and no call. */
static void test_packing_is_time_of_its_node(void **state)
{
    (void)state;
    liana__error error = {0};
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(1, 8, 8, 4));
    liana_tensor kernel = liana_graph_variable(graph, "conv2d/kernel", LIANA_F32, liana_shape_of(3, 3, 4, 5));
    const liana__node *node =
        liana__tensor_node(liana_op_conv2d(x, kernel, (liana_conv_options){.padding = LIANA_PADDING_SAME}));
    const liana__kernel made = {.name = "made"};
    liana__profile_event events[8] = {0};
    for (uint64_t i = 0; i < 8; i++) {
        events[i].event = (liana__event){.kind = i % 4 ? LIANA__EVENT_NODE : LIANA__EVENT_PACK,
                                         .begin = i * 1000000000,
                                         .end = i * 1000000000 + (i % 4 ? 500000000 : 250000000),
                                         .subject = node,
                                         .how = &made};
    }
    liana__profile profile = {.context = context,
                              .num_workers = 1,
                              .num_events = 8,
                              .events = events,
                              .steps = 2,
                              .examples = 2,
                              .seconds = 8};
    profile.roofline = (liana__roofline){.num_workers = 1, .flops = 1e9, .bf16_flops = 1e9};
    for (int i = 0; i < LIANA__ROOFLINE_SIZES; i++) profile.roofline.memory[i] = (liana__bandwidth){1u << i, 1e9};
    assert_ok(liana__profile_add_up(&profile, &error), &error);
    assert_near(profile.nodes, 3.5, 1e-9);
    const liana__profile_row *rows[] = {profile.by_node.items, profile.by_op.items};
    assert_compare(profile.by_node.count, ==, 1);
    assert_compare(profile.by_op.count, ==, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i]->calls, 6);
        assert_ptr_equal(rows[i]->kernel, &made);
        assert_near(rows[i]->seconds, 3.5, 1e-9, i);
        assert_compare(rows[i]->flops, ==, 6.0 * 2 * 64 * 9 * 4 * 5, i);
        assert_compare(rows[i]->bytes, ==, 6.0 * 4 * (64 * 4 + 9 * 4 * 5 + 64 * 5), i);
        assert_near(rows[i]->compute_seconds, rows[i]->flops / 1e9, 1e-15, i);
    }
    check_packed_trace(&profile);
    check_shares_above_all(&profile);
    free(profile.by_node.items);
    free(profile.by_op.items);
    liana_graph_destroy(graph);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_verdict),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_bf16_is_held_against_its_own_roof),
        cmocka_unit_test(test_command_prints),
        cmocka_unit_test(test_command_json),
        cmocka_unit_test(test_command_refuses),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_packing_is_time_of_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
