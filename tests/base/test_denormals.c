/* Denormal numbers: the cpu device flushes them to zero on every thread and instruction set, the reference and the
 * input keep them, and the caller's thread has its own setting back afterwards. */
#include "harness/peers.h"

#include "harness/objective.h"

#include "harness/graph_run.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/context.h"
#include "base/denormals.h"
#include "train/objective/trainer.h"

#include <dirent.h>
#include <fenv.h>
#include <float.h>
#include <liana/dataset.h>
#include <liana/layers.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Found by arithmetic, not by asking the processor: results and operands, floats and doubles go together. */
static bool thread_flushes(void)
{
    volatile float least = FLT_MIN, half = 0.5f, denormal = 1e-40f, large = 1e30f;
    volatile double least_double = DBL_MIN, half_double = 0.5;
    volatile float result = least * half, product = denormal * large;
    volatile double result_double = least_double * half_double;
    bool flushes = (result == 0) || (product == 0);
    if ((product == 0) != flushes || (result_double == 0) != flushes) fail_msg("flushes some denormal numbers only");
    return flushes;
}

static void set_thread(bool flushes)
{
    (void)(flushes ? liana__denormals_flush() : liana__denormals_keep());
}

static bool is_denormal(float x)
{
    return fpclassify(x) == FP_SUBNORMAL;
}

/* ---- the setting ---- */

static void test_setting_of_a_thread(void **state)
{
    (void)state;
    assert_false(thread_flushes());
    assert_int_equal(fesetround(FE_UPWARD), 0);
    liana__denormals outer = liana__denormals_flush();
    assert_true(thread_flushes());
    liana__denormals inner = liana__denormals_keep();
    assert_false(thread_flushes());
    liana__denormals_restore(inner);
    assert_true(thread_flushes());
    /* Signs stay. */
    volatile float least = -FLT_MIN, half = 0.5f, result = least * half;
    assert_compare(result, ==, 0);
    assert_true(signbit(result));
    /* Other settings of the thread in between stay too. */
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    liana__denormals_restore(outer);
    assert_false(thread_flushes());
    assert_int_equal(fegetround(), FE_TONEAREST);
}

static void note_setting(void *user, size_t task, int worker)
{
    (void)worker;
    ((bool *)user)[task] = thread_flushes();
}

/* Threads inherit the setting of the one that starts them. */
static void test_tasks_begin_with_denormals_kept(void **state)
{
    (void)state;
    enum { TASKS = 64 };
    for (int threads = 1; threads <= 3; threads++) {
        bool flushes[TASKS];
        liana__pool *pool;
        liana__error error = {0};
        set_thread(true);
        assert_ok(liana__pool_create(threads, &pool, &error), &error);
        memset(flushes, true, sizeof flushes);
        liana__pool_run(pool, TASKS, note_setting, flushes);
        assert_true(thread_flushes());
        set_thread(false);
        for (int i = 0; i < TASKS; i++) assert_false(flushes[i]);
        liana__pool_destroy(pool);
    }
}

/* ---- one graph on each instruction set ---- */

enum { COUNT = 83, OUTPUTS = 7 };

/* x and y are as small as bits make them, so that sums, products and quotients are denormal or have such operands. */
static liana_graph *build_graph(liana_context *context, liana_dtype dtype)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(COUNT));
    liana_tensor y = liana_graph_input(graph, "y", dtype, liana_shape_of(COUNT));
    liana_graph_output(graph, "product", liana_op_multiply(x, y));
    liana_graph_output(graph, "sum", liana_op_add(x, y));
    liana_graph_output(graph, "log", liana_op_log(x));
    liana_graph_output(graph, "exp", liana_op_exp(liana_op_log(x)));
    liana_graph_output(graph, "root", liana_op_sqrt(x));
    liana_graph_output(graph, "maximum", liana_op_maximum(x, y));
    liana_graph_output(graph, "total", liana_op_reduce_sum(liana_op_multiply(x, x), LIANA_AXES(0), false));
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static double least_normal(liana_dtype dtype)
{
    return dtype == LIANA_F64 ? DBL_MIN : FLT_MIN;
}

