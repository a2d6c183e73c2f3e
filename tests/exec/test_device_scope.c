/* Parts of a graph on several devices of this process: the bits of one device, the places of nodes, parts that run at
 * the same time, and refusals. */
#include "harness/harness.h"
#include "harness/one_context.h"

#include "base/context.h"
#include "exec/split.h"
#include "harness/pjrt_plugin.h"
#include "harness/towers.h"
#include "ir/device_scope.h"
#include "program/program.h"

#include <liana/liana.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the same bits ---- */

static void test_towers_give_the_bits_of_one_device(void **state)
{
    (void)state;
    const liana__test_places alone = {.own = "cpu"};
    liana__test_towers_compare(context, &alone, &(liana__test_places){.own = "cpu", .towers = {"cpu:1", "/cpu:2"}});
    liana__test_towers_compare(context, &alone,
                               &(liana__test_places){.own = "cpu",
                                                     .towers = {"cpu:1", "/job:localhost/task:0/device:CPU:2"},
                                                     .servers = {"cpu:3", "cpu:4"}});
    liana__test_towers_compare(context, &alone,
                               &(liana__test_places){.own = "cpu",
                                                     .towers = {"/cpu:0", "cpu:1"},
                                                     .servers = {"cpu:0", "cpu:1"},
                                                     .balance = LIANA_BY_BYTES});
    /* The whole of both towers elsewhere; the variables stay. */
    liana__test_towers_compare(context, &alone, &(liana__test_places){.own = "cpu", .towers = {"cpu:1", "cpu:1"}});
}

/* The reference device gives new buffers for all results, and fills donated ones with NaN. */
static void test_towers_on_reference_devices(void **state)
{
    (void)state;
    liana__test_towers_compare(context, &(liana__test_places){.own = "reference"},
                               &(liana__test_places){.own = "reference",
                                                     .towers = {"reference:1", "reference:2"},
                                                     .servers = {"reference:1", "reference:3"}});
}

/* Other devices round differently. */
static void test_towers_on_devices_of_different_kinds(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    char names[4][512];
    for (int i = 0; i < 4; i++) {
        char behind[64];
        snprintf(behind, sizeof behind, ":%d?cpu_device_count=8", 2 * i + 1);
        snprintf(names[i], sizeof names[i], "%s", liana__test_plugin_device(behind));
    }
    const liana__test_places places[] = {
        {.own = "cpu"},
        {.own = names[0], .towers = {names[1], names[2]}, .servers = {names[3], "cpu"}},
        {.own = "cpu", .towers = {names[0], "reference"}, .servers = {names[1], "cpu:1"}}};
    float losses[3][LIANA__TEST_TOWER_STEPS];
    for (int i = 0; i < 3; i++) {
        liana__test_towers towers;
        liana__test_towers_begin(context, &places[i], &towers);
        for (int step = 0; step < LIANA__TEST_TOWER_STEPS; step++) {
            assert_ok(liana__test_towers_learn(&towers, step, &losses[i][step]), &context->error);
            assert_near(losses[i][step], losses[0][step], 1e-5f * losses[0][step], i, step);
        }
        liana__test_towers_end(&towers);
    }
    liana__test_plugin_is_clean();
}

/* ---- against a formula ---- */

/* A chain over three devices and back, with values that are fetched on the way, assigned from other devices, fetched
 * and assigned at once, and assigned twice; computed in double here. */
