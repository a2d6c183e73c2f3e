/* Updates of every architecture by the public interface: a backbone with a classifier, two images of 192 x 192. The
 * test takes a small network and small images. `make check-zoo` runs
 *   test_zoo_training all|MODEL...
 * which prints a line for each architecture, with its largest memory, and ends with 1 where one fails. */
#include "harness/harness.h"

#include "formats/json.h"
#include "models/models.h"

#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 2, CLASSES = 5, LARGE_SIZE = 192, NUM_THREADS = 2, MOST_WATCHED = 64 };

static liana_context *context;
static liana_model *model;

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = NUM_THREADS}, &context) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    return 0;
}

static void build(const liana__architecture *architecture, int size)
{
    liana__arena arena = {0};
    liana__value *map;
    char text[128];
    snprintf(text, sizeof text, "{\"input_shape\": [%d, %d, 3], \"include_top\": false, \"pooling\": \"avg\"}", size,
             size);
    assert_ok(liana__json_parse(text, strlen(text), "options", &arena, &map, &context->error), &context->error);
    assert_ok(liana__architecture_add(model, LIANA_HERE, architecture, map, architecture->name), &context->error);
    liana__arena_free(&arena);
    liana_dense(model, .units = CLASSES, .activation = "softmax", .name = "classifier");
    assert_ok(liana_model_status(model), &context->error);
}

/* Waves, which differ from image to image and from channel to channel. */
static float *draw_images(int size)
{
    const int count = BATCH * size * size * 3;
    float *images = malloc((size_t)count * sizeof *images);
    assert_non_null(images);
    for (int i = 0; i < count; i++) {
        const int image = i / (size * size * 3), y = i / (size * 3) % size, x = i / 3 % size, channel = i % 3;
        const double wave = sin(0.1 * (x + 1) * (image + 1)) + cos(0.07 * y * (channel + 1));
        images[i] = (float)(128 + 60 * wave);
    }
    return images;
}

static double *take_sums(void)
{
    double *sums = calloc(model->num_weights + 1, sizeof *sums);
    assert_non_null(sums);
    for (size_t i = 0; i < model->num_weights; i++) {
        liana_array values;
        assert_ok(liana_model_get_weights(model, model->weights[i].name, &values), &context->error);
        const float *numbers = values.data;
        const int64_t count = liana_shape_size(&values.shape);
        for (int64_t k = 0; k < count && k < MOST_WATCHED; k++) sums[i] += (double)numbers[k] * (double)(k + 1);
        for (int64_t k = 0; k < count; k++) {
            if (!isfinite(numbers[k])) fail_msg("%s: number %lld is %g", values.name, (long long)k, (double)numbers[k]);
        }
    }
    return sums;
}

/* How many of the trained weights an update has changed. */
static double find_changed(const double *before, const double *after)
{
    size_t changed = 0, count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        count++;
        changed += before[i] != after[i];
    }
    return (double)changed / (double)count;
}

typedef struct outcome {
    double loss, then; /* of two updates; the second tells what the first has made of the loss */
    double changed;    /* share of the trained weights that the first has changed */
} outcome;

static outcome train(const liana__architecture *architecture, int size)
{
    build(architecture, size);
    float *images = draw_images(size);
    const int32_t labels[BATCH] = {4, 1};
    const liana_array arrays[] = {
        {liana_model_input(model, 0).name, LIANA_F32, {4, {BATCH, size, size, 3}}, images},
        {"classifier", LIANA_S32, {1, {BATCH}}, labels},
    };
    const liana_fit_options options = {.optimizer = "{name: SGD, learning_rate: 0.001}"};
    liana_results first, second;
    double *before = take_sums();
    assert_ok(liana_train_on_batch(model, &options, arrays, 2, &first), &context->error);
    double *after = take_sums();
    assert_ok(liana_train_on_batch(model, &options, arrays, 2, &second), &context->error);
    const outcome found = {first.loss, second.loss, find_changed(before, after)};
    free(before);
    free(after);
    free(images);
    assert_compare(found.loss, >, 0);
    assert_compare(found.loss, <, INFINITY);
    assert_compare(found.then, >, 0);
    assert_compare(found.then, <, INFINITY);
    assert_compare(found.then, !=, found.loss);
    assert_compare(found.changed, >, 0.5);
    return found;
}

/* ---- all of them ---- */

/* Its memory is a process's own. */
static bool train_apart(const liana__architecture *architecture)
{
    const time_t began = time(NULL);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (set_up(NULL) != 0) _exit(1);
        const outcome found = train(architecture, LARGE_SIZE);
        printf("%-18s %10lld  %10.4g %10.4g %8.0f%%", architecture->name,
               (long long)liana_model_info(model).num_parameters, found.loss, found.then, 100 * found.changed);
        tear_down(NULL);
        fflush(NULL);
        _exit(0);
    }
    int status = 1;
    struct rusage used = {0};
    const bool done = child > 0 && wait4(child, &status, 0, &used) == child && status == 0;
    if (!done) printf("%-18s failed\n", architecture->name);
    if (done) printf(" %8ld MiB %5lld s\n", used.ru_maxrss / 1024, (long long)(time(NULL) - began));
    fflush(stdout);
    return done;
}

static int train_models(char **names)
{
    const bool all = strcmp(names[0], "all") == 0;
    size_t failed = 0;
    printf("Two updates with %d images of %d x %d, %d threads.\n\n%-18s %10s  %10s %10s %9s %12s\n", BATCH, LARGE_SIZE,
           LARGE_SIZE, NUM_THREADS, "model", "parameters", "loss", "then", "changed", "memory");
    for (size_t i = 0; all && liana__architectures[i]; i++) failed += !train_apart(liana__architectures[i]);
    for (size_t i = 0; !all && names[i]; i++) {
        const liana__architecture *architecture = liana__architecture_find(names[i], NULL);
        if (!architecture) printf("there is no architecture '%s'\n", names[i]);
        failed += !architecture || !train_apart(architecture);
    }
    if (failed) printf("\n%zu of them failed.\n", failed);
    return failed ? 1 : 0;
}

/* ---- the test ---- */

/* An odd size, with paddings and croppings of both kinds. */
static void test_nasnet_mobile(void **state)
{
    (void)state;
    train(liana__architecture_find("NASNetMobile", NULL), 45);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nasnet_mobile, set_up, tear_down),
    };
    if (argc > 1) return train_models(argv + 1);
    return cmocka_run_group_tests_name("zoo_training", tests, NULL, NULL);
}
