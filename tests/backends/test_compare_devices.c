/* liana compare-devices (compare_devices.c): devices that round differently agree, and a device that computes something
 * wrong is found in the layer where it does. */
#include "harness/command_run.h"
#include "harness/graph_run.h"
#include "harness/pjrt_plugin.h"

#include "report/reports.h"
#include "train/run/run.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_RUNS = 3 };

/* ---- devices that are wrong ---- */

/* The fault: of each downloaded tensor of this shape the element in the middle is moved. */
static liana_shape wrong_shape;
static double wrong_factor;

static liana_status download_wrongly(const liana__buffer *buffer, void *data, liana__error *error)
{
    LIANA_TRY(liana__backend_reference.download(buffer, data, error));
    if (buffer->dtype != LIANA_F32 || !liana_shape_equal(&buffer->shape, &wrong_shape)) return LIANA_OK;
    float *values = data;
    values[liana_shape_size(&wrong_shape) / 2] *= (float)wrong_factor;
    return LIANA_OK;
}

typedef struct fixture {
    liana__arena arena;
    liana__config config;
    liana_context *context;
    liana__run runs[NUM_RUNS];
    liana__backend wrong;
    liana__device_comparison comparison;
} fixture;

static void compare(fixture *own)
{
    static const char *const devices[NUM_RUNS] = {"cpu", "reference", "cpu"};
    *own = (fixture){0};
    liana__error error = {0};
    const char *path = liana__test_tiny_run(64);
    assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, path, NULL, 0, &own->arena, &own->config, &error),
              &error);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->context), LIANA_OK);
    for (int i = 0; i < NUM_RUNS; i++) {
        own->config.job.device = devices[i];
        const liana__run_options options = {.training = true};
        assert_ok(liana__run_open(own->context, &own->config, &options, &own->runs[i], &error), &error);
    }
    own->wrong = liana__backend_reference;
    own->wrong.download = download_wrongly;
    own->runs[1].core.device->backend = &own->wrong;
    const liana__device_comparison_options options = {.first = &own->runs[0].core,
                                                      .second = &own->runs[1].core,
                                                      .moved = &own->runs[2].core,
                                                      .names = {"cpu", "wrong"},
                                                      .loader = own->runs[0].training.loader,
                                                      .updates = 2};
    assert_ok(liana__device_comparison_run(&options, &own->comparison, &error), &error);
    assert_int_equal(own->comparison.num_updates, 2);
    assert_int_equal(own->comparison.shard_size, 8);
}

static void finish(fixture *own)
{
    liana__device_comparison_free(&own->comparison);
    own->runs[1].core.device->backend = &liana__backend_reference;
    for (int i = 0; i < NUM_RUNS; i++) liana__run_close(&own->runs[i]);
    liana_context_destroy(own->context);
    liana__arena_free(&own->arena);
}

static void test_a_wrong_element_is_found_in_its_layer(void **state)
{
    (void)state;
    fixture own;
    const char *const names[] = {"cpu", "wrong"};
    liana__text verdict = {0};
    /* The pooled images of a shard: 12x12, of which pooling leaves 5x5. */
    wrong_shape = (liana_shape){4, {8, 5, 5, 8}};
    wrong_factor = 1.001;
    compare(&own);
    const liana__device_difference *first = liana__device_comparison_first(&own.comparison);
    assert_non_null(first);
    assert_int_equal(first->what, LIANA__COMPARED_OUTPUT);
    assert_string_equal(first->layer, "max_pooling2d");
    assert_string_equal(first->type, "f32[8, 5, 5, 8]");
    /* 800 elements of an example's 200: the middle is the first of the fifth. */
    assert_string_equal(first->place, "[4, 0, 0, 0]");
    assert_near(first->second, first->first * 1.001, 1e-5 * fabs(first->first));
    liana__device_verdict(&own.comparison, names, &verdict);
    assert_says(verdict.data, "The output of layer 'max_pooling2d' is the first that differs by more");
    assert_says(verdict.data, "at [4, 0, 0, 0] of f32[8, 5, 5, 8]");
    liana__text_free(&verdict);
    finish(&own);
}

