/* Operation: functions of keras.ops as layers, against numpy's results (written as numbers that numpy gave), and in
 * Keras's files. tests/train/model/keras_layers.py holds each function against Keras. */
#include "harness/harness.h"

#include "formats/json.h"
#include "harness/one_context.h"
#include "layers/model.h"
#include "layers/operation/operation.h"

#include <liana/layers.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, SIZE = 24, MOST = 48 };

static const struct {
    const char *function;
    bool of_two;
    size_t count;
    float values[MOST];
} cases[] = {
    {"mean(axis=1, keepdims=true)",
     false,
     8,
     {-0.60000002, -0.5, -0.40000001, -0.29999998, 0.59999996, 0.69999999, 0.80000001, 0.89999992}},
    {"cbrt",
     false,
     24,
     {-1,
      -0.965489388,
      -0.928317726,
      -0.887903988,
      -0.843432665,
      -0.793700516,
      -0.736806273,
      -0.669432938,
      -0.584803522,
      -0.464158863,
      0,
      0.464158863,
      0.584803522,
      0.669432938,
      0.736806273,
      0.793700516,
      0.843432665,
      0.887903988,
      0.928317726,
      0.965489388,
      1,
      1.03228009,
      1.06265855,
      1.09139287}},
    {"erfc", false, 24, {1.84270079,  1.7969082,   1.74210097,  1.67780119,  1.60385611,  1.52049988,
                         1.42839236,  1.32862677,  1.22270259,  1.11246292,  1,           0.887537082,
                         0.777297408, 0.671373228, 0.571607639, 0.479500122, 0.39614389,  0.322198814,
                         0.257899028, 0.2030918,   0.157299207, 0.119794922, 0.089686009, 0.065992065}},
    {"sinc",
     false,
     24,
     {-2.78275341e-08, 0.109292418,  0.233872309, 0.367883027, 0.504551113, 0.636619747, 0.756826699,
      0.858393669,     0.935489237,  0.98363167,  1,           0.98363167,  0.935489237, 0.858393669,
      0.756826699,     0.636619747,  0.504551113, 0.367883027, 0.233872309, 0.109292418, -2.78275341e-08,
      -0.0894211158,   -0.155914932, -0.198090822}},
    {"quantile(q=0.3, axis=1)",
     false,
     8,
     {-0.75999999, -0.659999967, -0.560000002, -0.460000008, 0.439999998, 0.539999962, 0.639999986, 0.74000001}},
    {"percentile(q=80, axis=[1, 2], keepdims=true)", false, 2, {-0.120000005, 1.08000004}},
    {"percentile(q=40, axis=2, method=nearest)",
     false,
     6,
     {-0.899999976, -0.5, -0.100000001, 0.300000012, 0.699999988, 1.10000002}},
    {"median(axis=2)", false, 6, {-0.850000024, -0.449999988, -0.0500000007, 0.350000024, 0.75, 1.1500001}},
    {"ptp(axis=1)",
     false,
     8,
     {0.800000012, 0.799999952, 0.800000012, 0.800000012, 0.800000012, 0.800000012, 0.800000072, 0.799999952}},
    {"average(axis=2, weights=[1, 0, 2, 1])",
     false,
     6,
     {-0.825000003, -0.425000012, -0.0250000004, 0.375000004, 0.775000006, 1.17500001}},
    {"diff(n=2, axis=2)",
     false,
     12,
     {-5.96046448e-08, 5.96046448e-08, -2.98023224e-08, 0, 0, 0, -1.49011612e-08, 0, 5.96046448e-08, -5.96046448e-08, 0,
      -1.1920929e-07}},
    {"trapezoid(dx=0.5, axis=1)",
     false,
     8,
     {-0.600000024, -0.5, -0.400000006, -0.300000012, 0.600000024, 0.699999988, 0.800000012, 0.899999976}},
    {"digitize(bins=[-0.5, 0, 1])", false, 24, {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2,
                                                2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3}},
    {"diagonal(offset=1, axis1=1, axis2=2)",
     false,
     6,
     {-0.899999976, -0.400000006, 0.100000001, 0.300000012, 0.800000012, 1.29999995}},
    {"trace(axis1=2, axis2=1)", false, 2, {-1.5, 2.0999999}},
    {"rot90(axes=[1, 2])",
     false,
     24,
     {-0.699999988, -0.300000012, 0.100000001,  -0.800000012, -0.400000006, 0,           -0.899999976, -0.5,
      -0.100000001, -1,           -0.600000024, -0.200000003, 0.5,          0.899999976, 1.29999995,   0.400000006,
      0.800000012,  1.20000005,   0.300000012,  0.699999988,  1.10000002,   0.200000003, 0.600000024,  1}},
    {"normalize(axis=1, order=1)",
     false,
     24,
     {-0.555555522,
      -0.599999964,
      -0.666666627,
      -0.636363626,
      -0.333333343,
      -0.333333343,
      -0.333333313,
      -0.272727281,
      -0.111111112,
      -0.0666666701,
      0,
      0.0909090936,
      0.111111119,
      0.142857149,
      0.166666657,
      0.185185194,
      0.333333343,
      0.333333343,
      0.333333313,
      0.333333343,
      0.555555582,
      0.523809552,
      0.5,
      0.481481493}},
    {"hypot", true, 24, {1,          1.34536242, 2.15406585, 3.08058429, 4.04474974, 0.5,
                         1.07703292, 2.02237487, 3.00665927, 4.00124979, 0,          1.0049876,
                         2.00997519, 3.01496267, 4.01995039, 0.5,        1.16619039, 2.11896205,
                         3.10483503, 4.0999999,  1,          1.48660684, 2.33238077, 3.26955652}},
    {"fmod(x2=0.7)", false, 24, {-0.300000012, -0.199999988, -0.100000024, -0, -0.600000024, -0.5,        -0.400000006,
                                 -0.300000012, -0.200000003, -0.100000001, 0,  0.100000001,  0.200000003, 0.300000012,
                                 0.400000006,  0.5,          0.600000024,  0,  0.100000024,  0.199999988, 0.300000012,
                                 0.400000036,  0.50000006,   0.599999964}},
    {"heaviside(x2=0.5)", false, 24, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"logaddexp2", true, 24, {0.584962487, 1.34249032, 2.19356656, 3.10694671, 4.05829525, 0.771553278,
                              1.4635483,   2.26671219, 3.14902353, 4.08176851, 1,          1.61907184,
                              2.36420774,  3.20650959, 4.114326,   1.27155328, 1.81381881, 2.49172616,
                              3.2840848,   4.15915012, 1.58496249, 2.05086637, 2.65475559, 3.38712645}},
    {"isclose(rtol=0.5, atol=0.2)", true, 24, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1}},
    {"hstack",
     true,
     48,
     {-1,
      -0.899999976,
      -0.800000012,
      -0.699999988,
      -0.600000024,
      -0.5,
      -0.400000006,
      -0.300000012,
      -0.200000003,
      -0.100000001,
      0,
      0.100000001,
      0,
      1,
      2,
      3,
      4,
      0,
      1,
      2,
      3,
      4,
      0,
      1,
      0.200000003,
      0.300000012,
      0.400000006,
      0.5,
      0.600000024,
      0.699999988,
      0.800000012,
      0.899999976,
      1,
      1.10000002,
      1.20000005,
      1.29999995,
      2,
      3,
      4,
      0,
      1,
      2,
      3,
      4,
      0,
      1,
      2,
      3}},
    {"extract_sequences(sequence_length=2, sequence_stride=2)",
     false,
     24,
     {-1,   -0.899999976, -0.800000012, -0.699999988, -0.600000024,
      -0.5, -0.400000006, -0.300000012, -0.200000003, -0.100000001,
      0,    0.100000001,  0.200000003,  0.300000012,  0.400000006,
      0.5,  0.600000024,  0.699999988,  0.800000012,  0.899999976,
      1,    1.10000002,   1.20000005,   1.29999995}},
    {"cast(dtype=float16)", false, 24, {-1,   -0.899902344, -0.799804688, -0.700195312, -0.600097656,
                                        -0.5, -0.399902344, -0.300048828, -0.199951172, -0.0999755859,
                                        0,    0.0999755859, 0.199951172,  0.300048828,  0.399902344,
                                        0.5,  0.600097656,  0.700195312,  0.799804688,  0.899902344,
                                        1,    1.09960938,   1.20019531,   1.29980469}},
    {"saturate_cast(dtype=uint8)", false, 24, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}},
    {"subtract(x1=1)", false, 24, {2,          1.9,        1.8,        1.7,         1.6,         1.5,
                                   1.4,        1.3,        1.2,        1.1,         1,           0.89999998,
                                   0.80000001, 0.69999999, 0.60000002, 0.5,         0.39999998,  0.30000001,
                                   0.19999999, 0.10000002, 0,          -0.10000002, -0.20000005, -0.29999995}},
    {"multiply(x2=[1, 2, 3, 4])", false, 24, {-1,        -1.8,       -2.4000001, -2.8, -0.60000002, -1,
                                              -1.2,      -1.2,       -0.2,       -0.2, 0,           0.40000001,
                                              0.2,       0.60000002, 1.2,        2,    0.60000002,  1.4,
                                              2.4000001, 3.5999999,  1,          2.2,  3.6000001,   5.1999998}},
    {"subtract", true, 24, {-1,          -1.9,       -2.8, -3.7,        -4.5999999, -0.5,       -1.4,        -2.3,
                            -3.2,        -4.0999999, 0,    -0.89999998, -1.8,       -2.7,       -3.5999999,  0.5,
                            -0.39999998, -1.3,       -2.2, -3.0999999,  1,          0.10000002, -0.79999995, -1.7}},
    {"maximum", true, 24, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0.5, 1, 2, 3, 4, 1, 1.1, 2, 3}},
    {"get_item(key=[:, 1:, ::-2])", false, 8, {-0.30000001, -0.5, 0.1, -0.1, 0.89999998, 0.69999999, 1.3, 1.1}},
    {"get_item(key=[..., None, 0])", false, 6, {-1, -0.60000002, -0.2, 0.2, 0.60000002, 1}},
    {"reshape(newshape=[-1, 2, 6])", false, 24, {-1,   -0.89999998, -0.80000001, -0.69999999, -0.60000002,
                                                 -0.5, -0.40000001, -0.30000001, -0.2,        -0.1,
                                                 0,    0.1,         0.2,         0.30000001,  0.40000001,
                                                 0.5,  0.60000002,  0.69999999,  0.80000001,  0.89999998,
                                                 1,    1.1,         1.2,         1.3}},
    {"transpose(axes=[0, 2, 1])", false, 24, {-1,          -0.60000002, -0.2, -0.89999998, -0.5,        -0.1,
                                              -0.80000001, -0.40000001, 0,    -0.69999999, -0.30000001, 0.1,
                                              0.2,         0.60000002,  1,    0.30000001,  0.69999999,  1.1,
                                              0.40000001,  0.80000001,  1.2,  0.5,         0.89999998,  1.3}},
    {"stack(axis=1)", true, 48, {-1,          -0.89999998, -0.80000001, -0.69999999, -0.60000002, -0.5,
                                 -0.40000001, -0.30000001, -0.2,        -0.1,        0,           0.1,
                                 0,           1,           2,           3,           4,           0,
                                 1,           2,           3,           4,           0,           1,
                                 0.2,         0.30000001,  0.40000001,  0.5,         0.60000002,  0.69999999,
                                 0.80000001,  0.89999998,  1,           1.1,         1.2,         1.3,
                                 2,           3,           4,           0,           1,           2,
                                 3,           4,           0,           1,           2,           3}},
    {"concatenate(axis=-1)", true, 48, {-1,          -0.89999998, -0.80000001, -0.69999999, 0, 1, 2, 3,
                                        -0.60000002, -0.5,        -0.40000001, -0.30000001, 4, 0, 1, 2,
                                        -0.2,        -0.1,        0,           0.1,         3, 4, 0, 1,
                                        0.2,         0.30000001,  0.40000001,  0.5,         2, 3, 4, 0,
                                        0.60000002,  0.69999999,  0.80000001,  0.89999998,  1, 2, 3, 4,
                                        1,           1.1,         1.2,         1.3,         0, 1, 2, 3}},
    {"clip(x_min=-0.5, x_max=0.5)", false, 24, {-0.5, -0.5, -0.5, -0.5, -0.5, -0.5,       -0.40000001, -0.30000001,
                                                -0.2, -0.1, 0,    0.1,  0.2,  0.30000001, 0.40000001,  0.5,
                                                0.5,  0.5,  0.5,  0.5,  0.5,  0.5,        0.5,         0.5}},
    {"take(indices=[0, -1], axis=2)",
     false,
     12,
     {-1, -0.69999999, -0.60000002, -0.30000001, -0.2, 0.1, 0.2, 0.5, 0.60000002, 0.89999998, 1, 1.3}},
    {"matmul(x2=[[1], [0], [2], [0.5]])", false, 6, {-2.95, -1.5500001, -0.15000001, 1.25, 2.6500001, 4.0500002}},
    {"argmin(axis=1)", false, 8, {0, 0, 0, 0, 0, 0, 0, 0}},
    {"cast(dtype=int32)", false, 24, {-1, -0, -0, -0, -0, -0, -0, -0, -0, -0, 0, 0,
                                      0,  0,  0,  0,  0,  0,  0,  0,  1,  1,  1, 1}},
    {"greater(x2=0.5)", false, 24, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"norm(ord=1, axis=[1, 2])", false, 2, {5.5999999, 9}},
    {"softmax(axis=1)", false, 24, {0.21198271, 0.21198273, 0.21198271, 0.2119827,  0.31624106, 0.31624106,
                                    0.31624106, 0.31624103, 0.47177622, 0.47177622, 0.47177625, 0.47177622,
                                    0.21198271, 0.2119827,  0.2119827,  0.21198273, 0.31624106, 0.31624106,
                                    0.31624106, 0.31624109, 0.47177622, 0.47177622, 0.47177622, 0.47177625}},
    {"pad(pad_width=[[0, 0], [1, 0], [0, 0]], constant_values=7)",
     false,
     32,
     {7,           7,          7,           7,           -1,   -0.89999998, -0.80000001, -0.69999999,
      -0.60000002, -0.5,       -0.40000001, -0.30000001, -0.2, -0.1,        0,           0.1,
      7,           7,          7,           7,           0.2,  0.30000001,  0.40000001,  0.5,
      0.60000002,  0.69999999, 0.80000001,  0.89999998,  1,    1.1,         1.2,         1.3}},
    {"logaddexp(x2=0.5)", false, 24, {0.70141327, 0.72041744, 0.74100846, 0.76328242, 0.78733534, 0.81326169,
                                      0.84115386, 0.87110066, 0.90318608, 0.93748796, 0.97407699, 1.0130153,
                                      1.0543553,  1.0981388,  1.1443967,  1.1931472,  1.2443967,  1.2981389,
                                      1.3543553,  1.4130152,  1.474077,   1.537488,   1.6031861,  1.6711006}},
    {"squeeze", false, 24, {-1,          -0.89999998, -0.80000001, -0.69999999, -0.60000002, -0.5,
                            -0.40000001, -0.30000001, -0.2,        -0.1,        0,           0.1,
                            0.2,         0.30000001,  0.40000001,  0.5,         0.60000002,  0.69999999,
                            0.80000001,  0.89999998,  1,           1.1,         1.2,         1.3}},
    {"roll(shift=1, axis=1)", false, 24, {-0.2,        -0.1,        0,           0.1,        -1,          -0.89999998,
                                          -0.80000001, -0.69999999, -0.60000002, -0.5,       -0.40000001, -0.30000001,
                                          1,           1.1,         1.2,         1.3,        0.2,         0.30000001,
                                          0.40000001,  0.5,         0.60000002,  0.69999999, 0.80000001,  0.89999998}},
};

