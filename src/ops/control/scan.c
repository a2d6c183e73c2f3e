/* scan: a loop over the rows of tensors, with values that are carried from step to step. */
#include "ops/control/scan.h"

#include "base/scoped.h"
#include "ops/control/body_build.h"
#include "ops/control/body_run.h"
#include "stablehlo/body.h"

#include <stdlib.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__scan_attributes, steps, INT, .doc = "The number of steps."),
    LIANA__FIELD_ROW(liana__scan_attributes, num_carries, INT, .doc = "How many inputs are carries."),
    LIANA__FIELD_ROW(liana__scan_attributes, num_xs, INT,
                     .doc = "How many inputs behind these have a row for each step."),
    LIANA__FIELD_ROW(liana__scan_attributes, reverse, BOOL, .doc = "Whether it runs from the last row to the first."),
};
static const liana__fields attributes = {"scan", sizeof(liana__scan_attributes), 4, fields};

/* ---- the shape rule ---- */

static liana_status check_type(liana__infer *infer, const char *what, size_t index, const liana__node *found,
                               liana_dtype dtype, const liana_shape *shape)
{
    if (found->dtype == dtype && liana_shape_equal(&found->shape, shape)) return LIANA_OK;
    return liana__infer_fail(infer, "%s %zu of the body is %s, expected %s", what, index,
                             liana__type_print(found->dtype, &found->shape).text, liana__type_print(dtype, shape).text);
}

static liana_status check_x(liana__infer *infer, const liana__scan_attributes *scan, size_t index)
{
    const liana__node *given = infer->inputs[index];
    if (given->shape.rank > 0 && given->shape.dims[0] == scan->steps) return LIANA_OK;
    return liana__infer_fail(infer, "x %zu is %s, expected %lld rows on axis 0, one for each step",
                             index - (size_t)scan->num_carries, liana__type_print(given->dtype, &given->shape).text,
                             (long long)scan->steps);
}

static liana_status infer_scan(liana__infer *infer)
{
    const liana__scan_attributes *scan = infer->attributes;
    const liana_graph *body = scan->bodies.items[0];
    const int64_t most = (int64_t)infer->num_inputs;
    if (scan->steps < 1 || scan->steps > INT32_MAX) {
        return liana__infer_fail(infer, "%lld steps, expected 1 to %d", (long long)scan->steps, INT32_MAX);
    }
    if (scan->num_carries < 0 || scan->num_xs < 0 || scan->num_carries > most ||
        scan->num_xs > most - scan->num_carries) {
        return liana__infer_fail(infer, "%lld carries and %lld xs among %lld inputs", (long long)scan->num_carries,
                                 (long long)scan->num_xs, (long long)most);
    }
    const size_t num_carries = (size_t)scan->num_carries, end_xs = num_carries + (size_t)scan->num_xs;
    LIANA_TRY(liana__infer_body(infer, body, infer->num_inputs, num_carries, "the body of scan"));
    for (size_t i = 0; i < infer->num_inputs; i++) {
        const liana__node *given = infer->inputs[i];
        const bool is_x = i >= num_carries && i < end_xs;
        if (is_x) LIANA_TRY(check_x(infer, scan, i));
        const liana_shape shape = is_x ? liana__row_shape(&given->shape) : given->shape;
        LIANA_TRY(check_type(infer, "input", i, body->inputs[i], given->dtype, &shape));
        if (i < num_carries) {
            LIANA_TRY(check_type(infer, "next carry", i, body->outputs[i].node, given->dtype, &given->shape));
        }
    }
    const liana__flat flat = liana__scan_flat(scan);
    return liana__flat_infer(infer, &flat);
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    const liana__scan_attributes *scan = node->attributes;
    const liana_graph *body = scan->bodies.items[0];
    for (size_t id = 1; id < body->num_nodes; id++) {
        const liana__node *inner = body->nodes[id];
        if (liana__is_leaf(inner)) continue;
        const liana__cost step = liana__node_cost(inner);
        cost->flops += (double)scan->steps * step.flops;
        cost->product_flops += (double)scan->steps * step.product_flops;
    }
    cost->family = "loops";
}

/* ---- running ---- */

