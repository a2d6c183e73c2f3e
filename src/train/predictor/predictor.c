/* Opening, sharing and closing predictors; their facts. */
#include "train/predictor/predictor.h"

#include "base/scoped.h"
#include "models/preprocessing.h"
#include "train/checkpoint/weights.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_predictor_close, liana_predictor)

/* ---- the model ---- */

liana__shared_model *liana__shared_model_hold(liana__shared_model *shared)
{
    atomic_fetch_add(&shared->num_holders, 1);
    return shared;
}

void liana__shared_model_release(liana__shared_model *shared)
{
    if (!shared || atomic_fetch_sub(&shared->num_holders, 1) > 1) return;
    for (size_t i = 0; shared->weights && i < shared->num_weights; i++) free(shared->weights[i]);
    free(shared->weights);
    if (!shared->is_borrowed) liana_model_destroy(shared->model);
    free(shared);
}

/* Takes the model over, also on failure, unless it is borrowed. NULL: out of memory. */
static liana__shared_model *share_model(liana_model *model, bool is_borrowed)
{
    liana__shared_model *shared = calloc(1, sizeof *shared);
    if (!shared) {
        if (!is_borrowed) liana_model_destroy(model);
        return NULL;
    }
    atomic_init(&shared->num_holders, 1);
    shared->model = model;
    shared->context = model->context;
    shared->is_borrowed = is_borrowed;
    return shared;
}

liana_status liana__shared_model_take_weights(liana__shared_model *shared, liana__error *error)
{
    liana_model *model = shared->model;
    if (shared->weights) return LIANA_OK;
    LIANA_TRY(liana__model_values_complete(model, error));
    shared->weights = calloc(model->num_weights + 1, sizeof *shared->weights);
    if (!shared->weights) return liana__fail_memory(error, "the weights");
    shared->num_weights = model->num_weights;
    for (size_t i = 0; i < model->num_weights; i++) {
        const size_t size = liana__byte_size(LIANA_F32, &model->weights[i].shape);
        shared->weights[i] = liana__allocate_aligned(size);
        if (!shared->weights[i]) return liana__fail_memory(error, "the weights");
        memcpy(shared->weights[i], model->values[i], size);
        if (shared->is_borrowed) continue;
        free(model->values[i]);
        model->values[i] = NULL;
    }
    if (!shared->is_borrowed) model->num_values = 0;
    return LIANA_OK;
}

/* ---- opening ---- */

static liana_status check_options(const liana_predictor_options *options, liana__error *error)
{
    enum { MOST_EXAMPLES = 65536, MOST_THREADS = 4096 };
    if (options->batch_size < 0 || options->batch_size > MOST_EXAMPLES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "batch_size is %lld, expected 1 to %d (0: 1)",
                           (long long)options->batch_size, MOST_EXAMPLES);
    }
    if (options->num_threads < 0 || options->num_threads > MOST_THREADS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "num_threads is %d, expected 1 to %d (0: the context's)",
                           options->num_threads, MOST_THREADS);
    }
    if (options->scale >= 0 && (int)options->scale < LIANA__NUM_SCALES) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the scale is %d, which no liana_scale is", (int)options->scale);
}

/* A branch of the context with threads of its own, so that predictors can run at the same time. */
static liana_status make_context(liana_predictor *own, int num_threads, liana__error *error)
{
    liana_context *context = own->shared->context;
    own->context = liana__context_branch(context);
    if (!own->context) return liana__fail_memory(error, "a predictor");
    const int count = num_threads ? num_threads : liana_context_num_threads(context);
    LIANA_TRY(liana__pool_create(count, &own->pool, error));
    own->context->pool = own->pool;
    return LIANA_OK;
}

