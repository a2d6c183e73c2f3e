/* A version of a model in memory. */
#include "serve/predict/servable.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct liana__servable {
    liana__servable_engine engine;
    void *model;
    liana_predictor_facts facts;
    liana_predictor_port inputs[LIANA_MAX_COMPONENTS], outputs[LIANA_MAX_MODEL_OUTPUTS];
    liana__request_form form;
    liana__batch_model batch_model;
    liana__batcher *batcher;
    /* Decoders that nobody uses; a thread waits for one. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void **decoders;
    size_t num_decoders, num_free;
};

/* ---- images ---- */

/* The number of decoders bounds the memory of images that are decoded at the same time. */
static liana_status decode(void *user, const void *bytes, size_t size, float *pixels, liana__error *error)
{
    liana__servable *own = user;
    pthread_mutex_lock(&own->lock);
    while (!own->num_free) pthread_cond_wait(&own->changed, &own->lock);
    void *decoder = own->decoders[--own->num_free];
    pthread_mutex_unlock(&own->lock);
    const liana_status status = own->engine.decode(decoder, bytes, size, pixels, error);
    pthread_mutex_lock(&own->lock);
    own->decoders[own->num_free++] = decoder;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
    return status;
}

static liana_status open_decoders(liana__servable *own, size_t count, liana__error *error)
{
    if (!own->facts.takes_images) return LIANA_OK;
    own->decoders = calloc(count, sizeof *own->decoders);
    if (!own->decoders) return liana__fail_memory(error, "decoders of images");
    for (; own->num_decoders < count; own->num_decoders++, own->num_free++) {
        LIANA_TRY(own->engine.open_decoder(own->model, &own->decoders[own->num_decoders], error));
    }
    return LIANA_OK;
}

/* ---- running ---- */

static liana_status run(void *user, const void *const *data, int64_t count, float *outputs, liana__error *error)
{
    const liana__servable *own = user;
    liana_array arrays[LIANA_MAX_COMPONENTS];
    for (size_t i = 0; i < own->facts.num_inputs; i++) {
        const liana_predictor_port *input = &own->inputs[i];
        const int dtype = input->dtype == LIANA_STRING || input->dtype == LIANA_S32 ? input->dtype : LIANA_F32;
        arrays[i] = (liana_array){.name = input->name, .dtype = dtype, .shape = input->shape, .data = data[i]};
        arrays[i].shape.dims[0] = count;
    }
    return own->engine.run(own->model, arrays, own->facts.num_inputs, outputs, error);
}

liana_status liana__servable_run(liana__servable *own, const liana__request *request, liana__response_rows *rows,
                                 liana__error *error)
{
    const size_t values = (size_t)(request->count * own->facts.num_values);
    float *outputs = malloc(values * sizeof *outputs);
    if (!outputs) return liana__fail_memory(error, "predictions");
    const liana_status status =
        liana__batcher_run(own->batcher, (const void *const *)request->arrays, request->count, outputs, error);
    *rows =
        (liana__response_rows){own->outputs, own->facts.num_outputs, own->facts.num_values, outputs, request->count};
    if (status == LIANA_OK) return LIANA_OK;
    free(outputs);
    rows->values = NULL;
    return status;
}

/* Runs a batch of zeros, and one example: memory is there then, and a fault of the model is found before anybody asks.
 * Its values do not matter: some models refuse zeros. */
