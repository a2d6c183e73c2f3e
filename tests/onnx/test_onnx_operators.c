/* Operators of ONNX that differ from liana's in some of their cases: they give ONNX's numbers, or are refused. */
#include "harness/harness.h"

#include "harness/onnx/one_file.h"

static const int64_t *scalar_dims(void)
{
    static const int64_t none[] = {LIANA__ONNX_END};
    return none;
}

static void begin(int dtype, const int64_t *dims)
{
    liana__test_onnx_begin(&file, 19);
    liana__test_onnx_input(&file, "x", dtype, dims);
    liana__test_onnx_output(&file, "y");
}

static void begin_rows(int64_t size)
{
    begin(FLOAT, LIANA__ONNX_DIMS(-1, size));
}

static void begin_images(void)
{
    begin(FLOAT, LIANA__ONNX_DIMS(-1, 2, 3, 5));
}

/* ---- arithmetic ---- */

/* Integers that go in and come out. */
static void expect_integers(const int32_t *x, const int32_t *y, int64_t count)
{
    liana_model *model = accept();
    float found[8]; /* whatever the dtype of the output */
    const liana_array input = {"x", LIANA_S32, liana_shape_of(1, count), x};
    assert_ok(liana_predict_on_batch(model, &input, 1, found), &context->error);
    for (int64_t i = 0; i < count; i++) assert_int_equal((int32_t)found[i], y[i]);
    done(model);
}

/* C's quotient: towards zero. */
static void test_quotients_of_integers(void **state)
{
    (void)state;
    const int32_t x[] = {7, -7, 6, -1, 0}, by_two[] = {3, -3, 3, 0, 0}, by_minus_two[] = {-3, 3, -3, 0, 0};
    for (int64_t number = -2; number < 3; number += 4) {
        begin(INT64, LIANA__ONNX_DIMS(-1, 5));
        liana__test_onnx_ints(&file, "n", scalar_dims(), &number);
        liana__test_onnx_node(&file, "Div", "x n", "y");
        expect_integers(x, number == 2 ? by_two : by_minus_two, 5);
    }
    const int64_t ten = -10;
    const int32_t divisors[] = {3, -3, 4, 11, -20}, quotients[] = {-3, 3, -2, 0, 0}, tenths[] = {0, 0, 0, 0, 0};
    begin(INT64, LIANA__ONNX_DIMS(-1, 5));
    liana__test_onnx_ints(&file, "n", scalar_dims(), &ten);
    liana__test_onnx_node(&file, "Div", "n x", "y");
    expect_integers(divisors, quotients, 5);
    /* Of two results. */
    begin(INT64, LIANA__ONNX_DIMS(-1, 5));
    liana__test_onnx_ints(&file, "n", scalar_dims(), &ten);
    liana__test_onnx_node(&file, "Mul", "x n", "z");
    liana__test_onnx_node(&file, "Div", "x z", "y");
    const int32_t some[] = {3, -3, 4, 11, -20};
    expect_integers(some, tenths, 5);
}

static void test_means_and_remainders(void **state)
{
    (void)state;
    begin_rows(3);
    liana__test_onnx_floats(&file, "c", LIANA__ONNX_DIMS(3), (const float[]){1, 2, 4});
    liana__test_onnx_node(&file, "Mean", "x c", "y");
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 3), (const float[]){3, -2, 1}, (const float[]){2, 0, 2.5f}, 3);
    done(model);
    begin_rows(3);
    liana__test_onnx_floats(&file, "c", LIANA__ONNX_DIMS(1), (const float[]){2});
    Liana__Onnx__Node *rest = liana__test_onnx_node(&file, "Mod", "x c", "y");
    liana__test_onnx_set_int(&file, rest, "fmod", 1);
    refuse(LIANA_UNIMPLEMENTED, "Mod 'y'", "fmod");
    begin_rows(3);
    Liana__Onnx__Node *infinite = liana__test_onnx_node(&file, "IsInf", "x", "y");
    liana__test_onnx_set_int(&file, infinite, "detect_negative", 0);
    refuse(LIANA_UNIMPLEMENTED, "IsInf 'y'", "one sign");
    begin_rows(3);
    Liana__Onnx__Node *last = liana__test_onnx_node(&file, "ArgMax", "x", "y");
    liana__test_onnx_set_int(&file, last, "axis", 1);
    liana__test_onnx_set_int(&file, last, "select_last_index", 1);
    refuse(LIANA_UNIMPLEMENTED, "ArgMax 'y'", "select_last_index");
}

