/* Writes the functions of parts, and their calls. */
#include "stablehlo/part_functions.h"

#include "stablehlo/function_text.h"

#include <stdio.h>

/* The facts about a node that has been seen; 0: none. */
enum { COMPUTED = 1, DEPENDS_ON_SUMS };

/* XLA on CPUs computes a value with several readers once, in a loop of its own, and joins loops only where none depends
 * on another. So Adam's step would be three loops for each variable: the gradient, the moments, the weights. Where no
 * value has two readers they are one loop. So each result of an element-wise part has the sums as arguments of its own,
 * though they are the same tensors: XLA does not know that in a function that it does not inline. Values that are
 * computed twice so are cheaper than writing and reading them. */
static bool may_be_apart(const liana__part_nodes *nodes)
{
    for (size_t i = 0; i < nodes->num_written; i++) {
        if (!liana__is_constant(nodes->written[i]) &&
            liana__node_flat_parts(nodes->written[i]).kind == LIANA__PART_NONE) {
            return false;
        }
    }
    return true;
}

/* The nodes of given[number], if it is computed for itself, else those of the whole part. */
static void list_given(liana__part_functions *f, int32_t part, size_t number)
{
    liana__part_nodes_list(f->parts, part, f->is_apart ? f->given[number] : NULL, &f->nodes);
}

static size_t num_runs(const liana__part_functions *f)
{
    return f->is_apart ? f->num_given : 1;
}

static bool reads_sums(const liana__part_functions *f, const liana__node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (f->facts[input->id] & DEPENDS_ON_SUMS) return true;
        if (liana__is_input(input) && input->shape.rank > 0) return true;
    }
    return false;
}

/* Whether two results read something that is computed of variables alone, such as a momentum times its decay. Then
 * results have variables of their own, too. */
static bool compute_same_of_variables(liana__part_functions *f, int32_t part)
{
    bool same = false;
    for (size_t run = 0; run < num_runs(f); run++) {
        list_given(f, part, run);
        for (size_t i = 0; i < f->nodes.num_written; i++) {
            const liana__node *node = f->nodes.written[i];
            if (f->parts->of[node->id] != part) continue;
            same = same || f->facts[node->id] == COMPUTED;
            f->facts[node->id] = reads_sums(f, node) ? DEPENDS_ON_SUMS : COMPUTED;
        }
    }
    liana__part_nodes_list(f->parts, part, NULL, &f->nodes);
    for (size_t i = 0; i < f->nodes.num_written; i++) f->facts[f->nodes.written[i]->id] = 0;
    return same;
}

static void list_part(liana__part_functions *f, int32_t part)
{
    liana__part_nodes_list(f->parts, part, NULL, &f->nodes);
    f->is_apart = may_be_apart(&f->nodes);
    f->num_given = 0;
    for (size_t i = 0; i < f->nodes.num_written; i++) {
        const liana__node *node = f->nodes.written[i];
        if (f->parts->of[node->id] == part && f->parts->is_given[node->id]) f->given[f->num_given++] = node;
    }
    f->owns_variables = f->is_apart && compute_same_of_variables(f, part);
}

/* An argument that all results share: a scalar, mostly a variable. */
static bool is_shared(const liana__part_functions *f, const liana__node *node)
{
    if (f->parts->of[node->id] == LIANA__PART_SHARED) return true;
    return liana__is_variable(node) && !f->owns_variables;
}

/* "update_7" */
typedef struct part_name {
    char text[80];
} part_name;

static part_name name_part(const liana__part_functions *f, int32_t part)
{
    part_name name;
    snprintf(name.text, sizeof name.text, "%s_%d", f->name, (int)part);
    return name;
}

/* Calls `take` for each argument: the common ones of all results, then by result its own. */
typedef void (*take_argument)(liana__part_functions *f, const liana__node *node, size_t number);

static size_t each_argument(liana__part_functions *f, int32_t part, take_argument take)
{
    size_t count = 0;
    list_part(f, part);
    for (size_t i = 0; i < f->nodes.num_read; i++) {
        if (is_shared(f, f->nodes.read[i])) take(f, f->nodes.read[i], count++);
    }
    for (size_t run = 0; run < num_runs(f); run++) {
        list_given(f, part, run);
        for (size_t i = 0; i < f->nodes.num_read; i++) {
            if (!is_shared(f, f->nodes.read[i])) take(f, f->nodes.read[i], count++);
        }
    }
    return count;
}

/* ---- the function ---- */

static void add_parameter(liana__part_functions *f, const liana__node *node, size_t number)
{
    liana__function_add_argument(f->lowering, node, "", false);
    f->arguments[number] = f->lowering->values[node->id];
}

