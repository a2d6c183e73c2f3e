/* Runs an incident again, and describes its first bad result. */
#include "step/incident.h"

#include "base/value_read.h"

#include <math.h>
#include <string.h>

void liana__incident_free(liana__incident *incident)
{
    liana_graph_destroy(incident->graph);
    liana__arena_free(&incident->arena);
    *incident = (liana__incident){0};
}

static liana_status reserve(liana__arena *arena, liana__node *const *nodes, size_t count, const void ***data,
                            liana__error *error)
{
    *data = liana__arena_allocate(arena, (count + 1) * sizeof **data);
    for (size_t i = 0; *data && i < count; i++) {
        const size_t size = liana__byte_size(nodes[i]->dtype, &nodes[i]->shape);
        /* The arena aligns memory of the size of a cache line. */
        (*data)[i] = liana__arena_allocate(arena, size < LIANA__ALIGNMENT ? LIANA__ALIGNMENT : size);
    }
    return arena->failed ? liana__fail_memory(error, "what a step read") : LIANA_OK;
}

liana_status liana__incident_reserve(liana__incident *incident, liana__error *error)
{
    const liana_graph *graph = incident->graph;
    LIANA_TRY(reserve(&incident->arena, graph->inputs, graph->num_inputs, &incident->inputs, error));
    return reserve(&incident->arena, graph->variables, graph->num_variables, &incident->variables, error);
}

liana_status liana__incident_note_layers(liana__incident *incident,
                                         const char *(*layer_of)(const void *user, const liana__node *node),
                                         const void *user, liana__error *error)
{
    liana_graph *graph = incident->graph;
    for (size_t id = 1; layer_of && id < graph->num_nodes; id++) {
        liana__node *node = graph->nodes[id];
        const char *layer = layer_of(user, node);
        if (!layer) continue;
        node->where.file =
            liana__arena_format(&graph->arena, "%s\n%s", layer, node->where.file ? node->where.file : "");
        if (!node->where.file) return liana__fail_memory(error, "the layers of a step");
    }
    return LIANA_OK;
}

/* ---- values ---- */

