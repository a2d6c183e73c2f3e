/* Ops with bodies as Scan, Loop and If; cells of recurrent layers.
 *
 * A graph within another one sees the names around it: tensors that are the same in all steps are read there. */
#include "onnx/op_table.h"
#include "ops/control/scan.h"
#include "ops/fused/recurrent_cell.h"

#include <string.h>

/* ---- bodies ---- */

typedef struct body {
    liana__onnx_scope *scope;
    liana__onnx_list inputs, outputs; /* Liana__Onnx__ValueInfo */
} body;

/* Input `index` of a body gets a name of its own in the body. */
static void add_input(body *b, size_t index)
{
    liana__onnx_scope *scope = b->scope;
    const liana__node *node = scope->graph->inputs[index];
    const liana__onnx_type type = liana__onnx_type_of(scope, node);
    const char *wanted = liana__arena_format(scope->file->arena, "%s/step", liana__onnx_layer_of(scope, node));
    const char *name = liana__onnx_free_name(scope->file, wanted ? wanted : "step");
    liana__onnx_give(scope, node, name, LIANA__ONNX_NATURAL);
    liana__onnx_append(scope->file, &b->inputs, liana__onnx_value_info(scope->file, name, &type));
}

/* ... or is the tensor around it. */
static void share_input(body *b, size_t index, const liana__node *around)
{
    liana__onnx_value_of(b->scope, b->scope->graph->inputs[index])->around = around;
}

static void add_result(body *b, const liana__node *node, const char *name)
{
    const liana__onnx_type type = liana__onnx_type_of(b->scope, node);
    name = liana__onnx_say(b->scope, node, "Identity", LIANA__ONNX_OF(name), NULL);
    liana__onnx_append(b->scope->file, &b->outputs, liana__onnx_value_info(b->scope->file, name, &type));
}

static void add_output(body *b, size_t index)
{
    const liana__node *node = b->scope->graph->outputs[index].node;
    add_result(b, node, liana__onnx_name(b->scope, node, LIANA__ONNX_NATURAL));
}

static Liana__Onnx__Graph *close_body(body *b)
{
    return liana__onnx_close(b->scope, b->scope->layer, &b->inputs, &b->outputs);
}

/* Names for the results of a node with bodies. */
static const char **name_results(liana__onnx_scope *scope, const liana__node *node, size_t count)
{
    const char **names = liana__onnx_allocate(scope->file, (count + 1) * sizeof *names);
    liana__onnx_value_of(scope, node)->parts = names;
    return names;
}

/* The first `count` inputs of a node from `first` on, behind those that are in the list already. */
static const char **list_inputs(liana__onnx_scope *scope, const liana__node *node, size_t count, size_t room)
{
    const char **names = liana__onnx_allocate(scope->file, (room + count + 1) * sizeof *names);
    for (size_t i = 0; names && i < count; i++) names[room + i] = liana__onnx_input(scope, node, i);
    return names;
}

/* ---- scan ---- */

/* Without rows to read it is a Loop of a known number of steps: the body also gets the step and a condition. */
static void open_loop(body *b)
{
    liana__onnx_export *file = b->scope->file;
    const liana__onnx_type step = {.dtype = LIANA_S64}, go_on = {.dtype = LIANA_BOOL};
    liana__onnx_append(file, &b->inputs, liana__onnx_value_info(file, liana__onnx_free_name(file, "step"), &step));
    liana__onnx_append(file, &b->inputs, liana__onnx_value_info(file, liana__onnx_free_name(file, "go_on"), &go_on));
}

static void always(body *b)
{
    const bool yes = true;
    const liana__onnx_type go_on = {.dtype = LIANA_BOOL};
    const char *name = liana__onnx_constant(b->scope, "true", LIANA_BOOL, &LIANA_SCALAR, &yes);
    name = liana__onnx_say(b->scope, NULL, "Identity", LIANA__ONNX_OF(name), NULL);
    liana__onnx_append(b->scope->file, &b->outputs, liana__onnx_value_info(b->scope->file, name, &go_on));
}

static void write_loop(liana__onnx_scope *scope, const liana__node *node, body *b, const char **results, size_t count)
{
    const liana__scan_attributes *scan = node->attributes, *twin = liana__onnx_twin(scope, node)->attributes;
    const int64_t zero = 0;
    const liana__onnx_size steps = liana__onnx_size_of(scope, scan->steps, twin->steps);
    const char **inputs = list_inputs(scope, node, (size_t)scan->num_carries, 2);
    const char *most = liana__onnx_sizes(scope, node, &steps, 1);
    if (!inputs) return;
    inputs[0] = liana__onnx_say(scope, node, "Squeeze",
                                LIANA__ONNX_OF(most, liana__onnx_list_of(scope, "axes", &zero, 1)), NULL);
    inputs[1] = "";
    Liana__Onnx__Graph *graph = close_body(b);
    liana__onnx_say_many(scope, node, "Loop", inputs, LIANA__ONNX_WITH(LIANA__ONNX_GRAPH("body", graph)), results,
                         count);
}

