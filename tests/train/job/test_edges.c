/* Whole networks at the edges: images of one pixel, numbers of channels that fit no vector, shards of unequal size,
 * denormal and infinite numbers, memory that cannot be had. */
#include "harness/command_run.h"
#include "harness/graph_run.h"
#include "harness/objective.h"
#include "harness/peers.h"

#include "backends/host.h"
#include "base/context.h"
#include "base/random.h"
#include "train/objective/trainer.h"

#include <liana/layers.h>
#include <link.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_BATCH = 8, MAX_PIXELS = 21 * 5 * 3, CLASSES = 3, STEPS = 3 };

/* Allocations of liana's own code fail when they are told to. */
static struct {
    bool armed;
    int left;                    /* allocations until one fails */
    bool failed;                 /* it has */
    const char *code, *code_end; /* where liana's own code is in memory */
} memory;

/* ---- set-up ---- */

typedef struct recipe {
    int64_t height, width, channels;
    int64_t filters;
    int64_t batch_size, microbatch;
    bool mixed;
} recipe;

typedef struct fixture {
    liana_context *context;
    liana__device *device;
    liana_model *model;
    liana__variables variables;
    liana__trainer *trainer;
    liana__arena arena;
    liana__batch batch;
    uint8_t images[MAX_BATCH * MAX_PIXELS];
    int32_t labels[MAX_BATCH];
    uint64_t positions[MAX_BATCH];
} fixture;

static void build(liana_model *model, const recipe *wanted)
{
    liana_input(model, .shape = LIANA_INTS(wanted->height, wanted->width, wanted->channels));
    liana_conv2d(model, .filters = wanted->filters, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .use_bias = false);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_relu(model, .max_value = 6);
    liana_depthwise_conv2d(model, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    liana_conv2d(model, .filters = wanted->filters + 2, .kernel_size = 1, .activation = "swish");
    liana_max_pooling2d(model, .pool_size = 3, .strides = 1, .padding = LIANA_PADDING_SAME);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
}

static liana_status set_up(fixture *own, const recipe *wanted, const char *device, liana__error *error)
{
    memset(own, 0, sizeof *own);
    LIANA_TRY(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->context));
    LIANA_TRY(liana__device_open(own->context, device, &own->device, error));
    liana__variables_init(&own->variables, own->device);
    LIANA_TRY(liana_model_create(own->context, NULL, &own->model));
    build(own->model, wanted);
    LIANA_TRY(liana_model_status(own->model));
    void *sgd = liana__arena_allocate(&own->arena, liana__optimizer_SGD.part.options.size);
    if (!sgd) return liana__fail_memory(error, "the optimizer's options");
    LIANA_TRY(liana__fields_default(&liana__optimizer_SGD.part.options, &own->arena, sgd, error));
    /* The harness has memory of its own, whose failure would be the test's. */
    const bool armed = memory.armed;
    memory.armed = false;
    const liana__objective *objective = liana__test_objective(own->model, "[]");
    memory.armed = armed;
    liana__trainer_options options = {.model = own->model,
                                      .objective = objective,
                                      .optimizer = &liana__optimizer_SGD,
                                      .optimizer_options = sgd,
                                      .batch_size = wanted->batch_size,
                                      .microbatch = wanted->microbatch,
                                      .seed = 5,
                                      .scale = LIANA_SCALE_MINUS_ONE_ONE,
                                      .mixed_precision = wanted->mixed};
    LIANA_TRY(liana__trainer_create(own->device, &options, &own->variables, &own->trainer, error));
    size_t pixels = (size_t)(wanted->height * wanted->width * wanted->channels);
    assert_compare(pixels, <=, MAX_PIXELS);
    assert_compare(wanted->batch_size, <=, MAX_BATCH);
    liana__philox_key key = liana__philox_make_key(3, LIANA__STREAM_TEST, 0);
    for (size_t i = 0; i < pixels * MAX_BATCH; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        own->images[i] = (uint8_t)words[0];
    }
    for (int i = 0; i < MAX_BATCH; i++) {
        own->labels[i] = i % CLASSES;
        own->positions[i] = (uint64_t)i;
    }
    own->batch = liana__test_batch(own->trainer, wanted->batch_size, own->images, own->labels, own->positions);
    return LIANA_OK;
}

static void tear_down(fixture *own)
{
    liana__trainer_destroy(own->trainer);
    liana__variables_free(&own->variables);
    liana__device_close(own->device);
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
    liana__arena_free(&own->arena);
}

