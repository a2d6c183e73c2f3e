/* liana_einsum, sort, top_k and take_along_axis against loops over all indices. */
#include "harness/harness.h"

#include "harness/one_context.h"
#include "ops/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 3, MOST_ELEMENTS = 4096, NUM_LETTERS = 128 };

/* The same equation without "...": its axes have letters of their own. */
typedef struct equation {
    const char *text, *whole;
    liana_shape shapes[MOST_OPERANDS];
} equation;

static const equation equations[] = {
    {"ab,bc->ac", "ab,bc->ac", {LIANA__DIMS(3, 4), LIANA__DIMS(4, 5)}},
    {"ba,bc->ca", "ba,bc->ca", {LIANA__DIMS(4, 3), LIANA__DIMS(4, 5)}},
    {"aecd,abcd->acbe", "aecd,abcd->acbe", {LIANA__DIMS(2, 3, 4, 5), LIANA__DIMS(2, 6, 4, 5)}},
    {"acbe,aecd->abcd", "acbe,aecd->abcd", {LIANA__DIMS(2, 4, 6, 3), LIANA__DIMS(2, 3, 4, 5)}},
    {"...x,xyz->...yz", "abx,xyz->abyz", {LIANA__DIMS(2, 3, 4), LIANA__DIMS(4, 2, 5)}},
    {"...xy,xyz->...z", "abxy,xyz->abz", {LIANA__DIMS(2, 3, 4, 2), LIANA__DIMS(4, 2, 5)}},
    {"a...b,b->...a", "axyb,b->xya", {LIANA__DIMS(2, 3, 4, 5), LIANA__DIMS(5)}},
    {"...ij,...jk", "aij,ajk->aik", {LIANA__DIMS(2, 3, 4), LIANA__DIMS(2, 4, 5)}},
    {"ij,ij->ij", "ij,ij->ij", {LIANA__DIMS(3, 4), LIANA__DIMS(3, 4)}},
    {"i,j->ji", "i,j->ji", {LIANA__DIMS(3), LIANA__DIMS(4)}},
    {"ijk,lj->k", "ijk,lj->k", {LIANA__DIMS(3, 4, 2), LIANA__DIMS(5, 4)}},
    {"ii", "ii->", {LIANA__DIMS(4, 4)}},
    {"iji->ij", "iji->ij", {LIANA__DIMS(3, 2, 3)}},
    {"iij,j->i", "iij,j->i", {LIANA__DIMS(3, 3, 4), LIANA__DIMS(4)}},
    {"ba", "ba->ab", {LIANA__DIMS(3, 4)}},
    {" a b c -> c a ", "abc->ca", {LIANA__DIMS(2, 3, 4)}},
    {"ab,bc,cd->da", "ab,bc,cd->da", {LIANA__DIMS(2, 3), LIANA__DIMS(3, 4), LIANA__DIMS(4, 5)}},
    {"ab,cb,c->ac", "ab,cb,c->ac", {LIANA__DIMS(2, 3), LIANA__DIMS(4, 3), LIANA__DIMS(4)}},
};

static float element(size_t operand, int64_t index)
{
    return (float)sin(0.37 * (double)index + (double)operand + 0.5);
}

static size_t split(const char *whole, const char *terms[MOST_OPERANDS], const char **result)
{
    size_t count = 0;
    for (const char *at = whole;; at++) {
        if (at == whole || at[-1] == ',') terms[count++] = at;
        if (*at != '-') continue;
        *result = at + 2;
        return count;
    }
}

static int64_t place(const char *letters, const int64_t sizes[NUM_LETTERS], const int64_t at[NUM_LETTERS])
{
    int64_t index = 0;
    for (; (*letters >= 'a' && *letters <= 'z'); letters++) {
        index = index * sizes[(int)*letters] + at[(int)*letters];
    }
    return index;
}

