/* Predictors at work: no allocation in a loop, several threads with the same weights, several inputs and outputs,
 * states, other devices. */
#include "harness/pjrt_plugin.h"
#include "harness/tiny_fit.h"

#include "formats/image.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

static atomic_size_t num_allocations;

#if COUNTS_ALLOCATIONS
/* In place of the C library's, for this program and the libraries that it uses. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : 12;
}

/* oneDNN is C++, and liana is not: what operator new gives is oneDNN's. A call of a primitive makes a few small
 * objects, and deletes them before it returns. */
static atomic_size_t num_new, num_deleted, most_new;
void *_Znwm(size_t size);
void _ZdlPv(void *memory);
void _ZdlPvm(void *memory, size_t size);
void *_Znwm(size_t size)
{
    atomic_fetch_add(&num_new, 1);
    if (size > atomic_load(&most_new)) atomic_store(&most_new, size);
    return __libc_malloc(size);
}
void _ZdlPv(void *memory)
{
    atomic_fetch_add(&num_deleted, memory != NULL);
    free(memory);
}
void _ZdlPvm(void *memory, size_t size)
{
    (void)size;
    _ZdlPv(memory);
}
#else
static atomic_size_t num_new, num_deleted, most_new;
#endif

enum { SIDE = 32, MOST = 12, CLASSES = 5 };

typedef struct fixture {
    liana_context *context;
    liana_model *model;
    float pixels[MOST][SIDE * SIDE * 3];
} fixture;

static float noise(uint32_t i)
{
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i = (i ^ (i >> 4)) * 0x27d4eb2d;
    return (float)((i ^ (i >> 15)) % 256);
}

typedef enum network { MOBILENET_V2, SMALL } network;

/* A network with its first weights. */
static fixture *set_up_network(network which)
{
    fixture *own = calloc(1, sizeof *own);
    const liana_preprocessing known = {.scale = LIANA_SCALE_MINUS_ONE_ONE};
    assert_non_null(own);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->context), LIANA_OK);
    assert_int_equal(liana_model_create(own->context, "net", &own->model), LIANA_OK);
    if (which == MOBILENET_V2) {
        liana_mobilenet_v2(own->model, .alpha = 0.35, .input_shape = LIANA_INTS(SIDE, SIDE, 3), .include_top = false,
                           .pooling = LIANA_POOLING_AVG);
    } else {
        liana_input(own->model, .shape = LIANA_INTS(SIDE, SIDE, 3));
        liana_conv2d(own->model, .filters = 4, .kernel_size = 3, .strides = 4, .activation = "relu");
        liana_batch_normalization(own->model);
        liana_global_average_pooling2d(own->model);
    }
    liana_dense(own->model, .units = CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(own->model), LIANA_OK);
    assert_int_equal(liana_model_set_preprocessing(own->model, &known), LIANA_OK);
    for (uint32_t i = 0; i < MOST; i++) {
        for (uint32_t k = 0; k < SIDE * SIDE * 3; k++) own->pixels[i][k] = noise(i * SIDE * SIDE * 3 + k);
    }
    return own;
}

static fixture *set_up(void)
{
    return set_up_network(MOBILENET_V2);
}

static void tear_down(fixture *own)
{
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
    free(own);
}

static liana_predictor *make(const fixture *own, const liana_predictor_options *options)
{
    liana_predictor *predictor;
    const liana_status status = liana_predictor_create(own->model, options, &predictor);
    if (status != LIANA_OK) print_error("%s\n", liana_context_message(own->context));
    assert_int_equal(status, LIANA_OK);
    return predictor;
}

static void run(liana_predictor *predictor, const fixture *own, int64_t count, float *outputs)
{
    const liana_array array = {"image", LIANA_F32, liana_shape_of(count, SIDE, SIDE, 3), own->pixels};
    const liana_status status = liana_predictor_run(predictor, &array, 1, outputs);
    if (status != LIANA_OK) print_error("%s\n", liana_predictor_message(predictor));
    assert_int_equal(status, LIANA_OK);
}

