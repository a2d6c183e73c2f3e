/* The graph of an ONNX file as nodes and values: functions are replaced by their nodes, names by values. */
#include "onnx/import_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_NODES = 1 << 18, MOST_FUNCTIONS = 1 << 12, MOST_CALLS = 16, MOST_CAPTURED = 1 << 22 };

/* ---- values by name ---- */

static uint64_t hash_name(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return hash;
}

/* The place of a name, or the free one where it would be. */
static size_t find_place(const liana__import *own, const char *name)
{
    size_t place = hash_name(name) & (own->num_places - 1);
    while (own->places[place] && strcmp(own->values[own->places[place] - 1]->name, name) != 0) {
        place = (place + 1) & (own->num_places - 1);
    }
    return place;
}

static bool grow_places(liana__import *own)
{
    if (own->num_values * 2 < own->num_places) return true;
    own->num_places = own->num_places ? own->num_places * 2 : 256;
    own->places = liana__arena_allocate(&own->arena, own->num_places * sizeof *own->places);
    for (size_t i = 0; own->places && i < own->num_values; i++) {
        own->places[find_place(own, own->values[i]->name)] = i + 1;
    }
    return own->places != NULL;
}

liana__import_value *liana__import_value_named(liana__import *own, const char *name, bool make)
{
    if (!grow_places(own)) return NULL;
    const size_t place = find_place(own, name);
    if (own->places[place]) return own->values[own->places[place] - 1];
    liana__import_value *value = make ? liana__arena_allocate(&own->arena, sizeof *value) : NULL;
    if (!value || !liana__grow(&own->values, own->num_values, &own->value_capacity, sizeof *own->values)) return NULL;
    *value = (liana__import_value){.name = name};
    own->values[own->num_values++] = value;
    own->places[place] = own->num_values;
    return value;
}

/* ---- functions ---- */

static bool is_own_domain(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static const Liana__Onnx__Function *find_function(const liana__import *own, const Liana__Onnx__Node *node)
{
    const char *domain = node->domain ? node->domain : "";
    for (size_t i = 0; i < own->file->n_functions; i++) {
        const Liana__Onnx__Function *function = own->file->functions[i];
        const bool is_named = function->name && node->op_type && strcmp(function->name, node->op_type) == 0;
        if (is_named && strcmp(function->domain ? function->domain : "", domain) == 0) return function;
    }
    return NULL;
}

liana_status liana__import_operator(liana__import *own, const Liana__Onnx__Node *node, const char **op)
{
    *op = node->op_type ? node->op_type : "";
    if (find_function(own, node)) *op = NULL;
    if (!*op || is_own_domain(node->domain)) return LIANA_OK;
    *op = liana__arena_format(&own->arena, "%s::%s", node->domain, *op);
    return *op ? LIANA_OK : liana__fail_memory(own->error, own->path);
}

/* The value that a name stands for among the arguments of a function. False: it is none of them. */
static bool find_argument(const liana__import_scope *in, const char *name, liana__import_value **value)
{
    const Liana__Onnx__Function *function = in->function;
    for (size_t i = 0; i < function->n_input; i++) {
        if (strcmp(function->input[i], name) != 0) continue;
        *value = liana__import_input(in->call, i);
        return true;
    }
    for (size_t i = 0; i < function->n_output && i < in->call->num_outputs; i++) {
        if (strcmp(function->output[i], name) != 0 || !in->call->outputs[i]) continue;
        *value = in->call->outputs[i];
        return true;
    }
    return false;
}

static bool find_bound(const liana__import_scope *in, const char *name, liana__import_value **value)
{
    for (size_t i = 0; i < in->num_bound; i++) {
        if (strcmp(in->bound[i].name, name) != 0) continue;
        *value = in->bound[i].value;
        return true;
    }
    return false;
}

/* The value of a name that the nodes of a scope compute. */
static liana__import_value *value_within(liana__import *own, const liana__import_scope *in, const char *name, bool make)
{
    const char *whole = in->prefix ? liana__arena_format(&own->arena, "%s%s", in->prefix, name) : name;
    return whole ? liana__import_value_named(own, whole, make) : NULL;
}

liana__import_value *liana__import_lookup(liana__import *own, const liana__import_scope *in, const char *name)
{
    liana__import_value *value = NULL;
    for (; in; in = in->outer) {
        if (in->function ? find_argument(in, name, &value) : find_bound(in, name, &value)) return value;
        value = value_within(own, in, name, false);
        if (value) return value;
    }
    return NULL;
}

/* The value that a name stands for within a scope; bodies also see the names around them. *value NULL: an argument that
 * a call does not give. */
static liana_status resolve(liana__import *own, const liana__import_scope *in, const char *name,
                            liana__import_value **value)
{
    *value = NULL;
    for (; in->outer; in = in->outer) {
        if (find_bound(in, name, value)) return LIANA_OK;
        *value = value_within(own, in, name, false);
        if (*value) return LIANA_OK;
    }
    if (in->function && find_argument(in, name, value)) return LIANA_OK;
    *value = value_within(own, in, name, true);
    return *value ? LIANA_OK : liana__fail_memory(own->error, own->path);
}

liana_status liana__import_define(liana__import *own, const liana__import_scope *in, Liana__Onnx__Node *const *nodes,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < nodes[i]->n_output; k++) {
            if (*nodes[i]->output[k] && !value_within(own, in, nodes[i]->output[k], true)) {
                return liana__fail_memory(own->error, own->path);
            }
        }
    }
    return LIANA_OK;
}

