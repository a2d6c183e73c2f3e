/* Loop, Scan and If of ONNX files: their steps become layers, one behind the other, that share their weights. */
#include "harness/harness.h"

#include "harness/onnx/one_file.h"
#include "harness/try/mutants.h"
#include "harness/try/try_onnx.h"

enum { BATCH = 2, STEPS = 4, FEATURES = 3, STATE = 5 };

/* ---- a recurrent network ---- */

/* h = tanh(x[t] W + b + h R), from the first step to the last one or the other way. all: [batch, steps, STATE]. */
static void compute_steps(const float *x, const float *w, const float *b, const float *r, bool is_backward, float *all,
                          float *last)
{
    for (int n = 0; n < BATCH; n++) {
        double h[STATE] = {0};
        for (int i = 0; i < STEPS; i++) {
            const int t = is_backward ? STEPS - 1 - i : i;
            double next[STATE];
            for (int u = 0; u < STATE; u++) {
                double sum = b[u];
                for (int k = 0; k < FEATURES; k++) sum += (double)x[(n * STEPS + t) * FEATURES + k] * w[k * STATE + u];
                for (int k = 0; k < STATE; k++) sum += h[k] * r[k * STATE + u];
                next[u] = tanh(sum);
            }
            memcpy(h, next, sizeof h);
            for (int u = 0; u < STATE; u++) all[(n * STEPS + t) * STATE + u] = (float)h[u];
        }
        for (int u = 0; u < STATE; u++) last[n * STATE + u] = (float)h[u];
    }
}

typedef struct network {
    const float *x, *w, *b, *r;
    float all[BATCH * STEPS * STATE], last[BATCH * STATE];
} network;

/* Weights around the loop, and a state of zeros for each example that follows from the shape of x. */
static network begin_network(bool is_backward)
{
    network own = {.x = NULL};
    liana__test_onnx_begin(&file, 16);
    own.x = draw(BATCH * STEPS * FEATURES, 1);
    own.w = draw(FEATURES * STATE, 2);
    own.b = draw(STATE, 3);
    own.r = draw(STATE * STATE, 4);
    liana__test_onnx_input(&file, "x", FLOAT, LIANA__ONNX_DIMS(-1, STEPS, FEATURES));
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(FEATURES, STATE), own.w);
    liana__test_onnx_floats(&file, "b", LIANA__ONNX_DIMS(STATE), own.b);
    liana__test_onnx_floats(&file, "r", LIANA__ONNX_DIMS(STATE, STATE), own.r);
    liana__test_onnx_ints(&file, "first", LIANA__ONNX_DIMS(1), (const int64_t[]){0});
    liana__test_onnx_ints(&file, "units", LIANA__ONNX_DIMS(1), (const int64_t[]){STATE});
    liana__test_onnx_ints(&file, "steps", (const int64_t[]){LIANA__ONNX_END}, (const int64_t[]){STEPS});
    liana__test_onnx_node(&file, "Shape", "x", "shape");
    liana__test_onnx_node(&file, "Gather", "shape first", "rows");
    Liana__Onnx__Node *sizes = liana__test_onnx_node(&file, "Concat", "rows units", "sizes");
    liana__test_onnx_set_int(&file, sizes, "axis", 0);
    liana__test_onnx_node(&file, "ConstantOfShape", "sizes", "zeros");
    compute_steps(own.x, own.w, own.b, own.r, is_backward, own.all, own.last);
    return own;
}

/* The nodes that every body has: from "row" and "h" to "h_next". */
static void add_cell(void)
{
    liana__test_onnx_node(&file, "MatMul", "row w", "product");
    liana__test_onnx_node(&file, "Add", "b product", "biased");
    liana__test_onnx_node(&file, "MatMul", "h r", "inner");
    liana__test_onnx_node(&file, "Add", "biased inner", "sum");
    liana__test_onnx_node(&file, "Tanh", "sum", "h_next");
}

