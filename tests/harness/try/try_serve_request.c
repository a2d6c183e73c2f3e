/* Any bytes as requests for predictions. */
#include "harness/try/try_serve_request.h"

#include "serve/predict/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXAMPLES = 20, IMAGE_VALUES = 12 };

static void must(bool condition)
{
    if (!condition) abort();
}

/* An "image" is its bytes, repeated. */
static liana_status decode(void *user, const void *bytes, size_t size, float *pixels, liana__error *error)
{
    (void)user;
    if (!size) return liana__fail(error, LIANA_INVALID_DATA, "no image");
    for (size_t i = 0; i < IMAGE_VALUES; i++) pixels[i] = ((const uint8_t *)bytes)[i % size];
    return LIANA_OK;
}

static void check_values(const liana__request *request, const liana__request_form *form)
{
    must(request->count >= 1 && request->count <= MOST_EXAMPLES);
    for (size_t i = 0; i < form->num_inputs; i++) {
        const liana_predictor_port *input = &form->inputs[i];
        for (int64_t j = 0; j < request->count * input->num_values; j++) {
            if (input->dtype == LIANA_STRING) {
                const liana_bytes *text = &((const liana_bytes *)request->arrays[i])[j];
                must(text->data != NULL);
                must(!text->size || memchr(text->data, 0, 0) == NULL);
            } else if (input->dtype == LIANA_S32) {
                const int32_t id = ((const int32_t *)request->arrays[i])[j];
                must(!input->num_ids || (id >= 0 && id < input->num_ids));
            } else {
                must(isfinite(((const float *)request->arrays[i])[j]));
            }
        }
    }
}

static const liana_predictor_port several[] = {
    {.name = "x", .dtype = LIANA_F32, .shape = {3, {-1, 2, 2}}, .num_values = 4},
    {.name = "id", .dtype = LIANA_S32, .shape = {2, {-1, 1}}, .num_values = 1, .num_ids = 10},
    {.name = "text", .dtype = LIANA_STRING, .shape = {2, {-1, 1}}, .num_values = 1},
};
static const liana_predictor_port image = {
    .name = "image", .dtype = LIANA_U8, .shape = {4, {-1, 2, 2, 3}}, .num_values = IMAGE_VALUES, .is_image = true};
static const liana_predictor_port flat = {.name = "x", .dtype = LIANA_F32, .shape = {1, {-1}}, .num_values = 1};

bool liana__try_serve_request(const uint8_t *bytes, size_t size)
{
    liana__byte_budget budget = {.limit = 1 << 20};
    liana__request request = {0};
    liana__error error = {0};
    const uint8_t choice = size ? bytes[0] : 0;
    const liana__request_form forms[] = {{several, 3, MOST_EXAMPLES, &budget, decode, NULL},
                                         {&image, 1, MOST_EXAMPLES, &budget, decode, NULL},
                                         {&flat, 1, MOST_EXAMPLES, &budget, decode, NULL}};
    const liana__request_form *form = &forms[choice / 4 % 3];
    /* A body of its own, so that a read behind its end is found; the server puts a 0 there. */
    char *body = malloc(size ? size : 1);
    if (!body) return false;
    if (size) memcpy(body, bytes + 1, size - 1);
    const size_t length = size ? size - 1 : 0;
    liana_status status;
    if (choice % 4 == 3) {
        status =
            liana__request_read_images(&request, form, "multipart/form-data; boundary=\"b\"", body, length, &error);
    } else {
        status = liana__request_read_json(&request, form, choice % 2 ? LIANA__REQUEST_EXAMPLES : LIANA__REQUEST_PREDICT,
                                          body, length, &error);
    }
    must(status == LIANA_OK || *error.message);
    if (status == LIANA_OK) check_values(&request, form);
    liana__request_free(&request);
    must(atomic_load(&budget.used) == 0);
    free(body);
    return status == LIANA_OK;
}