static void test_values_go_from_device_to_device(void **state)
{
    (void)state;
    liana_device *device;
    liana_graph *g;
    liana_program *program;
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    assert_ok(liana_graph_create(context, &g), &context->error);
    const liana_shape shape = liana_shape_of(3);
    liana_tensor x = liana_graph_input(g, "x", LIANA_F32, shape);
    liana_device_scope_begin(g, "cpu:1");
    liana_tensor u = liana_graph_variable(g, "u", LIANA_F32, shape), v = liana_graph_variable(g, "v", LIANA_F32, shape);
    liana_tensor a = liana_op_multiply(x, u);
    liana_device_scope_begin(g, "cpu:2");
    liana_tensor w = liana_graph_variable(g, "w", LIANA_F32, shape);
    liana_tensor b = liana_op_add(a, w), three = liana_graph_scalar(g, LIANA_F32, 3);
    liana_device_scope_begin(g, NULL);
    liana_tensor c = liana_op_multiply(b, three), own = liana_graph_variable(g, "own", LIANA_F32, shape);
    liana_device_scope_end(g);
    liana_device_scope_end(g);
    liana_tensor d = liana_op_subtract(c, a);
    liana_device_scope_end(g);
    assert_string_equal(liana_tensor_info(d).device, "cpu:1");
    assert_string_equal(liana_tensor_info(w).device, "cpu:2");
    assert_null(liana_tensor_info(c).device);
    liana_graph_assign(u, d);   /* on its own device */
    liana_graph_assign(v, d);   /* the same value once more */
    liana_graph_assign(w, u);   /* the old value of another device's variable */
    liana_graph_assign(own, x); /* the fed value */
    assert_ok(liana_program_create(device, g, NULL, &program), &context->error);
    liana_variables *set = liana_program_variables(program);
    const float first[4][3] = {{1, 2, 3}, {0, 0, 0}, {-1, 0.5f, 4}, {0, 0, 0}}, fed[3] = {0.5f, -2, 1.5f};
    static const char *const names[] = {"u", "v", "w", "own"};
    for (int i = 0; i < 4; i++)
        assert_ok(liana_variables_write(set, names[i], first[i], sizeof first[i]), &context->error);
    double now[4][3];
    for (int i = 0; i < 12; i++) now[i / 3][i % 3] = (double)first[i / 3][i % 3];
    for (int step = 0; step < 3; step++) {
        float got_d[3], got_b[3], got_w[3], got_x[3];
        assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, shape, fed}),
                            .fetches = LIANA_FETCHES({.tensor = d, .data = got_d, .size = sizeof got_d},
                                                     {.tensor = w, .data = got_w, .size = sizeof got_w},
                                                     {.tensor = b, .data = got_b, .size = sizeof got_b},
                                                     {.tensor = x, .data = got_x, .size = sizeof got_x}),
                            .assign_all = true),
                  &context->error);
        for (int i = 0; i < 3; i++) {
            const double wanted_a = (double)fed[i] * now[0][i], wanted_b = wanted_a + now[2][i];
            assert_near(got_b[i], wanted_b, 1e-5, i);
            assert_near(got_d[i], 3 * wanted_b - wanted_a, 1e-4, i);
            assert_near(got_w[i], now[2][i], 1e-4, i);
            assert_compare(got_x[i], ==, fed[i], i);
            now[2][i] = now[0][i];
            now[0][i] = now[1][i] = 3 * wanted_b - wanted_a;
            now[3][i] = (double)fed[i];
        }
        for (int k = 0; k < 4; k++) {
            float got[3];
            assert_ok(liana_variables_read(set, names[k], got, sizeof got), &context->error);
            for (int i = 0; i < 3; i++) assert_near(got[i], now[k][i], 1e-4, k, i);
        }
    }
    liana_program_destroy(program);
    liana_graph_destroy(g);
    liana_device_close(device);
}

/* ---- the places of nodes ---- */

static void assert_on(liana_tensor tensor, const char *device)
{
    const char *found = liana_tensor_info(tensor).device;
    if (device) {
        assert_non_null(found);
        assert_string_equal(found, device);
    } else {
        assert_null(found);
    }
}

static void test_gradients_and_slots_go_with_what_they_belong_to(void **state)
{
    (void)state;
    liana_graph *g;
    assert_ok(liana_graph_create(context, &g), &context->error);
    liana_device_scope_begin(g, "cpu:1");
    liana_tensor w = liana_graph_variable(g, "w", LIANA_F32, liana_shape_of(2, 2)), gradients[2];
    liana_device_scope_end(g);
    liana_device_scope_begin(g, "cpu:2");
    liana_tensor h = liana_op_tanh(liana_op_matmul(w, w, false, false));
    liana_device_scope_end(g);
    liana_tensor loss = liana_op_reduce_sum(liana_op_square(h), LIANA_ALL_AXES, false), wrt[] = {w, h};
    liana_gradients(loss, wrt, 2, gradients);
    assert_ok(liana_graph_status(g), &context->error);
    /* Two products on the way back give two contributions; they are added where w is. */
    assert_string_equal(liana_tensor_info(gradients[0]).op, "add");
    assert_on(gradients[0], "cpu:1");
    for (size_t i = 0; i < 2; i++) assert_on(liana_tensor_input(gradients[0], i), "cpu:2");
    assert_on(gradients[1], NULL);
    liana_apply_gradients(&w, gradients, 1, NULL);
    assert_ok(liana_graph_status(g), &context->error);
    assert_on(liana_graph_tensor(g, "optimizer/Adam/m/w"), "cpu:1");
    for (size_t i = 0; i < liana_graph_count(g, LIANA_GRAPH_ASSIGNMENTS); i++) {
        const liana_graph_item assignment = liana_graph_nth(g, LIANA_GRAPH_ASSIGNMENTS, i);
        assert_on(assignment.value, liana_tensor_info(assignment.tensor).device);
    }
    liana_graph_destroy(g);
}

