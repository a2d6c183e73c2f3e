/* Optimizers in a graph: slots as variables, updates as assignments. */
#include "program/optimizer.h"

#include "base/scoped.h"
#include "ir/device_scope.h"
#include "ir/shape.h"
#include "layers/rules/constraints.h"
#include "ops/autodiff.h"
#include "optimizers/update_rule.h"
#include "program/optimizer_text.h"

#include <stdio.h>

/* An update that is being built. */
typedef struct update {
    liana_location here;
    liana_graph *graph;
    const char *target;
    liana__optimizer_choice choice;
    liana__update_rule rule;
    liana_update_reads reads;
    liana_tensor *rates; /* liana__rule_num_rates */
    liana_tensor iteration;
    liana_optimizer_step *steps;
    size_t count;
    liana_tensor *changed; /* variables that are assigned to */
    size_t num_changed;
} update;

static const liana_optimizer_options standard;

/* ---- options ---- */

static liana__value *setting_value(const liana_optimizer_type *optimizer, const liana_setting *setting,
                                   liana__arena *arena)
{
    const liana__field *field = optimizer ? liana__fields_find(&optimizer->part.options, setting->name) : NULL;
    if (field && field->kind == LIANA__FIELD_BOOL) return liana__value_bool(arena, setting->value != 0);
    if (field && field->kind == LIANA__FIELD_INT) return liana__value_int(arena, (int64_t)setting->value);
    return liana__value_float(arena, setting->value);
}

liana_status liana__optimizer_options_read(const liana_context *context, const liana_optimizer_options *options,
                                           liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
{
    liana__value *map;
    LIANA_TRY(liana__optimizer_text_read(options->optimizer ? options->optimizer : "Adam", arena, &map, error));
    if (map->kind == LIANA__VALUE_MAP) {
        const liana__value *name = liana__value_get(map, "name");
        const liana_optimizer_type *known = name && name->kind == LIANA__VALUE_STRING
                                                ? liana__part_find(context, &liana__optimizer_kind, name->string, NULL)
                                                : NULL;
        for (size_t i = 0; i < LIANA_MAX_SETTINGS && options->settings[i].name; i++) {
            const liana_setting *setting = &options->settings[i];
            liana__value_set(arena, map, setting->name, setting_value(known, setting, arena));
        }
        if (options->learning_rate != 0) {
            liana__value_set(arena, map, "learning_rate", liana__value_float(arena, options->learning_rate));
        }
        if (options->rate.id) liana__value_remove(map, "learning_rate");
    }
    if (arena->failed) return liana__fail_memory(error, "an optimizer");
    return liana__optimizer_read(context, map, "optimizer", arena, choice, error);
}

/* A number for every update, or an error. */
static liana_tensor constant_rate(const update *u, const liana_learning_rate *rate)
{
    if (rate->schedule != &liana__schedule_Constant || liana__warmup_length(rate) > 0) {
        return liana__graph_fail(
            u->graph, u->here, LIANA_INVALID_CONFIG,
            "the learning rate of %s is the schedule %s; in a graph it is a number, or a tensor in "
            ".rate that is fed in each run",
            u->choice.optimizer->part.name, rate->schedule->part.name);
    }
    return liana_graph_scalar_at(u->here, u->graph, LIANA_F32, liana__learning_rate_at(rate, 0));
}

static liana_tensor given_rate(const update *u, liana_tensor rate)
{
    const liana__node *node = rate.graph == u->graph ? liana__tensor_node(rate) : NULL;
    if (node && node->dtype == LIANA_F32 && node->shape.rank == 0) return rate;
    return liana__graph_fail(u->graph, u->here, LIANA_INVALID_ARGUMENT,
                             "the learning rate is %s %s, expected a scalar f32 of this graph",
                             node ? liana__node_print(node).text : "no tensor of the graph",
                             node ? liana__type_print(node->dtype, &node->shape).text : "");
}

/* ---- checks ---- */

static bool check_pair(const update *u, size_t number, liana_tensor variable, liana_tensor gradient)
{
    const liana__node *to = variable.graph == u->graph ? liana__tensor_node(variable) : NULL;
    const liana__node *from = gradient.graph == u->graph ? liana__tensor_node(gradient) : NULL;
    if (!to || !from || !liana__is_variable(to)) {
        liana__graph_fail(u->graph, u->here, LIANA_INVALID_ARGUMENT,
                          "an optimizer updates variables: number %zu is %s, its gradient %s", number,
                          to ? liana__node_print(to).text : "no tensor of the graph",
                          from ? liana__node_print(from).text : "no tensor of the graph");
        return false;
    }
    if (to->dtype == LIANA_F32 && from->dtype == LIANA_F32 && liana_shape_equal(&to->shape, &from->shape)) return true;
    liana__graph_fail(u->graph, u->here, LIANA_INVALID_ARGUMENT,
                      "the variable '%s' is %s, its gradient %s; an optimizer needs f32 and equal shapes", to->name,
                      liana__type_print(to->dtype, &to->shape).text, liana__type_print(from->dtype, &from->shape).text);
    return false;
}

/* ---- constraints ---- */

static bool read_constraint(liana_location here, const liana__node *variable, liana_graph *graph, const char *text,
                            liana__constraint *constraint)
{
    liana__error error = {0};
    liana_status status = liana__constraint_read(graph->context, text, &graph->arena, constraint, &error);
    if (status == LIANA_OK) status = liana__constraint_fits(constraint, &variable->shape, &error);
    if (status == LIANA_OK) return true;
    liana__graph_fail(graph, here, status, "the constraint '%.60s' of the variable '%s' %s: %s", text, variable->name,
                      liana__shape_print(&variable->shape).text, error.message);
    return false;
}

liana_tensor liana_graph_constraint_at(liana_location here, liana_tensor variable, const char *text)
{
    liana_graph *graph = variable.graph;
    liana__constraint constraint;
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    const liana__node *node = liana__tensor_node(variable);
    if (!node || !liana__is_variable(node) || node->dtype != LIANA_F32 || !text) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                                 "a constraint needs a f32 variable and a text such as \"non_neg\"; found %s",
                                 !node  ? "no tensor"
                                 : text ? liana__node_print(node).text
                                        : "no text");
    }
    if (!read_constraint(here, node, graph, text, &constraint)) return (liana_tensor){graph, 0};
    liana__graph_constrain(graph, here, node, text);
    return graph->status == LIANA_OK ? variable : (liana_tensor){graph, 0};
}

