/* Training on data of any kind is Keras's arithmetic. Seven small models begin with the same weights as in Keras and
 * see the same batches in the same order; the losses of all updates, the results of all epochs and the last weights
 * must be those that Keras gave (tests/samples/keras_tasks.py). */
#include "harness/keras_lists.h"
#include "harness/tiny_fit.h"

#include "base/text.h"
#include "formats/image.h"
#include "formats/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 18, BATCH = 4, EPOCHS = 20, UPDATES = 100, SIDE = 6, MOST_ARRAYS = 5 };

/* Keras's results. */
static liana__keras_lists samples;

static int read_samples(void **state)
{
    (void)state;
    liana__keras_lists_open(&samples, "keras_tasks.json", 1e-5);
    return 0;
}

static int free_samples(void **state)
{
    (void)state;
    liana__keras_lists_close(&samples);
    return 0;
}

static int class_of(const char *name, int count, int index)
{
    return liana__keras_draw(name, index) % count;
}

/* ---- tasks ---- */

typedef struct keras_task {
    const char *name;
    void (*build)(liana_model *model);
    liana_fit_options options;
    size_t num_arrays;
    liana_array arrays[MOST_ARRAYS];
} keras_task;

typedef union values {
    float f32[EXAMPLES * SIDE * SIDE * 3];
    int32_t s32[EXAMPLES * SIDE * SIDE * 3];
    uint8_t u8[EXAMPLES * SIDE * SIDE * 3];
} values;
static values memory[MOST_ARRAYS];

/* Adds an array of all examples, whose values are to be filled in. */
static values *add(keras_task *own, const char *name, int dtype, liana_shape shape)
{
    values *all = &memory[own->num_arrays];
    for (int i = shape.rank++; i > 0; i--) shape.dims[i] = shape.dims[i - 1];
    shape.dims[0] = EXAMPLES;
    own->arrays[own->num_arrays++] = (liana_array){name, dtype, shape, all};
    return all;
}

static void build_line(liana_model *model)
{
    liana_input(model, .name = "x", .shape = LIANA_INTS(3));
    liana_dense(model, .name = "y", .units = 1);
}

static keras_task line(void)
{
    keras_task own = {"line", build_line, {.loss = "mse", .metrics = {"mae"}}, 0, {{0}}};
    float *x = add(&own, "x", LIANA_F32, liana_shape_of(3))->f32;
    float *y = add(&own, "y", LIANA_F32, liana_shape_of(1))->f32;
    for (int i = 0; i < 3 * EXAMPLES; i++) x[i] = liana__keras_number("x", i);
    for (int i = 0; i < EXAMPLES; i++) y[i] = 2 * x[3 * i] - x[3 * i + 1] + 0.5f * x[3 * i + 2] + 0.25f;
    return own;
}

/* Numbers and two kinds of categories; examples of different weight. */
static void build_table(liana_model *model)
{
    liana_layer size = liana_input(model, .name = "size", .shape = LIANA_INTS(2));
    liana_layer city = liana_input(model, .name = "city", .dtype = LIANA_S32);
    liana_layer kind = liana_input(model, .name = "kind", .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    size = liana_normalization(model, .name = "scaled", .input = size);
    city = liana_embedding(model, .name = "place", .input_dim = 5, .output_dim = 3, .input = city);
    kind = liana_category_encoding(model, .name = "hot", .num_tokens = 4, .output_mode = LIANA_ONE_HOT, .input = kind);
    liana_concatenate(model, .name = "both", .inputs = {size, city, kind});
    liana_dense(model, .name = "hidden", .units = 6, .activation = "relu");
    liana_dense(model, .name = "offer", .units = 3, .activation = "softmax");
}

static keras_task table(void)
{
    keras_task own = {"table",
                      build_table,
                      {.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}, .example_weight = "weight"},
                      0,
                      {{0}}};
    float *size = add(&own, "size", LIANA_F32, liana_shape_of(2))->f32;
    int32_t *city = add(&own, "city", LIANA_S32, LIANA_SCALAR)->s32;
    int32_t *kind = add(&own, "kind", LIANA_S32, liana_shape_of(1))->s32;
    int32_t *offer = add(&own, "offer", LIANA_S32, LIANA_SCALAR)->s32;
    float *weight = add(&own, "weight", LIANA_F32, LIANA_SCALAR)->f32;
    for (int i = 0; i < EXAMPLES; i++) {
        size[2 * i] = 40 + 100 * liana__keras_number("area", i);
        size[2 * i + 1] = 3 + liana__keras_number("rooms", i);
        city[i] = class_of("city", 5, i);
        kind[i] = class_of("kind", 4, i);
        offer[i] = class_of("offer", 3, i);
        weight[i] = 1 + liana__keras_number("weight", i);
    }
    return own;
}

