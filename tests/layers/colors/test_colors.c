/* Layers that change colours and mix images: Keras's numbers, that batches do not matter, and what draws are like. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/scoped.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "layers/model.h"

#include <liana/layers.h>
#include <liana/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 3, WIDTH = 4, PIXELS = HEIGHT * WIDTH * 3, IMAGES = 24 };

/* ---- running a model ---- */

static liana_model *from_yaml(const char *layer)
{
    liana__arena arena = {0};
    liana__value *list;
    liana__error error = {0};
    liana_model *model;
    char layers[600];
    snprintf(layers, sizeof layers, "- %s\n", layer);
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    assert_ok(liana__yaml_parse(layers, strlen(layers), "run.yaml", &arena, &list, &error), &error);
    const liana_shape shape = liana_shape_of(HEIGHT, WIDTH, 3);
    assert_ok(liana__model_from_layers(model, list, "model.layers", &shape), &model->error);
    liana__arena_free(&arena);
    return model;
}

/* Which examples there are: places `first`, `first` + 1, ... of the run; present: NULL, or 1 and 0. */
typedef struct batch {
    int64_t count;
    uint64_t first;
    const float *present;
} batch;

/* The first result for images x, and (unless they are NULL) the second for labels [count, classes]. */
static void run(const liana_model *model, bool training, batch of, const float *x, const float *labels, float *result,
                float *more)
{
    liana_graph *graph;
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor inputs[2], places;
    const float *const values[] = {x, labels};
    for (size_t i = 0; i < (labels ? 2U : 1U); i++) {
        liana_shape shape = liana__model_input(model, i).shape;
        shape.dims[0] = of.count;
        inputs[i] = liana_graph_constant(graph, LIANA_F32, shape, values[i]);
    }
    uint64_t *positions = malloc((size_t)of.count * sizeof *positions);
    assert_non_null(positions);
    for (int64_t i = 0; i < of.count; i++) positions[i] = of.first + (uint64_t)i;
    places = liana_graph_constant(graph, LIANA_U64, liana_shape_of(of.count), positions);
    liana__model_mode mode = {.training = training, .positions = places, .seed = 3};
    if (of.present) {
        mode.present = liana_graph_constant(graph, LIANA_F32, liana_shape_of(of.count), of.present);
    }
    const liana__model_results results = liana__model_call(model, inputs, &mode);
    for (size_t i = 0; i < (labels ? 2U : 1U); i++) {
        const liana_tensor y = results.outputs[i].value;
        assert_ok(liana_graph_status(graph), &context->error);
        const liana_shape shape = liana_tensor_shape(y);
        assert_ok(liana_value(y, i ? more : result, (size_t)liana_shape_size(&shape) * sizeof(float)), &context->error);
    }
    free(positions);
    liana_graph_destroy(graph);
}

/* (7 i^2 + 3 i + 11 k) % 256 in image k. */
static void fill(float *x, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < PIXELS; i++) x[k * PIXELS + i] = (float)((7 * i * i + 3 * i + 11 * k) % 256);
    }
}

/* ---- numbers of Keras ---- */

/* Image 0 in keras.layers.NAME(...)(x, training=True) of Keras 3.15.1 with TensorFlow. Where one number stands for a
 * range, both ends are given, so that nothing is drawn. */
