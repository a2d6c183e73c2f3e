/* Normalisations and activation layers against the numbers of Keras 3.15.1. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "formats/yaml.h"
#include "layers/model.h"

#include <liana/layers.h>
#include <liana/train.h>
#include <math.h>
#include <string.h>

enum { BATCH = 2, STEPS = 3, CHANNELS = 4, SIZE = BATCH * STEPS * CHANNELS };

/* x[i] = 2 sin(i + 1), of shape [2, 3, 4]; the results of keras.layers.NAME(...)(x) with the arguments that are written
 * here, in Keras 3.15.1 with TensorFlow. */
static const struct {
    const char *layer;
    float results[SIZE];
} rows[] = {
    {"LayerNormalization: {}",
     {0.8298826, 0.9308115,  -0.2122719, -1.548422, -1.379032,   -0.4957801, 0.7213912, 1.153421,
      1.611801,  -0.2466673, -1.132944,  -0.23219,  -0.04933757, 1.167826,   0.4416772, -1.560166,
      -1.067786, -0.7865952, 0.4173118,  1.437069,  1.50099,     0.3123117,  -0.864926, -0.9483759}},
    {"LayerNormalization: {axis: 1, epsilon: 0.1, gamma_initializer: constant(1.5), beta_initializer: constant(-0.25)}",
     {1.17221,   1.777621,  0.1902191, -1.490785, -2.272853, -0.959204,  1.279847,  1.814678,
      0.3506427, -1.568417, -2.220066, -1.073893, 0.3650223, 1.625141,   1.305719,  -0.6279945,
      -2.276302, -1.949108, 0.1361697, 1.707061,  1.16128,   -0.4260332, -2.191889, -1.829066}},
    {"LayerNormalization: {axis: [1, 2], scale: false, beta_initializer: constant(0.5)}",
     {1.6766,     1.770276,   0.709333,   -0.5308028, -0.8099567, 0.1285244, 1.421805,   1.880849,
      1.083614,   -0.236927,  -0.8666736, -0.2266401, 1.059434,   1.850257,  1.378459,   0.07780915,
      -0.8558812, -0.5641815, 0.6847208,  1.742591,   1.636827,   0.4646694, -0.6962069, -0.778497}},
    {"LayerNormalization: {axis: [-2], center: false, gamma_initializer: constant(2)}",
     {1.935662,  2.785937,  0.6019146, -1.687983, -2.753151, -0.9744412, 2.09177,   2.808819,
      0.8174888, -1.811495, -2.693685, -1.120836, 0.8370293, 2.560199,   2.139567,  -0.5148124,
      -2.757745, -2.319854, 0.5310959, 2.665433,  1.920715,  -0.2403447, -2.670663, -2.150621}},
    {"LayerNormalization: {rms_scaling: true, gamma_initializer: constant(2)}",
     {2.504295,  2.706153,  0.4199862, -2.252314, -2.492893, -0.7263899, 1.707953,  2.572011,
      1.602087,  -2.11485,  -3.887403, -2.085896, 1.793043,  4.22737,    2.775072,  -1.228614,
      -2.569606, -2.007225, 0.400589,  2.440104,  2.352469,  -0.0248877, -2.379363, -2.546263}},
    {"RMSNormalization: {}",
     {1.153794,  1.246795,   0.1934985, -1.037699,  -1.23589,  -0.3601188,  0.8467434, 1.275114,
      0.6224083, -0.8216162, -1.510251, -0.8103675, 0.6515183, 1.536053,    1.008348,  -0.4464279,
      -1.255844, -0.9809914, 0.1957799, 1.192552,   1.118969,  -0.01183802, -1.131762, -1.211149}},
    {"RMSNormalization: {axis: [1, 2]}",
     {1.162325,  1.256014,   0.1949293, -1.045373,  -1.324564, -0.3859572,  0.9074968, 1.366602,
      0.5692601, -0.7514574, -1.381288, -0.7411692, 0.5824783, 1.373281,    0.9014953, -0.3991209,
      -1.332787, -1.041095,  0.2077751, 1.265618,   1.159857,  -0.01227059, -1.173117, -1.255405}},
    {"GroupNormalization: {groups: 2}",
     {1.104818,  1.20113,    0.3063149, -0.9137477, -1.451713, -0.486822,  1.007255,  1.458868,
      0.4951445, -0.8625575, -1.244182, -0.6145082, 0.4481956, 1.217198,   1.016897,  -0.3368945,
      -1.414273, -1.130621,  0.2948141, 1.395906,   1.009658,  -0.1301582, -1.142535, -1.228187}},
    {"GroupNormalization: {groups: -1, gamma_initializer: constant(1.5)}",
     {1.451746,  2.089453,  0.4514359, -1.265987,  -2.064863, -0.7308309, 1.568828,  2.106614,
      0.6131166, -1.358622, -2.020264, -0.8406274, 0.627772,  1.920149,   1.604675,  -0.3861093,
      -2.068309, -1.739891, 0.398322,  1.999075,   1.440536,  -0.1802585, -2.002997, -1.612966}},
    {"GroupNormalization: {groups: 3, axis: 1, epsilon: 0.1, center: false}",
     {0.8080363, 0.9063083,  -0.206684, -1.507661,  -1.351072,   -0.4857283, 0.7067652,  1.130035,
      1.541348,  -0.2358852, -1.083422, -0.2220408, -0.04677272, 1.107115,   0.4187161,  -1.479058,
      -1.044941, -0.7697664, 0.4083837, 1.406324,   1.465572,    0.3049422,  -0.8445165, -0.9259973}},
    {"GroupNormalization: {groups: 1, axis: -2, scale: false, beta_initializer: ones}",
     {2.1766,     2.270276,    1.209333,   -0.03080285, -0.3099567, 0.6285244, 1.921805,   2.380849,
      1.583614,   0.263073,    -0.3666736, 0.2733599,   1.559434,   2.350257,  1.878459,   0.5778092,
      -0.3558812, -0.06418151, 1.184721,   2.242591,    2.136827,   0.9646694, -0.1962069, -0.278497}},
    {"UnitNormalization: {}",
     {0.5768969,  0.6233975,  0.09674926, -0.5188498, -0.617945, -0.1800594,  0.4233718, 0.637557,
      0.3112042,  -0.4108082, -0.7551255, -0.4051839, 0.3257592, 0.7680267,   0.504174,  -0.223214,
      -0.6279221, -0.4904958, 0.09789,    0.5962762,  0.5594848, -0.00591901, -0.565881, -0.6055745}},
    {"UnitNormalization: {axis: [1, 2]}",
     {0.3355345,  0.3625802,  0.05627126, -0.3017732, -0.3823687, -0.1114163,   0.2619718,  0.3945042,
      0.1643313,  -0.2169271, -0.3987437, -0.2139572, 0.1681471,  0.3964321,    0.2602393,  -0.1152163,
      -0.3847426, -0.3005383, 0.05997951, 0.3653525,  0.334822,   -0.003542214, -0.3386498, -0.3624043}},
    {"UnitNormalization: {axis: 1}",
     {0.62764,    0.829776,   0.1171321,  -0.5579996, -0.7152466, -0.2549796,   0.5453107,  0.7294657,
      0.3073927,  -0.4964445, -0.8300099, -0.3956216, 0.3131029,  0.7968678,    0.6034062,  -0.2184832,
      -0.7164206, -0.6041117, 0.139072,   0.6928132,  0.6234646,  -0.007120201, -0.7852132, -0.6872226}},
    {"BatchNormalization: {axis: 1, moving_mean_initializer: constant(0.5), moving_variance_initializer: constant(2), "
     "gamma_initializer: constant(1.5)}",
     {1.254386,  1.398232,  -0.2309116, -2.135217, -2.563875, -1.122779,  0.8631333, 1.568024,
      0.3438193, -1.683952, -2.650967,  -1.668156, 0.3608886, 1.570673,   0.8489266, -1.14078,
      -2.56912,  -2.122884, -0.2123394, 1.405968,  1.244174,  -0.5489693, -2.324854, -2.450739}},
    {"Normalization: {mean: [0.1, 0.2, 0.3, 0.4], variance: [1, 2, 3, 4]}",
     {1.582942,  1.144519,   -0.01025375,   -0.9568025, -2.017848, -0.5365745, 0.5854177, 0.7893583,
      0.724237,  -0.9107835, -1.327894,     -0.7365729, 0.740334,  1.259509,   0.5776827, -0.4879033,
      -2.022795, -1.203478,  -0.0001417978, 0.7129453,  1.573311,  -0.153939,  -1.150336, -1.105578}},
    {"Normalization: {mean: 0.5, variance: 4, axis: null}",
     {0.591471,  0.6592974,  -0.10888,   -1.006803,  -1.208924, -0.5294155, 0.4069866, 0.7393582,
      0.1621185, -0.7940211, -1.24999,   -0.7865729, 0.170167,  0.7406074,  0.4002879, -0.5379033,
      -1.211397, -1.000987,  -0.1001228, 0.6629453,  0.5866556, -0.2588513, -1.09622,  -1.155578}},
    {"Normalization: {mean: [1, 2, 3], variance: [4, 5, 6], axis: 1, invert: true}",
     {4.365884, 4.63719,   1.56448,   -2.02721, -2.28844, 0.7504159, 4.938133,  6.424545,
      5.01896,  0.3348515, -1.898932, 0.37134,  2.680668, 4.96243,   3.601151,  -0.1516132,
      -2.2995,  -1.358517, 2.670271,  6.082816, 7.098759, 2.956638,  -1.145617, -1.43641}},
    {"Normalization: {mean: [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], variance: [[1, 2, 3, 4], [5, 6, 7, 8], [9, "
     "1, 2, 3]], axis: [1, 2]}",
     {1.682942,  0.5788339, -0.9917492, -2.256803, -2.646542, -2.269383, -1.771152,  -1.775292,
      -2.391921, -10.08804, -8.485268,  -6.970434, 0.8403341, 0.6938236, -0.4038128, -1.787903,
      -2.648754, -2.65442,  -2.15449,   -1.829324, -2.108896, -9.017703, -8.267804,  -7.396525}},
    {"Normalization: {mean: [1, 2, 3, 4], variance: [4, 1, 9, 2], axis: [1, 2]}",
     {0.341471,    -0.1814052, -0.90592,   -3.898708, -1.458924,   -2.558831,   -0.5620089, -1.429263,
      -0.08788151, -3.088042,  -1.66666,   -3.587256, -0.07983297, -0.01878524, -0.5664747, -3.235584,
      -1.461397,   -3.501975,  -0.9000819, -1.537328, 0.3366556,   -2.017703,   -1.564147,  -4.109108}},
    {"LeakyReLU: {}",
     {1.682942,   1.818595,   0.28224,    -0.4540815, -0.5753546, -0.1676493,   1.313973,   1.978716,
      0.824237,   -0.3264127, -0.5999942, -0.3219438, 0.8403341,  1.981215,     1.300576,   -0.172742,
      -0.5768385, -0.4505924, 0.2997544,  1.825891,   1.673311,   -0.005310786, -0.5077323, -0.5433471}},
    {"LeakyReLU: {negative_slope: 0.05}",
     {1.682942,    1.818595,    0.28224,     -0.07568025, -0.09589243, -0.02794155,  1.313973,    1.978716,
      0.824237,    -0.05440211, -0.09999903, -0.05365729, 0.8403341,   1.981215,     1.300576,    -0.02879033,
      -0.09613975, -0.07509872, 0.2997544,   1.825891,    1.673311,    -0.000885131, -0.08462205, -0.09055784}},
    {"ELU: {alpha: 0.7}",
     {1.682942,   1.818595,   0.28224,    -0.5459194, -0.5971541, -0.299686,   1.313973,   1.978716,
      0.824237,   -0.4641872, -0.6052634, -0.4606482, 0.8403341,  1.981215,    1.300576,   -0.3064242,
      -0.5976616, -0.544117,  0.2997544,  1.825891,   1.673311,   -0.01228282, -0.5711512, -0.5855746}},
    {"PReLU: {alpha_initializer: constant(0.2)}",
     {1.682942,  1.818595,   0.28224,    -0.302721,  -0.3835697, -0.1117662,   1.313973,   1.978716,
      0.824237,  -0.2176085, -0.3999961, -0.2146292, 0.8403341,  1.981215,     1.300576,   -0.1151613,
      -0.384559, -0.3003949, 0.2997544,  1.825891,   1.673311,   -0.003540524, -0.3384882, -0.3622313}},
    {"PReLU: {alpha_initializer: constant(-0.3), shared_axes: [1]}",
     {1.682942,  1.818595,  0.28224,   0.4540815, 0.5753546, 0.1676493,   1.313973,  1.978716,
      0.824237,  0.3264127, 0.5999942, 0.3219438, 0.8403341, 1.981215,    1.300576,  0.172742,
      0.5768385, 0.4505924, 0.2997544, 1.825891,  1.673311,  0.005310786, 0.5077323, 0.5433471}},
    {"LayerScale: {init_values: 0.3, projection_dim: 4}",
     {0.5048826,  0.5455785,  0.084672,   -0.4540815, -0.5753546, -0.1676493,   0.394192,   0.5936149,
      0.2472711,  -0.3264127, -0.5999941, -0.3219438, 0.2521002,  0.5943644,    0.3901727,  -0.172742,
      -0.5768385, -0.4505923, 0.08992633, 0.5477672,  0.5019934,  -0.005310786, -0.5077322, -0.543347}},
    {"Softmax: {axis: 1}",
     {0.6891739,  0.8714989,  0.2558865, 0.02823617, 0.01881591, 0.08086564, 0.7179983,  0.9279011,
      0.2920102,  0.04763545, 0.0261151, 0.04386264, 0.2973314,  0.8574924,  0.7053612,  0.08108568,
      0.01875984, 0.02633301, 0.2592748, 0.89534,    0.6839088,  0.1161747,  0.03536396, 0.02357428}},
    {"Softmax: {axis: [1, 2]}",
     {0.1931696,  0.2212341,   0.04760161,  0.007901256, 0.005273943, 0.02052812, 0.1335665,   0.2596522,
      0.08184799, 0.01209249,  0.004858093, 0.01227397,  0.08162148,  0.2554363,  0.1293257,   0.01980534,
      0.00514983, 0.007844274, 0.04753721,  0.2186886,   0.1877422,   0.034607,   0.006483869, 0.005758066}},
    {"Softmax: {axis: [-1]}",
     {0.4110809,  0.4708045,  0.1013002,  0.01681452, 0.01258635, 0.04899069, 0.3187587,  0.6196643,
      0.7368876,  0.1088702,  0.04373804, 0.1105041,  0.1678802,  0.525385,   0.2659989,  0.0407359,
      0.01844363, 0.02809353, 0.17025,    0.7832128,  0.8002954,  0.1475205,  0.02763902, 0.02454511}},
    {"ReLU: {max_value: 1.2, negative_slope: 0.1, threshold: 0.3}",
     {1.2,        1.2,        -0.001776001,  -0.1813605, -0.2217849, -0.0858831,  1.2,        1.2,
      0.824237,   -0.1388042, -0.229998,     -0.1373146, 0.8403341,  1.2,         1.2,        -0.08758067,
      -0.2222795, -0.1801975, -2.456009e-05, 1.2,        1.2,        -0.03177026, -0.1992441, -0.2111157}},
};

