/* ONNX files become layers: shapes, orders of axes, numbers in every form, and all that can be wrong with a file. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "base/file.h"
#include "base/half.h"
#include "harness/onnx/one_file.h"
#include "harness/try/mutants.h"
#include "harness/try/try_onnx.h"
#include "layers/model.h"
#include "onnx/import.h"

#include <liana/onnx.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- images ---- */

enum { N = 2, C = 3, H = 6, W = 5, O = 4, OH = 3, OW = 3, UNITS = 3 };

/* relu(convolution with stride 2 and padding 1) of ONNX's [N, C, H, W], then x W' + b of the flattened result. */
static void compute_network(const float *x, const float *k, const float *b, const float *w, float *y)
{
    for (int n = 0; n < N; n++) {
        float flat[O * OH * OW];
        for (int o = 0; o < O; o++) {
            for (int p = 0; p < OH * OW; p++) {
                float sum = b[o];
                for (int i = 0; i < C * 9; i++) {
                    const int c = i / 9, row = p / OW * 2 + i % 9 / 3 - 1, column = p % OW * 2 + i % 3 - 1;
                    if (row < 0 || row >= H || column < 0 || column >= W) continue;
                    sum += x[((n * C + c) * H + row) * W + column] * k[o * C * 9 + i];
                }
                flat[o * OH * OW + p] = sum > 0 ? sum : 0;
            }
        }
        for (int u = 0; u < UNITS; u++) {
            float sum = 0;
            for (int i = 0; i < O * OH * OW; i++) sum += flat[i] * w[u * O * OH * OW + i];
            y[n * UNITS + u] = sum;
        }
    }
}

static void make_network(int64_t opset, int64_t batch)
{
    liana__test_onnx_begin(&file, opset);
    liana__test_onnx_input(&file, "x", FLOAT, LIANA__ONNX_DIMS(batch, C, H, W));
    liana__test_onnx_floats(&file, "body.0.weight", LIANA__ONNX_DIMS(O, C, 3, 3), draw(O * C * 9, 1));
    liana__test_onnx_floats(&file, "body.0.bias", LIANA__ONNX_DIMS(O), draw(O, 2));
    liana__test_onnx_floats(&file, "head.weight", LIANA__ONNX_DIMS(UNITS, O * OH * OW), draw(UNITS * O * OH * OW, 3));
    Liana__Onnx__Node *conv = liana__test_onnx_node(&file, "Conv", "x body.0.weight body.0.bias", "a");
    liana__test_onnx_set_ints(&file, conv, "pads", LIANA__ONNX_DIMS(1, 1, 1, 1));
    liana__test_onnx_set_ints(&file, conv, "strides", LIANA__ONNX_DIMS(2, 2));
    liana__test_onnx_node(&file, "Relu", "a", "b");
    liana__test_onnx_node(&file, "Flatten", "b", "c");
    Liana__Onnx__Node *gemm = liana__test_onnx_node(&file, "Gemm", "c head.weight", "y");
    liana__test_onnx_set_int(&file, gemm, "transB", 1);
    liana__test_onnx_output(&file, "y");
}

/* [N, C, H, W] as [N, H, W, C]. */
static const float *channels_last(const float *x)
{
    float *moved = liana__arena_allocate(&file.arena, N * C * H * W * sizeof *moved);
    for (int i = 0; i < N * C * H * W; i++) {
        const int w = i % W, h = i / W % H, c = i / (W * H) % C, n = i / (W * H * C);
        moved[((n * H + h) * W + w) * C + c] = x[i];
    }
    return moved;
}

static void test_images(void **state)
{
    (void)state;
    for (int64_t batch = -1; batch <= 2; batch += 1 + (batch == -1)) {
        float y[N * UNITS];
        make_network(13, batch);
        liana_model *model = accept();
        const float *x = draw(N * C * H * W, 4);
        compute_network(x, draw(O * C * 9, 1), draw(O, 2), draw(UNITS * O * OH * OW, 3), y);
        expect(model, liana_shape_of(N, H, W, C), channels_last(x), y, N * UNITS);
        assert_int_equal(count_layers(model, "Permute"), 0);
        assert_int_equal(count_layers(model, "Flatten"), 1);
        assert_compare(liana__model_find_weight(model, "body.0/kernel"), >=, 0);
        assert_compare(liana__model_find_weight(model, "head/kernel"), >=, 0);
        assert_int_equal(liana_model_info(model).num_trainable_parameters, O * C * 9 + O + UNITS * O * OH * OW);
        done(model);
    }
}