/* Every combination of indices adds one product. Returns the number of elements. */
static int64_t by_loops(const equation *row, double *expected)
{
    const char *terms[MOST_OPERANDS], *result;
    int64_t sizes[NUM_LETTERS] = {0}, at[NUM_LETTERS] = {0}, total = 1, elements = 1;
    const size_t count = split(row->whole, terms, &result);
    char letters[32] = "";
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < row->shapes[i].rank; k++) {
            const char letter = terms[i][k];
            if (!sizes[(int)letter]) letters[strlen(letters)] = letter;
            if (!sizes[(int)letter]) total *= row->shapes[i].dims[k];
            sizes[(int)letter] = row->shapes[i].dims[k];
        }
    }
    for (const char *c = result; *c; c++) elements *= sizes[(int)*c];
    memset(expected, 0, (size_t)elements * sizeof *expected);
    for (int64_t n = 0; n < total; n++) {
        int64_t rest = n;
        double product = 1;
        for (const char *c = letters; *c; c++) {
            at[(int)*c] = rest % sizes[(int)*c];
            rest /= sizes[(int)*c];
        }
        for (size_t i = 0; i < count; i++) product *= (double)element(i, place(terms[i], sizes, at));
        expected[place(result, sizes, at)] += product;
    }
    return elements;
}

static size_t make_operands(liana_graph *graph, const equation *row, liana_tensor *operands)
{
    const char *terms[MOST_OPERANDS], *result;
    static float values[MOST_ELEMENTS];
    const size_t count = split(row->whole, terms, &result);
    for (size_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < liana_shape_size(&row->shapes[i]); k++) values[k] = element(i, k);
        operands[i] = liana_graph_constant(graph, LIANA_F32, row->shapes[i], values);
    }
    return count;
}

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

static void test_einsum_is_a_sum_over_indices(void **state)
{
    (void)state;
    static double expected[MOST_ELEMENTS];
    static float found[MOST_ELEMENTS];
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) {
        liana_tensor operands[MOST_OPERANDS];
        liana_graph *graph = new_graph();
        const size_t count = make_operands(graph, &equations[i], operands);
        const int64_t elements = by_loops(&equations[i], expected);
        liana_tensor result = liana_einsum(equations[i].text, operands, count);
        assert_ok(liana_value(result, found, (size_t)elements * sizeof *found), &context->error);
        for (int64_t k = 0; k < elements; k++) {
            if (fabs((double)found[k] - expected[k]) < 1e-5) continue;
            fail_msg("%s, element %lld: %g, expected %g", equations[i].text, (long long)k, (double)found[k],
                     expected[k]);
        }
        liana_graph_destroy(graph);
    }
}

/* The gradient of the sum of all elements, by another equation: each element of x meets the sum of its factors. */
static void test_einsum_has_gradients(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor operands[MOST_OPERANDS], gradients[2];
    float found[24], other[30];
    (void)make_operands(graph, &equations[2], operands);
    liana_tensor total = liana_op_reduce_sum(liana_einsum("aecd,abcd->acbe", operands, 2), LIANA_ALL_AXES, false);
    liana_gradients(total, operands, 2, gradients);
    liana_tensor sums = liana_op_reduce_sum(operands[1], LIANA_AXES(1), false);
    assert_ok(liana_value(liana_op_reduce_sum(gradients[0], LIANA_AXES(1, 2), false), found, 10 * sizeof *found),
              &context->error);
    assert_ok(liana_value(liana_op_reduce_sum(sums, LIANA_AXES(1), false), other, 10 * sizeof *other), &context->error);
    for (int k = 0; k < 10; k++) assert_near(found[k], 3 * other[k], 1e-4);
    liana_graph_destroy(graph);
}

static void test_integers_and_broadcast_axes(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    const int32_t a[] = {1, 2, 3, 4}, b[] = {5, 6};
    int32_t found[4];
    liana_tensor both[] = {liana_graph_constant(graph, LIANA_S32, liana_shape_of(2, 2), a),
                           liana_graph_constant(graph, LIANA_S32, liana_shape_of(2), b)};
    assert_ok(liana_value(liana_einsum("ab,b->a", both, 2), found, 2 * sizeof *found), &context->error);
    assert_compare(found[0], ==, 17);
    assert_compare(found[1], ==, 39);
    both[1] = liana_op_reshape(both[1], liana_shape_of(2, 1));
    assert_ok(liana_value(liana_einsum("...,...->...", both, 2), found, sizeof found), &context->error);
    assert_compare(found[1], ==, 10);
    assert_compare(found[3], ==, 24);
    liana_graph_destroy(graph);
}