/* 1 to 7 ids, padded with 0; `good` (NULL: not wanted): whether the id 3 is there. */
static void fill_words(int32_t *words, float *good)
{
    for (int k = 0; k < 7 * EXAMPLES; k++) {
        words[k] = k % 7 < 1 + class_of("length", 7, k / 7) ? 1 + class_of("words", 8, k) : 0;
        if (good) good[k / 7] = (k % 7 && good[k / 7] > 0) || words[k] == 3;
    }
}

static void build_sequences(liana_model *model)
{
    liana_input(model, .name = "words", .shape = LIANA_INTS(7), .dtype = LIANA_S32);
    liana_embedding(model, .name = "rows", .input_dim = 9, .output_dim = 4, .mask_zero = true);
    liana_global_average_pooling1d(model, .name = "mean");
    liana_dense(model, .name = "hidden", .units = 5, .activation = "tanh");
    liana_dense(model, .name = "good", .units = 1, .activation = "sigmoid");
}

static keras_task sequences(void)
{
    keras_task own = {
        "sequences", build_sequences, {.loss = "binary_crossentropy", .metrics = {"binary_accuracy"}}, 0, {{0}}};
    int32_t *words = add(&own, "words", LIANA_S32, liana_shape_of(7))->s32;
    float *good = add(&own, "good", LIANA_F32, liana_shape_of(1))->f32;
    fill_words(words, good);
    return own;
}