static void test_variables_are_shared_out(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t size;
        const char *in_turn, *by_bytes;
    } rows[] = {{"a", 100, "cpu:1", "cpu:1"}, {"b", 10, "cpu:2", "cpu:2"}, {"c", 5, "cpu:3", "cpu:3"},
                {"d", 6, "cpu:1", "cpu:3"},   {"e", 1, "cpu:2", "cpu:2"},  {"f", 80, "cpu:3", "cpu:2"},
                {"g", 90, "cpu:1", "cpu:3"},  {"h", 1, "cpu:2", "cpu:2"}};
    static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:3"};
    for (int balance = 0; balance < 2; balance++) {
        liana_graph *g;
        assert_ok(liana_graph_create(context, &g), &context->error);
        liana_place_variables(g, balance ? LIANA_BY_BYTES : LIANA_ROUND_ROBIN, devices, 3);
        liana_device_scope_begin(g, "cpu:7");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            liana_tensor v = liana_graph_variable(g, rows[i].name, LIANA_F32, liana_shape_of(rows[i].size));
            assert_on(v, balance ? rows[i].by_bytes : rows[i].in_turn);
            assert_on(liana_op_square(v), "cpu:7");
            /* The same variable again is not counted again. */
            assert_on(liana_graph_variable(g, rows[i].name, LIANA_F32, liana_shape_of(rows[i].size)),
                      balance ? rows[i].by_bytes : rows[i].in_turn);
        }
        liana_place_variables(g, LIANA_ROUND_ROBIN, NULL, 0);
        assert_on(liana_graph_variable(g, "last", LIANA_F32, LIANA_SCALAR), "cpu:7");
        liana_device_scope_end(g);
        assert_ok(liana_graph_status(g), &context->error);
        liana_graph_destroy(g);
    }
}

/* Parts follow each other only where one needs the other's values. */
static void test_parts(void **state)
{
    (void)state;
    liana_graph *g;
    assert_ok(liana_graph_create(context, &g), &context->error);
    liana_tensor x = liana_graph_input(g, "x", LIANA_F32, liana_shape_of(2)), towers[3];
    static const char *const names[] = {"cpu:1", "cpu:2", "cpu:3"};
    for (int i = 0; i < 3; i++) {
        liana_device_scope_begin(g, names[i]);
        towers[i] = liana_op_exp(liana_op_square(x));
        liana_device_scope_end(g);
    }
    liana_tensor sum = liana_op_add(liana_op_add(towers[0], towers[1]), towers[2]);
    liana__node *wanted[] = {liana__tensor_node(sum)};
    size_t devices[16] = {0};
    for (size_t id = 1; id < g->num_nodes; id++) devices[id] = liana__scope_of(g, g->nodes[id]);
    liana__split split;
    assert_ok(liana__split_make(g, &(liana__wanted){.results = wanted, .num_results = 1}, devices, &split),
              &context->error);
    assert_int_equal(split.num_parts, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(split.parts[i].stage, 0);
        assert_int_equal(split.parts[i].device, i + 1);
    }
    assert_int_equal(split.parts[3].stage, 1);
    assert_int_equal(split.num_crossings, 3);
    assert_int_equal(split.num_feeds, 1);
    liana__split_free(&split);
    liana_graph_destroy(g);
}

/* ---- at the same time ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int here, met;
} meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

/* Waits until two of them run at the same time. */
static liana_status meet(const liana__call *call)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&meeting.mutex);
    meeting.here++;
    pthread_cond_broadcast(&meeting.changed);
    int code = 0;
    while (meeting.here < 2 && code == 0) code = pthread_cond_timedwait(&meeting.changed, &meeting.mutex, &until);
    meeting.met += meeting.here >= 2;
    pthread_mutex_unlock(&meeting.mutex);
    memcpy(call->dst, call->src[0], liana__byte_size(call->node->dtype, &call->node->shape));
    return LIANA_OK;
}