/* Two examples of 3 x 4: -1, -0.9, ... and 0, 1, 2, 3, 4, 0, ... */
static void run(const liana_model *model, float *values, size_t count, const char *name)
{
    float x[SIZE], y[SIZE];
    for (int i = 0; i < SIZE; i++) {
        x[i] = (float)(i / 10. - 1);
        y[i] = (float)(i % 5);
    }
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    const liana_shape shape = liana_shape_of(BATCH, 3, 4);
    const liana_tensor inputs[] = {liana_graph_constant(graph, LIANA_F32, shape, x),
                                   liana_graph_constant(graph, LIANA_F32, shape, y)};
    liana_tensor result = liana__model_call(model, inputs, &(liana__model_mode){.training = false}).outputs[0].value;
    result = liana_op_cast(result, LIANA_F32);
    const liana_shape found = liana_tensor_shape(result);
    if (liana_graph_status(graph) != LIANA_OK) fail_msg("%s: %s", name, context->error.message);
    assert_compare((size_t)liana_shape_size(&found), ==, count);
    assert_ok(liana_value(result, values, count * sizeof *values), &context->error);
    liana_graph_destroy(graph);
}

static void compare(const float *found, const float *expected, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (fabsf(found[i] - expected[i]) <= 2e-6f * (1 + fabsf(expected[i]))) continue;
        fail_msg("%s: element %zu is %.9g, expected %.9g", name, i, (double)found[i], (double)expected[i]);
    }
}