/* An image and numbers; a class and a number. */
static void build_mixed(liana_model *model)
{
    liana_layer image = liana_input(model, .name = "image", .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_layer size = liana_input(model, .name = "size", .shape = LIANA_INTS(2));
    liana_conv2d(model, .name = "edges", .filters = 3, .kernel_size = 3, .activation = "relu", .input = image);
    liana_max_pooling2d(model, .name = "smaller");
    image = liana_flatten(model, .name = "flat");
    liana_concatenate(model, .name = "both", .inputs = {image, size});
    liana_layer hidden = liana_dense(model, .name = "hidden", .units = 8, .activation = "tanh");
    liana_layer kind = liana_dense(model, .name = "kind", .units = 3, .activation = "softmax", .input = hidden);
    liana_layer price = liana_dense(model, .name = "price", .units = 1, .input = hidden);
    liana_model_outputs(model, kind, price);
}

static void fill_pixels(const char *name, uint8_t *pixels, int count)
{
    for (int i = 0; i < count; i++) pixels[i] = (uint8_t)(liana__keras_draw(name, i) * 255 / 128);
}

static keras_task mixed(void)
{
    keras_task own = {"mixed",
                      build_mixed,
                      {.losses = {{.output = "kind", .name = "sparse_categorical_crossentropy"},
                                  {.output = "price", .name = "mse", .weight = 0.5}},
                       .output_metrics = {{.output = "kind", .name = "accuracy"}, {.output = "price", .name = "mae"}}},
                      0,
                      {{0}}};
    fill_pixels("image", add(&own, "image", LIANA_U8, liana_shape_of(SIDE, SIDE, 1))->u8, EXAMPLES * SIDE * SIDE);
    float *size = add(&own, "size", LIANA_F32, liana_shape_of(2))->f32;
    int32_t *kind = add(&own, "kind", LIANA_S32, LIANA_SCALAR)->s32;
    float *price = add(&own, "price", LIANA_F32, liana_shape_of(1))->f32;
    for (int i = 0; i < 2 * EXAMPLES; i++) size[i] = liana__keras_number("size", i);
    for (int i = 0; i < EXAMPLES; i++) kind[i] = class_of("kind", 3, i);
    for (int i = 0; i < EXAMPLES; i++) price[i] = liana__keras_number("price", i);
    return own;
}

/* Four answers of yes and no about an image. */
static void build_labels(liana_model *model)
{
    liana_input(model, .name = "image", .shape = LIANA_INTS(SIDE, SIDE, 3));
    liana_conv2d(model, .name = "edges", .filters = 6, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME,
                 .activation = "relu");
    liana_global_average_pooling2d(model, .name = "mean");
    liana_dense(model, .name = "tags", .units = 4, .activation = "sigmoid");
}

static keras_task labels(void)
{
    keras_task own = {
        "labels", build_labels, {.loss = "binary_crossentropy", .metrics = {"binary_accuracy"}}, 0, {{0}}};
    fill_pixels("image", add(&own, "image", LIANA_U8, liana_shape_of(SIDE, SIDE, 3))->u8, EXAMPLES * SIDE * SIDE * 3);
    float *tags = add(&own, "tags", LIANA_F32, liana_shape_of(4))->f32;
    for (int i = 0; i < 4 * EXAMPLES; i++) tags[i] = (float)class_of("tags", 2, i);
    return own;
}

/* A class for each step of padded sequences; padding has one too, which must count nowhere. Examples have weights. */
static void build_steps(liana_model *model)
{
    liana_input(model, .name = "words", .shape = LIANA_INTS(7), .dtype = LIANA_S32);
    liana_embedding(model, .name = "rows", .input_dim = 9, .output_dim = 4, .mask_zero = true);
    liana_dense(model, .name = "hidden", .units = 5, .activation = "tanh");
    liana_dense(model, .name = "kind", .units = 3, .activation = "softmax");
}

static keras_task steps(void)
{
    keras_task own = {"steps",
                      build_steps,
                      {.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}, .example_weight = "weight"},
                      0,
                      {{0}}};
    fill_words(add(&own, "words", LIANA_S32, liana_shape_of(7))->s32, NULL);
    int32_t *kind = add(&own, "kind", LIANA_S32, liana_shape_of(7))->s32;
    float *weight = add(&own, "weight", LIANA_F32, LIANA_SCALAR)->f32;
    for (int i = 0; i < 7 * EXAMPLES; i++) kind[i] = class_of("kind", 3, i);
    for (int i = 0; i < EXAMPLES; i++) weight[i] = 1 + liana__keras_number("weight", i);
    return own;
}

/* Two losses that divide by different counts: numbers for each step that is there, and an answer for each sequence. */
static void build_both(liana_model *model)
{
    liana_input(model, .name = "words", .shape = LIANA_INTS(7), .dtype = LIANA_S32);
    liana_layer rows = liana_embedding(model, .name = "rows", .input_dim = 9, .output_dim = 4, .mask_zero = true);
    liana_dense(model, .name = "hidden", .units = 5, .activation = "tanh", .input = rows);
    liana_layer size = liana_dense(model, .name = "size", .units = 2);
    liana_global_average_pooling1d(model, .name = "mean", .input = rows);
    liana_layer good = liana_dense(model, .name = "good", .units = 1, .activation = "sigmoid");
    liana_model_outputs(model, size, good);
}