/* Batches of all sizes; images of many sizes, with gaps, grey and with alpha. */
static void run_all(liana_predictor *predictor, const fixture *own, const uint8_t *bytes)
{
    static const liana_pixels frames[] = {{NULL, 40, 30, 3, 0},  {NULL, 9, 50, 1, 0},  {NULL, 64, 64, 4, 0},
                                          {NULL, 20, 20, 3, 90}, {NULL, 32, 32, 3, 0}, {NULL, 33, 7, 4, 40}};
    float outputs[MOST][CLASSES];
    for (int64_t count = 1; count <= MOST; count++) run(predictor, own, count, outputs[0]);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        liana_pixels frame = frames[i];
        frame.data = bytes;
        assert_int_equal(liana_predictor_run_images(predictor, &frame, 1, outputs[0]), LIANA_OK);
    }
}

static void test_a_loop_allocates_nothing(void **state)
{
    (void)state;
    fixture *own = set_up();
    uint8_t *bytes = malloc(64 * 64 * 4);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < 64 * 64 * 4; i++) bytes[i] = (uint8_t)noise(i);
    liana_predictor *predictor = make(own, &(liana_predictor_options){.batch_size = MOST});
    run_all(predictor, own, bytes);
    const size_t before = atomic_load(&num_allocations);
    const size_t held = atomic_load(&num_new) - atomic_load(&num_deleted);
    atomic_store(&most_new, 0);
    for (int i = 0; i < 3; i++) run_all(predictor, own, bytes);
    assert_compare(atomic_load(&num_allocations), ==, before);
    assert_compare(atomic_load(&num_new) - atomic_load(&num_deleted), ==, held);
    assert_compare(atomic_load(&most_new), <, 1024);
    assert_compare(before, >, COUNTS_ALLOCATIONS ? 100 : -1);
    liana_predictor_close(predictor);
    free(bytes);
    tear_down(own);
}

/* ---- several threads ---- */

typedef struct worker {
    liana_predictor *predictor;
    const fixture *own;
    const float (*expected)[CLASSES];
    size_t num_wrong;
} worker;

static void *work(void *user)
{
    worker *self = user;
    float outputs[MOST][CLASSES];
    for (int i = 0; i < 30; i++) {
        const int64_t count = 1 + i % MOST;
        const liana_array array = {"image", LIANA_F32, liana_shape_of(count, SIDE, SIDE, 3), self->own->pixels};
        if (liana_predictor_run(self->predictor, &array, 1, outputs[0]) != LIANA_OK) self->num_wrong++;
        for (int64_t k = 0; k < count * CLASSES; k++) {
            const float off = outputs[k / CLASSES][k % CLASSES] - self->expected[k / CLASSES][k % CLASSES];
            if (!(fabsf(off) < 1e-5f)) self->num_wrong++;
        }
        /* Errors are the predictor's own. */
        if (liana_predictor_run(self->predictor, &array, 0, outputs[0]) != LIANA_INVALID_ARGUMENT) self->num_wrong++;
        if (!strstr(liana_predictor_message(self->predictor), "found 0 examples")) self->num_wrong++;
    }
    return NULL;
}

static void test_predictors_share_weights_in_threads(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    fixture *own = set_up();
    worker workers[THREADS];
    pthread_t threads[THREADS];
    float expected[MOST][CLASSES];
    const liana_predictor_options options = {.batch_size = MOST, .num_threads = 2};
    liana_predictor *first = make(own, &options);
    run(first, own, MOST, expected[0]);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){NULL, own, expected, 0};
        assert_int_equal(liana_predictor_share(first, &options, &workers[i].predictor), LIANA_OK);
    }
    /* The first one may go; so may the model's weights change: these are those of its making. */
    liana_predictor_close(first);
    const liana_weight kernel = liana_model_weight(own->model, liana_model_info(own->model).num_weights - 2);
    float *zeros = calloc((size_t)liana_shape_size(&kernel.shape), sizeof *zeros);
    const liana_array changed = {kernel.name, LIANA_F32, kernel.shape, zeros};
    assert_non_null(zeros);
    assert_int_equal(liana_model_set_weights(own->model, &changed, 1), LIANA_OK);
    free(zeros);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].num_wrong, 0);
        liana_predictor_close(workers[i].predictor);
    }
    liana_predictor *now = make(own, NULL);
    float outputs[CLASSES];
    run(now, own, 1, outputs);
    assert_near(outputs[0], 0.2, 1e-6);
    liana_predictor_close(now);
    tear_down(own);
}