static liana_model *parse(const char *text, liana__arena *arena)
{
    liana__value *list;
    liana__error error = {0};
    liana_model *model;
    char layers[600];
    snprintf(layers, sizeof layers, "- %s\n", text);
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    assert_ok(liana__yaml_parse(layers, strlen(layers), "run.yaml", arena, &list, &error), &error);
    const liana_shape shape = liana_shape_of(STEPS, CHANNELS);
    if (liana__model_from_layers(model, list, "model.layers", &shape) != LIANA_OK) {
        fail_msg("%s: %s", text, model->error.message);
    }
    return model;
}

static void fill(float *x)
{
    for (int i = 0; i < SIZE; i++) x[i] = 2 * (float)sin(i + 1);
}

static void check_row(liana_model *model, const char *text, const float *expected)
{
    float x[SIZE], y[SIZE];
    fill(x);
    const liana_array array = {.name = liana__model_input(model, 0).name,
                               .dtype = LIANA_F32,
                               .shape = liana_shape_of(BATCH, STEPS, CHANNELS),
                               .data = x};
    if (liana_predict_on_batch(model, &array, 1, y) != LIANA_OK) fail_msg("%s: %s", text, context->error.message);
    for (int i = 0; i < SIZE; i++) {
        if (fabsf(y[i] - expected[i]) <= 2e-6F + 1e-5F * fabsf(expected[i])) continue;
        fail_msg("%s: number %d is %.9g, Keras has %.9g", text, i, (double)y[i], (double)expected[i]);
    }
}