static liana_model *new_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    return model;
}

static void test_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float found[MOST];
        liana_model *model = new_model();
        liana_layer x = liana_input(model, .shape = LIANA_INTS(3, 4));
        if (cases[i].of_two) {
            liana_layer y = liana_input(model, .shape = LIANA_INTS(3, 4));
            liana_operation(model, .function = cases[i].function, .inputs = {x, y});
        } else {
            liana_operation(model, .function = cases[i].function, .inputs = {x});
        }
        assert_ok(liana_model_status(model), &context->error);
        run(model, found, cases[i].count, cases[i].function);
        compare(found, cases[i].values, cases[i].count, cases[i].function);
        liana_model_destroy(model);
    }
}

/* Reading a text and writing it gives the text. */
static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__arena arena = {0};
        liana__function_call operation;
        liana__error error = {0};
        assert_ok(liana__operation_read(cases[i].function, &arena, &operation, &error), &error);
        assert_string_equal(liana__operation_text(&arena, &operation), cases[i].function);
        liana__arena_free(&arena);
    }
}

/* ---- Keras's files ---- */

#define INPUT                                                                                         \
    "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"i\", \"batch_shape\": [null, 3, 4]}, " \
    "\"name\": \"i\", \"inbound_nodes\": []}"
#define TENSOR(name)                                                                \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 3, 4], " \
    "\"keras_history\": [\"" name "\", 0, 0]}}"
