/* while: a body as long as a condition holds. */
#include "base/scoped.h"
#include "ops/control/body_build.h"
#include "ops/control/body_run.h"
#include "ops/control/flat.h"
#include "stablehlo/body.h"

#include <stdlib.h>

/* The inputs of a node and of its bodies are carries and constants. The first body gives the next carries, the second
 * one whether there is a next step. */
typedef struct while_attributes {
    liana__bodies bodies;
    int64_t num_carries;
    int64_t most_steps; /* 0: no limit */
} while_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(while_attributes, num_carries, INT, .doc = "How many inputs are carries."),
    LIANA__FIELD_ROW(while_attributes, most_steps, INT, .doc = "After how many steps it ends in any case; 0: never."),
};
static const liana__fields attributes = {"while", sizeof(while_attributes), 2, fields};

static liana__flat flat_of(const while_attributes *loop)
{
    return (liana__flat){loop->bodies.items[0], (size_t)loop->num_carries, 1};
}

static liana_status check_inputs(liana__infer *infer, const liana_graph *body, const char *what)
{
    for (size_t i = 0; i < infer->num_inputs; i++) {
        const liana__node *given = infer->inputs[i], *found = body->inputs[i];
        if (found->dtype == given->dtype && liana_shape_equal(&found->shape, &given->shape)) continue;
        return liana__infer_fail(infer, "input %zu of %s is %s, expected %s", i, what,
                                 liana__type_print(found->dtype, &found->shape).text,
                                 liana__type_print(given->dtype, &given->shape).text);
    }
    return LIANA_OK;
}

static liana_status infer_while(liana__infer *infer)
{
    const while_attributes *loop = infer->attributes;
    const liana_graph *body = loop->bodies.items[0], *condition = loop->bodies.items[1];
    if (loop->num_carries < 1 || loop->num_carries > (int64_t)infer->num_inputs || loop->most_steps < 0 ||
        loop->most_steps > INT32_MAX) {
        return liana__infer_fail(infer,
                                 "%lld carries among %zu inputs and at most %lld steps; expected 1 to %zu carries "
                                 "and 0 to %d steps",
                                 (long long)loop->num_carries, infer->num_inputs, (long long)loop->most_steps,
                                 infer->num_inputs, INT32_MAX);
    }
    const size_t num_carries = (size_t)loop->num_carries;
    LIANA_TRY(liana__infer_body(infer, body, infer->num_inputs, num_carries, "the body of while"));
    LIANA_TRY(liana__infer_body(infer, condition, infer->num_inputs, 1, "the condition of while"));
    LIANA_TRY(check_inputs(infer, body, "the body"));
    LIANA_TRY(check_inputs(infer, condition, "the condition"));
    const liana__node *holds = condition->outputs[0].node;
    if (holds->dtype != LIANA_BOOL || holds->shape.rank != 0) {
        return liana__infer_fail(infer, "the condition gives %s, expected a bool scalar",
                                 liana__type_print(holds->dtype, &holds->shape).text);
    }
    if (body->num_outputs != num_carries) {
        return liana__infer_fail(infer, "the body gives %zu tensors, expected %zu", body->num_outputs, num_carries);
    }
    for (size_t i = 0; i < num_carries; i++) {
        const liana__node *next = body->outputs[i].node, *given = infer->inputs[i];
        if (next->dtype == given->dtype && liana_shape_equal(&next->shape, &given->shape)) continue;
        return liana__infer_fail(infer, "next carry %zu of the body is %s, expected %s", i,
                                 liana__type_print(next->dtype, &next->shape).text,
                                 liana__type_print(given->dtype, &given->shape).text);
    }
    const liana__flat flat = flat_of(loop);
    return liana__flat_infer(infer, &flat);
}

/* ---- running ---- */

typedef struct while_plan {
    liana__body_plan body, condition;
    size_t num_carries, carry_size; /* bytes of all carries once */
} while_plan;

static void free_plan(void *own)
{
    while_plan *plan = own;
    liana__body_plan_free(&plan->body);
    if (plan->condition.body) liana__body_plan_free(&plan->condition);
    free(plan);
}