static void test_parts_run_at_the_same_time(void **state)
{
    (void)state;
    static const liana__kernel kernel = {.name = "reference", .run = meet};
    static const liana__kernel *const kernels[] = {&kernel, NULL};
    static const liana__op op = {.name = "meet",
                                 .doc = "Waits for another one.",
                                 .num_inputs = 1,
                                 .infer = liana__infer_like_input,
                                 .kernels = kernels};
    static const char *const names[] = {"cpu:1", "cpu:2"};
    liana_device *device;
    liana_graph *g;
    liana_program *program;
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    assert_ok(liana_graph_create(context, &g), &context->error);
    liana_tensor x = liana_graph_input(g, "x", LIANA_F32, liana_shape_of(2)), both[2];
    for (int i = 0; i < 2; i++) {
        liana_device_scope_begin(g, names[i]);
        both[i] = liana__build1(LIANA_HERE, &op, x, NULL);
        liana_device_scope_end(g);
    }
    liana_tensor sum = liana_op_add(both[0], both[1]);
    assert_ok(liana_program_create(device, g, NULL, &program), &context->error);
    const float fed[2] = {1, 2};
    float got[2];
    assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(2), fed}),
                        .fetches = LIANA_FETCHES({.tensor = sum, .data = got, .size = sizeof got})),
              &context->error);
    assert_int_equal(meeting.met, 2);
    assert_compare(got[0], ==, 2);
    assert_compare(got[1], ==, 4);
    liana_program_destroy(program);
    liana_graph_destroy(g);
    liana_device_close(device);
}

/* ---- failures ---- */

static liana_status break_down(const liana__call *call)
{
    (void)call;
    return LIANA_INTERNAL;
}

/* One device has its new value already when another one fails. */
static void test_no_variable_changes_where_one_device_fails(void **state)
{
    (void)state;
    static const liana__kernel kernel = {.name = "reference", .run = break_down};
    static const liana__kernel *const kernels[] = {&kernel, NULL};
    static const liana__op op = {
        .name = "break_down", .doc = "Fails.", .num_inputs = 1, .infer = liana__infer_like_input, .kernels = kernels};
    liana_device *device;
    liana_graph *g;
    liana_program *program;
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    assert_ok(liana_graph_create(context, &g), &context->error);
    liana_device_scope_begin(g, "cpu:1");
    liana_tensor u = liana_graph_variable(g, "u", LIANA_F32, LIANA_SCALAR), next = liana_op_exp(u);
    liana_graph_assign(u, next);
    liana_device_scope_end(g);
    liana_device_scope_begin(g, "cpu:2");
    liana_tensor v = liana_graph_variable(g, "v", LIANA_F32, LIANA_SCALAR);
    liana_graph_assign(v, liana__build1(LIANA_HERE, &op, next, NULL));
    liana_device_scope_end(g);
    assert_ok(liana_program_create(device, g, NULL, &program), &context->error);
    liana_variables *set = liana_program_variables(program);
    const float one = 1;
    assert_ok(liana_variables_write(set, "u", &one, sizeof one), &context->error);
    for (int i = 0; i < 2; i++) {
        float u_now = 0;
        liana_variable_info info;
        assert_fails(liana_run(program, .assign_all = true), LIANA_INTERNAL, &context->error, "break_down");
        assert_ok(liana_variables_read(set, "u", &u_now, sizeof u_now), &context->error);
        assert_compare(u_now, ==, 1);
        assert_true(liana_variables_find(set, "v", &info) && !info.initialized);
    }
    /* Results in which the failing device has no part still run. */
    assert_ok(liana_run(program, .assign = LIANA_NAMES("u")), &context->error);
    liana_program_destroy(program);
    liana_graph_destroy(g);
    liana_device_close(device);
}

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