static liana_tensor constrained(const update *u, liana_tensor variable, liana_tensor value)
{
    const liana__node *node = liana__tensor_node(variable);
    const char *text = node ? liana__graph_constraint(u->graph, node) : NULL;
    liana__constraint constraint;
    if (!text || !read_constraint(u->here, node, u->graph, text, &constraint)) return value;
    return liana__constrain(&constraint, value);
}

/* ---- building ---- */

static void assign(update *u, liana_tensor variable, liana_tensor value)
{
    liana_graph_assign_at(u->here, variable, value);
    u->changed[u->num_changed++] = variable;
}

/* Counts the updates; the optimizer sees 1 in the first one. */
static void make_iteration(update *u)
{
    char name[256];
    snprintf(name, sizeof name, "optimizer/%.200s/iteration", u->target);
    if (liana__graph_find_variable(u->graph, name) >= 0) {
        liana__graph_fail(u->graph, u->here, LIANA_INVALID_ARGUMENT,
                          "the graph has an optimizer with the target '%.200s' already; give this one another .target",
                          u->target);
        return;
    }
    liana_tensor done = liana_graph_variable_at(u->here, u->graph, name, LIANA_S64, LIANA_SCALAR);
    liana_graph_initializer_at(u->here, done, "zeros");
    liana_tensor one = liana_graph_scalar_at(u->here, u->graph, LIANA_S64, 1);
    liana_tensor now = liana_op_add_at(u->here, done, one);
    assign(u, done, now);
    u->iteration = liana_op_cast_at(u->here, now, LIANA_F32);
}

/* A variable's slots and its update are on its device. */
static uint32_t go_to(const update *u, liana_tensor variable)
{
    const liana__node *node = liana__tensor_node(variable);
    return liana__scope_enter_with_variables(u->graph, node ? liana__scope_of(u->graph, node) : 0);
}

static void go_back(const update *u, uint32_t before)
{
    liana__scope_leave_with_variables(u->graph, before);
}

static const char *name_of(liana_tensor variable)
{
    const char *name = liana_tensor_name(variable);
    return name ? name : "";
}

static liana_tensor rate_of(const update *u, liana_tensor variable, size_t number)
{
    return liana__multiply_rate(u->choice.rate_multipliers, name_of(variable), u->rates[number]);
}

/* Those of the optimizer and of the optimizers within it. */
static void make_rates(update *u, liana_tensor rate)
{
    const size_t count = liana__rule_num_rates(&u->rule);
    u->rates = liana__arena_allocate(&u->graph->arena, count * sizeof *u->rates);
    if (!u->rates) {
        liana__graph_fail(u->graph, u->here, LIANA_OUT_OF_MEMORY, "out of memory for an optimizer");
    } else if (rate.id && count > 1) {
        liana__graph_fail(u->graph, u->here, LIANA_INVALID_CONFIG,
                          "a MultiOptimizer has a rate in each of its optimizers, so it takes no .rate; leave it out");
    }
    for (size_t i = 0; i < count && u->graph->status == LIANA_OK; i++) {
        const liana_learning_rate *own = liana__rule_rate(&u->rule, i);
        u->rates[i] = rate.id ? given_rate(u, rate) : constant_rate(u, own ? own : &u->choice.learning_rate);
    }
}

