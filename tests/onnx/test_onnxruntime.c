/* ONNX files that liana writes, in onnxruntime: the samples of all ops, models of all layers, architectures. ONNX's
 * checker takes each file, and the outputs are those of liana, for several batches of a file that takes any.
 *
 *     test_onnxruntime NAME...      these architectures alone; "all": all of them (make check-onnx)
 *     LIANA_VOCABULARY='Conv.*'     the models of these layers alone
 *     LIANA_VOCABULARY_FOLDER=DIR   models that vocabulary.py made there, instead of new ones */
#include "harness/harness.h"

#include "base/file.h"
#include "base/random.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "harness/graph_run.h"
#include "harness/model_run.h"
#include "harness/peers.h"
#include "layers/model.h"
#include "models/models.h"
#include "models/preprocessing.h"
#include "onnx/export_model.h"
#include "onnx/op_table.h"
#include "ops/samples.h"

#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *cpu, *reference;
static liana__arena arena;
static const char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = liana__test_folder();
    return liana__test_open_devices(2, &context, &cpu, &reference);
}

static int tear_down(void **state)
{
    (void)state;
    liana__arena_free(&arena);
    return liana__test_close_devices(context, cpu, reference);
}

/* ---- a case: a file of JSON that onnxruntime_check.py reads ---- */

typedef struct writing {
    FILE *file;
    const char *name;
    size_t num_runs, num_arrays, num_files;
} writing;

static const char *in_folder(const char *name, const char *ending)
{
    const char *path = liana__arena_format(&arena, "%s/%s%s", folder, name, ending);
    assert_non_null(path);
    return path;
}

/* `most`: a map of ops of ONNX with the number of nodes that the file may have. NULL: any. */
static writing open_case(const char *name, double tolerance, const char *most)
{
    writing w = {.file = fopen(in_folder(name, ".case.json"), "w"), .name = name};
    assert_non_null(w.file);
    fprintf(w.file, "{\"name\": \"%s\", \"file\": \"%s.onnx\", \"tolerance\": %g, \"most\": %s, \"runs\": [", name,
            name, tolerance, most ? most : "{}");
    return w;
}

static void add_array(writing *w, const char *name, liana_dtype dtype, const liana_shape *shape, const void *data)
{
    const char *file = liana__arena_format(&arena, "%s.%zu.bin", w->name, w->num_files++);
    FILE *bytes = fopen(in_folder(file, ""), "wb");
    assert_non_null(bytes);
    const size_t size = (size_t)liana_shape_size(shape) * liana_dtype_size(dtype);
    assert_compare(fwrite(data, 1, size, bytes), ==, size);
    fclose(bytes);
    fprintf(w->file, "%s{\"name\": \"%s\", \"dtype\": \"%s\", \"file\": \"%s\", \"shape\": [",
            w->num_arrays++ ? ", " : "", name, liana_dtype_name(dtype), file);
    for (int i = 0; i < shape->rank; i++) fprintf(w->file, "%s%lld", i ? ", " : "", (long long)shape->dims[i]);
    fprintf(w->file, "]}");
}

static void open_run(writing *w, int64_t batch)
{
    fprintf(w->file, "%s\n  {\"batch\": %lld, \"inputs\": [", w->num_runs ? "," : "", (long long)batch);
    w->num_arrays = 0;
}

static void open_outputs(writing *w)
{
    fprintf(w->file, "], \"outputs\": [");
    w->num_arrays = 0;
}

static void close_run(writing *w)
{
    fprintf(w->file, "]}");
    w->num_runs++;
}

static void close_case(writing *w)
{
    fprintf(w->file, "]}\n");
    assert_int_equal(fclose(w->file), 0);
}

/* Runs onnxruntime_check.py on the cases whose names begin so. */
static void check_cases(const char *prefix)
{
    const char *peer = liana__test_peer("onnx");
    assert_non_null(peer);
    const char *python = liana__arena_format(&arena, "%s/bin/python", peer);
    liana__test_run_program((const char *const[]){python, "-B", "-W", "ignore",
                                                  LIANA_SOURCE_DIR "/tests/onnx/onnxruntime_check.py", folder, prefix,
                                                  NULL});
}

