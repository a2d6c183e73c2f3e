/* Attributes that a file may hold and no builder makes: each number of each op's attributes at its edges. The op's rule
 * refuses, or the graph can be serialised, read and run (tests of bytes hardly come this far: a file also holds the
 * shape of the result, which must fit). */
#include "harness/harness.h"
#include "harness/one_context.h"

#include "base/context.h"
#include "harness/try/try_graph.h"
#include "ir/graph_file.h"
#include "ops/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};
enum { NUM_OPS = sizeof all_samples / sizeof *all_samples };

/* One sample's node, and its results under other attributes. */
typedef struct trial {
    const liana__samples *op;
    liana__sample sample;
    char *attributes; /* as they are to be tried */
    size_t tried, accepted;
} trial;

static void try_attributes(trial *t)
{
    liana_graph *graph;
    liana__error error = {0};
    assert_ok(liana_graph_create(context, &graph), &context->error);
    const liana__node *node = liana__tensor_node(liana__sample_build(&t->sample, graph, LIANA_F32));
    assert_non_null(node);
    liana_tensor inputs[64];
    assert_compare(node->num_inputs, <=, 64);
    for (uint32_t i = 0; i < node->num_inputs; i++) inputs[i] = liana__node_tensor(graph, node->inputs[i]);
    liana_tensor made = liana__build(LIANA_HERE, graph, t->op->op, inputs, node->num_inputs, t->attributes);
    t->tried++;
    if (liana_graph_status(graph) == LIANA_OK) {
        liana_graph_output(graph, "y", made);
        uint8_t *bytes;
        size_t size;
        assert_ok(liana__graph_write(graph, &bytes, &size, &error), &error);
        if (!liana__try_graph(bytes, size)) fail_msg("%s, sample '%s': not read", t->op->op->name, t->sample.name);
        free(bytes);
        t->accepted++;
    } else {
        assert_true(context->error.message[0]);
    }
    liana_graph_destroy(graph);
}

static void vary_int(trial *t, int64_t *number)
{
    static const int64_t edges[] = {0,          1,         2,         3,
                                    8,          17,        256,       65535,
                                    -1,         65536,     INT32_MAX, INT32_MIN,
                                    4294967296, INT64_MAX, INT64_MIN, (int64_t)1 << 46};
    const int64_t before = *number;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        *number = edges[i];
        try_attributes(t);
    }
    *number = before;
}

static void vary_ints(trial *t, liana__ints *ints)
{
    const int64_t count = ints->count;
    for (ints->count = -1; ints->count <= LIANA_MAX_INTS; ints->count++) try_attributes(t);
    ints->count = count;
    for (int64_t i = 0; i < count; i++) vary_int(t, &ints->values[i]);
}

static void vary_float(trial *t, double *number)
{
    static const double edges[] = {0, -0.0, 1, -1, 0.5, 1e308, -1e308, 5e-324, INFINITY, -INFINITY, NAN};
    const double before = *number;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        *number = edges[i];
        try_attributes(t);
    }
    *number = before;
}

static void vary_name(trial *t, const liana__field *field, int *index)
{
    const int before = *index;
    for (*index = 0; field->names[*index]; ++*index) try_attributes(t);
    *index = before;
}

static void vary(trial *t, const liana__fields *fields, char *object)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        void *member = object + field->offset;
        switch (field->kind) {
        case LIANA__FIELD_BOOL:
            *(bool *)member = !*(bool *)member;
            try_attributes(t);
            *(bool *)member = !*(bool *)member;
            break;
        case LIANA__FIELD_INT: vary_int(t, member); break;
        case LIANA__FIELD_INT_PAIR:
            vary_int(t, member);
            vary_int(t, (int64_t *)member + 1);
            break;
        case LIANA__FIELD_INTS: vary_ints(t, member); break;
        case LIANA__FIELD_FLOAT: vary_float(t, member); break;
        case LIANA__FIELD_ENUM: vary_name(t, field, member); break;
        case LIANA__FIELD_SECTION: vary(t, field->section, member); break;
        default: fail_msg("%s is of a kind that this test does not know", field->name);
        }
    }
}

static void test_op(void **state)
{
    enum { MOST_SAMPLES = 3 };
    trial t = {.op = *state};
    const liana__fields *fields = t.op->op->attributes;
    if (!fields) return;
    for (size_t i = 0; i < t.op->count && i < MOST_SAMPLES; i++) {
        t.sample = liana__samples_at(t.op, i);
        liana_graph *graph;
        assert_ok(liana_graph_create(context, &graph), &context->error);
        const liana__node *node = liana__tensor_node(liana__sample_build(&t.sample, graph, LIANA_F32));
        assert_non_null(node);
        if (node->op == t.op->op) {
            t.attributes = malloc(fields->size);
            assert_non_null(t.attributes);
            memcpy(t.attributes, node->attributes, fields->size);
            vary(&t, fields, t.attributes);
            free(t.attributes);
        }
        liana_graph_destroy(graph);
    }
    if (t.op->op->num_bodies) return; /* a body cannot be drawn */
    if (t.tried == 0 || t.accepted == 0) fail_msg("%s: %zu of %zu accepted", t.op->op->name, t.accepted, t.tried);
}

int main(void)
{
    static struct CMUnitTest tests[NUM_OPS];
    for (size_t i = 0; i < NUM_OPS; i++) {
        tests[i] = (struct CMUnitTest){all_samples[i]->op->name, test_op, NULL, NULL, (void *)all_samples[i]};
    }
    return cmocka_run_group_tests_name("graph_attributes", tests, set_up, tear_down);
}
