/* ONNX files: their structure, read back with protobuf-c; names, batches, metadata; what is refused, and how the
 * command says so. onnxruntime runs such files in test_onnxruntime. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/onnx.pb-c.h"
#include "harness/one_context.h"
#include "layers/model.h"
#include "onnx/export_model.h"
#include "onnx/op_table.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef Liana__Onnx__Model onnx_model;

static onnx_model *read_file(const char *name)
{
    char *bytes;
    size_t size;
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &bytes, &size, &context->error), &context->error);
    onnx_model *read = liana__onnx__model__unpack(NULL, size, (const uint8_t *)bytes);
    free(bytes);
    assert_non_null(read);
    return read;
}

static void free_file(onnx_model *read)
{
    liana__onnx__model__free_unpacked(read, NULL);
}

static size_t count(const onnx_model *read, const char *type)
{
    size_t found = 0;
    for (size_t i = 0; i < read->graph->n_node; i++) found += strcmp(read->graph->node[i]->op_type, type) == 0;
    return found;
}

static const Liana__Onnx__Node *find_node(const onnx_model *read, const char *type)
{
    for (size_t i = 0; i < read->graph->n_node; i++) {
        if (strcmp(read->graph->node[i]->op_type, type) == 0) return read->graph->node[i];
    }
    fail_msg("no node %s", type);
    return NULL;
}

static const Liana__Onnx__Tensor *find_weight(const onnx_model *read, const char *name)
{
    for (size_t i = 0; i < read->graph->n_initializer; i++) {
        if (strcmp(read->graph->initializer[i]->name, name) == 0) return read->graph->initializer[i];
    }
    fail_msg("no weight %s", name);
    return NULL;
}

static const char *find_entry(const onnx_model *read, const char *key)
{
    for (size_t i = 0; i < read->n_metadata_props; i++) {
        if (strcmp(read->metadata_props[i]->key, key) == 0) return read->metadata_props[i]->value;
    }
    return NULL;
}

/* Each value is made once, before it is read; each name of a node once. */
static void check_order(const onnx_model *read)
{
    const Liana__Onnx__Graph *graph = read->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        for (size_t k = 0; k < graph->node[i]->n_input; k++) {
            const char *name = graph->node[i]->input[k];
            size_t found = !*name;
            for (size_t j = 0; j < graph->n_input; j++) found += strcmp(graph->input[j]->name, name) == 0;
            for (size_t j = 0; j < graph->n_initializer; j++) found += strcmp(graph->initializer[j]->name, name) == 0;
            for (size_t j = 0; j < i; j++) {
                for (size_t o = 0; o < graph->node[j]->n_output; o++) {
                    found += strcmp(graph->node[j]->output[o], name) == 0;
                }
            }
            if (found != 1) fail_msg("'%s' of node %zu was made %zu times", name, i, found);
        }
    }
}

/* ---- models ---- */

static liana_model *begin(const char *name)
{
    liana_model *model;
    assert_ok(liana_model_create(context, name, &model), &context->error);
    return model;
}