/* A carry or y in the flat result. */
typedef struct place {
    const liana__node *node; /* of the body */
    int64_t offset, size;    /* in elements; of one step */
    bool is_direct;          /* the step writes it where it belongs */
    bool is_trail;           /* it is a carry before each step, and that carry lies there all the time */
    int64_t trail;           /* of a carry: the y where it lies; -1: there is none */
    size_t buffers;          /* of a carry without a trail: two in the scratch memory */
} place;

typedef struct scan_plan {
    liana__body_plan whole, tile; /* of a tile: body NULL if there are no tiles */
    place *places;                /* carries, then ys */
    size_t num_places, num_carries;
    size_t buffer_size; /* bytes of all carries' buffers */
    size_t pointers;    /* carries' places before and after a step */
    bool *has_rows;     /* by node id of the body; NULL: they are not apart */
    int64_t rows;       /* of the batch */
} scan_plan;

static int64_t find_rows(const liana__node *node)
{
    const liana_graph *body = liana__node_body(node, 0);
    const liana_shape *shape = &body->outputs[0].node->shape;
    return shape->rank > 0 ? shape->dims[0] : 0;
}

static void find_trails(const liana__scan_attributes *scan, scan_plan *plan, liana_dtype dtype)
{
    const liana_graph *body = scan->bodies.items[0];
    for (size_t i = 0; i < plan->num_carries; i++) {
        plan->places[i].trail = -1;
        for (size_t k = plan->num_carries; k < plan->num_places && plan->places[i].trail < 0; k++) {
            if (plan->places[k].node != body->inputs[i] || body->inputs[i]->dtype != dtype) continue;
            plan->places[i].trail = (int64_t)k;
            plan->places[k].is_trail = true;
        }
    }
}

/* Lets steps write results where they belong: each node into one place, carries first. */
static void find_direct(scan_plan *plan, liana_dtype dtype)
{
    for (size_t i = 0; i < plan->num_places; i++) {
        place *own = &plan->places[i];
        own->is_direct = plan->whole.is_computed[own->node->id] && own->node->dtype == dtype;
        for (size_t k = 0; k < i && own->is_direct; k++) {
            if (plan->places[k].is_direct && plan->places[k].node == own->node) own->is_direct = false;
        }
    }
}

static liana_status make_body_plan(const liana__node *node, scan_plan *plan, bool reference, int64_t rows,
                                   liana__body_plan *made, liana__error *error)
{
    const liana__scan_attributes *scan = node->attributes;
    LIANA__SCOPED_MEMORY bool *is_constant = calloc(node->num_inputs + 1, sizeof *is_constant);
    if (!is_constant) return liana__fail_memory(error, "a scan");
    for (size_t i = (size_t)(scan->num_carries + scan->num_xs); i < node->num_inputs; i++) is_constant[i] = true;
    const liana__body_facts facts = {.body = scan->bodies.items[0],
                                     .is_constant = is_constant,
                                     .has_rows = rows ? plan->has_rows : NULL,
                                     .num_rows = rows,
                                     .reference = reference};
    return liana__body_plan_make(&facts, made, error);
}

static void free_plan(void *own)
{
    scan_plan *plan = own;
    liana__body_plan_free(&plan->whole);
    if (plan->tile.body) liana__body_plan_free(&plan->tile);
    free(plan->places);
    free(plan->has_rows);
    free(plan);
}

static size_t scratch_of(const scan_plan *plan, const liana__body_plan *body)
{
    return liana__body_run_size(body) + plan->buffer_size + liana__align_up(2 * plan->num_carries * sizeof(void *));
}

static void list_places(const liana__node *node, scan_plan *plan)
{
    const liana__scan_attributes *scan = node->attributes;
    const liana_graph *body = scan->bodies.items[0];
    int64_t offset = 0;
    for (size_t i = 0; i < plan->num_places; i++) {
        const liana__node *output = body->outputs[i].node;
        const int64_t size = liana_shape_size(&output->shape);
        plan->places[i] = (place){.node = output, .offset = offset, .size = size, .trail = -1};
        offset += size * (i < plan->num_carries ? 1 : scan->steps);
    }
    find_trails(scan, plan, node->dtype);
    find_direct(plan, node->dtype);
    for (size_t i = 0; i < plan->num_carries; i++) {
        if (plan->places[i].trail >= 0) continue;
        plan->places[i].buffers = plan->buffer_size;
        plan->buffer_size +=
            2 * liana__align_up(liana__byte_size(plan->places[i].node->dtype, &plan->places[i].node->shape));
    }
}

