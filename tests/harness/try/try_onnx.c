/* Feeds any bytes to the reader of ONNX files. */
#include "harness/try/try_onnx.h"

#include "onnx/import.h"

#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "tried.onnx"

static void demand(bool condition, const char *what, const char *message)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n", what, message);
    abort();
}

static liana_model *read_model(liana_context *context, const uint8_t *bytes, size_t size, bool without_values)
{
    liana_model *model;
    liana__error error = {0};
    const liana__onnx_import_options options = {.without_values = without_values};
    if (liana_model_create(context, NULL, &model) != LIANA_OK) abort();
    if (liana__model_from_onnx_bytes(model, bytes, size, NAME, &options, &error) == LIANA_OK) return model;
    demand(strstr(error.message, NAME) != NULL, "a refusal names the file", error.message);
    liana_model_destroy(model);
    return NULL;
}

bool liana__try_onnx(const uint8_t *bytes, size_t size)
{
    liana_context *context;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) abort();
    liana_model *model = read_model(context, bytes, size, false);
    if (model) {
        liana_model *layers = read_model(context, bytes, size, true);
        demand(layers != NULL, "layers are read without values", "");
        demand(layers->num_layers == model->num_layers && layers->num_weights == model->num_weights,
               "layers are the same without values", "");
        demand(model->num_values == model->num_weights, "all weights have values", "");
        liana_model_destroy(layers);
    }
    liana_model_destroy(model);
    liana_context_destroy(context);
    return model != NULL;
}