static liana_model *images(void)
{
    liana_model *m = begin("images");
    liana_input(m, .name = "image", .shape = LIANA_INTS(9, 11, 3));
    liana_conv2d(m, .name = "conv", .filters = 4, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(m, .name = "norm");
    liana_dropout(m, .rate = 0.5);
    liana_global_average_pooling2d(m);
    liana_dense(m, .name = "class", .units = 3, .activation = "softmax");
    assert_ok(liana_model_status(m), &context->error);
    return m;
}

static void save(liana_model *model, const char *name, const liana_onnx_options *options)
{
    assert_ok(liana_model_save_onnx(model, liana__test_path(name), options), &context->error);
}

static void test_the_structure_of_a_file(void **state)
{
    (void)state;
    liana_model *m = images();
    const liana_preprocessing known = {.scale = LIANA_SCALE_MINUS_ONE_ONE,
                                       .class_names = (const char *const[]){"rose", "\"tulip\"", "aster", NULL}};
    assert_ok(liana_model_set_preprocessing(m, &known), &context->error);
    save(m, "images.onnx", NULL);
    onnx_model *read = read_file("images.onnx");
    assert_int_equal(read->ir_version, 8);
    assert_int_equal(read->n_opset_import, 1);
    assert_int_equal(read->opset_import[0]->version, 17);
    assert_string_equal(read->producer_name, "liana");
    assert_string_equal(read->producer_version, LIANA_VERSION);
    assert_string_equal(read->graph->name, "images");
    assert_string_equal(find_entry(read, "class_names"), "[\"rose\", \"\\\"tulip\\\"\", \"aster\"]");
    assert_string_equal(find_entry(read, "pixels"), "-1..1");
    assert_int_equal(read->graph->n_input, 1);
    assert_string_equal(read->graph->input[0]->name, "image");
    assert_string_equal(read->graph->output[0]->name, "class");
    const Liana__Onnx__TensorType *input = read->graph->input[0]->type->tensor_type;
    assert_int_equal(input->elem_type, LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT);
    assert_int_equal(input->shape->n_dim, 4);
    assert_string_equal(input->shape->dim[0]->dim_param, "batch");
    assert_int_equal(input->shape->dim[1]->dim_value, 9);
    /* Channels first, once; the bias in the convolution; nothing of Dropout. */
    static const char *const types[] = {"Transpose",         "Conv",    "Relu", "BatchNormalization",
                                        "GlobalAveragePool", "Flatten", "Gemm", "Softmax"};
    assert_int_equal(read->graph->n_node, sizeof types / sizeof *types);
    for (size_t i = 0; i < read->graph->n_node; i++) assert_string_equal(read->graph->node[i]->op_type, types[i]);
    assert_string_equal(find_node(read, "Conv")->name, "conv/Conv");
    assert_string_equal(find_node(read, "Conv")->input[1], "conv/kernel");
    assert_string_equal(find_node(read, "Conv")->input[2], "conv/bias");
    check_order(read);
    free_file(read);
    liana_model_destroy(m);
}

/* [height, width, in, out] becomes [out, in, height, width]. */
static void test_kernels_are_turned(void **state)
{
    (void)state;
    liana_model *m = images();
    save(m, "kernels.onnx", NULL);
    onnx_model *read = read_file("kernels.onnx");
    const Liana__Onnx__Tensor *kernel = find_weight(read, "conv/kernel");
    static const int64_t dims[] = {4, 3, 3, 3};
    assert_int_equal(kernel->n_dims, 4);
    assert_memory_equal(kernel->dims, dims, sizeof dims);
    assert_int_equal(kernel->raw_data.len, 4 * 3 * 3 * 3 * sizeof(float));
    float found[4 * 3 * 3 * 3];
    liana_array weights;
    assert_ok(liana_model_get_weights(m, "conv/kernel", &weights), &context->error);
    const float *own = weights.data;
    memcpy(found, kernel->raw_data.data, sizeof found);
    for (int y = 0; y < 3; y++) {
        for (int x = 0; x < 3; x++) {
            for (int i = 0; i < 3; i++) {
                for (int o = 0; o < 4; o++) {
                    const float value = found[((o * 3 + i) * 3 + y) * 3 + x],
                                expected = own[((y * 3 + x) * 3 + i) * 4 + o];
                    assert_memory_equal(&value, &expected, sizeof value);
                }
            }
        }
    }
    free_file(read);
    liana_model_destroy(m);
}

static void test_fixed_batch_and_pixels(void **state)
{
    (void)state;
    liana_model *m = images();
    save(m, "pixels.onnx", &(liana_onnx_options){.batch = 6, .pixels = LIANA_ONNX_UINT8});
    onnx_model *read = read_file("pixels.onnx");
    const Liana__Onnx__TensorType *input = read->graph->input[0]->type->tensor_type;
    assert_int_equal(input->elem_type, LIANA__ONNX__TENSOR__DATA_TYPE__UINT8);
    assert_int_equal(input->shape->dim[0]->dim_value, 6);
    assert_int_equal(read->graph->output[0]->type->tensor_type->shape->dim[0]->dim_value, 6);
    assert_string_equal(read->graph->node[0]->op_type, "Cast");
    assert_string_equal(find_entry(read, "pixels"), "0..255");
    check_order(read);
    free_file(read);
    liana_model_destroy(m);
}

/* A sequence: products of rank 3 without reshapes; a loop with a mask as Scan, whose body reads the weights around
 * it. */
static void test_sequences_take_any_batch(void **state)
{
    (void)state;
    liana_model *m = begin("words");
    liana_input(m, .name = "ids", .shape = LIANA_INTS(7), .dtype = LIANA_S32);
    liana_embedding(m, .name = "embed", .input_dim = 20, .output_dim = 6, .mask_zero = true);
    liana_dense(m, .name = "wide", .units = 8, .activation = "gelu");
    liana_lstm(m, .name = "lstm", .units = 5);
    liana_dense(m, .name = "class", .units = 3);
    assert_ok(liana_model_status(m), &context->error);
    save(m, "words.onnx", NULL);
    onnx_model *read = read_file("words.onnx");
    assert_int_equal(read->graph->input[0]->type->tensor_type->elem_type, LIANA__ONNX__TENSOR__DATA_TYPE__INT32);
    assert_int_equal(count(read, "Gather"), 1);
    assert_int_equal(count(read, "Clip"), 0);
    assert_int_equal(count(read, "Scan"), 1);
    assert_string_equal(find_node(read, "MatMul")->input[1], "wide/kernel");
    const Liana__Onnx__Node *scan = find_node(read, "Scan");
    const Liana__Onnx__Graph *body = scan->attribute[0]->g;
    assert_string_equal(scan->attribute[0]->name, "body");
    bool reads_weights = false;
    for (size_t i = 0; i < body->n_node; i++) {
        for (size_t k = 0; k < body->node[i]->n_input; k++) {
            reads_weights |= strcmp(body->node[i]->input[k], "lstm/lstm_cell/recurrent_kernel") == 0;
        }
    }
    assert_true(reads_weights);
    assert_int_equal(body->n_initializer, 0);
    check_order(read);
    free_file(read);
    liana_model_destroy(m);
}

/* What a model answers to a batch of 3 sequences [7, 4]. */
static void answer(liana_model *m, float answers[6])
{
    float x[3 * 7 * 4];
    for (int i = 0; i < 3 * 7 * 4; i++) x[i] = (float)sin(0.7 * i + 0.1);
    const liana_array input = {liana_model_input(m, 0).name, LIANA_F32, liana_shape_of(3, 7, 4), x};
    assert_ok(liana_predict_on_batch(m, &input, 1, answers), &context->error);
}

static bool is_attribute(const Liana__Onnx__Node *node, const char *name, int64_t number)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (strcmp(node->attribute[i]->name, name) == 0) return node->attribute[i]->i == number;
    }
    return false;
}

