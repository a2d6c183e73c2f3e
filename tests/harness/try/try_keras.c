/* Feeds any bytes to the readers of Keras's architectures and compile settings. */
#include "harness/try/try_keras.h"

#include "formats/json.h"
#include "layers/model.h"
#include "train/model/keras_compile.h"

#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "tried.json"

static void demand(bool condition, const char *what, const char *message, const char *text)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n%s\n", what, message, text ? text : "");
    abort();
}

/* The model of an architecture; NULL: it was refused. */
static liana_model *read(liana_context *context, const liana__value *architecture, liana__error *error)
{
    liana_model *model;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) abort();
    liana_status status = liana__model_from_keras(model, architecture);
    *error = model->error;
    if (status != LIANA_OK) demand(strstr(error->message, NAME) != NULL, "it names the file", error->message, NULL);
    if (status == LIANA_OK) status = liana__model_check(model, error);
    if (status == LIANA_OK) return model;
    demand(error->message[0] != 0, "a refusal has a message", error->message, NULL);
    liana_model_destroy(model);
    return NULL;
}

static void try_settings(const liana_model *model, const liana__value *root, liana__arena *arena)
{
    static const char *const keys[] = {"compile_config", "training_config"};
    for (int i = 0; i < 4; i++) {
        const char *key = keys[i / 2];
        const liana__value *train = NULL, *settings;
        liana__error error = {0};
        const liana__value *given = liana__value_get(root, key);
        if (liana__keras_compile_read(model, given, key, i % 2, arena, &train, &error) != LIANA_OK) {
            demand(error.message[0] != 0, "a refusal has a message", error.message, NULL);
        } else if (train) {
            const liana_status status =
                liana__keras_compile_write(model, train, (liana__keras_compile_form)(i / 2), arena, &settings, &error);
            demand(status == LIANA_OK || error.message[0], "a refusal has a message", error.message, NULL);
        }
    }
}

static void try_model(liana_context *context, liana_model *model, const liana__value *root, liana__arena *arena)
{
    liana__error error = {0};
    liana__text first = {0}, second = {0};
    liana__value *parsed;
    liana__value_write_json(liana__model_to_keras(model, LIANA__KERAS3, arena), 0, &first);
    demand(liana__json_parse(first.data, first.length, NAME, arena, &parsed, &error) == LIANA_OK,
           "what is written is JSON", error.message, first.data);
    liana_model *again = read(context, parsed, &error);
    demand(again != NULL, "what is written reads back", error.message, first.data);
    liana__value_write_json(liana__model_to_keras(again, LIANA__KERAS3, arena), 0, &second);
    demand(strcmp(first.data, second.data) == 0, "what is written reads back equal", first.data, second.data);
    liana_model_destroy(again);
    (void)!liana__model_check_keras(model, LIANA__KERAS3, &error);
    if (liana__model_check_keras(model, LIANA__KERAS2, &error) == LIANA_OK) {
        again = read(context, liana__model_to_keras(model, LIANA__KERAS2, arena), &error);
        demand(again != NULL, "Keras 2's form reads back", error.message, first.data);
        liana_model_destroy(again);
    }
    try_settings(model, root, arena);
    liana__text_free(&first);
    liana__text_free(&second);
}

bool liana__try_keras(const uint8_t *bytes, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    liana_context *context;
    bool accepted = false;
    if (liana__json_parse((const char *)bytes, size, NAME, &arena, &value, &error) == LIANA_OK) {
        if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) abort();
        liana_model *model = read(context, value, &error);
        accepted = model != NULL;
        if (model) try_model(context, model, value, &arena);
        liana_model_destroy(model);
        liana_context_destroy(context);
    }
    liana__arena_free(&arena);
    return accepted;
}