/* As written in YAML, and as read again from what liana writes for Keras 3. */
static void test_layers_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        liana__arena arena = {0};
        liana_model *model = parse(rows[i].layer, &arena), *again;
        check_row(model, rows[i].layer, rows[i].results);
        liana__value *json = liana__model_to_keras(model, LIANA__KERAS3, &arena);
        assert_non_null(json);
        assert_ok(liana_model_create(context, "again", &again), &context->error);
        if (liana__model_from_keras(again, json) != LIANA_OK) fail_msg("%s: %s", rows[i].layer, again->error.message);
        check_row(again, rows[i].layer, rows[i].results);
        liana_model_destroy(again);
        liana_model_destroy(model);
        liana__arena_free(&arena);
    }
}

/* ---- moving averages ---- */

static const liana_array labels = {.name = "label",
                                   .dtype = LIANA_S32,
                                   .shape = {1, {BATCH}},
                                   .data = (const int32_t[]){0, 1}};

static liana_status train(liana_model *model, const liana_array *input, int64_t microbatch)
{
    const liana_fit_options options = {.optimizer = "SGD", .microbatch = microbatch, .batch_size = BATCH};
    const liana_array arrays[] = {*input, labels};
    return liana_train_on_batch(model, &options, arrays, 2, NULL);
}