/* Threads that decode while the predictor runs. */
static void *decode(void *user)
{
    worker *self = user;
    float pixels[SIDE * SIDE * 3];
    liana__text file = {0};
    uint8_t *bytes = malloc(64 * 48 * 3);
    liana_image_decoder *decoder;
    if (!bytes || liana_image_decoder_create(self->predictor, NULL, &decoder) != LIANA_OK)
        return self->num_wrong++, NULL;
    for (uint32_t i = 0; i < 64 * 48 * 3; i++) bytes[i] = (uint8_t)noise(i);
    if (liana__jpeg_encode(bytes, 64, 48, 3, 90, &file, NULL) != LIANA_OK) self->num_wrong++;
    for (int i = 0; i < 20; i++) {
        if (liana_image_decode(decoder, file.data, file.length, pixels) != LIANA_OK) self->num_wrong++;
        if (liana_image_decode(decoder, file.data, 40, pixels) == LIANA_OK) self->num_wrong++;
        if (!*liana_image_decoder_message(decoder)) self->num_wrong++;
    }
    liana_image_decoder_destroy(decoder);
    liana__text_free(&file);
    free(bytes);
    return NULL;
}

static void test_images_are_decoded_beside_a_run(void **state)
{
    (void)state;
    fixture *own = set_up();
    float outputs[MOST][CLASSES];
    worker self = {.predictor = make(own, &(liana_predictor_options){.batch_size = MOST})};
    worker other = {.predictor = make(own, NULL)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, decode, &other), 0);
    for (int i = 0; i < 10; i++) run(self.predictor, own, MOST, outputs[0]);
    pthread_join(thread, NULL);
    assert_int_equal(other.num_wrong, 0);
    liana_image_decoder *small;
    const liana_image_decoder_options limit = {.max_pixels = 100};
    assert_int_equal(liana_image_decoder_create(self.predictor, &limit, &small), LIANA_OK);
    liana__text file = {0};
    assert_int_equal(liana__png_encode((const uint8_t *)own->pixels, 11, 10, 3, &file, NULL), LIANA_OK);
    assert_int_equal(liana_image_decode(small, file.data, file.length, own->pixels[0]), LIANA_OUT_OF_RANGE);
    liana__text_free(&file);
    liana_image_decoder_destroy(small);
    liana_predictor_close(self.predictor);
    liana_predictor_close(other.predictor);
    tear_down(own);
}

/* ---- several inputs and outputs ---- */

