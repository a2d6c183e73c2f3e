/* Updates as one module: the functions of two graphs, and around them loops, sums over devices and checks. */
#include "stablehlo/whole_update.h"

#include "base/scoped.h"
#include "stablehlo/control.h"

#include <stdlib.h>

/* The functions of the module. */
static const char LEAVES[] = "leaves", UPDATE[] = "update", PENALTY[] = "penalty";
static const char *const ROUNDS[LIANA__MOST_WHOLE_ROUNDS] = {"sums_0", "sums_1", "sums_2", "sums_3"};

/* ---- variables ---- */

/* The place of a node's variable among those of the module; their number if it is not there yet. */
static size_t place_of(const liana__stablehlo_variables *variables, const liana__node *node)
{
    size_t place = 0;
    while (place < variables->count && strcmp(variables->items[place].node->name, node->name) != 0) place++;
    return place;
}

/* Adds those of a graph that are not there yet. */
static void add_variables(liana__stablehlo_variables *variables, const liana_graph *graph)
{
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        if (place_of(variables, node) < variables->count) continue;
        variables->items[variables->count++] = (liana__stablehlo_variable){node, -1};
    }
}

liana_status liana__stablehlo_whole_variables(const liana__stablehlo_whole *whole,
                                              liana__stablehlo_variables *variables, liana__error *error)
{
    const liana_graph *leaves = whole->leaves, *update = whole->update.graph, *penalty = whole->penalty;
    size_t most = leaves->num_variables + update->num_variables + (penalty ? penalty->num_variables : 0);
    for (size_t i = 0; i < whole->num_sum_rounds; i++) most += whole->sum_rounds[i].graph->num_variables;
    *variables = (liana__stablehlo_variables){.items = calloc(most + 1, sizeof *variables->items)};
    if (!variables->items) return liana__fail_memory(error, "the variables of an update");
    add_variables(variables, leaves);
    add_variables(variables, update);
    for (size_t i = 0; i < whole->num_sum_rounds; i++) add_variables(variables, whole->sum_rounds[i].graph);
    if (penalty) add_variables(variables, penalty);
    for (size_t i = 0; i < update->num_assignments; i++) {
        const size_t place = place_of(variables, update->assignments[i].variable);
        variables->items[place].result = 1 + (int64_t)variables->num_changed++;
    }
    return LIANA_OK;
}

/* ---- the function that is called ---- */

/* The state of writing the function main. Lists are of values that a step reads. */
typedef struct writer {
    liana__lowering l;
    const liana__stablehlo_whole *whole;
    const liana__stablehlo_variables *variables;
    liana__hlo *inputs; /* of `leaves`, all rows; with tables, behind them the places of rows in these */
    liana__hlo scalars, num_steps;
    liana__hlo *values;                            /* of the variables */
    liana__hlo *sums;                              /* of an update */
    liana__hlo *arguments;                         /* of a call, or of a loop; long enough for any */
    liana__hlo *results;                           /* the same */
    liana__hlo finished[LIANA__MOST_WHOLE_ROUNDS]; /* the results of the rounds of an update */
} writer;

static void writer_free(writer *w)
{
    liana__lowering_free(&w->l);
}

static liana_shape with_rows(liana_shape shape, int64_t rows)
{
    shape.dims[0] = rows;
    return shape;
}

static void add_argument(writer *w, liana__hlo value, const char *name, int64_t result, bool last)
{
    liana__text_add(&w->l.text, "      %%%u: %s", value.id, liana__hlo_print_type(value.dtype, &value.shape).text);
    if (result >= 0) liana__text_add(&w->l.text, " {tf.aliasing_output = %lld : i32}", (long long)result);
    liana__text_add(&w->l.text, "%s// %s\n", last ? "  " : ",  ", name);
}

int64_t liana__stablehlo_whole_columns(const liana__stablehlo_whole *whole)
{
    return liana_shape_size(&whole->leaves->outputs[0].node->shape) + (whole->penalty ? 1 : 0) + 1;
}

static liana__hlo row_type(const writer *w)
{
    const liana_shape shape = liana_shape_of(w->whole->steps, liana__stablehlo_whole_columns(w->whole));
    return (liana__hlo){.dtype = LIANA_F32, .shape = shape};
}

static bool is_table(const liana__stablehlo_whole *whole, size_t input)
{
    return whole->in_table && whole->in_table[input];
}