/* A constant divided by zero is infinite, and no zero. */
static void test_folded_quotient(void **state)
{
    (void)state;
    begin_rows(2);
    liana__test_onnx_floats(&file, "a", LIANA__ONNX_DIMS(2), (const float[]){1, -9});
    liana__test_onnx_floats(&file, "b", LIANA__ONNX_DIMS(2), (const float[]){0, 2});
    liana__test_onnx_node(&file, "Div", "a b", "c");
    liana__test_onnx_node(&file, "Min", "x c", "y");
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 2), (const float[]){5, 5}, (const float[]){5, -4.5f}, 2);
    done(model);
}

/* ---- images ---- */

/* A slope [channels] would stand for the width. */
static void test_slopes(void **state)
{
    (void)state;
    begin(FLOAT, LIANA__ONNX_DIMS(-1, 2, 1, 2));
    liana__test_onnx_floats(&file, "s", LIANA__ONNX_DIMS(2), (const float[]){0.5f, 2});
    liana__test_onnx_node(&file, "PRelu", "x s", "y");
    refuse(LIANA_UNIMPLEMENTED, "PRelu 'y'", "[channels, 1, ...]");
    begin(FLOAT, LIANA__ONNX_DIMS(-1, 2, 1, 2));
    liana__test_onnx_floats(&file, "s", LIANA__ONNX_DIMS(2, 1, 1), (const float[]){0.5f, 2});
    liana__test_onnx_node(&file, "PRelu", "x s", "y");
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 1, 2, 2), (const float[]){-1, -1, 4, -2}, (const float[]){-0.5f, -2, 4, -4}, 4);
    done(model);
}

/* Pixels of x, [1, 2, 3, 5] in ONNX, move. The model has the channels last where the operators say that it reads
 * images. */
static void expect_moved(liana_model *model, int rows, int columns, int (*row_of)(int), int (*column_of)(int))
{
    const bool is_last = liana_model_input(model, 0).shape.dims[3] == 2;
    const float *x = draw(30, 1);
    float given[30], wanted[2 * 16 * 16];
    for (int i = 0; i < 30; i++) given[is_last ? i % 15 * 2 + i / 15 : i] = x[i];
    for (int i = 0; i < rows * columns * 2; i++) {
        const int k = i / (rows * columns), r = i / columns % rows, c = i % columns;
        wanted[is_last ? (r * columns + c) * 2 + k : i] = x[k * 15 + row_of(r) * 5 + column_of(c)];
    }
    expect(model, is_last ? liana_shape_of(1, 3, 5, 2) : liana_shape_of(1, 2, 3, 5), given, wanted,
           (size_t)(rows * columns * 2));
    done(model);
}

static int wrap_row(int r)
{
    return (r - 1 + 3) % 3;
}
static int wrap_column(int c)
{
    return (c - 7 + 10) % 5;
}
static int mirror_row(int r)
{
    static const int places[] = {2, 1, 0, 1, 2, 1, 0};
    return places[r];
}
static int mirror_column(int c)
{
    static const int places[] = {1, 0, 1, 2, 3, 4};
    return places[c];
}
static int edge_row(int r)
{
    return r < 2 ? 0 : r - 2;
}
static int edge_column(int c)
{
    return c < 5 ? c : 4;
}

static liana_model *pad(const char *mode, const int64_t *pads)
{
    begin_images();
    liana__test_onnx_ints(&file, "p", LIANA__ONNX_DIMS(8), pads);
    Liana__Onnx__Node *node = liana__test_onnx_node(&file, "Pad", "x p", "y");
    liana__test_onnx_set_text(&file, node, "mode", mode);
    return accept();
}

static void test_pads(void **state)
{
    (void)state;
    expect_moved(pad("wrap", (const int64_t[]){0, 0, 1, 7, 0, 0, 2, 0}), 6, 12, wrap_row, wrap_column);
    expect_moved(pad("reflect", (const int64_t[]){0, 0, 2, 1, 0, 0, 2, 0}), 7, 6, mirror_row, mirror_column);
    expect_moved(pad("edge", (const int64_t[]){0, 0, 2, 0, 0, 0, 0, 3}), 5, 8, edge_row, edge_column);
    begin_images();
    liana__test_onnx_ints(&file, "p", LIANA__ONNX_DIMS(8), (const int64_t[]){0, 0, 1, 0, 0, 0, 0, 0});
    liana__test_onnx_set_text(&file, liana__test_onnx_node(&file, "Pad", "x p", "y"), "mode", "symmetric");
    refuse(LIANA_UNIMPLEMENTED, "Pad 'y'", "'symmetric'", "reflect, edge or wrap");
}

