/* The functions of activations against the numbers of Keras 3.15.1. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "formats/json.h"
#include "layers/model.h"

#include <liana/layers.h>
#include <liana/train.h>
#include <math.h>
#include <string.h>

enum { COUNT = 12 };

static const float points[COUNT] = {-7, -3, -1, -0.6F, -0.4F, -1e-3F, 0, 0.3F, 0.5F, 1, 2.5F, 7};

/* keras.activations.NAME(points, ...) of Keras 3.15.1 with TensorFlow; of softmax, log_softmax and sparsemax the points
 * are one row. */
static const struct {
    const char *activation;
    float results[COUNT];
} rows[] = {
    {"relu", {0, 0, 0, 0, 0, 0, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"relu(negative_slope=0.1)", {-0.7, -0.3, -0.1, -0.06, -0.04, -0.0001, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"relu(max_value=2)", {0, 0, 0, 0, 0, 0, 0, 0.3, 0.5, 1, 2, 2}},
    {"relu(0.2, 2, 0.4)", {-1.48, -0.68, -0.28, -0.2, -0.16, -0.0802, -0.08000001, -0.02, 0.5, 1, 2, 2}},
    {"relu6", {0, 0, 0, 0, 0, 0, 0, 0.3, 0.5, 1, 2.5, 6}},
    {"leaky_relu", {-1.4, -0.6, -0.2, -0.12, -0.08000001, -0.0002, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"leaky_relu(negative_slope=0.05)", {-0.35, -0.15, -0.05, -0.03, -0.02, -5e-05, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"LeakyReLU(0.3)", {-2.1, -0.9, -0.3, -0.18, -0.12, -0.0003, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"sigmoid",
     {0.0009110512, 0.04742587, 0.2689414, 0.3543437, 0.4013123, 0.49975, 0.5, 0.5744424, 0.6224594, 0.7310586,
      0.9241418, 0.9990889}},
    {"hard_sigmoid", {0, 0, 0.3333333, 0.4, 0.4333333, 0.4998333, 0.5, 0.55, 0.5833333, 0.6666667, 0.9166667, 1}},
    {"sparse_sigmoid", {0, 0, 0, 0.2, 0.3, 0.4995, 0.5, 0.65, 0.75, 1, 1, 1}},
    {"log_sigmoid",
     {-7.000912, -3.048587, -1.313262, -1.037488, -0.9130152, -0.6936473, -0.6931472, -0.5543552, -0.474077, -0.3132617,
      -0.07888974, -0.0009114665}},
    {"tanh",
     {-0.9999983, -0.9950547, -0.7615942, -0.5370496, -0.379949, -0.0009999997, 0, 0.2913126, 0.4621171, 0.7615942,
      0.9866143, 0.9999983}},
    {"hard_tanh", {-1, -1, -1, -0.6, -0.4, -0.001, 0, 0.3, 0.5, 1, 1, 1}},
    {"tanh_shrink",
     {-6.000002, -2.004945, -0.2384058, -0.06295043, -0.02005103, -3.49246e-10, 0, 0.008687377, 0.03788286, 0.2384058,
      1.513386, 6.000002}},
    {"softmax",
     {8.155133e-07, 4.452552e-05, 0.0003290016, 0.0004908127, 0.0005994799, 0.0008934252, 0.000894319, 0.001207205,
      0.001474483, 0.002431011, 0.01089504, 0.9807398}},
    {"log_softmax",
     {-14.01945, -10.01945, -8.019448, -7.619448, -7.419448, -7.020448, -7.019448, -6.719448, -6.519448, -6.019448,
      -4.519448, -0.01944796}},
    {"sparsemax", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"silu",
     {-0.006377358, -0.1422776, -0.2689414, -0.2126062, -0.1605249, -0.00049975, 0, 0.1723327, 0.3112297, 0.7310586,
      2.310354, 6.993623}},
    {"hard_silu", {-0, -0, -0.3333333, -0.24, -0.1733333, -0.0004998334, 0, 0.165, 0.2916667, 0.6666667, 2.291667, 7}},
    {"hard_swish", {-0, -0, -0.3333333, -0.24, -0.1733333, -0.0004998334, 0, 0.165, 0.2916667, 0.6666667, 2.291667, 7}},
    {"gelu",
     {-8.958679e-12, -0.004049696, -0.1586553, -0.1645519, -0.1378313, -0.0004996011, 0, 0.1853734, 0.3457312,
      0.8413447, 2.484476, 7}},
    {"gelu(approximate=true)",
     {-0, -0.003637433, -0.158808, -0.1645848, -0.1378388, -0.0004996011, 0, 0.1853709, 0.345714, 0.841192, 2.484916,
      7}},
    {"mish",
     {-0.006380263, -0.1456475, -0.3034015, -0.246936, -0.1889165, -0.00059968, 0, 0.2080014, 0.3752452, 0.8650984,
      2.471392, 6.999989}},
    {"elu", {-0.9990881, -0.950213, -0.6321205, -0.4511884, -0.32968, -0.0009995103, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"elu(alpha=0.5)",
     {-0.4995441, -0.4751065, -0.3160603, -0.2255942, -0.16484, -0.0004997551, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"celu", {-0.9990881, -0.950213, -0.6321205, -0.4511884, -0.32968, -0.0009995003, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"celu(2)", {-1.939605, -1.55374, -0.7869387, -0.5183635, -0.3625385, -0.0009997501, 0, 0.3, 0.5, 1, 2.5, 7}},
    {"selu",
     {-1.756496, -1.670569, -1.111331, -0.793234, -0.5796101, -0.001757238, 0, 0.3152103, 0.5253505, 1.050701, 2.626753,
      7.354907}},
    {"softplus",
     {0.0009114664, 0.04858736, 0.3132617, 0.4374879, 0.5130153, 0.6926473, 0.6931472, 0.8543552, 0.974077, 1.313262,
      2.57889, 7.000912}},
    {"squareplus",
     {0.1400549, 0.3027756, 0.618034, 0.7440307, 0.8198039, 0.9995001, 1, 1.161187, 1.280776, 1.618034, 2.850781,
      7.140055}},
    {"squareplus(b=1)",
     {0.03553391, 0.08113885, 0.2071068, 0.2830952, 0.3385165, 0.4995002, 0.5, 0.6720153, 0.809017, 1.207107, 2.596291,
      7.035534}},
    {"sparse_plus", {0, 0, 0, 0.04, 0.09000001, 0.2495003, 0.25, 0.4225, 0.5625, 1, 2.5, 7}},
    {"softsign",
     {-0.875, -0.75, -0.5, -0.375, -0.2857143, -0.000999001, 0, 0.2307692, 0.3333333, 0.5, 0.7142857, 0.875}},
    {"soft_shrink", {-6.5, -2.5, -0.5, -0.1, 0, 0, 0, 0, 0, 0.5, 2, 6.5}},
    {"soft_shrink(0.9)", {-6.1, -2.1, -0.1, 0, 0, 0, 0, 0, 0, 0.1, 1.6, 6.1}},
    {"hard_shrink", {-7, -3, -1, -0.6, 0, 0, 0, 0, 0, 1, 2.5, 7}},
    {"hard_shrink(threshold=0.35)", {-7, -3, -1, -0.6, -0.4, 0, 0, 0, 0.5, 1, 2.5, 7}},
    {"threshold(0.4, -2)", {-2, -2, -2, -2, -2, -2, -2, -2, 0.5, 1, 2.5, 7}},
    {"exponential",
     {0.000911882, 0.04978707, 0.3678795, 0.5488116, 0.67032, 0.9990005, 1, 1.349859, 1.648721, 2.718282, 12.18249,
      1096.633}},
    {"linear", {-7, -3, -1, -0.6, -0.4, -0.001, 0, 0.3, 0.5, 1, 2.5, 7}},
};

static liana_status apply(const char *activation, const float *x, int64_t batch, int64_t size, float *y, char *message)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(size), .name = "x");
    liana_activation(model, .activation = activation);
    liana_status status = liana_model_status(model);
    const liana_array array = {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(batch, size), .data = x};
    if (status == LIANA_OK) status = liana_predict_on_batch(model, &array, 1, y);
    snprintf(message, 500, "%.499s", context->error.message);
    liana_model_destroy(model);
    return status;
}

static void check(const char *activation, const float *x, int64_t batch, int64_t size, const float *expected, int count)
{
    float y[64];
    char message[500];
    if (apply(activation, x, batch, size, y, message) != LIANA_OK) fail_msg("%s: %s", activation, message);
    for (int i = 0; i < count; i++) {
        if (fabsf(y[i] - expected[i]) <= 1e-6F + 1e-5F * fabsf(expected[i])) continue;
        fail_msg("%s: number %d is %.9g, Keras has %.9g", activation, i, (double)y[i], (double)expected[i]);
    }
}

static void test_functions_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check(rows[i].activation, points, 1, COUNT, rows[i].results, COUNT);
    }
}

/* keras.activations.glu and sparsemax of these rows. Keras's sparsemax adds cumulated sums up, so that of the first two
 * rows nothing is left. */
static void test_functions_of_rows(void **state)
{
    (void)state;
    static const float x[] = {.5F, .2F, -1, .9F, .4F, .3F, 3, 1, 2.5F, -4, 0, 2.9F, 1, 1, 1, 1, 1, 1};
    static const float glu[] = {0.3554747F, 0.1197375F, -0.5744424F, 0.05395863F, 0.5F,
                                2.369616F,  0.7310585F, 0.7310585F,  0.7310586F};
    static const float nothing[18];
    check("glu", x, 3, 6, glu, 9);
    check("sparsemax", x, 3, 6, nothing, 18);
}

/* The point nearest to x on the simplex, worked out by hand: of the first row (0.5, 0.9, 0.4, 0.3) are above t = 0.275;
 * of the second (3, 2.5, 2.9) above 2.4667; equal elements share. */
static void test_projection(void **state)
{
    (void)state;
    static const float x[] = {.5F, .2F, -1, .9F, .4F, .3F, 3, 1, 2.5F, -4, 0, 2.9F, 1, 1, 1, 1, 1, 1};
    static const float y[] = {.225F, 0, 0,         .625F,     .125F,     .025F,     .5333333F, 0,         .03333333F,
                              0,     0, .4333333F, .1666667F, .1666667F, .1666667F, .1666667F, .1666667F, .1666667F};
    check("sparsemax_projection", x, 3, 6, y, 18);
}

/* gelu where one of its factors is 0 or infinite. */
static void test_far_points(void **state)
{
    (void)state;
    const float far[] = {-INFINITY, -1e30F, -25, 25, 1e30F, INFINITY, NAN};
    static const char *const names[] = {"gelu", "gelu(approximate=true)"};
    for (size_t k = 0; k < 2; k++) {
        float y[7];
        char message[500];
        assert_int_equal(apply(names[k], far, 1, 7, y, message), LIANA_OK);
        for (int i = 0; i < 3; i++) assert_near((double)y[i], 0, 0, i, k);
        for (int i = 3; i < 6; i++) assert_compare((double)y[i], ==, (double)far[i], i, k);
        assert_true(isnan(y[6]));
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *activation, *words[3];
    } bad[] = {
        {"leaky_rely", {"leaky_rely", "did you mean 'leaky_relu'", ""}},
        {"leaky_relu(slope=0.1)", {"leaky_relu", "'slope'", "negative_slope"}},
        {"celu(0)", {"celu", "alpha", "found 0"}},
        {"threshold(1)", {"threshold", "default_value", "missing"}},
        {"relu(max_value=-1)", {"relu", "max_value", "-1"}},
        {"softmax(axis=[])", {"softmax", "axis", "0 axes"}},
        {"softmax(axis=0)", {"axis 0", "the batch", ""}},
        {"log_softmax(axis=3)", {"axis 3", "rank 2", ""}},
        {"squareplus(b=-1)", {"squareplus", "b", "-1"}},
        {"gelu(approximate=2)", {"gelu", "approximate", "true or false"}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float y[COUNT];
        char message[500];
        if (apply(bad[i].activation, points, 1, COUNT, y, message) == LIANA_OK) fail_msg("%s", bad[i].activation);
        for (int k = 0; k < 3; k++) assert_says(message, bad[i].words[k]);
    }
    float y[3];
    char message[500];
    assert_int_equal(apply("glu", points, 1, 3, y, message), LIANA_INVALID_ARGUMENT);
    assert_says(message, "glu halves axis 1, which has 3 elements");
}

/* The text that a file of Keras has in an activation's place, and what liana writes for it. */
static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text, *written;
    } files[] = {
        {"\"hard_swish\"", "hard_swish", "\"activation\": \"hard_silu\""},
        {"{\"class_name\": \"LeakyReLU\", \"module\": \"keras.layers\", \"config\": {\"name\": \"l\", "
         "\"trainable\": true, \"negative_slope\": 0.1}}",
         "leaky_relu(negative_slope=0.1)", "\"class_name\": \"LeakyReLU\""},
        {"{\"class_name\": \"ReLU\", \"config\": {\"max_value\": 3.0, \"negative_slope\": 0.0, \"threshold\": 0.5}}",
         "relu(negative_slope=0.0, max_value=3.0, threshold=0.5)", "\"max_value\": 3.0"},
        {"{\"class_name\": \"ELU\", \"config\": {\"alpha\": 0.5}}", "elu(alpha=0.5)", "\"alpha\": 0.5"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char json[800];
        liana__arena arena = {0};
        liana__value *root;
        liana_model *model;
        snprintf(json, sizeof json,
                 "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": [{\"class_name\": "
                 "\"InputLayer\", \"config\": {\"name\": \"i\", \"batch_shape\": [null, 4]}}, {\"class_name\": "
                 "\"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"activation\": %s}}]}}",
                 files[i].json);
        assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &root, &context->error), &context->error);
        assert_ok(liana_model_create(context, "read", &model), &context->error);
        if (liana__model_from_keras(model, root) != LIANA_OK) fail_msg("%s: %s", json, model->error.message);
        assert_string_equal(((const liana_dense_options *)model->layers[1].options)->activation, files[i].text);
        assert_says(liana__json_line(liana__model_to_keras(model, LIANA__KERAS3, &arena), &arena), files[i].written);
        liana_model_destroy(model);
        liana__arena_free(&arena);
    }
}

/* What a form has no word for is refused by name. */
static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *activation;
        bool keras3, keras2, tfjs;
    } forms[] = {
        {"gelu", true, true, false},
        {"gelu(approximate=true)", false, false, false},
        {"leaky_relu(0.1)", true, true, false},
        {"celu", true, false, false},
        {"celu(2)", false, false, false},
        {"mish", true, true, true},
        {"sparsemax_projection", false, false, false},
        {"hard_sigmoid_keras2", false, true, true},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        liana_model *model;
        liana__error error = {0};
        assert_ok(liana_model_create(context, "small", &model), &context->error);
        liana_input(model, .shape = LIANA_INTS(4));
        liana_dense(model, .units = 2, .activation = forms[i].activation);
        assert_ok(liana_model_status(model), &context->error);
        const bool known[] = {
            liana__model_check_keras(model, LIANA__KERAS3, &error) == LIANA_OK,
            liana__model_check_keras(model, LIANA__KERAS2, &error) == LIANA_OK,
            liana__model_check_keras(model, LIANA__TFJS, &error) == LIANA_OK,
        };
        assert_compare(known[0], ==, forms[i].keras3, i);
        assert_compare(known[1], ==, forms[i].keras2, i);
        assert_compare(known[2], ==, forms[i].tfjs, i);
        liana_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_of_keras),
        cmocka_unit_test(test_functions_of_rows),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_far_points),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