static keras_task both(void)
{
    keras_task own = {"both",
                      build_both,
                      {.losses = {{.output = "size", .name = "mse", .weight = 0.5},
                                  {.output = "good", .name = "binary_crossentropy", .weight = 2}},
                       .output_metrics = {{.output = "size", .name = "mae"},
                                          {.output = "good", .name = "binary_accuracy"}}},
                      0,
                      {{0}}};
    int32_t *words = add(&own, "words", LIANA_S32, liana_shape_of(7))->s32;
    float *size = add(&own, "size", LIANA_F32, liana_shape_of(7, 2))->f32;
    float *good = add(&own, "good", LIANA_F32, liana_shape_of(1))->f32;
    fill_words(words, good);
    for (int i = 0; i < 14 * EXAMPLES; i++) size[i] = liana__keras_number("size", i);
    return own;
}

/* ---- training ---- */

static liana_dataset *all_examples(liana_context *context, const keras_task *task)
{
    return liana_dataset_from_tensor_slices(context, task->arrays, task->num_arrays);
}

static void adapt(liana_context *context, const keras_task *task, liana_model *model)
{
    liana_layer scaled = liana_model_layer(model, "scaled");
    if (!scaled.id) return;
    liana_dataset *data = all_examples(context, task);
    liana__tiny_done(context, liana_layer_adapt(scaled, data, NULL), __FILE__, __LINE__);
    liana_dataset_close(data);
}

static liana_model *make(liana_context *context, const keras_task *task)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, task->name, &model), LIANA_OK);
    task->build(model);
    if (liana_model_status(model) != LIANA_OK) print_error("%s\n", liana_context_message(context));
    assert_int_equal(liana_model_status(model), LIANA_OK);
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        const char *name = liana_model_weight(model, i).name;
        if (strncmp(name, "scaled/", 7) != 0) liana__keras_set_weight(model, name, 0);
    }
    adapt(context, task, model);
    return model;
}

static void check_weights(liana_model *model, const keras_task *task, const char *optimizer)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        const char *name = liana_model_weight(model, i).name;
        if (strncmp(name, "scaled/", 7) != 0) liana__keras_weight_near(&samples, model, task->name, optimizer, name);
    }
}

/* The arrays' examples from `first` on. */
static void cut(const keras_task *task, int first, int count, liana_array *arrays)
{
    for (size_t i = 0; i < task->num_arrays; i++) {
        arrays[i] = task->arrays[i];
        size_t each = (size_t)(liana_shape_size(&arrays[i].shape) / EXAMPLES) * (arrays[i].dtype == LIANA_U8 ? 1 : 4);
        arrays[i].data = (const char *)arrays[i].data + (size_t)first * each;
        arrays[i].shape.dims[0] = count;
    }
}

static void train_by_updates(liana_context *context, const keras_task *task, const char *optimizer,
                             const liana_fit_options *options)
{
    liana_model *model = make(context, task);
    const liana__keras_list losses = liana__keras_said(&samples, task->name, optimizer, "losses");
    assert_int_equal(losses.values->count, UPDATES);
    int update = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int first = 0; first < EXAMPLES; first += BATCH) {
            liana_array arrays[MOST_ARRAYS];
            liana_results results;
            cut(task, first, first + BATCH <= EXAMPLES ? BATCH : EXAMPLES - first, arrays);
            liana_status status = liana_train_on_batch(model, options, arrays, task->num_arrays, &results);
            liana__tiny_done(context, status, __FILE__, __LINE__);
            liana__keras_near(results.loss, &losses, (size_t)update++);
        }
    }
    assert_int_equal(update, UPDATES);
    check_weights(model, task, optimizer);
    liana_model_destroy(model);
}

typedef struct seen_epochs {
    const char *task, *optimizer;
    int count;
} seen_epochs;

/* The number of lists "epochs_...": the loss and metrics that there must be. */
static size_t num_said(const char *task, const char *optimizer)
{
    char begin[64];
    size_t count = 0, length = (size_t)snprintf(begin, sizeof begin, "%s_%s_epochs_", task, optimizer);
    for (size_t i = 0; i < samples.lists->count; i++) {
        count += strncmp(samples.lists->keys[i], begin, length) == 0;
    }
    return count;
}