/* ---- ops ---- */

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};

/* numpy has no bf16. */
static bool has_bf16(const liana_graph *graph)
{
    for (size_t i = 1; i < graph->num_nodes; i++) {
        if (graph->nodes[i]->dtype == LIANA_BF16) return true;
    }
    return false;
}

static void write_sample(const liana__samples *op, size_t index)
{
    const liana__sample sample = liana__samples_at(op, index);
    const char *name = liana__arena_format(&arena, "op.%s.%zu", op->op->name, index);
    liana_graph *graph;
    liana__test_value inputs[64], outputs[1];
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_graph_output(graph, "result", liana__sample_build(&sample, graph, LIANA_F32));
    assert_ok(liana_graph_status(graph), &context->error);
    if (!has_bf16(graph)) {
        assert_ok(liana__onnx_save_graph(graph, in_folder(name, ".onnx"), &context->error), &context->error);
        liana__test_draw_inputs(graph, 12, inputs);
        liana__test_run(reference, graph, inputs, outputs);
        /* Kernels of f32 differ from the reference by as much (tests/ops/test_ops.c). Half floats are rounded to 11
         * bits, and by onnxruntime after each of several ops. */
        const double tolerance = outputs[0].dtype == LIANA_F16 ? 0x1p-9 : 2e-5;
        writing w = open_case(name, sample.tolerance > tolerance ? sample.tolerance : tolerance, NULL);
        open_run(&w, 0);
        for (size_t i = 0; i < graph->num_inputs; i++) {
            add_array(&w, graph->inputs[i]->name, inputs[i].dtype, &inputs[i].shape, inputs[i].data);
        }
        open_outputs(&w);
        add_array(&w, "result", outputs[0].dtype, &outputs[0].shape, outputs[0].data);
        close_run(&w);
        close_case(&w);
        liana__test_free_values(inputs, graph->num_inputs);
        liana__test_free_values(outputs, 1);
    }
    liana_graph_destroy(graph);
}

static void test_ops_give_the_results_of_the_reference(void **state)
{
    (void)state;
    if (!liana__test_peer("onnx")) skip();
    for (size_t i = 0; i < sizeof all_samples / sizeof *all_samples; i++) {
        if (!liana__onnx_find_op(all_samples[i]->op)) continue;
        for (size_t k = 0; k < all_samples[i]->count; k++) write_sample(all_samples[i], k);
    }
    check_cases("op.");
}

/* ---- models ---- */

enum { MOST_VALUES = 64 };

/* `batch` rows of an array: one after the other, and again from the first. */
static liana_array repeat(const liana_array *given, int64_t batch)
{
    const liana_shape *shape = &given->shape;
    const size_t each =
        (size_t)(liana_shape_size(shape) / shape->dims[0]) * liana_dtype_size((liana_dtype)given->dtype);
    char *data = liana__arena_allocate(&arena, each * (size_t)batch);
    liana_array array = *given;
    for (int64_t k = 0; k < batch; k++) {
        memcpy(data + (size_t)k * each, (const char *)given->data + (size_t)(k % shape->dims[0]) * each, each);
    }
    array.shape.dims[0] = batch;
    array.data = data;
    return array;
}

/* Runs the model on the CPU, and adds its outputs. */
static void add_outputs(writing *w, liana_model *model, const liana_array *inputs)
{
    const liana_model_facts facts = liana_model_info(model);
    const void *data[MOST_VALUES];
    liana_tensor given[MOST_VALUES], results[LIANA_MAX_MODEL_OUTPUTS];
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    for (size_t i = 0; i < facts.num_inputs; i++) {
        data[i] = inputs[i].data;
        given[i] = liana_graph_input(graph, inputs[i].name, (liana_dtype)inputs[i].dtype, inputs[i].shape);
    }
    liana_model_call(model, given, facts.num_inputs, &(liana_call_mode){0}, results, NULL);
    for (size_t i = 0; i < facts.num_outputs; i++) {
        liana_graph_output(graph, liana_model_output(model, i).name, results[i]);
    }
    assert_ok(liana_graph_status(graph), &context->error);
    float **outputs = liana__test_graph_run(cpu, graph, model, model->values, data);
    for (size_t i = 0; i < facts.num_outputs; i++) {
        const liana_shape shape = liana_tensor_shape(results[i]);
        add_array(w, liana_model_output(model, i).name, LIANA_F32, &shape, outputs[i]);
    }
    liana__test_free_arrays(outputs, facts.num_outputs);
    liana_graph_destroy(graph);
}

