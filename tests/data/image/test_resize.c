/* Resizing against PyTorch and TensorFlow. */
#include "harness/harness.h"

#include "data/image/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *make_source(int64_t count)
{
    uint8_t *src = malloc((size_t)count);
    for (int64_t i = 0; i < count; i++) src[i] = (uint8_t)((uint32_t)i * 2654435761u >> 24);
    return src;
}

/* PyTorch 1.13's torch.nn.functional.interpolate(mode="bilinear", align_corners=False) of make_source: the sum of the
 * output, its mean weighted with 1 + index % 97, and the values at 0, a third, a half and the end. */
static const struct {
    int height, width, channels, to_height, to_width;
    bool antialias;
    double sum, weighted;
    float values[4];
} PYTORCH[] = {
    {5, 4, 1, 3, 7, false, 2717.6666, 133.449, {40.0000f, 241.0000f, 94.5000f, 149.6667f}},
    {5, 4, 1, 3, 7, true, 2481.2268, 121.914, {51.4286f, 184.1111f, 94.6111f, 138.1428f}},
    {5, 4, 1, 8, 8, false, 7622.5, 123.621, {0.0000f, 152.0625f, 198.8125f, 190.0000f}},
    {5, 4, 1, 8, 8, true, 7622.5, 123.621, {0.0000f, 152.0625f, 198.8125f, 190.0000f}},
    {16, 13, 1, 6, 5, false, 3970.1994, 112.071, {133.7333f, 180.5667f, 203.9000f, 104.2666f}},
    {16, 13, 1, 6, 5, true, 3835.6587, 127.579, {101.3228f, 129.7209f, 152.4651f, 138.0061f}},
    {37, 23, 3, 9, 4, false, 13770.194, 125.119, {167.4167f, 164.4584f, 146.6250f, 101.9167f}},
    {37, 23, 3, 9, 4, true, 13767.457, 127.515, {133.2735f, 123.8862f, 132.8930f, 123.5658f}},
    {3, 50, 3, 3, 7, false, 8458.4283, 138.289, {140.3571f, 65.3571f, 191.0000f, 223.3570f}},
    {3, 50, 3, 3, 7, true, 8036.137, 127.966, {131.3397f, 133.1148f, 136.2661f, 138.2281f}},
    {1, 1, 3, 2, 2, false, 872, 75.744, {0.0000f, 158.0000f, 0.0000f, 60.0000f}},
    {1, 1, 3, 2, 2, true, 872, 75.744, {0.0000f, 158.0000f, 0.0000f, 60.0000f}},
    {100, 80, 3, 224, 224, false, 19190481, 127.522, {0.0000f, 165.8214f, 80.7500f, 50.0000f}},
    {100, 80, 3, 224, 224, true, 19190481, 127.522, {0.0000f, 165.8213f, 80.7499f, 50.0000f}},
    {240, 217, 3, 192, 192, false, 14100532, 127.515, {22.9844f, 61.4661f, 184.4661f, 26.5336f}},
    {240, 217, 3, 192, 192, true, 14100486, 127.515, {45.6136f, 80.3434f, 156.5742f, 50.9832f}},
};

static void test_resize_equals_pytorch(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__resizer resizer = {0};
    for (size_t i = 0; i < sizeof PYTORCH / sizeof *PYTORCH; i++) {
        liana__resize_shape shape = {PYTORCH[i].height,   PYTORCH[i].width,    PYTORCH[i].to_height,
                                     PYTORCH[i].to_width, PYTORCH[i].channels, PYTORCH[i].antialias};
        int64_t count = shape.to_height * shape.to_width * shape.channels;
        uint8_t *src = make_source(shape.height * shape.width * shape.channels);
        float *dst = malloc((size_t)count * sizeof *dst);
        uint8_t *bytes = malloc((size_t)count);
        assert_ok(liana__resize_float(&resizer, &shape, src, dst, &error), &error);
        assert_ok(liana__resize_u8(&resizer, &shape, src, bytes, &error), &error);
        double sum = 0, weighted = 0, weights = 0;
        for (int64_t k = 0; k < count; k++) {
            sum += dst[k];
            weighted += dst[k] * (double)(1 + k % 97);
            weights += (double)(1 + k % 97);
            assert_compare(bytes[k], ==, (int)floorf(dst[k] + 0.5f), k);
        }
        assert_near(sum / PYTORCH[i].sum, 1, 1e-6, i);
        assert_near(weighted / weights, PYTORCH[i].weighted, 1e-3, i);
        const int64_t places[4] = {0, count / 3, count / 2, count - 1};
        for (int k = 0; k < 4; k++) assert_near(dst[places[k]], PYTORCH[i].values[k], 1e-3f, i, k);
        free(src);
        free(dst);
        free(bytes);
    }
    liana__resizer_free(&resizer);
}