static void check_result(const char *task, const char *optimizer, const char *when, const char *name, double result,
                         size_t index)
{
    char what[64];
    snprintf(what, sizeof what, "%s_%s", when, name);
    const liana__keras_list expected = liana__keras_said(&samples, task, optimizer, what);
    liana__keras_near(result, &expected, index);
}

static void check_results(const char *task, const char *optimizer, const char *when, const liana_results *results,
                          size_t index)
{
    check_result(task, optimizer, when, "loss", results->loss, index);
    assert_int_equal(1 + results->num_metrics, num_said(task, optimizer));
    for (size_t i = 0; i < results->num_metrics; i++) {
        check_result(task, optimizer, when, results->metric_names[i], results->metrics[i], index);
    }
}

static bool on_epoch(void *user, const liana_epoch *epoch)
{
    seen_epochs *own = user;
    check_results(own->task, own->optimizer, "epochs", &epoch->training, (size_t)own->count++);
    return true;
}

static void train_by_fit(liana_context *context, const keras_task *task, const char *optimizer,
                         const liana_fit_options *given, const liana_dataset *data)
{
    liana_model *model = make(context, task);
    liana_fit_options options = *given;
    seen_epochs seen = {task->name, optimizer, 0};
    options.training = data;
    options.epochs = EPOCHS;
    options.keep_order = true;
    options.on_epoch = on_epoch;
    options.user = &seen;
    liana__tiny_done(context, liana_fit(model, &options), __FILE__, __LINE__);
    assert_int_equal(seen.count, EPOCHS);
    check_weights(model, task, optimizer);
    liana_results results;
    liana_evaluate_options measured = {.batch_size = BATCH, .example_weight = given->example_weight};
    liana_status status = liana_evaluate(model, data, &measured, &results);
    liana__tiny_done(context, status, __FILE__, __LINE__);
    check_results(task->name, optimizer, "evaluated", &results, 0);
    liana_model_destroy(model);
}

/* By single updates and by a fit, whole batches and shards of one example, with both optimizers. */
static void check_task(const keras_task *task)
{
    static const char *const optimizers[][2] = {{"SGD", "{name: SGD, learning_rate: 0.1}"},
                                                {"Adam", "{name: Adam, learning_rate: 0.01}"}};
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    liana_dataset *data = all_examples(context, task);
    for (int i = 0; i < 4; i++) {
        liana_fit_options options = task->options;
        options.optimizer = optimizers[i / 2][1];
        options.batch_size = BATCH;
        options.microbatch = i % 2;
        train_by_updates(context, task, optimizers[i / 2][0], &options);
        train_by_fit(context, task, optimizers[i / 2][0], &options, data);
    }
    liana_dataset_close(data);
    liana_context_destroy(context);
}

static void test_line(void **state)
{
    (void)state;
    keras_task own = line();
    check_task(&own);
}

static void test_table(void **state)
{
    (void)state;
    keras_task own = table();
    check_task(&own);
}

static void test_sequences(void **state)
{
    (void)state;
    keras_task own = sequences();
    check_task(&own);
}

static void test_mixed(void **state)
{
    (void)state;
    keras_task own = mixed();
    check_task(&own);
}

static void test_labels(void **state)
{
    (void)state;
    keras_task own = labels();
    check_task(&own);
}

static void test_steps(void **state)
{
    (void)state;
    keras_task own = steps();
    check_task(&own);
}

static void test_both(void **state)
{
    (void)state;
    keras_task own = both();
    check_task(&own);
}

/* ---- the same from files, with a configuration ---- */

static float f32_at(const keras_task *task, size_t array, int index)
{
    return ((const float *)task->arrays[array].data)[index];
}

static int s32_at(const keras_task *task, size_t array, int index)
{
    return ((const int32_t *)task->arrays[array].data)[index];
}

static void write_text(const char *name, liana__text *text)
{
    assert_false(text->failed);
    liana__test_write(name, text->data, text->length);
    liana__text_free(text);
}