static void write_scan(liana__onnx_scope *scope, const liana__node *node, body *b, const char **results, size_t count)
{
    const liana__scan_attributes *scan = node->attributes;
    const size_t num_xs = (size_t)scan->num_xs, num_ys = count - (size_t)scan->num_carries;
    const char **inputs = list_inputs(scope, node, (size_t)scan->num_carries + num_xs, 0);
    int64_t *directions = liana__onnx_allocate(scope->file, (num_xs + num_ys + 1) * sizeof *directions);
    if (!inputs || !directions) return;
    for (size_t i = 0; i < num_xs + num_ys; i++) directions[i] = scan->reverse;
    Liana__Onnx__Graph *graph = close_body(b);
    const liana__onnx_attribute all[] = {
        LIANA__ONNX_GRAPH("body", graph),
        LIANA__ONNX_INT("num_scan_inputs", scan->num_xs),
        LIANA__ONNX_INTS("scan_input_directions", directions, num_xs),
        LIANA__ONNX_INTS("scan_output_directions", directions, num_ys),
        {.name = NULL},
    };
    liana__onnx_attribute used[5];
    memcpy(used, all, sizeof used);
    if (!num_ys || !scan->reverse) used[3].name = NULL;
    if (!scan->reverse) used[2].name = NULL;
    liana__onnx_say_many(scope, node, "Scan", inputs, used, results, count);
}

void liana__onnx_to_scan(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    if (liana__onnx_to_recurrent(scope, node)) return;
    const liana__scan_attributes *scan = node->attributes;
    body b = {.scope = liana__onnx_body_scope(scope, node, 0)};
    const size_t num_given = (size_t)(scan->num_carries + scan->num_xs);
    const bool is_loop = scan->num_xs == 0;
    (void)type;
    if (!b.scope) return;
    const size_t count = b.scope->graph->num_outputs;
    const char **results = name_results(scope, node, count);
    if (is_loop) open_loop(&b);
    for (size_t i = 0; i < node->num_inputs; i++) {
        if (i >= num_given) share_input(&b, i, node->inputs[i]);
    }
    liana__onnx_analyse(b.scope);
    for (size_t i = 0; i < num_given; i++) add_input(&b, i);
    liana__onnx_emit(b.scope);
    if (is_loop) always(&b);
    for (size_t i = 0; i < count; i++) add_output(&b, i);
    if (!results) return;
    if (is_loop && scan->reverse && count > (size_t)scan->num_carries) {
        liana__onnx_refuse(scope, node, "a scan that reads nothing and runs backwards");
        return;
    }
    (is_loop ? write_loop : write_scan)(scope, node, &b, results, count);
}

/* ---- while ---- */

/* The condition in the graph of `target`, whose carries have these names there. */
static const char *condition_of(liana__onnx_scope *scope, const liana__node *node, liana__onnx_scope *target,
                                const char *const *carries, size_t num_carries)
{
    liana__onnx_scope *condition = liana__onnx_body_scope(scope, node, 1);
    if (!condition) return "";
    for (size_t i = num_carries; i < node->num_inputs; i++) {
        liana__onnx_value_of(condition, condition->graph->inputs[i])->around = node->inputs[i];
    }
    liana__onnx_analyse(condition);
    for (size_t i = 0; i < num_carries; i++) {
        liana__onnx_give(condition, condition->graph->inputs[i], carries[i], LIANA__ONNX_NATURAL);
    }
    liana__onnx_emit(condition);
    const char *holds = liana__onnx_name(condition, condition->graph->outputs[0].node, LIANA__ONNX_NATURAL);
    for (size_t i = 0; i < condition->nodes.count; i++) {
        liana__onnx_append(scope->file, &target->nodes, condition->nodes.items[i]);
    }
    return holds;
}

