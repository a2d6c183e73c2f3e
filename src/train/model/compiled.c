/* Compiles a model for fit, evaluate and predict, and keeps the results. */
#include "train/model/compiled.h"

#include "distribute/strategies/strategies.h"
#include "train/checkpoint/weights.h"
#include "train/job/job.h"
#include "train/model/model_objective.h"

#include <stdlib.h>
#include <string.h>

/* One for fits, and one for evaluations and predictions. */
enum { OF_FIT, OF_EVALUATION, NUM_KEPT };

typedef struct kept {
    liana__text key; /* the requested listing; empty: nothing is kept */
    liana__arena arena;
    liana__training training;
    liana__objective_request asked; /* values in the arena */
    const liana__value *optimizer;  /* in the arena; NULL: none, or one for each stage */
    uint64_t values_version;        /* of the model's weights that the variables have */
} kept;

typedef struct compiled {
    kept items[NUM_KEPT];
    liana__job_options defaults;  /* batch_size 0: not made */
    liana__arena arena;           /* of the defaults */
    liana__optimizer_state state; /* to go on from */
    const char *checkpoint;       /* that the weights are from, in the arena; NULL: none */
} compiled;

static void drop(kept *item)
{
    if (!item->key.length) return;
    liana__training_close(&item->training);
    liana__arena_free(&item->arena);
    liana__text_free(&item->key);
    *item = (kept){0};
}

static void destroy(void *user)
{
    compiled *own = user;
    for (int i = 0; i < NUM_KEPT; i++) drop(&own->items[i]);
    liana__optimizer_state_free(&own->state);
    liana__arena_free(&own->arena);
    free(own);
}

void liana__compiled_forget(liana_model *model)
{
    compiled *own = model->compiled;
    if (own) drop(&own->items[OF_FIT]);
}

void *liana__compiled_set_aside(liana_model *model)
{
    void *aside = model->compiled;
    model->compiled = NULL;
    return aside;
}

void liana__compiled_put_back(liana_model *model, void *aside)
{
    if (model->compiled) destroy(model->compiled);
    model->compiled = aside;
}

/* ---- requests ---- */

static void describe_match(const liana__compile_request *request, liana__text *text)
{
    const liana__data_match *match = request->match;
    liana__text_add(text, "\n%d %d %d", request->predicts, match && match->has_image, match && match->weight);
    /* Losses that take classes and values look at the targets of the data. */
    for (size_t i = 0; match && i < LIANA__MAX_OUTPUTS; i++) {
        const liana_component *target = &match->targets[i];
        bool values = target->name && (target->dtype == LIANA_F32 || target->shape.rank > 0);
        liana__text_add(text, values ? " values" : " classes");
    }
    liana__text_add(text, "\n");
}

/* Everything that the compiled training depends on, as bytes. */
static liana__text make_key(const liana__compile_request *request)
{
    liana__text text = {0};
    liana__job_describe(request->job, &text);
    describe_match(request, &text);
    if ((!request->job->optimizer || request->model->is_compiled) && request->model->objective) {
        liana__value_write_json(request->model->objective, 0, &text);
    }
    liana__text_add(&text, "%d %d %d %lld %llu", (int)request->scale, (int)request->fractions, (int)request->mixes,
                    (long long)request->data_memory, (unsigned long long)request->model->structure_version);
    return text;
}

/* ---- compiling ---- */

/* The memory for reading, decoding, batches made ahead, and the cache of decoded images. */
static size_t data_bytes(int64_t mebibytes)
{
    return ((size_t)(mebibytes ? mebibytes : LIANA__DEFAULT_DATA_MEMORY) << 20) + liana__machine_memory() / 4;
}

static liana_status find_optimizer(const liana__compile_request *request, liana__optimizer_choice *choice, kept *item,
                                   liana__error *error)
{
    if (request->stages) *choice = request->stages->items[0].optimizer;
    if (request->stages || !request->job->optimizer) return LIANA_OK;
    LIANA_TRY(liana__job_optimizer_value(request->job, &item->arena, &item->optimizer, error));
    return liana__optimizer_read(request->model->context, item->optimizer, "optimizer", &item->arena, choice, error);
}

/* The item owns the memory that the training borrows. */
static liana_status compile(const liana__compile_request *request, kept *item, liana__error *error)
{
    liana__arena *arena = &item->arena;
    liana__optimizer_choice optimizer;
    if (request->job->optimizer) LIANA_TRY(liana__model_check_used(request->model, error));
    liana__job_options job = *request->job;
    job.device = liana__arena_string(arena, job.device);
    if (job.weights) job.weights = liana__arena_copy(arena, job.weights, (size_t)job.num_weights * sizeof *job.weights);
    if (arena->failed) return liana__fail_memory(error, "the model's programs");
    liana__training_options options = {.optimizer = job.optimizer ? &optimizer : NULL,
                                       .trainer = {.model = request->model,
                                                   .class_weights = job.weights,
                                                   .num_class_weights = job.num_weights,
                                                   .scale = request->scale,
                                                   .fractions = request->fractions,
                                                   .mixes = request->mixes},
                                       .data_memory = data_bytes(request->data_memory),
                                       .notes = request->notes};
    LIANA_TRY(find_optimizer(request, &optimizer, item, error));
    const liana__objective **objective = &options.trainer.objective;
    item->asked = (liana__objective_request){.model = request->model, .predicts = request->predicts};
    LIANA_TRY(liana__model_find_objective(&job, request->match, job.optimizer, arena, &item->asked, objective, error));
    if (job.num_weights) {
        const liana__place nowhere = {0};
        LIANA_TRY(liana__objective_check_class_weights(*objective, &nowhere, "class_weights", error));
    }
    LIANA_TRY(liana__strategy_of(&job.own_strategy, arena, &options.strategy, error));
    return liana__job_compile(&job, request->match, &options, arena, &item->training, error);
}

