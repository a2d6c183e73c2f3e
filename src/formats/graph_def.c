/* Writes TensorFlow's GraphDef. */
#include "formats/graph_def.h"

#include "base/memory.h"
#include "formats/graph_def.pb-c.h"

#include <stdlib.h>

enum { PRODUCER = 27 }; /* of the oldest TensorFlow 2 */

/* "_output_shapes": a list of one shape, which TensorBoard writes on edges. */
static Liana__GraphDef__Attr *make_shape(liana__arena *arena, const liana__graph_def_node *node)
{
    static const char key[] = "_output_shapes";
    const size_t rank = node->rank > 0 ? (size_t)node->rank : 0;
    Liana__GraphDef__Attr *attr = liana__arena_allocate(arena, sizeof *attr);
    Liana__GraphDef__AttrValue *value = liana__arena_allocate(arena, sizeof *value);
    Liana__GraphDef__ListValue *list = liana__arena_allocate(arena, sizeof *list);
    Liana__GraphDef__Shape *shape = liana__arena_allocate(arena, sizeof *shape);
    Liana__GraphDef__Shape **shapes = liana__arena_allocate(arena, sizeof *shapes);
    Liana__GraphDef__Dimension **dims = liana__arena_allocate(arena, (rank + 1) * sizeof *dims);
    Liana__GraphDef__Dimension *sizes = liana__arena_allocate(arena, (rank + 1) * sizeof *sizes);
    if (!attr || !value || !list || !shape || !shapes || !dims || !sizes) return NULL;
    liana__graph_def__attr__init(attr);
    liana__graph_def__attr_value__init(value);
    liana__graph_def__list_value__init(list);
    liana__graph_def__shape__init(shape);
    for (size_t i = 0; i < rank; i++) {
        liana__graph_def__dimension__init(&sizes[i]);
        sizes[i].size = node->dims[i];
        dims[i] = &sizes[i];
    }
    shape->dim = dims;
    shape->n_dim = rank;
    shapes[0] = shape;
    list->shape = shapes;
    list->n_shape = 1;
    value->list = list;
    attr->key = (char *)(uintptr_t)key;
    attr->value = value;
    return attr;
}

static Liana__GraphDef__NodeDef *make_node(liana__arena *arena, const liana__graph_def_node *node)
{
    Liana__GraphDef__NodeDef *made = liana__arena_allocate(arena, sizeof *made);
    Liana__GraphDef__Attr **attributes = liana__arena_allocate(arena, sizeof *attributes);
    if (!made || !attributes) return NULL;
    liana__graph_def__node_def__init(made);
    attributes[0] = make_shape(arena, node);
    made->name = (char *)(uintptr_t)node->name;
    made->op = (char *)(uintptr_t)node->op;
    made->input = (char **)(uintptr_t)node->inputs;
    made->n_input = node->num_inputs;
    made->attr = attributes;
    made->n_attr = 1;
    return made;
}

static liana_status write(liana__arena *arena, const liana__graph_def_node *nodes, size_t count, liana__text *bytes,
                          liana__error *error)
{
    Liana__GraphDef__GraphDef graph = LIANA__GRAPH_DEF__GRAPH_DEF__INIT;
    Liana__GraphDef__VersionDef versions = LIANA__GRAPH_DEF__VERSION_DEF__INIT;
    versions.producer = PRODUCER;
    graph.versions = &versions;
    graph.node = liana__arena_allocate(arena, (count + 1) * sizeof *graph.node);
    for (size_t i = 0; graph.node && i < count; i++) graph.node[i] = make_node(arena, &nodes[i]);
    if (arena->failed) return liana__fail_memory(error, "a graph");
    graph.n_node = count;
    const size_t size = liana__graph_def__graph_def__get_packed_size(&graph);
    uint8_t *packed = malloc(size + 1);
    if (!packed) return liana__fail_memory(error, "a graph");
    liana__graph_def__graph_def__pack(&graph, packed);
    liana__text_add_bytes(bytes, (const char *)packed, size);
    free(packed);
    return bytes->failed ? liana__fail_memory(error, "a graph") : LIANA_OK;
}

liana_status liana__graph_def_write(const liana__graph_def_node *nodes, size_t count, liana__text *bytes,
                                    liana__error *error)
{
    liana__arena arena = {0};
    const liana_status status = write(&arena, nodes, count, bytes, error);
    liana__arena_free(&arena);
    return status;
}