/* A file whose graph is Keras's: the images have their channels last, with transposes around the convolution. */
static void test_transposes_cancel(void **state)
{
    (void)state;
    liana__test_onnx_begin(&file, 15);
    liana__test_onnx_input(&file, "x", FLOAT, LIANA__ONNX_DIMS(-1, 4, 4, 2));
    liana__test_onnx_floats(&file, "k", LIANA__ONNX_DIMS(2, 2, 1, 1), (const float[]){1, 2, 3, 4});
    Liana__Onnx__Node *node = liana__test_onnx_node(&file, "Transpose", "x", "a");
    liana__test_onnx_set_ints(&file, node, "perm", LIANA__ONNX_DIMS(0, 3, 1, 2));
    liana__test_onnx_node(&file, "Conv", "a k", "b");
    node = liana__test_onnx_node(&file, "Transpose", "b", "y");
    liana__test_onnx_set_ints(&file, node, "perm", LIANA__ONNX_DIMS(0, 2, 3, 1));
    liana__test_onnx_output(&file, "y");
    liana_model *model = accept();
    const float *x = draw(32, 5);
    float y[32];
    for (int i = 0; i < 32; i++) y[i] = x[i / 2 * 2] * (i % 2 ? 3.0f : 1.0f) + x[i / 2 * 2 + 1] * (i % 2 ? 4.0f : 2.0f);
    expect(model, liana_shape_of(1, 4, 4, 2), x, y, 32);
    assert_int_equal(model->num_layers, 2);
    done(model);
}

/* ---- rows ---- */

static void begin_rows(int64_t opset, int64_t features)
{
    liana__test_onnx_begin(&file, opset);
    liana__test_onnx_input(&file, "x", FLOAT, LIANA__ONNX_DIMS(-1, features));
    liana__test_onnx_output(&file, "y");
}

/* MatMul and Add are one Dense; so is Gemm with factors. */
static void test_dense(void **state)
{
    (void)state;
    const float x[] = {1, -2, 0.5f}, kernel[] = {1, 2, 3, 4, 5, 6}, bias[] = {0.5f, -1};
    begin_rows(13, 3);
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(3, 2), kernel);
    liana__test_onnx_floats(&file, "head.bias", LIANA__ONNX_DIMS(2), bias);
    liana__test_onnx_node(&file, "MatMul", "x w", "a");
    liana__test_onnx_node(&file, "Add", "head.bias a", "y");
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 3), x, (const float[]){-2, -4}, 2);
    assert_int_equal(model->num_layers, 2);
    assert_compare(liana__model_find_weight(model, "head/bias"), >=, 0);
    done(model);
    begin_rows(11, 3);
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(3, 2), kernel);
    liana__test_onnx_floats(&file, "b", LIANA__ONNX_DIMS(2), bias);
    Liana__Onnx__Node *gemm = liana__test_onnx_node(&file, "Gemm", "x w b", "y");
    liana__test_onnx_set_float(&file, gemm, "alpha", 0.5f);
    liana__test_onnx_set_float(&file, gemm, "beta", 2);
    model = accept();
    expect(model, liana_shape_of(1, 3), x, (const float[]){-0.25f, -3.5f}, 2);
    done(model);
}

/* A Reshape whose sizes are computed from the shape of its input. */
static void test_shape_arithmetic(void **state)
{
    (void)state;
    begin_rows(13, 6);
    liana__test_onnx_ints(&file, "zero", (const int64_t[]){LIANA__ONNX_END}, (const int64_t[]){0});
    liana__test_onnx_ints(&file, "axes", LIANA__ONNX_DIMS(1), (const int64_t[]){0});
    liana__test_onnx_ints(&file, "rest", LIANA__ONNX_DIMS(2), (const int64_t[]){3, 2});
    liana__test_onnx_node(&file, "Shape", "x", "s");
    liana__test_onnx_node(&file, "Gather", "s zero", "n");
    liana__test_onnx_node(&file, "Unsqueeze", "n axes", "m");
    Liana__Onnx__Node *concat = liana__test_onnx_node(&file, "Concat", "m rest", "t");
    liana__test_onnx_set_int(&file, concat, "axis", 0);
    liana__test_onnx_node(&file, "Reshape", "x t", "r");
    Liana__Onnx__Node *sum = liana__test_onnx_node(&file, "ReduceMax", "r", "y");
    liana__test_onnx_set_ints(&file, sum, "axes", LIANA__ONNX_DIMS(1));
    liana__test_onnx_set_int(&file, sum, "keepdims", 0);
    liana_model *model = accept();
    const float x[] = {1, 2, 5, 4, 3, 6, 9, 0, 0, 8, 7, 0};
    expect(model, liana_shape_of(2, 6), x, (const float[]){5, 6, 9, 8}, 4);
    done(model);
}