static void test_a_wrong_gradient_and_numbers_that_are_none(void **state)
{
    (void)state;
    static const struct {
        double factor;
        bool finite;
    } cases[] = {{0.99, true}, {INFINITY, false}, {NAN, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture own;
        wrong_shape = (liana_shape){4, {3, 3, 1, 8}}; /* the kernel of the convolution, and its gradient */
        wrong_factor = cases[i].factor;
        compare(&own);
        const liana__device_difference *first = liana__device_comparison_first(&own.comparison);
        assert_non_null(first);
        assert_int_equal(first->what, LIANA__COMPARED_GRADIENT);
        assert_string_equal(first->name, "conv2d/kernel");
        assert_int_equal(isfinite(first->largest) != 0, cases[i].finite);
        finish(&own);
    }
}

static void test_nothing_wrong_is_found_where_nothing_is(void **state)
{
    (void)state;
    fixture own;
    size_t of_kind[4] = {0};
    wrong_factor = 1;
    compare(&own);
    assert_null(liana__device_comparison_first(&own.comparison));
    double largest = 0;
    for (size_t i = 0; i < own.comparison.count; i++) {
        const liana__device_difference *item = &own.comparison.items[i];
        of_kind[item->what]++;
        /* An explained difference is a rounding error still: far below one part in a thousand of any output. */
        if (item->what == LIANA__COMPARED_OUTPUT) assert_compare(item->explained, <, 1e-3);
        if (item->what == LIANA__COMPARED_OUTPUT && item->largest > largest) largest = item->largest;
    }
    assert_compare(largest, >, 0); /* two devices with other sums */
    /* Every layer has an output but the input; the weights of convolution, normalisation and Dense: 2, 4, 2. */
    assert_int_equal(of_kind[LIANA__COMPARED_OUTPUT], 6);
    assert_int_equal(of_kind[LIANA__COMPARED_GRADIENT], 8);
    assert_int_equal(of_kind[LIANA__COMPARED_WEIGHT], 8);
    assert_int_equal(of_kind[LIANA__COMPARED_LOSS], 2);
    finish(&own);
}

/* ---- the command ---- */

static void test_command(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_tiny_run(64));
    liana__test_result got = liana__test_command("compare-devices", path, "--updates", "2");
    assert_says(got.out, "layer");
    assert_says(got.out, "weights after 2 updates");
    assert_says(got.out, "update 2: loss ");
    assert_says(got.out, "cpu and reference agree: rounding explains all differences.\n");
    assert_code(got, 0);
    got = liana__test_command("compare-devices", path, "--devices", "reference,cpu", "--json",
                              "train.precision=mixed_bfloat16");
    const char *last = strstr(got.out, "{\"event\": \"comparison\"");
    assert_non_null(last);
    json_t *event = json_loads(last, JSON_DISABLE_EOF_CHECK, NULL);
    assert_true(json_is_true(json_object_get(event, "agree")));
    assert_string_equal(json_string_value(json_object_get(event, "first")), "reference");
    assert_int_equal(json_integer_value(json_object_get(event, "updates")), 5);
    json_decref(event);
    assert_code(got, 0);
    /* The first shard alone: its loss, and no weights. */
    got = liana__test_command("compare-devices", path, "--updates", "0");
    assert_says(got.out, "the first shard: loss ");
    assert_says(got.out, "gradients\n");
    assert_never_says(got.out, "weights after");
    assert_never_says(got.out, "update 1");
    assert_code(got, 0);
    assert_false(liana__folder_exists(liana__test_path("run")));
}

/* How many programs a plugin compiles for a comparison with the CPU. */
static size_t count_programs(const char *config, const char *updates)
{
    char devices[4200];
    snprintf(devices, sizeof devices, "cpu,%s", liana__test_plugin_device(""));
    const counting_plugin_state *counted = liana__test_plugin_state();
    const size_t before = counted->made[COUNTED_PROGRAMS];
    assert_code(liana__test_command("compare-devices", config, "--devices", devices, "--updates", updates), 0);
    return counted->made[COUNTED_PROGRAMS] - before;
}

/* Of a large network that takes minutes. */
static void test_an_update_is_compiled_only_where_it_is_compared(void **state)
{
    (void)state;
    if (!liana__test_plugin_is_there()) skip();
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_tiny_run(64));
    assert_int_equal(count_programs(path, "0"), 1);
    assert_compare(count_programs(path, "1"), >, 1);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_tiny_run(64));
    static const char *const lists[] = {"cpu", "cpu,", ",cpu", "cpu,reference,cpu"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const liana__test_result got = liana__test_command("compare-devices", path, "--devices", lists[i]);
        assert_says(got.err, "expected two names with a comma between them");
        assert_code(got, 2);
    }
    assert_code(liana__test_command("compare-devices", path, "--devices", "cpu,cpuu"), 2);
    assert_code(liana__test_command("compare-devices", path, "--updates", "-1"), 2);
    /* Numbers that go bad name the device and the update. */
    const liana__test_result got =
        liana__test_command("compare-devices", path, "train.optimizer={name: SGD, learning_rate: 1e30}");
    assert_says(got.err, "cpu, update ");
    assert_code(got, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wrong_element_is_found_in_its_layer),
        cmocka_unit_test(test_a_wrong_gradient_and_numbers_that_are_none),
        cmocka_unit_test(test_nothing_wrong_is_found_where_nothing_is),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_an_update_is_compiled_only_where_it_is_compared),
        cmocka_unit_test(test_what_is_refused),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