static Liana__Onnx__Node *resize(const float *scales, const char *mode, const char *place)
{
    begin_images();
    liana__test_onnx_floats(&file, "s", LIANA__ONNX_DIMS(4), scales);
    Liana__Onnx__Node *node = liana__test_onnx_node(&file, "Resize", "x - s", "y");
    liana__test_onnx_set_text(&file, node, "mode", mode);
    liana__test_onnx_set_text(&file, node, "coordinate_transformation_mode", place);
    return node;
}

static int third(int place)
{
    return place / 3;
}
static int half(int place)
{
    return place / 2;
}

static void test_sizes(void **state)
{
    (void)state;
    (void)resize((const float[]){1, 1, 3, 2}, "nearest", "half_pixel");
    expect_moved(accept(), 9, 10, third, half);
    /* floor((2 + 0.5) / 2 - 0.5) is 0, and no 1. */
    Liana__Onnx__Node *node = resize((const float[]){1, 1, 2, 2}, "nearest", "half_pixel");
    liana__test_onnx_set_text(&file, node, "nearest_mode", "floor");
    refuse(LIANA_UNIMPLEMENTED, "Resize 'y'", "'nearest'", "half_pixel");
    /* 7 of 5 columns is a scale of 1.4, and no 1.5. */
    (void)resize((const float[]){1, 1, 2, 1.5f}, "linear", "half_pixel");
    refuse(LIANA_UNIMPLEMENTED, "Resize 'y'", "scale of 1.5 for 5 pixels");
    (void)resize((const float[]){1, 2, 2, 2}, "linear", "half_pixel");
    refuse(LIANA_UNIMPLEMENTED, "Resize 'y'", "channels get another size");
    (void)resize((const float[]){1, 1, 1.0F / 3, 1}, "linear", "pytorch_half_pixel");
    refuse(LIANA_UNIMPLEMENTED, "Resize 'y'", "pytorch_half_pixel");
}

static void test_pooling(void **state)
{
    (void)state;
    begin_images();
    Liana__Onnx__Node *node = liana__test_onnx_node(&file, "AveragePool", "x", "y");
    liana__test_onnx_set_ints(&file, node, "kernel_shape", LIANA__ONNX_DIMS(2, 2));
    liana__test_onnx_set_ints(&file, node, "strides", LIANA__ONNX_DIMS(2, 2));
    liana__test_onnx_set_int(&file, node, "ceil_mode", 1);
    liana__test_onnx_set_int(&file, node, "count_include_pad", 1);
    refuse(LIANA_UNIMPLEMENTED, "AveragePool 'y'", "ceil_mode and count_include_pad");
}

/* One activation in each direction. */
static void test_activations_of_directions(void **state)
{
    (void)state;
    begin(FLOAT, LIANA__ONNX_DIMS(4, -1, 3));
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(2, 2, 3), draw(12, 1));
    liana__test_onnx_floats(&file, "r", LIANA__ONNX_DIMS(2, 2, 2), draw(8, 2));
    Liana__Onnx__Node *node = liana__test_onnx_node(&file, "RNN", "x w r", "y");
    liana__test_onnx_set_int(&file, node, "hidden_size", 2);
    liana__test_onnx_set_text(&file, node, "direction", "bidirectional");
    liana__test_onnx_set_text(&file, node, "activations", "");
    static ProtobufCBinaryData names[] = {{4, (uint8_t *)"Relu"}, {4, (uint8_t *)"Tanh"}};
    node->attribute[2]->strings = names;
    node->attribute[2]->n_strings = 2;
    node->attribute[2]->has_s = 0;
    refuse(LIANA_UNIMPLEMENTED, "RNN 'y'", "'Tanh'", "'Relu'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotients_of_integers),
        cmocka_unit_test(test_means_and_remainders),
        cmocka_unit_test(test_folded_quotient),
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_pads),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_activations_of_directions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