static liana_status get_compiled(liana_model *model, compiled **own, liana__error *error)
{
    if (!model->compiled) {
        model->compiled = calloc(1, sizeof(compiled));
        if (!model->compiled) return liana__fail_memory(error, "the model's programs");
        model->destroy_compiled = destroy;
    }
    *own = model->compiled;
    return LIANA_OK;
}

liana_status liana__compiled_defaults(liana_model *model, const liana__job_options **defaults, liana__error *error)
{
    compiled *own = NULL;
    LIANA_TRY(get_compiled(model, &own, error));
    if (!own->defaults.batch_size) {
        liana__job_options made;
        LIANA_TRY(liana__job_defaults(&own->arena, &made, error));
        own->defaults = made;
    }
    *defaults = &own->defaults;
    return LIANA_OK;
}

liana_status liana__compiled_get(const liana__compile_request *request, liana__training **training, liana__error *error)
{
    liana_model *model = request->model;
    compiled *own = NULL;
    LIANA_TRY(liana__model_values_complete(model, error));
    LIANA_TRY(get_compiled(model, &own, error));
    kept *item = &own->items[request->job->optimizer ? OF_FIT : OF_EVALUATION];
    liana__text key = make_key(request);
    bool same = item->key.length == key.length && memcmp(item->key.data, key.data, key.length) == 0;
    liana_status status = LIANA_OK;
    if (key.failed) {
        liana__text_free(&key);
        return liana__fail_memory(error, "the model's programs");
    }
    if (same) {
        liana__text_free(&key);
    } else {
        drop(item);
        item->key = key;
        status = compile(request, item, error);
    }
    if (status == LIANA_OK && !same && request->job->optimizer) {
        item->training.stages = request->stages;
        status = liana__optimizer_state_begin(&own->state, &item->training, &request->notes, error);
    }
    if (status == LIANA_OK && (!same || item->values_version != model->values_version)) {
        status = liana__model_values_write(model, &item->training.variables, error);
        if (status == LIANA_OK) status = liana__averaged_weights_begin_anew(&item->training, error);
        item->values_version = model->values_version;
    }
    /* They are those that the last call left, be it a fit, an evaluation or a prediction. */
    if (status == LIANA_OK) status = liana__model_states_write(model, &item->training.variables, error);
    if (status != LIANA_OK) drop(item);
    *training = &item->training;
    return status;
}

void liana__default_to_states(const liana_model *model, int64_t *batch_size)
{
    if (liana__model_stateful_layer(model)) *batch_size = liana__model_batch_size(model);
}

liana_status liana__compiled_take_weights(liana_model *model, const liana__training *training, liana__error *error)
{
    LIANA_TRY(liana__model_values_read(model, &training->variables, error));
    compiled *own = model->compiled;
    kept *item = &own->items[OF_FIT];
    model->values_version++;
    liana__optimizer_state_free(&own->state);
    own->checkpoint = NULL;
    item->values_version = model->values_version;
    LIANA_TRY(liana__model_keep_optimizer(model, item->optimizer, error));
    return liana__model_keep_objective(model, &item->asked, error);
}

/* ---- the state of the optimizer ---- */

liana_status liana__compiled_take_state(liana_model *model, liana__optimizer_state *state, liana__error *error)
{
    compiled *own = NULL;
    LIANA_TRY(get_compiled(model, &own, error));
    liana__optimizer_state_free(&own->state);
    own->state = *state;
    *state = (liana__optimizer_state){0};
    return LIANA_OK;
}

liana_status liana__compiled_remember_checkpoint(liana_model *model, const char *checkpoint, liana__error *error)
{
    compiled *own = NULL;
    LIANA_TRY(get_compiled(model, &own, error));
    own->checkpoint = liana__arena_string(&own->arena, checkpoint);
    return own->checkpoint ? LIANA_OK : liana__fail_memory(error, checkpoint);
}

liana_status liana__compiled_find_state(const liana_model *model, liana__optimizer_state *made,
                                        const liana__optimizer_state **state, liana__error *error)
{
    compiled *own = model->compiled;
    const kept *item = own ? &own->items[OF_FIT] : NULL;
    *state = NULL;
    if (!own) return LIANA_OK;
    if (own->state.optimizer) {
        *state = &own->state;
        return liana__optimizer_state_check(&own->state, model, error);
    }
    const bool has_fit = item->key.length && item->optimizer, has_checkpoint = own->checkpoint && model->optimizer;
    if (!has_fit && !has_checkpoint) return LIANA_OK;
    *state = made;
    if (!has_fit) {
        LIANA_TRY(liana__optimizer_state_create(model, model->optimizer, own->checkpoint, made, error));
        return liana__optimizer_state_read(own->checkpoint, made, error);
    }
    LIANA_TRY(liana__optimizer_state_create(model, item->optimizer, NULL, made, error));
    return liana__optimizer_state_take(&item->training, made, error);
}

liana_results liana__results_of(const liana__totals *totals)
{
    liana_results results = {.num_examples = totals->count,
                             .loss = liana__totals_value(totals, 0),
                             .bad_records = totals->bad_records};
    const liana__objective *objective = totals->objective;
    size_t count = objective ? objective->num_values - 1 : 0;
    results.num_metrics = count < LIANA_MAX_METRICS ? count : LIANA_MAX_METRICS;
    for (size_t i = 0; i < results.num_metrics; i++) {
        results.metrics[i] = liana__totals_value(totals, i + 1);
        results.metric_names[i] = objective->value_names[i + 1];
    }
    return results;
}