static liana_status make_plan(const liana__node *node, bool reference, liana__prepared *prepared, liana__error *error)
{
    const liana__scan_attributes *scan = node->attributes;
    const liana_graph *body = scan->bodies.items[0];
    scan_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return liana__fail_memory(error, "a scan");
    plan->num_places = body->num_outputs;
    plan->num_carries = (size_t)scan->num_carries;
    plan->places = calloc(plan->num_places, sizeof *plan->places);
    liana_status status = plan->places ? make_body_plan(node, plan, reference, 0, &plan->whole, error)
                                       : liana__fail_memory(error, "a scan");
    if (status != LIANA_OK) {
        free_plan(plan);
        return status;
    }
    list_places(node, plan);
    prepared->plan = plan;
    prepared->scratch_size = scratch_of(plan, &plan->whole);
    return LIANA_OK;
}

static liana_status prepare_fast(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    return make_plan(node, false, prepared, error);
}

static liana_status prepare_reference(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    return make_plan(node, true, prepared, error);
}

/* As many tiles of equal rows as have at least LEAST_ROWS each: with fewer, products would read weights too often. */
static size_t count_tiles(int64_t rows)
{
    enum { LEAST_ROWS = 8, MOST_TILES = 32 };
    size_t count = 1;
    for (int64_t tiles = 2; tiles <= MOST_TILES && tiles * LEAST_ROWS <= rows; tiles++) {
        if (rows % tiles == 0) count = (size_t)tiles;
    }
    return count;
}

static liana_status cut_rows(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    scan_plan *plan = prepared->plan;
    const liana_graph *body = liana__node_body(node, 0);
    const int64_t rows = find_rows(node);
    const size_t tiles = count_tiles(rows);
    if (tiles < 2 || plan->tile.body) return LIANA_OK;
    plan->has_rows = calloc(body->num_nodes, sizeof *plan->has_rows);
    if (!plan->has_rows) return liana__fail_memory(error, "a scan");
    if (!liana__body_find_rows(body, rows, plan->num_carries, plan->has_rows)) return LIANA_OK;
    plan->rows = rows;
    LIANA_TRY(make_body_plan(node, plan, false, rows / (int64_t)tiles, &plan->tile, error));
    const size_t scratch = scratch_of(plan, &plan->tile);
    if (scratch > prepared->scratch_size) prepared->scratch_size = scratch;
    prepared->num_tiles = tiles;
    return LIANA_OK;
}

/* One run over all steps. */
typedef struct scan_run {
    const liana__call *call;
    const scan_plan *plan;
    const liana__scan_attributes *scan;
    liana__body_run body;
    char *buffers;
    char **before, **after;  /* by carry: where it lies before and after the step */
    int64_t rows, first_row; /* of a tile; rows 0: all */
} scan_run;

/* The bytes of this run's rows of a node in the body; and where they begin. */
static size_t own_bytes(const scan_run *run, const liana__node *node, size_t *begin)
{
    const size_t bytes = liana__byte_size(node->dtype, &node->shape);
    *begin = 0;
    if (!run->rows || !run->plan->has_rows[node->id]) return bytes;
    const size_t row = bytes / (size_t)run->plan->rows;
    *begin = row * (size_t)run->first_row;
    return row * (size_t)run->rows;
}

/* Where this run's rows of a place are in the result, of step `at` for a y. */
static char *result_place(const scan_run *run, const place *own, int64_t at)
{
    const size_t element = liana_dtype_size(run->call->node->dtype);
    int64_t offset = own->offset + at * own->size;
    if (run->rows) offset += own->size / run->plan->rows * run->first_row;
    return (char *)run->call->dst + (size_t)offset * element;
}