void liana__onnx_to_while(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const int64_t most = liana__onnx_int(node, "most_steps");
    const size_t count = (size_t)liana__onnx_int(node, "num_carries");
    const liana__onnx_type go_on = {.dtype = LIANA_BOOL};
    body b = {.scope = liana__onnx_body_scope(scope, node, 0)};
    const char **results = name_results(scope, node, count), **inputs = list_inputs(scope, node, count, 2);
    const char **next = liana__onnx_allocate(scope->file, (count + 1) * sizeof *next);
    (void)type;
    if (!b.scope || !results || !inputs || !next) return;
    open_loop(&b);
    for (size_t i = count; i < node->num_inputs; i++) share_input(&b, i, node->inputs[i]);
    liana__onnx_analyse(b.scope);
    for (size_t i = 0; i < count; i++) add_input(&b, i);
    liana__onnx_emit(b.scope);
    for (size_t i = 0; i < count; i++) {
        next[i] = liana__onnx_name(b.scope, b.scope->graph->outputs[i].node, LIANA__ONNX_NATURAL);
    }
    const char *holds = condition_of(scope, node, b.scope, next, count);
    holds = liana__onnx_say(b.scope, NULL, "Identity", LIANA__ONNX_OF(holds), NULL);
    liana__onnx_append(scope->file, &b.outputs, liana__onnx_value_info(scope->file, holds, &go_on));
    for (size_t i = 0; i < count; i++) add_output(&b, i);
    inputs[0] = most ? liana__onnx_number(scope, LIANA_S64, (double)most) : "";
    inputs[1] = condition_of(scope, node, scope, inputs + 2, count);
    Liana__Onnx__Graph *graph = close_body(&b);
    liana__onnx_say_many(scope, node, "Loop", inputs, LIANA__ONNX_WITH(LIANA__ONNX_GRAPH("body", graph)), results,
                         count);
}

/* ---- cond ---- */

static Liana__Onnx__Graph *branch(liana__onnx_scope *scope, const liana__node *node, size_t index)
{
    body b = {.scope = liana__onnx_body_scope(scope, node, index)};
    if (!b.scope) return NULL;
    for (size_t i = 0; i + 1 < node->num_inputs; i++) share_input(&b, i, node->inputs[i + 1]);
    liana__onnx_analyse(b.scope);
    liana__onnx_emit(b.scope);
    for (size_t i = 0; i < b.scope->graph->num_outputs; i++) add_output(&b, i);
    return close_body(&b);
}

void liana__onnx_to_cond(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const size_t count = liana__node_body(node, 0)->num_outputs;
    const char **results = name_results(scope, node, count);
    Liana__Onnx__Graph *then_graph = branch(scope, node, 0), *else_graph = branch(scope, node, 1);
    const char *predicate = liana__onnx_input(scope, node, 0);
    (void)type;
    if (!results) return;
    liana__onnx_say_many(scope, node, "If", LIANA__ONNX_OF(predicate),
                         LIANA__ONNX_WITH(LIANA__ONNX_GRAPH("then_branch", then_graph),
                                          LIANA__ONNX_GRAPH("else_branch", else_graph)),
                         results, count);
}

/* ---- parts of results ---- */

/* How the results lie in liana's flat list, as the op has it. */
static liana__flat flat_of(const liana__node *node)
{
    const liana_graph *graph = liana__node_body(node, 0);
    if (node->op == &liana__op_scan) return liana__scan_flat(node->attributes);
    return (liana__flat){graph, graph->num_outputs, 1};
}

/* The result that a part is; NULL: it is none. */
static const char *find_part(liana__onnx_scope *scope, const liana__node *part, liana_dtype *dtype)
{
    const liana__node *loop = part->inputs[0];
    const int64_t offset = liana__onnx_int(part, "offset");
    if (!loop->op->num_bodies || !liana__onnx_value_of(scope, loop)->parts) return NULL;
    const liana__flat flat = flat_of(loop);
    for (size_t i = 0; i < flat.body->num_outputs; i++) {
        const int64_t count = i < flat.num_single ? 1 : flat.steps;
        const liana__node *output = flat.body->outputs[i].node;
        if (liana__flat_offset(&flat, i) != offset) continue;
        if (count * liana_shape_size(&output->shape) != liana_shape_size(&part->shape)) return NULL;
        *dtype = output->dtype;
        return liana__onnx_value_of(scope, loop)->parts[i];
    }
    return NULL;
}

const char *liana__onnx_part_as(liana__onnx_scope *scope, const liana__node *part, liana_dtype dtype)
{
    liana_dtype own;
    const char *name = find_part(scope, part, &own);
    return name && own == dtype ? name : NULL;
}