/* Layer normalisation before opset 17: one layer with its weights. */
static void test_layer_normalization(void **state)
{
    (void)state;
    static const char *const lines[][3] = {{"ReduceMean", "x", "m"},   {"Sub", "x m", "d"},
                                           {"Pow", "d two", "q"},      {"ReduceMean", "q", "v"},
                                           {"Add", "v eps", "e"},      {"Sqrt", "e", "r"},
                                           {"Div", "d r", "n"},        {"Mul", "n norm.weight", "s"},
                                           {"Add", "s norm.bias", "y"}};
    begin_rows(13, 4);
    liana__test_onnx_floats(&file, "two", (const int64_t[]){LIANA__ONNX_END}, (const float[]){2});
    liana__test_onnx_floats(&file, "eps", (const int64_t[]){LIANA__ONNX_END}, (const float[]){1e-5f});
    liana__test_onnx_floats(&file, "norm.weight", LIANA__ONNX_DIMS(4), (const float[]){1, 2, 3, 4});
    liana__test_onnx_floats(&file, "norm.bias", LIANA__ONNX_DIMS(4), (const float[]){0.5f, 0, 0, 1});
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        Liana__Onnx__Node *node = liana__test_onnx_node(&file, lines[i][0], lines[i][1], lines[i][2]);
        if (lines[i][0][0] == 'R') liana__test_onnx_set_ints(&file, node, "axes", LIANA__ONNX_DIMS(-1));
    }
    liana_model *model = accept();
    const double deviation = sqrt(1.25 + 1e-5);
    const float y[] = {(float)(-1.5 / deviation + 0.5), (float)(-1 / deviation), (float)(1.5 / deviation),
                       (float)(6 / deviation + 1)};
    expect(model, liana_shape_of(1, 4), (const float[]){1, 2, 3, 4}, y, 4);
    assert_int_equal(model->num_layers, 2);
    assert_int_equal(count_layers(model, "LayerNormalization"), 1);
    assert_compare(liana__model_find_weight(model, "norm/gamma"), >=, 0);
    done(model);
}

/* A function of the file, with an attribute of the call and one of its own. */
static void test_functions(void **state)
{
    (void)state;
    begin_rows(18, 2);
    Liana__Onnx__Node *call = liana__test_onnx_node(&file, "Leak", "x", "y");
    call->domain = liana__arena_string(&file.arena, "own");
    liana__test_onnx_set_float(&file, call, "slope", 0.25f);
    /* Its nodes are made in the graph, and moved. */
    Liana__Onnx__Node *first = liana__test_onnx_node(&file, "LeakyRelu", "in", "inner");
    liana__test_onnx_set_float(&file, first, "alpha", 0);
    first->attribute[0]->ref_attr_name = liana__arena_string(&file.arena, "slope");
    Liana__Onnx__Node *second = liana__test_onnx_node(&file, "Neg", "inner", "out");
    file.graph.n_node = 1;
    Liana__Onnx__Function function = LIANA__ONNX__FUNCTION__INIT;
    Liana__Onnx__Node *nodes[] = {first, second};
    char *inputs[] = {"in"}, *outputs[] = {"out"}, *attributes[] = {"slope"};
    function.name = "Leak";
    function.domain = "own";
    function.node = nodes;
    function.n_node = 2;
    function.input = inputs;
    function.output = outputs;
    function.attribute = attributes;
    function.n_input = function.n_output = function.n_attribute = 1;
    Liana__Onnx__Function *functions[] = {&function};
    file.model.functions = functions;
    file.model.n_functions = 1;
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 2), (const float[]){2, -4}, (const float[]){-2, 1}, 2);
    liana_model_destroy(model);
    /* A function that calls itself. */
    second->op_type = "Leak";
    second->domain = "own";
    refuse(LIANA_INVALID_DATA, "net.onnx", "Leak", "circle");
}

/* ---- numbers ---- */

/* The kernel [2, 1] of a Dense as a file has it. */
static void expect_kernel(void)
{
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 2), (const float[]){1, 10}, (const float[]){-23.5f}, 1);
    done(model);
}