/* The row of xs and ys of a step. */
static int64_t row_of(const scan_run *run, int64_t step)
{
    return run->scan->reverse ? run->scan->steps - 1 - step : step;
}

static void set_inputs(const scan_run *run)
{
    const liana_graph *graph = run->body.plan->body;
    const size_t num_carries = run->plan->num_carries, end_xs = num_carries + (size_t)run->scan->num_xs;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *input = graph->inputs[i];
        size_t begin;
        (void)own_bytes(run, input, &begin);
        char *from = (char *)run->call->src[i] + begin;
        if (i < num_carries) {
            run->before[i] = from;
        } else {
            const size_t row = liana__byte_size(input->dtype, &input->shape);
            run->body.values[input->id] = i < end_xs ? from + (size_t)row_of(run, 0) * row : from;
        }
    }
    /* Carries that lie in a y begin there. */
    for (size_t i = 0; i < num_carries; i++) {
        const place *own = &run->plan->places[i];
        if (own->trail < 0) continue;
        size_t begin;
        const size_t bytes = own_bytes(run, own->node, &begin);
        char *home = result_place(run, &run->plan->places[own->trail], row_of(run, 0));
        memcpy(home, run->before[i], bytes);
        run->before[i] = home;
    }
}

/* Where a carry is to be after a step. */
static char *next_place(const scan_run *run, size_t carry, int64_t step)
{
    const place *own = &run->plan->places[carry];
    const bool is_last = step == run->scan->steps - 1;
    if (is_last && own->node->dtype == run->call->node->dtype) return result_place(run, own, 0);
    if (own->trail >= 0) return result_place(run, &run->plan->places[own->trail], row_of(run, step + 1));
    const size_t size = liana__align_up(liana__byte_size(own->node->dtype, &own->node->shape));
    return run->buffers + own->buffers + (size_t)(step & 1) * size;
}

static void place_step(const scan_run *run, int64_t step)
{
    const scan_plan *plan = run->plan;
    void **values = run->body.values;
    for (size_t i = 0; i < plan->num_carries; i++) {
        values[run->body.plan->body->inputs[i]->id] = run->before[i];
        run->after[i] = next_place(run, i, step);
        if (plan->places[i].is_direct) values[plan->places[i].node->id] = run->after[i];
    }
    for (size_t i = plan->num_carries; i < plan->num_places; i++) {
        const place *own = &plan->places[i];
        if (own->is_direct) values[own->node->id] = result_place(run, own, row_of(run, step));
    }
}

/* Copies the results that the step could not write where they belong. */
static void give_step(const scan_run *run, int64_t step)
{
    const scan_plan *plan = run->plan;
    const liana_dtype dtype = run->call->node->dtype;
    for (size_t i = 0; i < plan->num_places; i++) {
        const place *own = &plan->places[i];
        const void *value = run->body.values[own->node->id];
        const bool is_carry = i < plan->num_carries;
        size_t begin;
        const size_t bytes = own_bytes(run, own->node, &begin);
        const int64_t count = (int64_t)(bytes / liana_dtype_size(own->node->dtype));
        if (is_carry && !own->is_direct) memmove(run->after[i], value, bytes);
        if (!is_carry && !own->is_direct && !own->is_trail) {
            liana__flat_copy(result_place(run, own, row_of(run, step)), dtype, value, own->node->dtype, count);
        }
        const bool is_last = step == run->scan->steps - 1;
        if (is_carry && is_last && own->node->dtype != dtype) {
            liana__flat_copy(result_place(run, own, 0), dtype, run->after[i], own->node->dtype, count);
        }
    }
}

static void advance_xs(const scan_run *run)
{
    const liana_graph *graph = run->body.plan->body;
    for (size_t i = run->plan->num_carries; i < run->plan->num_carries + (size_t)run->scan->num_xs; i++) {
        const liana__node *input = graph->inputs[i];
        char **value = (char **)&run->body.values[input->id];
        const size_t row = liana__byte_size(input->dtype, &input->shape);
        *value = run->scan->reverse ? *value - row : *value + row;
    }
}