/* The attribute of the call that stands for one of a function's node; NULL: there is none. */
static const Liana__Onnx__Attribute *attribute_of_call(const liana__import_scope *in, const char *name)
{
    const Liana__Onnx__Attribute *given = liana__import_attribute(in->call, name);
    for (size_t i = 0; !given && i < in->function->n_attribute_proto; i++) {
        const Liana__Onnx__Attribute *usual = in->function->attribute_proto[i];
        if (usual->name && strcmp(usual->name, name) == 0) given = usual;
    }
    return given;
}

/* The node with the attributes of the call in place of references to them. */
static liana_status take_attributes(liana__import *own, const liana__import_scope *in, liana__import_node *node)
{
    const Liana__Onnx__Node *from = node->from;
    bool refers = false;
    for (size_t i = 0; i < from->n_attribute; i++) refers = refers || from->attribute[i]->ref_attr_name;
    if (!in->function || !refers) return LIANA_OK;
    Liana__Onnx__Node *copy = liana__arena_copy(&own->arena, from, sizeof *from);
    Liana__Onnx__Attribute **list = liana__arena_allocate(&own->arena, from->n_attribute * sizeof *list);
    if (!copy || !list) return liana__fail_memory(own->error, own->path);
    copy->attribute = list;
    copy->n_attribute = 0;
    for (size_t i = 0; i < from->n_attribute; i++) {
        const Liana__Onnx__Attribute *own_one = from->attribute[i];
        const char *reference = own_one->ref_attr_name;
        const Liana__Onnx__Attribute *given = reference ? attribute_of_call(in, reference) : own_one;
        if (!given) continue;
        Liana__Onnx__Attribute *renamed = liana__arena_copy(&own->arena, given, sizeof *given);
        if (!renamed) return liana__fail_memory(own->error, own->path);
        renamed->name = own_one->name;
        list[copy->n_attribute++] = renamed;
    }
    node->from = copy;
    return LIANA_OK;
}

liana_status liana__import_enter(liana__import *own, const liana__import_node *node, const liana__import_scope *outer,
                                 const char *name, liana__import_scope **inner)
{
    if (outer->depth == MOST_CALLS) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                  "functions or loops are more than %d deep, or functions call each other in a circle",
                                  MOST_CALLS);
    }
    liana__import_scope *made = liana__arena_allocate(&own->arena, sizeof *made);
    const char *prefix = liana__arena_format(&own->arena, "%s/", name);
    if (!made || !prefix) return liana__fail_memory(own->error, own->path);
    *made = (liana__import_scope){.outer = outer, .call = node, .prefix = prefix, .depth = outer->depth + 1};
    *inner = made;
    return LIANA_OK;
}

static liana_status call_function(liana__import *own, const Liana__Onnx__Function *function,
                                  const liana__import_node *call, const liana__import_scope *outer)
{
    liana__import_scope *inner;
    LIANA_TRY(liana__import_enter(own, call, outer, call->name, &inner));
    inner->outer = NULL; /* a function sees its arguments alone */
    inner->function = function;
    return liana__import_add_nodes(own, function->node, function->n_node, inner);
}

/* ---- nodes ---- */

static liana_status list_values(liana__import *own, const liana__import_scope *in, char *const *names, size_t count,
                                liana__import_value ***list)
{
    *list = liana__arena_allocate(&own->arena, (count + 1) * sizeof **list);
    if (!*list) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < count; i++) {
        if (*names[i]) LIANA_TRY(resolve(own, in, names[i], &(*list)[i]));
    }
    return LIANA_OK;
}

