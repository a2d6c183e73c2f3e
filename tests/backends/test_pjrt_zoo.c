/* Gradients of models of the zoo on the PJRT plugin for CPUs against liana's CPU: a shard in float32 with the outputs
 * of all layers, the loss, and the gradients of all variables and statistics, judged as `liana compare-devices` judges
 * (train/training/device_comparison.h). The test takes a small model, and one that is computed wrongly. `make
 * check-zoo` runs
 *   test_pjrt_zoo all|MODEL...
 * which prints a line for each model, and ends with 1 where one fails; with 77 where there is no plugin.
 *
 * Against the CPU and not the reference device, whose loops take hours for the large ones. The CPU's kernels are held
 * to the reference op by op (test_ops.c) and by models (test_model_zoo.c).
 *
 * With the first weights of a model a unit in the last place would say little: half of all numbers before a relu are
 * negative, some are nearly 0, and one that changes its sign changes gradients by whole percents. So the offsets of
 * normalisations (beta) begin near 2: one number in forty is negative, few are near 0, and all ops still matter. */
#include "harness/harness.h"

#include "base/random.h"
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "models/models.h"
#include "report/reports.h"
#include "train/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NUM_RUNS = 3, MOST_NUMBERS = 8192 };

/* A gradient of which more than this is explained by rounding is not compared with anything. */
static const double MOST_EXPLAINED = 0.05;

/* ---- a device that is wrong ---- */

/* The middle element of downloaded tensors of this shape is moved. */
static liana_shape wrong_shape;

static liana_status download_wrongly(const liana__buffer *buffer, void *data, liana__error *error)
{
    LIANA_TRY(liana__backend_pjrt.download(buffer, data, error));
    if (buffer->dtype != LIANA_F32 || !liana_shape_equal(&buffer->shape, &wrong_shape)) return LIANA_OK;
    float *values = data;
    values[liana_shape_size(&wrong_shape) / 2] *= 1.1F;
    return LIANA_OK;
}

/* ---- a comparison ---- */

typedef struct zoo_options {
    const char *model, *more; /* "MobileNet"; ", alpha: 0.25" */
    int size, batch;
    bool wrong;
} zoo_options;

typedef struct zoo_run {
    liana__arena arena;
    liana__config config;
    liana_context *contexts[NUM_RUNS];
    liana__run runs[NUM_RUNS];
    liana__device_comparison comparison;
} zoo_run;

static void write_config(const zoo_options *options, char *path, size_t size)
{
    char text[1024];
    snprintf(text, sizeof text,
             "data: {train: '%s/train/*.tfrec', class_names: '%s/classes.txt', image_size: [%d, %d]}\n"
             "model: {base: %s, include_top: true%s}\n"
             "train: {epochs: 1, batch_size: %d, microbatch: %d, precision: float32, optimizer: SGD, seed: 1}\n",
             liana__test_path("bed"), liana__test_path("bed"), options->size, options->size, options->model,
             options->more, options->batch, options->batch);
    snprintf(path, size, "%s", liana__test_write("zoo.yaml", text, strlen(text)));
}

static void lift_offsets(liana__run *run)
{
    static float values[MOST_NUMBERS];
    liana__error error = {0};
    for (size_t i = 0; i < run->core.variables.count; i++) {
        liana__variable *variable = &run->core.variables.items[i];
        const char *last = strrchr(variable->name, '/');
        if (!last || strcmp(last, "/beta") != 0) continue;
        const int64_t count = liana_shape_size(&variable->buffer->shape);
        assert_compare(count, <=, MOST_NUMBERS);
        const liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, (uint32_t)i);
        for (int64_t k = 0; k < count; k++) {
            uint32_t words[4];
            liana__philox(key, (const uint32_t[]){(uint32_t)k, 0, 0, 0}, words);
            values[k] = (float)(1.75 + 0.5 * liana__uniform_double(words[0], words[1]));
        }
        assert_ok(liana__variable_write(variable, values, &error), &error);
    }
}