static liana_status run_scan(const liana__call *call)
{
    const scan_plan *plan = call->plan;
    const liana__body_plan *body = call->num_tiles ? &plan->tile : &plan->whole;
    scan_run run = {.call = call, .plan = plan, .scan = call->node->attributes};
    if (call->num_tiles) {
        run.rows = plan->rows / (int64_t)call->num_tiles;
        run.first_row = run.rows * (int64_t)call->tile;
    }
    run.before = call->scratch;
    run.after = run.before + plan->num_carries;
    run.buffers = (char *)call->scratch + liana__align_up(2 * plan->num_carries * sizeof(void *));
    run.body = liana__body_run_begin(body, run.buffers + plan->buffer_size, run.first_row);
    set_inputs(&run);
    LIANA_TRY(liana__body_run_once(&run.body));
    for (int64_t step = 0; step < run.scan->steps; step++) {
        place_step(&run, step);
        LIANA_TRY(liana__body_run_step(&run.body));
        give_step(&run, step);
        for (size_t i = 0; i < plan->num_carries; i++) run.before[i] = run.after[i];
        if (step + 1 < run.scan->steps) advance_xs(&run);
    }
    return LIANA_OK;
}

/* ---- StableHLO ---- */

/* A row as a tensor of one step, and back. */
static liana__hlo take_row(liana__lowering *l, liana__hlo x, liana__hlo row)
{
    liana_shape one = x.shape;
    one.dims[0] = 1;
    return liana__hlo_reshape(l, liana__hlo_rows(l, x, row, one), liana__row_shape(&x.shape));
}

static liana__hlo set_row(liana__lowering *l, liana__hlo ys, liana__hlo y, liana__hlo row)
{
    liana_shape one = ys.shape;
    one.dims[0] = 1;
    return liana__hlo_set_rows(l, ys, liana__hlo_reshape(l, y, one), row);
}

/* The values of the loop: its step, the inputs, the ys so far. */
static size_t list_values(liana__lowering *l, const liana__node *node, liana__hlo *values)
{
    const liana__scan_attributes *scan = node->attributes;
    const liana_graph *body = scan->bodies.items[0];
    size_t count = 0;
    values[count++] = liana__hlo_fill(l, LIANA_S32, LIANA_SCALAR, 0);
    for (uint32_t i = 0; i < node->num_inputs; i++) values[count++] = liana__hlo_input(l, node, i);
    for (size_t i = (size_t)scan->num_carries; i < body->num_outputs; i++) {
        const liana__node *y = body->outputs[i].node;
        liana_shape shape = {.rank = y->shape.rank + 1};
        shape.dims[0] = scan->steps;
        for (int k = 0; k < y->shape.rank; k++) shape.dims[k + 1] = y->shape.dims[k];
        values[count++] = liana__hlo_fill(l, y->dtype, shape, 0);
    }
    return count;
}

/* Writes a step: `values` become those after it. */
static liana_status lower_step(liana__lowering *l, const liana__node *node, liana__hlo *values)
{
    const liana__scan_attributes *scan = node->attributes;
    const liana_graph *body = scan->bodies.items[0];
    const size_t num_carries = (size_t)scan->num_carries, num_inputs = node->num_inputs;
    liana__hlo *given = liana__hlo_room(l, num_inputs), *results = liana__hlo_room(l, body->num_outputs);
    if (!given || !results) return liana__hlo_fail_memory(l);
    liana__hlo step = values[0], row = step;
    if (scan->reverse) {
        row = liana__hlo_binary(l, "subtract", liana__hlo_fill(l, LIANA_S32, LIANA_SCALAR, (double)scan->steps - 1),
                                step);
    }
    for (size_t i = 0; i < num_inputs; i++) {
        const bool is_x = i >= num_carries && i < num_carries + (size_t)scan->num_xs;
        given[i] = is_x ? take_row(l, values[1 + i], row) : values[1 + i];
    }
    LIANA_TRY(liana__hlo_body(l, body, given, results));
    values[0] = liana__hlo_binary_with(l, "add", step, 1);
    for (size_t i = 0; i < num_carries; i++) values[1 + i] = results[i];
    for (size_t i = num_carries; i < body->num_outputs; i++) {
        liana__hlo *ys = &values[1 + num_inputs + i - num_carries];
        *ys = set_row(l, *ys, results[i], row);
    }
    return LIANA_OK;
}