static void test_faults_name_the_equation(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"ab,bc->ad", "no operand has the result's 'd'"},
        {"ab,cd->aa", "the result has 'a' twice"},
        {"ab,ac->bc", "'a' is 3 and 4"},
        {"abc,cd->ad", "with 3 letters is of rank 2"},
        {"ab->ba", "it has 1 operands, expected 2"},
        {"ab,bc,cd->ad", "more operands than the 2 tensors"},
        {"ab;bc->ac", "found ';'"},
        {"......a,bc->a", "a second '...'"},
        {"ab,bc-ac", "expected '->'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        liana_graph *graph = new_graph();
        liana_tensor operands[MOST_OPERANDS];
        (void)make_operands(graph, &equations[0], operands);
        (void)liana_einsum(rows[i].text, operands, 2);
        assert_compare(liana_graph_status(graph), ==, LIANA_INVALID_ARGUMENT);
        assert_says(liana_context_message(context), rows[i].expected);
        liana_graph_destroy(graph);
    }
}

/* ---- orders ---- */

/* NaN is NaN. */
static void assert_same(const float *found, const float *expected, int count)
{
    for (int i = 0; i < count; i++) {
        if (isnan(expected[i]) ? isnan(found[i]) : found[i] == expected[i]) continue;
        fail_msg("element %d: %g, expected %g", i, (double)found[i], (double)expected[i]);
    }
}

static void test_sort_top_k_and_take_along_axis(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    const float x[] = {3, -1, NAN, 2, 2, 0.5F, 7, 2, -4, 7, 1, 0};
    const float down[] = {3, 2, 2, 0.5F, -1, NAN, 7, 7, 2, 1, 0, -4}, up[] = {-1, 0.5F, 2, 2, 3, NAN};
    const int32_t first[] = {0, 3, 4, 0, 3, 1};
    float found[12];
    int32_t order[12];
    liana_tensor given = liana_graph_constant(graph, LIANA_F32, liana_shape_of(2, 6), x), indices, dx;
    assert_ok(liana_value(liana_sort(given, -1, true), found, sizeof found), &context->error);
    assert_same(found, down, 12);
    assert_ok(liana_value(liana_sort(given, 1, false), found, sizeof found), &context->error);
    assert_same(found, up, 6);
    liana_tensor values = liana_top_k(given, 3, &indices);
    assert_ok(liana_value(indices, order, 6 * sizeof *order), &context->error);
    for (int i = 0; i < 6; i++) assert_compare(order[i], ==, first[i]);
    liana_gradients(values, &given, 1, &dx);
    assert_ok(liana_value(dx, found, sizeof found), &context->error);
    for (int i = 0; i < 12; i++) {
        const bool is_chosen = i < 6 ? i == 0 || i == 3 || i == 4 : i == 6 || i == 7 || i == 9;
        assert_near(found[i], is_chosen, 0);
    }
    const int32_t places[] = {5, 0, -3, 99};
    liana_tensor at = liana_graph_constant(graph, LIANA_S32, liana_shape_of(2, 2), places);
    assert_ok(liana_value(liana_take_along_axis(given, at, 1), found, 4 * sizeof *found), &context->error);
    assert_near(found[0], 0.5, 0);
    assert_near(found[1], 3, 0);
    assert_near(found[2], 7, 0);
    assert_near(found[3], 0, 0);
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_einsum_is_a_sum_over_indices),   cmocka_unit_test(test_einsum_has_gradients),
        cmocka_unit_test(test_integers_and_broadcast_axes),    cmocka_unit_test(test_faults_name_the_equation),
        cmocka_unit_test(test_sort_top_k_and_take_along_axis),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
