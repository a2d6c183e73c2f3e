/* Keeps, writes and reads the losses and metrics that a model was trained with. */
#include "train/model/model_objective.h"

#include "base/scoped.h"
#include "formats/json.h"

#include <string.h>

const char *const liana__model_objective_key = "objective";

enum { NUM_PARTS = 3 };

static const char *const keys[NUM_PARTS] = {"loss", "loss_weights", "metrics"};

/* Fits in a row would fill the model's arena with the same values. */
static liana_status keep_value(liana_model *model, const liana__value **kept, const liana__value *value,
                               liana__error *error)
{
    if (*kept && value && liana__value_equal(*kept, value)) return LIANA_OK;
    const liana__value *copy = value ? liana__value_copy(&model->arena, value) : NULL;
    if (value && (!copy || model->arena.failed)) return liana__fail_memory(error, "the losses");
    *kept = copy;
    return LIANA_OK;
}

liana_status liana__model_keep_optimizer(liana_model *model, const liana__value *optimizer, liana__error *error)
{
    return keep_value(model, &model->optimizer, optimizer, error);
}

liana_status liana__model_find_optimizer(const liana_model *model, const char *given, liana__arena *arena,
                                         liana__job_options *options, liana__error *error)
{
    if (given || !model->is_compiled || !model->optimizer) return LIANA_OK;
    const char *text = liana__json_line(model->optimizer, arena);
    options->optimizer = text ? liana__value_string(arena, text) : NULL;
    return options->optimizer ? LIANA_OK : liana__fail_memory(error, "the optimizer");
}

static liana_status keep(liana_model *model, const liana__value *const parts[NUM_PARTS], liana__error *error)
{
    bool is_usual = !parts[0] && !parts[1] && !parts[2];
    if (is_usual && !model->objective) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *known = liana__value_map(&arena);
    for (int i = 0; i < NUM_PARTS; i++) liana__value_set(&arena, known, keys[i], liana__value_copy(&arena, parts[i]));
    if (!known || arena.failed) return liana__fail_memory(error, "the losses");
    return keep_value(model, &model->objective, known, error);
}

liana_status liana__model_keep_objective(liana_model *model, const liana__objective_request *request,
                                         liana__error *error)
{
    const liana__value *const parts[NUM_PARTS] = {request->loss, request->loss_weights, request->metrics};
    LIANA_TRY(keep(model, parts, error));
    model->knows_objective = true;
    return LIANA_OK;
}

static void recall(const liana_model *model, liana__objective_request *request)
{
    if (request->loss || request->loss_weights || request->metrics || !model->objective) return;
    request->loss = liana__value_get(model->objective, keys[0]);
    request->loss_weights = liana__value_get(model->objective, keys[1]);
    request->metrics = liana__value_get(model->objective, keys[2]);
}

bool liana__model_has_no_loss(const liana_model *model)
{
    const bool gives_classes =
        liana__model_num_outputs(model) == 1 && liana__model_check_probabilities(model, 0, NULL) == LIANA_OK;
    return !model->objective && !gives_classes;
}

liana_status liana__model_find_objective(const liana__job_options *options, const liana__data_match *match, bool trains,
                                         liana__arena *arena, liana__objective_request *request,
                                         const liana__objective **objective, liana__error *error)
{
    const liana_component *targets[LIANA__MAX_OUTPUTS] = {0};
    for (size_t i = 0; match && i < LIANA__MAX_OUTPUTS; i++) {
        if (match->targets[i].name) targets[i] = &match->targets[i];
    }
    request->loss = options->loss;
    request->loss_weights = options->loss_weights;
    request->metrics = options->metrics;
    request->where = options->is_of_program ? NULL : "train";
    request->threshold = options->threshold;
    if (options->is_of_program) LIANA_TRY(liana__read_objective(&options->objective, arena, request, error));
    if (!trains || (options->is_of_program && request->model->is_compiled)) recall(request->model, request);
    request->predicts = request->predicts && !request->loss;
    liana__objective *made = liana__arena_allocate(arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "the loss");
    request->targets = targets;
    liana_status status = liana__objective_create(request, trains, arena, made, error);
    request->targets = NULL;
    *objective = made;
    return status;
}

const char *liana__model_objective_text(const liana_model *model, liana__arena *arena)
{
    return model->objective ? liana__json_line(model->objective, arena) : "";
}

liana_status liana__model_objective_read(liana_model *model, const liana__value *map, liana__arena *arena,
                                         liana__error *error)
{
    (void)arena;
    const liana__value *parts[NUM_PARTS];
    for (int i = 0; i < NUM_PARTS; i++) parts[i] = liana__value_get(map, keys[i]);
    return keep(model, parts, error);
}
