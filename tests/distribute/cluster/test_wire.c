/* Gradients that travel in bfloat16: the rounded values, the facts that do not change them, and how many bytes are
 * saved. */
#include "harness/cluster/cluster_fit.h"
#include "harness/tiny_fit.h"

#include "distribute/cluster/slice_chunks.h"
#include "distribute/transport/frame.h"
#include "distribute/tree.h"
#include "ir/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 6, BATCH = 32, MICROBATCH = 4, MAX_PROCESSES = 8 };

/* ---- a second formula ---- */

/* The nearest number of eight significant bits, in double: ties go to the even one. */
static double round_to_bfloat16(double value)
{
    int exponent;
    frexp(value, &exponent);
    if (exponent < -125) exponent = -125; /* denormal numbers have a fixed step */
    return ldexp(nearbyint(ldexp(value, 8 - exponent)), exponent - 8);
}

static bool all_but_second(void *user, size_t sum)
{
    (void)user;
    return sum != 1;
}

/* The floats of all parts, one behind the other. */
static void read_message(const liana__wire_format *format, const liana__slice_map *map, const char *message, float *got)
{
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        const size_t count = (size_t)(part->end - part->begin);
        float room[10];
        memcpy(got, liana__wire_read_part(format, part, &message, room), count * sizeof *got);
        got += count;
    }
}

static void test_slices_as_messages(void **state)
{
    (void)state;
    static const size_t offsets[] = {0, 2, 5, 12};
    float block[12] = {0,      0,      1.0039062f, -1.01171875f, 1e-3f, 3.14159265f,
                       -1e30f, 1e-40f, 65504,      INFINITY,     -0.0f, 1e10f};
    liana__slice_part parts[] = {{1, 0, 3}, {2, 0, 7}};
    const liana__slice_map map = {.parts = {[LIANA__PARTS_OF_SUMS] = parts}, .counts = {[LIANA__PARTS_OF_SUMS] = 2}};
    const liana__wire_format whole = {0}, rounded = {LIANA__WIRE_BFLOAT16, all_but_second, NULL};
    _Alignas(8) char message[64];
    float got[10];
    assert_int_equal(liana__wire_size(&whole, &map), 40);
    assert_int_equal(liana__wire_size(&rounded, &map), 3 * 4 + 7 * 2);
    liana__wire_pack(&whole, &map, offsets, block, message);
    read_message(&whole, &map, message, got);
    assert_memory_equal(got, block + 2, sizeof got);
    liana__wire_pack(&rounded, &map, offsets, block, message);
    read_message(&rounded, &map, message, got);
    assert_memory_equal(got, block + 2, 3 * sizeof *got);
    for (size_t i = 3; i < 10; i++) {
        const double value = block[2 + i], expected = isinf(value) ? value : round_to_bfloat16(value);
        assert_compare((double)got[i], ==, expected, i);
        assert_compare(!signbit(got[i]), ==, !signbit(value), i);
    }
    block[5] = NAN;
    liana__wire_pack(&rounded, &map, offsets, block, message);
    read_message(&rounded, &map, message, got);
    assert_true(isnan(got[3]));
}

/* Chunks have every element once, in order; each is one frame, and all but the last are large enough for a message. */
static void check_chunks(const liana__wire_format *format, const liana__slice_map *map)
{
    enum { NUM_SUMS = 8 };
    liana__slice_chunks chunks;
    liana__error error = {0};
    size_t part = 0, at = 0, size = 0, uses[NUM_SUMS] = {0};
    assert_ok(liana__slice_chunks_make(format, map, 1, NUM_SUMS, &chunks, &error), &error);
    const liana__slice_part *parts = map->parts[LIANA__PARTS_OF_SUMS];
    for (size_t i = 0; i < chunks.count; i++) {
        const liana__slice_chunk *chunk = &chunks.items[i];
        size_t elements = 0, bytes = 0;
        assert_int_equal(chunk->number, i);
        for (size_t k = 0; k < chunk->count; k++) {
            const liana__chunk_part *piece = &liana__chunk_parts(&chunks, chunk)[k];
            for (; parts[part].begin + at == parts[part].end; at = 0) part++;
            assert_int_equal(piece->part, part);
            assert_int_equal(piece->skipped, at);
            assert_int_equal(piece->range.thing, parts[part].thing);
            assert_int_equal(piece->range.begin, parts[part].begin + at);
            assert_int_equal(piece->offset, elements);
            at += (size_t)(piece->range.end - piece->range.begin);
            elements += (size_t)(piece->range.end - piece->range.begin);
            bytes += liana__wire_part_size(format, &piece->range);
            uses[piece->range.thing]++;
        }
        assert_int_equal(chunk->elements, elements);
        assert_int_equal(chunk->size, bytes);
        assert_compare(bytes, <=, LIANA__FRAME_PIECE);
        if (i + 1 != chunks.count) assert_compare(bytes, >=, LIANA__LEAST_CHUNK, i);
        size += bytes;
    }
    assert_int_equal(size, liana__wire_size(format, map));
    for (size_t i = 0; i < NUM_SUMS; i++) assert_compare(chunks.first_use[i + 1] - chunks.first_use[i], ==, uses[i], i);
    liana__slice_chunks_free(&chunks);
}

