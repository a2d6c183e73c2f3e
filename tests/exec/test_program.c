/* Programs and the device contract on each device: names, values that stay, donated buffers, late uploads, errors. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "harness/pjrt_plugin.h"

#include "exec/program.h"

#include <liana/ops.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *devices[3]; /* cpu, reference, and a PJRT plugin's if that is there */
static int num_devices = 2;
enum { SIZE = 5 };
static const liana_shape row = {1, {SIZE}};

static int open_devices(void **state)
{
    (void)state;
    if (liana__test_open_devices(2, &context, &devices[0], &devices[1]) != 0) return -1;
    num_devices = 2;
    if (!liana__test_plugin_is_there()) return 0;
    const char *name = liana__test_plugin_device("");
    return liana__device_open(context, name, &devices[num_devices++], &context->error) == LIANA_OK ? 0 : -1;
}

static int close_devices(void **state)
{
    (void)state;
    if (num_devices > 2) liana__device_close(devices[2]);
    return liana__test_close_devices(context, devices[0], devices[1]);
}

/* total = total + x * scale, and its former value. */
static liana_graph *accumulator(void)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, row);
    liana_tensor scale = liana_graph_input(graph, "scale", LIANA_F32, LIANA_SCALAR);
    liana_tensor total = liana_graph_variable(graph, "total", LIANA_F32, row);
    liana_tensor change = liana_op_multiply(x, scale);
    liana_graph_assign(total, liana_op_add(total, change));
    liana_graph_output(graph, "before", liana_op_multiply(total, liana_graph_scalar(graph, LIANA_F32, 1)));
    liana_graph_output(graph, "change", change);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static liana__program *compile(liana__device *device, liana__variables *variables)
{
    liana__error error = {0};
    liana__program *program;
    liana__variables_init(variables, device);
    assert_ok(liana__variables_add(variables, "total", LIANA_F32, &row, NULL, &error), &error);
    assert_ok(liana__program_create(device, accumulator(), "accumulate", variables, &program, &error), &error);
    return program;
}

static void release(liana__program *program, liana__variables *variables)
{
    liana__program_destroy(program);
    liana__variables_free(variables);
}

static void feed(liana__program *program, const char *name, const liana_shape *shape, const float *data)
{
    liana__error error = {0};
    size_t place;
    assert_ok(liana__program_find_feed(program, name, &place, &error), &error);
    assert_ok(liana__program_feed(program, place, LIANA_F32, shape, data, &error), &error);
}

static void assert_fetched(liana__program *program, const char *name, const float *expected)
{
    liana__error error = {0};
    float got[SIZE];
    const int place = liana__graph_find_output(program->graph, name);
    assert_compare(place, >=, 0);
    assert_ok(liana__program_fetch(program, (size_t)place, got, &error), &error);
    assert_memory_equal(got, expected, sizeof got);
}

static const float numbers[SIZE] = {1, -2, 3, 0.5f, 8};

static void test_values_stay_on_the_device(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        liana__variables variables;
        liana__program *program = compile(devices[d], &variables);
        liana__error error = {0};
        float expected[SIZE] = {0}, change[SIZE], got[SIZE];
        const float scales[] = {2, 2, -3};
        feed(program, "x", &row, numbers);
        for (int run = 0; run < 3; run++) {
            if (run != 1) feed(program, "scale", &LIANA_SCALAR, &scales[run]);
            assert_ok(liana__program_run(program, &error), &error);
            for (int i = 0; i < SIZE; i++) change[i] = numbers[i] * scales[run];
            assert_fetched(program, "before", expected);
            assert_fetched(program, "change", change);
            for (int i = 0; i < SIZE; i++) expected[i] += change[i];
            assert_ok(liana__variable_read(liana__variables_find(&variables, "total"), got, &error), &error);
            assert_memory_equal(got, expected, sizeof got);
        }
        assert_ok(liana__variable_write(liana__variables_find(&variables, "total"), numbers, &error), &error);
        assert_ok(liana__program_run(program, &error), &error);
        assert_fetched(program, "before", numbers);
        release(program, &variables);
    }
}

