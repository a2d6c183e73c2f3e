/* Layers that resize, crop, turn and distort images: Keras's numbers, second formulas with the same draws, and that
 * batches do not matter. */
#include "harness/harness.h"

#include "base/random.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "harness/one_context.h"
#include "layers/model.h"

#include <liana/layers.h>
#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 48, MOST_PIXELS = 1024, HEIGHT = 9, WIDTH = 7, PIXELS = HEIGHT * WIDTH };

/* ---- running a model ---- */

static liana_model *new_model(liana_ints shape)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_input(model, .shape = shape);
    return model;
}

static liana_tensor positions_from(liana_graph *graph, uint64_t first, int64_t count)
{
    uint64_t values[BATCH];
    for (int64_t i = 0; i < count; i++) values[i] = first + (uint64_t)i;
    return liana_graph_constant(graph, LIANA_U64, liana_shape_of(count), values);
}

/* The result for `count` images at the run's positions `first`, ..., and the gradient of sum(result * weights), if
 * there are weights; both are freed by the caller. */
static float *run(const liana_model *model, bool training, uint64_t first, int64_t count, const float *x,
                  const float *weights, float **gradient)
{
    liana_graph *graph;
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_shape shape = liana__model_input(model, 0).shape;
    shape.dims[0] = count;
    liana_tensor images = liana_graph_constant(graph, LIANA_F32, shape, x), slope = {0};
    const liana__model_mode mode = {.training = training, .positions = positions_from(graph, first, count), .seed = 3};
    liana_tensor y = liana__model_call(model, &images, &mode).outputs[0].value;
    const liana_shape result = liana_tensor_shape(y);
    const size_t size = (size_t)liana_shape_size(&result) * sizeof(float);
    float *values = malloc(size);
    assert_non_null(values);
    assert_ok(liana_value(y, values, size), &context->error);
    if (weights) {
        liana_tensor sum = liana_op_multiply(y, liana_graph_constant(graph, LIANA_F32, result, weights));
        sum = liana_op_reduce_sum(sum, LIANA_ALL_AXES, false);
        liana_gradients(sum, &images, 1, &slope);
        const size_t own = (size_t)liana_shape_size(&shape) * sizeof(float);
        *gradient = malloc(own);
        assert_non_null(*gradient);
        assert_ok(liana_value(slope, *gradient, own), &context->error);
    }
    liana_graph_destroy(graph);
    liana_model_destroy((liana_model *)(uintptr_t)model);
    return values;
}

static void check(const char *what, const liana_model *model, bool training, const float *x, size_t count,
                  const float *expected)
{
    float *y = run(model, training, 5, 1, x, NULL, NULL);
    print_message("%s\n", what);
    for (size_t i = 0; i < count; i++) assert_near((double)y[i], (double)expected[i], 2e-5, i);
    free(y);
}
#define CHECK(what, model, training, ...)                                                       \
    check(what, model, training, squares, sizeof((const float[]){__VA_ARGS__}) / sizeof(float), \
          (const float[]){__VA_ARGS__})

/* ---- numbers of Keras ---- */

/* i^2 % 23 for i from 0 to 11, an image of 3 x 4 pixels. */
static const float squares[] = {0, 1, 4, 9, 16, 2, 13, 3, 18, 12, 8, 6};

static liana_model *of_squares(void)
{
    return new_model(LIANA_INTS(3, 4, 1));
}