static void list_types(liana__part_functions *f)
{
    for (size_t i = 0; i < f->num_given; i++) f->results[i] = liana__hlo_like(f->given[i]);
}

/* Values of the nodes that are listed; `next` is the first of the run's own arguments. Returns the one behind them. */
static size_t take_arguments(const liana__part_functions *f, size_t next)
{
    for (size_t i = 0; i < f->nodes.num_read; i++) {
        const liana__node *node = f->nodes.read[i];
        if (!is_shared(f, node)) f->lowering->values[node->id] = f->arguments[next++];
    }
    return next;
}

static liana_status lower_run(liana__part_functions *f, size_t number, liana__hlo assigns)
{
    liana__lowering *l = f->lowering;
    for (size_t i = 0; i < f->nodes.num_written; i++) {
        LIANA_TRY(liana__function_lower_node(l, f->nodes.written[i]));
        if (!f->is_apart) liana__function_assign(l, f->parts, f->nodes.written[i], assigns);
    }
    if (f->is_apart) liana__function_assign(l, f->parts, f->given[number], assigns);
    for (size_t i = 0; i < f->num_given; i++) {
        if (!f->is_apart || i == number) f->results[i] = l->values[f->given[i]->id];
    }
    return LIANA_OK;
}

static size_t count_shared(const liana__part_functions *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->nodes.num_read; i++) count += is_shared(f, f->nodes.read[i]);
    return count;
}

static liana_status write_part(liana__part_functions *f, int32_t part)
{
    liana__lowering *l = f->lowering;
    liana__text_add(&l->text, "  func.func private @\"%s\"(\n", name_part(f, part).text);
    each_argument(f, part, add_parameter);
    const liana__hlo assigns = liana__function_add_condition(l);
    list_types(f);
    liana__text_add(&l->text, "  ) -> ");
    liana__hlo_add_types(l, f->results, f->num_given);
    liana__text_add(&l->text, " {\n");
    list_part(f, part);
    size_t next = count_shared(f);
    for (size_t run = 0; run < num_runs(f); run++) {
        list_given(f, part, run);
        next = take_arguments(f, next);
        LIANA_TRY(lower_run(f, run, assigns));
    }
    liana__hlo_return(l, f->results, f->num_given);
    return LIANA_OK;
}

/* ---- the call ---- */

static void add_operand(liana__part_functions *f, const liana__node *node, size_t number)
{
    f->arguments[number] = f->lowering->values[node->id];
}

static void call_part(liana__part_functions *f, int32_t part, liana__hlo assigns)
{
    size_t count = each_argument(f, part, add_operand);
    f->arguments[count++] = assigns;
    list_types(f);
    liana__hlo_call(f->lowering, name_part(f, part).text, true, f->arguments, count, f->results, f->num_given);
    for (size_t i = 0; i < f->num_given; i++) f->lowering->values[f->given[i]->id] = f->results[i];
}

/* ---- all parts ---- */

static void count_argument(liana__part_functions *f, const liana__node *node, size_t number)
{
    (void)f;
    (void)node;
    (void)number;
}

static bool is_empty(const liana__graph_parts *parts, int32_t part)
{
    return parts->begin[part] == parts->begin[part + 1];
}

static liana_status create(liana__part_functions *f)
{
    liana__arena *arena = &f->lowering->scratch;
    const size_t num_nodes = f->parts->graph->num_nodes;
    size_t most = 0;
    f->given = liana__arena_allocate(arena, num_nodes * sizeof *f->given);
    f->results = liana__arena_allocate(arena, num_nodes * sizeof *f->results);
    f->facts = liana__arena_allocate(arena, num_nodes * sizeof *f->facts);
    f->nodes = liana__part_nodes_create(f->parts->graph, arena);
    for (int32_t part = 1; part <= f->parts->count && !arena->failed; part++) {
        const size_t count = each_argument(f, part, count_argument);
        if (count > most) most = count;
    }
    f->arguments = liana__arena_allocate(arena, (most + 1) * sizeof *f->arguments);
    return arena->failed ? liana__fail_memory(f->lowering->error, "the parts of a graph") : LIANA_OK;
}

liana_status liana__part_functions_write(liana__part_functions *f)
{
    LIANA_TRY(create(f));
    for (int32_t part = 1; part <= f->parts->count; part++) {
        if (!is_empty(f->parts, part)) LIANA_TRY(write_part(f, part));
    }
    return LIANA_OK;
}

void liana__part_functions_call(liana__part_functions *f, liana__hlo assigns)
{
    for (int32_t part = 1; part <= f->parts->count; part++) {
        if (!is_empty(f->parts, part)) call_part(f, part, assigns);
    }
}