static void write_pixels(const keras_task *task, int example)
{
    char name[32];
    liana__text png = {0};
    liana__error error = {0};
    const liana_array *images = &task->arrays[0];
    int channels = (int)images->shape.dims[3];
    const uint8_t *pixels = (const uint8_t *)images->data + (size_t)example * SIDE * SIDE * (size_t)channels;
    assert_ok(liana__png_encode(pixels, SIDE, SIDE, channels, &png, &error), &error);
    snprintf(name, sizeof name, "%d.png", example);
    write_text(name, &png);
}

static void write_table(const keras_task *task)
{
    liana__text text = {0};
    liana__text_add(&text, "area,rooms,city,kind,offer,weight\n");
    for (int i = 0; i < EXAMPLES; i++) {
        liana__text_add(&text, "%.9g,%.9g,city %d,%d,offer %d,%.9g\n", (double)f32_at(task, 0, 2 * i),
                        (double)f32_at(task, 0, 2 * i + 1), s32_at(task, 1, i), s32_at(task, 2, i), s32_at(task, 3, i),
                        (double)f32_at(task, 4, i));
    }
    write_text("data.csv", &text);
}

static const char table_config[] =
    "data:\n"
    "  train: {paths: data.csv, kind: table}\n"
    "  columns:\n"
    "    size: [area, rooms]\n"
    "    city: {category: true}\n"
    "    kind: [kind]\n"
    "    offer: {category: true}\n"
    "    weight: weight\n"
    "  targets: offer\n"
    "  example_weight: weight\n"
    "  shuffle: false\n"
    "model:\n"
    "  weights: model/weights.safetensors\n"
    "  layers:\n"
    "    - InputLayer: {name: size, shape: [2]}\n"
    "    - InputLayer: {name: city, shape: [], dtype: int32}\n"
    "    - InputLayer: {name: kind, shape: [1], dtype: int32}\n"
    "    - Normalization: {name: scaled, inputs: size}\n"
    "    - Embedding: {name: place, input_dim: 5, output_dim: 3, inputs: city}\n"
    "    - CategoryEncoding: {name: hot, num_tokens: 4, output_mode: one_hot, inputs: kind}\n"
    "    - Concatenate: {name: both, inputs: [scaled, place, hot]}\n"
    "    - Dense: {name: hidden, units: 6, activation: relu}\n"
    "    - Dense: {name: offer, units: 3, activation: softmax}\n"
    "train: {epochs: 20, batch_size: 4, metrics: [accuracy]}\n";

static void write_mixed(const keras_task *task)
{
    liana__text text = {0};
    liana__text_add(&text, "image,label,width,height,price\n");
    for (int i = 0; i < EXAMPLES; i++) {
        write_pixels(task, i);
        liana__text_add(&text, "%d.png,kind %d,%.9g,%.9g,%.9g\n", i, s32_at(task, 2, i), (double)f32_at(task, 1, 2 * i),
                        (double)f32_at(task, 1, 2 * i + 1), (double)f32_at(task, 3, i));
    }
    write_text("data.csv", &text);
}

static const char mixed_config[] =
    "data:\n"
    "  train: data.csv\n"
    "  columns: {size: [width, height], price: [price]}\n"
    "  targets: {kind: label, price: price}\n"
    "  shuffle: false\n"
    "model:\n"
    "  weights: model/weights.safetensors\n"
    "  layers:\n"
    "    - InputLayer: {name: image, shape: [6, 6, 1]}\n"
    "    - InputLayer: {name: size, shape: [2]}\n"
    "    - Conv2D: {name: edges, filters: 3, kernel_size: 3, activation: relu, inputs: image}\n"
    "    - MaxPooling2D: {name: smaller}\n"
    "    - Flatten: {name: flat}\n"
    "    - Concatenate: {name: both, inputs: [flat, size]}\n"
    "    - Dense: {name: hidden, units: 8, activation: tanh}\n"
    "    - Dense: {name: kind, units: 3, activation: softmax, inputs: hidden}\n"
    "    - Dense: {name: price, units: 1, inputs: hidden}\n"
    "  outputs: [kind, price]\n"
    "train:\n"
    "  epochs: 20\n"
    "  batch_size: 4\n"
    "  loss: {kind: sparse_categorical_crossentropy, price: mse}\n"
    "  loss_weights: {price: 0.5}\n"
    "  metrics: {kind: accuracy, price: mae}\n";