/* Recurrent layers are nodes of their own, and layers again when they are read. */
static void test_recurrent_layers(void **state)
{
    (void)state;
    liana_model *m = begin("waves"), *again;
    liana_input(m, .name = "x", .shape = LIANA_INTS(7, 4));
    liana_gru(m, .name = "gru", .units = 5, .return_sequences = true, .go_backwards = true);
    liana_simple_rnn(m, .name = "rnn", .units = 3, .activation = "relu", .return_sequences = true);
    liana_lstm(m, .name = "lstm", .units = 6, .use_bias = false);
    liana_dense(m, .name = "class", .units = 2);
    assert_ok(liana_model_status(m), &context->error);
    save(m, "waves.onnx", NULL);
    onnx_model *read = read_file("waves.onnx");
    assert_int_equal(count(read, "Scan"), 0);
    assert_int_equal(count(read, "GRU"), 1);
    assert_int_equal(count(read, "RNN"), 1);
    assert_int_equal(count(read, "LSTM"), 1);
    /* The products of all steps stand in the nodes; the last layer is the only one beside them. */
    assert_int_equal(count(read, "MatMul") + count(read, "Gemm"), 1);
    assert_true(is_attribute(find_node(read, "GRU"), "linear_before_reset", 1));
    assert_true(is_attribute(find_node(read, "LSTM"), "hidden_size", 6));
    assert_int_equal(find_node(read, "GRU")->n_input, 4);
    assert_int_equal(find_node(read, "LSTM")->n_input, 3);
    check_order(read);
    free_file(read);
    float before[6], after[6];
    answer(m, before);
    assert_ok(liana_model_load(context, liana__test_path("waves.onnx"), &again), &context->error);
    answer(again, after);
    for (int i = 0; i < 6; i++) assert_near(after[i], before[i], 1e-6, i);
    assert_int_equal(liana_model_info(again).num_parameters, liana_model_info(m).num_parameters);
    liana_model_destroy(again);
    liana_model_destroy(m);
}