static liana_status warm_up(liana__servable *own, liana__error *error)
{
    liana__error ignored;
    void *arrays[LIANA_MAX_COMPONENTS] = {NULL};
    const int64_t counts[] = {own->facts.batch_size, 1};
    LIANA__SCOPED_MEMORY float *outputs =
        malloc((size_t)(own->facts.batch_size * own->facts.num_values) * sizeof *outputs);
    bool has_memory = outputs != NULL;
    for (size_t i = 0; i < own->facts.num_inputs; i++) {
        const size_t row = liana__request_row_bytes(&own->inputs[i]);
        arrays[i] = calloc((size_t)own->facts.batch_size, row);
        has_memory = has_memory && arrays[i];
        for (int64_t j = 0;
             arrays[i] && own->inputs[i].dtype == LIANA_STRING && j < own->facts.batch_size * own->inputs[i].num_values;
             j++) {
            ((liana_bytes *)arrays[i])[j] = (liana_bytes){"", 0};
        }
    }
    for (size_t i = 0; i < 2 && has_memory; i++) {
        if (run(own, (const void *const *)arrays, counts[i], outputs, &ignored) != LIANA_OK) break;
    }
    for (size_t i = 0; i < own->facts.num_inputs; i++) free(arrays[i]);
    return has_memory ? LIANA_OK : liana__fail_memory(error, "a model");
}

/* ---- opening ---- */

static liana_status check_ports(const liana__servable *own, const char *folder, liana__error *error)
{
    for (size_t i = 0; i < own->facts.num_inputs; i++) {
        const liana_predictor_port *input = &own->inputs[i];
        for (int axis = 1; axis < input->shape.rank; axis++) {
            if (input->shape.dims[axis] > 0) continue;
            return liana__fail(error, LIANA_UNIMPLEMENTED,
                               "%s: the input '%s' leaves the size of axis %d free, which serving needs to know",
                               folder, input->name, axis);
        }
    }
    return LIANA_OK;
}

static liana_status start(liana__servable *own, const char *folder, const liana__servable_options *options,
                          liana__error *error)
{
    const liana__servable_engine *engine = &own->engine;
    LIANA_TRY(engine->open(engine->user, folder, options->batch_size, &own->model, error));
    own->facts = engine->facts(own->model);
    for (size_t i = 0; i < own->facts.num_inputs; i++) own->inputs[i] = engine->input(own->model, i);
    for (size_t i = 0; i < own->facts.num_outputs; i++) own->outputs[i] = engine->output(own->model, i);
    LIANA_TRY(check_ports(own, folder, error));
    LIANA_TRY(open_decoders(own, options->num_decoders ? options->num_decoders : 1, error));
    own->form = (liana__request_form){.inputs = own->inputs,
                                      .num_inputs = own->facts.num_inputs,
                                      .max_examples = options->batching.max_waiting,
                                      .budget = options->budget,
                                      .decode = decode,
                                      .user = own};
    own->batch_model = (liana__batch_model){.inputs = own->inputs,
                                            .num_inputs = own->facts.num_inputs,
                                            .num_values = own->facts.num_values,
                                            .batch_size = own->facts.batch_size,
                                            .run = run,
                                            .user = own};
    LIANA_TRY(warm_up(own, error));
    return liana__batcher_open(&own->batch_model, &options->batching, &own->batcher, error);
}

liana_status liana__servable_open(const char *folder, const liana__servable_options *options,
                                  liana__servable **servable, liana__error *error)
{
    liana__servable *own = calloc(1, sizeof *own);
    *servable = NULL;
    if (!own) return liana__fail_memory(error, "a model");
    own->engine = options->engine;
    pthread_mutex_init(&own->lock, NULL);
    pthread_cond_init(&own->changed, NULL);
    const liana_status status = start(own, folder, options, error);
    if (status == LIANA_OK) *servable = own;
    if (status != LIANA_OK) liana__servable_close(own);
    return status;
}

void liana__servable_close(liana__servable *own)
{
    if (!own) return;
    liana__batcher_close(own->batcher);
    for (size_t i = 0; i < own->num_decoders; i++) own->engine.close_decoder(own->decoders[i]);
    free(own->decoders);
    if (own->model) own->engine.close(own->model);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

/* ---- facts ---- */

const liana__request_form *liana__servable_form(const liana__servable *servable)
{
    return &servable->form;
}

const liana_predictor_port *liana__servable_outputs(const liana__servable *servable, size_t *count)
{
    *count = servable->facts.num_outputs;
    return servable->outputs;
}

int64_t liana__servable_waiting(const liana__servable *servable)
{
    return liana__batcher_waiting(servable->batcher);
}