/* Writes the file, and runs of some batches of rows of `given`. */
static void write_model(liana_model *model, const char *name, const liana_onnx_options *options, double tolerance,
                        const char *most, const liana_array *given, const int64_t *batches, size_t num_batches)
{
    const size_t num_inputs = liana_model_info(model).num_inputs;
    const liana_status status = liana_model_save_onnx(model, in_folder(name, ".onnx"), options);
    if (status != LIANA_OK) print_message("%s:\n", name);
    assert_ok(status, &context->error);
    writing w = open_case(name, tolerance, most);
    for (size_t b = 0; b < num_batches; b++) {
        liana_array arrays[MOST_VALUES];
        open_run(&w, batches[b]);
        for (size_t i = 0; i < num_inputs; i++) {
            arrays[i] = repeat(&given[i], batches[b]);
            add_array(&w, arrays[i].name, (liana_dtype)arrays[i].dtype, &arrays[i].shape, arrays[i].data);
        }
        open_outputs(&w);
        add_outputs(&w, model, arrays);
        close_run(&w);
    }
    close_case(&w);
}

static const int64_t three_batches[] = {1, 3, 4};

/* Values of an input that differ from element to element: of floats -1 to 1, of others whole numbers from 0 on. */
static liana_array draw(const liana_port *port, int64_t batch, uint32_t number)
{
    liana_array array = {.name = port->name, .dtype = port->dtype, .shape = port->shape};
    array.shape.dims[0] = batch;
    const int64_t size = liana_shape_size(&array.shape);
    void *data = liana__arena_allocate(&arena, (size_t)size * 8);
    const liana__philox_key key = liana__philox_make_key(3, LIANA__STREAM_TEST, number);
    for (int64_t i = 0; i < size; i++) {
        uint32_t words[4];
        liana__philox(key, (const uint32_t[]){(uint32_t)i, 0, 0, 0}, words);
        const double unit = liana__uniform_double(words[0], words[1]);
        liana__store(data, (liana_dtype)port->dtype, i, port->dtype == LIANA_F32 ? 2 * unit - 1 : floor(unit * 7));
    }
    array.data = data;
    return array;
}

/* Weights as training leaves them: those that begin with zeros or ones are moved too. */
static void stir_weights(liana_model *model)
{
    assert_ok(liana__model_values_complete(model, &context->error), &context->error);
    for (size_t w = 0; w < model->num_weights; w++) {
        const liana__weight *weight = &model->weights[w];
        const liana__philox_key key = liana__philox_make_key(4, LIANA__STREAM_TEST, (uint32_t)w);
        const bool is_matrix = weight->shape.rank > 1;
        for (int64_t i = 0; i < liana_shape_size(&weight->shape) && !is_matrix; i++) {
            uint32_t words[4];
            liana__philox(key, (const uint32_t[]){(uint32_t)i, 0, 0, 0}, words);
            model->values[w][i] += (float)(0.4 * liana__uniform_double(words[0], words[1]) - 0.2);
        }
    }
    model->values_version++;
}

static void write_drawn(liana_model *model, const char *name, const liana_onnx_options *options, double tolerance,
                        const char *most, const int64_t *batches, size_t num_batches)
{
    liana_array given[MOST_VALUES];
    assert_ok(liana_model_status(model), &context->error);
    stir_weights(model);
    for (size_t i = 0; i < liana_model_info(model).num_inputs; i++) {
        const liana_port port = liana_model_input(model, i);
        given[i] = draw(&port, 4, (uint32_t)i);
    }
    write_model(model, name, options, tolerance, most, given, batches, num_batches);
}