/* Takes over a hold of the model, also on failure. */
static liana_status make(liana__shared_model *shared, const liana_predictor_options *given, liana_predictor **out,
                         liana__error *error)
{
    static const liana_predictor_options defaults;
    const liana_predictor_options *options = given ? given : &defaults;
    LIANA__SCOPED_BY(liana_predictor_close_scoped) liana_predictor *own = calloc(1, sizeof *own);
    if (!own) {
        liana__shared_model_release(shared);
        return liana__fail_memory(error, "a predictor");
    }
    own->shared = shared;
    LIANA_TRY(check_options(options, error));
    LIANA_TRY(make_context(own, options->num_threads, error));
    LIANA_TRY(liana__predictor_compile(own, options, error));
    *out = own;
    own = NULL;
    return LIANA_OK;
}

static liana_status open_path(liana_context *context, const char *path, const liana_predictor_options *options,
                              liana_predictor **out)
{
    liana_model *model;
    LIANA_TRY(liana_model_load(context, path, &model));
    liana__shared_model *shared = share_model(model, false);
    if (!shared) return liana__fail_memory(&context->error, "a predictor");
    return make(shared, options, out, &context->error);
}

liana_status liana_predictor_open(liana_context *context, const char *path, const liana_predictor_options *options,
                                  liana_predictor **predictor)
{
    LIANA__REQUIRE(liana__context_error(context), predictor);
    *predictor = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, path);
    LIANA__CONTEXT_CALL(context, open_path(context, path, options, predictor));
}

static liana_status create(liana_model *model, const liana_predictor_options *options, liana_predictor **out)
{
    LIANA_TRY(liana_model_status(model));
    liana__shared_model *shared = share_model(model, true);
    if (!shared) return liana__fail_memory(&model->context->error, "a predictor");
    return make(shared, options, out, &model->context->error);
}

liana_status liana_predictor_create(liana_model *model, const liana_predictor_options *options,
                                    liana_predictor **predictor)
{
    LIANA__REQUIRE(model ? &model->context->error : NULL, predictor);
    *predictor = NULL;
    LIANA__REQUIRE(NULL, model);
    LIANA__CONTEXT_CALL(model->context, create(model, options, predictor));
}

liana_status liana_predictor_share(const liana_predictor *predictor, const liana_predictor_options *options,
                                   liana_predictor **other)
{
    LIANA__REQUIRE(predictor ? &predictor->shared->context->error : NULL, other);
    *other = NULL;
    LIANA__REQUIRE(NULL, predictor);
    liana_context *context = predictor->shared->context;
    LIANA__CONTEXT_CALL(context, make(liana__shared_model_hold(predictor->shared), options, other, &context->error));
}

void liana_predictor_close(liana_predictor *predictor)
{
    if (!predictor) return;
    liana_image_decoder_destroy(predictor->decoder);
    if (predictor->is_compiled) liana__training_close(&predictor->training);
    for (size_t i = 0; predictor->inputs && i < predictor->facts.num_inputs; i++) free(predictor->inputs[i].rows);
    free(predictor->computed);
    free(predictor->positions);
    free(predictor->rows);
    liana__arena_free(&predictor->arena);
    liana__context_end_branch(predictor->context);
    liana__pool_destroy(predictor->pool);
    liana__shared_model_release(predictor->shared);
    free(predictor);
}

const char *liana_predictor_message(const liana_predictor *predictor)
{
    return predictor && predictor->context ? predictor->context->error.message : "";
}

/* ---- facts ---- */

liana_predictor_facts liana_predictor_info(const liana_predictor *predictor)
{
    return predictor ? predictor->facts : (liana_predictor_facts){0};
}

liana_predictor_port liana_predictor_input(const liana_predictor *predictor, size_t index)
{
    const bool exists = predictor && index < predictor->facts.num_inputs;
    return exists ? predictor->inputs[index].port : (liana_predictor_port){0};
}

liana_predictor_port liana_predictor_output(const liana_predictor *predictor, size_t index)
{
    const bool exists = predictor && index < predictor->facts.num_outputs;
    return exists ? predictor->outputs[index] : (liana_predictor_port){0};
}