static liana_status name_node(liana__import *own, const liana__import_scope *in, liana__import_node *node)
{
    const char *name = node->from->name;
    if ((!name || !*name) && node->num_outputs) name = node->from->output[0];
    node->name = liana__arena_format(&own->arena, "%s%s", in->prefix ? in->prefix : "", name ? name : "");
    return node->name ? LIANA_OK : liana__fail_memory(own->error, own->path);
}

static liana_status add_node(liana__import *own, const Liana__Onnx__Node *from, const liana__import_scope *in)
{
    liana__import_node *node = liana__arena_allocate(&own->arena, sizeof *node);
    if (!node) return liana__fail_memory(own->error, own->path);
    *node = (liana__import_node){.from = from,
                                 .op = from->op_type ? from->op_type : "",
                                 .scope = in,
                                 .num_inputs = from->n_input,
                                 .num_outputs = from->n_output};
    LIANA_TRY(name_node(own, in, node));
    LIANA_TRY(list_values(own, in, from->input, from->n_input, &node->inputs));
    LIANA_TRY(list_values(own, in, from->output, from->n_output, &node->outputs));
    LIANA_TRY(take_attributes(own, in, node));
    const Liana__Onnx__Function *function = find_function(own, from);
    if (function) return call_function(own, function, node, in);
    LIANA_TRY(liana__import_operator(own, from, &node->op));
    if (own->num_nodes == MOST_NODES) {
        return liana__fail(own->error, LIANA_INVALID_DATA, "'%s' has more than %d nodes", own->path, MOST_NODES);
    }
    if (!liana__grow(&own->nodes, own->num_nodes, &own->node_capacity, sizeof *own->nodes)) {
        return liana__fail_memory(own->error, own->path);
    }
    own->nodes[own->num_nodes++] = node;
    return LIANA_OK;
}

liana_status liana__import_add_nodes(liana__import *own, Liana__Onnx__Node *const *nodes, size_t count,
                                     const liana__import_scope *in)
{
    for (size_t i = 0; i < count; i++) LIANA_TRY(add_node(own, nodes[i], in));
    return LIANA_OK;
}

/* ---- connections ---- */

/* Names that a body and the bodies within it read. `list` NULL: they are counted alone. */
static size_t list_names(const Liana__Onnx__Graph *body, const char **list)
{
    size_t count = 0;
    for (size_t i = 0; i < body->n_output; i++) {
        if (list) list[count] = body->output[i]->name;
        count++;
    }
    for (size_t i = 0; i < body->n_node; i++) {
        const Liana__Onnx__Node *node = body->node[i];
        for (size_t k = 0; k < node->n_input; k++) {
            if (list) list[count] = node->input[k];
            count++;
        }
        for (size_t k = 0; k < node->n_attribute; k++) {
            if (node->attribute[k]->g) count += list_names(node->attribute[k]->g, list ? list + count : NULL);
        }
    }
    return count;
}

/* A node with bodies waits for what these read from around them: that is added to its inputs. */
static liana_status capture(liana__import *own, liana__import_node *node)
{
    size_t count = 0;
    for (size_t i = 0; i < node->from->n_attribute; i++) {
        const Liana__Onnx__Graph *body = node->from->attribute[i]->g;
        if (body) count += list_names(body, NULL);
    }
    if (!count) return LIANA_OK;
    /* A small file can ask for very many: bodies within loops are looked through in each step. */
    own->num_captured += count;
    if (own->num_captured > MOST_CAPTURED) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "the steps of its loops read more than %d values",
                                  MOST_CAPTURED);
    }
    const char **names = liana__arena_allocate(&own->arena, count * sizeof *names);
    liana__import_value **inputs = liana__arena_allocate(&own->arena, (node->num_inputs + count) * sizeof *inputs);
    if (!names || !inputs) return liana__fail_memory(own->error, own->path);
    if (node->num_inputs) memcpy(inputs, node->inputs, node->num_inputs * sizeof *inputs);
    node->inputs = inputs;
    count = 0;
    for (size_t i = 0; i < node->from->n_attribute; i++) {
        const Liana__Onnx__Graph *body = node->from->attribute[i]->g;
        if (body) count += list_names(body, names + count);
    }
    for (size_t i = 0; i < count; i++) {
        liana__import_value *value = names[i] && *names[i] ? liana__import_lookup(own, node->scope, names[i]) : NULL;
        if (value) node->inputs[node->num_inputs++] = value;
    }
    return LIANA_OK;
}