static liana_model *begin(const char *name)
{
    liana_model *model;
    assert_ok(liana_model_create(context, name, &model), &context->error);
    return model;
}

static void test_several_inputs_and_outputs(void **state)
{
    (void)state;
    if (!liana__test_peer("onnx")) skip();
    liana_model *m = begin("houses");
    liana_layer words = liana_input(m, .name = "words", .shape = LIANA_INTS(6), .dtype = LIANA_S32);
    liana_layer age = liana_input(m, .name = "age", .shape = LIANA_INTS(1));
    words = liana_embedding(m, .input_dim = 10, .output_dim = 5, .mask_zero = true, .input = words);
    words = liana_lstm(m, .units = 4);
    liana_layer both = liana_concatenate(m, .inputs = {words, age});
    liana_layer hidden = liana_dropout(m, .rate = 0.5, .input = liana_gaussian_noise(m, .stddev = 1, .input = both));
    liana_layer class = liana_dense(m, .name = "class", .units = 5, .activation = "softmax", .input = hidden);
    liana_layer price = liana_dense(m, .name = "price", .units = 1, .input = both);
    /* A result that is two outputs, and an input that is one. */
    liana_model_outputs_at(LIANA_HERE, m, (const liana_layer[]){class, price, price, age}, 4,
                           (const char *const[]){NULL, NULL, "again", "same_age"});
    write_drawn(m, "model.houses", NULL, 1e-5, "{\"RandomNormal\": 0, \"Dropout\": 0}", three_batches, 3);
    const int64_t two = 2;
    write_drawn(m, "model.two_houses", &(liana_onnx_options){.batch = 2}, 1e-5, "{\"Shape\": 0}", &two, 1);
    liana_model_destroy(m);
    check_cases("model.");
}

/* A residual block as in ResNet: no transposes but the first; biases in the convolutions; weights in a file of their
 * own. */
static void add_residual_network(liana_model *m)
{
    liana_input(m, .name = "image", .shape = LIANA_INTS(17, 19, 3));
    liana_zero_padding2d(m, .padding = {1, 1});
    liana_layer x = liana_conv2d(m, .filters = 8, .kernel_size = 3, .strides = 2, .use_bias = true);
    liana_batch_normalization(m);
    x = liana_relu(m);
    liana_depthwise_conv2d(m, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .depth_multiplier = 1);
    liana_layer y = liana_conv2d(m, .filters = 8, .kernel_size = 1, .activation = "swish");
    liana_layer s = liana_global_average_pooling2d(m, .keepdims = true);
    s = liana_conv2d(m, .filters = 8, .kernel_size = 1, .activation = "sigmoid", .input = s);
    y = liana_multiply(m, .inputs = {y, s});
    x = liana_add(m, .inputs = {x, y});
    liana_max_pooling2d(m, .pool_size = 2, .padding = LIANA_PADDING_SAME);
    liana_up_sampling2d(m, .size = {2, 2});
    liana_conv2d_transpose(m, .filters = 6, .kernel_size = 3, .strides = 2);
    liana_global_average_pooling2d(m);
    liana_dense(m, .units = 5, .activation = "softmax");
}

static void test_convolutions_without_transposes(void **state)
{
    (void)state;
    if (!liana__test_peer("onnx")) skip();
    liana_model *m = begin("residual");
    add_residual_network(m);
    write_drawn(m, "plain.residual", NULL, 1e-5, "{\"Transpose\": 1, \"Conv\": 4, \"Add\": 1, \"Gemm\": 1}",
                three_batches, 3);
    liana_array image = draw(&(liana_port){"image", LIANA_F32, liana_shape_of(-1, 17, 19, 3)}, 3, 0);
    write_model(m, "plain.outside", NULL, 1e-5, NULL, &image, three_batches, 3);
    assert_ok(liana__onnx_save(m, in_folder("plain.outside", ".onnx"), &(liana_onnx_options){0}, 100, &context->error),
              &context->error);
    assert_true(liana__file_exists(in_folder("plain.outside", ".onnx.data")));
    liana_model_destroy(m);
    check_cases("plain.");
}