/* On the CPU, on the plugin, and on a CPU that adds in another order. */
static void compare(const zoo_options *options, zoo_run *own)
{
    static const char *const devices[NUM_RUNS] = {"cpu", "pjrt:cpu", "cpu"};
    char path[512];
    *own = (zoo_run){0};
    liana__error error = {0};
    write_config(options, path, sizeof path);
    assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, path, NULL, 0, &own->arena, &own->config, &error),
              &error);
    for (int i = 0; i < NUM_RUNS; i++) {
        assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->contexts[i]), LIANA_OK);
        if (i == 2) {
            const liana__isa isa = own->contexts[0]->isa;
            own->contexts[i]->isa = isa > LIANA__ISA_AVX2 ? LIANA__ISA_AVX2 : LIANA__ISA_BASELINE;
        }
        own->config.job.device = devices[i];
        const liana__run_options opened = {.training = true, .unprepared = true};
        assert_ok(liana__run_open(own->contexts[i], &own->config, &opened, &own->runs[i], &error), &error);
    }
    lift_offsets(&own->runs[0]);
    liana__backend wrong = liana__backend_pjrt;
    wrong.download = download_wrongly;
    if (options->wrong) own->runs[1].core.device->backend = &wrong;
    const liana__device_comparison_options wanted = {.first = &own->runs[0].core,
                                                     .second = &own->runs[1].core,
                                                     .moved = &own->runs[2].core,
                                                     .names = {"cpu", "pjrt:cpu"},
                                                     .loader = own->runs[0].training.loader};
    const liana_status status = liana__device_comparison_run(&wanted, &own->comparison, &error);
    own->runs[1].core.device->backend = &liana__backend_pjrt;
    assert_ok(status, &error);
}

static void finish(zoo_run *own)
{
    liana__device_comparison_free(&own->comparison);
    for (int i = 0; i < NUM_RUNS; i++) {
        liana__run_close(&own->runs[i]);
        liana_context_destroy(own->contexts[i]);
    }
    liana__arena_free(&own->arena);
}

/* ---- the judgement ---- */

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct judgement {
    size_t num_others, num_gradients, num_zeros; /* tensors; gradients that are all zeros */
    const liana__device_difference *nearest;     /* that uses most of its explained difference */
    double middle; /* the middle of the explained differences of gradients, as a part of their largest number */
} judgement;

static double share_of(const liana__device_difference *item)
{
    return item->largest == 0 ? 0 : item->largest / item->explained;
}

static judgement judge(const liana__device_comparison *comparison)
{
    judgement made = {.nearest = &comparison->items[0]};
    double *explained = calloc(comparison->count, sizeof *explained);
    assert_non_null(explained);
    for (size_t i = 0; i < comparison->count; i++) {
        const liana__device_difference *item = &comparison->items[i];
        if (share_of(item) > share_of(made.nearest)) made.nearest = item;
        const bool is_gradient = item->what == LIANA__COMPARED_GRADIENT;
        made.num_others += !is_gradient;
        made.num_zeros += is_gradient && item->size == 0;
        if (is_gradient && item->size > 0) explained[made.num_gradients++] = item->explained / item->size;
    }
    qsort(explained, made.num_gradients, sizeof *explained, compare_numbers);
    if (made.num_gradients) made.middle = explained[made.num_gradients / 2];
    free(explained);
    return made;
}

/* Prints its line, and its faults. */
static bool check(const char *model, int size, int batch)
{
    const liana__architecture *architecture = liana__architecture_find(model, NULL);
    const int least = architecture ? (int)architecture->minimum_size : 0;
    const zoo_options options = {.model = model, .more = "", .size = size < least ? least : size, .batch = batch};
    static const char *const names[] = {"cpu", "pjrt:cpu"};
    zoo_run own;
    const time_t begin = time(NULL);
    compare(&options, &own);
    const judgement found = judge(&own.comparison);
    const bool agree = !liana__device_comparison_first(&own.comparison);
    const bool is_strong = found.num_zeros * 10 <= found.num_gradients && found.middle <= MOST_EXPLAINED;
    printf("%-15s %6zu %9zu %9.1e %9.1e %9.1e %7lld  %s %s\n", model, found.num_others,
           found.num_gradients + found.num_zeros, found.nearest->largest, found.nearest->explained, found.middle,
           (long long)(time(NULL) - begin), liana__compared_names[found.nearest->what], found.nearest->name);
    liana__text verdict = {0};
    liana__device_verdict(&own.comparison, names, &verdict);
    if (!agree) printf("%s: %s\n", model, verdict.data ? verdict.data : "");
    if (!is_strong) {
        printf(
            "%s: too little is compared: %zu gradients are all zeros, and rounding explains %.0f%% of the middle one\n",
            model, found.num_zeros, 100 * found.middle);
    }
    fflush(stdout);
    liana__text_free(&verdict);
    finish(&own);
    return agree && is_strong;
}