static size_t num_inputs(const liana__stablehlo_whole *whole)
{
    return whole->leaves->num_inputs + (whole->in_table ? 1 : 0);
}

/* All inputs of a shard have as many rows. */
static int64_t leaf_rows(const liana__stablehlo_whole *whole)
{
    return whole->leaves->inputs[0]->shape.dims[0];
}

static void add_inputs(writer *w)
{
    const liana__stablehlo_whole *whole = w->whole;
    const size_t count = whole->leaves->num_inputs;
    const int64_t rows = leaf_rows(whole) * whole->rounds * whole->steps;
    for (size_t i = 0; i < count; i++) {
        const liana__node *node = whole->leaves->inputs[i];
        const liana_shape shape = with_rows(node->shape, is_table(whole, i) ? whole->table_rows : rows);
        w->inputs[i] = liana__hlo_parameter(&w->l, node->dtype, shape);
        add_argument(w, w->inputs[i], node->name, -1, false);
    }
    if (!whole->in_table) return;
    w->inputs[count] = liana__hlo_parameter(&w->l, LIANA_S32, liana_shape_of(rows));
    add_argument(w, w->inputs[count], "places in tables", -1, false);
}

static void add_arguments(writer *w)
{
    const liana__stablehlo_whole *whole = w->whole;
    add_inputs(w);
    w->scalars = liana__hlo_parameter(&w->l, LIANA_F32, liana_shape_of(whole->steps, (int64_t)whole->num_scalars));
    add_argument(w, w->scalars, "scalars", -1, false);
    w->num_steps = liana__hlo_parameter(&w->l, LIANA_S32, LIANA_SCALAR);
    add_argument(w, w->num_steps, "steps", -1, w->variables->count == 0);
    for (size_t i = 0; i < w->variables->count; i++) {
        const liana__stablehlo_variable *variable = &w->variables->items[i];
        w->values[i] = liana__hlo_parameter(&w->l, variable->node->dtype, variable->node->shape);
        add_argument(w, w->values[i], variable->node->name, variable->result, i + 1 == w->variables->count);
    }
}

/* The results: rows, and variables in the order of their results. */
static size_t list_results(const writer *w, liana__hlo rows, liana__hlo *results)
{
    results[0] = rows;
    for (size_t i = 0; i < w->variables->count; i++) {
        const int64_t result = w->variables->items[i].result;
        if (result >= 0) results[result] = w->values[i];
    }
    return 1 + w->variables->num_changed;
}

/* ---- shards ---- */

static liana__hlo integer(writer *w, int64_t value)
{
    return liana__hlo_fill(&w->l, LIANA_S32, LIANA_SCALAR, (double)value);
}

/* The rows of a round, from row `first` on; NULL: all are. */
static liana__hlo rows_of_round(writer *w, liana__hlo all, const liana__hlo *first, liana_shape shape)
{
    return first ? liana__hlo_rows(&w->l, all, *first, shape) : all;
}

/* The inputs of one round. */
static void list_inputs(writer *w, liana__hlo round, const liana__hlo *inputs, liana__hlo *list)
{
    const liana__stablehlo_whole *whole = w->whole;
    const size_t count = whole->leaves->num_inputs;
    liana__hlo place = {0}, first = {0}, *begin = NULL;
    if (whole->rounds * whole->steps > 1) {
        first = liana__hlo_binary(&w->l, "multiply", round, integer(w, leaf_rows(whole)));
        begin = &first;
    }
    if (whole->in_table) place = rows_of_round(w, inputs[count], begin, liana_shape_of(leaf_rows(whole)));
    for (size_t i = 0; i < count; i++) {
        const liana_shape shape = whole->leaves->inputs[i]->shape;
        list[i] = is_table(whole, i) ? liana__hlo_gather(&w->l, inputs[i], place, 0, shape)
                                     : rows_of_round(w, inputs[i], begin, shape);
    }
    /* So that a group of updates rounds as updates one by one do, and rows from tables as rows that were sent. */
    if (whole->steps > 1 || whole->in_table) liana__hlo_barrier(&w->l, list, count);
}