static liana_status connect(liana__import *own, size_t first)
{
    for (size_t i = first; i < own->num_nodes; i++) LIANA_TRY(capture(own, own->nodes[i]));
    for (size_t i = first; i < own->num_nodes; i++) {
        liana__import_node *node = own->nodes[i];
        for (size_t k = 0; k < node->num_outputs; k++) {
            liana__import_value *value = node->outputs[k];
            if (!value) continue;
            if (value->producer || value->kind != LIANA__IMPORT_NOTHING) {
                return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                          "its output '%.100s' is already an input, an initializer, or the output of "
                                          "another node",
                                          value->name);
            }
            value->producer = node;
        }
        for (size_t k = 0; k < node->num_inputs; k++) {
            liana__import_value *value = node->inputs[k];
            if (!value) continue;
            if (!liana__grow(&value->users, value->num_users, &value->user_capacity, sizeof *value->users)) {
                return liana__fail_memory(own->error, own->path);
            }
            value->users[value->num_users++] = node;
        }
    }
    return LIANA_OK;
}

/* How many inputs of a node wait for other nodes; a value that is nothing is an error. */
static liana_status count_waiting(const liana__import *own, liana__import_node *node)
{
    node->mark = 0;
    for (size_t k = 0; k < node->num_inputs; k++) {
        const liana__import_value *value = node->inputs[k];
        if (!value || value->kind != LIANA__IMPORT_NOTHING) continue;
        if (value->producer && value->producer->is_done) continue; /* it gave nothing, which read_node tells */
        if (!value->producer) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                      "its input '%.100s' is neither an input of the graph, nor an initializer, nor "
                                      "another node's output",
                                      value->name);
        }
        node->mark++;
    }
    return LIANA_OK;
}

/* Kahn's order. A file whose nodes are in order keeps it nearly. */
static liana_status sort_nodes(liana__import *own, size_t first)
{
    const size_t all = own->num_nodes - first;
    liana__import_node **sorted = liana__arena_allocate(&own->arena, (all + 1) * sizeof *sorted);
    size_t count = 0;
    if (!sorted) return liana__fail_memory(own->error, own->path);
    for (size_t i = first; i < own->num_nodes; i++) {
        LIANA_TRY(count_waiting(own, own->nodes[i]));
        if (!own->nodes[i]->mark) sorted[count++] = own->nodes[i];
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sorted[i]->num_outputs; k++) {
            const liana__import_value *value = sorted[i]->outputs[k];
            for (size_t u = 0; value && u < value->num_users; u++) {
                if (--value->users[u]->mark == 0) sorted[count++] = value->users[u];
            }
        }
    }
    for (size_t i = first; count < all && i < own->num_nodes; i++) {
        if (own->nodes[i]->mark > 0) {
            return liana__import_fail(own, own->nodes[i], LIANA_INVALID_DATA,
                                      "it reads what follows from its own output: the graph has a cycle");
        }
    }
    if (count) memcpy(own->nodes + first, sorted, count * sizeof *sorted);
    return LIANA_OK;
}

liana_status liana__import_connect(liana__import *own, size_t first)
{
    LIANA_TRY(connect(own, first));
    return sort_nodes(own, first);
}

liana_status liana__import_initializers(liana__import *own, const Liana__Onnx__Graph *graph,
                                        const liana__import_scope *in)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const liana__onnx_tensor *tensor = graph->initializer[i];
        liana__import_value *value = value_within(own, in, tensor->name ? tensor->name : "", true);
        if (!value) return liana__fail_memory(own->error, own->path);
        if (value->kind != LIANA__IMPORT_NOTHING) {
            return liana__fail(own->error, LIANA_INVALID_DATA, "'%s' has two initializers '%.100s'", own->path,
                               value->name);
        }
        LIANA_TRY(liana__import_tensor(own, tensor, &value->constant));
        value->kind = LIANA__IMPORT_CONSTANT;
        value->rank = value->constant->rank;
    }
    return LIANA_OK;
}