static const struct {
    const char *layer;
    float values[PIXELS];
} known[] = {
    {"RandomBrightness: {factor: [0.2, 0.2]}",
     {51, 61, 85, 123, 175, 241, 65, 159, 255, 133, 255, 163, 71,  249, 185, 135, 99, 77,
      69, 75, 95, 129, 177, 239, 59, 149, 253, 115, 247, 137, 255, 215, 147, 93,  53, 255}},
    {"RandomContrast: {factor: [0, 0]}",
     {0,  10, 34, 72, 124, 190, 14, 108, 216, 82, 218, 112, 20,  198, 134, 84, 48, 26,
      18, 24, 44, 78, 126, 188, 8,  98,  202, 64, 196, 86,  246, 164, 96,  42, 2,  232}},
    {"RandomHue: {factor: 0}",
     {0,         10,        34,  72, 124, 190,       14,  108,       216,       82.00002F, 218,       112,
      20,        198,       134, 84, 48,  26,        18,  23.99999F, 44,        78,        126,       188,
      7.999998F, 97.99995F, 202, 64, 196, 86.00002F, 246, 164,       96.00001F, 41.99999F, 1.999998F, 232}},
    {"RandomSaturation: {factor: [0.7, 0.7], value_range: [0, 255]}",
     {-45.33331F, -21.99998F, 34,         -85.33324F, 36.00003F, 190,        -255.3332F, -36.00002F,    216,
      -99.33323F, 218,        -29.33326F, -217.3332F, 198,       48.66675F,  84,         3.004074e-05F, -51.33329F,
      -16.66665F, -2.666655F, 44,         -68.66657F, 43.33334F, 188,        -250.6665F, -40.66672F,    202,
      -111.9999F, 196,        -60.66654F, 246,        54.66674F, -103.9999F, -211.3332F, -304.6665F,    232}},
    {"RandomSharpness: {factor: [0.9, 0.9]}",
     {0,         0,   29.2F,     99.07692F, 161.1692F, 255,       0.3384619F, 127.9385F, 255,
      115.6F,    255, 139.5692F, 15.81538F, 255,       166.8615F, 98.15385F,  14.89231F, 0,
      0,         0,   0,         91.66154F, 156.2769F, 237.4769F, 1.6F,       119.0462F, 255,
      72.36923F, 255, 97.44615F, 255,       220.3692F, 107.8154F, 41.63077F,  0,         255}},
    {"RandomPosterization: {factor: [3, 3]}",
     {0, 0, 32, 64, 96, 160, 0, 96, 192, 64, 192, 96, 0,   192, 128, 64, 32, 0,
      0, 0, 32, 64, 96, 160, 0, 96, 192, 64, 192, 64, 224, 160, 96,  32, 0,  224}},
    {"RandomColorDegeneration: {factor: [0.4, 0.4]}",
     {3.8984F,   9.8984F,   24.2984F,  89.58752F, 120.7875F, 160.3875F, 45.28184F, 101.6818F, 166.4818F,
      115.2975F, 196.8975F, 133.2975F, 66.992F,   173.792F,  135.392F,  72.89904F, 51.29904F, 38.09904F,
      20.59368F, 24.19368F, 36.19368F, 94.28328F, 123.0833F, 160.2833F, 37.97808F, 91.97808F, 154.3781F,
      95.99425F, 175.1942F, 109.1942F, 219.8966F, 170.6966F, 129.8966F, 41.27032F, 17.27032F, 155.2703F}},
    {"RandomInvert: {factor: [1, 1]}",
     {255, 245, 221, 183, 131, 65, 241, 147, 39, 173, 37, 143, 235, 57, 121, 171, 207, 229,
      237, 231, 211, 177, 129, 67, 247, 157, 53, 191, 59, 169, 9,   91, 159, 213, 253, 23}},
    {"RandomColorJitter: {brightness_factor: [0.1, 0.1], saturation_factor: [0.6, 0.6], hue_factor: [0, 0]}",
     {8.500007F, 23.50001F, 59.5F,     38.50004F, 116.5F,  215.5F,    0,      79.49998F, 241.5F,
      39.50003F, 243.5F,    84.50001F, 0,         223.5F,  127.5001F, 109.5F, 55.50001F, 22.50001F,
      30.50001F, 39.49999F, 69.5F,     48.50004F, 120.5F,  213.5F,    0,      71.49994F, 227.5F,
      23.50003F, 221.5F,    56.50004F, 255,       156.75F, 54.75003F, 0,      0,         255}},
    {"RandomGaussianBlur: {factor: [1, 1], sigma: [0.7, 0.7]}",
     {14.88267F, 44.67376F, 52.05605F, 37.90697F, 71.81438F, 105.5585F, 32.76891F, 88.64829F, 124.437F,
      39.67596F, 103.1451F, 88.92079F, 23.91732F, 99.88405F, 89.24445F, 61.29942F, 98.84695F, 88.0779F,
      68.84695F, 86.07791F, 106.0779F, 55.02766F, 84.1768F,  124.3936F, 16.61031F, 83.15181F, 96.12622F,
      64.41651F, 113.653F,  76.28318F, 105.2657F, 90.03117F, 85.86427F, 54.40643F, 37.02473F, 114.8355F}},
    {"RandomGaussianBlur: {factor: [1, 1], sigma: [0.9, 0.9], kernel_size: [3, 5]}",
     {11.07477F, 26.21438F, 44.86289F, 25.28138F, 68.18671F, 87.71364F, 29.89717F, 91.56374F, 104.1124F,
      35.22241F, 75.09727F, 68.30208F, 24.83509F, 75.79487F, 75.97446F, 44.24553F, 88.02341F, 84.08221F,
      38.41333F, 79.66951F, 89.12442F, 48.8684F,  70.86952F, 71.95786F, 31.91685F, 61.49525F, 67.13223F,
      56.93222F, 92.39622F, 94.3604F,  72.11932F, 74.92944F, 83.73595F, 43.27367F, 33.69432F, 68.96464F}},
    {"RandomGrayscale: {factor: 1}",
     {9.746F,    9.746F,    9.746F,    115.9688F, 115.9688F, 115.9688F, 92.2046F,  92.2046F,  92.2046F,
      165.2438F, 165.2438F, 165.2438F, 137.48F,   137.48F,   137.48F,   56.2476F,  56.2476F,  56.2476F,
      24.4842F,  24.4842F,  24.4842F,  118.7082F, 118.7082F, 118.7082F, 82.94521F, 82.94521F, 82.94521F,
      143.9856F, 143.9856F, 143.9856F, 180.7414F, 180.7414F, 180.7414F, 40.1758F,  40.1758F,  40.1758F}},
    {"RandomErasing: {factor: [1, 1], scale: [1, 1], fill_value: [3, 100, 300]}",
     {3, 100, 255, 3, 100, 255, 3, 100, 255, 3, 100, 255, 3, 100, 255, 3, 100, 255,
      3, 100, 255, 3, 100, 255, 3, 100, 255, 3, 100, 255, 3, 100, 255, 3, 100, 255}},
    {"Solarization: {}", {255, 245, 221, 183, 131, 65, 241, 147, 39, 173, 37, 143, 235, 57, 121, 171, 207, 229,
                          237, 231, 211, 177, 129, 67, 247, 157, 53, 191, 59, 169, 9,   91, 159, 213, 253, 23}},
    {"AutoContrast: {}",
     {0,         9.444445F, 9.902912F, 74.63414F, 144.0278F, 203.0097F, 14.51219F, 125.1389F, 235.1942F,
      85,        255,       106.4563F, 20.73171F, 231.3889F, 133.6893F, 87.07317F, 54.30556F, 0,
      18.65854F, 25.97222F, 22.28156F, 80.85365F, 146.3889F, 200.534F,  8.292683F, 113.3333F, 217.8641F,
      66.34146F, 229.0278F, 74.27185F, 255,       191.25F,   86.6505F,  43.53658F, 0,         255}},
    {"AutoContrast: {value_range: [-100, 300]}",
     {-100,       -85.18519F, -84.466F,   17.07317F,  125.9259F, 218.4466F, -77.23579F, 96.29623F,  268.9321F,
      33.33334F,  300,        66.9903F,   -67.47968F, 262.963F,  109.7087F, 36.58536F,  -14.81483F, -100,
      -70.73171F, -59.25925F, -65.04852F, 26.82925F,  129.6296F, 214.5631F, -86.99185F, 77.77777F,  241.7476F,
      4.065033F,  259.2592F,  16.50488F,  300,        200,       35.92238F, -31.70734F, -100,       300}},
    {"Equalization: {}", {0,  23, 23, 162, 139, 185, 46, 116, 232, 209, 255, 116, 93,  232, 139, 232, 70, 0,
                          70, 46, 46, 185, 162, 162, 23, 93,  209, 139, 209, 70,  255, 185, 93,  116, 0,  255}},
    {"Equalization: {bins: 5, value_range: [0, 300]}",
     {0,         0,   0,         0,         150.5882F, 267.0588F, 0,         150.5882F, 267.0588F,
      224.7059F, 300, 132.9412F, 0,         300,       132.9412F, 224.7059F, 0,         0,
      0,         0,   0,         224.7059F, 150.5882F, 267.0588F, 0,         150.5882F, 267.0588F,
      0,         300, 132.9412F, 300,       300,       132.9412F, 0,         0,         300}},
    {"ContrastLimitedAdaptiveHistogramEqualization: {tile_grid_size: [2, 3]}",
     {0,         13.37172F, 39.86523F, 76.68409F, 128.2186F, 194.0774F, 15.22582F, 109.2232F, 218.4465F,
      92.85224F, 220.321F,  112.9723F, 23.1068F,  201.5756F, 137.5913F, 92.17326F, 52.98701F, 28.36805F,
      21.00428F, 26.49351F, 47.23842F, 85.10414F, 130.0931F, 188.2039F, 9.683092F, 99.38795F, 204.4936F,
      67.49757F, 196.7764F, 87.95255F, 246.3898F, 165.2821F, 96.48229F, 46.02271F, 3.905656F, 233.0821F}},
    {"ContrastLimitedAdaptiveHistogramEqualization: {tile_grid_size: 2, clip_limit: 0}",
     {0,      63.75F, 127.5F,  170, 191.25F,  255,    31.875F, 127.5F,  255,       255,     255,     127.5F,
      85,     255,    191.25F, 255, 127.5F,   63.75F, 63.75F,  63.75F,  95.625F,   191.25F, 191.25F, 191.25F,
      63.75F, 127.5F, 255,     170, 223.125F, 127.5F, 255,     191.25F, 111.5625F, 127.5F,  63.75F,  255}},
    {"Pipeline: {layers: [RandomInvert: {factor: [1, 1]}, Rescaling: {scale: 0.5, offset: 2}]}",
     {129.5F, 124.5F, 112.5F, 93.5F, 67.5F,  34.5F,  122.5F, 75.5F,  21.5F,  88.5F,  20.5F,  73.5F,
      119.5F, 30.5F,  62.5F,  87.5F, 105.5F, 116.5F, 120.5F, 117.5F, 107.5F, 90.5F,  66.5F,  35.5F,
      125.5F, 80.5F,  28.5F,  97.5F, 31.5F,  86.5F,  6.5F,   47.5F,  81.5F,  108.5F, 128.5F, 13.5F}},
    {"MaxNumBoundingBoxes: {max_number: 4}",
     {0,  10, 34, 72, 124, 190, 14, 108, 216, 82, 218, 112, 20,  198, 134, 84, 48, 26,
      18, 24, 44, 78, 126, 188, 8,  98,  202, 64, 196, 86,  246, 164, 96,  42, 2,  232}},
};

