/* Small models of each kind of layer in each of Keras's files: liana predicts as Keras does, and Keras reads what liana
 * writes (keras_layers.py). */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/json.h"
#include "harness/peers.h"
#include "layers/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 4 };

static liana__arena arena;

typedef struct example {
    liana_array inputs[MOST_INPUTS];
    size_t num_inputs;
    const liana__value *outputs;
} example;

static const char *join(const char *name, const char *ending)
{
    return liana__arena_string(&arena, liana__test_path(liana__arena_format(&arena, "%s%s", name, ending)));
}

static double number_of(const liana__value *value)
{
    return value->kind == LIANA__VALUE_INT ? (double)value->integer : value->number;
}

static liana_array read_array(const liana__value *map)
{
    const liana__value *dims = liana__value_get(map, "shape"), *values = liana__value_get(map, "values");
    const bool is_int = strcmp(liana__value_get(map, "dtype")->string, "int32") == 0;
    liana_array array = {.name = liana__value_get(map, "name")->string,
                         .dtype = is_int ? LIANA_S32 : LIANA_F32,
                         .shape = {.rank = (int)dims->count}};
    for (size_t i = 0; i < dims->count; i++) array.shape.dims[i] = dims->items[i]->integer;
    float *floats = liana__arena_allocate(&arena, values->count * sizeof *floats);
    int32_t *ints = liana__arena_allocate(&arena, values->count * sizeof *ints);
    for (size_t i = 0; i < values->count; i++) {
        floats[i] = (float)number_of(values->items[i]);
        ints[i] = (int32_t)number_of(values->items[i]);
    }
    array.data = is_int ? (const void *)ints : (const void *)floats;
    return array;
}

static example read_example(const char *name)
{
    liana__value *root;
    example made = {0};
    assert_ok(liana__json_read(join(name, ".case.json"), &arena, &root, &context->error), &context->error);
    const liana__value *inputs = liana__value_get(root, "inputs");
    assert_compare(inputs->count, <=, MOST_INPUTS);
    for (; made.num_inputs < inputs->count; made.num_inputs++) {
        made.inputs[made.num_inputs] = read_array(inputs->items[made.num_inputs]);
    }
    made.outputs = liana__value_get(root, "outputs");
    return made;
}

/* The rounding of Keras's float16 and bfloat16 (keras_layers.py). */
static double tolerance_of(const char *name)
{
    return strncmp(name, "half_", 5) != 0 ? 0 : strstr(name, "bfloat") ? 0.04 : 0.005;
}

/* Fails the test unless the model predicts as Keras did. Frees the model. */
static void check_outputs(liana_model *model, const char *name, const char *from, const example *known)
{
    liana_array inputs[MOST_INPUTS];
    const bool is_named = known->num_inputs > 1;
    LIANA__SCOPED_MEMORY float *outputs = malloc((known->outputs->count + 1) * sizeof *outputs);
    assert_compare(model->num_inputs, ==, known->num_inputs);
    for (size_t i = 0; i < known->num_inputs; i++) {
        const liana__model_port port = liana__model_input(model, i);
        size_t from_keras = i;
        for (size_t k = 0; is_named && k < known->num_inputs; k++) {
            if (strcmp(known->inputs[k].name, port.name) == 0) from_keras = k;
        }
        inputs[i] = known->inputs[from_keras];
        inputs[i].name = port.name;
    }
    if (liana_predict_on_batch(model, inputs, known->num_inputs, outputs) != LIANA_OK) {
        fail_msg("%s%s: %s", name, from, context->error.message);
    }
    for (size_t i = 0; i < known->outputs->count; i++) {
        const double expected = number_of(known->outputs->items[i]), found = (double)outputs[i];
        const double unit = tolerance_of(name);
        if (fabs(found - expected) <= 2e-6 + unit + (2e-5 + unit) * fabs(expected)) continue;
        fail_msg("%s%s: number %zu is %.9g, Keras has %.9g", name, from, i, found, expected);
    }
    liana_model_destroy(model);
}

static liana_model *load(const char *name, const char *from)
{
    liana_model *model;
    if (liana_model_load(context, join(name, from), &model) != LIANA_OK) {
        fail_msg("%s%s: %s", name, from, context->error.message);
    }
    return model;
}

static void save(liana_model *model, const char *name, const char *to)
{
    /* That function of Keras 2 has no word in Keras 3. */
    if (liana_model_save(model, join(name, to)) == LIANA_OK) return;
    if (!strstr(context->error.message, "hard_sigmoid_keras2")) fail_msg("%s%s: %s", name, to, context->error.message);
}

static void check_model(const char *name, bool writes)
{
    static const char *const weights[] = {".weights.h5", ".keras", ".h5"};
    const example known = read_example(name);
    liana_model *model = load(name, ".keras");
    if (writes) save(model, name, ".again.keras");
    if (writes) save(model, name, ".again.h5");
    check_outputs(model, name, ".keras", &known);
    check_outputs(load(name, ".h5"), name, ".h5", &known);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(liana_model_load_architecture(context, join(name, ".json"), &model), &context->error);
        if (model->num_weights && liana_model_load_weights(model, join(name, weights[i]), false) != LIANA_OK) {
            fail_msg("%s.json with %s: %s", name, weights[i], context->error.message);
        }
        check_outputs(model, name, weights[i], &known);
    }
}

static void check_all(const char *keras, bool writes)
{
    if (!liana__test_peer("tensorflow")) skip();
    const char *folder = liana__arena_string(&arena, liana__test_folder());
    liana__test_run_keras("tests/train/model/keras_layers.py", (const char *const[]){keras, "make", folder, NULL});
    liana__paths names;
    size_t count = 0;
    assert_ok(liana__folder_list(folder, &arena, &names, &context->error), &context->error);
    for (size_t i = 0; i < names.count; i++) {
        char *end = strstr(names.items[i], ".case.json");
        if (!end) continue;
        *end = 0;
        check_model(names.items[i], writes);
        count++;
    }
    assert_compare(count, >, getenv("LIANA_KERAS_LAYERS") ? 0 : 80);
    if (!writes) return;
    liana__test_run_keras("tests/train/model/keras_layers.py", (const char *const[]){keras, "check", folder, NULL});
}

static void test_every_layer_in_each_file_of_keras_3(void **state)
{
    (void)state;
    check_all("keras", true);
}

static void test_every_layer_in_each_file_of_keras_2(void **state)
{
    (void)state;
    check_all("tf_keras", false);
}

static int end(void **state)
{
    liana__arena_free(&arena);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_layer_in_each_file_of_keras_3),
        cmocka_unit_test(test_every_layer_in_each_file_of_keras_2),
    };
    return cmocka_run_group_tests(tests, set_up, end);
}
