/* Updates of a program's own in slices: the variables that stay together, and the inputs of each slice. */
#include "harness/harness.h"

#include "ir/graph.h"
#include "step/user_update.h"

#include <liana/ops.h>
#include <liana/optimizer.h>
#include <stdio.h>
#include <string.h>

enum { VARIABLES = 6 };

static liana_context *context;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(NULL, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

static const char *name_of(const char *kind, int i)
{
    static char names[4][32];
    static int next;
    char *name = names[next++ % 4];
    snprintf(name, sizeof names[0], "%s%d", kind, i);
    return name;
}

/* The sums "sums", "sums/v0"... of variables of i + 1 rows, the count, and a scalar: as those of a step. */
static liana_graph *update_graph(const char *optimizer)
{
    liana_graph *graph;
    liana_tensor variables[VARIABLES], gradients[VARIABLES];
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_graph_input(graph, "sums", LIANA_F32, liana_shape_of(1));
    for (int i = 0; i < VARIABLES; i++) {
        const liana_shape shape = liana_shape_of(i + 1, 8);
        gradients[i] = liana_graph_input(graph, name_of("sums/v", i), LIANA_F32, shape);
        variables[i] = liana_graph_variable(graph, name_of("v", i), LIANA_F32, shape);
    }
    liana_tensor count = liana_graph_input(graph, "count", LIANA_F32, LIANA_SCALAR);
    liana_tensor rate = liana_graph_input(graph, "scalars/rate", LIANA_F32, LIANA_SCALAR);
    for (int i = 0; i < VARIABLES; i++) gradients[i] = liana_op_divide(gradients[i], count);
    liana_apply_gradients(variables, gradients, VARIABLES,
                          &(liana_optimizer_options){.optimizer = optimizer, .rate = rate});
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static bool has_input(const liana_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->num_inputs; i++) {
        if (strcmp(graph->inputs[i]->name, name) == 0) return true;
    }
    return false;
}

static bool assigns(const liana_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->num_assignments; i++) {
        if (strcmp(graph->assignments[i].variable->name, name) == 0) return true;
    }
    return false;
}

/* All slices together are the update; a sum is read where its variable is. Returns the largest number of elements that
 * a slice assigns. */
static int64_t check_slices(const liana_graph *graph, size_t num_slices, size_t *num_used)
{
    liana__update_cut cut;
    size_t assignments = 0;
    int64_t largest = 0;
    int owners[VARIABLES] = {0};
    assert_ok(liana__update_cut_make(graph, 1, 1 + VARIABLES, num_slices, &cut, &error), &error);
    *num_used = 0;
    for (size_t slice = 0; slice < num_slices; slice++) {
        liana_graph *part;
        int64_t elements = 0;
        assert_ok(liana__update_cut_build(&cut, graph, 1 + VARIABLES, slice, &part), &context->error);
        if (!part) continue;
        ++*num_used;
        assert_true(has_input(part, "count") && has_input(part, "scalars/rate"));
        assert_true(assigns(part, "optimizer/train/iteration"));
        for (int i = 0; i < VARIABLES; i++) {
            const bool is_ours = assigns(part, name_of("v", i));
            assert_int_equal(has_input(part, name_of("sums/v", i)), is_ours);
            owners[i] += is_ours;
        }
        for (size_t i = 0; i < part->num_assignments; i++) {
            elements += liana_shape_size(&part->assignments[i].variable->shape);
        }
        assignments += part->num_assignments;
        if (elements > largest) largest = elements;
        liana_graph_destroy(part);
    }
    /* The counter of updates stands in each. */
    assert_int_equal(assignments, graph->num_assignments - 1 + *num_used);
    for (int i = 0; i < VARIABLES; i++) assert_int_equal(owners[i], 1);
    liana__update_cut_free(&cut);
    return largest;
}

/* Adam: a variable and its two slots stay together. */
static void test_variables_by_themselves(void **state)
{
    (void)state;
    liana_graph *graph = update_graph("Adam");
    size_t num_used;
    const int64_t all = 3 * 8 * (1 + 2 + 3 + 4 + 5 + 6) + 1;
    assert_int_equal(check_slices(graph, 1, &num_used), all);
    assert_int_equal(num_used, 1);
    assert_compare(check_slices(graph, 2, &num_used), <=, 3 * 8 * (5 + 6) + 1);
    assert_int_equal(num_used, 2);
    assert_compare(check_slices(graph, 3, &num_used), <=, 3 * 8 * (4 + 5) + 1);
    assert_int_equal(num_used, 3);
    check_slices(graph, 20, &num_used);
    assert_int_equal(num_used, VARIABLES);
    liana_graph_destroy(graph);
}

/* An update that reads all sums cannot be apart. */
static void test_common_norm(void **state)
{
    (void)state;
    liana_graph *graph = update_graph("{name: SGD, momentum: 0.9, global_clipnorm: 1.0}");
    liana__update_cut cut;
    size_t used[4] = {0};
    assert_ok(liana__update_cut_make(graph, 1, 1 + VARIABLES, 4, &cut, &error), &error);
    for (size_t i = 0; i < cut.num_assignments; i++) {
        if (graph->assignments[i].variable->shape.rank == 2) used[cut.slices[i]]++;
    }
    for (size_t i = 0, some = 0; i < 4; i++) {
        some += used[i] > 0;
        assert_compare(some, <=, 1, i);
    }
    liana__update_cut_free(&cut);
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_by_themselves),
        cmocka_unit_test(test_common_norm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
