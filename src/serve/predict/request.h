/* request.h - the bodies of requests for predictions, as arrays: TensorFlow Serving's JSON, and images as files.
 *
 *   predict              {"signature_name": S, "instances": [EXAMPLE, ...]}, or {"inputs": ARRAY or {NAME: ARRAY, ...}}
 *   classify, regress    {"signature_name": S, "context": FEATURES, "examples": [FEATURES, ...]}
 *   an upload            an image file, or multipart/form-data with image files
 *
 * An image may be {"b64": FILE} wherever its array may be. Other keys are ignored, as TensorFlow Serving does; a key
 * that is there twice is refused. */
#ifndef LIANA_SERVE_PREDICT_REQUEST_H
#define LIANA_SERVE_PREDICT_REQUEST_H

#include "base/error.h"
#include "base/memory.h"
#include "serve/byte_budget.h"

#include <liana/predictor.h>

/* What a model takes, and limits. Borrowed. */
typedef struct liana__request_form {
    const liana_predictor_port *inputs;
    size_t num_inputs;
    int64_t max_examples;
    liana__byte_budget *budget; /* of arrays; NULL: no limit */
    /* Writes the pixels of an image file, f32, a row of the input of images. Any thread. */
    liana_status (*decode)(void *user, const void *bytes, size_t size, float *pixels, liana__error *error);
    void *user;
} liana__request_form;

/* Zero-initialise; free with liana__request_free. */
typedef struct liana__request {
    bool is_columns;                    /* the answer has the form of "inputs" */
    int64_t count;                      /* examples */
    void *arrays[LIANA_MAX_COMPONENTS]; /* [count, ...] in the order of inputs: f32, s32 or liana_bytes */
    size_t capacities[LIANA_MAX_COMPONENTS];
    liana__arena arena; /* texts */
    liana__byte_budget *budget;
    size_t taken;
} liana__request;

typedef enum liana__request_kind { LIANA__REQUEST_PREDICT, LIANA__REQUEST_EXAMPLES } liana__request_kind;

/* Errors: INVALID_ARGUMENT with the place, "instances[3].x[2]: ..."; those of images; UNAVAILABLE (the budget);
 * OUT_OF_RANGE (too many examples); OUT_OF_MEMORY. */
liana_status liana__request_read_json(liana__request *request, const liana__request_form *form,
                                      liana__request_kind kind, const char *body, size_t size, liana__error *error)
    LIANA_MUST_USE;
/* Images as they are: the body is one, or `type` is that of a form, "multipart/form-data; boundary=...". */
liana_status liana__request_read_images(liana__request *request, const liana__request_form *form, const char *type,
                                        const char *body, size_t size, liana__error *error) LIANA_MUST_USE;
void liana__request_free(liana__request *request);

/* Makes room for one more example; its row of an input is then liana__request_row(request, form, input). For
 * readers. */
liana_status liana__request_grow(liana__request *request, const liana__request_form *form, liana__error *error)
    LIANA_MUST_USE;
void *liana__request_row(const liana__request *request, const liana__request_form *form, size_t input);
/* Bytes of an example of an input. */
size_t liana__request_row_bytes(const liana_predictor_port *input);

#endif