static double step(fixture *own, int iteration)
{
    liana__test_sums sums = {{0}};
    liana__error error = {0};
    liana_status status = liana__test_step(own->trainer, &own->batch, 0.05, iteration, &sums, &error);
    if (status == LIANA_OUT_OF_RANGE) return NAN; /* NaN is refused */
    assert_ok(status, &error);
    return (double)sums.values[0] / (double)own->batch.count;
}

/* Multiplies the variable by `factor` in place. */
static void scale_variable(fixture *own, const char *name, float factor)
{
    const liana__variable *variable = liana__variables_find(&own->variables, name);
    assert_non_null(variable);
    float *values = malloc(variable->buffer->size);
    liana__error error = {0};
    assert_ok(own->device->backend->download(variable->buffer, values, &error), &error);
    for (size_t i = 0; i < variable->buffer->size / sizeof *values; i++) values[i] *= factor;
    assert_ok(liana__host_buffer_write(variable->buffer, values, &error), &error);
    free(values);
}

/* ---- sizes ---- */

static void test_odd_sizes_agree_with_the_reference(void **state)
{
    (void)state;
    static const recipe recipes[] = {
        {1, 1, 1, 1, 1, 1, false},   {1, 1, 3, 17, 1, 0, false}, {1, 1, 3, 17, 7, 3, false},
        {2, 1, 3, 13, 5, 2, false},  {3, 3, 1, 31, 1, 1, false}, {21, 5, 3, 7, 8, 3, false},
        {5, 21, 2, 37, 7, 4, false}, {1, 1, 3, 17, 7, 3, true},  {21, 5, 3, 31, 7, 3, true},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        const recipe *wanted = &recipes[i];
        liana__error error = {0};
        fixture fast, plain;
        assert_ok(set_up(&fast, wanted, "cpu", &error), &error);
        recipe exact = *wanted;
        exact.mixed = false;
        assert_ok(set_up(&plain, &exact, "reference", &error), &error);
        double tolerance = wanted->mixed ? 0.05 : 1e-4;
        for (int s = 1; s <= STEPS; s++) {
            double a = step(&fast, s), b = step(&plain, s);
            if (!(fabs(a - b) <= tolerance * fabs(b) + 1e-6)) {
                fail_msg("recipe %zu, step %d: loss %.9g, the reference says %.9g", i, s, a, b);
            }
        }
        tear_down(&fast);
        tear_down(&plain);
    }
}

/* ---- numbers ---- */

/* Weights of every size, from denormal to infinite: the loss is the reference's, finite or not. Batch normalisation
 * takes the size of the kernel before it out of the result, until its square is no number any more. */
static void test_small_and_large_numbers_pass_through(void **state)
{
    (void)state;
    static const recipe wanted = {5, 5, 3, 13, 7, 3, false};
    static const struct {
        const char *name;
        float factor;
        bool finite;
    } cases[] = {
        {"conv2d/kernel", 1e-40f, true},   {"conv2d/kernel", 1e-22f, true},    {"conv2d/kernel", 1e15f, true},
        {"dense/kernel", 1e-41f, true},    {"conv2d_1/kernel", 1e-43f, true},  {"dense/kernel", 1e30f, true},
        {"dense/kernel", INFINITY, false}, {"conv2d/kernel", INFINITY, false}, {"conv2d/kernel", NAN, false},
        {"conv2d_1/kernel", NAN, false},   {"conv2d_1/kernel", 3e38f, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int mixed = 0; mixed < 2; mixed++) {
            liana__error error = {0};
            fixture fast, plain;
            recipe own = wanted;
            own.mixed = mixed;
            assert_ok(set_up(&fast, &own, "cpu", &error), &error);
            assert_ok(set_up(&plain, &wanted, "reference", &error), &error);
            scale_variable(&fast, cases[i].name, cases[i].factor);
            scale_variable(&plain, cases[i].name, cases[i].factor);
            double a = step(&fast, 1), b = step(&plain, 1);
            bool same = isfinite(b) ? fabs(a - b) <= (mixed ? 0.1 : 1e-3) * fabs(b) : !isfinite(a);
            if (!same || (cases[i].finite && !isfinite(a))) {
                fail_msg("%s times %g%s: loss %g, the reference says %g", cases[i].name, (double)cases[i].factor,
                         mixed ? ", mixed precision" : "", a, b);
            }
            /* A second step on the remains neither stops nor hangs. */
            step(&fast, 2);
            tear_down(&fast);
            tear_down(&plain);
        }
    }
}

/* ---- NaN and infinity, in some channels of batch normalisation ---- */