static void test_keras_numbers(void **state)
{
    (void)state;
    float x[PIXELS], y[PIXELS];
    fill(x, 1);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        liana_model *model = from_yaml(known[i].layer);
        run(model, true, (batch){.count = 1}, x, NULL, y, NULL);
        print_message("%s\n", known[i].layer);
        for (size_t k = 0; k < PIXELS; k++) assert_near((double)y[k], (double)known[i].values[k], 2e-4, i, k);
        liana_model_destroy(model);
    }
}

/* A channel of one value, and one with a NaN, stay in AutoContrast; one of one value stays in Equalization. */
static void test_flat_channels(void **state)
{
    (void)state;
    static const char *const layers[] = {"AutoContrast: {}", "Equalization: {}"};
    float x[PIXELS], y[PIXELS];
    for (size_t l = 0; l < 2; l++) {
        fill(x, 1);
        for (size_t i = 0; i < PIXELS; i += 3) x[i] = 77;
        if (l == 0) x[4] = NAN;
        liana_model *model = from_yaml(layers[l]);
        run(model, true, (batch){.count = 1}, x, NULL, y, NULL);
        for (size_t i = 0; i < PIXELS; i++) {
            if (i % 3 == 0) assert_near((double)y[i], 77.0, 1e-5, i);
            if (i % 3 == 1 && i != 4 && l == 0) assert_near((double)y[i], (double)x[i], 1e-5, i);
        }
        if (l == 0) assert_true(isnan(y[4]));
        liana_model_destroy(model);
    }
}