/* keras.layers.Resizing(2, 5, interpolation) of Keras 3.15.1 with TensorFlow, then Resizing(2, 3, antialias=True). */
static const struct {
    liana_interpolation interpolation;
    float plain[10], smooth[6];
} resized[] = {
    {LIANA_NEAREST, {0, 1, 4, 4, 9, 18, 12, 8, 8, 6}, {0, 4, 9, 18, 8, 6}},
    {LIANA_BILINEAR,
     {4, 2.075F, 3.75F, 6.625F, 7.5F, 17.5F, 11.9F, 9.375F, 8.05F, 5.25F},
     {4.6125F, 4.375F, 6.9375F, 14.55F, 9.062501F, 6.375F}},
    {LIANA_BICUBIC,
     {3.079893F, 1.192456F, 3.144161F, 6.717557F, 7.880924F, 18.30918F, 12.39418F, 9.385036F, 7.997588F, 5.133385F},
     {4.022869F, 4.008473F, 7.287127F, 15.52898F, 9.185038F, 6.134148F}},
    {LIANA_LANCZOS3,
     {3.072283F, 0.7665294F, 2.699776F, 7.148901F, 7.70149F, 19.09549F, 12.79933F, 9.275669F, 8.267887F, 4.830078F},
     {3.548222F, 3.800275F, 7.646676F, 15.80702F, 9.245646F, 6.278617F}},
    {LIANA_LANCZOS5,
     {2.797395F, 0.548704F, 2.293448F, 7.240109F, 7.639524F, 19.87121F, 12.94199F, 9.233979F, 8.727883F, 4.446773F},
     {3.336685F, 3.716471F, 7.842615F, 15.8344F, 9.272219F, 6.456397F}},
};

static void test_resizing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof resized / sizeof *resized; i++) {
        liana_model *plain = of_squares(), *smooth = of_squares();
        liana_resizing(plain, .height = 2, .width = 5, .interpolation = resized[i].interpolation);
        liana_resizing(smooth, .height = 2, .width = 3, .interpolation = resized[i].interpolation, .antialias = true);
        check("plain", plain, false, squares, 10, resized[i].plain);
        check("smooth", smooth, true, squares, 6, resized[i].smooth);
    }
}

/* The same with Resizing(..., crop_to_aspect_ratio=True), pad_to_aspect_ratio, and CenterCrop. */
static void test_proportions_are_kept(void **state)
{
    (void)state;
    liana_model *crop = of_squares(), *pad = of_squares(), *centre = of_squares(), *large = of_squares();
    liana_resizing(crop, .height = 2, .width = 2, .crop_to_aspect_ratio = true);
    CHECK("crop", crop, false, 3.3125F, 5, 15.5F, 9.3125F);
    liana_resizing(pad, .height = 4, .width = 2, .pad_to_aspect_ratio = true, .fill_value = 2.5,
                   .interpolation = LIANA_NEAREST);
    CHECK("pad", pad, false, 2.5F, 2.5F, 1, 9, 12, 6, 2.5F, 2.5F);
    liana_center_crop(centre, .height = 2, .width = 3);
    CHECK("centre", centre, false, 0, 1, 4, 16, 2, 13);
    liana_center_crop(large, .height = 4, .width = 4);
    CHECK("large", large, false, 0, 0.625F, 2.125F, 4, 10, 4.765625F, 4.625F, 9.625F, 16.75F, 9.875F, 7.765625F,
          11.125F, 18, 14.25F, 10.5F, 8);
}

/* Shrinking by a factor of 32 is a product with a matrix: each cell is the weighted mean of about 64. */
static void test_large_kernels(void **state)
{
    (void)state;
    float x[512], sum = 0;
    for (int i = 0; i < 512; i++) x[i] = (float)(i % 37);
    liana_model *model = new_model(LIANA_INTS(256, 2, 1));
    liana_resizing(model, .height = 8, .width = 2, .antialias = true);
    float *y = run(model, false, 0, 1, x, NULL, NULL);
    double expected = 0, weights = 0;
    for (int i = 0; i < 256; i++) {
        const double weight = fmax(0, 1 - fabs(i + 0.5 - 3.5 * 32) / 32);
        expected += weight * (double)x[2 * i + 1];
        weights += weight;
    }
    assert_near((double)y[2 * 3 + 1], expected / weights, 1e-4);
    for (int i = 0; i < 16; i++) sum += y[i];
    assert_near((double)sum / 16, 18, 2);
    free(y);
}