liana_status liana__import_graph(liana__import *own)
{
    const Liana__Onnx__Graph *graph = own->file->graph;
    static const liana__import_scope whole;
    if (own->file->n_functions > MOST_FUNCTIONS) {
        return liana__fail(own->error, LIANA_INVALID_DATA, "'%s' has %zu functions, expected at most %d", own->path,
                           own->file->n_functions, MOST_FUNCTIONS);
    }
    LIANA_TRY(liana__import_initializers(own, graph, &whole));
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        liana__import_value *value = liana__import_value_named(own, name ? name : "", true);
        if (!value) return liana__fail_memory(own->error, own->path);
        if (value->kind == LIANA__IMPORT_NOTHING) value->kind = LIANA__IMPORT_RESULT; /* what it is, import.c says */
    }
    LIANA_TRY(liana__import_add_nodes(own, graph->node, graph->n_node, &whole));
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name;
        liana__import_value *value = liana__import_value_named(own, name ? name : "", true);
        if (!value) return liana__fail_memory(own->error, own->path);
        value->is_output = true;
    }
    return liana__import_connect(own, 0);
}

/* ---- attributes and inputs ---- */

const Liana__Onnx__Attribute *liana__import_attribute(const liana__import_node *node, const char *name)
{
    for (size_t i = 0; i < node->from->n_attribute; i++) {
        const Liana__Onnx__Attribute *attribute = node->from->attribute[i];
        if (attribute->name && strcmp(attribute->name, name) == 0) return attribute;
    }
    return NULL;
}

int64_t liana__import_int(const liana__import_node *node, const char *name, int64_t if_none)
{
    const Liana__Onnx__Attribute *found = liana__import_attribute(node, name);
    return found && found->has_i ? found->i : if_none;
}

double liana__import_float(const liana__import_node *node, const char *name, double if_none)
{
    const Liana__Onnx__Attribute *found = liana__import_attribute(node, name);
    return found && found->has_f ? (double)found->f : if_none;
}

liana__import_word liana__import_text(const liana__import_node *node, const char *name, const char *if_none)
{
    liana__import_word word = {{0}};
    const Liana__Onnx__Attribute *found = liana__import_attribute(node, name);
    const bool is_given = found && found->has_s;
    const size_t length = is_given ? found->s.len : strlen(if_none);
    const size_t kept = length < sizeof word.text ? length : sizeof word.text - 1;
    if (kept) memcpy(word.text, is_given ? (const char *)found->s.data : if_none, kept);
    return word;
}

liana_status liana__import_integers(liana__import *own, liana__import_node *node, const char *name, size_t input,
                                    const int64_t **values, int64_t *count)
{
    const Liana__Onnx__Attribute *found = liana__import_attribute(node, name);
    liana__import_value *value = liana__import_input(node, input);
    *values = NULL;
    *count = 0;
    if (found) {
        *values = found->ints;
        *count = (int64_t)found->n_ints;
        return LIANA_OK;
    }
    if (!value) return LIANA_OK;
    if (value->kind != LIANA__IMPORT_CONSTANT) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "its %s ('%.100s') is computed from the data; expected constants: export with fixed "
                                  "sizes, all but the batch",
                                  name, value->name);
    }
    *values = liana__import_ints(own, value->constant);
    *count = value->constant->count;
    return *values ? LIANA_OK : own->error->status;
}

liana_status liana__import_number(liana__import *own, liana__import_node *node, const char *name, size_t input,
                                  double if_none, double *number)
{
    liana__import_value *value = liana__import_input(node, input);
    *number = liana__import_float(node, name, if_none);
    if (!value) return LIANA_OK;
    if (value->kind != LIANA__IMPORT_CONSTANT || value->constant->count != 1) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "its %s ('%.100s') is not one constant number", name,
                                  value->name);
    }
    const float *floats = liana__import_floats(own, value->constant);
    if (!floats) return own->error->status;
    *number = (double)floats[0];
    return LIANA_OK;
}

liana_status liana__import_result(const liana__import *own, const liana__import_node *node, size_t index,
                                  liana__import_value **value)
{
    *value = liana__import_input(node, index);
    if (*value && (*value)->kind == LIANA__IMPORT_RESULT) return LIANA_OK;
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "input %zu %s%.100s%s", index, *value ? "('" : "",
                              *value ? (*value)->name : "",
                              *value ? "') is a constant, expected data of the network" : "is missing");
}

liana__import_node *liana__import_only_user(const liana__import_value *value)
{
    return value && value->num_users == 1 && !value->is_output ? value->users[0] : NULL;
}

liana_status liana__import_axis_of(const liana__import *own, const liana__import_node *node, int64_t given, int rank,
                                   int *axis)
{
    const int64_t from = given < 0 ? given + rank : given;
    *axis = (int)from;
    if (from >= 0 && from < rank) return LIANA_OK;
    return liana__import_fail(own, node, LIANA_INVALID_DATA, "found axis %" PRIi64 " of a value with %d axes", given,
                              rank);
}
