/* servable.h - a version of a model in memory, which answers requests: the model, its batcher, and decoders of
 * images. */
#ifndef LIANA_SERVE_PREDICT_SERVABLE_H
#define LIANA_SERVE_PREDICT_SERVABLE_H

#include "serve/predict/batcher.h"
#include "serve/predict/request.h"
#include "serve/predict/response.h"

/* What opens and runs models: liana's predictors, or a test's. All of it is called by one thread at a time, except
 * `decode`, which is called by one thread at a time for each decoder. */
typedef struct liana__servable_engine {
    liana_status (*open)(void *user, const char *folder, int64_t batch_size, void **model, liana__error *error);
    void (*close)(void *model);
    liana_predictor_facts (*facts)(const void *model);
    liana_predictor_port (*input)(const void *model, size_t index);
    liana_predictor_port (*output)(const void *model, size_t index);
    liana_status (*run)(void *model, const liana_array *arrays, size_t num_arrays, float *outputs, liana__error *error);
    liana_status (*open_decoder)(void *model, void **decoder, liana__error *error);
    void (*close_decoder)(void *decoder);
    liana_status (*decode)(void *decoder, const void *bytes, size_t size, float *pixels, liana__error *error);
    void *user; /* of `open` */
} liana__servable_engine;

/* Options of liana's own engine: its `user`. */
typedef struct liana__predictor_engine {
    const char *device; /* NULL: "cpu" */
    int num_threads;    /* of each model; 0: LIANA_THREADS, or the number of cores */
    int64_t max_pixels; /* of an encoded image; 0: the default of liana_image_decoder_options */
    bool allow_plugins;
} liana__predictor_engine;
liana__servable_engine liana__servable_engine_of(const liana__predictor_engine *options);

typedef struct liana__servable_options {
    liana__servable_engine engine;
    int64_t batch_size;
    size_t num_decoders; /* images that are decoded at the same time */
    liana__batcher_options batching;
    liana__byte_budget *budget;
} liana__servable_options;

typedef struct liana__servable liana__servable;

/* Opens a folder, and runs it once so that its first request is as fast as the others. `on_batch` and its user are of
 * this model. Errors: those of the engine. */
liana_status liana__servable_open(const char *folder, const liana__servable_options *options,
                                  liana__servable **servable, liana__error *error) LIANA_MUST_USE;
/* Nobody uses it any more. NULL is allowed. */
void liana__servable_close(liana__servable *servable);

/* ---- on any thread ---- */

const liana__request_form *liana__servable_form(const liana__servable *servable);
/* Predicts a request, and writes the rows: rows->values is malloc'ed. Errors: those of the batcher. */
liana_status liana__servable_run(liana__servable *servable, const liana__request *request, liana__response_rows *rows,
                                 liana__error *error) LIANA_MUST_USE;
/* Outputs; for metadata. */
const liana_predictor_port *liana__servable_outputs(const liana__servable *servable, size_t *count);
int64_t liana__servable_waiting(const liana__servable *servable);

#endif