static void test_wrong_feeds_are_named(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        liana__variables variables;
        liana__program *program = compile(devices[d], &variables);
        liana__error error = {0};
        size_t place;
        float got[SIZE];
        assert_fails(liana__program_fetch(program, 0, got, &error), LIANA_INVALID_ARGUMENT, &error, "accumulate",
                     "'before'", "first run");
        assert_fails(liana__program_find_feed(program, "scales", &place, &error), LIANA_NOT_FOUND, &error, "accumulate",
                     "'scales'", "'scale'");
        feed(program, "x", &row, numbers);
        assert_fails(liana__program_run(program, &error), LIANA_INVALID_ARGUMENT, &error, "accumulate", "'scale'",
                     "missing");
        const liana_shape longer = {1, {SIZE + 1}};
        assert_fails(liana__program_feed(program, 0, LIANA_F32, &longer, numbers, &error), LIANA_INVALID_ARGUMENT,
                     &error, "accumulate", "'x'", "[6]", "[5]");
        assert_fails(liana__program_feed(program, 0, LIANA_S32, &row, numbers, &error), LIANA_INVALID_ARGUMENT, &error,
                     "s32", "f32");
        /* A failing run has changed nothing. */
        feed(program, "scale", &LIANA_SCALAR, &(float){1});
        assert_ok(liana__program_run(program, &error), &error);
        assert_fetched(program, "change", numbers);
        release(program, &variables);
    }
}

/* A buffer of another type, bound by hand, is found when the program runs. */
static void test_bound_buffers_are_checked(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        liana__variables variables;
        liana__program *program = compile(devices[d], &variables);
        const liana__backend *backend = devices[d]->backend;
        liana__error error = {0};
        liana__buffer *wrong = NULL, *right = NULL;
        assert_ok(backend->upload(devices[d], LIANA_F32, &LIANA_SCALAR, numbers, &wrong, NULL, &error), &error);
        assert_ok(backend->upload(devices[d], LIANA_F32, &row, numbers, &right, NULL, &error), &error);
        feed(program, "scale", &LIANA_SCALAR, &(float){2});
        liana__program_bind(program, 0, wrong);
        assert_fails(liana__program_run(program, &error), LIANA_INVALID_ARGUMENT, &error, "accumulate", "'x'", "[5]");
        liana__program_bind(program, 0, right);
        assert_ok(liana__program_run(program, &error), &error);
        assert_fetched(program, "change", (const float[SIZE]){2, -4, 6, 1, 16});
        backend->buffer_destroy(wrong);
        backend->buffer_destroy(right);
        release(program, &variables);
    }
}

/* The host's data may change once the fence has been waited for, and not before. */
static void test_uploads_complete_at_their_fence(void **state)
{
    (void)state;
    for (int d = 0; d < num_devices; d++) {
        const liana__backend *backend = devices[d]->backend;
        liana__error error = {0};
        liana__fence *fence;
        liana__buffer *buffer = NULL;
        float data[SIZE], got[SIZE];
        memcpy(data, numbers, sizeof data);
        assert_ok(backend->upload(devices[d], LIANA_F32, &row, data, &buffer, &fence, &error), &error);
        if (d == 1) data[0] = 77; /* this device shows that it had not copied yet */
        assert_ok(backend->wait(fence, &error), &error);
        data[1] = 99;
        assert_ok(backend->download(buffer, got, &error), &error);
        assert_compare(got[0], ==, d == 1 ? 77 : numbers[0], d);
        assert_compare(got[1], ==, numbers[1]);
        backend->buffer_destroy(buffer);
        /* A buffer may be gone before its fence is taken. */
        buffer = NULL;
        assert_ok(backend->upload(devices[d], LIANA_F32, &row, data, &buffer, &fence, &error), &error);
        backend->buffer_destroy(buffer);
        assert_ok(backend->wait(fence, &error), &error);
    }
}