#define NODE(class_name, name, config, args)                                                                     \
    ", {\"module\": \"keras.src.ops.numpy\", \"class_name\": \"" class_name "\", \"config\": {\"name\": \"" name \
    "\"" config "}, \"registered_name\": \"" class_name "\", \"name\": \"" name                                  \
    "\", \"inbound_nodes\": [{\"args\": [" args "], \"kwargs\": {}}]}"
#define MODEL(layers, output)                                                                                      \
    "{\"module\": \"keras.src.models.functional\", \"class_name\": \"Functional\", \"config\": {\"name\": \"m\", " \
    "\"layers\": [" layers "], \"input_layers\": [\"i\", 0, 0], \"output_layers\": [\"" output "\", 0, 0]}}"
#define SLICE(start, stop, step) \
    "{\"class_name\": \"__slice__\", \"config\": {\"start\": " start ", \"stop\": " stop ", \"step\": " step "}}"

static liana_status read(const char *json, liana_model *model)
{
    liana__arena arena = {0};
    liana__value *root;
    assert_ok(liana__json_parse(json, strlen(json), "file.json", &arena, &root, &context->error), &context->error);
    const liana_status status = liana__model_from_keras(model, root);
    liana__arena_free(&arena);
    return status;
}

static void check_functions(const liana_model *model, const char *const *functions, size_t count)
{
    assert_compare(model->num_layers, ==, count + 1);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(liana__layer_option_text(&model->layers[i + 1], "function"), functions[i]);
    }
}