static void write_labels(const keras_task *task)
{
    liana__text text = {0};
    liana__text_add(&text, "image,tags\n");
    for (int i = 0; i < EXAMPLES; i++) {
        write_pixels(task, i);
        liana__text_add(&text, "%d.png,", i);
        for (int k = 0, some = 0; k < 4; k++) {
            if (f32_at(task, 1, 4 * i + k) != 0) liana__text_add(&text, "%s%d", some++ ? " " : "", k);
        }
        liana__text_add(&text, "\n");
    }
    write_text("data.csv", &text);
}

static const char labels_config[] =
    "data:\n"
    "  train: data.csv\n"
    "  columns: {tags: {multi_hot: 4}}\n"
    "  shuffle: false\n"
    "model:\n"
    "  weights: model/weights.safetensors\n"
    "  layers:\n"
    "    - InputLayer: {name: image, shape: [6, 6, 3]}\n"
    "    - Conv2D: {name: edges, filters: 6, kernel_size: 3, strides: 2, padding: same, activation: relu}\n"
    "    - GlobalAveragePooling2D: {name: mean}\n"
    "    - Dense: {name: tags, units: 4, activation: sigmoid}\n"
    "train: {epochs: 20, batch_size: 4, loss: binary_crossentropy, metrics: [binary_accuracy]}\n";

static void write_sequences(const keras_task *task)
{
    liana__text text = {0};
    liana__text_add(&text, "words,good\n");
    for (int i = 0; i < EXAMPLES; i++) {
        for (int k = 7 * i; k < 7 * (i + 1) && s32_at(task, 0, k) != 0; k++) {
            liana__text_add(&text, "%s%d", k % 7 ? " " : "", s32_at(task, 0, k));
        }
        liana__text_add(&text, ",%g\n", (double)f32_at(task, 1, i));
    }
    write_text("data.csv", &text);
}

static const char sequences_config[] =
    "data:\n"
    "  train: {paths: data.csv, kind: table}\n"
    "  columns: {words: {length: 7}, good: [good]}\n"
    "  shuffle: false\n"
    "model:\n"
    "  weights: model/weights.safetensors\n"
    "  layers:\n"
    "    - InputLayer: {name: words, shape: [7], dtype: int32}\n"
    "    - Embedding: {name: rows, input_dim: 9, output_dim: 4, mask_zero: true}\n"
    "    - GlobalAveragePooling1D: {name: mean}\n"
    "    - Dense: {name: hidden, units: 5, activation: tanh}\n"
    "    - Dense: {name: good, units: 1, activation: sigmoid}\n"
    "train: {epochs: 20, batch_size: 4, loss: binary_crossentropy, metrics: [binary_accuracy]}\n";

static void write_line(const keras_task *task)
{
    liana__text text = {0};
    liana__text_add(&text, "a,b,c,y\n");
    for (int i = 0; i < EXAMPLES; i++) {
        liana__text_add(&text, "%.9g,%.9g,%.9g,%.9g\n", (double)f32_at(task, 0, 3 * i),
                        (double)f32_at(task, 0, 3 * i + 1), (double)f32_at(task, 0, 3 * i + 2),
                        (double)f32_at(task, 1, i));
    }
    write_text("data.csv", &text);
}

static const char line_config[] = "data:\n"
                                  "  train: {paths: data.csv, kind: table}\n"
                                  "  columns: {x: [a, b, c], y: [y]}\n"
                                  "  shuffle: false\n"
                                  "model:\n"
                                  "  weights: model/weights.safetensors\n"
                                  "  layers:\n"
                                  "    - InputLayer: {name: x, shape: [3]}\n"
                                  "    - Dense: {name: y, units: 1}\n"
                                  "train: {epochs: 20, batch_size: 4, loss: mse, metrics: [mae]}\n";