static void test_bad_scopes(void **state)
{
    (void)state;
    liana_graph *g = new_graph();
    liana_device_scope_end(g);
    assert_fails(liana_graph_status(g), LIANA_INVALID_ARGUMENT, &context->error, "no device scope is open",
                 "test_device_scope.c");
    liana_graph_destroy(g);
    g = new_graph();
    liana_device_scope_begin(g, "");
    assert_fails(liana_graph_status(g), LIANA_INVALID_ARGUMENT, &context->error, "empty", "test_device_scope.c");
    liana_graph_destroy(g);
    g = new_graph();
    liana_place_variables(g, (liana_balance)7, NULL, 0);
    assert_fails(liana_graph_status(g), LIANA_INVALID_ARGUMENT, &context->error, "7");
    liana_graph_destroy(g);
    g = new_graph();
    liana_place_variables(g, LIANA_BY_BYTES, NULL, 2);
    assert_fails(liana_graph_status(g), LIANA_INVALID_ARGUMENT, &context->error, "devices");
    liana_graph_destroy(g);
    g = new_graph();
    static const char *const missing[] = {"cpu:1", NULL};
    liana_place_variables(g, LIANA_BY_BYTES, missing, 2);
    assert_fails(liana_graph_status(g), LIANA_INVALID_ARGUMENT, &context->error, "empty");
    liana_graph_destroy(g);
    liana_tensor none = {0};
    assert_null(liana_tensor_info(none).device);
}

static void refuse_program(const char *device_name, liana_status status, const char *one, const char *other)
{
    liana_device *device;
    liana_program *program;
    liana_graph *g = new_graph();
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    liana_device_scope_begin(g, device_name);
    liana_graph_output(g, "y", liana_op_exp(liana_graph_variable(g, "v", LIANA_F32, LIANA_SCALAR)));
    liana_device_scope_end(g);
    assert_fails(liana_program_create(device, g, NULL, &program), status, &context->error, one, other,
                 "test_device_scope.c");
    assert_null(program);
    liana_graph_destroy(g);
    liana_device_close(device);
}

static void test_devices_that_are_not_there(void **state)
{
    (void)state;
    refuse_program("abacus", LIANA_INVALID_CONFIG, "abacus", "liana devices");
    refuse_program("referense", LIANA_INVALID_CONFIG, "referense", "reference");
    refuse_program("cpu:64", LIANA_INVALID_CONFIG, "cpu:64", "cpu:63");
    refuse_program("cpu:-1", LIANA_INVALID_CONFIG, "cpu:-1", "no device");
    refuse_program("/job:worker/task:0/cpu:0", LIANA_INVALID_CONFIG, "no job 'worker'", "TF_CONFIG");
    refuse_program("/job:worker/task:x/cpu:0", LIANA_INVALID_CONFIG, "task:x", "not understood");
}

static void test_scopes_that_are_not_ended(void **state)
{
    (void)state;
    liana_device *device;
    liana_program *program;
    liana_graph *g = new_graph();
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    liana_device_scope_begin(g, "cpu:1");
    liana_tensor y = liana_op_exp(liana_graph_scalar(g, LIANA_F32, 0));
    assert_fails(liana_program_create(device, g, NULL, &program), LIANA_INVALID_ARGUMENT, &context->error, "'cpu:1'",
                 "not been ended", "test_device_scope.c");
    liana_device_scope_end(g);
    assert_ok(liana_program_create(device, g, NULL, &program), &context->error);
    liana_device_scope_begin(g, "cpu:1");
    float got = 0;
    liana_fetch fetch = {.tensor = y, .data = &got, .size = sizeof got};
    assert_fails(liana_run(program, .fetches = {&fetch, 1}), LIANA_INVALID_ARGUMENT, &context->error, "not been ended");
    liana_device_scope_end(g);
    assert_ok(liana_run(program, .fetches = {&fetch, 1}), &context->error);
    assert_compare(got, ==, 1);
    liana_program_destroy(program);
    liana_graph_destroy(g);
    liana_device_close(device);
}