static const char keras3[] =
    MODEL(INPUT NODE("Subtract", "sub", "", "2.0, " TENSOR("i"))
              NODE("Multiply", "mul", "",
                   TENSOR("sub") ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": "
                                 "[1.0, 2.0, 3.0, 4.5], \"dtype\": \"float32\"}}")
                  NODE("Mean", "mean", ", \"axis\": 1, \"keepdims\": true", TENSOR("mul"))
                      NODE("GetItem", "item", "",
                           TENSOR("mean") ", [{\"class_name\": \"__ellipsis__\", \"config\": {}}, " SLICE("null",
                                                                                                          "null",
                                                                                                          "-1") "]")
                          NODE("Concatenate", "cat", ", \"axis\": 1", "[" TENSOR("item") ", " TENSOR("mul") "]")
                              NODE("NotEqual", "mask", "", TENSOR("i") ", 0"),
          "cat");
static const char *const functions3[] = {"subtract(x1=2.0)", "multiply(x2=[1.0, 2.0, 3.0, 4.5])",
                                         "mean(axis=1, keepdims=true)", "get_item(key=[..., ::-1])",
                                         "concatenate(axis=1)"};

/* The node that nothing needs, as Keras 3 writes for masks, is left out. What liana writes has the same nodes. */
static void test_nodes_of_keras_3(void **state)
{
    (void)state;
    liana_model *model = new_model(), *again = new_model();
    assert_ok(read(keras3, model), &model->error);
    check_functions(model, functions3, 5);
    liana__arena arena = {0};
    const liana__value *written = liana__model_to_keras(model, LIANA__KERAS3, &arena);
    assert_non_null(written);
    liana__text text = {0};
    liana__value_write_json(written, 0, &text);
    assert_says(text.data, "keras.src.ops.numpy");
    assert_says(text.data, "__ellipsis__");
    assert_ok(read(text.data, again), &again->error);
    check_functions(again, functions3, 5);
    liana__error error = {0};
    assert_fails(liana__model_check_keras(model, LIANA__KERAS2, &error), LIANA_UNIMPLEMENTED, &error,
                 "subtract(x1=2.0)");
    float first[MOST], second[MOST];
    run(model, first, 32, "keras3");
    run(again, second, 32, "keras3");
    compare(second, first, 32, "keras3");
    /* Keras: 2 - x = 3, 2.9, 2.8, ...; the mean of the rows, backwards. */
    const double means[] = {(2.7 + 2.3 + 1.9) / 3 * 4.5, (2.8 + 2.4 + 2.0) / 3 * 3};
    assert_near((double)first[0], means[0], 1e-5);
    assert_near((double)first[1], means[1], 1e-5);
    liana__text_free(&text);
    liana__arena_free(&arena);
    liana_model_destroy(model);
    liana_model_destroy(again);
}