/* Calls the shards of one round; `inputs` and `values` are their names in the region. */
static void call_leaves(writer *w, liana__hlo round, const liana__hlo *inputs, const liana__hlo *values,
                        liana__hlo *sums)
{
    const liana_graph *leaves = w->whole->leaves;
    size_t count = leaves->num_inputs;
    list_inputs(w, round, inputs, w->arguments);
    for (size_t i = 0; i < leaves->num_variables; i++) w->arguments[count++] = values[i];
    for (size_t i = 0; i < leaves->num_outputs; i++) sums[i] = liana__hlo_like(leaves->outputs[i].node);
    liana__hlo_call(&w->l, LEAVES, false, w->arguments, count, sums, leaves->num_outputs);
}

/* The values of the loop over rounds: the round, the sums so far, inputs, variables of the shards. */
static size_t list_loop(const writer *w, liana__hlo round, liana__hlo *list)
{
    const liana_graph *leaves = w->whole->leaves;
    size_t count = 0;
    list[count++] = round;
    for (size_t i = 0; i < leaves->num_outputs; i++) list[count++] = w->sums[i];
    for (size_t i = 0; i < num_inputs(w->whole); i++) list[count++] = w->inputs[i];
    for (size_t i = 0; i < leaves->num_variables; i++) list[count++] = w->values[i];
    return count;
}

static liana_status add_rounds(writer *w, liana__hlo first_round)
{
    const liana_graph *leaves = w->whole->leaves;
    const size_t num_sums = leaves->num_outputs;
    for (size_t i = 0; i < num_sums; i++) {
        w->sums[i] = liana__hlo_fill(&w->l, LIANA_F32, leaves->outputs[i].node->shape, 0);
    }
    liana__hlo end = liana__hlo_binary(&w->l, "add", first_round, integer(w, w->whole->rounds));
    const size_t most = 2 + num_sums + num_inputs(w->whole) + leaves->num_variables;
    liana__hlo *values = liana__arena_allocate(&w->l.scratch, most * sizeof *values);
    liana__hlo *added = liana__arena_allocate(&w->l.scratch, (num_sums + 1) * sizeof *added);
    if (w->l.scratch.failed) return liana__hlo_fail_memory(&w->l);
    size_t count = list_loop(w, first_round, values);
    values[count++] = end;
    liana__hlo_while loop = {.values = values, .count = count};
    liana__hlo_while_begin(&w->l, &loop);
    liana__hlo_while_between(&w->l, &loop, liana__hlo_compare(&w->l, "LT", values[0], values[count - 1]));
    const liana__hlo *inputs = values + 1 + num_sums;
    call_leaves(w, values[0], inputs, inputs + num_inputs(w->whole), added);
    memcpy(w->arguments, values, count * sizeof *values);
    w->arguments[0] = liana__hlo_binary(&w->l, "add", values[0], integer(w, 1));
    for (size_t i = 0; i < num_sums; i++) {
        w->arguments[1 + i] = liana__hlo_binary(&w->l, "add", values[1 + i], added[i]);
    }
    liana__hlo_while_end(&w->l, &loop, w->arguments);
    memcpy(w->sums, values + 1, num_sums * sizeof *values);
    return LIANA_OK;
}

/* ---- sums over devices ---- */

/* One operation, since each waits for all devices. Each sum keeps its shape: as one vector all would change their
 * layout twice, for which libtpu takes minutes to compile. */
static void add_devices(writer *w)
{
    if (w->whole->replicas > 1) {
        liana__hlo_add_replicas(&w->l, w->sums, w->whole->leaves->num_outputs, w->whole->replicas);
    }
}

/* ---- the update ---- */

static liana__hlo both(writer *w, liana__hlo a, liana__hlo b)
{
    return liana__hlo_binary(&w->l, "and", a, b);
}

/* The losses, the inputs of the update, and `others`. */
static liana__hlo sums_are_finite(writer *w, const liana__hlo *others, size_t num_others)
{
    const liana__stablehlo_part *update = &w->whole->update;
    const int64_t size = liana_shape_size(&w->sums[0].shape), begin = 0, one = 1;
    liana__hlo first = liana__hlo_reshape(&w->l, w->sums[0], liana_shape_of(size));
    size_t count = 0;
    w->arguments[count++] = liana__hlo_slice(&w->l, first, &begin, &w->whole->num_losses, &one);
    for (size_t i = 0; i < num_others; i++) w->arguments[count++] = others[i];
    for (size_t i = 0; i < update->num_read; i++) w->arguments[count++] = w->sums[update->sums_read[i]];
    return liana__hlo_all_finite(&w->l, w->arguments, count);
}

