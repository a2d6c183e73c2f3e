/* The graph of a step's update: the sums that it reads, and the moving averages that it moves. */
#include "step/user_update.h"
#include "base/scoped.h"
#include "ir/device_scope.h"
#include "ir/given.h"
#include "ir/shape.h"
#include "step/slice_update.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

static const char *const first_sum = "sums";

/* An update that is being built. Arrays are in the graph's arena. */
typedef struct update_state {
    const liana__user_update *plan;
    liana_tensor named;      /* f32 [names] */
    liana_tensor *sums;      /* by item */
    liana_tensor *gradients; /* by variable: those that the function sees */
    liana_tensor scalars[LIANA_MAX_SETTINGS];
} update_state;

/* Inputs of the update have these prefixes, so that no two can have one name. */
static const char *input_name(liana_graph *graph, const char *prefix, const char *name)
{
    const char *text = liana__arena_format(&graph->arena, "%s/%s", prefix, name);
    return text ? text : "";
}

liana_tensor liana_update_scalar_at(liana_location here, const liana_update *update, const char *name)
{
    if (!update || !update->graph) return (liana_tensor){0};
    const update_state *state = update->state;
    const liana__update_builder *builder = &state->plan->builder;
    liana__nearest_search search = liana__nearest_begin(name ? name : "");
    for (size_t i = 0; i < builder->num_scalars; i++) {
        if (strcmp(builder->scalar_names[i], name ? name : "") == 0) return state->scalars[i];
        liana__nearest_add(&search, builder->scalar_names[i]);
    }
    return liana__graph_fail(update->graph, here, LIANA_NOT_FOUND, "%s: there is no scalar '%.100s' in the options%s",
                             state->plan->name, name ? name : "", liana__hint(search.nearest).text);
}

liana_tensor liana_update_sum_at(liana_location here, const liana_update *update, const char *name)
{
    if (!update || !update->graph) return (liana_tensor){0};
    const update_state *state = update->state;
    const liana__user_update *plan = state->plan;
    liana__nearest_search search = liana__nearest_begin(name ? name : "");
    for (size_t i = 0; i < plan->num_names; i++) {
        const int64_t begin = (int64_t)i, end = begin + 1;
        liana__nearest_add(&search, plan->names[i]);
        if (strcmp(plan->names[i], name ? name : "") != 0) continue;
        return liana_op_reshape_at(here, liana_op_slice_at(here, state->named, &begin, &end, NULL), LIANA_SCALAR);
    }
    return liana__graph_fail(update->graph, here, LIANA_NOT_FOUND, "%s: the shard has no sum '%.100s'%s",
                             state->plan->name, name ? name : "", liana__hint(search.nearest).text);
}

/* ---- losses of variables ---- */

/* Whether the loss depends on each of the variables. */
static bool *find_dependences(const liana_update *update, const liana__node *loss)
{
    liana_graph *graph = update->graph;
    bool *needed = liana__arena_allocate(&graph->arena, graph->num_nodes * sizeof *needed);
    if (!needed) return NULL;
    needed[loss->id] = true;
    for (size_t id = loss->id; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) needed[node->inputs[i]->id] = true;
    }
    return needed;
}

static void add_gradients(liana_location here, const liana_update *update, liana_tensor loss, const bool *needed,
                          liana_tensor *found)
{
    const update_state *state = update->state;
    size_t count = 0;
    liana_tensor *variables = found + update->num_variables;
    for (size_t i = 0; i < update->num_variables; i++) {
        if (needed[update->variables[i].id]) variables[count++] = update->variables[i];
    }
    if (count) liana_gradients_at(here, loss, variables, count, found);
    for (size_t i = 0, k = 0; k < count; i++) {
        if (!needed[update->variables[i].id]) continue;
        state->gradients[i] = liana_op_add_at(here, state->gradients[i], found[k++]);
    }
}