static Liana__Onnx__Tensor *begin_kernel(int dtype)
{
    begin_rows(13, 2);
    Liana__Onnx__Tensor *tensor =
        liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(2, 1), (const float[]){1.5f, -2.5f});
    tensor->data_type = dtype;
    liana__test_onnx_node(&file, "MatMul", "x w", "y");
    return tensor;
}

static void test_dtypes(void **state)
{
    (void)state;
    float floats[] = {1.5f, -2.5f};
    double doubles[] = {1.5, -2.5};
    const uint16_t halves[] = {liana__float_to_half(1.5f), liana__float_to_half(-2.5f)}, brains[] = {0x3fc0, 0xc020};
    int32_t words[] = {halves[0], halves[1]};
    begin_kernel(FLOAT);
    expect_kernel();
    Liana__Onnx__Tensor *tensor = begin_kernel(FLOAT);
    tensor->has_raw_data = 0;
    tensor->n_float_data = 2;
    tensor->float_data = floats;
    expect_kernel();
    tensor = begin_kernel(LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE);
    tensor->has_raw_data = 0;
    tensor->n_double_data = 2;
    tensor->double_data = doubles;
    expect_kernel();
    tensor = begin_kernel(LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE);
    tensor->raw_data = (ProtobufCBinaryData){sizeof doubles, (uint8_t *)doubles};
    expect_kernel();
    tensor = begin_kernel(LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16);
    tensor->raw_data = (ProtobufCBinaryData){sizeof halves, (uint8_t *)(uintptr_t)halves};
    expect_kernel();
    tensor = begin_kernel(LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16);
    tensor->raw_data = (ProtobufCBinaryData){sizeof brains, (uint8_t *)(uintptr_t)brains};
    expect_kernel();
    tensor = begin_kernel(LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16);
    tensor->has_raw_data = 0;
    tensor->n_int32_data = 2;
    tensor->int32_data = words;
    expect_kernel();
    begin_kernel(LIANA__ONNX__TENSOR__DATA_TYPE__COMPLEX64);
    refuse(LIANA_UNIMPLEMENTED, "'w'", "dtype 14", "float32");
    tensor = begin_kernel(FLOAT);
    tensor->raw_data.len = 7;
    refuse(LIANA_INVALID_DATA, "'w'", "7 bytes", "needs 8");
}

static Liana__Onnx__Entry *make_entry(const char *key, const char *value)
{
    Liana__Onnx__Entry *entry = liana__arena_allocate(&file.arena, sizeof *entry);
    liana__onnx__entry__init(entry);
    entry->key = liana__arena_string(&file.arena, key);
    entry->value = liana__arena_string(&file.arena, value);
    return entry;
}

/* Reads a file of the test's folder, whose kernel is in another one. */
static liana_status load_external(const char *location, const char *offset, const char *length, liana_model **model)
{
    Liana__Onnx__Tensor *tensor = begin_kernel(FLOAT);
    size_t size;
    Liana__Onnx__Entry *entries[] = {make_entry("location", location), make_entry("offset", offset),
                                     make_entry("length", length)};
    tensor->has_raw_data = 0;
    tensor->has_data_location = 1;
    tensor->data_location = LIANA__ONNX__TENSOR__DATA_LOCATION__EXTERNAL;
    tensor->external_data = entries;
    tensor->n_external_data = 3;
    const uint8_t *bytes = liana__test_onnx_pack(&file, &size);
    const char *path = liana__test_write("external.onnx", bytes, size);
    return liana_model_load_onnx(context, path, model);
}

static void test_external_data(void **state)
{
    (void)state;
    const float numbers[] = {7, 1.5f, -2.5f};
    liana_model *model;
    liana__test_folder();
    liana__test_write("weights.bin", numbers, sizeof numbers);
    assert_ok(load_external("weights.bin", "4", "8", &model), &context->error);
    expect(model, liana_shape_of(1, 2), (const float[]){1, 10}, (const float[]){-23.5f}, 1);
    done(model);
    static const struct {
        const char *location, *offset, *length, *said;
    } wrong[] = {{"weights.bin", "8", "8", "cut off"},
                 {"weights.bin", "18446744073709551608", "8", "cut off"},
                 {"weights.bin", "-4", "8", "no whole number"},
                 {"weights.bin", "0", "12", "needs 8"},
                 {"../weights.bin", "0", "8", "no '..'"},
                 {"/etc/passwd", "0", "8", "no absolute path"},
                 {"link.bin", "0", "8", "no link"},
                 {"missing.bin", "0", "8", "missing.bin"}};
    assert_int_equal(symlink("weights.bin", liana__test_path("link.bin")), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const liana_status status = load_external(wrong[i].location, wrong[i].offset, wrong[i].length, &model);
        assert_int_not_equal(status, LIANA_OK);
        assert_says(context->error.message, wrong[i].said);
        assert_null(model);
        liana__arena_free(&file.arena);
    }
}