/* The file's name decides, also for liana_model_save. */
static void test_saving_by_name(void **state)
{
    (void)state;
    liana_model *m = images();
    save(m, "one.onnx", NULL);
    assert_ok(liana_model_save(m, liana__test_path("two.onnx")), &context->error);
    char *one, *two;
    size_t size, other;
    assert_ok(liana__file_read(liana__test_path("one.onnx"), 1 << 24, &one, &size, &context->error), &context->error);
    assert_ok(liana__file_read(liana__test_path("two.onnx"), 1 << 24, &two, &other, &context->error), &context->error);
    assert_int_equal(size, other);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
    liana_model_destroy(m);
}

/* Large weights lie beside the file, each on a page of its own. */
static void test_weights_outside(void **state)
{
    (void)state;
    liana_model *m = begin("wide");
    liana_input(m, .shape = LIANA_INTS(40));
    liana_dense(m, .name = "a", .units = 30);
    liana_dense(m, .name = "b", .units = 20);
    assert_ok(liana__onnx_save(m, liana__test_path("wide.onnx"), &(liana_onnx_options){0}, 1000, &context->error),
              &context->error);
    onnx_model *read = read_file("wide.onnx");
    const Liana__Onnx__Tensor *a = find_weight(read, "a/kernel"), *b = find_weight(read, "b/kernel");
    assert_int_equal(a->data_location, LIANA__ONNX__TENSOR__DATA_LOCATION__EXTERNAL);
    assert_int_equal(a->n_external_data, 3);
    assert_string_equal(a->external_data[0]->value, "wide.onnx.data");
    assert_string_equal(b->external_data[1]->value, "8192"); /* 40 x 30 floats take two pages */
    assert_false(a->has_raw_data);
    assert_true(find_weight(read, "a/bias")->has_raw_data);
    char *bytes;
    size_t size;
    liana_array weights;
    assert_ok(liana__file_read(liana__test_path("wide.onnx.data"), 1 << 20, &bytes, &size, &context->error),
              &context->error);
    assert_ok(liana_model_get_weights(m, "a/kernel", &weights), &context->error);
    assert_memory_equal(bytes, weights.data, 40 * 30 * sizeof(float));
    free(bytes);
    free_file(read);
    liana_model_destroy(m);
}

/* ---- refusals ---- */

#define assert_unsaved(model, options, status, ...)                                                                 \
    assert_fails(liana_model_save_onnx((model), liana__test_path("no.onnx"), (options)), (status), &context->error, \
                 __VA_ARGS__)

/* A layer of a program's own, of an op that ONNX does not have. */
static liana_tensor count_call(liana_layer_call *call)
{
    liana_tensor bad = liana__build1(call->here, &liana__op_count_non_finite, call->inputs[0], NULL);
    return liana_op_add(call->inputs[0], liana_op_reduce_sum(liana_op_cast(bad, LIANA_F32), LIANA_ALL_AXES, false));
}