/* The weights' part of the loss. */
static liana__hlo call_penalty(writer *w)
{
    const liana_graph *penalty = w->whole->penalty;
    for (size_t i = 0; i < penalty->num_variables; i++) {
        w->arguments[i] = w->values[place_of(w->variables, penalty->variables[i])];
    }
    liana__hlo result = {.dtype = LIANA_F32, .shape = LIANA_SCALAR};
    liana__hlo_call(&w->l, PENALTY, false, w->arguments, penalty->num_variables, &result, 1);
    return result;
}

/* The scalars of an update, [1, scalars]. */
static liana__hlo scalars_of(writer *w, liana__hlo step)
{
    const liana_shape row = liana_shape_of(1, (int64_t)w->whole->num_scalars);
    return w->whole->steps > 1 ? liana__hlo_rows(&w->l, w->scalars, step, row) : w->scalars;
}

/* The arguments of a part. */
static size_t list_arguments(writer *w, const liana__stablehlo_part *part, liana__hlo scalars)
{
    const liana_graph *graph = part->graph;
    size_t count = 0;
    for (size_t i = 0; i < part->num_read; i++) w->arguments[count++] = w->sums[part->sums_read[i]];
    for (int64_t i = 0; i < scalars.shape.dims[1]; i++) {
        const int64_t begin[] = {0, i}, end[] = {1, i + 1}, strides[] = {1, 1};
        liana__hlo one = liana__hlo_slice(&w->l, scalars, begin, end, strides);
        w->arguments[count++] = liana__hlo_reshape(&w->l, one, LIANA_SCALAR);
    }
    for (size_t i = 0; i < part->num_finished; i++) w->arguments[count++] = w->finished[i];
    for (size_t i = 0; i < graph->num_variables; i++) {
        w->arguments[count++] = w->values[place_of(w->variables, graph->variables[i])];
    }
    return count;
}

/* The rounds of sums that the update also reads. */
static void call_rounds(writer *w, liana__hlo scalars)
{
    for (size_t round = 0; round < w->whole->num_sum_rounds; round++) {
        const liana__stablehlo_part *part = &w->whole->sum_rounds[round];
        const size_t count = list_arguments(w, part, scalars), num_outputs = part->graph->num_outputs;
        for (size_t i = 0; i < num_outputs; i++) w->results[i] = liana__hlo_like(part->graph->outputs[i].node);
        liana__hlo_call(&w->l, ROUNDS[round], false, w->arguments, count, w->results, num_outputs);
        w->finished[round] = w->results[num_outputs - 1];
    }
}

/* Calls the update, which changes variables if the sums were `good`; `results` receives their values in the order of
 * its assignments. */
static void call_update(writer *w, liana__hlo scalars, liana__hlo good, liana__hlo *results)
{
    const liana_graph *update = w->whole->update.graph;
    size_t count = list_arguments(w, &w->whole->update, scalars);
    w->arguments[count++] = good;
    for (size_t i = 0; i < update->num_assignments; i++) results[i] = liana__hlo_like(update->assignments[i].value);
    liana__hlo_call(&w->l, UPDATE, false, w->arguments, count, results, update->num_assignments);
}

/* Returns whether the values are finite. */
static liana__hlo take_values(writer *w)
{
    const liana_graph *update = w->whole->update.graph;
    size_t count = 0;
    for (size_t i = 0; i < update->num_assignments; i++) {
        liana__hlo *value = &w->values[place_of(w->variables, update->assignments[i].variable)];
        *value = w->results[i];
        if (liana__dtype_is_float(value->dtype)) w->arguments[count++] = *value;
    }
    return liana__hlo_all_finite(&w->l, w->arguments, count);
}

static liana__hlo number(writer *w, double value)
{
    return liana__hlo_fill(&w->l, LIANA_F32, LIANA_SCALAR, value);
}