/* keras.layers.RandomTranslation((0.5, 0.5), (-0.3, -0.3)), RandomRotation((0.07, 0.07)) and RandomZoom((0.4, 0.4),
 * (0.9, 0.9), interpolation="nearest") of Keras 3.15.1 in training, with fill_value=9. */
static const struct {
    liana_fill_mode mode;
    float translation[12], rotation[12], zoom[12];
} sampled[] = {
    {LIANA_FILL_CONSTANT,
     {9, 9, 9, 9, 5.3F, 7, 9, 9, 2.900001F, 8, 6.6F, 9},
     {5.151004F, 3.194662F, 6.915922F, 5.8431F, 5.150306F, 2.229516F, 11.56406F, 5.614194F, 14.40052F, 12.12059F,
      9.788287F, 8.149569F},
     {9, 1, 4, 9, 9, 2, 13, 9, 9, 12, 8, 9}},
    {LIANA_FILL_NEAREST,
     {1.6F, 5, 9, 9, 1.6F, 5, 9, 9, 2.900001F, 8, 6, 6},
     {0.5685387F, 2.420097F, 6.915922F, 4.596949F, 5.150306F, 2.229516F, 11.56406F, 5.614194F, 16.53232F, 12.12059F,
      9.893463F, 7.137077F},
     {0, 1, 4, 9, 16, 2, 13, 3, 18, 12, 8, 6}},
    {LIANA_FILL_REFLECT,
     {2.900001F, 8, 6, 6.5F, 1.6F, 5, 9, 8.000001F, 2.900001F, 8, 6, 6.5F},
     {0.5685387F, 2.420097F, 6.915922F, 4.596949F, 5.150306F, 2.229516F, 11.56406F, 5.614194F, 16.53232F, 12.12059F,
      9.893463F, 7.137077F},
     {0, 1, 4, 9, 16, 2, 13, 3, 18, 12, 8, 6}},
    {LIANA_FILL_WRAP,
     {7.7F, 9.3F, 17, 15, 11.2F, 7.6F, 18, 16.8F, 2.900001F, 8, 8, 6.700001F},
     {14.58877F, 10.10654F, 6.915922F, 11.74147F, 5.150306F, 2.229516F, 11.56406F, 5.614194F, 3.798474F, 12.12059F,
      2.579903F, 6.157307F},
     {6, 12, 8, 18, 3, 2, 13, 16, 9, 1, 4, 0}},
};

static void test_affine_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++) {
        const liana_fill_mode mode = sampled[i].mode;
        liana_model *translation = of_squares(), *rotation = of_squares(), *zoom = of_squares();
        liana_random_translation(translation, .height_factor = LIANA_FLOATS(0.5, 0.5),
                                 .width_factor = LIANA_FLOATS(-0.3, -0.3), .fill_mode = mode, .fill_value = 9);
        check("translation", translation, true, squares, 12, sampled[i].translation);
        liana_random_rotation(rotation, .factor = LIANA_FLOATS(0.07, 0.07), .fill_mode = mode, .fill_value = 9);
        check("rotation", rotation, true, squares, 12, sampled[i].rotation);
        liana_random_zoom(zoom, .height_factor = LIANA_FLOATS(0.4, 0.4), .width_factor = LIANA_FLOATS(0.9, 0.9),
                          .fill_mode = mode, .fill_value = 9, .interpolation = LIANA_NEAREST);
        check("zoom", zoom, true, squares, 12, sampled[i].zoom);
    }
}

/* ---- second formulas with the same draws ---- */

/* Word `index` of an example of the layer: the second one of a model in a run of seed 3. */
static double drawn(uint64_t position, uint32_t index)
{
    const liana__philox_key key = liana__philox_make_key(3, LIANA__STREAM_NOISE, 1);
    uint32_t counter[4] = {index / 4, 0, (uint32_t)position, (uint32_t)(position >> 32)}, words[4];
    liana__philox(key, counter, words);
    return liana__uniform_float(words[index % 4]);
}