/* ---- all of them ---- */

static void make_images(int size, int count)
{
    char images[32], image_size[32];
    snprintf(images, sizeof images, "images=%d", count);
    snprintf(image_size, sizeof image_size, "image_size=%d", size);
    assert_code(liana__test_command("synth", "flowers", "classes=5", images, image_size, "--out",
                                    liana__test_path("bed")),
                0);
}

static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text && atoi(text) > 0 ? atoi(text) : otherwise;
}

static int check_models(char **models)
{
    const int size = number_of("SIZE", 64), batch = number_of("BATCH", 8);
    const bool all = strcmp(models[0], "all") == 0;
    size_t failed = 0;
    if (!liana__test_plugin_is_there()) return 77;
    liana__test_folder();
    make_images(size, 3 * batch);
    printf("Images of %d x %d (or the smallest of a model), shards of %d. Of the tensor that uses most of what "
           "rounding explains: the largest "
           "difference, and what is explained. Then what is explained of the middle gradient, as a part of its largest "
           "number.\n\n%-15s %6s %9s %9s %9s %9s %7s  %s\n",
           size, size, batch, "model", "others", "gradients", "largest", "explained", "middle", "seconds", "tensor");
    for (size_t i = 0; all && liana__architectures[i]; i++) {
        failed += !check(liana__architectures[i]->name, size, batch);
    }
    for (size_t i = 0; !all && models[i]; i++) failed += !check(models[i], size, batch);
    if (failed) printf("\n%zu of them failed.\n", failed);
    return failed ? 1 : 0;
}

/* ---- the tests ---- */

static const zoo_options SMALL = {.model = "MobileNet", .more = ", alpha: 0.25", .size = 64, .batch = 4};

static void begin(void)
{
    if (!liana__test_plugin_is_there()) skip();
    liana__test_folder();
    make_images(64, 24);
}

static void test_gradients_agree(void **state)
{
    (void)state;
    begin();
    zoo_run own;
    compare(&SMALL, &own);
    const judgement found = judge(&own.comparison);
    const liana__device_difference *first = liana__device_comparison_first(&own.comparison);
    if (first)
        fail_msg("%s %s differs by %g, %g is explained", liana__compared_names[first->what], first->name,
                 first->largest, first->explained);
    /* 27 convolutions with normalisation: 5 tensors each; the classifier; the loss and the layers' outputs. */
    assert_int_equal(found.num_gradients + found.num_zeros, 27 * 5 + 2);
    assert_compare(found.num_others, >, 80);
    assert_int_equal(found.num_zeros, 0);
    assert_compare(found.nearest->largest, >, 0);
    assert_compare(found.middle, <, MOST_EXPLAINED);
    finish(&own);
}

static void test_a_wrong_gradient_is_found_in_its_layer(void **state)
{
    (void)state;
    begin();
    zoo_run own;
    zoo_options options = SMALL;
    options.wrong = true;
    /* The kernel of the 1x1 convolution from 64 to 128 channels that no other layer has. */
    wrong_shape = (liana_shape){4, {1, 1, 64, 128}};
    compare(&options, &own);
    const liana__device_difference *first = liana__device_comparison_first(&own.comparison);
    assert_non_null(first);
    assert_int_equal(first->what, LIANA__COMPARED_GRADIENT);
    assert_string_equal(first->layer, "conv_pw_6");
    assert_string_equal(first->name, "conv_pw_6/kernel");
    finish(&own);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_agree),
        cmocka_unit_test(test_a_wrong_gradient_is_found_in_its_layer),
    };
    if (argc > 1) return check_models(argv + 1);
    return cmocka_run_group_tests_name("pjrt_zoo", tests, NULL, NULL);
}