/* Every number of the history is Keras's. */
static void check_history(const char *path, const char *task, const char *optimizer)
{
    liana__arena arena = {0};
    liana__value *root;
    liana__error error = {0};
    assert_ok(liana__json_read(path, &arena, &root, &error), &error);
    const liana__value *epochs = liana__value_get(root, "epochs");
    assert_int_equal(epochs->count, EPOCHS);
    size_t compared = 0;
    char begin[64];
    const size_t length = (size_t)snprintf(begin, sizeof begin, "%s_%s_epochs_", task, optimizer);
    for (size_t i = 0; i < samples.lists->count; i++) {
        if (strncmp(samples.lists->keys[i], begin, length) != 0) continue;
        const char *name = samples.lists->keys[i] + length;
        compared++;
        for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
            const liana__value *value = liana__value_get(epochs->items[epoch], name);
            if (!value) print_error("the history has no '%s'\n", name);
            assert_non_null(value);
            check_result(task, optimizer, "epochs", name, value->number, epoch);
        }
    }
    assert_int_equal(compared, num_said(task, optimizer));
    liana__arena_free(&arena);
}

static void check_command(const keras_task *task, void (*write)(const keras_task *task), const char *config)
{
    static const char *const optimizers[][2] = {{"SGD", "train.optimizer={name: SGD, learning_rate: 0.1}"},
                                                {"Adam", "train.optimizer={name: Adam, learning_rate: 0.01}"}};
    liana_context *context;
    liana__test_folder();
    char path[256], run[256], weights[300], data[300];
    snprintf(path, sizeof path, "%s", liana__test_path("model"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(weights, sizeof weights, "model.weights=%s/weights.safetensors", path);
    snprintf(data, sizeof data, "data.train.paths=%s", liana__test_path("data.csv"));
    write(task);
    liana__test_write("config.yaml", config, strlen(config));
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana_model *model = make(context, task);
    liana__tiny_done(context, liana_model_save(model, path), __FILE__, __LINE__);
    liana_model_destroy(model);
    assert_code(liana__test_command("check", liana__test_path("config.yaml"), data), 0);
    for (int i = 0; i < 2; i++) {
        char out[300], history[320];
        snprintf(out, sizeof out, "%s-%s", run, optimizers[i][0]);
        snprintf(history, sizeof history, "%s/history.json", out);
        assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", out, weights, data,
                                        optimizers[i][1]),
                    0);
        check_history(history, task->name, optimizers[i][0]);
        liana__tiny_done(context, liana_model_load(context, out, &model), __FILE__, __LINE__);
        check_weights(model, task, optimizers[i][0]);
        liana_model_destroy(model);
    }
    liana_context_destroy(context);
}

static void test_line_command(void **state)
{
    (void)state;
    keras_task own = line();
    check_command(&own, write_line, line_config);
}

static void test_table_command(void **state)
{
    (void)state;
    keras_task own = table();
    check_command(&own, write_table, table_config);
}

static void test_sequences_command(void **state)
{
    (void)state;
    keras_task own = sequences();
    check_command(&own, write_sequences, sequences_config);
}

static void test_mixed_command(void **state)
{
    (void)state;
    keras_task own = mixed();
    check_command(&own, write_mixed, mixed_config);
}

static void test_labels_command(void **state)
{
    (void)state;
    keras_task own = labels();
    check_command(&own, write_labels, labels_config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),          cmocka_unit_test(test_table),
        cmocka_unit_test(test_sequences),     cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_labels),        cmocka_unit_test(test_line_command),
        cmocka_unit_test(test_table_command), cmocka_unit_test(test_sequences_command),
        cmocka_unit_test(test_mixed_command), cmocka_unit_test(test_labels_command),
        cmocka_unit_test(test_steps),         cmocka_unit_test(test_both),
    };
    return cmocka_run_group_tests(tests, read_samples, free_samples);
}