static double between(uint64_t position, uint32_t index, double low, double high)
{
    return low + drawn(position, index) * (high - low);
}

/* Smooth images, each another one. */
static float *smooth_images(void)
{
    float *x = malloc(BATCH * PIXELS * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < BATCH * PIXELS; i++) {
        const int e = i / PIXELS, row = i % PIXELS / WIDTH, column = i % WIDTH;
        x[i] = (float)(1.5 + sin(0.4 * row + 0.3 * e) * cos(0.5 * column + e));
    }
    return x;
}

static double pixel(const float *image, double row, double column, double fill)
{
    if (row < 0 || column < 0 || row >= HEIGHT || column >= WIDTH) return fill;
    return (double)image[(int)row * WIDTH + (int)column];
}

/* Between four pixels, with a constant beyond the edges. */
static double bilinear(const float *image, double row, double column, double fill)
{
    const double r = floor(row), c = floor(column), down = row - r, right = column - c;
    return (1 - down) * ((1 - right) * pixel(image, r, c, fill) + right * pixel(image, r, c + 1, fill)) +
           down * ((1 - right) * pixel(image, r + 1, c, fill) + right * pixel(image, r + 1, c + 1, fill));
}

typedef double (*second_formula)(const float *image, uint64_t position, int row, int column);

/* Images at positions 100, 101, ...; the second half of the batch alone has the same bits. */
static void check_draws(liana_model *whole, liana_model *part, int64_t size, int64_t width, second_formula formula)
{
    enum { FIRST = 100, HALF = BATCH / 2 };
    float *x = smooth_images();
    float *y = run(whole, true, FIRST, BATCH, x, NULL, NULL);
    float *half = run(part, true, FIRST + HALF, HALF, x + HALF * PIXELS, NULL, NULL);
    assert_memory_equal(y + HALF * size, half, (size_t)(HALF * size) * sizeof *half);
    for (int64_t i = 0; i < BATCH * size; i++) {
        const int64_t e = i / size, row = i % size / width, column = i % width;
        const double expected = formula(x + e * PIXELS, FIRST + (uint64_t)e, (int)row, (int)column);
        assert_near((double)y[i], expected, 3e-5, i);
    }
    free(x);
    free(y);
    free(half);
}

static liana_model *of_images(void)
{
    return new_model(LIANA_INTS(HEIGHT, WIDTH, 1));
}

static double flipped(const float *image, uint64_t position, int row, int column)
{
    if (drawn(position, 0) > 0.5) return (double)image[row * WIDTH + column];
    return (double)image[(HEIGHT - 1 - row) * WIDTH + WIDTH - 1 - column];
}

static double cropped(const float *image, uint64_t position, int row, int column)
{
    const int top = (int)(drawn(position, 0) * (HEIGHT - 4 + 1)), left = (int)(drawn(position, 1) * (WIDTH - 5 + 1));
    return (double)image[(top + row) * WIDTH + left + column];
}

static double sheared(const float *image, uint64_t position, int row, int column)
{
    const double side = drawn(position, 0) > 0.5 ? -1 : 1;
    const double y = between(position, 1, -0.3, 0.3), x = between(position, 2, 0.1, 0.4);
    return bilinear(image, row + side * y * column, column + side * x * row, 4);
}

static double rotated(const float *image, uint64_t position, int row, int column)
{
    const double angle = between(position, 0, -0.2, 0.1) * 2 * M_PI, x = column - 3, y = row - 4;
    return bilinear(image, 4 + sin(angle) * x + cos(angle) * y, 3 + cos(angle) * x - sin(angle) * y, 4);
}