static void test_chunks_are_frames(void **state)
{
    (void)state;
    enum { FRAME = LIANA__FRAME_PIECE / sizeof(float) };
    liana__slice_part parts[] = {{0, 0, 1},         {1, 5, 300000}, {2, 0, 7},  {3, 9, 9},
                                 {4, 0, 9 * FRAME}, {5, 0, FRAME},  {6, 0, 12}, {7, 3, 100 * 1000 + 4}};
    const liana__slice_map map = {.parts = {[LIANA__PARTS_OF_SUMS] = parts}, .counts = {[LIANA__PARTS_OF_SUMS] = 8}};
    check_chunks(&(liana__wire_format){0}, &map);
    check_chunks(&(liana__wire_format){LIANA__WIRE_BFLOAT16, all_but_second, NULL}, &map);
}

static void test_any_float(void **state)
{
    (void)state;
    uint32_t bits = 12345;
    for (int i = 0; i < 200000; i++) {
        bits = bits * 1664525 + 1013904223;
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || fabs((double)value) > 3e38) continue;
        const float got = liana__bf16_to_float(liana__float_to_bf16(value));
        assert_compare((double)got, ==, round_to_bfloat16(value));
    }
}

/* ---- a step whose sums are exact in float32 ---- */

static float x[BATCH * FEATURES], y[BATCH];

static void build_shard(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor in = liana_shard_input(shard, "x"), target = liana_shard_input(shard, "y");
    liana_tensor weight = liana_graph_variable(shard->graph, "weight", LIANA_F32, liana_shape_of(FEATURES, 1));
    liana_tensor error = liana_op_subtract(liana_op_matmul(in, weight, false, false), target);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_op_square(error));
    liana_shard_gradients(shard, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "SGD", .rate = liana_update_scalar(update, "rate")});
}

/* One step from zero, with rate 1: the weights are minus the mean gradient. */
static liana_status run_step(liana_context *context, const liana__cluster_program *program,
                             liana__cluster_result *result)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {FEATURES}}},
                                                 {.name = "y", .dtype = LIANA_F32, .shape = {1, {1}}}};
    liana_step *step = NULL;
    const liana_step_options options = {.shard = build_shard,
                                        .update = build_update,
                                        .components = components,
                                        .num_components = 2,
                                        .scalars = {"rate"},
                                        .batch_size = BATCH,
                                        .microbatch = MICROBATCH,
                                        .strategy = program->strategy};
    const float zeros[FEATURES] = {0};
    liana_step_results results;
    liana_status status = liana_step_create(context, &options, &step);
    liana_variables *variables = liana_step_variables(step);
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", zeros, sizeof zeros);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    if (status == LIANA_OK) {
        status = liana_step_run(step,
                                &(liana_step_input){.arrays = {{"x", LIANA_F32, liana_shape_of(BATCH, FEATURES), x},
                                                               {"y", LIANA_F32, liana_shape_of(BATCH, 1), y}},
                                                    .scalars = {{"rate", 1}}},
                                &results);
    }
    result->size = FEATURES * sizeof(float);
    result->weights = calloc(1, result->size);
    if (status == LIANA_OK) status = liana_variables_read(variables, "weight", result->weights, result->size);
    liana_step_destroy(step);
    return status;
}