/* A second graph over the same set: a variable stays where it is. */
static void test_a_variable_has_one_home(void **state)
{
    (void)state;
    static const char *const scopes[] = {"cpu:1", NULL, "cpu:2"};
    liana_device *device;
    liana_variables *set;
    liana_program *programs[2], *refused;
    liana_graph *graphs[3];
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    assert_ok(liana_variables_create(device, &set), &context->error);
    const liana_program_options options = {.variables = set};
    for (int i = 0; i < 3; i++) {
        graphs[i] = new_graph();
        liana_device_scope_begin(graphs[i], scopes[i]);
        liana_tensor v = liana_graph_variable(graphs[i], "v", LIANA_F32, LIANA_SCALAR), y = liana_op_add(v, v);
        liana_graph_output(graphs[i], "y", y);
        liana_graph_assign(v, y);
        liana_device_scope_end(graphs[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(liana_program_create(device, graphs[i], &options, &programs[i]), &context->error);
    }
    assert_fails(liana_program_create(device, graphs[2], &options, &refused), LIANA_INVALID_ARGUMENT, &context->error,
                 "'v'", "cpu:2", "cpu:1");
    float got = 1;
    assert_ok(liana_variables_write(set, "v", &got, sizeof got), &context->error);
    for (int i = 0; i < 6; i++) {
        assert_ok(liana_run(programs[i % 2], .fetches = LIANA_FETCHES({.name = "y", .data = &got, .size = sizeof got}),
                            .assign_all = true),
                  &context->error);
        assert_compare(got, ==, (float)(2 << i), i);
    }
    const char *path = liana__test_path("v.safetensors");
    assert_ok(liana_variables_save(set, path), &context->error);
    assert_ok(liana_variables_initialize(set, &(liana_initialize_options){.initializer = "zeros", .again = true}),
              &context->error);
    assert_ok(liana_variables_load(set, path, false), &context->error);
    assert_ok(liana_variables_read(set, "v", &got, sizeof got), &context->error);
    assert_compare(got, ==, 64);
    for (int i = 0; i < 2; i++) liana_program_destroy(programs[i]);
    for (int i = 0; i < 3; i++) liana_graph_destroy(graphs[i]);
    liana_variables_destroy(set);
    liana_device_close(device);
}

/* Graphs that a strategy computes have no devices of their own. */
static void build_with_a_scope(liana_graph *graph, void *user)
{
    liana_device_scope_begin(graph, user);
    liana_graph_output(graph, "y", liana_op_exp(liana_graph_scalar(graph, LIANA_F32, 1)));
    liana_device_scope_end(graph);
}

static void test_no_scopes_under_a_strategy(void **state)
{
    (void)state;
    liana_replicas *replicas;
    liana_replica_program *program;
    liana_per_replica *values = NULL;
    char device[] = "cpu:1";
    assert_ok(liana_replicas_open(context, NULL, &replicas), &context->error);
    const liana_replica_program_options options = {.build = build_with_a_scope, .user = device};
    assert_ok(liana_replica_program_create(replicas, &options, &program), &context->error);
    assert_fails(liana_replica_program_run(program, NULL, 0, &values), LIANA_INVALID_ARGUMENT, &context->error,
                 "no device scopes", "strategy", "test_device_scope.c");
    liana_replica_program_destroy(program);
    liana_replicas_close(replicas);
}

/* ---- values at once ---- */

static void test_values_at_once(void **state)
{
    (void)state;
    liana_graph *g = new_graph();
    const float numbers[] = {1, 2, 3, -4};
    liana_tensor x = liana_graph_constant(g, LIANA_F32, liana_shape_of(2, 2), numbers);
    liana_device_scope_begin(g, "reference");
    liana_tensor square = liana_op_matmul(x, x, false, false);
    liana_device_scope_begin(g, "cpu:3");
    liana_tensor sum = liana_op_reduce_sum(square, LIANA_ALL_AXES, false);
    liana_device_scope_end(g);
    liana_device_scope_end(g);
    assert_compare(liana_number(sum), ==, 7 - 6 - 9 + 22);
    char *text = liana_graph_text(g);
    assert_says(text, " on \"reference\"");
    assert_says(text, " on \"cpu:3\"");
    free(text);
    liana_device_scope_begin(g, "abacus");
    liana_tensor lost = liana_op_exp(sum);
    liana_device_scope_end(g);
    float got;
    assert_fails(liana_value(lost, &got, sizeof got), LIANA_INVALID_CONFIG, &context->error, "'abacus'", "exp",
                 "test_device_scope.c");
    liana_graph_destroy(g);
}

int main(void)
{
    liana__test_folder();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_towers_give_the_bits_of_one_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_towers_on_reference_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_towers_on_devices_of_different_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_go_from_device_to_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gradients_and_slots_go_with_what_they_belong_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_variables_are_shared_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_run_at_the_same_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_variable_changes_where_one_device_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_scopes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_devices_that_are_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scopes_that_are_not_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_variable_has_one_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_scopes_under_a_strategy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("device_scope", tests, NULL, NULL);
}