/* Gauss's elimination with pivots for the eight numbers of the mapping that takes the moved corners to the corners. */
static void solve(double m[8][9])
{
    for (int i = 0; i < 8; i++) {
        int best = i;
        for (int k = i; k < 8; k++) best = fabs(m[k][i]) > fabs(m[best][i]) ? k : best;
        for (int j = 0; j < 9; j++) {
            const double kept = m[i][j];
            m[i][j] = m[best][j];
            m[best][j] = kept;
        }
        for (int k = 0; k < 8; k++) {
            const double factor = m[k][i] / m[i][i];
            for (int j = 0; k != i && j < 9; j++) m[k][j] -= factor * m[i][j];
        }
    }
    for (int i = 0; i < 8; i++) m[i][8] /= m[i][i];
}

static double perspective(const float *image, uint64_t position, int row, int column)
{
    static const double corners[4][2] = {{0, 0}, {WIDTH - 1, 0}, {0, HEIGHT - 1}, {WIDTH - 1, HEIGHT - 1}};
    const double moved[4][2] = {
        {0, 0},
        {(WIDTH - 1) * (1 + between(position, 2, -0.4, 0.4)), 0},
        {0, (HEIGHT - 1) * (1 + between(position, 3, -0.4, 0.4))},
        {(WIDTH - 1) * (1 + between(position, 4, -0.4, 0.4)), (HEIGHT - 1) * (1 + between(position, 5, -0.4, 0.4))},
    };
    if (drawn(position, 1) >= between(position, 0, 0.3, 0.9)) return (double)image[row * WIDTH + column];
    double m[8][9] = {{0}};
    for (int i = 0; i < 8; i++) {
        const double *from = moved[i / 2], to = corners[i / 2][i % 2];
        for (int j = 0; j < 2; j++) {
            m[i][i % 2 * 3 + j] = from[j];
            m[i][6 + j] = -to * from[j];
        }
        m[i][i % 2 * 3 + 2] = 1;
        m[i][8] = to;
    }
    solve(m);
    const double k = m[6][8] * column + m[7][8] * row + 1;
    return bilinear(image, (m[3][8] * column + m[4][8] * row + m[5][8]) / k,
                    (m[0][8] * column + m[1][8] * row + m[2][8]) / k, 4);
}

static void test_draws(void **state)
{
    (void)state;
    liana_model *models[2];
    for (int i = 0; i < 2; i++) liana_random_flip(models[i] = of_images());
    check_draws(models[0], models[1], PIXELS, WIDTH, flipped);
    for (int i = 0; i < 2; i++) liana_random_crop(models[i] = of_images(), .height = 4, .width = 5);
    check_draws(models[0], models[1], 20, 5, cropped);
    for (int i = 0; i < 2; i++) {
        liana_random_shear(models[i] = of_images(), .x_factor = LIANA_FLOATS(0.1, 0.4), .y_factor = LIANA_FLOATS(0.3),
                           .fill_mode = LIANA_FILL_CONSTANT, .fill_value = 4);
    }
    check_draws(models[0], models[1], PIXELS, WIDTH, sheared);
    for (int i = 0; i < 2; i++) {
        liana_random_rotation(models[i] = of_images(), .factor = LIANA_FLOATS(0.1, -0.2),
                              .fill_mode = LIANA_FILL_CONSTANT, .fill_value = 4);
    }
    check_draws(models[0], models[1], PIXELS, WIDTH, rotated);
    for (int i = 0; i < 2; i++) {
        liana_random_perspective(models[i] = of_images(), .factor = LIANA_FLOATS(0.3, 0.9), .scale = 0.8,
                                 .fill_value = 4);
    }
    check_draws(models[0], models[1], PIXELS, WIDTH, perspective);
}

/* ---- elastic ---- */

enum { TALL = 44, BROAD = 41, AREA = TALL * BROAD };

/* The normal number of a word: that with this share of all below it. */
static double normal_of(uint64_t position, uint32_t index)
{
    const double share = 2 * drawn(position, index) - 1 + 0x1p-24;
    double low = -6, high = 6;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        *(erf(middle / sqrt(2)) < share ? &low : &high) = middle;
    }
    return low;
}

