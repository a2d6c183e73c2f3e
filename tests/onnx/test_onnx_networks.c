/* Networks that PyTorch and Keras export as ONNX: liana computes what onnxruntime computes of the same file, an update
 * changes weights as PyTorch's does, and what liana writes as ONNX reads back. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/value.h"
#include "formats/json.h"
#include "harness/peers.h"
#include "layers/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana__arena arena;

static const char *join(const char *name, const char *ending)
{
    return liana__arena_string(&arena, liana__test_path(liana__arena_format(&arena, "%s%s", name, ending)));
}

/* The numbers of a file. */
static void *read_all(const char *path, size_t *count)
{
    char *data;
    size_t size;
    assert_ok(liana__file_read(path, (size_t)1 << 28, &data, &size, &context->error), &context->error);
    void *kept = liana__arena_copy(&arena, data, size + 1);
    free(data);
    *count = size / sizeof(float);
    return kept;
}

/* Runs a script of this folder by a peer's Python. */
static void run_script(const char *peer, const char *script, const char *which)
{
    char python[2100], path[1024];
    const char *folder = liana__test_folder();
    const char *arguments[] = {python, "-B", "-W", "ignore", path, folder, which, NULL};
    snprintf(python, sizeof python, "%s/bin/python", peer);
    snprintf(path, sizeof path, "%s/tests/onnx/%s", LIANA_SOURCE_DIR, script);
    liana__test_run_program(arguments);
}

/* A batch of the input of a case. */
static liana_array read_input(const char *name, const liana_model *model)
{
    liana__value *root;
    size_t count;
    assert_ok(liana__json_read(join(name, ".case.json"), &arena, &root, &context->error), &context->error);
    const liana__value *dims = liana__value_get(root, "shape");
    const liana_port port = liana_model_input(model, 0);
    liana_array input = {.name = port.name,
                         .dtype = liana__value_get(root, "is_ids")->boolean ? LIANA_S32 : LIANA_F32,
                         .shape = {.rank = (int)dims->count}};
    for (size_t i = 0; i < dims->count; i++) input.shape.dims[i] = dims->items[i]->integer;
    assert_int_equal(port.shape.rank, input.shape.rank);
    for (int i = 1; i < port.shape.rank; i++) assert_int_equal(port.shape.dims[i], input.shape.dims[i]);
    input.data = read_all(join(name, ".x"), &count);
    return input;
}

static void check_outputs(liana_model *model, const liana_array *input, const char *name, const char *kind)
{
    size_t count;
    double largest = 0, worst = 0;
    const float *expected = read_all(join(name, liana__arena_format(&arena, "_%s.y", kind)), &count);
    float *found = liana__arena_allocate(&arena, count * sizeof *found);
    assert_ok(liana_predict_on_batch(model, input, 1, found), &context->error);
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)expected[i]));
        worst = fmax(worst, fabs((double)found[i] - (double)expected[i]));
        assert_true(isfinite(found[i]));
    }
    print_message("%s, %s: largest difference %.1e of %.1e\n", name, kind, worst, largest);
    assert_compare(worst, <=, 1e-5 * largest + 1e-6);
}

/* What liana writes as ONNX, read again, computes the same. */
static void check_round(liana_model *model, const liana_array *input, const char *name, const char *kind)
{
    const char *path = join(name, "_round.onnx");
    liana_model *again;
    assert_ok(liana_model_save(model, path), &context->error);
    assert_ok(liana_model_load(context, path, &again), &context->error);
    const liana_array same = {liana_model_input(again, 0).name, input->dtype, input->shape, input->data};
    check_outputs(again, &same, name, kind);
    liana_model_destroy(again);
}

static void check_case(const char *name, const char *const *kinds)
{
    for (size_t i = 0; kinds[i]; i++) {
        liana_model *model;
        const char *path = join(name, liana__arena_format(&arena, "_%s.onnx", kinds[i]));
        assert_ok(liana_model_load(context, path, &model), &context->error);
        const liana_array input = read_input(name, model);
        check_outputs(model, &input, name, kinds[i]);
        if (i == 0) check_round(model, &input, name, kinds[i]);
        liana_model_destroy(model);
    }
    liana__arena_free(&arena);
    arena = (liana__arena){0};
}

static const char *const ALL[] = {"script", "dynamo", "fixed", NULL};

/* The weights of a layer after the update. */
static void check_weight(liana_model *model, const char *name, double tolerance)
{
    liana_array own;
    size_t count;
    char file[128];
    snprintf(file, sizeof file, "cnn_step.%s", name);
    *strchr(file + strlen("cnn_step."), '/') = '.';
    const float *expected = read_all(join(file, ""), &count);
    assert_ok(liana_model_get_weights(model, name, &own), &context->error);
    int64_t size = 1;
    for (int i = 0; i < own.shape.rank; i++) size *= own.shape.dims[i];
    assert_int_equal(size, count);
    for (size_t i = 0; i < count; i++) assert_near(((const float *)own.data)[i], expected[i], tolerance, i);
}