/* ---- draws ---- */

static const char *const drawing[] = {
    "RandomBrightness: {factor: 0.2}",
    "RandomContrast: {factor: 0.9}",
    "RandomHue: {factor: 0.5}",
    "RandomSaturation: {factor: [0.1, 0.8], seed: 4}",
    "RandomSharpness: {factor: 1}",
    "RandomPosterization: {factor: 6}",
    "RandomColorDegeneration: {factor: 1}",
    "RandomInvert: {factor: [0.4, 0.6]}",
    "RandomColorJitter: {brightness_factor: 0.2, contrast_factor: 0.3, saturation_factor: [0.2, 0.8], hue_factor: 0.4}",
    "RandomGaussianBlur: {factor: [0.5, 1], sigma: [0.3, 2]}",
    "RandomGrayscale: {factor: 0.5}",
    "RandomErasing: {factor: [0.8, 1], scale: [0.1, 0.7]}",
    "RandomErasing: {factor: 1, scale: 1, fill_value: 9}",
    "Solarization: {addition_factor: 0.3, threshold_factor: 0.8}",
    "RandAugment: {}",
    "RandAugment: {num_ops: 3, factor: 1, interpolation: nearest, seed: 8}",
    "AugMix: {}",
    "AugMix: {num_chains: 2, chain_depth: 2, all_ops: false, alpha: 0.3}",
    "Pipeline: {layers: [RandomBrightness: {factor: 0.2}, RandomBrightness: {factor: 0.2}]}",
};

/* Images are the same bits alone and among others, and in inference nothing happens. */
static void test_batches_do_not_matter(void **state)
{
    (void)state;
    static float x[IMAGES * PIXELS], all[IMAGES * PIXELS], one[PIXELS], still[IMAGES * PIXELS];
    fill(x, IMAGES);
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++) {
        liana_model *model = from_yaml(drawing[i]);
        size_t changed = 0;
        print_message("%s\n", drawing[i]);
        run(model, true, (batch){.count = IMAGES, .first = 100}, x, NULL, all, NULL);
        for (size_t k = 0; k < IMAGES; k += 5) {
            run(model, true, (batch){.count = 1, .first = 100 + k}, x + k * PIXELS, NULL, one, NULL);
            assert_memory_equal(one, all + k * PIXELS, sizeof one);
        }
        for (size_t k = 0; k < IMAGES * PIXELS; k++) assert_true(isfinite(all[k]));
        for (size_t k = 0; k < IMAGES; k++) changed += memcmp(all + k * PIXELS, x + k * PIXELS, sizeof one) != 0;
        assert_compare(changed, >=, IMAGES / 5);
        run(model, false, (batch){.count = IMAGES, .first = 100}, x, NULL, still, NULL);
        assert_memory_equal(still, x, sizeof x);
        liana_model_destroy(model);
    }
}