/* Normal numbers blurred by a Gaussian of sigma, with zeros beyond the edges, times the factor. */
static void blur(uint64_t position, uint32_t first, double sigma, double factor, double *field)
{
    static double noise[AREA];
    const int reach = 3 * (int)sigma;
    for (uint32_t i = 0; i < AREA; i++) noise[i] = normal_of(position, first + i) * sigma;
    for (int i = 0; i < AREA; i++) {
        double sum = 0, all = 0;
        for (int down = -reach; down <= reach; down++) {
            for (int right = -reach; right <= reach; right++) {
                const double weight = exp(-0.5 * (down * down + right * right) / (sigma * sigma));
                const int row = i / BROAD + down, column = i % BROAD + right;
                all += weight;
                if (row < 0 || column < 0 || row >= TALL || column >= BROAD) continue;
                sum += weight * noise[row * BROAD + column];
            }
        }
        field[i] = factor * sum / all;
    }
}

/* Beyond the edges stands the pixel of the same distance from the edge, which Keras counts from 1 before the image and
 * from 0 behind it. */
static int reflected(int at, int size)
{
    at = abs(at) % (2 * size);
    return at < size ? at : 2 * size - 1 - at;
}

static double elastic(const float *image, double row, double column)
{
    const int r = (int)floor(row), c = (int)floor(column);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const double down = i / 2 ? row - r : 1 - (row - r), right = i % 2 ? column - c : 1 - (column - c);
        const int at = reflected(r + i / 2, TALL) * BROAD + reflected(c + i % 2, BROAD);
        sum += down * right * (double)image[at];
    }
    return fmin(fmax(sum, 0.25), 1.75);
}

static void test_elastic(void **state)
{
    (void)state;
    enum { COUNT = 3, FIRST = 11, WORDS = 3 };
    static float x[COUNT * AREA];
    static double rows[AREA], columns[AREA];
    int moved = 0;
    for (int i = 0; i < COUNT * AREA; i++) {
        x[i] = (float)(1 + 0.9 * sin(0.21 * (i % AREA) / BROAD + i / AREA) * cos(0.17 * (i % BROAD)));
    }
    liana_model *model = new_model(LIANA_INTS(TALL, BROAD, 1));
    liana_random_elastic_transform(model, .factor = LIANA_FLOATS(0.5, 1), .scale = LIANA_FLOATS(0.4, 1),
                                   .value_range = LIANA_FLOATS(0.25, 1.75));
    float *y = run(model, true, FIRST, COUNT, x, NULL, NULL);
    for (int e = 0; e < COUNT; e++) {
        const uint64_t position = FIRST + (uint64_t)e;
        const bool is_moved = drawn(position, 1) < between(position, 0, 0.5, 1);
        const double size = between(position, 2, 0.4, 1), sigma = 0.05 * size * BROAD, alpha = 0.1 * size * TALL;
        blur(position, WORDS, sigma, is_moved ? alpha : 0, rows);
        blur(position, WORDS + AREA, sigma, is_moved ? alpha : 0, columns);
        moved += is_moved;
        for (int i = 0; i < AREA; i++) {
            const double expected = elastic(x + e * AREA, i / BROAD + rows[i], i % BROAD + columns[i]);
            assert_near((double)y[e * AREA + i], expected, 2e-4, e, i);
        }
    }
    assert_compare(moved, >, 0);
    free(y);
}

/* ---- inference, gradients ---- */

static void test_inference_changes_nothing(void **state)
{
    (void)state;
    float *x = smooth_images();
    for (int kind = 0; kind < 8; kind++) {
        liana_model *model = of_images();
        if (kind == 0) liana_random_flip(model);
        if (kind == 1)
            liana_random_translation(model, .height_factor = LIANA_FLOATS(1), .width_factor = LIANA_FLOATS(1));
        if (kind == 2) liana_random_rotation(model, .factor = LIANA_FLOATS(1));
        if (kind == 3) liana_random_zoom(model, .height_factor = LIANA_FLOATS(1));
        if (kind == 4) liana_random_shear(model, .x_factor = LIANA_FLOATS(1));
        if (kind == 5) liana_random_perspective(model);
        if (kind == 6) liana_random_elastic_transform(model, .value_range = LIANA_FLOATS(0, 1));
        if (kind == 7) liana_random_crop(model, .height = HEIGHT, .width = WIDTH);
        float *y = run(model, false, 0, BATCH, x, NULL, NULL);
        assert_memory_equal(x, y, BATCH * PIXELS * sizeof *y);
        free(y);
    }
    free(x);
}