/* From 2^-23 to 2^13 times the least normal number; y mostly far from 1 on the other side. */
static void make_inputs(liana_dtype dtype, liana__test_value inputs[2])
{
    for (int k = 0; k < 2; k++) {
        liana_shape shape = liana_shape_of(COUNT);
        inputs[k] = (liana__test_value){dtype, shape, malloc(liana__byte_size(dtype, &shape))};
        assert_non_null(inputs[k].data);
        for (int i = 0; i < COUNT; i++) {
            double value = ldexp(least_normal(dtype) * (1 + i / 128.0), (k ? i * 5 : i * 7) % 37 - 23);
            if (k && i % 3) value = ldexp(1, -(i % 11));
            liana__store(inputs[k].data, dtype, i, k && i % 2 ? -value : value);
        }
    }
}

static double flushed(double value, liana_dtype dtype)
{
    return fabs(value) < least_normal(dtype) ? 0 : value;
}

/* The kernels' results are the reference's for operands without denormal numbers, without those. */
static void check_outputs(liana_dtype dtype, const liana__test_value *got, const liana__test_value *expected,
                          const char *level)
{
    for (int k = 0; k < OUTPUTS; k++) {
        for (int64_t i = 0; i < liana_shape_size(&got[k].shape); i++) {
            double a = liana__load(got[k].data, dtype, i), b = flushed(liana__load(expected[k].data, dtype, i), dtype);
            /* maximum may hand a denormal operand on: it computes nothing. */
            double moved = k == 5 ? flushed(a, dtype) : a;
            /* exp enlarges the rounding error of log: by up to 87 times 2^-24. */
            if (moved == b || fabs(moved - b) <= 2e-5 * fabs(b)) continue;
            fail_msg("%s, output %d, element %d: %g, expected %g", level, k, (int)i, a, b);
        }
    }
}

static void run_on_each_device(liana_dtype dtype, liana_context *context, liana__device *cpu, liana__device *reference)
{
    liana_graph *graph = build_graph(context, dtype);
    liana__test_value inputs[2], normal[2], kept[OUTPUTS], expected[OUTPUTS];
    make_inputs(dtype, inputs);
    make_inputs(dtype, normal);
    for (int i = 0; i < 2 * COUNT; i++) {
        void *data = normal[i % 2].data;
        liana__store(data, dtype, i / 2, flushed(liana__load(data, dtype, i / 2), dtype));
    }
    set_thread(true);
    liana__test_run(reference, graph, inputs, kept);
    liana__test_run(reference, graph, normal, expected);
    assert_true(thread_flushes());
    set_thread(false);
    bool any = false;
    for (int i = 0; i < COUNT; i++) {
        double x = liana__load(kept[1].data, dtype, i);
        any = any || flushed(x, dtype) != x;
    }
    assert_true(any);
    const liana__isa best = context->isa;
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
        context->isa = (liana__isa)isa;
        liana__test_value got[2][OUTPUTS];
        for (int flushes = 0; flushes < 2; flushes++) {
            set_thread(flushes);
            liana__test_run(cpu, graph, inputs, got[flushes]);
            assert_int_equal(thread_flushes(), flushes);
            set_thread(false);
        }
        for (int k = 0; k < OUTPUTS; k++) {
            assert_memory_equal(got[0][k].data, got[1][k].data, liana__byte_size(dtype, &got[0][k].shape));
        }
        check_outputs(dtype, got[0], expected, liana__isa_name(context->isa));
        for (int flushes = 0; flushes < 2; flushes++) liana__test_free_values(got[flushes], OUTPUTS);
    }
    context->isa = best;
    liana__test_free_values(inputs, 2);
    liana__test_free_values(normal, 2);
    liana__test_free_values(kept, OUTPUTS);
    liana__test_free_values(expected, OUTPUTS);
    liana_graph_destroy(graph);
}

static void test_cpu_flushes_and_reference_keeps(void **state)
{
    (void)state;
    liana_context *context;
    liana__device *cpu, *reference;
    assert_int_equal(liana__test_open_devices(1, &context, &cpu, &reference), 0);
    run_on_each_device(LIANA_F32, context, cpu, reference);
    run_on_each_device(LIANA_F64, context, cpu, reference);
    liana__test_close_devices(context, cpu, reference);
}