/* The definition, one output value at a time in double: a triangle of half-width max(1, ratio) over the whole input. */
static double reference_value(const uint8_t *src, const liana__resize_shape *shape, int64_t y, int64_t x, int c)
{
    double ratio_y = (double)shape->height / (double)shape->to_height;
    double ratio_x = (double)shape->width / (double)shape->to_width;
    double wide_y = shape->antialias ? fmax(1, ratio_y) : 1, wide_x = shape->antialias ? fmax(1, ratio_x) : 1;
    double centre_y = ((double)y + 0.5) * ratio_y - 0.5, centre_x = ((double)x + 0.5) * ratio_x - 0.5;
    /* Without antialiasing the edge is repeated; cutting the triangle there and normalising is the same. */
    double sum = 0, weights = 0;
    for (int64_t j = 0; j < shape->height; j++) {
        double weight_y = fmax(0, 1 - fabs((double)j - centre_y) / wide_y);
        for (int64_t i = 0; weight_y > 0 && i < shape->width; i++) {
            double weight = weight_y * fmax(0, 1 - fabs((double)i - centre_x) / wide_x);
            sum += weight * src[(j * shape->width + i) * shape->channels + c];
            weights += weight;
        }
    }
    return sum / weights;
}

static void test_resize_equals_its_definition(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__resizer resizer = {0};
    for (int trial = 0; trial < 200; trial++) {
        uint32_t draw = (uint32_t)trial * 2654435761u;
        liana__resize_shape shape = {1 + (draw >> 3) % 40,  1 + (draw >> 9) % 40, 1 + (draw >> 15) % 40,
                                     1 + (draw >> 21) % 40, draw >> 31 ? 3 : 1,   (draw >> 30) & 1};
        uint8_t *src = make_source(shape.height * shape.width * shape.channels);
        float *dst = malloc((size_t)(shape.to_height * shape.to_width * shape.channels) * sizeof *dst);
        assert_ok(liana__resize_float(&resizer, &shape, src, dst, &error), &error);
        for (int64_t y = 0; y < shape.to_height; y++) {
            for (int64_t x = 0; x < shape.to_width; x++) {
                for (int c = 0; c < shape.channels; c++) {
                    float value = dst[(y * shape.to_width + x) * shape.channels + c];
                    assert_near(value, reference_value(src, &shape, y, x, c), 2e-3, y, x, c);
                }
            }
        }
        free(src);
        free(dst);
    }
    liana__resizer_free(&resizer);
}