/* The layers are linear in the image, so the gradient g of sum(w y) has sum(g x) = sum(w y) for every x; each pixel of
 * the gradient is found by an image that has this pixel alone. */
static void check_gradient(liana_model *const models[3], int64_t size)
{
    float *x = smooth_images(), *gradient, *none, weights[MOST_PIXELS];
    for (int64_t i = 0; i < size; i++) weights[i] = (float)(1 + i % 5 - 0.3 * (double)(i % 3));
    float *y = run(models[0], true, 40, 1, x, weights, &gradient);
    double through_y = 0, through_x = 0;
    for (int64_t i = 0; i < size; i++) through_y += (double)y[i] * (double)weights[i];
    for (int i = 0; i < PIXELS; i++) through_x += (double)gradient[i] * (double)x[i];
    assert_near(through_y, through_x, 1e-4 * fabs(through_y));
    memset(x, 0, PIXELS * sizeof *x);
    x[PIXELS / 2] = 1;
    float *alone = run(models[1], true, 40, 1, x, weights, &none);
    through_y = 0;
    for (int64_t i = 0; i < size; i++) through_y += (double)alone[i] * (double)weights[i];
    assert_near((double)gradient[PIXELS / 2], through_y, 1e-5);
    free(x);
    free(y);
    free(alone);
    free(gradient);
    free(none);
}

static void test_gradients(void **state)
{
    (void)state;
    liana_model *models[3];
    for (int mode = LIANA_FILL_CONSTANT; mode <= LIANA_FILL_WRAP; mode++) {
        for (int i = 0; i < 2; i++) {
            liana_random_rotation(models[i] = of_images(), .factor = LIANA_FLOATS(0.3),
                                  .fill_mode = (liana_fill_mode)mode);
        }
        check_gradient(models, PIXELS);
    }
    for (int i = 0; i < 2; i++) {
        liana_random_elastic_transform(models[i] = of_images(), .value_range = LIANA_FLOATS(-1e6, 1e6));
    }
    check_gradient(models, PIXELS);
    for (int i = 0; i < 2; i++) liana_random_crop(models[i] = of_images(), .height = 4, .width = 5);
    check_gradient(models, 20);
    for (int i = 0; i < 2; i++) {
        liana_resizing(models[i] = of_images(), .height = 12, .width = 3, .interpolation = LIANA_LANCZOS5,
                       .antialias = true);
    }
    check_gradient(models, 36);
}

/* ---- options ---- */

static void assert_refused(liana_model *model, const char *part, const char *other)
{
    assert_int_not_equal(liana_model_status(model), LIANA_OK);
    assert_says(context->error.message, part);
    assert_says(context->error.message, other);
    liana_model_destroy(model);
}