/* The weights are there once, and all learn. */
static void check_network(const network *own, bool gives_all)
{
    liana_model *model = accept();
    const liana_shape shape = liana_shape_of(BATCH, STEPS, FEATURES);
    expect(model, shape, own->x, gives_all ? own->all : own->last,
           gives_all ? sizeof own->all / sizeof *own->all : sizeof own->last / sizeof *own->last);
    const liana_model_facts facts = liana_model_info(model);
    assert_int_equal(facts.num_parameters, FEATURES * STATE + STATE + STATE * STATE);
    assert_int_equal(count_layers(model, "Dense"), 2);
    for (size_t i = 0; i < model->num_layers; i++) {
        if (strcmp(model->layers[i].type->part.name, "Dense") == 0) {
            assert_int_equal(model->layers[i].num_nodes, STEPS);
        }
    }
    done(model);
}

static void make_loop(const char *output, bool has_condition)
{
    static const uint8_t yes[] = {1};
    Liana__Onnx__Node *row = liana__test_onnx_node(&file, "Gather", "x i", "row");
    liana__test_onnx_set_int(&file, row, "axis", 1);
    add_cell();
    liana__test_onnx_node(&file, "Identity", "go_on", "goes_on");
    liana__test_onnx_node(&file, "Identity", "h_next", "h_all");
    Liana__Onnx__Graph *body = liana__test_onnx_body(&file, 8, "i go_on h", "goes_on h_next h_all");
    Liana__Onnx__Node *loop =
        liana__test_onnx_node(&file, "Loop", has_condition ? "steps yes zeros" : "steps - zeros", "last all");
    liana__test_onnx_set_graph(&file, loop, "body", body);
    Liana__Onnx__Tensor *condition = liana__test_onnx_ints(&file, "yes", LIANA__ONNX_DIMS(1), (const int64_t[]){1});
    condition->n_int64_data = 0;
    condition->has_raw_data = 1;
    condition->raw_data.len = 1;
    condition->raw_data.data = (uint8_t *)(uintptr_t)yes;
    condition->data_type = LIANA__ONNX__TENSOR__DATA_TYPE__BOOL;
    if (strcmp(output, "y") == 0) {
        Liana__Onnx__Node *turn = liana__test_onnx_node(&file, "Transpose", "all", "y");
        liana__test_onnx_set_ints(&file, turn, "perm", LIANA__ONNX_DIMS(1, 0, 2));
    }
    liana__test_onnx_output(&file, output);
}

static void test_loop(void **state)
{
    (void)state;
    network own = begin_network(false);
    make_loop("last", false);
    check_network(&own, false);
    own = begin_network(false);
    make_loop("y", true);
    check_network(&own, true);
}

static void make_scan(const char *output, bool is_backward)
{
    add_cell();
    liana__test_onnx_node(&file, "Identity", "h_next", "h_all");
    Liana__Onnx__Graph *body = liana__test_onnx_body(&file, 6, "h row", "h_next h_all");
    Liana__Onnx__Node *scan = liana__test_onnx_node(&file, "Scan", "zeros x", "last all");
    liana__test_onnx_set_graph(&file, scan, "body", body);
    liana__test_onnx_set_int(&file, scan, "num_scan_inputs", 1);
    liana__test_onnx_set_ints(&file, scan, "scan_input_axes", LIANA__ONNX_DIMS(1));
    liana__test_onnx_set_ints(&file, scan, "scan_output_axes", LIANA__ONNX_DIMS(-2));
    liana__test_onnx_set_ints(&file, scan, "scan_input_directions", LIANA__ONNX_DIMS(is_backward));
    liana__test_onnx_set_ints(&file, scan, "scan_output_directions", LIANA__ONNX_DIMS(is_backward));
    liana__test_onnx_output(&file, output);
}

static void test_scan(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        network own = begin_network(backward);
        make_scan("last", backward);
        check_network(&own, false);
        own = begin_network(backward);
        make_scan("all", backward);
        check_network(&own, true);
    }
}

/* ---- arithmetic ---- */