/* Pixels of 0 to 255, scaled in the file; liana gets them scaled. */
static void test_pixels(void **state)
{
    (void)state;
    if (!liana__test_peer("onnx")) skip();
    static const liana_scale scales[] = {LIANA_SCALE_ZERO_ONE, LIANA_SCALE_MINUS_ONE_ONE, LIANA_SCALE_NONE,
                                         LIANA_SCALE_CAFFE, LIANA_SCALE_TORCH};
    const liana_shape shape = liana_shape_of(2, 17, 19, 3);
    uint8_t pixels[2 * 17 * 19 * 3];
    float wide[sizeof pixels], scaled[sizeof pixels];
    for (size_t i = 0; i < sizeof pixels; i++) wide[i] = pixels[i] = (uint8_t)(i * 37 % 256);
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        liana_model *m = begin("pixels");
        add_residual_network(m);
        stir_weights(m);
        const liana_preprocessing known = {.scale = scales[s]};
        assert_ok(liana_model_set_preprocessing(m, &known), &context->error);
        memcpy(scaled, wide, sizeof wide);
        assert_ok(liana__preprocess_pixels(scales[s], 3, sizeof pixels / 3, scaled, &context->error), &context->error);
        const liana_array array = {.name = "image", .dtype = LIANA_F32, .shape = shape, .data = scaled};
        for (int kind = LIANA_ONNX_FLOAT32; kind <= LIANA_ONNX_UINT8; kind++) {
            const bool is_wide = kind == LIANA_ONNX_FLOAT32;
            const char *name = liana__arena_format(&arena, "pixels.%zu.%s", s, liana__onnx_pixels_names[kind]);
            const liana_onnx_options options = {.pixels = (liana_onnx_pixels)kind};
            assert_ok(liana_model_save_onnx(m, in_folder(name, ".onnx"), &options), &context->error);
            writing w = open_case(name, 2e-5, NULL);
            open_run(&w, 2);
            add_array(&w, "image", is_wide ? LIANA_F32 : LIANA_U8, &shape, is_wide ? (const void *)wide : pixels);
            open_outputs(&w);
            add_outputs(&w, m, &array);
            close_run(&w);
            close_case(&w);
        }
        liana_model_destroy(m);
    }
    check_cases("pixels.");
}

/* ---- architectures ---- */

/* Of -1..1 to 0..255. A network that scales pixels itself would take -1..1 for nearly equal ones, and its rounding
 * errors would grow with it. */
static float *to_pixels(const float *scaled, int64_t count)
{
    float *pixels = liana__arena_allocate(&arena, (size_t)count * sizeof *pixels);
    for (int64_t i = 0; i < count; i++) pixels[i] = 127.5F * (scaled[i] + 1);
    return pixels;
}

/* Branches of residual blocks add little, as they do in trained networks. In deep networks of drawn weights rounding
 * would decide the outputs otherwise: those that Keras computes of EfficientNetV2M change by 108% if the pixels change
 * by 1e-6. */
static void calm_branches(liana_model *m)
{
    for (size_t i = 0; i < m->num_nodes; i++) {
        if (m->layers[m->nodes[i].layer].type != &liana__layer_add) continue;
        for (size_t k = 0; k < m->nodes[i].num_inputs; k++) {
            const liana__layer_node *node = &m->nodes[m->nodes[i].inputs[k]];
            while (m->layers[node->layer].type == &liana__layer_dropout) node = &m->nodes[node->inputs[0]];
            const liana__layer *layer = &m->layers[node->layer];
            if (layer->type != &liana__layer_batch_normalization || layer->num_weights < 4) continue;
            const liana__weight *gamma = &m->weights[layer->first_weight];
            const int64_t size = liana_shape_size(&gamma->shape);
            for (int64_t c = 0; c < size; c++) m->values[layer->first_weight][c] *= 0.25F;
        }
    }
}