static void test_bad_options_are_named(void **state)
{
    (void)state;
    liana_model *model = of_images();
    liana_random_rotation(model, .factor = LIANA_FLOATS(1.5));
    assert_refused(model, "factor", "found 1.5");
    liana_random_zoom(model = of_images(), .height_factor = LIANA_FLOATS(-1, 0));
    assert_refused(model, "height_factor", "above -1");
    liana_random_shear(model = of_images(), .x_factor = LIANA_FLOATS(-0.2, 0.4));
    assert_refused(model, "x_factor", "from 0 to 1");
    liana_random_translation(model = of_images(), .height_factor = LIANA_FLOATS(0.1, 0.2, 0.3),
                             .width_factor = LIANA_FLOATS(0));
    assert_refused(model, "height_factor", "found 3 numbers");
    liana_random_elastic_transform(model = of_images(), .value_range = LIANA_FLOATS(1, 0));
    assert_refused(model, "value_range", "[0, 255]");
    liana_resizing(model = of_images(), .height = 3, .width = 3, .crop_to_aspect_ratio = true,
                   .pad_to_aspect_ratio = true);
    assert_refused(model, "pad_to_aspect_ratio", "crop_to_aspect_ratio");
    liana_random_flip(model = new_model(LIANA_INTS(7, 3)));
    assert_refused(model, "[batch, 7, 3]", "channels");
    liana_random_perspective(model = new_model(LIANA_INTS(1, 7, 3)));
    assert_refused(model, "[batch, 1, 7, 3]", "2 x 2");
}

/* Options as Keras writes them (`written`), and in a form of Keras 3.15.1 with other defaults, names and ranges. */
static const struct {
    const char *layer, *config, *written;
} files[] = {
    {"Resizing", "\"height\": 3, \"width\": 4, \"interpolation\": \"lanczos3\", \"antialias\": true",
     "\"height\": 3, \"width\": 4, \"interpolation\": \"lanczos3\", \"crop_to_aspect_ratio\": false, "
     "\"pad_to_aspect_ratio\": false, \"fill_mode\": \"constant\", \"fill_value\": 0.0, \"antialias\": true"},
    {"RandomRotation", "\"factor\": [-0.1, 0.1], \"bounding_box_format\": \"xyxy\"", "\"factor\": [-0.1, 0.1]"},
    {"RandomTranslation", "\"height_factor\": 0.25, \"width_factor\": [0.5, -0.5]",
     "\"height_factor\": 0.25, \"width_factor\": [-0.5, 0.5]"},
    {"RandomZoom", "\"height_factor\": 0.25, \"width_factor\": null, \"rng_type\": \"stateful\"",
     "\"height_factor\": 0.25, \"width_factor\": null"},
    /* Keras refuses the -0.25 of its own files. */
    {"RandomShear", "\"x_factor\": [-0.25, 0.25], \"y_factor\": [0.0, 0.5]",
     "\"x_factor\": 0.25, \"y_factor\": [0.0, 0.5]"},
    {"RandomPerspective", "\"factor\": [0.0, 1.0], \"seed\": 7", "\"factor\": [0.0, 1.0], \"scale\": 1.0"},
    {"RandomElasticTransform", "\"fill_mode\": \"mirror\"",
     "\"factor\": 1.0, \"scale\": 1.0, \"interpolation\": \"bilinear\", \"fill_mode\": \"mirror\", \"fill_value\": "
     "0.0, "
     "\"value_range\": [0.0, 255.0]"},
    {"RandomFlip", "\"mode\": \"vertical\", \"data_format\": \"channels_last\"",
     "\"mode\": \"vertical\", \"seed\": null"},
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

/* Images of any size, as in Keras's `Input((None, None, 1))`, become images of one. */
static void test_any_size(void **state)
{
    (void)state;
    liana_model *model = new_model(LIANA_INTS(LIANA_ANY_SIZE, LIANA_ANY_SIZE, 1));
    liana_random_perspective(model);
    liana_random_rotation(model, .factor = LIANA_FLOATS(0.1));
    liana_resizing(model, .height = 2, .width = 5);
    liana_flatten(model);
    liana_reshape(model, .target_shape = LIANA_INTS(10));
    assert_ok(liana_model_set_input_shape(model, 0, liana_shape_of(1, 3, 4, 1)), &context->error);
    check("any size", model, false, squares, 10, resized[1].plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resizing),
        cmocka_unit_test(test_proportions_are_kept),
        cmocka_unit_test(test_large_kernels),
        cmocka_unit_test(test_affine_layers),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_inference_changes_nothing),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_bad_options_are_named),
        cmocka_unit_test(test_files_of_keras),
        cmocka_unit_test(test_any_size),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
