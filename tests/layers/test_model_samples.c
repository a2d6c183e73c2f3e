/* Models of Keras 3 (tests/samples/keras_models.h): several inputs and outputs, shared layers, nested models, masks.
 * Read from Keras's JSON, they give Keras's results, and so does liana's JSON of them. */
#include "harness/harness.h"

#include "formats/json.h"
#include "harness/model_run.h"
#include "harness/mutate.h"
#include "train/checkpoint/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct keras_sample {
    const char *name;
    const char *const *json; /* lines; the last one is NULL */
    int64_t ids;
    size_t num_outputs;
    struct {
        const float *values;
        size_t count;
    } outputs[5];
} keras_sample;

#include "samples/keras_models.h"

static liana_context *context;
static liana__device *device;
static liana__arena arena;
static liana__error error;

enum { BATCH = 2 };

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana__device_open(context, "cpu", &device, &error) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana__device_close(device);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* ---- the formulas of keras_models.py ---- */

static float number(const char *name, int64_t index)
{
    int64_t letters = 0;
    for (const char *letter = name; *letter; letter++) letters += *letter;
    double value = (double)((index * 37 + 11 * letters) % 129 - 64) / 128;
    bool positive = liana__ends_with(name, "variance");
    return (float)(positive ? fabs(value) + 0.25 : value);
}

/* "dense/kernel" of "encoder/dense/kernel". */
static const char *inner_name(const char *name)
{
    const char *inner = name;
    for (const char *slash = strchr(name, '/'); slash && strchr(slash + 1, '/'); slash = strchr(slash + 1, '/')) {
        inner = slash + 1;
    }
    return inner;
}

static void fill_weights(const liana_model *model, float **weights)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        if (strcmp(model->weights[i].short_name, "count") == 0) continue;
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k++) {
            weights[i][k] = number(inner_name(model->weights[i].name), k);
        }
    }
}

/* `all_ids`: float inputs hold ids too. */
static void *fill_input(liana__model_port port, int64_t ids, bool all_ids)
{
    port.shape.dims[0] = BATCH;
    int64_t size = liana_shape_size(&port.shape), row = size / BATCH;
    void *values = malloc((size_t)size * 4);
    assert_non_null(values);
    for (int64_t i = 0; i < size; i++) {
        bool padding = i < row && port.shape.rank > 1 && port.shape.dims[1] > 2 && i >= row - 2;
        int32_t id = padding ? 0 : (int32_t)((i * 5 + 3) % (ids - 1) + 1);
        if (port.dtype == LIANA_S32) ((int32_t *)values)[i] = id;
        if (port.dtype == LIANA_F32) ((float *)values)[i] = all_ids ? (float)id : number(port.name, i);
    }
    return values;
}

/* ---- models ---- */

static liana_model *read_json(const char *json)
{
    liana__value *value;
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &value, &error), &error);
    assert_ok(liana__model_from_keras(model, value), &model->error);
    assert_ok(liana__model_check(model, &error), &error);
    return model;
}

static void assert_outputs(const liana_model *model, const keras_sample *sample)
{
    assert_int_equal(liana__model_num_outputs(model), sample->num_outputs);
    size_t num_inputs = liana__model_num_inputs(model);
    liana_graph *graph;
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS];
    const void *data[LIANA_MAX_LAYER_INPUTS];
    assert_ok(liana_graph_create(context, &graph), &context->error);
    for (size_t i = 0; i < num_inputs; i++) {
        liana__model_port port = liana__model_input(model, i);
        data[i] = fill_input(port, sample->ids, strcmp(sample->name, "sequence") == 0);
        port.shape.dims[0] = BATCH;
        inputs[i] = liana_graph_input(graph, port.name, port.dtype, port.shape);
    }
    liana__model_results results = liana__model_call(model, inputs, &(liana__model_mode){.training = false});
    for (size_t i = 0; i < sample->num_outputs; i++) {
        liana_graph_output(graph, liana__model_output(model, i).name, results.outputs[i].value);
    }
    assert_ok(liana_graph_status(graph), &context->error);
    float **weights = liana__test_weights(model, 1);
    fill_weights(model, weights);
    float **found = liana__test_graph_run(device, graph, model, weights, data);
    for (size_t i = 0; i < sample->num_outputs; i++) {
        for (size_t k = 0; k < sample->outputs[i].count; k++) {
            double expected = (double)sample->outputs[i].values[k], got = (double)found[i][k];
            if (fabs(expected - got) <= 2e-6) continue;
            fail_msg("%s, output %zu, element %zu: %.9g, Keras has %.9g", sample->name, i, k, got, expected);
        }
    }
    liana__test_free_arrays(found, sample->num_outputs);
    liana__test_free_arrays(weights, model->num_weights);
    for (size_t i = 0; i < num_inputs; i++) free((void *)(uintptr_t)data[i]);
    liana_graph_destroy(graph);
}