static void test_several_inputs_and_outputs(void **state)
{
    (void)state;
    enum { COUNT = 7 };
    fixture own = {0};
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    done(liana_model_create(own.context, NULL, &own.model));
    liana_layer ids = liana_input(own.model, .shape = LIANA_INTS(3), .dtype = LIANA_S32, .name = "ids");
    liana_layer size = liana_input(own.model, .shape = LIANA_INTS(2), .name = "size");
    liana_layer embedded = liana_embedding(own.model, .input_dim = 10, .output_dim = 4, .input = ids);
    liana_layer flat = liana_flatten(own.model, .input = embedded);
    liana_layer both = liana_concatenate(own.model, .inputs = {flat, size});
    liana_layer kind = liana_dense(own.model, .units = 3, .activation = "softmax", .name = "kind", .input = both);
    liana_layer price = liana_dense(own.model, .units = 2, .name = "price", .input = both);
    liana_model_outputs(own.model, kind, price);
    done(liana_model_status(own.model));
    int32_t numbers[COUNT][3];
    float sizes[COUNT][2], expected[COUNT][5], outputs[COUNT][5];
    for (int i = 0; i < COUNT * 3; i++) numbers[i / 3][i % 3] = i * 7 % 10;
    for (int i = 0; i < COUNT * 2; i++) sizes[i / 2][i % 2] = (float)i - 5;
    liana_array arrays[] = {{"size", LIANA_F32, liana_shape_of(COUNT, 2), sizes},
                            {"ids", LIANA_S32, liana_shape_of(COUNT, 3), numbers}};
    done(liana_predict_on_batch(own.model, arrays, 2, expected[0]));
    liana_predictor *predictor = make(&own, &(liana_predictor_options){.batch_size = COUNT});
    const liana_predictor_facts facts = liana_predictor_info(predictor);
    assert_int_equal(facts.num_inputs, 2);
    assert_int_equal(facts.num_outputs, 2);
    assert_int_equal(facts.num_values, 5);
    assert_false(facts.takes_images);
    assert_int_equal(liana_predictor_output(predictor, 1).offset, 3);
    assert_string_equal(liana_predictor_input(predictor, 0).name, "ids");
    assert_int_equal(liana_predictor_input(predictor, 0).num_ids, 10);
    assert_int_equal(liana_predictor_run(predictor, arrays, 2, outputs[0]), LIANA_OK);
    assert_memory_equal(outputs, expected, sizeof outputs);
    /* Mistakes. */
    numbers[4][1] = 10;
    assert_int_equal(liana_predictor_run(predictor, arrays, 2, outputs[0]), LIANA_OUT_OF_RANGE);
    assert_says(liana_predictor_message(predictor), "example 4 of 'ids' has the id 10, expected 0 to 9");
    numbers[4][1] = 0;
    sizes[6][1] = INFINITY;
    assert_int_equal(liana_predictor_run(predictor, arrays, 2, outputs[0]), LIANA_OUT_OF_RANGE);
    assert_says(liana_predictor_message(predictor), "example 6 of 'size'");
    assert_int_equal(liana_predictor_run(predictor, arrays, 1, outputs[0]), LIANA_INVALID_ARGUMENT);
    assert_says(liana_predictor_message(predictor), "no array for the input 'ids'");
    arrays[0].name = "other";
    assert_int_equal(liana_predictor_run(predictor, arrays, 2, outputs[0]), LIANA_INVALID_ARGUMENT);
    assert_says(liana_predictor_message(predictor), "array 0 'other' is no input of the model: expected 2 arrays");
    arrays[0].name = NULL;
    assert_int_equal(liana_predictor_run(predictor, arrays, 2, outputs[0]), LIANA_INVALID_ARGUMENT);
    assert_says(liana_predictor_message(predictor), "array 0 without a name is no input");
    const liana_pixels image = {(const unsigned char *)sizes, 2, 2, 1, 0};
    assert_int_equal(liana_predictor_run_images(predictor, &image, 1, outputs[0]), LIANA_INVALID_ARGUMENT);
    assert_says(liana_predictor_message(predictor), "does not take pixels");
    liana_predictor_close(predictor);
    liana_model_destroy(own.model);
    liana_context_destroy(own.context);
}