enum { NORM_ROWS = 83, NORM_OUTPUTS = 2 };

typedef liana_tensor activation(liana_location here, liana_tensor x);

static liana_tensor leave_as_it_is(liana_location here, liana_tensor x)
{
    (void)here;
    return x;
}

/* y = activation(batch_norm(x)), and the gradient of x from dy. */
static liana_graph *build_norm(liana_context *context, liana_dtype dtype, int64_t channels, activation *last)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_shape row = liana_shape_of(channels), shape = liana_shape_of(NORM_ROWS, channels);
    liana_tensor x = liana_graph_input(graph, "x", dtype, shape), dy = liana_graph_input(graph, "dy", dtype, shape);
    liana_tensor gamma = liana_graph_input(graph, "gamma", LIANA_F32, row);
    liana_tensor beta = liana_graph_input(graph, "beta", LIANA_F32, row);
    liana_tensor y = liana_op_batch_norm_training(x, gamma, beta, liana_op_batch_norm_statistics(x), 1e-3), dx;
    y = last(LIANA_HERE, y);
    liana_gradients(liana_op_multiply(y, dy), &x, 1, &dx);
    liana_graph_output(graph, "y", y);
    liana_graph_output(graph, "dx", dx);
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

/* Each seventh channel has one number that is not finite, at a place of its own: infinite, -infinite, NaN. */
static double edge_of(int64_t row, int64_t channel)
{
    static const double edges[] = {INFINITY, -INFINITY, NAN};
    bool here = channel % 7 == 3 && row == channel * 5 % NORM_ROWS;
    return here ? edges[channel / 7 % 3] : 0;
}

static liana__test_value drawn_value(liana_dtype dtype, liana_shape shape, uint64_t stream, bool edges)
{
    liana__test_value value = {dtype, shape, malloc(liana__byte_size(dtype, &shape))};
    liana__philox_key key = liana__philox_make_key(11, LIANA__STREAM_TEST, stream);
    int64_t channels = shape.dims[shape.rank - 1];
    assert_non_null(value.data);
    for (int64_t i = 0; i < liana_shape_size(&shape); i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        double number = 0.5 + words[0] * 0x1p-32;
        liana__store(value.data, dtype, i, edges ? 4 * number - 3 + edge_of(i / channels, i % channels) : number);
    }
    return value;
}

/* The other channels are as the reference has them, those are not finite in the forward part. */
static void compare_norms(const liana__test_value *got, const liana__test_value *expected, const char *what)
{
    int64_t channels = got->shape.dims[1];
    for (int64_t i = 0; i < liana_shape_size(&got->shape); i++) {
        double a = liana__load(got->data, got->dtype, i), b = liana__load(expected->data, expected->dtype, i);
        double tolerance = (got->dtype == LIANA_BF16 ? 0.03 : 1e-4) * (1 + fabs(b));
        bool same = isfinite(b) ? fabs(a - b) <= tolerance : !isfinite(a);
        bool affected = i % channels % 7 == 3;
        if (!same || isfinite(b) == affected) {
            fail_msg("%s, row %lld, channel %lld: %g, the reference says %g", what, (long long)(i / channels),
                     (long long)(i % channels), a, b);
        }
    }
}

static void test_numbers_that_are_none_stay_in_their_channel(void **state)
{
    (void)state;
    static activation *const activations[] = {leave_as_it_is, liana_op_relu_at, liana_op_relu6_at, liana_op_swish_at};
    static const int64_t channels[] = {5, 16, 24, 37, 80};
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana__device *devices[2];
    assert_ok(liana__device_open(context, "cpu", &devices[0], &context->error), &context->error);
    assert_ok(liana__device_open(context, "reference", &devices[1], &context->error), &context->error);
    for (int i = 0; i < 2 * 4 * 5; i++) {
        liana_dtype dtype = i % 2 ? LIANA_BF16 : LIANA_F32;
        int64_t count = channels[i / 8];
        liana_graph *graph = build_norm(context, dtype, count, activations[i / 2 % 4]);
        liana_shape row = liana_shape_of(count), shape = liana_shape_of(NORM_ROWS, count);
        liana__test_value inputs[] = {drawn_value(dtype, shape, 1, true), drawn_value(dtype, shape, 2, false),
                                      drawn_value(LIANA_F32, row, 3, false), drawn_value(LIANA_F32, row, 4, false)};
        liana__test_value results[2][NORM_OUTPUTS];
        for (int d = 0; d < 2; d++) liana__test_run(devices[d], graph, inputs, results[d]);
        compare_norms(&results[0][0], &results[1][0], "y");
        compare_norms(&results[0][1], &results[1][1], "dx");
        for (int d = 0; d < 2; d++) liana__test_free_values(results[d], NORM_OUTPUTS);
        liana__test_free_values(inputs, 4);
        liana_graph_destroy(graph);
    }
    for (int d = 0; d < 2; d++) liana__device_close(devices[d]);
    liana_context_destroy(context);
}

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void test_memory_that_cannot_be_had(void **state)
{
    (void)state;
    liana__test_skip("the sanitizer needs all addresses");
}

