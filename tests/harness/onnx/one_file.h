/* one_file.h - an ONNX file that a test makes, and the model that liana reads from it. */
#ifndef LIANA_TESTS_ONE_FILE_H
#define LIANA_TESTS_ONE_FILE_H

#include "harness/one_context.h"
#include "harness/onnx/onnx_file.h"

#include "base/context.h"
#include "layers/model.h"
#include "onnx/import.h"

#include <math.h>
#include <string.h>

enum { FLOAT = LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT, INT64 = LIANA__ONNX__TENSOR__DATA_TYPE__INT64 };

/* Freed by done() and refuse(). */
static liana__onnx_file file;

/* Numbers without a pattern. */
static inline const float *draw(size_t count, int seed)
{
    float *numbers = liana__arena_allocate(&file.arena, count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)sin((double)(i * 7 + 1) * 0.61 + seed);
    return numbers;
}

static inline liana_status read_file(liana_model **model, liana__error *error)
{
    size_t size;
    const uint8_t *bytes = liana__test_onnx_pack(&file, &size);
    *error = (liana__error){0};
    *model = NULL;
    assert_int_equal(liana_model_create(context, NULL, model), LIANA_OK);
    liana_status status = liana__model_from_onnx_bytes(*model, bytes, size, "net.onnx", NULL, error);
    if (status == LIANA_OK) status = liana__model_check(*model, error);
    if (status != LIANA_OK) {
        liana_model_destroy(*model);
        *model = NULL;
    }
    return status;
}

static inline liana_model *accept(void)
{
    liana__error error;
    liana_model *model;
    assert_ok(read_file(&model, &error), &error);
    return model;
}

/* The file is refused, with these texts. */
#define refuse(expected, ...)                                                       \
    do {                                                                            \
        liana__error found_;                                                        \
        liana_model *none_;                                                         \
        assert_fails(read_file(&none_, &found_), (expected), &found_, __VA_ARGS__); \
        liana__arena_free(&file.arena);                                             \
    } while (0)

static inline void expect(liana_model *model, const liana_shape shape, const float *x, const float *y, size_t count)
{
    float *found = liana__arena_allocate(&file.arena, (count + 1) * sizeof *found);
    const liana_array input = {liana_model_input(model, 0).name, LIANA_F32, shape, x};
    assert_ok(liana_predict_on_batch(model, &input, 1, found), &context->error);
    for (size_t i = 0; i < count; i++) assert_near(found[i], y[i], 1e-5, i);
}

static inline void done(liana_model *model)
{
    liana_model_destroy(model);
    liana__arena_free(&file.arena);
}

static inline size_t count_layers(const liana_model *model, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < model->num_layers; i++) count += strcmp(model->layers[i].type->part.name, type) == 0;
    return count;
}

#endif