/* Of black images, RandomBrightness(0.2) leaves the summand, which is from 0 to 0.2 * 255 for about half of them. */
static void test_ranges_are_drawn_from(void **state)
{
    (void)state;
    enum { MANY = 400 };
    static float x[MANY * PIXELS], y[MANY * PIXELS];
    memset(x, 0, sizeof x);
    liana_model *model = from_yaml("RandomBrightness: {factor: 0.2}");
    run(model, true, (batch){.count = MANY}, x, NULL, y, NULL);
    double sum = 0, most = 0;
    size_t black = 0;
    for (size_t k = 0; k < MANY; k++) {
        for (size_t i = 1; i < PIXELS; i++) {
            assert_compare((double)y[k * PIXELS + i], ==, (double)y[k * PIXELS]);
        }
        sum += (double)y[k * PIXELS];
        most = fmax(most, (double)y[k * PIXELS]);
        black += y[k * PIXELS] == 0;
    }
    assert_near(sum / MANY, 51.0 / 4, 1.5);
    assert_near(most, 50.5, 0.5);
    assert_near((double)black / MANY, 0.5, 0.08);
    liana_model_destroy(model);
}

/* Layers built in C have the defaults of those in a file. */
static void test_builders(void **state)
{
    (void)state;
    static float x[IMAGES * PIXELS], a[IMAGES * PIXELS], b[IMAGES * PIXELS];
    fill(x, IMAGES);
    for (int i = 0; i < 8; i++) {
        liana_model *model;
        assert_ok(liana_model_create(context, "small", &model), &context->error);
        liana_input(model, .shape = LIANA_INTS(HEIGHT, WIDTH, 3));
        static const char *const layers[] = {"RandomInvert: {}",    "RandomErasing: {}",       "RandomGaussianBlur: {}",
                                             "RandomGrayscale: {}", "RandAugment: {}",         "AugMix: {}",
                                             "Solarization: {}",    "RandomHue: {factor: 0.3}"};
        if (i == 0) liana_random_invert(model);
        if (i == 1) liana_random_erasing(model);
        if (i == 2) liana_random_gaussian_blur(model);
        if (i == 3) liana_random_grayscale(model);
        if (i == 4) liana_rand_augment(model);
        if (i == 5) liana_aug_mix(model);
        if (i == 6) liana_solarization(model);
        if (i == 7) liana_random_hue(model, .factor = LIANA_FLOATS(0.3));
        liana_model *other = from_yaml(layers[i]);
        run(model, true, (batch){.count = IMAGES}, x, NULL, a, NULL);
        run(other, true, (batch){.count = IMAGES}, x, NULL, b, NULL);
        print_message("%s\n", layers[i]);
        assert_memory_equal(a, b, sizeof a);
        liana_model_destroy(model);
        liana_model_destroy(other);
    }
}

/* ---- mixtures ---- */

enum { MANY = 600, CLASSES = 3 };

/* Images of one pixel are 1, 2, 3, ..., and labels are (image, 1, 0): so both must be mixed alike. Shares of partners
 * are kept in *variance. */
static void check_mixture(const liana_model *model, const float *present, double *variance)
{
    static float x[MANY], labels[MANY * CLASSES], y[MANY], mixed[MANY * CLASSES];
    double squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < MANY; i++) {
        const bool there = !present || present[i] != 0;
        x[i] = there ? (float)(i + 1) : -1e6F;
        memcpy(labels + i * CLASSES, (const float[]){x[i], 1, 0}, CLASSES * sizeof *labels);
    }
    run(model, true, (batch){.count = MANY, .present = present}, x, labels, y, mixed);
    for (size_t i = 0; i < MANY; i++) {
        if (present && present[i] == 0) continue;
        assert_compare((double)y[i], >=, 1 - 1e-3);
        assert_compare((double)y[i], <=, MANY + 1e-3);
        assert_near((double)mixed[i * CLASSES + 1], 1.0, 1e-5, i);
        assert_near((double)mixed[i * CLASSES + 2], 0.0, 1e-6, i);
        if (variance) assert_near((double)mixed[i * CLASSES], (double)y[i], 1e-2, i);
        squares += fabs((double)y[i] - (double)x[i]) > 1e-3;
        count++;
    }
    if (variance) *variance = squares / (double)count;
    run(model, false, (batch){.count = MANY, .present = present}, x, labels, y, mixed);
    assert_memory_equal(y, x, sizeof x);
    assert_memory_equal(mixed, labels, sizeof labels);
}

static liana_model *of_pixels(bool cut, double alpha)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    liana_layer image = liana_input(model, .shape = LIANA_INTS(1, 1, 1)), mixed;
    liana_layer labels = liana_input(model, .shape = LIANA_INTS(CLASSES));
    mixed = cut ? liana_cut_mix(model, .inputs = {image, labels}, .factor = LIANA_FLOATS(alpha, alpha))
                : liana_mix_up(model, .inputs = {image, labels}, .alpha = alpha);
    liana_model_outputs(model, mixed, liana_layer_output(mixed, 1));
    return model;
}