/* One update; changes w->values. Returns its row. */
static liana_status write_step(writer *w, liana__hlo step, liana__hlo *row, liana__hlo *status)
{
    const int64_t rounds = w->whole->rounds;
    liana__hlo first_round = rounds > 1 ? liana__hlo_binary(&w->l, "multiply", step, integer(w, rounds)) : step;
    if (rounds > 1) {
        LIANA_TRY(add_rounds(w, first_round));
    } else {
        call_leaves(w, first_round, w->inputs, w->values, w->sums);
    }
    add_devices(w);
    liana__hlo scalars = scalars_of(w, step), penalty = w->whole->penalty ? call_penalty(w) : (liana__hlo){0};
    const liana__hlo others[] = {scalars, penalty};
    liana__hlo good = sums_are_finite(w, others, w->whole->penalty ? 2 : 1);
    call_rounds(w, scalars);
    call_update(w, scalars, good, w->results);
    liana__hlo finite = take_values(w);
    *status = liana__hlo_select(&w->l, finite, number(w, LIANA__STEP_DONE), number(w, LIANA__STEP_BAD_VALUES));
    *status = liana__hlo_select(&w->l, good, *status, number(w, LIANA__STEP_BAD_SUMS));
    const int64_t size = liana_shape_size(&w->sums[0].shape);
    liana__hlo parts[3] = {liana__hlo_reshape(&w->l, w->sums[0], liana_shape_of(1, size))};
    size_t count = 1;
    if (w->whole->penalty) parts[count++] = liana__hlo_reshape(&w->l, penalty, liana_shape_of(1, 1));
    parts[count++] = liana__hlo_reshape(&w->l, *status, liana_shape_of(1, 1));
    *row = liana__hlo_concatenate(&w->l, parts, count, 1);
    return LIANA_OK;
}

/* ---- several updates ---- */

/* The values of the loop over updates. */
enum { STEP, STATUS, ROWS, NUM_STEPS, SCALARS, FIRST_OTHER };

static size_t list_steps(const writer *w, liana__hlo *list)
{
    size_t count = FIRST_OTHER;
    for (size_t i = 0; i < num_inputs(w->whole); i++) list[count++] = w->inputs[i];
    for (size_t i = 0; i < w->variables->count; i++) list[count++] = w->values[i];
    return count;
}

static void take_steps(writer *w, const liana__hlo *list)
{
    size_t next = FIRST_OTHER;
    w->num_steps = list[NUM_STEPS];
    w->scalars = list[SCALARS];
    for (size_t i = 0; i < num_inputs(w->whole); i++) w->inputs[i] = list[next++];
    for (size_t i = 0; i < w->variables->count; i++) w->values[i] = list[next++];
}

/* Rows of updates that are not done say so. */
static liana__hlo empty_rows(writer *w)
{
    const liana__hlo type = row_type(w);
    const int64_t columns = type.shape.dims[1];
    liana__hlo parts[] = {liana__hlo_fill(&w->l, LIANA_F32, liana_shape_of(w->whole->steps, columns - 1), 0),
                          liana__hlo_fill(&w->l, LIANA_F32, liana_shape_of(w->whole->steps, 1), LIANA__STEP_LEFT_OUT)};
    return liana__hlo_concatenate(&w->l, parts, 2, 1);
}

static liana_status write_steps(writer *w, liana__hlo *rows)
{
    const size_t most = FIRST_OTHER + num_inputs(w->whole) + w->variables->count;
    liana__hlo *values = liana__arena_allocate(&w->l.scratch, most * sizeof *values);
    if (!values) return liana__hlo_fail_memory(&w->l);
    values[STEP] = integer(w, 0);
    values[STATUS] = number(w, LIANA__STEP_DONE);
    values[ROWS] = empty_rows(w);
    values[NUM_STEPS] = w->num_steps;
    values[SCALARS] = w->scalars;
    liana__hlo_while loop = {.values = values, .count = list_steps(w, values)};
    liana__hlo_while_begin(&w->l, &loop);
    liana__hlo more = liana__hlo_compare(&w->l, "LT", values[STEP], values[NUM_STEPS]);
    liana__hlo going = both(w, more, liana__hlo_compare_with(&w->l, "EQ", values[STATUS], LIANA__STEP_DONE));
    liana__hlo_while_between(&w->l, &loop, going);
    take_steps(w, values);
    liana__hlo row, step = values[STEP], all = values[ROWS];
    liana_status status = write_step(w, step, &row, &values[STATUS]);
    const liana__hlo new_status = values[STATUS];
    w->arguments[STEP] = liana__hlo_binary(&w->l, "add", step, integer(w, 1));
    w->arguments[STATUS] = new_status;
    w->arguments[ROWS] = liana__hlo_set_rows(&w->l, all, row, step);
    w->arguments[NUM_STEPS] = w->num_steps;
    w->arguments[SCALARS] = w->scalars;
    (void)list_steps(w, w->arguments);
    liana__hlo_while_end(&w->l, &loop, w->arguments);
    take_steps(w, values);
    *rows = values[ROWS];
    return status;
}