/* Whether the patterns of multipliers, exclusions and optimizers are about these variables. */
static bool check_names(const update *u, const liana_tensor *variables)
{
    const char **names = liana__arena_allocate(&u->graph->arena, u->count * sizeof *names);
    for (size_t i = 0; names && i < u->count; i++) names[i] = name_of(variables[i]);
    liana__error error = {0};
    liana_status status = names ? liana__rate_multipliers_check(u->choice.rate_multipliers, names, u->count, &error)
                                : liana__fail_memory(&error, "an optimizer");
    const bool is_multi = liana__rule_num_rates(&u->rule) > 1;
    if (status == LIANA_OK && is_multi) status = liana__rule_check_names(&u->rule, names, u->count, &error);
    if (status != LIANA_OK) liana__graph_fail(u->graph, u->here, status, "%s", error.message);
    return status == LIANA_OK;
}

static liana_optimizer_step begin_step(const update *u, liana_tensor variable, liana_tensor gradient)
{
    const char *variable_name = name_of(variable);
    const uint32_t before = go_to(u, variable);
    const liana__update_rule rule = liana__rule_of(&u->rule, variable_name);
    liana_optimizer_step step = liana__rule_begin(&rule, variable_name);
    step.variable = variable;
    step.gradient = gradient;
    step.learning_rate = rate_of(u, variable, rule.number);
    step.common_rate = u->rates[rule.number];
    step.iteration = u->iteration;
    const liana_shape shape = liana_tensor_shape(variable);
    for (size_t slot = 0; slot < liana__rule_num_slots(&rule); slot++) {
        char name[512], first[64] = "zeros";
        double begins_at = liana__rule_slot_begins_at(&rule, slot);
        const liana_shape of_slot = liana__rule_slot_shape(&rule, slot, &shape);
        liana__rule_slot_variable(&rule, slot, variable_name, name, sizeof name);
        if (begins_at != 0) snprintf(first, sizeof first, "constant(%.17g)", begins_at);
        step.slots[slot] = liana_graph_variable_at(u->here, u->graph, name, LIANA_F32, of_slot);
        liana_graph_initializer_at(u->here, step.slots[slot], first);
    }
    go_back(u, before);
    return step;
}

/* Finishes the sums that the optimizer reads beyond elements, in double precision. */
static void make_sums(update *u, size_t number)
{
    const liana_sum_round *round = &u->reads.rounds[number];
    liana_tensor all[LIANA_MAX_ROUND_SUMS] = {{0}};
    for (size_t i = 0; i < u->count; i++) {
        liana_tensor terms[LIANA_MAX_ROUND_SUMS] = {{0}}, sums[LIANA_MAX_ROUND_SUMS] = {{0}};
        const uint32_t before = go_to(u, u->steps[i].variable);
        const liana__update_rule rule = liana__rule_of(&u->rule, u->steps[i].name);
        liana__rule_terms(&rule, number, &u->steps[i], terms);
        for (size_t k = 0; k < round->num_sums; k++) {
            liana_tensor wide = liana_op_cast_at(u->here, terms[k], LIANA_F64);
            sums[k] = liana_op_reduce_sum_at(u->here, wide, LIANA_ALL_AXES, false);
            u->steps[i].sums[number][k] = liana_op_cast_at(u->here, sums[k], LIANA_F32);
        }
        go_back(u, before);
        for (size_t k = 0; k < round->num_sums; k++) {
            all[k] = all[k].id ? liana_op_add_at(u->here, all[k], sums[k]) : sums[k];
        }
    }
    for (size_t i = 0; i < u->count && round->scope == LIANA_SUM_OF_ALL; i++) {
        for (size_t k = 0; k < round->num_sums; k++) {
            u->steps[i].sums[number][k] = liana_op_cast_at(u->here, all[k], LIANA_F32);
        }
    }
}