static const liana_layer_type counting = {LIANA_PART(LAYER, liana_layer_type, "Counting", "x + how many are no numbers",
                                                     .options = {NULL, sizeof(liana_plain_layer_options), 0, NULL}),
                                          .call = count_call};

static void test_what_onnx_cannot_say_is_named_at_once(void **state)
{
    (void)state;
    assert_ok(liana_register(context, &counting.part), &context->error);
    liana_model *m = begin("counting");
    liana_input(m, .shape = LIANA_INTS(4));
    liana_own_layer(m, "Counting", liana_plain_layer_options, .name = "first");
    liana_dense(m, .units = 3);
    liana_own_layer(m, "Counting", liana_plain_layer_options, .name = "second");
    assert_ok(liana_model_status(m), &context->error);
    assert_unsaved(m, NULL, LIANA_UNIMPLEMENTED, "opset 17", "2 parts", "layer 'first': the op 'count_non_finite'",
                   "layer 'second': the op 'count_non_finite'");
    liana_model_destroy(m);
    m = begin("stateful");
    liana_input(m, .shape = LIANA_INTS(4, 3), .batch_size = 2);
    liana_lstm(m, .name = "memory", .units = 2, .stateful = true);
    assert_ok(liana_model_status(m), &context->error);
    assert_unsaved(m, NULL, LIANA_UNIMPLEMENTED, "layer 'memory'", "stateful");
    liana_model_destroy(m);
    m = begin("texts");
    liana_input(m, .name = "review", .dtype = LIANA_STRING, .shape = LIANA_INTS(1));
    liana_hashing(m, .name = "buckets", .num_bins = 5);
    liana_embedding(m, .input_dim = 5, .output_dim = 2);
    assert_ok(liana_model_status(m), &context->error);
    assert_unsaved(m, NULL, LIANA_UNIMPLEMENTED, "'review'", "'buckets' (Hashing)");
    liana_model_destroy(m);
}

/* An op without a row is one of gradients, training or randomness, or one that passes make. */
static void test_each_op_has_a_row_or_a_reason(void **state)
{
    (void)state;
    static const char *const without[] = {
        "batch_norm_affine",
        "conv2d_affine",
        "depthwise_conv2d_affine",
        "conv2d_max_pool",
        "batch_norm_statistics",
        "batch_norm_training",
        "batch_norm_training_activation",
        "batch_norm_inference_activation",
        "sparse_softmax_cross_entropy",
        "count_non_finite",
        "in_top_k",
        "dropout",
        "random_uniform",
        "random_normal",
        "moving_average",
        "root_descent",
    };
    for (size_t i = 0; liana__ops[i]; i++) {
        const char *name = liana__ops[i]->name;
        const bool has_row = liana__onnx_find_op(liana__ops[i]) != NULL;
        bool has_reason = strstr(name, "_gradient") != NULL && !has_row;
        for (size_t k = 0; k < sizeof without / sizeof *without; k++) has_reason |= strcmp(name, without[k]) == 0;
        if (has_reason == has_row) {
            fail_msg("the op '%s' %s", name,
                     has_reason ? "has a row and stands in the test" : "has neither row nor reason");
        }
    }
}

/* The arithmetic of a file is float32. */
static void test_mixed_precision_is_left(void **state)
{
    (void)state;
    char *one, *two;
    size_t size, other;
    liana_model *m = images();
    save(m, "wide.onnx", NULL);
    assert_ok(liana__file_read(liana__test_path("wide.onnx"), 1 << 24, &one, &size, &context->error), &context->error);
    m->precision = LIANA_MIXED_BFLOAT16;
    save(m, "mixed.onnx", NULL);
    assert_ok(liana__file_read(liana__test_path("mixed.onnx"), 1 << 24, &two, &other, &context->error),
              &context->error);
    assert_int_equal(size, other);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
    liana_model_destroy(m);
}