static void test_images_and_labels_are_mixed_alike(void **state)
{
    (void)state;
    static float present[MANY];
    for (size_t i = 0; i < MANY; i++) present[i] = i % 3 != 1;
    for (int i = 0; i < 2; i++) {
        double moved;
        liana_model *blend = of_pixels(false, 1), *cut = of_pixels(true, 1);
        check_mixture(blend, i ? present : NULL, &moved);
        assert_compare(moved, >, 0.98);
        check_mixture(cut, i ? present : NULL, NULL);
        liana_model_destroy(blend);
        liana_model_destroy(cut);
    }
}

/* Beta(a, a) has the variance 1 / (4 (2 a + 1)). Images are 0 and 1e6 in turn. The share of a 0 is seen where its
 * partner is 1e6. */
static void test_shares_are_of_a_beta_distribution(void **state)
{
    (void)state;
    static const double alphas[] = {0.2, 1, 5};
    static float x[MANY], labels[MANY * CLASSES], y[MANY], mixed[MANY * CLASSES];
    for (size_t i = 0; i < MANY; i++) x[i] = i % 2 ? 1e6F : 0;
    for (size_t l = 0; l < sizeof alphas / sizeof *alphas; l++) {
        double sum = 0, squares = 0, count = 0;
        liana_model *model = of_pixels(false, alphas[l]);
        for (uint64_t part = 0; part < 20; part++) {
            run(model, true, (batch){.count = MANY, .first = part * MANY}, x, labels, y, mixed);
            for (size_t i = 0; i < MANY; i += 2) {
                const double share = 1 - (double)y[i] / 1e6;
                if (share == 1) continue;
                sum += share;
                squares += share * share;
                count++;
            }
        }
        const double mean = sum / count, variance = squares / count - mean * mean;
        assert_compare(count, >, 1000);
        assert_near(mean, 0.5, 0.03, l);
        assert_near(variance * 4 * (2 * alphas[l] + 1), 1, 0.06, l);
        liana_model_destroy(model);
    }
}

/* The histogram of a batch is that of the images that are there. */
static void test_equalization_leaves_missing_images_out(void **state)
{
    (void)state;
    static float x[3 * PIXELS], two[2 * PIXELS], all[3 * PIXELS], known_two[2 * PIXELS];
    fill(x, 3);
    memcpy(two, x, PIXELS * sizeof *x);
    memcpy(two + PIXELS, x + 2 * PIXELS, PIXELS * sizeof *x);
    liana_model *model = from_yaml("Equalization: {}");
    run(model, true, (batch){.count = 3, .present = (const float[]){1, 0, 1}}, x, NULL, all, NULL);
    run(model, true, (batch){.count = 2}, two, NULL, known_two, NULL);
    assert_memory_equal(all, known_two, PIXELS * sizeof *x);
    assert_memory_equal(all + 2 * PIXELS, known_two + PIXELS, PIXELS * sizeof *x);
    liana_model_destroy(model);
}

/* ---- the whole batch ---- */

static void test_layers_of_the_whole_batch_need_one_shard(void **state)
{
    (void)state;
    static const char *const layers[] = {"Equalization: {name: level}", "MixUp: {name: level}", "CutMix: {name: level}",
                                         "Pipeline: {layers: [MixUp: {}], name: level}"};
    static const char *const words[] = {"histograms", "mixtures", "mixtures", "mixtures"};
    enum { BATCH = 4 };
    static float x[BATCH * PIXELS];
    fill(x, BATCH);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        for (int64_t microbatch = 0; microbatch <= BATCH; microbatch += 2) {
            liana_model *model = from_yaml(layers[i]);
            liana_flatten(model);
            liana_dense(model, .units = 2, .activation = "softmax");
            const liana_fit_options options = {.optimizer = "SGD", .microbatch = microbatch, .batch_size = BATCH};
            const liana_array arrays[] = {{.name = liana_model_input(model, 0).name,
                                           .dtype = LIANA_F32,
                                           .shape = liana_shape_of(BATCH, HEIGHT, WIDTH, 3),
                                           .data = x},
                                          {.name = "label",
                                           .dtype = LIANA_S32,
                                           .shape = liana_shape_of(BATCH),
                                           .data = (const int32_t[]){0, 1, 1, 0}}};
            const liana_status status = liana_train_on_batch(model, &options, arrays, 2, NULL);
            if (microbatch == 2) {
                assert_int_equal(status, LIANA_INVALID_CONFIG);
                assert_says(context->error.message, "layer 'level'");
                assert_says(context->error.message, words[i]);
                assert_says(context->error.message, "(train.microbatch) to 4");
            } else {
                assert_ok(status, &context->error);
            }
            liana_model_destroy(model);
        }
    }
}

/* ---- files ---- */