static void add_end(liana_model *model)
{
    liana_flatten(model);
    liana_dense(model, .units = 2, .activation = "softmax");
}

static void check_average(liana_model *model, const char *name, const double *expected, int64_t count, size_t row)
{
    liana_array found;
    char path[100];
    snprintf(path, sizeof path, "batch_normalization/%s", name);
    assert_ok(liana_model_get_weights(model, path, &found), &context->error);
    assert_int_equal(found.shape.dims[0], count);
    for (int64_t i = 0; i < count; i++) assert_near(((const float *)found.data)[i], expected[i], 2e-6, row, i);
}

/* After one call in training of keras.layers.BatchNormalization(axis=..., momentum=0.5), Keras 3.15.1, on 2 sin(i + 1)
 * of shape [2, 3, 4], or as images [2, 3, 2, 2]. */
static void test_moving_averages_of_any_axis(void **state)
{
    (void)state;
    static const struct {
        bool are_images;
        int64_t axis, count;
        double mean[4], variance[4];
    } cases[] = {
        {false, 1, 3, {0.3635306, -0.03019464, -0.3240575}, {1.183482, 1.686244, 1.287454}},
        {false, -1, 4, {0.09834839, 0.05277161, -0.04132317, -0.0974256}, {1.680078, 1.409836, 1.367569, 1.67299}},
        {true, 1, 3, {0.3635306, -0.03019464, -0.3240575}, {1.183482, 1.686244, 1.287454}},
        {true, 3, 2, {0.0285126, -0.022327}, {1.533578, 1.552693}},
        {true, -2, 2, {0.07556, -0.06937438}, {1.545996, 1.521853}},
    };
    float x[SIZE];
    fill(x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_model *model;
        assert_ok(liana_model_create(context, "small", &model), &context->error);
        const liana_ints shape = cases[i].are_images ? LIANA_INTS(STEPS, 2, 2) : LIANA_INTS(STEPS, CHANNELS);
        liana_input(model, .shape = shape, .name = "x");
        liana_batch_normalization(model, .axis = cases[i].axis, .momentum = 0.5);
        add_end(model);
        const liana_array input = {.name = "x",
                                   .dtype = LIANA_F32,
                                   .shape = cases[i].are_images ? liana_shape_of(BATCH, STEPS, 2, 2)
                                                                : liana_shape_of(BATCH, STEPS, CHANNELS),
                                   .data = x};
        assert_ok(train(model, &input, 0), &context->error);
        check_average(model, "moving_mean", cases[i].mean, cases[i].count, i);
        check_average(model, "moving_variance", cases[i].variance, cases[i].count, i);
        liana_model_destroy(model);
    }
}