static void begin_rows(int64_t size)
{
    liana__test_onnx_begin(&file, 16);
    liana__test_onnx_input(&file, "x", FLOAT, LIANA__ONNX_DIMS(-1, size));
    liana__test_onnx_output(&file, "y");
}

static void scalar(const char *name, int64_t number)
{
    liana__test_onnx_ints(&file, name, (const int64_t[]){LIANA__ONNX_END}, &number);
}

/* while (i < 3) { x = 2 x + 1; i += 1 }, with a constant that is made within the body. */
static void test_while(void **state)
{
    (void)state;
    begin_rows(2);
    scalar("zero", 0);
    scalar("one", 1);
    scalar("three", 3);
    liana__test_onnx_node(&file, "Less", "zero three", "begins");
    Liana__Onnx__Node *two = liana__test_onnx_node(&file, "Constant", "", "two");
    liana__test_onnx_set_float(&file, two, "value_float", 2);
    liana__test_onnx_node(&file, "Mul", "two v", "doubled");
    Liana__Onnx__Node *half = liana__test_onnx_node(&file, "Constant", "", "other");
    liana__test_onnx_set_float(&file, half, "value_float", 1);
    liana__test_onnx_node(&file, "Add", "doubled other", "v_next");
    liana__test_onnx_node(&file, "Add", "i one", "i_next");
    liana__test_onnx_node(&file, "Less", "i_next three", "goes_on");
    Liana__Onnx__Graph *body = liana__test_onnx_body(&file, 6, "trip go_on i v", "goes_on i_next v_next");
    Liana__Onnx__Node *loop = liana__test_onnx_node(&file, "Loop", "- begins zero x", "count y");
    liana__test_onnx_set_graph(&file, loop, "body", body);
    liana_model *model = accept();
    expect(model, liana_shape_of(3, 2), (const float[]){1, 2, -1, 0, 0.5f, 4}, (const float[]){15, 23, -1, 7, 11, 39},
           6);
    done(model);
}

static Liana__Onnx__Node *add_if(const char *condition)
{
    liana__test_onnx_node(&file, "Neg", "x", "a");
    Liana__Onnx__Graph *first = liana__test_onnx_body(&file, 1, "", "a");
    liana__test_onnx_node(&file, "Abs", "x", "b");
    Liana__Onnx__Graph *second = liana__test_onnx_body(&file, 1, "", "b");
    Liana__Onnx__Node *node = liana__test_onnx_node(&file, "If", condition, "y");
    liana__test_onnx_set_graph(&file, node, "then_branch", first);
    liana__test_onnx_set_graph(&file, node, "else_branch", second);
    return node;
}

static void test_if(void **state)
{
    (void)state;
    const float x[] = {-1, 2, 3, -4}, negative[] = {1, -2, -3, 4}, absolute[] = {1, 2, 3, 4};
    for (int64_t number = 0; number < 2; number++) {
        begin_rows(2);
        scalar("one", 1);
        scalar("number", number);
        liana__test_onnx_node(&file, "Equal", "one number", "holds");
        add_if("holds");
        liana_model *model = accept();
        expect(model, liana_shape_of(2, 2), x, number ? negative : absolute, 4);
        done(model);
    }
}