static void test_options_are_checked(void **state)
{
    (void)state;
    liana_model *m = images();
    assert_unsaved(m, &(liana_onnx_options){.batch = -2}, LIANA_INVALID_ARGUMENT, "the batch is -2");
    assert_unsaved(m, &(liana_onnx_options){.pixels = (liana_onnx_pixels)7}, LIANA_INVALID_ARGUMENT, "pixels is 7");
    assert_fails(liana_model_save_onnx(m, liana__test_path("no/such/folder.onnx"), NULL), LIANA_NOT_FOUND,
                 &context->error, "folder.onnx");
    assert_false(liana__file_exists(liana__test_path("no.onnx")));
    liana_model_destroy(m);
    m = begin("numbers");
    liana_input(m, .name = "numbers", .shape = LIANA_INTS(4), .batch_size = 3);
    liana_dense(m, .units = 2);
    assert_unsaved(m, &(liana_onnx_options){.pixels = LIANA_ONNX_UINT8}, LIANA_INVALID_ARGUMENT, "no input of images");
    assert_unsaved(m, &(liana_onnx_options){.batch = 2}, LIANA_INVALID_ARGUMENT, "batch_size of 3");
    liana_model_destroy(m);
    m = begin("any");
    liana_input(m, .name = "sizes", .shape = LIANA_INTS(LIANA_ANY_SIZE, LIANA_ANY_SIZE, 3));
    liana_conv2d(m, .filters = 2, .kernel_size = 3);
    assert_unsaved(m, NULL, LIANA_INVALID_ARGUMENT, "'sizes'", "liana_model_set_input_shape");
    assert_ok(liana_model_set_input_shape(m, 0, liana_shape_of(1, 8, 9, 3)), &context->error);
    save(m, "chosen.onnx", NULL);
    liana_model_destroy(m);
    m = begin("empty");
    assert_unsaved(m, NULL, LIANA_INVALID_CONFIG, "");
    liana_model_destroy(m);
}

static void test_the_command(void **state)
{
    (void)state;
    liana_model *m = images();
    char from[512], to[512];
    snprintf(from, sizeof from, "%s", liana__test_path("saved"));
    snprintf(to, sizeof to, "%s", liana__test_path("by command.onnx"));
    assert_ok(liana_model_save(m, from), &context->error);
    liana_model_destroy(m);
    assert_code(liana__test_command("convert-model", from, to), 0);
    free_file(read_file("by command.onnx"));
    assert_code(liana__test_command("convert-model", from, to, "--batch", "2", "--pixels", "uint8"), 0);
    onnx_model *read = read_file("by command.onnx");
    assert_int_equal(read->graph->input[0]->type->tensor_type->shape->dim[0]->dim_value, 2);
    assert_int_equal(read->graph->input[0]->type->tensor_type->elem_type, LIANA__ONNX__TENSOR__DATA_TYPE__UINT8);
    free_file(read);
    assert_refused(liana__test_command("convert-model", from, to, "--pixels", "blue"), 2, "--pixels", "'blue'",
                   "uint8");
    assert_refused(liana__test_command("convert-model", from, to, "--batch", "0"), 2, "--batch", "'0'");
    assert_refused(liana__test_command("convert-model", from, liana__test_path("x.keras"), "--batch", "2"), 2, ".onnx");
    assert_refused(liana__test_command("convert-model", from, to, "--keras", "2"), 1, "Keras 2");
    assert_refused(liana__test_command("convert-model", from, "/no/such/folder/x.onnx"), 1, "x.onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_structure_of_a_file),
        cmocka_unit_test(test_kernels_are_turned),
        cmocka_unit_test(test_fixed_batch_and_pixels),
        cmocka_unit_test(test_sequences_take_any_batch),
        cmocka_unit_test(test_recurrent_layers),
        cmocka_unit_test(test_saving_by_name),
        cmocka_unit_test(test_weights_outside),
        cmocka_unit_test(test_what_onnx_cannot_say_is_named_at_once),
        cmocka_unit_test(test_each_op_has_a_row_or_a_reason),
        cmocka_unit_test(test_mixed_precision_is_left),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_the_command),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