liana__value *liana__incident_number(liana__arena *arena, double number)
{
    if (isfinite(number)) return liana__value_float(arena, number);
    return liana__value_string(arena, isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

static liana__value *range_value(const liana__value_range *range, liana__arena *arena)
{
    const bool any = range->count > range->num_nan + range->num_infinite;
    liana__value *map = liana__value_map(arena);
    liana__value_set(arena, map, "min", any ? liana__value_float(arena, range->least) : liana__value_null(arena));
    liana__value_set(arena, map, "max", any ? liana__value_float(arena, range->most) : liana__value_null(arena));
    liana__value_set(arena, map, "mean", any ? liana__value_float(arena, range->mean) : liana__value_null(arena));
    liana__value_set(arena, map, "count", liana__value_int(arena, range->count));
    liana__value_set(arena, map, "nan", liana__value_int(arena, range->num_nan));
    liana__value_set(arena, map, "inf", liana__value_int(arena, range->num_infinite));
    if (range->first_bad >= 0) liana__value_set(arena, map, "first_bad", liana__value_int(arena, range->first_bad));
    return map;
}

/* The layer of a node, in the arena; NULL: none. *file is the rest. */
static const char *split_file(liana__arena *arena, const liana__node *node, const char **file)
{
    *file = node->where.file ? node->where.file : "";
    const char *end = strchr(*file, '\n');
    if (!end) return NULL;
    const char *layer = liana__arena_format(arena, "%.*s", (int)(end - *file), *file);
    *file = end + 1;
    return layer;
}

static const char *kind_of(const liana__node *node)
{
    return liana__is_input(node)      ? "input"
           : liana__is_variable(node) ? "variable"
           : liana__is_constant(node) ? "constant"
                                      : "op";
}

/* "variable 'dense/kernel'", "relu in layer 'conv1'". */
static const char *node_title(liana__arena *arena, const liana__node *node)
{
    const char *file, *layer = split_file(arena, node, &file);
    const bool leaf = liana__is_input(node) || liana__is_variable(node);
    if (leaf) return liana__arena_format(arena, "%s '%s'", kind_of(node), node->name);
    return layer ? liana__arena_format(arena, "%s in layer '%s'", node->op->name, layer)
                 : liana__arena_string(arena, node->op->name);
}

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    if (text && *text) liana__value_set(arena, map, key, liana__value_string(arena, text));
}

static liana__value *inputs_value(const liana__node_check *check, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    for (uint32_t i = 0; i < check->origin->num_inputs; i++) {
        const liana__node *input = check->origin->inputs[i];
        liana__value *map = liana__value_map(arena);
        set_text(arena, map, "name", node_title(arena, input));
        set_text(arena, map, "type", liana__type_print(input->dtype, &input->shape).text);
        liana__value_set(arena, map, "range", range_value(&check->inputs[i], arena));
        liana__value_add(arena, list, map);
    }
    return list;
}

static void set_origin(const liana__node_check *check, liana__value *finding, liana__arena *arena)
{
    const liana__node *node = check->origin;
    const char *file, *layer = split_file(arena, node, &file);
    set_text(arena, finding, "kind", kind_of(node));
    set_text(arena, finding, "op", node->op->name);
    set_text(arena, finding, "name", node->name);
    set_text(arena, finding, "layer", layer);
    if (*file) set_text(arena, finding, "where", liana__arena_format(arena, "%s:%d", file, node->where.line));
    if (check->kernel) set_text(arena, finding, "kernel", check->kernel->name);
    liana__value_set(arena, finding, "fused", liana__value_bool(arena, check->fused));
    set_text(arena, finding, "type", liana__type_print(node->dtype, &node->shape).text);
    liana__value_set(arena, finding, "result", range_value(&check->result, arena));
    liana__value_set(arena, finding, "inputs", inputs_value(check, arena));
    liana__value *rows = liana__value_list(arena);
    for (int64_t i = 0; i < check->num_rows; i++) {
        if (check->bad_rows[i]) liana__value_add(arena, rows, liana__value_int(arena, i));
    }
    liana__value_set(arena, finding, "bad_examples", rows);
}

static liana_status run_check(liana__incident *incident, bool fused, liana__node_check *check, liana__error *error)
{
    const liana__node_check_options options = {.inputs = incident->inputs,
                                               .variables = incident->variables,
                                               .num_rows = incident->num_rows,
                                               .fused = fused};
    return liana__node_check_run(incident->graph, &options, check, error);
}

liana_status liana__incident_examine(liana__incident *incident, liana__error *error)
{
    liana__arena *arena = &incident->arena;
    liana__node_check check;
    LIANA_TRY(run_check(incident, false, &check, error));
    if (!check.origin) {
        liana__node_check_free(&check);
        LIANA_TRY(run_check(incident, true, &check, error));
    }
    liana__value *finding = liana__value_map(arena);
    liana__value_set(arena, finding, "reproduced", liana__value_bool(arena, check.origin != NULL));
    if (check.origin) {
        set_origin(&check, finding, arena);
        set_text(arena, finding, "bad_result", check.bad_output);
        liana__value_set(arena, finding, "bad_result_range", range_value(&check.bad_range, arena));
    }
    liana__node_check_free(&check);
    incident->finding = finding;
    return arena->failed ? liana__fail_memory(error, "the report of a step") : LIANA_OK;
}

/* ---- telling ---- */

/* Describes the first bad node: "exp in layer 'dense'", "the data's 'inputs/x'". */
static void add_origin(liana__text *text, const liana__value *finding)
{
    const char *kind = liana__value_text_of(finding, "kind", ""), *name = liana__value_text_of(finding, "name", ""),
               *layer = liana__value_text_of(finding, "layer", "");
    if (strcmp(kind, "op") != 0) {
        liana__text_add(text, "the %s%s%s%s", kind, *name ? " '" : "", name, *name ? "'" : "");
    } else {
        liana__text_add(text, "the op %s", liana__value_text_of(finding, "op", ""));
    }
    if (*layer) liana__text_add(text, " of layer '%s'", layer);
}

bool liana__incident_is_reproduced(const liana__incident *incident)
{
    return liana__value_true_of(incident->finding, "reproduced");
}

void liana__incident_summary(const liana__incident *incident, liana__text *text)
{
    const liana__value *finding = incident->finding;
    if (!liana__incident_is_reproduced(incident)) {
        liana__text_add(text, "run again node by node, all numbers are finite");
        return;
    }
    const bool is_op = strcmp(liana__value_text_of(finding, "kind", ""), "op") == 0;
    liana__text_add(text, is_op ? "the first bad numbers are the result of " : "the first bad numbers are in ");
    add_origin(text, finding);
    const char *where = liana__value_text_of(finding, "where", "");
    if (*where) liana__text_add(text, " (%s)", where);
}

/* The first example whose row is bad. */
static void add_bad_example(const liana__incident *incident, liana__text *text)
{
    const liana__value *rows = liana__value_get(incident->finding, "bad_examples"),
                       *examples = liana__value_get(incident->facts, "examples");
    if (!rows || rows->count == 0 || !examples) return;
    const liana__value *example = examples->items[rows->items[0]->integer],
                       *record = liana__value_get(example, "record");
    liana__text_add(text, "; %zu of %zu examples of the shard have them, the first is", rows->count, examples->count);
    if (*liana__value_text_of(example, "file", ""))
        liana__text_add(text, " '%s',", liana__value_text_of(example, "file", ""));
    if (record) liana__text_add(text, " record %lld,", (long long)record->integer);
    if (*liana__value_text_of(example, "id", ""))
        liana__text_add(text, " id '%s',", liana__value_text_of(example, "id", ""));
    liana__text_add(text, " position %lld", (long long)liana__value_get(example, "position")->integer);
}

void liana__incident_tell(const liana__incident *incident, liana__text *text)
{
    liana__incident_summary(incident, text);
    add_bad_example(incident, text);
}