/* Options in a file of Keras, and as they are written again. Keras 2's RandomContrast has no range of values, and one
 * number f stands for f to f there. */
static const struct {
    const char *layer, *config, *written;
} files[] = {
    {"RandomBrightness", "\"factor\": [-0.25, 0.25], \"value_range\": [0, 1], \"bounding_box_format\": \"xyxy\"",
     "\"factor\": [-0.25, 0.25], \"value_range\": [0, 1], \"seed\": null"},
    {"RandomContrast", "\"factor\": 0.25, \"value_range\": [0, 255]", "\"factor\": [0, 0.25]"},
    {"RandomContrast", "\"factor\": 0.25, \"rng_type\": \"stateful\"", "\"factor\": [0.25, 0.25]"},
    {"RandomPosterization", "\"factor\": [2, 5]", "\"factor\": [2, 5]"},
    {"RandomColorJitter", "\"hue_factor\": 0.5, \"contrast_factor\": null",
     "\"brightness_factor\": null, \"contrast_factor\": null, \"saturation_factor\": null, \"hue_factor\": [0, 0.5]"},
    {"RandomErasing", "\"fill_value\": null", "\"factor\": [0, 1], \"scale\": [0.02, 0.33], \"fill_value\": null"},
    {"RandomGrayscale", "\"factor\": 0.25", "\"factor\": 0.25, \"data_format\""},
    {"Solarization", "\"addition_factor\": [0.5, 0.25], \"seed\": 7",
     "\"addition_factor\": [0.25, 0.5], \"threshold_factor\": [0, 0], \"value_range\": [0, 255], \"seed\": 7"},
    {"ContrastLimitedAdaptiveHistogramEqualization", "\"tile_grid_size\": [2, 3]", "\"tile_grid_size\": [2, 3]"},
    {"CutMix", "\"factor\": [0, 1.0]", "\"factor\": [0, 1], \"seed\": null"},
    {"AugMix", "\"factor\": 0.5, \"all_ops\": false", "\"factor\": [0, 0.5]"},
};

static void test_files_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        LIANA__SCOPED(liana__arena) arena = {0};
        liana__value *root;
        liana_model *model;
        char json[900];
        snprintf(json, sizeof json,
                 "{\"class_name\": \"Sequential\", \"keras_version\": \"3.15.1\", \"config\": {\"name\": \"s\", "
                 "\"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 6, 7, 3]}}, "
                 "{\"class_name\": \"%s\", \"config\": {\"name\": \"x\", %s}}]}}",
                 files[i].layer, files[i].config);
        assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &root, &context->error), &context->error);
        assert_ok(liana_model_create(context, NULL, &model), &context->error);
        if (liana__model_from_keras(model, root) != LIANA_OK) fail_msg("%s: %s", json, model->error.message);
        assert_says(liana__json_line(liana__model_to_keras(model, LIANA__KERAS3, &arena), &arena), files[i].written);
        liana_model_destroy(model);
    }
}

/* A model with labels, and weights within a Pipeline, is the same after its file was read. */
static void test_files_keep_models(void **state)
{
    (void)state;
    liana_model *models[2];
    static float x[IMAGES * PIXELS], labels[IMAGES * CLASSES], y[2][IMAGES * (3 + CLASSES)];
    fill(x, IMAGES);
    for (size_t i = 0; i < IMAGES * CLASSES; i++) labels[i] = (float)(i % 5);
    liana__test_folder();
    assert_ok(liana_model_create(context, "small", &models[0]), &context->error);
    liana_layer image = liana_input(models[0], .shape = LIANA_INTS(HEIGHT, WIDTH, 3), .name = "x");
    liana_layer rows = liana_input(models[0], .shape = LIANA_INTS(CLASSES), .name = "y");
    liana_layer mixed = liana_mix_up(models[0], .inputs = {image, rows}, .seed = 5);
    const liana_held_layer first = LIANA_HELD("Dense", liana_dense_options, LIANA_DENSE_DEFAULTS, .units = 2);
    const liana_held_layer flat = LIANA_HELD("Flatten", liana_flatten_options, LIANA_FLATTEN_DEFAULTS);
    const liana_held_layer end = LIANA_HELD("Dense", liana_dense_options, LIANA_DENSE_DEFAULTS, .units = 3);
    liana_layer last = liana_pipeline(models[0], .layers = {.items = {first, flat, end}}, .input = mixed);
    liana_model_outputs(models[0], last, liana_layer_output(mixed, 1));
    assert_ok(liana_model_save(models[0], liana__test_path("small.keras")), &context->error);
    assert_ok(liana_model_load(context, liana__test_path("small.keras"), &models[1]), &context->error);
    const liana_array arrays[] = {
        {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(IMAGES, HEIGHT, WIDTH, 3), .data = x},
        {.name = "y", .dtype = LIANA_F32, .shape = liana_shape_of(IMAGES, CLASSES), .data = labels}};
    for (int i = 0; i < 2; i++) assert_ok(liana_predict_on_batch(models[i], arrays, 2, y[i]), &context->error);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_compare(fabs((double)y[0][0]), >, 0);
    for (int i = 0; i < 2; i++) liana_model_destroy(models[i]);
}