static liana_status lower_scan(liana__lowering *l, const liana__node *node)
{
    const liana__scan_attributes *scan = node->attributes;
    const liana_graph *body = scan->bodies.items[0];
    const size_t num_carries = (size_t)scan->num_carries, num_ys = body->num_outputs - num_carries;
    const size_t most = 1 + node->num_inputs + num_ys;
    liana__hlo *values = liana__hlo_room(l, most), *next = liana__hlo_room(l, most);
    if (!values || !next) return liana__hlo_fail_memory(l);
    liana__hlo_while loop = {.values = values, .count = list_values(l, node, values)};
    liana__hlo_while_begin(l, &loop);
    liana__hlo_while_between(l, &loop, liana__hlo_compare_with(l, "LT", values[0], (double)scan->steps));
    memcpy(next, values, most * sizeof *next);
    LIANA_TRY(lower_step(l, node, next));
    liana__hlo_while_end(l, &loop, next);
    memmove(next, values + 1, num_carries * sizeof *next);
    memmove(next + num_carries, values + 1 + node->num_inputs, num_ys * sizeof *next);
    return liana__hlo_give(l, node, liana__hlo_flat(l, next, num_carries + num_ys, node->dtype));
}

static const liana__kernel compiled = {
    .name = "compiled", .prepare = prepare_fast, .release = free_plan, .run = run_scan, .cut = cut_rows};
static const liana__kernel reference = {.name = "reference",
                                        .prepare = prepare_reference,
                                        .release = free_plan,
                                        .run = run_scan};

const liana__op liana__op_scan = {
    .name = "scan",
    .doc = "A body for each row of tensors, with values that are carried from step to step.",
    .attributes = &attributes,
    .num_inputs = 1,
    .more_inputs = 1000,
    .num_bodies = 1,
    .infer = infer_scan,
    .gradient = liana__scan_gradient,
    .cost = cost_of,
    .lower = lower_scan,
    .kernels = LIANA__KERNELS(&compiled, &reference, NULL),
};

/* ---- the builder ---- */

static int64_t count_steps(const liana_scan *scan)
{
    if (scan->num_xs == 0 || scan->steps != 0) return scan->steps;
    const liana_shape shape = liana_tensor_shape(scan->xs[0]);
    return shape.rank > 0 ? shape.dims[0] : 0;
}

void liana_op_scan_at(liana_location here, const liana_scan *scan, liana_tensor *last, liana_tensor *ys)
{
    if (!scan) return;
    const liana__body_inputs inputs = {.here = here,
                                       .op = "scan",
                                       .carries = scan->carries,
                                       .num_carries = scan->num_carries,
                                       .xs = scan->xs,
                                       .num_xs = scan->num_xs,
                                       .constants = scan->constants,
                                       .num_constants = scan->num_constants,
                                       .num_next = scan->num_carries,
                                       .num_ys = scan->num_ys,
                                       .user = scan->user};
    liana_graph *graph = liana__body_inputs_graph(&inputs);
    for (size_t i = 0; last && i < scan->num_carries; i++) last[i] = (liana_tensor){graph, 0};
    for (size_t i = 0; ys && i < scan->num_ys; i++) ys[i] = (liana_tensor){graph, 0};
    liana_graph *body = liana__body_build(&inputs, scan->body);
    if (!body) return;
    const liana__scan_attributes options = {.bodies = {{body}},
                                            .steps = count_steps(scan),
                                            .num_carries = (int64_t)scan->num_carries,
                                            .num_xs = (int64_t)scan->num_xs,
                                            .reverse = scan->reverse};
    const liana_tensor none = {0}, all = liana__body_op(&inputs, &liana__op_scan, none, &options);
    const liana__flat flat = liana__scan_flat(&options);
    for (size_t i = 0; last && all.id && i < scan->num_carries; i++) last[i] = liana__flat_part(here, all, &flat, i);
    for (size_t i = 0; ys && all.id && i < scan->num_ys; i++) {
        ys[i] = liana__flat_part(here, all, &flat, scan->num_carries + i);
    }
    liana_graph_destroy(body);
}