static void test_each_allocation_may_fail(void **state)
{
    (void)state;
    liana__test_skip("the sanitizer has its own malloc");
}

#else

/* A hidden layer of 200,000 to 16 million units under limits of the address space. */
static void test_memory_that_cannot_be_had(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    static const struct {
        unsigned limit; /* MiB */
        const char *units;
    } cases[] = {{256, "200000"}, {512, "200000"}, {1024, "800000"}, {2048, "16000000"}};
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char layers[128];
        snprintf(layers, sizeof layers,
                 "model.layers=[Flatten, Dense: {units: %s}, "
                 "Dense: {units: 4, activation: softmax}]",
                 cases[i].units);
        limit = before;
        limit.rlim_cur = (rlim_t)cases[i].limit << 20;
        assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
        liana__test_result got = liana__test_process(NULL, "train", config, layers);
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
        assert_refused(got, 1, "out of memory for ");
    }
    /* Without a limit, but more than any machine has. */
    assert_refused(liana__test_process(NULL, "train", config, "train.batch_size=1000000", "train.microbatch=1000000",
                                       "model.layers=[Conv2D: {filters: 100000, kernel_size: 3}, Flatten, Dense: "
                                       "{units: 4, activation: softmax}]"),
                   1, "out of memory for ", "microbatch");
}

/* These take the place of the C library's functions. */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Only liana's requests fail. */
static bool fails(const void *caller)
{
    if (!memory.armed || (const char *)caller < memory.code || (const char *)caller >= memory.code_end) return false;
    if (memory.left-- > 0) return false;
    memory.armed = false;
    memory.failed = true;
    return true;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
    return *block ? 0 : 12; /* ENOMEM */
}

static int find_code(struct dl_phdr_info *object, size_t size, void *user)
{
    (void)size;
    const char *within = user;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const char *code = (const char *)(uintptr_t)(object->dlpi_addr + part->p_vaddr);
        if (part->p_type != PT_LOAD || within < code || within >= code + part->p_memsz) continue;
        memory.code = code;
        memory.code_end = code + part->p_memsz;
        return 1;
    }
    return 0;
}

/* From an empty context to the end of a step, with one allocation that fails: the first, the second, ... Each must be
 * said, or be of no consequence. */
static void fail_each_allocation(bool mixed)
{
    const recipe wanted = {5, 5, 3, 13, 7, 3, mixed};
    enum { WITHOUT_FAILURE = -1 };
    double loss = 0;
    int refused = 0;
    assert_int_equal(dl_iterate_phdr(find_code, (void *)(uintptr_t)liana__trainer_step), 1);
    for (int count = WITHOUT_FAILURE;; count++) {
        liana__error error = {0};
        fixture own;
        liana__test_sums sums = {{0}};
        memory.left = count;
        memory.failed = false;
        memory.armed = count != WITHOUT_FAILURE;
        liana_status status = set_up(&own, &wanted, "cpu", &error);
        if (status == LIANA_OK) status = liana__test_step(own.trainer, &own.batch, 0.1, 1, &sums, &error);
        memory.armed = false;
        tear_down(&own);
        if (count == WITHOUT_FAILURE) {
            assert_ok(status, &error);
            loss = (double)sums.values[0];
            continue;
        }
        bool harmless = status == LIANA_OK && (double)sums.values[0] == loss;
        if (status != LIANA_OUT_OF_MEMORY && !harmless) {
            fail_msg("allocation %d failed, and the status is %s: %s", count, liana_status_name(status), error.message);
        }
        refused += status == LIANA_OUT_OF_MEMORY;
        if (!memory.failed) break;
    }
    assert_compare(refused, >, 100);
}

static void test_each_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation(false);
    fail_each_allocation(true);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_sizes_agree_with_the_reference),
        cmocka_unit_test(test_small_and_large_numbers_pass_through),
        cmocka_unit_test(test_numbers_that_are_none_stay_in_their_channel),
        cmocka_unit_test(test_memory_that_cannot_be_had),
        cmocka_unit_test(test_each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