/* Pillow rounds to bytes between its two passes, so one step of difference is its own. */
static void test_antialiased_resize_agrees_with_pillow(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__resizer resizer = {0};
    static const struct {
        liana__resize_shape shape;
        uint8_t pillow[42];
    } cases[] = {
        {{16, 13, 6, 5, 1, true}, {101, 138, 125, 133, 143, 119, 143, 132, 103, 162, 130, 103, 154, 119, 114,
                                   153, 121, 119, 141, 109, 125, 141, 107, 148, 129, 94,  158, 128, 106, 138}},
        {{9, 40, 7, 6, 1, true},
         {123, 126, 131, 132, 123, 120, 130, 120, 136, 125, 128, 140, 112, 127, 126, 135, 135, 120, 134, 128, 121,
          128, 126, 129, 126, 125, 129, 128, 118, 124, 128, 134, 132, 121, 129, 130, 118, 134, 123, 136, 131, 118}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__resize_shape *shape = &cases[i].shape;
        uint8_t dst[42], *src = make_source(shape->height * shape->width);
        assert_ok(liana__resize_u8(&resizer, shape, src, dst, &error), &error);
        for (int64_t k = 0; k < shape->to_height * shape->to_width; k++) {
            assert_compare(abs(dst[k] - cases[i].pillow[k]), <=, 1, i, k);
        }
        free(src);
    }
    liana__resizer_free(&resizer);
}

/* All instruction sets give the same bits. */
static void test_instruction_sets_agree(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__isa best;
    assert_ok(liana__cpu_detect(NULL, &best, NULL, 0, &error), &error);
    for (int trial = 0; trial < 60; trial++) {
        uint32_t draw = (uint32_t)trial * 2654435761u;
        liana__resize_shape shape = {1 + (draw >> 3) % 60,   1 + (draw >> 9) % 300, 1 + (draw >> 15) % 40,
                                     1 + (draw >> 21) % 290, draw >> 31 ? 3 : 1,    (draw >> 30) & 1};
        size_t count = (size_t)(shape.to_height * shape.to_width * shape.channels);
        uint8_t *src = make_source(shape.height * shape.width * shape.channels);
        float *expected = malloc(count * sizeof *expected), *floats = malloc(count * sizeof *floats);
        uint8_t *bytes = malloc(2 * count);
        for (int isa = 0; isa <= (int)best; isa++) {
            liana__resizer resizer = {.kernels = liana__resize_kernels_for((liana__isa)isa)};
            assert_ok(liana__resize_float(&resizer, &shape, src, isa ? floats : expected, &error), &error);
            assert_ok(liana__resize_u8(&resizer, &shape, src, bytes + (isa ? count : 0), &error), &error);
            if (isa) assert_memory_equal(floats, expected, count * sizeof *floats);
            if (isa) assert_memory_equal(bytes + count, bytes, count);
            liana__resizer_free(&resizer);
        }
        free(src);
        free(expected);
        free(floats);
        free(bytes);
    }
}

static void test_flat_and_equal_sizes_stay(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__resizer resizer = {0};
    uint8_t *src = make_source(31 * 29 * 3), dst[31 * 29 * 3];
    assert_ok(liana__resize_u8(&resizer, &(liana__resize_shape){31, 29, 31, 29, 3, true}, src, dst, &error), &error);
    assert_memory_equal(src, dst, sizeof dst);
    for (int value = 0; value <= 255; value += 51) {
        memset(src, value, 31 * 29 * 3);
        for (int size = 1; size <= 28; size += 3) {
            for (int antialias = 0; antialias <= 1; antialias++) {
                liana__resize_shape shape = {31, 29, size, size + 1, 3, antialias};
                assert_ok(liana__resize_u8(&resizer, &shape, src, dst, &error), &error);
                for (int k = 0; k < size * (size + 1) * 3; k++) assert_int_equal(dst[k], value);
            }
        }
    }
    free(src);
    liana__resizer_free(&resizer);
}

static void test_tables_and_memory_are_kept(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__resizer resizer = {0};
    uint8_t *src = make_source(60 * 60 * 3), dst[20 * 20 * 3];
    assert_ok(liana__resize_u8(&resizer, &(liana__resize_shape){60, 60, 20, 20, 3, true}, src, dst, &error), &error);
    const void *memory = resizer.rows.memory, *row = resizer.row;
    assert_ok(liana__resize_u8(&resizer, &(liana__resize_shape){40, 50, 20, 20, 3, false}, src, dst, &error), &error);
    assert_ptr_equal(resizer.rows.memory, memory);
    assert_ptr_equal(resizer.row, row);
    assert_fails(liana__resize_u8(&resizer, &(liana__resize_shape){40, 50, 0, 20, 3, false}, src, dst, &error),
                 LIANA_INVALID_ARGUMENT, &error, "40 x 50", "0 x 20");
    assert_fails(liana__resize_u8(&resizer, &(liana__resize_shape){40, 50, 9, 20, 2, false}, src, dst, &error),
                 LIANA_INVALID_ARGUMENT, &error, "2 channels");
    free(src);
    liana__resizer_free(&resizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_equals_pytorch),
        cmocka_unit_test(test_resize_equals_its_definition),
        cmocka_unit_test(test_antialiased_resize_agrees_with_pillow),
        cmocka_unit_test(test_instruction_sets_agree),
        cmocka_unit_test(test_flat_and_equal_sizes_stay),
        cmocka_unit_test(test_tables_and_memory_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