/* Small images, and a classifier of few classes; of layers alone that the network has in any case. */
static void write_architecture(const char *name)
{
    const liana__architecture *architecture = liana__architecture_find(name, NULL);
    if (!architecture) fail_msg("there is no architecture '%s'", name);
    liana__value *options = liana__value_map(&arena), *shape = liana__value_list(&arena);
    for (int i = 0; i < 3; i++) liana__value_add(&arena, shape, liana__value_int(&arena, i < 2 ? 96 : 3));
    liana__value_set(&arena, options, "input_shape", shape);
    liana__value_set(&arena, options, "classes", liana__value_int(&arena, 7));
    liana_model *m = begin(NULL);
    assert_ok(liana__architecture_add(m, LIANA_HERE, architecture, options, "model"), &context->error);
    assert_ok(liana_model_status(m), &context->error);
    bool is_plain = true, is_flattened = false, in_pixels = false;
    for (size_t i = 0; i < m->num_layers; i++) {
        const liana_layer_type *type = m->layers[i].type;
        is_plain &= type != &liana__layer_layer_normalization;
        is_flattened |= type == &liana__layer_flatten;
        in_pixels |= type == &liana__layer_rescaling || type == &liana__layer_normalization;
    }
    stir_weights(m);
    calm_branches(m);
    const liana_port port = liana_model_input(m, 0);
    liana_array images = draw(&port, 4, 0);
    if (in_pixels) images.data = to_pixels(images.data, liana_shape_size(&images.shape));
    /* One transpose, at the input; but LayerNormalization reads channels last, and so does what follows a Flatten.
     * Behind a hundred layers rounding errors have grown to some 1e-5 of the largest output. */
    write_model(m, liana__arena_format(&arena, "zoo.%s.small", name), NULL, 1e-4,
                !is_plain      ? NULL
                : is_flattened ? "{\"Transpose\": 2}"
                               : "{\"Transpose\": 1}",
                &images, three_batches, 2);
    liana_model_destroy(m);
    check_cases(liana__arena_format(&arena, "zoo.%s.", name));
    print_message("%s\n", name);
}

static void test_an_architecture(void **state)
{
    (void)state;
    if (!liana__test_peer("onnx")) skip();
    write_architecture("MobileNetV2");
}

static const char *const *wanted_architectures;

static void test_wanted_architectures(void **state)
{
    (void)state;
    if (!liana__test_peer("onnx")) skip();
    for (size_t i = 0; wanted_architectures[i] && strcmp(wanted_architectures[i], "all") != 0; i++) {
        write_architecture(wanted_architectures[i]);
    }
    for (size_t i = 0; strcmp(wanted_architectures[0], "all") == 0 && liana__architectures[i]; i++) {
        write_architecture(liana__architectures[i]->name);
    }
}

/* ---- all layers: the models that Keras is compared with ---- */

static const liana__value *of(const liana__value *map, const char *key)
{
    const liana__value *item = liana__value_get(map, key);
    if (!item) fail_msg("no '%s'", key);
    return item;
}

static liana_array read_input(const liana__value *map)
{
    const liana__value *dims = of(map, "shape"), *values = of(map, "values");
    const char *dtype = of(map, "dtype")->string;
    liana_array array = {.name = of(map, "name")->string, .dtype = LIANA_F32, .shape = {.rank = (int)dims->count}};
    if (strcmp(dtype, "object") == 0) array.dtype = LIANA_STRING;
    if (strcmp(dtype, "int32") == 0) array.dtype = LIANA_S32;
    for (size_t i = 0; i < dims->count; i++) array.shape.dims[i] = dims->items[i]->integer;
    void *data = liana__arena_allocate(&arena, (values->count + 1) * sizeof(double));
    for (size_t i = 0; i < values->count && array.dtype != LIANA_STRING; i++) {
        const liana__value *value = values->items[i];
        const double number = value->kind == LIANA__VALUE_STRING ? strtod(value->string, NULL)
                              : value->kind == LIANA__VALUE_INT  ? (double)value->integer
                                                                 : value->number;
        liana__store(data, (liana_dtype)array.dtype, (int64_t)i, number);
    }
    array.data = data;
    return array;
}

/* The tolerance of the comparison with Keras, which computes it from what rounding changes; at least that of one
 * layer. */