/* LIANA_VALIDATE: the reference's logarithm of a denormal number is finite, a kernel's is not. */
static void test_validation_expects_it(void **state)
{
    (void)state;
    liana_context *context;
    liana__device *cpu;
    assert_int_equal(liana__test_open_devices(1, &context, &cpu, NULL), 0);
    context->validate = true;
    liana_graph *graph = build_graph(context, LIANA_F32);
    liana__test_value inputs[2], got[OUTPUTS];
    make_inputs(LIANA_F32, inputs);
    liana__test_run(cpu, graph, inputs, got); /* fails the test if validation finds a difference */
    assert_false(thread_flushes());
    assert_true(isinf(((const float *)got[2].data)[0]));
    assert_true(is_denormal(((const float *)inputs[0].data)[0])); /* validated values are left alone */
    liana__test_free_values(inputs, 2);
    liana__test_free_values(got, OUTPUTS);
    liana_graph_destroy(graph);
    liana__test_close_devices(context, cpu, NULL);
}

/* ---- teams, sums and failures ---- */

enum { LARGE = 1 << 20, THREADS = 3 };

typedef struct product {
    liana_context *context;
    liana__device *device;
    liana_graph *graph;
    liana__cpu_executable *executable;
    liana__buffer *inputs[1], *outputs[1];
} product;

static void write_all(const product *own, liana__buffer *buffer, float value)
{
    float *values = malloc(LARGE * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < LARGE; i++) values[i] = value;
    assert_ok(liana__host_buffer_write(buffer, values, &own->context->error), &own->context->error);
    free(values);
}

static void expect_zeros(const product *own, const liana__buffer *buffer)
{
    float *values = malloc(LARGE * sizeof *values);
    assert_non_null(values);
    assert_ok(own->device->backend->download(buffer, values, &own->context->error), &own->context->error);
    for (size_t i = 0; i < LARGE; i++) assert_compare(values[i], ==, 0, i);
    free(values);
}

/* y = x * x with x = 2^-65, by as many threads as there are tiles for. */
static product open_product(void)
{
    product own;
    assert_int_equal(liana__test_open_devices(THREADS, &own.context, &own.device, NULL), 0);
    const liana__backend *backend = own.device->backend;
    liana__error *error = &own.context->error;
    liana_shape shape = liana_shape_of(LARGE);
    own.graph = liana__test_new_graph(own.context);
    liana_tensor x = liana_graph_input(own.graph, "x", LIANA_F32, shape);
    liana_graph_output(own.graph, "y", liana_op_multiply(x, x));
    liana__executable *executable;
    assert_ok(backend->compile(own.device, own.graph, &executable, error), error);
    own.executable = (liana__cpu_executable *)executable;
    assert_ok(liana__host_buffer_create(own.device, LIANA_F32, &shape, &own.inputs[0], error), error);
    assert_ok(liana__host_buffer_create(own.device, LIANA_F32, &shape, &own.outputs[0], error), error);
    write_all(&own, own.inputs[0], 0x1p-65f);
    write_all(&own, own.outputs[0], 1);
    return own;
}

static void close_product(product *own)
{
    const liana__backend *backend = own->device->backend;
    backend->buffer_destroy(own->inputs[0]);
    backend->buffer_destroy(own->outputs[0]);
    backend->executable_destroy(&own->executable->base);
    liana_graph_destroy(own->graph);
    liana__test_close_devices(own->context, own->device, NULL);
}

static void test_all_workers_of_a_team_flush(void **state)
{
    (void)state;
    product own = open_product();
    liana__error error = {0};
    for (int flushes = 0; flushes < 2; flushes++) {
        set_thread(flushes);
        liana_status status = liana__cpu_execute_together(&own.executable->base, own.inputs, NULL, own.outputs, &error);
        bool after = thread_flushes();
        set_thread(false);
        assert_ok(status, &error);
        assert_true(own.executable->shares_work);
        assert_int_equal(after, flushes);
        expect_zeros(&own, own.outputs[0]);
        write_all(&own, own.outputs[0], 1);
    }
    close_product(&own);
}

static atomic_bool saw_flushes; /* by all workers of a team */

static liana_status fail_at_once(const liana__call *call)
{
    (void)call;
    atomic_store(&saw_flushes, thread_flushes());
    return LIANA_INTERNAL;
}

static void test_setting_is_restored_after_a_failure(void **state)
{
    (void)state;
    static const liana__kernel failing = {.name = "failing", .run = fail_at_once};
    product own = open_product();
    liana__executable *executable = &own.executable->base;
    for (size_t i = 0; i < own.executable->num_steps; i++) own.executable->steps[i].kernel = &failing;
    for (int i = 0; i < 4; i++) {
        bool flushes = i % 2, together = i / 2;
        liana__error error = {0};
        atomic_store(&saw_flushes, false);
        set_thread(flushes);
        liana_status status = together ? liana__cpu_execute_together(executable, own.inputs, NULL, own.outputs, &error)
                                       : liana__cpu_execute(executable, 0, own.inputs, NULL, own.outputs, &error);
        bool after = thread_flushes();
        set_thread(false);
        assert_fails(status, LIANA_INTERNAL, &error, "failing");
        assert_true(atomic_load(&saw_flushes));
        assert_int_equal(after, flushes);
    }
    close_product(&own);
}

