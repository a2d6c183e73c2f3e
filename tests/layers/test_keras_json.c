/* Architectures that liana writes, loaded by Keras 3 (and by Keras 2, in its form): the same outputs from the same
 * weights. The files that each of them writes of the model again are read back (tests/layers/keras_compare.py). */
#include "harness/compare.h"
#include "harness/peers.h"

#include "base/file.h"
#include "base/random.h"
#include "formats/json.h"
#include "layers/activations.h"
#include "layers/model.h"

#include <liana/liana.h>
#include <string.h>

enum { BATCH = 3, MOST_INPUTS = 4, MOST_VALUES = 1 << 16 };

static liana_context *context;
static liana__arena arena;
static liana__error error;

static void done_at(liana_status status, int line)
{
    if (status != LIANA_OK) print_error("line %d: %s\n", line, liana_context_message(context));
    assert_int_equal(status, LIANA_OK);
}
#define done(status) done_at((status), __LINE__)

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* ---- models ---- */

static void build_images(liana_model *m)
{
    liana_layer image = liana_input(m, .shape = LIANA_INTS(13, 10, 3));
    liana_rescaling(m, .scale = 0.25, .offset = -0.5);
    liana_normalization(m);
    liana_conv2d(m, .filters = 6, .kernel_size = {3, 2}, .strides = {2, 1}, .padding = LIANA_PADDING_SAME, .groups = 3,
                 .activation = "relu", .kernel_initializer = "random_normal(mean=0.1, stddev=0.2)",
                 .bias_initializer = "constant(0.25)", .kernel_regularizer = "l2(0.01)",
                 .activity_regularizer = "l1_l2(l1=0.01, l2=0.002)",
                 .kernel_constraint = "max_norm(max_value=2, axis=[0, 1, 2])", .bias_constraint = "non_neg");
    liana_conv2d(m, .filters = 4, .kernel_size = {2, 3}, .dilation_rate = {1, 2}, .use_bias = false,
                 .kernel_regularizer = "l1(0.5)", .kernel_constraint = "unit_norm");
    liana_batch_normalization(m, .momentum = 0.9, .epsilon = 1e-5, .scale = false);
    liana_depthwise_conv2d(m, .kernel_size = {3, 2}, .strides = 1, .padding = LIANA_PADDING_SAME, .depth_multiplier = 2,
                           .activation = "sigmoid", .depthwise_regularizer = "l2");
    liana_separable_conv2d(m, .filters = 7, .kernel_size = {2, 1}, .padding = LIANA_PADDING_SAME, .depth_multiplier = 2,
                           .pointwise_initializer = "he_normal");
    liana_batch_normalization(m, .center = false, .trainable = false, .gamma_initializer = "random_uniform");
    liana_relu(m, .max_value = 1.5, .negative_slope = 0.125, .threshold = 0.25);
    liana_dropout(m, .rate = 0.2, .noise_shape = LIANA_INTS(-1, 1, 1, -1));
    liana_zero_padding2d(m, .padding = LIANA_INTS(1, 0, 2, 3));
    liana_max_pooling2d(m, .pool_size = {3, 2}, .strides = {2, 3}, .padding = LIANA_PADDING_SAME);
    liana_layer small = liana_average_pooling2d(m, .pool_size = 2, .strides = 1);
    liana_layer a = liana_global_average_pooling2d(m, .keepdims = true, .input = small);
    liana_layer b = liana_global_max_pooling2d(m, .keepdims = true, .input = small);
    liana_layer both = liana_multiply(m, .inputs = {a, b});
    liana_activity_regularization(m, .l1 = 0.1, .l2 = 0.2);
    liana_layer flat = liana_flatten(m);
    liana_layer more = liana_global_average_pooling2d(m, .input = image);
    liana_concatenate(m, .inputs = {flat, more});
    liana_dense(m, .units = 12, .activation = "tanh", .kernel_initializer = "variance_scaling(scale=2.0)");
    liana_layer rows = liana_reshape(m, .target_shape = LIANA_INTS(3, -1));
    liana_layer mean = liana_global_average_pooling1d(m, .input = rows);
    liana_layer most = liana_global_max_pooling1d(m, .keepdims = true, .input = rows);
    most = liana_flatten(m, .input = most);
    liana_layer sum = liana_add(m, .inputs = {mean, most, mean});
    liana_layer wide = liana_softmax(m, .axis = 1, .input = rows);
    liana_model_outputs(m, sum, wide, both);
}