void liana_update_add_loss_at(liana_location here, liana_update *update, liana_tensor loss)
{
    liana_graph *graph = update && update->graph ? update->graph : loss.graph;
    if (!LIANA__GRAPH_REQUIRE(graph, here, update) || !update->graph || graph->status != LIANA_OK) return;
    const liana__node *node = loss.graph == graph ? liana__tensor_node(loss) : NULL;
    if (!node || node->shape.rank != 0 || !liana__dtype_is_float(node->dtype)) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "the loss that is added is %s, expected a float scalar of the update's graph",
                          node ? liana__type_print(node->dtype, &node->shape).text : "no tensor of it");
        return;
    }
    const bool *needed = find_dependences(update, node);
    liana_tensor *found = liana__arena_allocate(&graph->arena, (2 * update->num_variables + 1) * sizeof *found);
    if (!needed || !found) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for gradients");
        return;
    }
    add_gradients(here, update, loss, needed, found);
}

/* ---- moving averages ---- */

static liana_tensor variable_of(const liana_update *update, const liana__step_sum *item)
{
    return liana_graph_variable(update->graph, item->variable, item->dtype, item->shape);
}

/* The item of a variable's statistic; NULL: missing. */
static const liana__step_sum *find_statistic(const liana__step_sums *sums, const char *variable)
{
    for (size_t i = sums->num_gradients; i < sums->count; i++) {
        if (strcmp(sums->items[i].variable, variable) == 0) return &sums->items[i];
    }
    return NULL;
}

static void assign_averages(const liana_update *update)
{
    const update_state *state = update->state;
    const liana__step_sums *sums = state->plan->sums;
    for (size_t i = sums->num_gradients; i < sums->count; i++) {
        const liana__step_sum *item = &sums->items[i];
        liana_tensor average = variable_of(update, item), statistic = liana_op_divide(state->sums[i], update->count);
        const liana__step_sum *about = item->about ? find_statistic(sums, item->about) : NULL;
        if (about) {
            liana_tensor mean = liana_op_divide(state->sums[about - sums->items], update->count);
            statistic = liana__second_moment_about(statistic, mean, variable_of(update, about));
        }
        liana_graph_assign(average, liana__follow_statistic(average, statistic, item->momentum));
    }
}

/* ---- the graph ---- */

/* First the sums, then the scalars. */
static bool add_inputs(liana_update *update, update_state *state)
{
    const liana__user_update *plan = state->plan;
    const liana__step_sums *sums = plan->sums;
    liana_graph *graph = update->graph;
    const size_t size = (sums->count + 1) * sizeof(liana_tensor);
    liana_tensor *lists[3];
    for (int i = 0; i < 3; i++) {
        lists[i] = liana__arena_allocate(&graph->arena, size);
        if (!lists[i]) return false;
    }
    liana_tensor *variables = lists[0], *gradients = lists[1];
    state->sums = lists[2];
    const int64_t length = plan->num_sums ? (int64_t)plan->num_sums : 1;
    state->named = liana_graph_input(graph, first_sum, LIANA_F32, liana_shape_of(length));
    for (size_t i = 0; i < sums->count; i++) {
        const liana__step_sum *item = &sums->items[i];
        state->sums[i] =
            liana_graph_input(graph, input_name(graph, first_sum, item->variable), item->dtype, item->shape);
    }
    update->count = liana_graph_input(graph, "count", LIANA_F32, LIANA_SCALAR);
    for (size_t i = 0; i < plan->builder.num_scalars; i++) {
        const char *name = input_name(graph, "scalars", plan->builder.scalar_names[i]);
        state->scalars[i] = liana_graph_input(graph, name, LIANA_F32, LIANA_SCALAR);
    }
    for (size_t i = 0; i < sums->num_gradients; i++) {
        const liana_dtype dtype = sums->items[i].dtype;
        liana_tensor count = dtype == LIANA_F32 ? update->count : liana_op_cast(update->count, dtype);
        variables[i] = variable_of(update, &sums->items[i]);
        const liana__node *node = liana__tensor_node(variables[i]);
        if (node && sums->items[i].constraint) {
            liana__graph_constrain(graph, LIANA_HERE, node, sums->items[i].constraint);
        }
        gradients[i] = liana_op_divide(state->sums[i], count);
    }
    update->num_variables = sums->num_gradients;
    update->variables = variables;
    update->gradient_sums = state->sums;
    update->gradients = state->gradients = gradients;
    return true;
}