/* x grows by i j in a loop within a loop, where i is even. The inner body reads what is around both. */
static void test_nested(void **state)
{
    (void)state;
    begin_rows(2);
    scalar("three", 3);
    scalar("two", 2);
    scalar("zero", 0);
    liana__test_onnx_node(&file, "Mul", "i j", "product");
    Liana__Onnx__Node *cast = liana__test_onnx_node(&file, "Cast", "product", "more");
    liana__test_onnx_set_int(&file, cast, "to", FLOAT);
    liana__test_onnx_node(&file, "Add", "w more", "w_next");
    Liana__Onnx__Graph *inner = liana__test_onnx_body(&file, 3, "j go_2 w", "go_2 w_next");
    Liana__Onnx__Node *loop = liana__test_onnx_node(&file, "Loop", "two - v", "grown");
    liana__test_onnx_set_graph(&file, loop, "body", inner);
    Liana__Onnx__Graph *then_graph = liana__test_onnx_body(&file, 1, "", "grown");
    Liana__Onnx__Graph *else_graph = liana__test_onnx_body(&file, 0, "", "v");
    liana__test_onnx_node(&file, "Mod", "i two", "rest");
    liana__test_onnx_node(&file, "Equal", "rest zero", "is_even");
    Liana__Onnx__Node *choice = liana__test_onnx_node(&file, "If", "is_even", "v_next");
    liana__test_onnx_set_graph(&file, choice, "then_branch", then_graph);
    liana__test_onnx_set_graph(&file, choice, "else_branch", else_graph);
    Liana__Onnx__Graph *outer = liana__test_onnx_body(&file, 3, "i go v", "go v_next");
    Liana__Onnx__Node *whole = liana__test_onnx_node(&file, "Loop", "three - x", "y");
    liana__test_onnx_set_graph(&file, whole, "body", outer);
    liana_model *model = accept();
    expect(model, liana_shape_of(1, 2), (const float[]){1, 5}, (const float[]){3, 7}, 2);
    done(model);
}

/* Nodes that nothing reads are left out, with their weights. */
static void test_unread(void **state)
{
    (void)state;
    begin_rows(3);
    liana__test_onnx_floats(&file, "w", LIANA__ONNX_DIMS(3, 2), draw(6, 1));
    liana__test_onnx_floats(&file, "v", LIANA__ONNX_DIMS(3, 4), draw(12, 2));
    liana__test_onnx_node(&file, "MatMul", "x v", "unread");
    liana__test_onnx_node(&file, "Relu", "unread", "unread_too");
    liana__test_onnx_node(&file, "MatMul", "x w", "y");
    liana_model *model = accept();
    const float *w = draw(6, 1);
    expect(model, liana_shape_of(1, 3), (const float[]){0, 1, 0}, w + 2, 2);
    assert_int_equal(liana_model_info(model).num_parameters, 6);
    done(model);
}

/* ---- what is wrong ---- */

/* A loop whose body adds 1 to x. */
static Liana__Onnx__Node *add_simple(const char *inputs, size_t outputs)
{
    liana__test_onnx_floats(&file, "one", LIANA__ONNX_DIMS(1), (const float[]){1});
    liana__test_onnx_node(&file, "Add", "v one", "v_next");
    liana__test_onnx_node(&file, "Identity", "go", "go_next");
    Liana__Onnx__Graph *body = liana__test_onnx_body(&file, 2, "i go v", outputs == 2 ? "go_next v_next" : "go_next");
    Liana__Onnx__Node *loop = liana__test_onnx_node(&file, "Loop", inputs, "y");
    liana__test_onnx_set_graph(&file, loop, "body", body);
    return loop;
}