static double tolerance_of(const liana__value *root)
{
    double tolerance = 2e-5;
    const liana__value *runs = of(root, "runs");
    for (size_t i = 0; i < runs->count; i++) {
        const liana__value *outputs = of(runs->items[i], "outputs");
        for (size_t k = 0; k < outputs->count; k++) {
            const liana__value *given = liana__value_get(outputs->items[k], "tolerance");
            if (given && given->number > tolerance) tolerance = given->number;
        }
    }
    return tolerance;
}

/* Whether ONNX cannot say the model, with the reason that the message must give. */
static const char *refusal_of(const liana_model *model)
{
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        if (liana__model_input(model, i).texts) return "is computed on the host";
    }
    return liana__model_stateful_layer(model) ? "keeps states" : NULL;
}

static void write_layer(const char *from, const char *name, size_t *num_refused)
{
    liana__value *root;
    liana_model *model;
    liana_array inputs[MOST_VALUES];
    const char *path = liana__arena_format(&arena, "%s/%s", from, name);
    assert_ok(liana__json_read(liana__arena_format(&arena, "%s.case.json", path), &arena, &root, &context->error),
              &context->error);
    assert_ok(liana_model_load(context, liana__arena_format(&arena, "%s.keras", path), &model), &context->error);
    const liana__value *given = of(root, "inputs");
    const size_t count = liana_model_info(model).num_inputs;
    for (size_t i = 0; i < count; i++) {
        const liana_port port = liana_model_input(model, i);
        inputs[i] = read_input(given->items[i]);
        for (size_t k = 0; k < given->count; k++) {
            if (strcmp(of(given->items[k], "name")->string, port.name) == 0) inputs[i] = read_input(given->items[k]);
        }
        inputs[i].name = port.name;
        if (liana__model_input(model, i).texts) continue;
        assert_ok(liana_model_set_input_shape(model, i, inputs[i].shape), &context->error);
    }
    const char *reason = refusal_of(model), *to = in_folder("refused", ".onnx");
    if (reason) {
        assert_int_equal(liana_model_save_onnx(model, to, NULL), LIANA_UNIMPLEMENTED);
        assert_says(context->error.message, reason);
        assert_false(liana__file_exists(to));
        ++*num_refused;
    } else {
        const int64_t own = inputs[0].shape.dims[0], batches[] = {own, 1, 3};
        write_model(model, liana__arena_format(&arena, "layer.%s", name), NULL, tolerance_of(root), NULL, inputs,
                    batches, liana__model_batch_size(model) ? 1 : 3);
    }
    liana_model_destroy(model);
}

static void test_each_layer_of_keras(void **state)
{
    (void)state;
    const char *pattern = getenv("LIANA_VOCABULARY"), *kept = getenv("LIANA_VOCABULARY_FOLDER");
    if (!liana__test_peer("onnx") || !liana__test_peer("tensorflow")) skip();
    const char *from = kept ? kept : in_folder("vocabulary", "");
    if (!kept) {
        assert_ok(liana__folder_make(from, &context->error), &context->error);
        liana__test_run_keras("tests/train/model/keras_vocabulary/vocabulary.py",
                              (const char *const[]){"make", from, pattern ? pattern : ".*", "1", NULL});
    }
    liana__paths names;
    size_t count = 0, num_refused = 0;
    assert_ok(liana__folder_list(from, &arena, &names, &context->error), &context->error);
    for (size_t i = 0; i < names.count; i++) {
        char *end = strstr(names.items[i], ".case.json");
        if (!end) continue;
        *end = 0;
        write_layer(from, names.items[i], &num_refused);
        count++;
    }
    print_message("%zu models, %zu refused\n", count, num_refused);
    check_cases("layer.");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_give_the_results_of_the_reference),
        cmocka_unit_test(test_several_inputs_and_outputs),
        cmocka_unit_test(test_convolutions_without_transposes),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_an_architecture),
        cmocka_unit_test(test_each_layer_of_keras),
    };
    const struct CMUnitTest wanted[] = {cmocka_unit_test(test_wanted_architectures)};
    wanted_architectures = (const char *const *)argv + 1;
    return argc > 1 ? cmocka_run_group_tests(wanted, set_up, tear_down)
                    : cmocka_run_group_tests(tests, set_up, tear_down);
}