/* The sum of a feature's gradient over some shards, from weights of zero; it is exact. */
static double sum_leaves(size_t feature, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin * MICROBATCH; i < end * MICROBATCH; i++) {
        sum += -2.0 * (double)x[i * FEATURES + feature] * (double)y[i];
    }
    assert_compare((double)(float)sum, ==, sum);
    return sum;
}

static liana_strategy strategy_of(size_t num_servers, bool rounds)
{
    if (!rounds) return (liana_strategy){.name = num_servers ? "parameter_server" : "multi_worker"};
    return (liana_strategy){.name = num_servers ? "{name: parameter_server, wire: bfloat16}"
                                                : "{name: multi_worker, wire: bfloat16}"};
}

static void assert_step(size_t num_workers, size_t num_servers)
{
    enum { NUM_LEAVES = BATCH / MICROBATCH };
    liana__leaf_range ranges[MAX_PROCESSES];
    liana__cluster_result results[MAX_PROCESSES];
    const liana__cluster_program program = {.run = run_step, .strategy = strategy_of(num_servers, true)};
    liana__run_cluster(&program, num_workers, num_servers, results);
    assert_int_equal(liana__tree_assign(NUM_LEAVES, num_workers, NULL, 0.05, ranges, NULL), LIANA_OK);
    bool differs = false;
    for (size_t feature = 0; feature < FEATURES; feature++) {
        double sum = 0;
        for (size_t worker = 0; worker < num_workers; worker++) {
            liana__tree_block blocks[LIANA__TREE_MAX_BLOCKS];
            const size_t count = liana__tree_blocks(NUM_LEAVES, ranges[worker], blocks);
            for (size_t i = 0; i < count; i++) {
                const liana__leaf_range leaves = liana__tree_leaves(NUM_LEAVES, blocks[i]);
                sum += round_to_bfloat16(sum_leaves(feature, leaves.begin, leaves.end));
            }
        }
        differs |= sum != sum_leaves(feature, 0, NUM_LEAVES);
        for (size_t i = 0; i < num_workers + num_servers; i++) {
            assert_compare((double)((float *)(void *)results[i].weights)[feature], ==, -sum / BATCH, feature, i);
        }
    }
    assert_true(differs);
    liana__free_results(results, num_workers + num_servers);
}

static void test_each_block_is_rounded_once(void **state)
{
    (void)state;
    for (int i = 0; i < BATCH * FEATURES; i++) x[i] = (float)((i * 37) % 101 - 50) / 8;
    for (int i = 0; i < BATCH; i++) y[i] = (float)((i * 13) % 17 - 5) / 8;
    assert_step(1, 0);
    assert_step(2, 0);
    assert_step(3, 0);
    assert_step(2, 1);
    assert_step(3, 2);
}

/* ---- fits ---- */

static liana__cluster_program fit_of(size_t num_servers, bool rounds)
{
    return (liana__cluster_program){.run = liana__cluster_fit_rows, .strategy = strategy_of(num_servers, rounds)};
}

/* The owners of the slices do not matter, and the number of workers does. */
static void test_results_depend_on_the_workers_alone(void **state)
{
    (void)state;
    for (size_t workers = 2; workers < 4; workers++) {
        liana__cluster_result whole[MAX_PROCESSES], first[MAX_PROCESSES];
        const liana__cluster_program exact = fit_of(0, false), rounded = fit_of(0, true);
        liana__run_cluster(&exact, workers, 0, whole);
        liana__run_cluster(&rounded, workers, 0, first);
        assert_memory_not_equal(whole[0].weights, first[0].weights, whole[0].size);
        assert_near(whole[0].loss, first[0].loss, 0.02 * whole[0].loss);
        for (size_t servers = 1; servers < 4; servers++) {
            liana__cluster_result others[MAX_PROCESSES];
            const liana__cluster_program served = fit_of(servers, true);
            liana__run_cluster(&served, workers, servers, others);
            for (size_t i = 0; i < workers + servers; i++) {
                assert_memory_equal(first[0].weights, others[i].weights, first[0].size);
                assert_compare(first[0].loss, ==, others[i].loss, i);
            }
            liana__free_results(others, workers + servers);
        }
        liana__free_results(whole, workers);
        liana__free_results(first, workers);
    }
}

