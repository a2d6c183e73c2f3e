/* Calls the functions of users that build bodies. */
#include "ops/control/body_build.h"

#include "base/scoped.h"
#include "ops/control/flat.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_INPUTS = 1000 };

static size_t count_inputs(const liana__body_inputs *inputs)
{
    return inputs->num_carries + inputs->num_xs + inputs->num_constants;
}

static liana_tensor input_at(const liana__body_inputs *inputs, size_t index)
{
    if (index < inputs->num_carries) return inputs->carries[index];
    index -= inputs->num_carries;
    return index < inputs->num_xs ? inputs->xs[index] : inputs->constants[index - inputs->num_xs];
}

liana_graph *liana__body_inputs_graph(const liana__body_inputs *inputs)
{
    liana_graph *graph = inputs->graph;
    const bool many = inputs->num_carries > MOST_INPUTS || inputs->num_xs > MOST_INPUTS ||
                      inputs->num_constants > MOST_INPUTS || count_inputs(inputs) > MOST_INPUTS;
    const bool given = (inputs->carries || !inputs->num_carries) && (inputs->xs || !inputs->num_xs) &&
                       (inputs->constants || !inputs->num_constants);
    if (!given) return NULL;
    for (size_t i = 0; !many && i < count_inputs(inputs) && !graph; i++) graph = input_at(inputs, i).graph;
    if (many && inputs->num_carries) graph = inputs->carries[0].graph;
    if (!graph || graph->status != LIANA_OK) return NULL;
    if (many || inputs->num_ys > MOST_INPUTS) {
        liana__graph_fail(graph, inputs->here, LIANA_INVALID_ARGUMENT,
                          "%s got %zu tensors and gives %zu results, at most %d of each are possible", inputs->op,
                          count_inputs(inputs), inputs->num_ys, MOST_INPUTS);
        return NULL;
    }
    for (size_t i = 0; i < count_inputs(inputs); i++) {
        const liana_tensor input = input_at(inputs, i);
        if (input.graph == graph && liana__tensor_node(input)) continue;
        liana__graph_fail(graph, inputs->here, LIANA_INVALID_ARGUMENT, "%s: input %zu is not a tensor of this graph",
                          inputs->op, i);
        return NULL;
    }
    return graph;
}

/* The tensors of a step, as inputs of the body. */
static void make_inputs(const liana__body_inputs *inputs, liana_graph *body, liana_tensor *made)
{
    for (size_t i = 0; i < count_inputs(inputs); i++) {
        const liana__node *node = liana__tensor_node(input_at(inputs, i));
        const size_t x = i - inputs->num_carries, constant = x - inputs->num_xs;
        const bool is_carry = i < inputs->num_carries, is_x = !is_carry && x < inputs->num_xs;
        char name[40];
        snprintf(name, sizeof name, "%s%zu",
                 is_carry ? "carry"
                 : is_x   ? "x"
                          : "constant",
                 is_carry ? i
                 : is_x   ? x
                          : constant);
        const liana_shape shape = is_x ? liana__row_shape(&node->shape) : node->shape;
        made[i] = liana_graph_input_at(inputs->here, body, name, node->dtype, shape);
    }
}

/* Names what a body has set as outputs. */
static void take_results(const liana__body_inputs *inputs, liana_graph *body, const liana_tensor *results)
{
    for (size_t i = 0; i < inputs->num_next + inputs->num_ys && body->status == LIANA_OK; i++) {
        const bool is_next = i < inputs->num_next;
        const size_t index = is_next ? i : i - inputs->num_next;
        char name[40];
        snprintf(name, sizeof name, "%s%zu", is_next ? "next" : "y", index);
        if (results[i].graph == body && liana__tensor_node(results[i])) {
            liana_graph_output_at(inputs->here, body, name, results[i]);
            continue;
        }
        liana__graph_fail(body, inputs->here, LIANA_INVALID_ARGUMENT,
                          "the body of %s has set no tensor of its graph as %s[%zu]; other tensors are given to it as "
                          "constants",
                          inputs->op, is_next ? "next" : "ys", index);
    }
}

typedef struct call {
    liana_body body;
    liana_tensor (*condition)(const liana_loop_step *step, void *user);
} call;

static void build(const liana__body_inputs *inputs, const call *function, liana_graph *body)
{
    const size_t num_inputs = count_inputs(inputs), num_results = inputs->num_next + inputs->num_ys + 1;
    LIANA__SCOPED_MEMORY liana_tensor *tensors = calloc(num_inputs + num_results, sizeof *tensors);
    if (!tensors) {
        body->status = liana__fail_memory(&body->context->error, "a body");
        return;
    }
    make_inputs(inputs, body, tensors);
    liana_tensor *results = tensors + num_inputs;
    const liana_loop_step step = {.graph = body,
                                  .carries = tensors,
                                  .xs = tensors + inputs->num_carries,
                                  .constants = tensors + inputs->num_carries + inputs->num_xs,
                                  .next = results,
                                  .ys = results + inputs->num_next};
    if (function->condition) {
        results[0] = function->condition(&step, inputs->user);
    } else {
        function->body(&step, inputs->user);
    }
    take_results(inputs, body, results);
}

static liana_graph *build_body(const liana__body_inputs *inputs, const call *function)
{
    liana_graph *graph = liana__body_inputs_graph(inputs), *body = NULL;
    if (!graph) return NULL;
    if (!function->body && !function->condition) {
        liana__graph_fail(graph, inputs->here, LIANA_INVALID_ARGUMENT, "%s has no function for its body", inputs->op);
        return NULL;
    }
    graph->status = liana_graph_create(graph->context, &body);
    if (graph->status != LIANA_OK) return NULL;
    build(inputs, function, body);
    if (body->status == LIANA_OK) return body;
    graph->status = body->status; /* the message is the context's */
    liana_graph_destroy(body);
    return NULL;
}

liana_graph *liana__body_build(const liana__body_inputs *inputs, liana_body body)
{
    const call function = {.body = body};
    return build_body(inputs, &function);
}

liana_graph *liana__body_build_condition(const liana__body_inputs *inputs,
                                         liana_tensor (*condition)(const liana_loop_step *step, void *user))
{
    const call function = {.condition = condition};
    liana__body_inputs own = *inputs;
    own.num_next = 0;
    own.num_ys = 1;
    return build_body(&own, &function);
}

liana_tensor liana__body_op(const liana__body_inputs *inputs, const liana__op *op, liana_tensor more,
                            const void *attributes)
{
    liana_tensor all[MOST_INPUTS + 1];
    size_t count = 0;
    if (more.id) all[count++] = more;
    for (size_t i = 0; i < count_inputs(inputs); i++) all[count++] = input_at(inputs, i);
    return liana__build(inputs->here, count ? all[0].graph : NULL, op, all, count, attributes);
}