/* ---- training ---- */

enum { BATCH = 8, SIZE = 9, CLASSES = 3, STEPS = 3 };

typedef struct fixture {
    liana_context *context;
    liana__device *device;
    liana_model *model;
    liana__variables variables;
    liana__trainer *trainer;
    liana__arena arena;
} fixture;

static void open_fixture(fixture *own, int threads, bool mixed)
{
    liana__error error = {0};
    *own = (fixture){0};
    assert_int_equal(liana__test_open_devices(threads, &own->context, &own->device, NULL), 0);
    liana__variables_init(&own->variables, own->device);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    liana_input(own->model, .shape = LIANA_INTS(SIZE, SIZE, 3));
    liana_conv2d(own->model, .filters = 13, .kernel_size = 3, .activation = "relu");
    liana_conv2d(own->model, .filters = 7, .kernel_size = 3, .padding = LIANA_PADDING_SAME);
    liana_global_average_pooling2d(own->model);
    liana_dense(own->model, .units = CLASSES, .activation = "softmax");
    assert_ok(liana_model_status(own->model), &own->context->error);
    void *adam = liana__arena_allocate(&own->arena, liana__optimizer_Adam.part.options.size);
    assert_non_null(adam);
    assert_ok(liana__fields_default(&liana__optimizer_Adam.part.options, &own->arena, adam, &error), &error);
    liana__trainer_options options = {.model = own->model,
                                      .objective = liana__test_objective(own->model, "[]"),
                                      .optimizer = &liana__optimizer_Adam,
                                      .optimizer_options = adam,
                                      .batch_size = BATCH,
                                      .microbatch = 3,
                                      .seed = 5,
                                      .scale = LIANA_SCALE_MINUS_ONE_ONE,
                                      .mixed_precision = mixed};
    assert_ok(liana__trainer_create(own->device, &options, &own->variables, &own->trainer, &error), &error);
}

static void close_fixture(fixture *own)
{
    liana__trainer_destroy(own->trainer);
    liana__variables_free(&own->variables);
    liana_model_destroy(own->model);
    liana__arena_free(&own->arena);
    liana__test_close_devices(own->context, own->device, NULL);
}

static void take_steps(fixture *own, int count)
{
    uint8_t images[BATCH * SIZE * SIZE * 3];
    int32_t labels[BATCH];
    uint64_t positions[BATCH];
    for (size_t i = 0; i < sizeof images; i++) images[i] = (uint8_t)(i * i * 31 + i / 7);
    for (int i = 0; i < BATCH; i++) {
        labels[i] = i % CLASSES;
        positions[i] = (uint64_t)i;
    }
    const liana__batch batch = liana__test_batch(own->trainer, BATCH, images, labels, positions);
    for (int i = 1; i <= count; i++) {
        liana__test_sums sums = {{0}};
        liana__error error = {0};
        assert_ok(liana__test_step(own->trainer, &batch, 0, i, &sums, &error), &error);
    }
}

static float *read_variable(const fixture *own, const liana__variable *variable)
{
    liana__error error = {0};
    float *values = malloc(variable->buffer->size);
    assert_non_null(values);
    assert_ok(own->device->backend->download(variable->buffer, values, &error), &error);
    return values;
}

/* The head's kernel becomes so small that some of it, and all gradients before it, are denormal. */
static void make_small(fixture *own)
{
    const liana__variable *kernel = liana__variables_find(&own->variables, "dense/kernel");
    assert_non_null(kernel);
    liana__error error = {0};
    float *values = read_variable(own, kernel);
    bool any = false;
    for (size_t i = 0; i < kernel->buffer->size / sizeof *values; i++) {
        values[i] *= 1e-37f;
        any |= is_denormal(values[i]);
    }
    assert_true(any);
    assert_ok(liana__host_buffer_write(kernel->buffer, values, &error), &error);
    free(values);
}

