/* An update of a model function's own is that of a step (train/step), with the trainer's sums. */
#include "train/estimator/own_update.h"

#include "ir/graph.h"

#include <string.h>

/* ---- sums ---- */

static void add_name(liana__step_sums *sums, const char *name)
{
    if (sums->num_names < LIANA_MAX_SUMS) sums->names[sums->num_names++] = name;
}

/* The first sum of a mean has its name; other sums "NAME/1". */
static void name_sums(const liana__fn_built *built, liana__arena *arena, liana__step_sums *sums)
{
    sums->length = built->num_sums;
    add_name(sums, "loss");
    for (size_t i = 0; i < built->num_metrics; i++) {
        const liana__fn_metric *metric = &built->metrics[i];
        for (size_t k = 0; k < metric->num_sums; k++) {
            bool is_plain = metric->is_mean && k == 0;
            add_name(sums, is_plain ? metric->name : liana__arena_format(arena, "%s/%zu", metric->name, k));
        }
    }
}

static liana__step_sum *add_item(liana__function_model *own, const char *variable)
{
    liana__step_sums *sums = &own->step.sums;
    liana__step_sum *item = &sums->items[sums->count++];
    size_t weight = (size_t)liana__model_find_weight(own->model, variable);
    *item = (liana__step_sum){.variable = own->model->weights[weight].name,
                              .dtype = LIANA_F32,
                              .shape = own->model->weights[weight].shape};
    return item;
}

/* In the order of a training leaf's sums: gradients, then moving averages. */
static liana_status list_sums(liana__function_model *own, liana__error *error)
{
    const liana__fn_built *built = own->modes.train;
    const liana_model *model = own->model;
    liana__step_sums *sums = &own->step.sums;
    sums->items =
        liana__arena_allocate(own->arena, (model->num_weights + built->num_averages + 1) * sizeof *sums->items);
    if (!sums->items) return liana__fail_memory(error, "an update");
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        add_item(own, model->weights[i].name)->is_gradient = true;
        sums->num_gradients++;
    }
    for (size_t i = 0; i < built->num_averages; i++) {
        liana__step_sum *item = add_item(own, built->averages[i].variable);
        item->momentum = built->averages[i].momentum;
        item->about = built->averages[i].about;
    }
    name_sums(built, own->arena, sums);
    return own->arena->failed ? liana__fail_memory(error, "an update") : LIANA_OK;
}

/* ---- variables that only the update has ---- */

static liana_status list_variables(liana__function_model *own, const liana_graph *graph, liana__error *error)
{
    size_t size = graph->num_variables + 1, count = 0;
    own->update_variables = liana__arena_allocate(own->arena, size * sizeof *own->update_variables);
    own->update_initializers = liana__arena_allocate(own->arena, size * sizeof *own->update_initializers);
    if (!own->update_variables || !own->update_initializers) return liana__fail_memory(error, "an update");
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        if (liana__model_find_weight(own->model, node->name) >= 0) continue;
        own->update_initializers[count] = liana__arena_string(own->arena, node->initializer);
        own->update_variables[count++] =
            (liana__update_variable){liana__arena_string(own->arena, node->name), node->dtype, node->shape};
    }
    own->function.update_variables = own->update_variables;
    own->function.num_update_variables = count;
    return own->arena->failed ? liana__fail_memory(error, "an update") : LIANA_OK;
}

/* These are applied by the optimizer's update. */
static liana_status check_rules(const liana__function_model *own, liana__error *error)
{
    const liana_model *model = own->model;
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        if (!weight->regularizer.type && !weight->constraint.type) continue;
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "%s: the weight '%s' has a %s, which an update of one's own does not apply; use an optimizer",
            own->fn->name, weight->name, weight->regularizer.type ? "regularizer" : "constraint");
    }
    return LIANA_OK;
}

static liana_status build_update(void *user, liana_graph **graph, liana__error *error)
{
    liana__function_model *own = user;
    return liana__step_build_update(&own->step, graph, error);
}

static size_t find_sum(void *user, const char *input)
{
    liana__function_model *own = user;
    return liana__step_find_sum(&own->step, input);
}

liana_status liana__own_update_make(liana__function_model *made, liana_context *context, liana__error *error)
{
    liana_graph *graph;
    liana_step *step = &made->step;
    step->context = context;
    step->options = (liana_step_options){.update = made->modes.train->update,
                                         .user = made->fn->params,
                                         .name = made->fn->name,
                                         .scalars = {"learning_rate", "iteration"}};
    step->num_scalars = 2;
    LIANA_TRY(check_rules(made, error));
    LIANA_TRY(list_sums(made, error));
    LIANA_TRY(liana__step_build_update(step, &graph, error));
    liana_status status = list_variables(made, graph, error);
    liana_graph_destroy(graph);
    made->function.build_update = build_update;
    made->function.find_sum = find_sum;
    return status;
}