/* ---- liana's own files ---- */

static void test_own_file(void **state)
{
    (void)state;
    const char *path = (liana__test_folder(), liana__test_path("own.onnx"));
    const char *names[] = {"daisy", "rose", NULL};
    liana_model *model, *again;
    float before[2], after[2];
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(H, W, C));
    liana_conv2d(model, .filters = 4, .kernel_size = {3, 3}, .strides = {2, 1}, .padding = LIANA_PADDING_SAME);
    liana_batch_normalization(model, .epsilon = 1e-2);
    liana_activation(model, .activation = "silu");
    liana_flatten(model);
    liana_dense(model, .units = 2, .activation = "softmax", .name = "head");
    assert_ok(liana_model_status(model), &context->error);
    const liana_preprocessing known = {.scale = LIANA_SCALE_TORCH, .class_names = names, .num_class_names = 2};
    assert_ok(liana_model_set_preprocessing(model, &known), &context->error);
    assert_ok(liana_model_save(model, path), &context->error);
    assert_ok(liana_model_load(context, path, &again), &context->error);
    const liana_preprocessing found = liana_model_preprocessing(again);
    assert_int_equal(found.scale, LIANA_SCALE_TORCH);
    assert_int_equal(found.num_class_names, 2);
    assert_string_equal(found.class_names[1], "rose");
    assert_compare(liana__model_find_weight(again, "head/kernel"), >=, 0);
    assert_int_equal(liana_model_info(again).num_parameters, liana_model_info(model).num_parameters);
    const float *x = draw(H * W * C, 8);
    liana_array input = {liana_model_input(model, 0).name, LIANA_F32, liana_shape_of(1, H, W, C), x};
    assert_ok(liana_predict_on_batch(model, &input, 1, before), &context->error);
    input.name = liana_model_input(again, 0).name;
    assert_ok(liana_predict_on_batch(again, &input, 1, after), &context->error);
    for (int i = 0; i < 2; i++) assert_near(after[i], before[i], 1e-6, i);
    liana_model_destroy(again);
    done(model);
}

/* ---- what is wrong ---- */

static void test_operators_that_lack(void **state)
{
    (void)state;
    begin_rows(16, 2);
    liana__test_onnx_node(&file, "Bernoulli", "x", "a");
    liana__test_onnx_node(&file, "Det", "a", "b");
    liana__test_onnx_node(&file, "Det", "b", "c");
    Liana__Onnx__Node *own = liana__test_onnx_node(&file, "Gadget", "c", "y");
    own->domain = liana__arena_string(&file.arena, "com.example");
    refuse(LIANA_UNIMPLEMENTED, "net.onnx", "Bernoulli (1", "Det (2", "com.example::Gadget", "replace them");
}

static void test_broken_graphs(void **state)
{
    (void)state;
    begin_rows(16, 2);
    liana__test_onnx_node(&file, "Add", "x w", "y");
    refuse(LIANA_INVALID_DATA, "Add", "'w'", "neither an input of the graph, nor an initializer");
    begin_rows(16, 2);
    liana__test_onnx_node(&file, "Add", "x b", "a");
    liana__test_onnx_node(&file, "Neg", "a", "b");
    liana__test_onnx_node(&file, "Neg", "b", "y");
    refuse(LIANA_INVALID_DATA, "cycle");
    begin_rows(16, 2);
    liana__test_onnx_node(&file, "Neg", "x", "y");
    liana__test_onnx_node(&file, "Abs", "x", "y");
    refuse(LIANA_INVALID_DATA, "Abs", "'y'", "another node");
    begin_rows(16, 2);
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(2), (const float[]){1, 2});
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(2), (const float[]){1, 2});
    liana__test_onnx_node(&file, "Add", "x w", "y");
    refuse(LIANA_INVALID_DATA, "two initializers 'w'");
    begin_rows(5, 2);
    liana__test_onnx_node(&file, "Neg", "x", "y");
    refuse(LIANA_UNIMPLEMENTED, "opset 5", "opset_version");
    begin_rows(16, 2);
    liana__test_onnx_node(&file, "Neg", "x", "z");
    refuse(LIANA_INVALID_DATA, "output 'y'", "no node");
    liana__test_onnx_begin(&file, 16);
    liana__test_onnx_input(&file, "x", FLOAT, LIANA__ONNX_DIMS(-1, -2, 4));
    liana__test_onnx_node(&file, "Neg", "x", "y");
    liana__test_onnx_output(&file, "y");
    refuse(LIANA_UNIMPLEMENTED, "input 'x'", "fixed size");
    begin_rows(16, 2);
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(3, 2), (const float[]){1, 2, 3, 4, 5, 6});
    liana__test_onnx_node(&file, "MatMul", "x w", "y");
    refuse(LIANA_INVALID_DATA, "MatMul", "2 features", "for 3");
}