/* On an accelerator results are new buffers, and buffers donated for them are gone. */
static void test_donated_buffers_are_gone(void **state)
{
    (void)state;
    liana__device *device = devices[1];
    const liana__backend *backend = device->backend;
    liana__error error = {0};
    liana_graph *graph = accumulator();
    liana__executable *executable;
    assert_ok(backend->compile(device, graph, &executable, &error), &error);
    liana__buffer *inputs[2] = {NULL}, *variables[1] = {NULL}, *outputs[2] = {NULL};
    assert_ok(backend->upload(device, LIANA_F32, &row, numbers, &inputs[0], NULL, &error), &error);
    assert_ok(backend->upload(device, LIANA_F32, &LIANA_SCALAR, numbers, &inputs[1], NULL, &error), &error);
    assert_ok(backend->upload(device, LIANA_F32, &row, numbers, &variables[0], NULL, &error), &error);
    liana__execution execution = {.name = "accumulate", .inputs = inputs, .variables = variables, .outputs = outputs};
    liana__buffer *old = variables[0];
    assert_ok(backend->execute(executable, &execution, &error), &error);
    assert_ptr_not_equal(variables[0], old);
    assert_string_equal(old->donated_to, "accumulate");
    float got[SIZE];
    assert_fails(backend->download(old, got, &error), LIANA_INVALID_ARGUMENT, &error, "accumulate");
    liana__buffer *kept = outputs[0], *result = variables[0], *x = inputs[0];
    assert_ok(backend->execute(executable, &execution, &error), &error);
    assert_non_null(kept->donated_to);
    inputs[0] = result; /* donated by the second execution */
    assert_fails(backend->execute(executable, &execution, &error), LIANA_INVALID_ARGUMENT, &error, "'x'", "gone",
                 "accumulate");
    assert_fails(backend->upload(device, LIANA_F32, &row, numbers, &inputs[0], NULL, &error), LIANA_INVALID_ARGUMENT,
                 &error, "gone");
    assert_null(variables[0]->donated_to); /* a failing run has donated nothing */
    backend->buffer_destroy(variables[0]);
    for (int i = 0; i < 2; i++) backend->buffer_destroy(outputs[i]);
    backend->buffer_destroy(x);
    backend->buffer_destroy(inputs[1]);
    backend->executable_destroy(executable);
    liana_graph_destroy(graph);
}

/* The CPU reuses donated buffers: runs allocate nothing. */
static void test_a_run_allocates_nothing(void **state)
{
    (void)state;
    liana__variables variables;
    liana__program *program = compile(devices[0], &variables);
    liana__error error = {0};
    feed(program, "x", &row, numbers);
    feed(program, "scale", &LIANA_SCALAR, &(float){2});
    for (int i = 0; i < 3; i++) assert_ok(liana__program_run(program, &error), &error);
    const liana__buffer *result = program->outputs[0];
    size_t held = atomic_load(&devices[0]->bytes_held), before = mallinfo2().uordblks;
    for (int i = 0; i < 100; i++) assert_ok(liana__program_run(program, &error), &error);
    assert_int_equal(mallinfo2().uordblks, before);
    assert_int_equal(atomic_load(&devices[0]->bytes_held), held);
    assert_ptr_equal(program->outputs[0], result);
    release(program, &variables);
}

static void test_missing_variables_are_named(void **state)
{
    (void)state;
    liana__variables variables;
    liana__error error = {0};
    liana__program *program;
    liana__variables_init(&variables, devices[0]);
    assert_fails(liana__program_create(devices[0], accumulator(), "accumulate", &variables, &program, &error),
                 LIANA_INTERNAL, &error, "'total'", "f32[5]");
    assert_ok(liana__variables_add(&variables, "total", LIANA_F32, &LIANA_SCALAR, NULL, &error), &error);
    assert_fails(liana__program_create(devices[0], accumulator(), "accumulate", &variables, &program, &error),
                 LIANA_INTERNAL, &error, "'total'");
    liana__variables_free(&variables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_stay_on_the_device),   cmocka_unit_test(test_wrong_feeds_are_named),
        cmocka_unit_test(test_bound_buffers_are_checked),   cmocka_unit_test(test_uploads_complete_at_their_fence),
        cmocka_unit_test(test_donated_buffers_are_gone),    cmocka_unit_test(test_a_run_allocates_nothing),
        cmocka_unit_test(test_missing_variables_are_named),
    };
    return cmocka_run_group_tests_name("program", tests, open_devices, close_devices);
}