/* One update by SGD of all examples. */
static void take_step(liana_model *model, const liana_array batch[2])
{
    const liana_fit_options options = {.optimizer = "{name: sgd, learning_rate: 0.1}",
                                       .loss = "{name: sparse_categorical_crossentropy, from_logits: true}",
                                       .microbatch = batch[0].shape.dims[0]};
    assert_ok(liana_train_on_batch(model, &options, batch, 2, NULL), &context->error);
}

static void check_step(void)
{
    static const char *const names[] = {"conv1/kernel", "conv1/bias", "bn1/gamma",       "bn1/beta",
                                        "conv2/kernel", "conv2/bias", "bn1/moving_mean", "bn1/moving_variance",
                                        "fc/kernel",    "fc/bias"};
    liana_model *model;
    size_t count;
    assert_ok(liana_model_load(context, join("cnn_step", ".onnx"), &model), &context->error);
    const liana_array batch[] = {
        {"x", LIANA_F32, liana_shape_of(6, 16, 16, 3), read_all(join("cnn_step", ".x"), &count)},
        {"label", LIANA_S32, liana_shape_of(6), read_all(join("cnn_step", ".labels"), &count)},
    };
    take_step(model, batch);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_weight(model, names[i], 2e-6);
    liana_model_destroy(model);
    liana__arena_free(&arena);
    arena = (liana__arena){0};
}

/* The weights of a loop learn from all its steps. They have shapes that differ. */
static void check_walk_step(void)
{
    static const int64_t shapes[][2] = {{6, 5}, {5, 0}, {5, 5}, {5, 2}, {2, 0}};
    liana_model *model;
    size_t count;
    assert_ok(liana_model_load(context, join("walk_step", ".onnx"), &model), &context->error);
    const liana_array batch[] = {
        {"x", LIANA_F32, liana_shape_of(5, 7, 6), read_all(join("walk_step", ".x"), &count)},
        {"label", LIANA_S32, liana_shape_of(5), read_all(join("walk_step", ".labels"), &count)},
    };
    take_step(model, batch);
    const float *expected = read_all(join("walk_step", ".weights"), &count);
    assert_int_equal(model->num_weights, sizeof shapes / sizeof *shapes);
    for (size_t i = 0; i < model->num_weights; i++) {
        const int64_t size = shapes[i][0] * (shapes[i][1] ? shapes[i][1] : 1);
        size_t weight = 0;
        while (weight < model->num_weights && (model->weights[weight].shape.dims[0] != shapes[i][0] ||
                                               model->weights[weight].shape.dims[1] != shapes[i][1]))
            weight++;
        assert_compare(weight, <, model->num_weights);
        for (int64_t k = 0; k < size; k++) assert_near(model->values[weight][k], expected[k], 2e-6, (size_t)k);
        expected += size;
    }
    liana_model_destroy(model);
    liana__arena_free(&arena);
    arena = (liana__arena){0};
}

static void test_networks(void **state)
{
    (void)state;
    static const char *const names[] = {"cnn",    "residual", "depthwise", "lstm",    "gru",
                                        "rnn",    "encoder",  "dense",     "steps",   "transposed",
                                        "joined", "volume",   "groups",    "strided", "started"};
    char torch[2048];
    const char *peer = liana__test_peer("onnx");
    if (peer) peer = liana__test_peer("torch");
    if (!peer) skip();
    snprintf(torch, sizeof torch, "%s", peer);
    run_script(torch, "onnx_networks.py", "small");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_case(names[i], ALL);
    check_case("walk", (const char *const[]){"script", "fixed", NULL});
    check_step();
    check_walk_step();
}

static void test_torchvision(void **state)
{
    (void)state;
    char torch[2048];
    const char *peer = liana__test_peer("onnx");
    if (peer) peer = liana__test_peer("networks");
    if (peer) peer = liana__test_peer("torch");
    if (!peer) skip();
    snprintf(torch, sizeof torch, "%s", peer);
    run_script(torch, "onnx_networks.py", "torchvision");
    check_case("mobilenet_v2", ALL);
    check_case("resnet18", ALL);
    check_case("convnext", ALL);
}

static void test_keras(void **state)
{
    (void)state;
    static const char *const names[] = {"keras_images", "keras_rows", "keras_sequences", "keras_recurrent"};
    char tensorflow[2048];
    const char *peer = liana__test_peer("onnx");
    if (peer) peer = liana__test_peer("tensorflow");
    if (!peer) skip();
    snprintf(tensorflow, sizeof tensorflow, "%s", peer);
    run_script(tensorflow, "onnx_keras.py", "keras");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_case(names[i], (const char *const[]){"export", NULL});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_torchvision),
        cmocka_unit_test(test_keras),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