static liana_status status_of(const liana__user_update *plan, const liana_graph *graph, size_t num_inputs,
                              liana__error *error)
{
    const char *name = plan->name;
    if (graph->status != LIANA_OK) {
        if (error && error != &plan->context->error) *error = plan->context->error;
        return liana__fail_within(error, "%s: the update", name);
    }
    if (graph->num_inputs != num_inputs) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the update has an input '%s' of its own; name it in .scalars of the options", name,
                           graph->inputs[num_inputs]->name);
    }
    if (graph->num_assignments > 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the update assigns to no variable; of a step that only measures .update is NULL", name);
}

static liana_status build_whole(const liana__user_update *plan, liana_graph **out, liana__error *error)
{
    liana_graph *graph;
    *out = NULL;
    LIANA_TRY(liana_graph_create(plan->context, &graph));
    liana__scopes_forbid(graph, LIANA__SCOPES_OF_STRATEGY);
    update_state state = {.plan = plan};
    liana_update update = {.graph = graph, .state = &state};
    liana_status status = add_inputs(&update, &state) ? LIANA_OK : liana__fail_memory(error, "an update");
    if (status == LIANA_OK) {
        size_t num_inputs = graph->num_inputs;
        assign_averages(&update);
        plan->function(&update, plan->user);
        status = status_of(plan, graph, num_inputs, error);
    }
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    *out = graph;
    return LIANA_OK;
}

/* The inputs behind the vector of sums: sums, then the inputs that every slice has. */
static size_t end_of_sums(const liana__user_update *plan)
{
    return 1 + plan->sums->count;
}

static liana_status cut(void *user, size_t num_slices, liana__error *error)
{
    liana__user_update *plan = user;
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *graph = NULL;
    LIANA_TRY(build_whole(plan, &graph, error));
    liana__update_cut_free(&plan->cut);
    return liana__update_cut_make(graph, 1, end_of_sums(plan), num_slices, &plan->cut, error);
}

static liana_status build(void *user, size_t slice, liana_graph **out, liana__error *error)
{
    const liana__user_update *plan = user;
    liana_graph *graph;
    *out = NULL;
    LIANA_TRY(build_whole(plan, &graph, error));
    if (slice == LIANA__WHOLE_UPDATE) {
        *out = graph;
        return LIANA_OK;
    }
    const liana_status status = liana__update_cut_build(&plan->cut, graph, end_of_sums(plan), slice, out);
    if (status != LIANA_OK && error && error != &plan->context->error) *error = plan->context->error;
    liana_graph_destroy(graph);
    return status;
}

static size_t find_sum(void *user, const char *input)
{
    const liana__step_sums *sums = ((const liana__user_update *)user)->sums;
    if (strcmp(input, first_sum) == 0) return 0;
    return 1 + (size_t)(liana__step_sums_find(sums, input + strlen(first_sum) + 1) - sums->items);
}

static const char *name_sum(void *user, const char *input)
{
    const size_t sum = find_sum(user, input);
    return sum ? ((const liana__user_update *)user)->sums->items[sum - 1].variable : input;
}

void liana__user_update_init(liana__user_update *update, const char *const *scalars, size_t num_scalars)
{
    update->builder =
        (liana__update_builder){.functions = {.build = build, .find_sum = find_sum, .cut = cut, .user = update},
                                .name_sum = name_sum,
                                .num_scalars = num_scalars,
                                .number_scalar = num_scalars,
                                .scalar_names = scalars,
                                .shares_variables = true};
}

void liana__user_update_free(liana__user_update *update)
{
    liana__update_cut_free(&update->cut);
}