static liana_status make_plans(const liana__node *node, bool reference, while_plan *plan, liana__error *error)
{
    LIANA__SCOPED_MEMORY bool *is_constant = calloc(node->num_inputs + 1, sizeof *is_constant);
    if (!is_constant) return liana__fail_memory(error, "a while");
    for (size_t i = plan->num_carries; i < node->num_inputs; i++) is_constant[i] = true;
    liana__body_facts facts = {.body = liana__node_body(node, 0), .is_constant = is_constant, .reference = reference};
    LIANA_TRY(liana__body_plan_make(&facts, &plan->body, error));
    facts.body = liana__node_body(node, 1);
    return liana__body_plan_make(&facts, &plan->condition, error);
}

static liana_status make_plan(const liana__node *node, bool reference, liana__prepared *prepared, liana__error *error)
{
    const while_attributes *loop = node->attributes;
    while_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return liana__fail_memory(error, "a while");
    plan->num_carries = (size_t)loop->num_carries;
    liana_status status = make_plans(node, reference, plan, error);
    if (status != LIANA_OK) {
        free_plan(plan);
        return status;
    }
    for (size_t i = 0; i < plan->num_carries; i++) {
        plan->carry_size += liana__align_up(liana__byte_size(node->inputs[i]->dtype, &node->inputs[i]->shape));
    }
    prepared->plan = plan;
    prepared->scratch_size =
        2 * plan->carry_size + liana__body_run_size(&plan->body) + liana__body_run_size(&plan->condition);
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

/* Two sets of carries, of which one is read while the other is written. */
typedef struct while_run {
    const liana__call *call;
    const while_plan *plan;
    liana__body_run body, condition;
    char *now, *next;
} while_run;

static void set_constants(const while_run *run, const liana__body_run *body)
{
    for (size_t i = run->plan->num_carries; i < run->call->node->num_inputs; i++) {
        body->values[body->plan->body->inputs[i]->id] = (void *)run->call->src[i];
    }
}

static void set_carries(const while_run *run, const liana__body_run *body)
{
    char *at = run->now;
    for (size_t i = 0; i < run->plan->num_carries; i++) {
        const liana__node *input = body->plan->body->inputs[i];
        body->values[input->id] = at;
        at += liana__align_up(liana__byte_size(input->dtype, &input->shape));
    }
}

static void take_next(while_run *run)
{
    char *at = run->next;
    for (size_t i = 0; i < run->plan->num_carries; i++) {
        const liana__node *output = run->plan->body.body->outputs[i].node;
        const size_t size = liana__byte_size(output->dtype, &output->shape);
        memcpy(at, run->body.values[output->id], size);
        at += liana__align_up(size);
    }
    at = run->now;
    run->now = run->next;
    run->next = at;
}

static liana_status run_steps(while_run *run)
{
    const while_attributes *loop = run->call->node->attributes;
    const liana__node *holds = run->plan->condition.body->outputs[0].node;
    for (int64_t step = 0; loop->most_steps == 0 || step < loop->most_steps; step++) {
        set_carries(run, &run->condition);
        LIANA_TRY(liana__body_run_step(&run->condition));
        if (!*(const uint8_t *)run->condition.values[holds->id]) break;
        set_carries(run, &run->body);
        LIANA_TRY(liana__body_run_step(&run->body));
        take_next(run);
    }
    return LIANA_OK;
}

static liana_status run_while(const liana__call *call)
{
    const while_plan *plan = call->plan;
    char *memory = call->scratch;
    while_run run = {.call = call, .plan = plan, .now = memory, .next = memory + plan->carry_size};
    memory += 2 * plan->carry_size;
    run.body = liana__body_run_begin(&plan->body, memory, 0);
    run.condition = liana__body_run_begin(&plan->condition, memory + liana__body_run_size(&plan->body), 0);
    char *at = run.now;
    for (size_t i = 0; i < plan->num_carries; i++) {
        const size_t size = liana__byte_size(call->node->inputs[i]->dtype, &call->node->inputs[i]->shape);
        memcpy(at, call->src[i], size);
        at += liana__align_up(size);
    }
    set_constants(&run, &run.body);
    set_constants(&run, &run.condition);
    LIANA_TRY(liana__body_run_once(&run.body));
    LIANA_TRY(liana__body_run_once(&run.condition));
    LIANA_TRY(run_steps(&run));
    int64_t offset = 0;
    at = run.now;
    for (size_t i = 0; i < plan->num_carries; i++) {
        const liana__node *carry = call->node->inputs[i];
        const int64_t count = liana_shape_size(&carry->shape);
        char *to = (char *)call->dst + (size_t)offset * liana_dtype_size(call->node->dtype);
        liana__flat_copy(to, call->node->dtype, at, carry->dtype, count);
        offset += count;
        at += liana__align_up(liana__byte_size(carry->dtype, &carry->shape));
    }
    return LIANA_OK;
}

/* ---- StableHLO ---- */

static liana_status lower_condition(liana__lowering *l, const liana__node *node, const liana__hlo *values,
                                    liana__hlo *holds)
{
    const while_attributes *loop = node->attributes;
    const liana_graph *condition = loop->bodies.items[1];
    liana__hlo *results = liana__hlo_room(l, condition->num_outputs);
    if (!results) return liana__hlo_fail_memory(l);
    LIANA_TRY(liana__hlo_body(l, condition, values + 1, results));
    *holds = results[0];
    if (loop->most_steps == 0) return LIANA_OK;
    *holds = liana__hlo_binary(l, "and", *holds, liana__hlo_compare_with(l, "LT", values[0], (double)loop->most_steps));
    return LIANA_OK;
}

static liana_status lower_while(liana__lowering *l, const liana__node *node)
{
    const while_attributes *loop = node->attributes;
    const size_t count = 1 + node->num_inputs;
    liana__hlo *values = liana__hlo_room(l, count), *next = liana__hlo_room(l, count), holds = {0};
    if (!values || !next) return liana__hlo_fail_memory(l);
    values[0] = liana__hlo_fill(l, LIANA_S32, LIANA_SCALAR, 0);
    for (uint32_t i = 0; i < node->num_inputs; i++) values[1 + i] = liana__hlo_input(l, node, i);
    liana__hlo_while frame = {.values = values, .count = count};
    liana__hlo_while_begin(l, &frame);
    LIANA_TRY(lower_condition(l, node, values, &holds));
    liana__hlo_while_between(l, &frame, holds);
    memcpy(next, values, count * sizeof *next);
    if (loop->most_steps) next[0] = liana__hlo_binary_with(l, "add", values[0], 1);
    LIANA_TRY(liana__hlo_body(l, loop->bodies.items[0], values + 1, next + 1));
    liana__hlo_while_end(l, &frame, next);
    return liana__hlo_give(l, node, liana__hlo_flat(l, values + 1, (size_t)loop->num_carries, node->dtype));
}

static const liana__kernel compiled = {.name = "compiled",
                                       .prepare = prepare_fast,
                                       .release = free_plan,
                                       .run = run_while};
static const liana__kernel reference = {.name = "reference",
                                        .prepare = prepare_reference,
                                        .release = free_plan,
                                        .run = run_while};

const liana__op liana__op_while = {
    .name = "while",
    .doc = "A body as long as a condition of its results holds.",
    .attributes = &attributes,
    .num_inputs = 1,
    .more_inputs = 1000,
    .num_bodies = 2,
    .infer = infer_while,
    .lower = lower_while,
    .kernels = LIANA__KERNELS(&compiled, &reference, NULL),
};

void liana_op_while_at(liana_location here, const liana_while *loop, liana_tensor *last)
{
    if (!loop) return;
    const liana__body_inputs inputs = {.here = here,
                                       .op = "while",
                                       .carries = loop->carries,
                                       .num_carries = loop->num_carries,
                                       .constants = loop->constants,
                                       .num_constants = loop->num_constants,
                                       .num_next = loop->num_carries,
                                       .user = loop->user};
    liana_graph *graph = liana__body_inputs_graph(&inputs);
    for (size_t i = 0; last && i < loop->num_carries; i++) last[i] = (liana_tensor){graph, 0};
    liana_graph *body = liana__body_build(&inputs, loop->body);
    liana_graph *condition = body ? liana__body_build_condition(&inputs, loop->condition) : NULL;
    if (condition) {
        const while_attributes options = {.bodies = {{body, condition}},
                                          .num_carries = (int64_t)loop->num_carries,
                                          .most_steps = loop->most_steps};
        const liana_tensor none = {0}, all = liana__body_op(&inputs, &liana__op_while, none, &options);
        const liana__flat flat = flat_of(&options);
        for (size_t i = 0; last && all.id && i < loop->num_carries; i++) {
            last[i] = liana__flat_part(here, all, &flat, i);
        }
    }
    liana_graph_destroy(condition);
    liana_graph_destroy(body);
}