/* Elements of an ordinary list. */
static const char *cut(liana__onnx_scope *scope, const liana__node *node)
{
    const liana__onnx_size offset = liana__onnx_size_of(scope, liana__onnx_int(node, "offset"),
                                                        liana__onnx_int(liana__onnx_twin(scope, node), "offset"));
    const int64_t size = liana_shape_size(&node->shape), zero = 0;
    const int64_t of_twin = liana_shape_size(&liana__onnx_twin(scope, node)->shape);
    liana__onnx_size end = liana__onnx_size_of(scope, size, of_twin), sizes[LIANA_MAX_RANK];
    end.constant += offset.constant;
    end.per_example += offset.per_example;
    for (int i = 0; i < node->shape.rank; i++) sizes[i] = liana__onnx_dim(scope, node, i);
    const char *x = liana__onnx_input(scope, node, 0), *axis = liana__onnx_list_of(scope, "axes", &zero, 1);
    const char *from = liana__onnx_sizes(scope, node, &offset, 1), *to = liana__onnx_sizes(scope, node, &end, 1);
    x = liana__onnx_say(scope, node, "Slice", LIANA__ONNX_OF(x, from, to, axis), NULL);
    return liana__onnx_reshape(scope, node, x, sizes, (size_t)node->shape.rank);
}

void liana__onnx_to_part(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    liana_dtype own = node->dtype;
    const char *name = find_part(scope, node, &own);
    (void)type;
    if (!name && !node->inputs[0]->op->num_bodies) name = cut(scope, node);
    if (!name) name = liana__onnx_refuse(scope, node, "a part of a loop's results that is not one of them");
    if (*name && own != node->dtype) name = liana__onnx_cast(scope, node, name, node->dtype);
    liana__onnx_give(scope, node, name, LIANA__ONNX_NATURAL);
}

/* ---- cells ---- */

typedef struct gates {
    liana__onnx_scope *scope;
    const liana__node *node;
} gates;

static const char *of(const gates *g, const char *type, const char *a, const char *b)
{
    return liana__onnx_say(g->scope, g->node, type, LIANA__ONNX_OF(a, b ? b : ""), NULL);
}

/* Columns of [batch, gates * units], of equal width. */
static void split(const gates *g, const char *x, size_t count, const char **parts)
{
    const int64_t units = g->node->inputs[0]->shape.dims[1] / (int64_t)count;
    int64_t sizes[LIANA__LSTM_GATES];
    for (size_t i = 0; i < count; i++) sizes[i] = units;
    const char *list = liana__onnx_list_of(g->scope, "units", sizes, count);
    liana__onnx_say_many(g->scope, g->node, "Split", LIANA__ONNX_OF(x, list),
                         LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", 1)), parts, count);
}

static const char *lstm(const gates *g, const char *x, const char *inner, const char *c)
{
    const char *p[LIANA__LSTM_GATES];
    split(g, of(g, "Add", x, inner), LIANA__LSTM_GATES, p);
    const char *kept = of(g, "Mul", of(g, "Sigmoid", p[1], NULL), c);
    const char *written = of(g, "Mul", of(g, "Sigmoid", p[0], NULL), of(g, "Tanh", p[2], NULL));
    const char *next = of(g, "Add", kept, written);
    const char *h = of(g, "Mul", of(g, "Sigmoid", p[3], NULL), of(g, "Tanh", next, NULL));
    return liana__onnx_say(g->scope, g->node, "Concat", LIANA__ONNX_OF(h, next),
                           LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", 1)));
}

static const char *gru(const gates *g, const char *x, const char *inner, const char *h)
{
    const char *a[LIANA__GRU_GATES], *b[LIANA__GRU_GATES];
    split(g, x, LIANA__GRU_GATES, a);
    split(g, inner, LIANA__GRU_GATES, b);
    const char *z = of(g, "Sigmoid", of(g, "Add", a[0], b[0]), NULL);
    const char *r = of(g, "Sigmoid", of(g, "Add", a[1], b[1]), NULL);
    const char *n = of(g, "Tanh", of(g, "Add", a[2], of(g, "Mul", r, b[2])), NULL);
    const char *rest = of(g, "Sub", liana__onnx_number(g->scope, g->node->dtype, 1), z);
    return of(g, "Add", of(g, "Mul", z, h), of(g, "Mul", rest, n));
}

void liana__onnx_to_cell(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const gates g = {scope, node};
    const char *x = liana__onnx_input(scope, node, 0), *inner = liana__onnx_input(scope, node, 1);
    const char *state = liana__onnx_input(scope, node, 2);
    (void)type;
    const char *result = (node->op == &liana__op_lstm_cell ? lstm : gru)(&g, x, inner, state);
    liana__onnx_give(scope, node, result, LIANA__ONNX_NATURAL);
}