static void test_models_of_keras_give_keras_results(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof keras_samples / sizeof *keras_samples; i++) {
        const keras_sample *sample = &keras_samples[i];
        liana__text json = {0}, again = {0};
        for (const char *const *line = sample->json; *line; line++) liana__text_add(&json, "%s", *line);
        liana_model *model = read_json(json.data);
        assert_string_equal(liana__model_name(model), sample->name);
        assert_outputs(model, sample);
        liana__value *value = liana__model_to_keras(model, LIANA__KERAS3, &arena);
        assert_non_null(value);
        liana__value_write_json(value, 1, &again);
        liana_model *copy = read_json(again.data);
        assert_outputs(copy, sample);
        liana_model_destroy(copy);
        liana_model_destroy(model);
        liana__text_free(&json);
        liana__text_free(&again);
    }
}

static const keras_sample *find_sample(const char *name)
{
    size_t index = 0;
    while (strcmp(keras_samples[index].name, name) != 0) index++;
    return &keras_samples[index];
}

static liana_model *read_sample(const char *name)
{
    liana__text json = {0};
    for (const char *const *line = find_sample(name)->json; *line; line++) liana__text_add(&json, "%s", *line);
    liana_model *model = read_json(json.data);
    liana__text_free(&json);
    return model;
}

/* Keras's names, and the order in which Keras gives its inputs and outputs. */
static void test_names_are_keras_names(void **state)
{
    (void)state;
    liana_model *model = read_sample("tables");
    assert_string_equal(liana__model_input(model, 0).name, "age");
    assert_string_equal(liana__model_input(model, 1).name, "words");
    assert_string_equal(liana__model_input(model, 2).name, "kind");
    assert_int_equal(liana__model_input(model, 1).dtype, LIANA_S32);
    assert_int_equal(liana__model_input(model, 1).num_ids, 9);
    assert_string_equal(liana__model_output(model, 0).name, "score");
    assert_string_equal(liana__model_output(model, 1).name, "kinds");
    liana_model_destroy(model);
    model = read_sample("pairs");
    assert_string_equal(liana__model_output(model, 0).name, "tower");
    assert_string_equal(liana__model_output(model, 1).name, "joint");
    assert_string_equal(liana__model_output(model, 2).name, "tower_1");
    assert_int_equal(model->num_nested, 2);
    assert_int_equal(model->nested[0].num_uses, 2);
    liana_model_destroy(model);
}

/* The whole-model files that Keras wrote of nested models: each weight comes from its own place. */
static void test_weights_of_nested_models_in_keras_files(void **state)
{
    (void)state;
    static const char *const names[] = {"pairs", "sequence"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        liana_model *model = read_sample(names[i]);
        char path[512];
        snprintf(path, sizeof path, "%s/tests/samples/keras_%s.h5", LIANA_SOURCE_DIR, names[i]);
        float **weights = liana__test_weights(model, 1), **expected = liana__test_weights(model, 2);
        fill_weights(model, expected);
        liana__weights_report report;
        assert_ok(liana__weights_load(model, path, model->num_layers, weights, &arena, &report, &error), &error);
        assert_int_equal(report.num_weights, model->num_weights);
        assert_int_equal(report.unused.count, 0);
        for (size_t k = 0; k < model->num_weights; k++) {
            size_t size = (size_t)liana_shape_size(&model->weights[k].shape) * sizeof(float);
            if (memcmp(weights[k], expected[k], size) != 0) fail_msg("%s: another '%s'", path, model->weights[k].name);
        }
        liana__test_free_arrays(expected, model->num_weights);
        liana__test_free_arrays(weights, model->num_weights);
        liana_model_destroy(model);
    }
}

/* Damaged files are read or refused, with the file's name. */
static void test_damaged_models_never_crash(void **state)
{
    (void)state;
    size_t accepted = 0, refused = 0;
    for (size_t i = 0; i < sizeof keras_samples / sizeof *keras_samples; i++) {
        liana__text json = {0};
        for (const char *const *line = keras_samples[i].json; *line; line++) liana__text_add(&json, "%s", *line);
        for (uint32_t k = 0; k < 500; k++) {
            size_t size;
            char *damaged = liana__test_mutate(json.data, json.length, "0123456789-[]{}\",:null", 4, k, &size);
            liana__arena scratch = {0};
            liana__value *value;
            liana_model *model;
            assert_ok(liana_model_create(context, NULL, &model), &context->error);
            if (liana__json_parse(damaged, size, "model.json", &scratch, &value, &error) == LIANA_OK) {
                liana_status status = liana__model_from_keras(model, value);
                if (status == LIANA_OK) status = liana__model_check(model, &error);
                accepted += status == LIANA_OK;
                refused += status != LIANA_OK;
                if (model->error.status != LIANA_OK) assert_says(model->error.message, "model.json");
                free(liana_model_summary(model));
            }
            liana_model_destroy(model);
            liana__arena_free(&scratch);
            free(damaged);
        }
        liana__text_free(&json);
    }
    assert_compare(accepted, >, 10);
    assert_compare(refused, >, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_models_of_keras_give_keras_results, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_are_keras_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_weights_of_nested_models_in_keras_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_models_never_crash, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