/* ---- options that cannot be ---- */

static void assert_refused(const char *text, int64_t channels, const char *const *words)
{
    liana__arena arena = {0};
    liana__value *list;
    liana__error error = {0};
    liana_model *model;
    char layers[600];
    snprintf(layers, sizeof layers, "- %s\n", text);
    assert_ok(liana_model_create(context, "small", &model), &context->error);
    assert_ok(liana__yaml_parse(layers, strlen(layers), "run.yaml", &arena, &list, &error), &error);
    const liana_shape shape = channels ? liana_shape_of(HEIGHT, WIDTH, channels) : liana_shape_of(WIDTH);
    if (liana__model_from_layers(model, list, "model.layers", &shape) == LIANA_OK) fail_msg("%s is accepted", text);
    for (; *words; words++) assert_says(model->error.message, *words);
    liana_model_destroy(model);
    liana__arena_free(&arena);
}
#define REFUSED(text, channels, ...) assert_refused(text, channels, (const char *const[]){__VA_ARGS__, NULL})

static void test_bad_options(void **state)
{
    (void)state;
    REFUSED("RandomBrightness: {}", 3, "factor");
    REFUSED("RandomBrightness: {factor: 1.5}", 3, "factor", "1.5", "-1 to 1");
    REFUSED("RandomBrightness: {factor: [0, 1, 2]}", 3, "factor", "3 numbers");
    REFUSED("RandomBrightness: {factor: 0.1, value_range: [1, 1]}", 3, "value_range", "equal");
    REFUSED("RandomBrightness: {factor: 0.1, value_range: 255}", 3, "value_range", "[0, 255]");
    REFUSED("RandomBrightness: {factor: 0.1}", 0, "images");
    REFUSED("RandomContrast: {factor: -0.1}", 3, "factor", "-0.1");
    REFUSED("RandomHue: {factor: 0.1}", 1, "3 channels");
    REFUSED("RandomPosterization: {factor: 9}", 3, "factor", "9");
    REFUSED("RandomPosterization: {factor: 2.5}", 3, "factor", "2.5", "whole");
    REFUSED("RandomGaussianBlur: {kernel_size: 4}", 3, "kernel_size", "odd");
    REFUSED("RandomGaussianBlur: {sigma: 3}", 3, "sigma", "3");
    REFUSED("RandomGrayscale: {factor: 2}", 3, "factor", "2");
    REFUSED("RandomGrayscale: {}", 2, "3 channels");
    REFUSED("RandomErasing: {fill_value: [1, 2]}", 3, "fill_value", "2 numbers");
    REFUSED("RandomErasing: {fill_value: [1, 2, 3]}", 4, "3 channels");
    REFUSED("Solarization: {addition_factor: 2}", 3, "addition_factor", "2");
    REFUSED("Equalization: {bins: 0}", 3, "bins", "0");
    REFUSED("ContrastLimitedAdaptiveHistogramEqualization: {}", 3, "height", "tile_grid_size");
    REFUSED("MixUp: {alpha: 0}", 3, "alpha", "0");
    REFUSED("CutMix: {factor: -1}", 3, "factor", "-1");
    REFUSED("RandAugment: {factor: 1.5}", 3, "factor", "1.5");
    REFUSED("RandAugment: {interpolation: bicubic}", 3, "interpolation", "bicubic");
    REFUSED("RandAugment: {}", 2, "3 channels");
    REFUSED("AugMix: {num_chains: 0}", 3, "num_chains", "0");
    REFUSED("Pipeline: {layers: []}", 3, "layers");
    REFUSED("Pipeline: {layers: [LSTMCell: {units: 2}]}", 3, "LSTMCell", "one input");
    REFUSED("Pipeline: {layers: [RandomHue: {factor: 7}]}", 3, "factor", "7");
    REFUSED("Pipeline: {layers: [Flatten: {}, RandomInvert: {}]}", 3, "images", "random_invert");
    REFUSED("MaxNumBoundingBoxes: {}", 3, "max_number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keras_numbers),
        cmocka_unit_test(test_flat_channels),
        cmocka_unit_test(test_batches_do_not_matter),
        cmocka_unit_test(test_ranges_are_drawn_from),
        cmocka_unit_test(test_builders),
        cmocka_unit_test(test_images_and_labels_are_mixed_alike),
        cmocka_unit_test(test_shares_are_of_a_beta_distribution),
        cmocka_unit_test(test_equalization_leaves_missing_images_out),
        cmocka_unit_test(test_layers_of_the_whole_batch_need_one_shard),
        cmocka_unit_test(test_files_of_keras),
        cmocka_unit_test(test_files_keep_models),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