#define OP2(class_name, name, function, nodes)                                                                     \
    ", {\"class_name\": \"" class_name "\", \"config\": {\"name\": \"" name "\", \"trainable\": true, \"dtype\": " \
    "\"float32\", \"function\": \"" function "\"}, \"name\": \"" name "\", \"inbound_nodes\": [" nodes "]}"

static void test_nodes_of_keras_2(void **state)
{
    (void)state;
    static const char *const expected[] = {"subtract(x1=2.0)", "get_item(key=[:, 1:])", "add(x2=[1, 2, 3, 4])",
                                           "where(x2=0.5)"};
    liana_model *model = new_model();
    assert_ok(read(MODEL(INPUT OP2("TFOpLambda", "a", "math.subtract",
                                   "[\"_CONSTANT_VALUE\", -1, 2.0, {\"y\": [\"i\", 0, 0], \"name\": null}]")
                             OP2("SlicingOpLambda", "b", "__operators__.getitem",
                                 "[\"a\", 0, 0, {\"slice_spec\": [{\"start\": null, \"stop\": "
                                 "null, \"step\": null}, {\"start\": 1, \"stop\": null, \"step\": null}]}]")
                                 OP2("TFOpLambda", "c", "nn.bias_add",
                                     "[\"b\", 0, 0, {\"bias\": [1, 2, 3, 4], \"data_format\": \"NHWC\"}]")
                                     OP2("TFOpLambda", "d", "where",
                                         "[\"b\", 0, 0, {\"x\": [\"c\", 0, 0], \"y\": 0.5}]"),
                         "d"),
                   model),
              &model->error);
    check_functions(model, expected, 4);
    liana_model_destroy(model);
}

static void assert_refused(const char *json, const char *first, const char *second)
{
    liana_model *model = new_model();
    assert_int_not_equal(read(json, model), LIANA_OK);
    assert_says(model->error.message, first);
    assert_says(model->error.message, second);
    liana_model_destroy(model);
}

static void test_what_liana_does_not_have_is_named(void **state)
{
    (void)state;
    assert_refused(MODEL(INPUT NODE("Unfold", "u", "", TENSOR("i")), "u"), "layer 'u'", "'Unfold' (keras.ops)");
    assert_refused(MODEL(INPUT NODE("Max", "u", ", \"axis\": 1, \"initial\": 3", TENSOR("i")), "u"), "'Max'",
                   "'initial'");
    assert_refused(MODEL(INPUT NODE("Sum", "u", ", \"axis\": 0", TENSOR("i")), "u"), "layer 'u'", "the batch");
    assert_refused(MODEL(INPUT NODE("Reshape", "u", ", \"newshape\": [2, 6]", TENSOR("i")), "u"), "reshape",
                   "batch of 2");
    assert_refused(MODEL(INPUT OP2("TFOpLambda", "r", "image.resize", "[\"i\", 0, 0, {\"size\": [2, 2]}]"), "r"),
                   "layer 'r'", "'image.resize' (TensorFlow)");
    assert_refused(MODEL(INPUT NODE("Add", "u", "", TENSOR("i") ", [[[[[[[[[[1]]]]]]]]]]"), "u"), "layer 'u'", "x2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_nodes_of_keras_3),
        cmocka_unit_test(test_nodes_of_keras_2),
        cmocka_unit_test(test_what_liana_does_not_have_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