static void build(update *u, const liana_tensor *variables, const liana_tensor *gradients)
{
    for (size_t i = 0; i < u->count; i++) {
        if (!check_pair(u, i, variables[i], gradients[i])) return;
    }
    if (!check_names(u, variables)) return;
    make_iteration(u);
    for (size_t i = 0; i < u->count; i++) u->steps[i] = begin_step(u, variables[i], gradients[i]);
    for (size_t round = 0; round < u->reads.num_rounds; round++) make_sums(u, round);
    for (size_t i = 0; i < u->count && u->graph->status == LIANA_OK; i++) {
        liana_optimizer_step *step = &u->steps[i];
        const uint32_t before = go_to(u, step->variable);
        const liana__update_rule rule = liana__rule_of(&u->rule, step->name);
        liana__rule_update(&rule, step);
        liana_tensor value = constrained(u, step->variable, step->new_variable);
        assign(u, step->variable, liana__rule_constrained(&rule, step, value));
        for (size_t slot = 0; slot < liana__rule_num_slots(&rule); slot++)
            assign(u, step->slots[slot], step->new_slots[slot]);
        go_back(u, before);
    }
    liana_graph_target_at(u->here, u->graph, u->target, u->changed, u->num_changed);
}

void liana__apply_optimizer(liana_location here, const liana_tensor *variables, const liana_tensor *gradients,
                            size_t count, const liana__optimizer_choice *choice, liana_tensor rate, const char *target)
{
    update u = {.here = here,
                .graph = variables[0].graph,
                .target = target,
                .choice = *choice,
                .rule = {.optimizer = choice->optimizer, .options = choice->options},
                .count = count};
    u.reads = liana__rule_reads(&u.rule);
    const size_t most = liana__rule_most_slots(&u.rule);
    make_rates(&u, rate);
    LIANA__SCOPED_MEMORY liana_optimizer_step *steps = u.steps = calloc(count, sizeof *u.steps);
    LIANA__SCOPED_MEMORY liana_tensor *changed = u.changed = calloc(1 + count * (1 + most), sizeof *u.changed);
    if (steps && changed) {
        build(&u, variables, gradients);
    } else {
        liana__graph_fail(u.graph, here, LIANA_OUT_OF_MEMORY, "out of memory for an optimizer");
    }
}

void liana_apply_gradients_at(liana_location here, const liana_tensor *variables, const liana_tensor *gradients,
                              size_t count, const liana_optimizer_options *options)
{
    liana_graph *graph = variables && count ? variables[0].graph : NULL;
    if (!graph || graph->status != LIANA_OK) return;
    if (!gradients) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "an optimizer needs a gradient for each variable");
        return;
    }
    if (!options) options = &standard;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__optimizer_choice choice;
    liana__error error;
    if (liana__optimizer_options_read(graph->context, options, &arena, &choice, &error) == LIANA_OK) {
        const char *target = options->target ? options->target : "train";
        liana__apply_optimizer(here, variables, gradients, count, &choice, options->rate, target);
    } else {
        liana__graph_fail(graph, here, error.status, "%s", error.message);
    }
}

/* ---- minimising ---- */

size_t liana__variables_behind(liana_tensor tensor, bool *needed, liana_tensor *variables)
{
    const liana_graph *graph = tensor.graph;
    size_t count = 0;
    needed[tensor.id] = true;
    for (size_t id = tensor.id; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; needed[id] && i < node->num_inputs; i++) needed[node->inputs[i]->id] = true;
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *variable = graph->variables[i];
        if (variable->dtype == LIANA_F32 && needed[variable->id]) {
            variables[count++] = liana__node_tensor(graph, variable);
        }
    }
    return count;
}

static void minimize(liana_location here, liana_tensor loss, const liana_tensor *variables, size_t count,
                     const liana_optimizer_options *options)
{
    liana_graph *graph = loss.graph;
    const liana__node *node = liana__tensor_node(loss);
    const size_t most = variables ? count : graph->num_variables;
    LIANA__SCOPED_MEMORY liana_tensor *all = calloc(2 * most + 1, sizeof *all);
    LIANA__SCOPED_MEMORY bool *needed = calloc(graph->num_nodes, sizeof *needed);
    if (!all || !needed) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for an optimizer");
        return;
    }
    if (!variables) {
        count = liana__variables_behind(loss, needed, all);
        variables = all;
    }
    if (count == 0) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "there is nothing to train: %s depends on no f32 variable", liana__node_print(node).text);
    }
    (void)liana__require_gradient(here, loss, variables, count);
    liana_gradients_at(here, loss, variables, count, all + most);
    liana_apply_gradients_at(here, variables, all + most, count, options);
}

void liana_minimize_at(liana_location here, liana_tensor loss, const liana_tensor *variables, size_t count,
                       const liana_optimizer_options *options)
{
    liana_graph *graph = loss.graph;
    if (!graph || graph->status != LIANA_OK) return;
    if (!liana__tensor_node(loss)) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "the loss to minimize is no tensor of the graph");
        return;
    }
    minimize(here, loss, variables, count, options);
}
