/* An update of a model function's own. */
#include "train/estimator/function_model.h"

#include "ir/graph.h"

#include <string.h>

/* ---- sums ---- */

/* The first sum of a mean has its name; other sums "NAME/1". */
static liana_status name_sums(liana__function_model *own, liana__error *error)
{
    const liana__fn_built *built = own->modes.train;
    const char **names = liana__arena_allocate(own->arena, (built->num_sums + 1) * sizeof *names);
    if (!names) return liana__fail_memory(error, "an update");
    size_t count = 0;
    names[count++] = "loss";
    for (size_t i = 0; i < built->num_metrics; i++) {
        const liana__fn_metric *metric = &built->metrics[i];
        for (size_t k = 0; k < metric->num_sums; k++) {
            bool is_plain = metric->is_mean && k == 0;
            names[count++] = is_plain ? metric->name : liana__arena_format(own->arena, "%s/%zu", metric->name, k);
        }
    }
    own->update.names = names;
    own->update.num_names = count < LIANA_MAX_SUMS ? count : LIANA_MAX_SUMS;
    own->update.num_sums = built->num_sums;
    return own->arena->failed ? liana__fail_memory(error, "an update") : LIANA_OK;
}

/* ---- variables that only the update has ---- */

static bool is_weight(const liana__function_model *own, const char *name)
{
    for (size_t i = 0; i < own->function.num_weights; i++) {
        if (strcmp(own->weights[i].name, name) == 0) return true;
    }
    return false;
}

static liana_status list_variables(liana__function_model *own, const liana_graph *graph, liana__error *error)
{
    size_t size = graph->num_variables + 1, count = 0;
    own->update_variables = liana__arena_allocate(own->arena, size * sizeof *own->update_variables);
    own->update_initializers = liana__arena_allocate(own->arena, size * sizeof *own->update_initializers);
    if (!own->update_variables || !own->update_initializers) return liana__fail_memory(error, "an update");
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        if (is_weight(own, node->name)) continue;
        own->update_initializers[count] = liana__arena_string(own->arena, node->initializer);
        own->update_variables[count++] =
            (liana__update_variable){liana__arena_string(own->arena, node->name), node->dtype, node->shape, 0};
    }
    own->num_update_variables = count;
    return own->arena->failed ? liana__fail_memory(error, "an update") : LIANA_OK;
}

/* These are applied by the optimizer's update. */
static liana_status check_rules(const liana__function_model *own, liana__error *error)
{
    for (size_t i = 0; i < own->function.num_weights; i++) {
        const liana_model *model = own->variables[i].model;
        const liana__weight *weight = model ? &model->weights[own->variables[i].weight] : NULL;
        if (!weight || (!weight->regularizer.type && !weight->constraint.type)) continue;
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "%s: the weight '%s' has a %s, which an update of one's own does not apply; use an optimizer",
            own->fn->name, weight->name, weight->regularizer.type ? "regularizer" : "constraint");
    }
    return LIANA_OK;
}

/* The sums that the update reads are those of a shard. */
static liana_status find_sums(liana__function_model *own, liana__error *error)
{
    liana_graph *graph;
    const liana__trainer_options options = {.objective = &own->objective, .inputs = own->arrivals};
    const liana__shard_rows rows = {2, 1, false};
    LIANA_TRY(own->function.build(own, &options, LIANA__STEP_TRAINING, &rows, &graph, error));
    liana_graph_destroy(graph);
    return name_sums(own, error);
}

liana_status liana__own_update_make(liana__function_model *made, liana__error *error)
{
    static const char *const scalars[] = {"learning_rate", "iteration"};
    liana_graph *graph;
    made->update = (liana__user_update){.context = made->function.context,
                                        .function = made->modes.train->update,
                                        .user = made->fn->params,
                                        .name = made->fn->name,
                                        .sums = &made->sums};
    LIANA_TRY(check_rules(made, error));
    LIANA_TRY(find_sums(made, error));
    liana__user_update_init(&made->update, scalars, sizeof scalars / sizeof *scalars);
    LIANA_TRY(made->update.builder.functions.build(&made->update, LIANA__WHOLE_UPDATE, &graph, error));
    const liana_status status = list_variables(made, graph, error);
    liana_graph_destroy(graph);
    made->update.builder.variables = made->update_variables;
    made->update.builder.num_variables = made->num_update_variables;
    made->function.update = &made->update.builder;
    return status;
}
