/* liana's predictors as the models of a server. Each has a context of its own, so that models of several versions are
 * opened and run at the same time. */
#include "serve/predict/servable.h"

#include "base/context.h"

#include <liana/context.h>
#include <stdlib.h>

typedef struct served_predictor {
    liana_context *context;
    liana_predictor *predictor;
    const liana__predictor_engine *options;
} served_predictor;

static void close_model(void *model)
{
    served_predictor *own = model;
    liana_predictor_close(own->predictor);
    liana_context_destroy(own->context);
    free(own);
}

static liana_status open_in(served_predictor *own, const char *folder, int64_t batch_size, liana__error *error)
{
    const liana_context_options context = {.num_threads = own->options->num_threads,
                                           .allow_plugins = own->options->allow_plugins};
    const liana_predictor_options predictor = {.batch_size = batch_size, .device = own->options->device};
    if (liana_context_create(&context, &own->context) != LIANA_OK) return liana__fail_memory(error, "a model");
    const liana_status status = liana_predictor_open(own->context, folder, &predictor, &own->predictor);
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail(error, status, "%s", liana_context_message(own->context));
}

static liana_status open_model(void *user, const char *folder, int64_t batch_size, void **model, liana__error *error)
{
    served_predictor *own = calloc(1, sizeof *own);
    *model = NULL;
    if (!own) return liana__fail_memory(error, "a model");
    own->options = user;
    const liana_status status = open_in(own, folder, batch_size, error);
    if (status == LIANA_OK) *model = own;
    if (status != LIANA_OK) close_model(own);
    return status;
}

static liana_predictor_facts find_facts(const void *model)
{
    return liana_predictor_info(((const served_predictor *)model)->predictor);
}

static liana_predictor_port find_input(const void *model, size_t index)
{
    return liana_predictor_input(((const served_predictor *)model)->predictor, index);
}

static liana_predictor_port find_output(const void *model, size_t index)
{
    return liana_predictor_output(((const served_predictor *)model)->predictor, index);
}

static liana_status run(void *model, const liana_array *arrays, size_t num_arrays, float *outputs, liana__error *error)
{
    liana_predictor *predictor = ((served_predictor *)model)->predictor;
    const liana_status status = liana_predictor_run(predictor, arrays, num_arrays, outputs);
    return status == LIANA_OK ? LIANA_OK : liana__fail(error, status, "%s", liana_predictor_message(predictor));
}

static liana_status open_decoder(void *model, void **decoder, liana__error *error)
{
    const served_predictor *own = model;
    const liana_image_decoder_options options = {.max_pixels = own->options->max_pixels};
    liana_image_decoder *made;
    const liana_status status = liana_image_decoder_create(own->predictor, &options, &made);
    *decoder = made;
    return status == LIANA_OK ? LIANA_OK : liana__fail(error, status, "%s", liana_predictor_message(own->predictor));
}

static void close_decoder(void *decoder)
{
    liana_image_decoder_destroy(decoder);
}

static liana_status decode(void *decoder, const void *bytes, size_t size, float *pixels, liana__error *error)
{
    const liana_status status = liana_image_decode(decoder, bytes, size, pixels);
    return status == LIANA_OK ? LIANA_OK : liana__fail(error, status, "%s", liana_image_decoder_message(decoder));
}

liana__servable_engine liana__servable_engine_of(const liana__predictor_engine *options)
{
    return (liana__servable_engine){.open = open_model,
                                    .close = close_model,
                                    .facts = find_facts,
                                    .input = find_input,
                                    .output = find_output,
                                    .run = run,
                                    .open_decoder = open_decoder,
                                    .close_decoder = close_decoder,
                                    .decode = decode,
                                    .user = (void *)(uintptr_t)options};
}