/* ---- the module ---- */

static liana_status write_main(writer *w)
{
    liana__text_add(&w->l.text, "  func.func public @main(\n");
    add_arguments(w);
    liana__text_add(&w->l.text, "  ) -> ");
    liana__hlo_add_types(&w->l, w->results, list_results(w, row_type(w), w->results));
    liana__text_add(&w->l.text, " {\n");
    liana__hlo rows, status;
    if (w->whole->steps > 1) {
        LIANA_TRY(write_steps(w, &rows));
    } else {
        LIANA_TRY(write_step(w, integer(w, 0), &rows, &status));
    }
    liana__hlo_return(&w->l, w->results, list_results(w, rows, w->results));
    return LIANA_OK;
}

static liana_status add_function(writer *w, const liana_graph *graph, const char *name, bool assigns_if,
                                 const liana__stablehlo_options *options)
{
    liana__stablehlo_options own = *options;
    own.assigns_if = assigns_if;
    own.calls_parts = assigns_if && options->for_cpus;
    own.function = name;
    own.function_only = true;
    own.donate_variables = false;
    own.donated_inputs = NULL;
    LIANA__SCOPED_MEMORY char *text = NULL;
    LIANA_TRY(liana__stablehlo_print(graph, &own, &text, w->l.error));
    liana__text_add_bytes(&w->l.text, text, strlen(text));
    return LIANA_OK;
}

static liana_status write_module(writer *w, const liana__stablehlo_options *options)
{
    liana__text_add(&w->l.text, "module @\"%s\" {\n", options->name ? options->name : "liana");
    LIANA_TRY(add_function(w, w->whole->leaves, LEAVES, false, options));
    for (size_t i = 0; i < w->whole->num_sum_rounds; i++) {
        LIANA_TRY(add_function(w, w->whole->sum_rounds[i].graph, ROUNDS[i], false, options));
    }
    LIANA_TRY(add_function(w, w->whole->update.graph, UPDATE, true, options));
    if (w->whole->penalty) LIANA_TRY(add_function(w, w->whole->penalty, PENALTY, false, options));
    LIANA_TRY(write_main(w));
    liana__text_add(&w->l.text, "}\n");
    return w->l.text.failed ? liana__hlo_fail_memory(&w->l) : LIANA_OK;
}

static liana_status check_sums(const liana__stablehlo_whole *whole, liana__error *error)
{
    for (size_t i = 0; i < whole->leaves->num_outputs; i++) {
        const liana__node *node = whole->leaves->outputs[i].node;
        if (node->dtype == LIANA_F32) continue;
        return liana__fail(error, LIANA_UNIMPLEMENTED, "the sum '%s' of a whole update is %s, expected f32",
                           whole->leaves->outputs[i].name, liana_dtype_name(node->dtype));
    }
    return LIANA_OK;
}

liana_status liana__stablehlo_print_whole(const liana__stablehlo_whole *whole,
                                          const liana__stablehlo_variables *variables,
                                          const liana__stablehlo_options *options, char **text, liana__error *error)
{
    *text = NULL;
    LIANA_TRY(check_sums(whole, error));
    const size_t most = FIRST_OTHER + 2 * (whole->leaves->num_outputs + whole->update.graph->num_inputs) +
                        num_inputs(whole) + variables->count;
    LIANA__SCOPED(writer)
    w = {.l = {.highest_precision = options->highest_precision,
               .for_cpus = options->for_cpus,
               .no_locations = options->no_locations,
               .next = 1,
               .error = error},
         .whole = whole,
         .variables = variables};
    liana__hlo *lists = liana__arena_allocate(&w.l.scratch, 5 * most * sizeof *lists);
    if (!lists) return liana__fail_memory(error, "the StableHLO text of an update");
    w.inputs = lists;
    w.values = lists + most;
    w.sums = lists + 2 * most;
    w.arguments = lists + 3 * most;
    w.results = lists + 4 * most;
    LIANA_TRY(write_module(&w, options));
    *text = w.l.text.data;
    w.l.text = (liana__text){0};
    return LIANA_OK;
}