/* The statistics of the first update are of the first weights: they are not rounded. */
static void test_batch_statistics_stay_float32(void **state)
{
    (void)state;
    liana__cluster_result whole[2], rounded[2];
    liana__cluster_program program = fit_of(0, false);
    program.steps = 1;
    liana__run_cluster(&program, 2, 0, whole);
    program.strategy = strategy_of(0, true);
    liana__run_cluster(&program, 2, 0, rounded);
    assert_compare(whole[0].averages_size, >, 0);
    assert_int_equal(whole[0].averages_size, rounded[0].averages_size);
    assert_memory_equal(whole[0].averages, rounded[0].averages, whole[0].averages_size);
    assert_memory_not_equal(whole[0].weights, rounded[0].weights, whole[0].size);
    liana__free_results(whole, 2);
    liana__free_results(rounded, 2);
}

static uint64_t bytes_of_an_update(bool rounds)
{
    uint64_t sent[2];
    liana__cluster_program program = fit_of(0, rounds);
    program.is_wide = program.has_no_mirrors = true;
    for (int i = 0; i < 2; i++) {
        liana__cluster_result results[2];
        program.steps = 1 + i;
        liana__run_cluster(&program, 2, 0, results);
        sent[i] = results[0].counters.transport.bytes_sent;
        liana__free_results(results, 2);
    }
    return sent[1] - sent[0];
}

/* Half of the gradients, and all of the weights: three quarters, without what mirrors need. */
static void test_counters_show_the_bytes(void **state)
{
    (void)state;
    const double whole = (double)bytes_of_an_update(false);
    const double rounded = (double)bytes_of_an_update(true);
    assert_compare(rounded, >, 0.73 * whole);
    assert_compare(rounded, <, 0.77 * whole);
}

/* ---- messages, and refusals ---- */

static void test_a_resume_says_what_changed(void **state)
{
    (void)state;
    char folder[512];
    liana__test_folder();
    snprintf(folder, sizeof folder, "%s", liana__test_path("wire"));
    liana__cluster_result results[MAX_PROCESSES];
    liana__cluster_program program = fit_of(0, true);
    program.checkpoints = folder;
    program.epochs = 1;
    liana__run_cluster(&program, 2, 0, results);
    assert_says(results[0].notes, "gradients are exchanged with bfloat16 wire, 2 workers");
    liana__free_results(results, 2);
    program.resume = true;
    program.epochs = 2;
    liana__run_cluster(&program, 2, 0, results);
    assert_never_says(results[0].notes, "rounds differently");
    liana__free_results(results, 2);
    program.epochs = 3;
    liana__run_cluster(&program, 3, 0, results);
    assert_says(results[0].notes, "bfloat16 wire, 2 workers; resuming with bfloat16 wire, 3 workers");
    liana__free_results(results, 3);
    program.epochs = 4;
    program.strategy = strategy_of(0, false);
    liana__run_cluster(&program, 2, 0, results);
    assert_says(results[0].notes, "resuming with the bits of one process");
    liana__free_results(results, 2);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    liana__cluster_result results[2];
    static const char *const refused[][2] = {
        {"{name: multi_worker, wire: float16}", "float16"},
        {"{name: multi_worker, wires: bfloat16}", "wire"},
        {"{name: one_device, wire: bfloat16}", "wire"},
        {"{name: [multi_worker", "strategy"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        liana__cluster_program program = fit_of(0, true);
        program.may_fail = true;
        program.strategy.name = refused[i][0];
        liana__run_cluster(&program, 2, 0, results);
        assert_int_equal(results[0].status, LIANA_INVALID_CONFIG);
        assert_says(results[0].message, refused[i][1]);
        liana__free_results(results, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_as_messages),
        cmocka_unit_test(test_chunks_are_frames),
        cmocka_unit_test(test_any_float),
        cmocka_unit_test(test_each_block_is_rounded_once),
        cmocka_unit_test(test_results_depend_on_the_workers_alone),
        cmocka_unit_test(test_batch_statistics_stay_float32),
        cmocka_unit_test(test_counters_show_the_bytes),
        cmocka_unit_test(test_a_resume_says_what_changed),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
