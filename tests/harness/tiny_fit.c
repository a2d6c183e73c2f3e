/* A small model and small data. */
#include "harness/tiny_fit.h"

#include <stdlib.h>
#include <string.h>

liana__tiny_fit liana__tiny_fit_open(uint32_t count)
{
    liana__tiny_fit own;
    liana__test_folder();
    liana__test_tiny_run(count);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.training), LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("validation-images"), NULL, &own.validation),
                     LIANA_OK);
    return own;
}

void liana__tiny_fit_close(liana__tiny_fit *own)
{
    liana_dataset_close(own->training);
    liana_dataset_close(own->validation);
    liana_context_destroy(own->context);
}

liana_model *liana__tiny_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 8, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_max_pooling2d(model);
    liana_dropout(model, .rate = 0.25);
    liana_flatten(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

bool liana__same_weights(liana_model *a, liana_model *b)
{
    liana_array left, right;
    for (size_t i = 0; liana_model_weight(a, i).name; i++) {
        assert_int_equal(liana_model_get_weights(a, liana_model_weight(a, i).name, &left), LIANA_OK);
        assert_int_equal(liana_model_get_weights(b, left.name, &right), LIANA_OK);
        size_t count = 1;
        for (int k = 0; k < left.shape.rank; k++) count *= (size_t)left.shape.dims[k];
        if (memcmp(left.data, right.data, count * sizeof(float)) != 0) return false;
    }
    return true;
}

void liana__tiny_done(const liana_context *context, liana_status status, const char *file, int line)
{
    if (status == LIANA_OK) return;
    print_error("%s:%d: %s\n", file, line, liana_context_message(context));
    _fail(file, line);
}

void liana__tiny_refused(const liana_context *context, liana_status status, liana_status expected, const char *text,
                         const char *file, int line)
{
    const char *message = liana_context_message(context);
    if (status == expected && strstr(message, text)) return;
    print_error("%s:%d: %s: %s\n", file, line, liana_status_name(status), message);
    _fail(file, line);
}

void liana__write_note(void *user, const char *note)
{
    liana__notebook *own = user;
    size_t length = strlen(own->text);
    snprintf(own->text + length, sizeof own->text - length, "%s\n", note);
}

liana_dataset *liana__tiny_rows(liana_context *context)
{
    enum { ROWS = LIANA__TINY_ROWS, FEATURES = LIANA__TINY_FEATURES };
    float x[ROWS * FEATURES], y[ROWS];
    for (int i = 0; i < ROWS * FEATURES; i++) x[i] = (float)((i * 37 + i / 7 * 5) % 129) / 64 - 1;
    for (int i = 0; i < ROWS; i++) y[i] = x[FEATURES * i] - 2 * x[FEATURES * i + 1] + 0.25f;
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), x},
                                  {"y", LIANA_F32, liana_shape_of(ROWS, 1), y}};
    liana_dataset *rows = liana_dataset_from_tensor_slices(context, arrays, 2);
    assert_non_null(rows);
    return rows;
}

liana_status liana__tiny_keep_weights(liana_model *model, char **weights, size_t *size)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        liana_array array;
        LIANA_TRY(liana_model_get_weights(model, liana_model_weight(model, i).name, &array));
        const size_t added = (size_t)liana_shape_size(&array.shape) * sizeof(float);
        char *larger = realloc(*weights, *size + added);
        if (!larger) return LIANA_OUT_OF_MEMORY;
        memcpy(larger + *size, array.data, added);
        *weights = larger;
        *size += added;
    }
    return LIANA_OK;
}