/* The same behind an Embedding(5, 4, mask_zero=True) of rows 2 sin(i + 1), on the ids [[1, 2, 0], [3, 0, 0]]. */
static void test_moving_averages_with_a_mask(void **state)
{
    (void)state;
    static const struct {
        int64_t axis, count;
        double mean[4], variance[4];
    } cases[] = {
        {-1, 4, {-0.04221292, 0.05572359, 0.1024281, 0.05496067}, {1.340381, 1.397346, 1.715341, 1.393711}},
        {1, 3, {0.2726455, -0.4171165, 0}, {1.369248, 1.028874, 0.5}},
    };
    float rows_of_ids[20];
    for (int i = 0; i < 20; i++) rows_of_ids[i] = 2 * (float)sin(i + 1);
    const liana_array weights = {.name = "embedding/embeddings",
                                 .dtype = LIANA_F32,
                                 .shape = liana_shape_of(5, 4),
                                 .data = rows_of_ids};
    const liana_array ids = {.name = "ids",
                             .dtype = LIANA_S32,
                             .shape = liana_shape_of(BATCH, STEPS),
                             .data = (const int32_t[]){1, 2, 0, 3, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_model *model;
        assert_ok(liana_model_create(context, "small", &model), &context->error);
        liana_input(model, .shape = LIANA_INTS(STEPS), .dtype = LIANA_S32, .name = "ids");
        liana_embedding(model, .input_dim = 5, .output_dim = 4, .mask_zero = true);
        liana_batch_normalization(model, .axis = cases[i].axis, .momentum = 0.5);
        add_end(model);
        assert_ok(liana_model_set_weights(model, &weights, 1), &context->error);
        assert_ok(train(model, &ids, 0), &context->error);
        check_average(model, "moving_mean", cases[i].mean, cases[i].count, i);
        check_average(model, "moving_variance", cases[i].variance, cases[i].count, i);
        liana_model_destroy(model);
    }
}

static void test_synchronized_needs_one_shard(void **state)
{
    (void)state;
    float x[SIZE];
    fill(x);
    const liana_array input = {.name = "x",
                               .dtype = LIANA_F32,
                               .shape = liana_shape_of(BATCH, STEPS, CHANNELS),
                               .data = x};
    for (int64_t microbatch = 1; microbatch <= BATCH; microbatch++) {
        for (int trainable = 0; trainable < 2; trainable++) {
            liana_model *model;
            assert_ok(liana_model_create(context, "small", &model), &context->error);
            liana_input(model, .shape = LIANA_INTS(STEPS, CHANNELS), .name = "x");
            liana_batch_normalization(model, .synchronized = true, .trainable = trainable, .name = "together");
            add_end(model);
            const liana_status status = train(model, &input, microbatch);
            if (microbatch == 1 && trainable) {
                assert_int_equal(status, LIANA_INVALID_CONFIG);
                assert_says(context->error.message, "layer 'together'");
                assert_says(context->error.message, "shards of 1");
                assert_says(context->error.message, "(train.microbatch) to 2");
            } else {
                assert_ok(status, &context->error);
            }
            liana_model_destroy(model);
        }
    }
}

/* ---- options that cannot be ---- */

static void assert_refused(const char *text, const char *const *words)
{
    liana__arena arena = {0};
    liana__value *list;
    liana__error error = {0};
    liana_model *model;
    char layers[600];
    snprintf(layers, sizeof layers, "- %s\n", text);
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    assert_ok(liana__yaml_parse(layers, strlen(layers), "run.yaml", &arena, &list, &error), &error);
    const liana_shape shape = liana_shape_of(STEPS, CHANNELS);
    if (liana__model_from_layers(model, list, "model.layers", &shape) == LIANA_OK) fail_msg("%s is accepted", text);
    for (; *words; words++) assert_says(model->error.message, *words);
    liana_model_destroy(model);
    liana__arena_free(&arena);
}
#define REFUSED(text, ...) assert_refused(text, (const char *const[]){__VA_ARGS__, NULL})

static void test_bad_options(void **state)
{
    (void)state;
    REFUSED("LayerNormalization: {axis: 3}", "layer 'layer_normalization'", "axis 3", "[batch, 3, 4]");
    REFUSED("LayerNormalization: {axis: 0}", "axis", "found 0, the batch");
    REFUSED("LayerNormalization: {axis: []}", "axis", "found none");
    REFUSED("LayerNormalization: {axis: [1, 1]}", "axis", "twice");
    REFUSED("LayerNormalization: {axis: [2, -1]}", "2 and -1 are two axes");
    REFUSED("LayerNormalization: {epsilon: -1}", "epsilon", "-1");
    REFUSED("RMSNormalization: {axis: 1}", "layer 'rms_normalization'", "last axes");
    REFUSED("GroupNormalization: {}", "32 groups", "set groups");
    REFUSED("GroupNormalization: {groups: 0}", "groups", "found 0");
    REFUSED("GroupNormalization: {groups: -2}", "groups", "-2");
    REFUSED("GroupNormalization: {groups: 2, axis: 1}", "2 groups", "[batch, 3, 4]");
    REFUSED("BatchNormalization: {axis: 0}", "axis", "the batch");
    REFUSED("BatchNormalization: {axis: 3}", "axis 3");
    REFUSED("Normalization: {mean: 1}", "variance", "1 numbers of mean and 0 of variance");
    REFUSED("Normalization: {mean: [1, 2], variance: [1, 2]}", "2 numbers of mean", "[batch, 3, 4]");
    REFUSED("Normalization: {mean: [1, 2, 3, 4], variance: [1, 2, 3, -4]}", "variance", "-4");
    REFUSED("Normalization: {mean: [[1, 2, 3, 4]], variance: [[1, 2, 3, 4]]}", "mean", "2 axes");
    REFUSED("Normalization: {mean: [one], variance: [1]}", "mean[0]", "a number");
    REFUSED("Normalization: {axis: [1, 0]}", "axis", "the batch");
    REFUSED("PReLU: {shared_axes: [3]}", "shared axis 3");
    REFUSED("PReLU: {shared_axes: [0]}", "shared_axes", "0");
    REFUSED("Softmax: {axis: [1, 5]}", "axis 5");
    REFUSED("LeakyReLU: {negative_slope: -1}", "negative_slope", "-1");
}

/* One axis may be written as a number. */
static void test_builders(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(STEPS, CHANNELS));
    liana_layer_normalization(model, .axis = {1, 2}, .epsilon = 1e-5);
    liana_normalization(model, .mean = LIANA_FLOATS(1, 2, 3, 4), .variance = LIANA_FLOATS(1, 2, 3, 4));
    liana_normalization(model, .axis = {0}, .mean = LIANA_FLOATS(1), .variance = LIANA_FLOATS(4), .invert = true);
    liana_group_normalization(model, .groups = 2);
    liana_unit_normalization(model, .axis = 1);
    liana_prelu(model, .shared_axes = LIANA_INTS(1));
    assert_ok(liana_model_status(model), &context->error);
    const liana_unit_normalization_options *unit = model->layers[5].options;
    assert_int_equal(unit->axis[0], 1);
    assert_int_equal(unit->axis[1], 0);
    liana_layer_normalization(model, .axis = {1, 1});
    assert_int_equal(liana_model_status(model), LIANA_INVALID_CONFIG);
    assert_says(context->error.message, "axis 1 twice");
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_keras),
        cmocka_unit_test(test_moving_averages_of_any_axis),
        cmocka_unit_test(test_moving_averages_with_a_mask),
        cmocka_unit_test(test_synchronized_needs_one_shard),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_builders),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