static void build_sequences(liana_model *m)
{
    liana_layer steps = liana_input(m, .shape = LIANA_INTS(12, 4)), a, b, c, d;
    liana_conv1d(m, .filters = 6, .kernel_size = 3, .padding = LIANA_PADDING_CAUSAL, .dilation_rate = 2, .groups = 2,
                 .activation = "relu", .kernel_regularizer = "l2(0.01)");
    liana_zero_padding1d(m, .padding = LIANA_INTS(1, 2));
    liana_depthwise_conv1d(m, .kernel_size = 2, .depth_multiplier = 2, .depthwise_constraint = "max_norm");
    a = liana_max_pooling1d(m, .pool_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    liana_separable_conv1d(m, .filters = 3, .kernel_size = 4, .strides = 2, .use_bias = false, .input = steps);
    b = liana_up_sampling1d(m, .size = 3);
    liana_conv1d_transpose(m, .filters = 2, .kernel_size = 3, .strides = 3, .output_padding = LIANA_INTS(1),
                           .input = steps);
    c = liana_cropping1d(m, .cropping = LIANA_INTS(2, 3));
    d = liana_average_pooling1d(m, .pool_size = 3, .strides = 1, .input = steps);
    liana_model_outputs(m, a, b, c, d);
}

static void build_enlarged(liana_model *m)
{
    liana_layer image = liana_input(m, .shape = LIANA_INTS(5, 4, 3)), a, b, c;
    liana_conv2d_transpose(m, .filters = 2, .kernel_size = {3, 2}, .strides = {2, 1}, .padding = LIANA_PADDING_SAME,
                           .activation = "tanh");
    a = liana_cropping2d(m, .cropping = LIANA_INTS(1, 0));
    b = liana_up_sampling2d(m, .size = {3, 2}, .interpolation = LIANA_BICUBIC, .input = image);
    c = liana_conv2d_transpose(m, .filters = 2, .kernel_size = 2, .strides = 3, .output_padding = LIANA_INTS(2, 0),
                               .input = image);
    liana_model_outputs(m, a, b, c);
}

static void build_volumes(liana_model *m)
{
    liana_layer volume = liana_input(m, .shape = LIANA_INTS(5, 4, 6, 2)), a, b;
    liana_conv3d(m, .filters = 4, .kernel_size = {2, 1, 3}, .strides = {2, 1, 1}, .padding = LIANA_PADDING_SAME,
                 .groups = 2, .activation = "relu");
    liana_max_pooling3d(m, .pool_size = {1, 2, 2});
    a = liana_conv3d_transpose(m, .filters = 2, .kernel_size = 2, .strides = {1, 2, 1});
    liana_zero_padding3d(m, .padding = LIANA_INTS(0, 1, 2), .input = volume);
    liana_average_pooling3d(m, .pool_size = 3, .strides = 2);
    liana_up_sampling3d(m, .size = {2, 1, 3});
    b = liana_cropping3d(m, .cropping = LIANA_INTS(1, 0, 0, 1, 2, 2));
    liana_layer most = liana_global_max_pooling3d(m, .input = volume);
    liana_layer mean = liana_global_average_pooling3d(m, .keepdims = true, .input = volume);
    liana_model_outputs(m, a, b, most, mean);
}

static void build_adaptive(liana_model *m)
{
    liana_layer volume = liana_input(m, .shape = LIANA_INTS(5, 4, 6, 2)), a, b, c;
    liana_adaptive_max_pooling3d(m, .output_size = {3, 2, 4});
    a = liana_adaptive_average_pooling3d(m, .output_size = 2);
    liana_reshape(m, .target_shape = LIANA_INTS(20, 6, 2), .input = volume);
    liana_adaptive_max_pooling2d(m, .output_size = {7, 4});
    b = liana_adaptive_average_pooling2d(m, .output_size = {3, 2});
    liana_reshape(m, .target_shape = LIANA_INTS(60, 4), .input = volume);
    liana_adaptive_max_pooling1d(m, .output_size = 7);
    c = liana_adaptive_average_pooling1d(m, .output_size = 3);
    liana_model_outputs(m, a, b, c);
}

/* All but the one that Keras 3 does not have. */
static void build_activations(liana_model *m)
{
    liana_layer x = liana_input(m, .shape = LIANA_INTS(10)), joined = x;
    for (size_t i = 0; liana__activation_kind.builtin[i]; i++) {
        const char *name = liana__activation_kind.builtin[i]->name;
        if (strcmp(name, LIANA__HARD_SIGMOID_KERAS2) == 0 || strcmp(name, "threshold") == 0 ||
            strcmp(name, "sparsemax_projection") == 0)
            continue;
        liana_layer own = liana_activation(m, .activation = name, .input = x);
        joined = liana_concatenate(m, .inputs = {joined, own});
    }
}

/* TensorFlow.js and Keras 2 have another hard_sigmoid. */
static void build_old_activation(liana_model *m)
{
    liana_input(m, .shape = LIANA_INTS(9));
    liana_dense(m, .units = 4, .activation = "hard_sigmoid_keras2");
}

static void build_ids(liana_model *m)
{
    liana_layer words = liana_input(m, .name = "words", .shape = LIANA_INTS(5), .dtype = LIANA_S32);
    liana_layer kind = liana_input(m, .name = "kind", .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    liana_layer one = liana_input(m, .name = "one", .shape = LIANA_INTS(2));
    liana_layer mean = liana_embedding(m, .input_dim = 8, .output_dim = 3, .mask_zero = true, .input = words,
                                       .embeddings_regularizer = "l2(0.5)", .embeddings_constraint = "unit_norm");
    mean = liana_global_average_pooling1d(m, .input = mean);
    liana_layer counts = liana_category_encoding(m, .num_tokens = 8, .output_mode = LIANA_COUNT, .input = words);
    liana_layer hot = liana_category_encoding(m, .num_tokens = 8, .output_mode = LIANA_ONE_HOT, .input = kind);
    liana_layer some = liana_category_encoding(m, .num_tokens = 8, .input = words);
    liana_concatenate(m, .inputs = {mean, counts, hot, some, one});
    liana_dense(m, .units = 2);
}

/* Every initialiser, regulariser and constraint by its name alone. */
static void build_rules(liana_model *m)
{
    liana_input(m, .shape = LIANA_INTS(4));
    for (size_t i = 0; liana__initializer_kind.builtin[i]; i++) {
        const char *name = liana__initializer_kind.builtin[i]->name;
        if (strcmp(name, "stft") != 0) liana_dense(m, .units = 4, .kernel_initializer = name);
    }
    for (size_t i = 0; liana__regularizer_kind.builtin[i]; i++) {
        liana_dense(m, .units = 4, .kernel_regularizer = liana__regularizer_kind.builtin[i]->name);
    }
    for (size_t i = 0; liana__constraint_kind.builtin[i]; i++) {
        liana_dense(m, .units = 4, .kernel_constraint = liana__constraint_kind.builtin[i]->name);
    }
}

/* A Sequential that is called twice; a Functional, which holds a model and has two outputs whose names are not in their
 * order; and a layer that is called three times. */
static void build_nested(liana_model *m)
{
    liana_model *row = NULL, *fork = NULL;
    done(liana_model_create(context, "row", &row));
    liana_input(row, .shape = LIANA_INTS(6));
    liana_dense(row, .units = 6, .activation = "relu");
    liana_batch_normalization(row);
    done(liana_model_create(context, "fork", &fork));
    liana_layer x = liana_input(fork, .shape = LIANA_INTS(6)), y = liana_input(fork, .shape = LIANA_INTS(4));
    liana_layer left = liana_nested(fork, .nested = row, .inputs = {x});
    left = liana_dense(fork, .units = 5, .name = "left", .input = left);
    liana_layer right = liana_dense(fork, .units = 3, .name = "right", .input = y);
    const char *const names[] = {"wide", "narrow"};
    liana_model_outputs_at(LIANA_HERE, fork, (const liana_layer[]){left, right}, 2, names);

    liana_layer a = liana_input(m, .name = "a", .shape = LIANA_INTS(6));
    liana_layer b = liana_input(m, .name = "b", .shape = LIANA_INTS(6));
    liana_layer c = liana_input(m, .name = "c", .shape = LIANA_INTS(4));
    liana_layer first = liana_nested(m, .nested = row, .inputs = {b});
    liana_layer second = liana_nested(m, .nested = row, .inputs = {a});
    liana_layer once = liana_dense(m, .units = 6, .name = "shared", .input = first);
    liana_layer shared = liana_layer_reuse(once, liana_layer_reuse(once, second));
    liana_layer forked = liana_nested(m, .nested = fork, .inputs = {shared, c});
    liana_layer again = liana_nested(m, .nested = fork, .inputs = {first, c});
    liana_layer joined = liana_concatenate(m, .inputs = {forked, once, liana_nested_output(again, 1)});
    const char *const outputs[] = {"joined", "z", "narrow"};
    liana_model_outputs_at(LIANA_HERE, m, (const liana_layer[]){joined, again, liana_nested_output(forked, 1)}, 3,
                           outputs);
    liana_model_destroy(row);
    liana_model_destroy(fork);
}

/* Nested models whose outputs have no names of their own are outputs of the model. */
static void build_ends(liana_model *m)
{
    liana_model *inner = NULL;
    done(liana_model_create(context, "inner", &inner));
    liana_layer x = liana_input(inner, .shape = LIANA_INTS(6));
    liana_layer p = liana_dense(inner, .units = 2, .input = x), q = liana_dense(inner, .units = 6, .input = x);
    liana_model_outputs(inner, p, q);
    liana_layer a = liana_input(m, .shape = LIANA_INTS(6));
    liana_layer first = liana_nested(m, .nested = inner, .inputs = {a});
    liana_layer second = liana_nested(m, .nested = inner, .inputs = {liana_nested_output(first, 1)});
    liana_model_outputs(m, second, liana_nested_output(second, 1), first);
    liana_model_destroy(inner);
}

/* A sequence whose output has a name. */
static void build_named_end(liana_model *m)
{
    liana_input(m, .shape = LIANA_INTS(6));
    liana_layer end = liana_dense(m, .units = 3);
    const char *const name = "scores";
    liana_model_outputs_at(LIANA_HERE, m, &end, 1, &name);
}

/* Keras 3 takes no '/' in a name: DenseNet of Keras 2 has "conv1/conv". */
static void build_slashes(liana_model *m)
{
    liana_layer x = liana_input(m, .name = "in/put", .shape = LIANA_INTS(6));
    liana_layer first = liana_dense(m, .units = 6, .name = "block/dense", .input = x);
    liana_layer again = liana_layer_reuse(first, first);
    liana_add(m, .inputs = {again, x}, .name = "block/add");
    liana_dense(m, .units = 2, .name = "last");
}

/* ---- the input of keras_compare.py ---- */

static void draw(float *values, int64_t count, const char *name, double low, double high)
{
    uint32_t salt = 0;
    for (const char *c = name; *c; c++) salt = salt * 31 + (unsigned char)*c;
    liana__philox_key key = liana__philox_make_key(7, LIANA__STREAM_TEST, salt);
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        liana__philox(key, (const uint32_t[]){(uint32_t)i, 0, 0, 0}, words);
        values[i] = (float)(low + (high - low) * liana__uniform_double(words[0], words[1]));
    }
}

static void draw_weights(liana_model *m)
{
    static float values[MOST_VALUES];
    for (size_t i = 0; liana_model_weight(m, i).name; i++) {
        liana_weight weight = liana_model_weight(m, i);
        const bool positive = strstr(weight.name, "variance") || strstr(weight.name, "gamma");
        assert_compare(liana_shape_size(&weight.shape), <=, MOST_VALUES);
        draw(values, liana_shape_size(&weight.shape), weight.name, positive ? 0.5 : -0.7, positive ? 1.5 : 0.7);
        done(liana_model_set_weights(m, &(liana_array){weight.name, LIANA_F32, weight.shape, values}, 1));
    }
}

typedef struct example_batch {
    liana_array arrays[MOST_INPUTS];
    size_t count;
    char bytes[MOST_INPUTS][MOST_VALUES];
} example_batch;

static example_batch given;

static void draw_inputs(const liana_model *m)
{
    for (given.count = 0; liana_model_input(m, given.count).name; given.count++) {
        liana_port port = liana_model_input(m, given.count);
        port.shape.dims[0] = BATCH;
        const int64_t count = liana_shape_size(&port.shape);
        assert_compare(count * 4, <=, MOST_VALUES);
        float *floats = (float *)(void *)given.bytes[given.count];
        draw(floats, count, port.name, -3, 3);
        for (int64_t i = 0; port.dtype == LIANA_S32 && i < count; i++) {
            int32_t id = (int32_t)((floats[i] + 3) / 6 * 7.999f);
            memcpy(floats + i, &id, sizeof id);
        }
        given.arrays[given.count] = (liana_array){port.name, (int)port.dtype, port.shape, floats};
    }
}

static int64_t count_outputs(const liana_model *m)
{
    int64_t count = 0;
    for (size_t i = 0; liana_model_output(m, i).name; i++) {
        liana_shape shape = liana_model_output(m, i).shape;
        shape.dims[0] = 1;
        count += liana_shape_size(&shape);
    }
    return count;
}

static liana__value *text(const char *string)
{
    return liana__value_string(&arena, string);
}

static liana__value *list_shape(const liana_shape *shape)
{
    liana__value *dims = liana__value_list(&arena);
    for (int i = 0; i < shape->rank; i++) liana__value_add(&arena, dims, liana__value_int(&arena, shape->dims[i]));
    return dims;
}

/* {"name", "shape", "dtype"}; the numbers follow each other in data.bin. */
static void add_tensor(liana__value *list, liana__text *data, const liana_array *array)
{
    liana__value *map = liana__value_map(&arena);
    liana__value_set(&arena, map, "name", text(array->name));
    liana__value_set(&arena, map, "shape", list_shape(&array->shape));
    liana__value_set(&arena, map, "dtype", text(array->dtype == LIANA_S32 ? "int32" : "float32"));
    liana__text_add_bytes(data, array->data, (size_t)liana_shape_size(&array->shape) * 4);
    liana__value_add(&arena, list, map);
}

static void write_json(const char *folder, const char *name, const liana__value *value)
{
    assert_ok(liana__json_write(liana__path_join(&arena, folder, name), value, &error), &error);
}

static void write_folder(const char *folder, liana_model *m, liana__keras_form form, const float *outputs)
{
    assert_ok(liana__folder_make(folder, &error), &error);
    assert_ok(liana__model_check_keras(m, form, &error), &error);
    liana__value *manifest = liana__value_map(&arena), *inputs = liana__value_list(&arena);
    liana__value *weights = liana__value_list(&arena), *ends = liana__value_list(&arena);
    liana__text data = {0};
    for (size_t i = 0; i < given.count; i++) add_tensor(inputs, &data, &given.arrays[i]);
    for (size_t i = 0; liana_model_weight(m, i).name; i++) {
        liana_array array;
        const char *name = liana_model_weight(m, i).name;
        done(liana_model_get_weights(m, name, &array));
        array.name = name;
        add_tensor(weights, &data, &array);
    }
    const liana_shape all = liana_shape_of(BATCH, count_outputs(m));
    for (size_t i = 0; liana_model_output(m, i).name; i++) {
        liana_port port = liana_model_output(m, i);
        liana__value *map = liana__value_map(&arena);
        liana__value_set(&arena, map, "name", text(port.name));
        liana__value_set(&arena, map, "shape", list_shape(&port.shape));
        liana__value_add(&arena, ends, map);
    }
    add_tensor(liana__value_list(&arena), &data, &(liana_array){"outputs", LIANA_F32, all, outputs});
    liana__value_set(&arena, manifest, "inputs", inputs);
    liana__value_set(&arena, manifest, "weights", weights);
    liana__value_set(&arena, manifest, "outputs", ends);
    write_json(folder, "manifest.json", manifest);
    write_json(folder, "model.json", liana__model_to_keras(m, form, &arena));
    assert_ok(liana__file_replace(liana__path_join(&arena, folder, "data.bin"), data.data, data.length, &error),
              &error);
    liana__text_free(&data);
}

/* A weight by its name here, or by that of Keras: "block_dense/kernel" for "block/dense/kernel". */
static void copy_weight(liana_model *copy, const char *name, liana_array array)
{
    char keras[256];
    snprintf(keras, sizeof keras, "%s", name);
    for (char *c = keras, *last = strrchr(keras, '/'); c < last; c++) {
        if (*c == '/') *c = '_';
    }
    array.name = liana__model_find_weight(copy, name) >= 0 ? name : keras;
    done(liana_model_set_weights(copy, &array, 1));
}

/* Whether a model from a file computes the same, to the bit, with the weights of `m` by name. */
static void check_file(const char *path, liana_model *m, const float *expected)
{
    liana_model *copy;
    static float outputs[MOST_VALUES];
    done(liana_model_load_architecture(context, path, &copy));
    for (size_t i = 0; liana_model_weight(m, i).name; i++) {
        liana_array array;
        const char *name = liana_model_weight(m, i).name;
        done(liana_model_get_weights(m, name, &array));
        copy_weight(copy, name, array);
        assert_int_equal(liana_model_weight(copy, i).trainable, liana_model_weight(m, i).trainable);
    }
    assert_int_equal(count_outputs(copy), count_outputs(m));
    for (size_t i = 0; liana_model_output(m, i).name; i++) {
        assert_string_equal(liana_model_output(copy, i).name, liana_model_output(m, i).name);
    }
    for (size_t i = 0; i < given.count; i++) given.arrays[i].name = liana_model_input(copy, i).name;
    done(liana_predict_on_batch(copy, given.arrays, given.count, outputs));
    assert_memory_equal(outputs, expected, (size_t)(BATCH * count_outputs(m)) * sizeof *outputs);
    liana_model_destroy(copy);
}

/* ---- cases ---- */

static const struct {
    const char *name;
    void (*build)(liana_model *m);
    bool of_keras2, of_keras3; /* whether the form can say it */
} cases[] = {
    {"images", build_images, true, true},
    {"sequences", build_sequences, true, true},
    {"enlarged", build_enlarged, true, true},
    {"volumes", build_volumes, true, true},
    {"adaptive", build_adaptive, false, true},
    {"activations", build_activations, false, true},
    {"old_activation", build_old_activation, true, false},
    {"ids", build_ids, true, true},
    {"named_end", build_named_end, false, true},
    {"slashes", build_slashes, true, true},
    {"rules", build_rules, true, true},
    {"nested", build_nested, false, true},
    {"ends", build_ends, true, true},
};
enum { NUM_CASES = sizeof cases / sizeof *cases };

static void run_case(size_t index, const char *folder, liana__keras_form form, const char *kind)
{
    liana_model *m;
    static float outputs[MOST_VALUES];
    done(liana_model_create(context, cases[index].name, &m));
    cases[index].build(m);
    done(liana_model_status(m));
    draw_weights(m);
    draw_inputs(m);
    assert_compare(count_outputs(m) * BATCH, <=, MOST_VALUES);
    done(liana_predict_on_batch(m, given.arrays, given.count, outputs));
    if (!kind) write_folder(folder, m, form, outputs);
    check_file(liana__path_join(&arena, folder, kind ? kind : "model.json"), m, outputs);
    liana_model_destroy(m);
}

/* liana reads its own files back, in both forms. */
static void test_what_is_written_is_read(void **state)
{
    (void)state;
    liana__test_folder();
    for (size_t i = 0; i < NUM_CASES; i++) {
        const char *folder = liana__arena_string(&arena, liana__test_path(cases[i].name));
        if (cases[i].of_keras2) run_case(i, folder, LIANA__KERAS2, NULL);
        if (cases[i].of_keras3) run_case(i, folder, LIANA__KERAS3, NULL);
    }
}

/* `files`: those that Keras writes of the model again. */
static void compare(const char *module, liana__keras_form form, const char *const *files)
{
    const char *arguments[NUM_CASES + 2] = {module}, **folders = arguments + 1;
    size_t used[NUM_CASES], count = 0;
    if (!liana__test_peer("tensorflow")) skip();
    liana__test_folder();
    for (size_t i = 0; i < NUM_CASES; i++) {
        if (!(form == LIANA__KERAS3 ? cases[i].of_keras3 : cases[i].of_keras2)) continue;
        folders[count] = liana__arena_string(&arena, liana__test_path(cases[i].name));
        run_case(i, folders[count], form, NULL);
        used[count++] = i;
    }
    liana__test_run_keras("tests/layers/keras_compare.py", arguments);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; files[k]; k++) run_case(used[i], folders[i], form, files[k]);
    }
}

static void test_keras3(void **state)
{
    (void)state;
    compare("keras", LIANA__KERAS3, (const char *const[]){"again.json", "hdf5.json", "archive.json", NULL});
}

static void test_keras2(void **state)
{
    (void)state;
    compare("tf_keras", LIANA__KERAS2, (const char *const[]){"again.json", "hdf5.json", "archive.json", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_written_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keras3, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keras2, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("keras_json", tests, NULL, NULL);
}