/* A stateful layer goes on where the last run ended, as with liana_predict_on_batch. */
static void test_states_go_on(void **state)
{
    (void)state;
    enum { BATCH = 2, STEPS = 3 };
    fixture own = {0};
    float x[BATCH][STEPS] = {{1, 2, 3}, {-1, 0, 1}}, expected[BATCH], outputs[BATCH];
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    done(liana_model_create(own.context, NULL, &own.model));
    liana_input(own.model, .shape = LIANA_INTS(STEPS, 1), .batch_size = BATCH);
    liana_simple_rnn(own.model, .units = 1, .stateful = true);
    done(liana_model_status(own.model));
    const liana_array array = {"x", LIANA_F32, liana_shape_of(BATCH, STEPS, 1), x};
    const liana_array one = {"x", LIANA_F32, liana_shape_of(1, STEPS, 1), x};
    liana_predictor *predictor = make(&own, NULL), *other;
    assert_int_equal(liana_predictor_info(predictor).batch_size, BATCH);
    assert_int_equal(liana_predictor_share(predictor, NULL, &other), LIANA_OK);
    float history[3][BATCH];
    for (int i = 0; i < 3; i++) {
        done(liana_predict_on_batch(own.model, &array, 1, expected));
        assert_int_equal(liana_predictor_run(predictor, &array, 1, history[i]), LIANA_OK);
        assert_memory_equal(history[i], expected, sizeof expected);
        if (i == 0) continue;
        /* The states of the other one are its own: a run behind. */
        assert_int_equal(liana_predictor_run(other, &array, 1, outputs), LIANA_OK);
        assert_memory_equal(outputs, history[i - 1], sizeof outputs);
        assert_compare(memcmp(history[i], history[i - 1], sizeof outputs), !=, 0);
    }
    assert_int_equal(liana_predictor_run(predictor, &one, 1, outputs), LIANA_INVALID_ARGUMENT);
    assert_says(liana_predictor_message(predictor), "found 1 examples, expected 2: the model keeps states");
    liana_predictor_close(predictor);
    liana_predictor_close(other);
    liana_model_destroy(own.model);
    liana_context_destroy(own.context);
}

/* ---- devices ---- */

static void compare_devices(const char *device, double tolerance)
{
    fixture *own = set_up_network(SMALL);
    float expected[MOST][CLASSES], outputs[MOST][CLASSES];
    liana_predictor *cpu = make(own, &(liana_predictor_options){.batch_size = MOST});
    liana_predictor *other = make(own, &(liana_predictor_options){.batch_size = MOST, .device = device}), *shared;
    for (int64_t count = 1; count <= MOST; count += 5) {
        run(cpu, own, count, expected[0]);
        run(other, own, count, outputs[0]);
        for (int64_t i = 0; i < count * CLASSES; i++) {
            assert_near(outputs[i / CLASSES][i % CLASSES], expected[i / CLASSES][i % CLASSES], tolerance, count, i);
        }
    }
    /* Each predictor has a client of its own; the plugin counts the objects of one. */
    liana_predictor_close(other);
    assert_int_equal(liana_predictor_share(cpu, &(liana_predictor_options){.device = device}, &shared), LIANA_OK);
    run(shared, own, 1, outputs[0]);
    run(cpu, own, 1, expected[0]);
    for (int64_t i = 0; i < CLASSES; i++) assert_near(outputs[0][i], expected[0][i], tolerance, i);
    liana_predictor_close(shared);
    liana_predictor_close(cpu);
    tear_down(own);
}

static void test_the_reference_says_the_same(void **state)
{
    (void)state;
    compare_devices("reference", 1e-5);
}

static void test_a_plugin_says_the_same(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    compare_devices(liana__test_plugin_device(""), 1e-4);
    liana__test_plugin_is_clean();
}

static void test_devices_that_are_not_there(void **state)
{
    (void)state;
    fixture *own = set_up();
    liana_predictor *predictor;
    const liana_predictor_options options = {.device = "cpux"};
    assert_int_equal(liana_predictor_create(own->model, &options, &predictor), LIANA_INVALID_CONFIG);
    assert_says(liana_context_message(own->context), "cpux");
    assert_null(predictor);
    tear_down(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loop_allocates_nothing),
        cmocka_unit_test(test_predictors_share_weights_in_threads),
        cmocka_unit_test(test_images_are_decoded_beside_a_run),
        cmocka_unit_test(test_several_inputs_and_outputs),
        cmocka_unit_test(test_states_go_on),
        cmocka_unit_test(test_the_reference_says_the_same),
        cmocka_unit_test(test_a_plugin_says_the_same),
        cmocka_unit_test(test_devices_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