static void test_hostile_sizes(void **state)
{
    (void)state;
    begin_rows(16, 2);
    Liana__Onnx__Tensor *tensor = liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(2, 1), (const float[]){1, 2});
    tensor->dims[0] = INT64_MAX / 2;
    tensor->dims[1] = 16;
    liana__test_onnx_node(&file, "MatMul", "x w", "y");
    refuse(LIANA_INVALID_DATA, "'w'", "too large");
    begin_rows(16, 2);
    tensor = liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(2, 1), (const float[]){1, 2});
    tensor->dims[0] = -2;
    liana__test_onnx_node(&file, "MatMul", "x w", "y");
    refuse(LIANA_INVALID_DATA, "'w'", "-2");
    /* A small file that asks for a constant of terabytes. */
    begin_rows(16, 2);
    liana__test_onnx_ints(&file, "s", LIANA__ONNX_DIMS(2), (const int64_t[]){1 << 19, 1 << 19});
    liana__test_onnx_node(&file, "ConstantOfShape", "s", "c");
    liana__test_onnx_node(&file, "Add", "x c", "y");
    refuse(LIANA_INVALID_DATA, "allowed memory");
}

/* Graphs within nodes within graphs: the reader of protobuf would go down with them. */
static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 4000, ROOM = DEPTH * 16 };
    uint8_t *bytes = malloc(ROOM);
    assert_non_null(bytes);
    size_t begin = ROOM;
    static const uint8_t keys[] = {0x32, 0x2a, 0x0a}; /* Attribute.g, Node.attribute, Graph.node */
    for (int i = 0; i <= DEPTH * 3; i++) {
        size_t size = ROOM - begin;
        uint8_t head[6];
        size_t count = 0;
        head[count++] = i == DEPTH * 3 ? 0x3a : keys[i % 3];
        for (; size > 127; size >>= 7) head[count++] = (uint8_t)(size | 128);
        head[count++] = (uint8_t)size;
        if (begin < count) break;
        begin -= count;
        memcpy(bytes + begin, head, count);
    }
    liana__error error = {0};
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    assert_fails(liana__model_from_onnx_bytes(model, bytes + begin, ROOM - begin, "deep.onnx", NULL, &error),
                 LIANA_INVALID_DATA, &error, "deep.onnx", "damaged");
    assert_fails(liana__model_from_onnx_bytes(model, bytes, 0, "empty.onnx", NULL, &error), LIANA_INVALID_DATA, &error,
                 "empty.onnx", "is empty");
    liana_model_destroy(model);
    free(bytes);
}

static void test_mutants(void **state)
{
    (void)state;
    size_t size;
    make_network(13, -1);
    const uint8_t *bytes = liana__test_onnx_pack(&file, &size);
    liana__test_mutants(bytes, size, 1000, liana__try_onnx);
    liana__arena_free(&file.arena);
}

/* The files that fuzzing begins with. */
static void test_mutants_of_corpus(void **state)
{
    (void)state;
    static const char *const names[] = {"attention", "convolutions", "function", "loop", "recurrent"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024], *bytes;
        size_t size;
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/fuzz_onnx/%s", LIANA_SOURCE_DIR, names[i]);
        assert_ok(liana__file_read(path, LIANA__MUTANT_ROOM, &bytes, &size, &context->error), &context->error);
        liana__test_mutants((const uint8_t *)bytes, size, 1000, liana__try_onnx);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_transposes_cancel),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_shape_arithmetic),
        cmocka_unit_test(test_layer_normalization),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_external_data),
        cmocka_unit_test(test_own_file),
        cmocka_unit_test(test_operators_that_lack),
        cmocka_unit_test(test_broken_graphs),
        cmocka_unit_test(test_hostile_sizes),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_mutants_of_corpus),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
