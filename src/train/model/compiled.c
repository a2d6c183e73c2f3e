/* Compiles a model for fit, evaluate and predict, and keeps the results. */
#include "train/model/compiled.h"

#include "base/text.h"
#include "data/source/source.h"
#include "program/optimizer_text.h"
#include "train/core/averaged_weights.h"
#include "train/model/model_objective.h"
#include "train/model/model_values.h"
#include "train/plan/tile_advice.h"

#include <stdlib.h>
#include <string.h>

/* One for fits, and one for evaluations and predictions. */
enum { OF_FIT, OF_EVALUATION, NUM_KEPT };

typedef struct kept {
    char *key; /* what was asked for; NULL: nothing is kept */
    liana__arena arena;
    liana__training training;
    liana__objective_request asked; /* values in the arena */
    uint64_t values_version;        /* of the model's weights that the variables have */
} kept;

typedef struct compiled {
    kept items[NUM_KEPT];
} compiled;

static void drop(kept *item)
{
    if (!item->key) return;
    liana__training_close(&item->training);
    liana__arena_free(&item->arena);
    free(item->key);
    *item = (kept){0};
}

static void destroy(void *user)
{
    compiled *own = user;
    for (int i = 0; i < NUM_KEPT; i++) drop(&own->items[i]);
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

/* ---- what is asked for ---- */

liana_status liana__compiled_check_sizes(int64_t batch_size, int64_t microbatch, int64_t data_memory,
                                         liana__error *error)
{
    if (batch_size < 1 || batch_size > INT32_MAX || microbatch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "batch_size is %lld and microbatch %lld, expected at least 1 and 0 (or 0: the default)",
                           (long long)batch_size, (long long)microbatch);
    }
    if (data_memory >= 0 && data_memory <= 1 << 24) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "data_memory is %lld, expected 0 to %d MiB",
                       (long long)data_memory, 1 << 24);
}

liana_status liana__compiled_check_modes(liana_precision precision, liana_recompute recompute, int64_t memory,
                                         liana__error *error)
{
    if ((unsigned)precision > LIANA_PRECISION_AUTO) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found the precision %d, expected a liana_precision",
                           (int)precision);
    }
    if ((unsigned)recompute <= LIANA_RECOMPUTE_AUTO && memory >= 0 && memory <= 1 << 24) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "recompute is %d and memory %lld, expected a liana_recompute and 0 to %d MiB", (int)recompute,
                       (long long)memory, 1 << 24);
}

liana_status liana__compiled_check_weights(const double *weights, int64_t count, liana__error *error)
{
    if (count < 0 || count > LIANA__MAX_CLASSES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "num_class_weights is %lld, expected 0 to %d",
                           (long long)count, (int)LIANA__MAX_CLASSES);
    }
    for (int64_t i = 0; weights && i < count; i++) {
        if (weights[i] >= 0 && weights[i] <= 1e30) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "class_weights[%lld] is %g, expected a number of at least 0",
                           (long long)i, weights[i]);
    }
    return LIANA_OK;
}

static void describe_match(const liana__compile_request *request, liana__text *text)
{
    const liana__data_match *match = request->match;
    liana__text_add(text, "\n%d %d %d", request->predicts, match && match->has_image, match && match->weight);
    /* Losses that take classes and values look at what the data have. */
    for (size_t i = 0; match && i < LIANA__MAX_OUTPUTS; i++) {
        const liana_component *target = &match->targets[i];
        bool values = target->name && (target->dtype == LIANA_F32 || target->shape.rank > 0);
        liana__text_add(text, values ? " values" : " classes");
    }
    liana__text_add(text, "\n");
}

/* Everything that what is compiled depends on, as text. NULL: out of memory. */
static char *make_key(const liana__compile_request *request)
{
    liana__text text = {0};
    liana__text_add(&text, "%s\n", request->device ? request->device : "");
    liana__strategy_print(&request->strategy, &text);
    liana__text_add(&text, "\n%s\n", request->optimizer ? request->optimizer : "");
    for (int64_t i = 0; i < request->num_class_weights; i++) {
        liana__text_add_double(&text, request->class_weights[i]);
        liana__text_add(&text, " ");
    }
    liana__text_add(&text, "\n%lld %lld ", (long long)request->evaluation_batch_size,
                    (long long)request->steps_per_execution);
    liana__describe_objective(&request->objective, &text);
    describe_match(request, &text);
    if (!request->optimizer && request->model->objective) {
        liana__value_write_json(request->model->objective, 0, &text);
    }
    liana__text_add(&text, "%lld %lld %llu %d %d %d %d %d %d %lld %lld %llu", (long long)request->batch_size,
                    (long long)request->microbatch, (unsigned long long)request->seed, (int)request->scale,
                    (int)request->fractions, (int)request->mixes, (int)request->precision, (int)request->recompute,
                    (int)request->deterministic, (long long)request->memory, (long long)request->data_memory,
                    (unsigned long long)request->model->structure_version);
    return text.data;
}

/* ---- names ---- */

static liana_status read_optimizer(const liana_context *context, const char *text, liana__arena *arena,
                                   liana__optimizer_choice *choice, liana__error *error)
{
    liana__value *map;
    LIANA_TRY(liana__optimizer_text_read(text, arena, &map, error));
    return liana__optimizer_read(context, map, "optimizer", arena, choice, error);
}

/* ---- compiling ---- */

/* What reading, decoding and batches made ahead may take besides, and the cache of decoded images. */
static size_t data_bytes(int64_t mebibytes)
{
    return ((size_t)(mebibytes ? mebibytes : LIANA__DEFAULT_DATA_MEMORY) << 20) + liana__machine_memory() / 4;
}