/* Trained by this number of threads, from a thread with this setting. */
static float **train(fixture *own, int threads, bool flushes, bool mixed)
{
    open_fixture(own, threads, mixed);
    make_small(own);
    set_thread(flushes);
    take_steps(own, STEPS);
    bool after = thread_flushes();
    set_thread(false);
    assert_int_equal(after, flushes);
    float **all = calloc(own->variables.count, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < own->variables.count; i++) all[i] = read_variable(own, &own->variables.items[i]);
    return all;
}

static void free_all(const fixture *own, float **all)
{
    for (size_t i = 0; i < own->variables.count; i++) free(all[i]);
    free(all);
}

static void expect_no_denormals(const fixture *own, float *const *all)
{
    size_t small = 0;
    for (size_t i = 0; i < own->variables.count; i++) {
        for (size_t k = 0; k < own->variables.items[i].buffer->size / sizeof **all; k++) {
            if (is_denormal(all[i][k])) fail_msg("%s[%zu] is %a", own->variables.items[i].name, k, all[i][k]);
            small += all[i][k] != 0 && fabsf(all[i][k]) < 0x1p-110f;
        }
    }
    assert_compare(small, >, 0); /* numbers do come near */
}

static void check_training(bool mixed)
{
    fixture first;
    float **expected = train(&first, 1, false, mixed);
    expect_no_denormals(&first, expected);
    for (int i = 1; i < 6; i++) {
        fixture own;
        float **got = train(&own, 1 + i / 2, i % 2, mixed);
        for (size_t k = 0; k < own.variables.count; k++) {
            assert_memory_equal(got[k], expected[k], own.variables.items[k].buffer->size);
        }
        free_all(&own, got);
        close_fixture(&own);
    }
    free_all(&first, expected);
    close_fixture(&first);
}

static void test_training_is_the_same_on_any_threads(void **state)
{
    (void)state;
    check_training(false);
    check_training(true);
}

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    if (!folder) return -1;
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* A thread of OpenMP would keep denormals. Runs first, before any thread of another test may still be ending. */
static void test_libraries_start_no_threads(void **state)
{
    (void)state;
    int before = count_threads();
    if (before < 0) liana__test_skip("this system does not say how many threads a process has");
    fixture own;
    open_fixture(&own, THREADS, false);
    take_steps(&own, 1);
    assert_int_equal(count_threads(), before + THREADS - 1);
    close_fixture(&own);
}

/* ---- input ---- */

static liana_status count_flushes(void *user, const liana_example_address *address, const liana_element *input,
                                  liana_element *output)
{
    (void)address;
    (void)input;
    (void)output;
    if (thread_flushes()) atomic_fetch_add((atomic_int *)user, 1);
    return LIANA_OK;
}

/* The input keeps denormals on threads of its own and on the caller's. */
static void test_elements_are_made_with_denormals_kept(void **state)
{
    (void)state;
    for (int threads = -1; threads <= 2; threads += 3) {
        liana_context *context;
        assert_int_equal(liana__test_open_devices(1, &context, NULL, NULL), 0);
        atomic_int flushes = 0;
        set_thread(true);
        liana_dataset *dataset = liana_dataset_map(liana_dataset_range(context, 0, 20, 1),
                                                   &(liana_map_options){.function = count_flushes, .user = &flushes});
        liana_iterator *iterator;
        assert_ok(liana_iterator_create(dataset, &(liana_iterator_options){.num_threads = threads}, &iterator),
                  &context->error);
        const liana_element *element;
        int count = 0;
        while (liana_iterator_next(iterator, &element) == LIANA_OK) count++;
        bool after = thread_flushes();
        liana_iterator_destroy(iterator);
        liana_dataset_close(dataset);
        liana_context_destroy(context);
        set_thread(false);
        assert_int_equal(count, 20);
        assert_int_equal(flushes, 0);
        assert_true(after);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (liana__denormals_can_flush()) return 0;
    print_message("skipped: nothing is flushed on this processor\n");
    exit(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libraries_start_no_threads),
        cmocka_unit_test(test_setting_of_a_thread),
        cmocka_unit_test(test_tasks_begin_with_denormals_kept),
        cmocka_unit_test(test_cpu_flushes_and_reference_keeps),
        cmocka_unit_test(test_validation_expects_it),
        cmocka_unit_test(test_all_workers_of_a_team_flush),
        cmocka_unit_test(test_setting_is_restored_after_a_failure),
        cmocka_unit_test(test_training_is_the_same_on_any_threads),
        cmocka_unit_test(test_elements_are_made_with_denormals_kept),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