static void test_refused(void **state)
{
    (void)state;
    begin_rows(2);
    add_simple("- - x", 2);
    refuse(LIANA_UNIMPLEMENTED, "net.onnx", "Loop 'y'", "the loop has no end");
    begin_rows(2);
    scalar("many", INT64_MAX);
    add_simple("many - x", 2);
    refuse(LIANA_UNIMPLEMENTED, "Loop 'y'", "more than 65536 nodes", "fewer steps");
    begin_rows(2);
    liana__test_onnx_node(&file, "ReduceSum", "x", "s");
    liana__test_onnx_node(&file, "Cast", "s", "n")->attribute = NULL;
    liana__test_onnx_set_int(&file, file.graph.node[1], "to", INT64);
    add_simple("n - x", 2);
    refuse(LIANA_UNIMPLEMENTED, "net.onnx");
    begin_rows(2);
    scalar("many", 3);
    add_simple("many - x", 1);
    refuse(LIANA_INVALID_DATA, "Loop 'y'", "3 inputs and 1 outputs");
    begin_rows(2);
    scalar("many", 3);
    liana__test_onnx_node(&file, "Loop", "many - x", "y");
    refuse(LIANA_INVALID_DATA, "Loop 'y'", "no graph 'body'");
    begin_rows(2);
    scalar("none", 0);
    liana__test_onnx_node(&file, "Identity", "v", "v_all");
    liana__test_onnx_node(&file, "Identity", "go", "go_next");
    Liana__Onnx__Graph *body = liana__test_onnx_body(&file, 2, "i go v", "go_next v_all v_all");
    liana__test_onnx_set_graph(&file, liana__test_onnx_node(&file, "Loop", "none - x", "last y"), "body", body);
    refuse(LIANA_UNIMPLEMENTED, "Loop 'last'", "no steps", "'y' would be empty");
    /* Operators that lack are named with those of the bodies. */
    begin_rows(2);
    scalar("many", 3);
    liana__test_onnx_node(&file, "Det", "x", "d");
    add_simple("many - d", 2);
    file.graph.node[1]->attribute[0]->g->node[1]->op_type = liana__arena_string(&file.arena, "Bernoulli");
    refuse(LIANA_UNIMPLEMENTED, "Det (1", "Bernoulli (1");
    /* The body reads what is nowhere. */
    begin_rows(2);
    scalar("many", 3);
    add_simple("many - x", 2);
    file.graph.node[0]->attribute[0]->g->node[0]->input[1] = liana__arena_string(&file.arena, "two");
    refuse(LIANA_INVALID_DATA, "Add", "'two'", "neither an input of the graph");
}

static void test_refused_conditions(void **state)
{
    (void)state;
    begin_rows(1);
    liana__test_onnx_floats(&file, "one", LIANA__ONNX_DIMS(1), (const float[]){1});
    liana__test_onnx_node(&file, "Less", "x one", "holds");
    add_if("holds");
    refuse(LIANA_UNIMPLEMENTED, "If 'y'", "condition ('holds')", "follows from the data");
    begin_rows(1);
    liana__test_onnx_floats(&file, "limit", LIANA__ONNX_DIMS(1), (const float[]){1});
    liana__test_onnx_node(&file, "Less", "x limit", "holds");
    add_simple("- holds x", 2);
    refuse(LIANA_UNIMPLEMENTED, "Loop 'y'", "condition", "follows from the data");
    /* Steps of two lengths. */
    begin_rows(4);
    liana__test_onnx_floats(&file, "rows", LIANA__ONNX_DIMS(3), draw(3, 1));
    liana__test_onnx_node(&file, "Add", "a b", "c");
    Liana__Onnx__Graph *body = liana__test_onnx_body(&file, 1, "a b", "c");
    Liana__Onnx__Node *scan = liana__test_onnx_node(&file, "Scan", "x rows", "y");
    liana__test_onnx_set_graph(&file, scan, "body", body);
    liana__test_onnx_set_int(&file, scan, "num_scan_inputs", 2);
    liana__test_onnx_set_ints(&file, scan, "scan_input_axes", LIANA__ONNX_DIMS(1, 0));
    refuse(LIANA_INVALID_DATA, "Scan 'y'", "4 and of 3 steps");
}

/* Damaged files with loops neither crash nor leak. */
static void test_mutants(void **state)
{
    (void)state;
    size_t size;
    (void)begin_network(false);
    make_loop("y", true);
    const uint8_t *bytes = liana__test_onnx_pack(&file, &size);
    liana__test_mutants(bytes, size, 400, liana__try_onnx);
    liana__arena_free(&file.arena);
    (void)begin_network(true);
    make_scan("all", true);
    bytes = liana__test_onnx_pack(&file, &size);
    liana__test_mutants(bytes, size, 400, liana__try_onnx);
    liana__arena_free(&file.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),    cmocka_unit_test(test_scan),
        cmocka_unit_test(test_while),   cmocka_unit_test(test_if),
        cmocka_unit_test(test_nested),  cmocka_unit_test(test_unread),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_refused_conditions),
        cmocka_unit_test(test_mutants),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