/* What is minimised and measured: as it is named, else as the model was trained. */
static liana_status find_objective(const liana__compile_request *request, kept *item, liana__objective *objective,
                                   liana__error *error)
{
    const liana_component *targets[LIANA__MAX_OUTPUTS] = {0};
    for (size_t i = 0; request->match && i < LIANA__MAX_OUTPUTS; i++) {
        if (request->match->targets[i].name) targets[i] = &request->match->targets[i];
    }
    item->asked =
        (liana__objective_request){.model = request->model, .targets = targets, .predicts = request->predicts};
    LIANA_TRY(liana__read_objective(&request->objective, &item->arena, &item->asked, error));
    if (!request->optimizer) liana__model_recall_objective(request->model, &item->asked);
    liana_status status = liana__objective_create(&item->asked, request->optimizer, &item->arena, objective, error);
    item->asked.targets = NULL;
    const liana__place nowhere = {0};
    if (status != LIANA_OK || !request->num_class_weights) return status;
    return liana__objective_check_class_weights(objective, &nowhere, "class_weights", error);
}

static liana_status compile(const liana__compile_request *request, kept *item, liana__error *error)
{
    liana__optimizer_choice optimizer;
    const double *weights = NULL;
    if (request->num_class_weights) {
        size_t size = (size_t)request->num_class_weights * sizeof *weights;
        weights = liana__arena_copy(&item->arena, request->class_weights, size);
        if (!weights) return liana__fail_memory(error, "the weights of the classes");
    }
    const char *device = liana__arena_string(&item->arena, request->device ? request->device : "cpu");
    if (!device) return liana__fail_memory(error, "the device's name");
    liana__training_options options = {.device = device,
                                       .optimizer = request->optimizer ? &optimizer : NULL,
                                       .trainer = {.model = request->model,
                                                   .batch_size = request->batch_size,
                                                   .evaluation_batch_size = request->evaluation_batch_size,
                                                   .class_weights = weights,
                                                   .num_class_weights = request->num_class_weights,
                                                   .microbatch = request->microbatch,
                                                   .steps_per_execution = request->steps_per_execution,
                                                   .seed = request->seed,
                                                   .deterministic = request->deterministic,
                                                   .scale = request->scale,
                                                   .fractions = request->fractions,
                                                   .mixes = request->mixes},
                                       .precision = request->precision,
                                       .recompute = request->recompute,
                                       .memory = request->memory,
                                       .data_memory = data_bytes(request->data_memory),
                                       .notes = request->notes};
    if (request->stages) {
        optimizer = request->stages->items[0].optimizer;
    } else if (request->optimizer) {
        LIANA_TRY(read_optimizer(request->model->context, request->optimizer, &item->arena, &optimizer, error));
    }
    liana__objective *objective = liana__arena_allocate(&item->arena, sizeof *objective);
    if (!objective) return liana__fail_memory(error, "the loss");
    options.trainer.objective = objective;
    LIANA_TRY(find_objective(request, item, objective, error));
    if (request->match) {
        liana__trainer_input *inputs = liana__arena_allocate(&item->arena, LIANA__MAX_INPUTS * sizeof *inputs);
        if (!inputs) return liana__fail_memory(error, "the model's inputs");
        liana__data_match_inputs(request->model, request->match, inputs);
        options.trainer.inputs = inputs;
        options.trainer.weighted = request->match->weight != NULL;
    }
    LIANA_TRY(liana__strategy_of(&request->strategy, &item->arena, &options.strategy, error));
    LIANA_TRY(liana__training_open(&item->training, &options, error));
    if (options.optimizer) liana__tile_advice_note(&item->training, &options.notes);
    return LIANA_OK;
}

static liana_status get_item(const liana__compile_request *request, kept **item, liana__error *error)
{
    liana_model *model = request->model;
    if (!model->compiled) {
        model->compiled = calloc(1, sizeof(compiled));
        if (!model->compiled) return liana__fail_memory(error, "the model's programs");
        model->destroy_compiled = destroy;
    }
    *item = &((compiled *)model->compiled)->items[request->optimizer ? OF_FIT : OF_EVALUATION];
    return LIANA_OK;
}

liana_status liana__compiled_get(const liana__compile_request *request, liana__training **training, liana__error *error)
{
    liana_model *model = request->model;
    kept *item = NULL;
    LIANA_TRY(liana__model_values_complete(model, error));
    LIANA_TRY(get_item(request, &item, error));
    char *key = make_key(request);
    if (!key) return liana__fail_memory(error, "the model's programs");
    bool same = item->key && strcmp(item->key, key) == 0;
    liana_status status = LIANA_OK;
    if (same) {
        free(key);
    } else {
        drop(item);
        item->key = key;
        status = compile(request, item, error);
    }
    if (status == LIANA_OK && (!same || item->values_version != model->values_version)) {
        status = liana__model_values_write(model, &item->training.variables, error);
        if (status == LIANA_OK) status = liana__averaged_weights_begin_anew(&item->training, error);
        item->values_version = model->values_version;
    }
    if (status != LIANA_OK) drop(item);
    *training = &item->training;
    return status;
}

liana_status liana__compiled_take_weights(liana_model *model, const liana__training *training, liana__error *error)
{
    LIANA_TRY(liana__model_values_read(model, &training->variables, error));
    kept *item = &((compiled *)model->compiled)->items[OF_FIT];
    model->values_version++;
    item->values_version = model->values_version;
    return liana__model_keep_objective(model, &item->asked, error);
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
