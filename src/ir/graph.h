/* graph.h - the inside of a graph: its nodes, inputs, variables, outputs and assignments. */
#ifndef LIANA_IR_GRAPH_H
#define LIANA_IR_GRAPH_H

#include "base/context.h"
#include "base/memory.h"
#include "ir/op.h"

/* A named result, or an assignment to a variable. */
typedef struct liana__output {
    const char *name;
    liana__node *node;
} liana__output;

typedef struct liana__assignment {
    liana__node *variable;
    liana__node *value;
} liana__assignment;

/* A name for some assignments has one row for each. */
typedef struct liana__target {
    const char *name;
    size_t assignment; /* its index */
} liana__target;

/* A limit of a variable's values, to which an optimizer moves each new value. */
typedef struct liana__variable_constraint {
    const liana__node *variable;
    const char *text; /* "max_norm(2)" */
} liana__variable_constraint;

struct liana_graph {
    liana_context *context;
    liana__arena arena;
    /* The first error. */
    liana_status status;
    /* Built in f32, to be computed in bf16 where the accuracy allows it (pass mixed_precision). */
    bool mixed_precision;
    /* The line of the forward node, which errors name while its gradient is built. */
    const liana_location *blamed;
    /* nodes[0] is unused, so that id 0 means "no tensor". */
    liana__node **nodes;
    size_t num_nodes;
    size_t node_capacity;
    /* The first node of the backward part; smaller ids are the forward part. 0: there is no gradient. */
    size_t first_gradient;
    /* In the order of creation, which is also the order of an execution's buffers. */
    liana__node **inputs;
    size_t num_inputs;
    size_t input_capacity;
    liana__node **variables;
    size_t num_variables;
    size_t variable_capacity;
    liana__output *outputs;
    size_t num_outputs;
    size_t output_capacity;
    liana__assignment *assignments;
    size_t num_assignments;
    size_t assignment_capacity;
    liana__target *targets;
    size_t num_targets;
    size_t target_capacity;
    liana__variable_constraint *constraints;
    size_t num_constraints;
    size_t constraint_capacity;
    /* Nodes, not inputs or variables, that were given names. */
    liana__node **named;
    size_t num_named;
    size_t named_capacity;
    /* By node id: the values that liana_value has computed; NULL: not yet. */
    void **values;
    size_t num_values;
};

/* The node of a valid tensor; NULL if the tensor is invalid or its graph has failed. */
liana__node *liana__tensor_node(liana_tensor tensor);
liana_tensor liana__node_tensor(const liana_graph *graph, const liana__node *node);

/* Sets the graph's error (unless it has one) as "file:line: message", and returns an invalid tensor. */
liana_tensor liana__graph_fail(liana_graph *graph, liana_location here, liana_status status, const char *format, ...)
    LIANA__PRINTF(4, 5);

/* Keeps this tensor in f32 in mixed precision: logits, probabilities. */
void liana__keep_wide(liana_tensor tensor);

/* Whether a node is a leaf: an input, a variable, a constant. */
bool liana__is_input(const liana__node *node);
bool liana__is_variable(const liana__node *node);
bool liana__is_constant(const liana__node *node);

/* The bytes of a constant. */
const void *liana__constant_data(const liana__node *node);

/* The index of an output, input or variable by name; -1 if there is none. */
int liana__graph_find_output(const liana_graph *graph, const char *name);
int liana__graph_find_input(const liana_graph *graph, const char *name);
int liana__graph_find_variable(const liana_graph *graph, const char *name);

/* The place of a variable among the graph's. */
static inline size_t liana__graph_place(const liana_graph *graph, const liana__node *variable)
{
    size_t place = 0;
    while (graph->variables[place] != variable) place++;
    return place;
}

/* Results: the outputs, then the values of assignments. */
static inline size_t liana__graph_num_results(const liana_graph *graph)
{
    return graph->num_outputs + graph->num_assignments;
}

static inline const liana__node *liana__graph_result(const liana_graph *graph, size_t index)
{
    const size_t outputs = graph->num_outputs;
    return index < outputs ? graph->outputs[index].node : graph->assignments[index - outputs].value;
}

/* A node in messages: "relu 'hidden'", "input 'x'", "matmul". */
typedef struct liana__node_text {
    char text[160];
} liana__node_text;
liana__node_text liana__node_print(const liana__node *node);

/* Names a node that has no name, as long as no other node has that name; else does nothing. For copies of graphs. */
void liana__graph_copy_name(liana_graph *graph, liana_tensor tensor, const char *name);

/* Keeps a variable's constraint, instead of an earlier one; out of memory is an error of the graph. The text of a
 * variable's constraint; NULL: it has none. */
void liana__graph_constrain(liana_graph *graph, liana_location here, const liana__node *variable, const char *text);
const char *liana__graph_constraint(const liana_graph *graph, const liana__node *variable);

/* Sets needed[id] for each node that an output or assignment depends on. `needed` has num_nodes elements. */
void liana__graph_mark_needed(const liana_graph *graph, bool *needed);

/* Checks the graph against the op contracts: ids ascend, inputs come first, inference gives the recorded shape and
 * dtype again, outputs and assignments fit. Errors: INTERNAL with the node. */
liana_status liana__graph_verify(const liana_graph *graph, liana__error *error) LIANA_MUST_USE;

#endif
