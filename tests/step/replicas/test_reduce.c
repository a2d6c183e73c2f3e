/* Values by replica: their contents, reductions of them, and refusals. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    liana_context *context;
    liana_replicas *replicas;
} fixture;

static fixture set_up(int64_t num_replicas)
{
    fixture own = {0};
    const liana_strategy strategy = {.name = "mirrored", .replicas = num_replicas, .threads = 1};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &own.context), LIANA_OK);
    done(liana_replicas_open(own.context, &(liana_replicas_options){.strategy = strategy}, &own.replicas));
    return own;
}

static void tear_down(fixture *own)
{
    liana_replicas_close(own->replicas);
    liana_context_destroy(own->context);
}

static double value_of(const liana_array *array, size_t index)
{
    switch (array->dtype) {
    case LIANA_F32: return (double)((const float *)array->data)[index];
    case LIANA_F64: return ((const double *)array->data)[index];
    case LIANA_S32: return ((const int32_t *)array->data)[index];
    default: return (double)((const int64_t *)array->data)[index];
    }
}

/* ---- the current strategy ---- */

static void test_current_strategy(void **state)
{
    (void)state;
    fixture own = {0};
    liana_replicas *outer, *inner;
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    liana_replicas *standard = liana_replicas_current(own.context);
    assert_non_null(standard);
    assert_int_equal(liana_replicas_info(standard).num_in_sync, 1);
    assert_string_equal(liana_replicas_info(standard).strategy.name, "one_device");
    assert_string_equal(liana_device_name(liana_replicas_device(standard)), "cpu");
    assert_ptr_equal(liana_replicas_current(own.context), standard);
    const liana_replicas_options options = {.strategy = {.name = "mirrored", .replicas = 2}};
    done(liana_replicas_open(own.context, &options, &outer));
    done(liana_replicas_open(own.context, &(liana_replicas_options){.device = "reference"}, &inner));
    assert_ptr_equal(liana_replicas_current(own.context), inner);
    assert_string_equal(liana_device_name(liana_replicas_device(inner)), "reference");
    liana_replicas_close(outer);
    assert_ptr_equal(liana_replicas_current(own.context), inner);
    liana_replicas_close(inner);
    assert_ptr_equal(liana_replicas_current(own.context), standard);
    liana_replicas_close(standard); /* the context's: it stays */
    assert_ptr_equal(liana_replicas_current(own.context), standard);
    liana_context_destroy(own.context);
}

/* ---- values of a function ---- */

static liana_status fill_values(void *user, int64_t replica, int64_t num_replicas, void **data)
{
    if (user && replica == *(const int64_t *)user) return LIANA_NOT_FOUND;
    for (int i = 0; i < 3; i++) ((float *)data[0])[i] = (float)(10 * replica + i);
    *(int64_t *)data[1] = replica - num_replicas;
    return LIANA_OK;
}

static const liana_component function_components[] = {{.name = "row", .dtype = LIANA_F32, .shape = {1, {3}}},
                                                      {.name = "number", .dtype = LIANA_S64}};

static void test_values_of_a_function(void **state)
{
    (void)state;
    fixture own = set_up(3);
    liana_per_replica *values;
    liana_local_shard shard;
    liana_array array;
    done(liana_per_replica_from_function(own.replicas, function_components, 2, fill_values, NULL, &values));
    assert_int_equal(liana_per_replica_info(values).num_shards, 3);
    assert_int_equal(liana_per_replica_info(values).num_local, 3);
    for (int64_t i = 0; i < 3; i++) {
        assert_true(liana_per_replica_local(values, i, &shard));
        assert_int_equal(shard.replica, i);
        assert_int_equal(shard.shard, i);
        assert_int_equal(shard.num_examples, 1);
        assert_true(liana_per_replica_array(values, i, "number", &array));
        assert_int_equal(array.shape.rank, 0);
        assert_int_equal(value_of(&array, 0), i - 3);
    }
    assert_false(liana_per_replica_local(values, 3, &shard));
    assert_false(liana_per_replica_array(values, 0, "rows", &array));
    done(liana_per_replica_reduce(values, "number", LIANA_REDUCE_SUM, &array));
    assert_int_equal(value_of(&array, 0), -6);
    done(liana_per_replica_reduce(values, "row", LIANA_REDUCE_MEAN, &array));
    assert_int_equal(array.shape.dims[0], 3);
    for (size_t i = 0; i < 3; i++) assert_compare(value_of(&array, i), ==, 10.0 + (double)i, i);
    done(liana_per_replica_reduce(values, "row", LIANA_REDUCE_CONCATENATE, &array));
    assert_int_equal(array.shape.dims[0], 9);
    assert_compare(value_of(&array, 5), ==, 12);
    liana_per_replica_destroy(values);
    int64_t failing = 1;
    refused(liana_per_replica_from_function(own.replicas, function_components, 2, fill_values, &failing, &values),
            LIANA_NOT_FOUND, "replica 1");
    assert_null(values);
    tear_down(&own);
}

/* ---- batches ---- */

enum { COUNT = 11 };

static liana_per_replica *split(const fixture *own, int64_t count, int64_t microbatch)
{
    static double x[2 * COUNT];
    static int32_t label[COUNT];
    static liana_bytes name[COUNT];
    liana_per_replica *values;
    for (int64_t i = 0; i < count; i++) {
        x[2 * i] = (double)(i + 1);
        x[2 * i + 1] = (double)(i * i);
        label[i] = (int32_t)(7 - i);
        name[i] = (liana_bytes){&"abcdefghijk"[i], 1};
    }
    const liana_array arrays[] = {{"x", LIANA_F64, liana_shape_of(count, 2), x},
                                  {"label", LIANA_S32, liana_shape_of(count), label},
                                  {"name", LIANA_STRING, liana_shape_of(count), name}};
    liana__tiny_done(own->context, liana_per_replica_split(own->replicas, arrays, 3, microbatch, &values), __FILE__,
                     __LINE__);
    return values;
}

/* Each example is in one shard, in order; there are as many shards as examples allow, and replicas without any. */
static void test_batches_are_cut(void **state)
{
    (void)state;
    static const struct {
        int64_t replicas, count, microbatch, shards;
    } cases[] = {{1, 11, 0, 1}, {2, 11, 0, 2}, {4, 11, 0, 4}, {4, 11, 2, 6},
                 {4, 3, 0, 3},  {4, 1, 0, 1},  {7, 5, 4, 2},  {3, 11, 1, 11}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fixture own = set_up(cases[k].replicas);
        liana_per_replica *values = split(&own, cases[k].count, cases[k].microbatch);
        int64_t example = 0, before = 0;
        liana_local_shard shard;
        assert_int_equal(liana_per_replica_info(values).num_shards, cases[k].shards);
        assert_int_equal(liana_per_replica_info(values).num_examples, cases[k].count);
        for (int64_t i = 0; liana_per_replica_local(values, i, &shard); i++) {
            liana_array x, name;
            assert_in_range(shard.replica, before, cases[k].replicas - 1);
            before = shard.replica;
            assert_true(liana_per_replica_array(values, i, "x", &x));
            assert_true(liana_per_replica_array(values, i, "name", &name));
            assert_int_equal(x.shape.dims[0], shard.num_examples);
            for (int64_t row = 0; row < shard.num_examples; row++, example++) {
                assert_compare(value_of(&x, (size_t)(2 * row)), ==, (double)(example + 1), row);
                const liana_bytes *bytes = (const liana_bytes *)name.data + row;
                assert_memory_equal(bytes->data, &"abcdefghijk"[example], 1);
            }
        }
        assert_int_equal(example, cases[k].count);
        liana_per_replica_destroy(values);
        tear_down(&own);
    }
}

/* Means divide by the number of examples, however unequal shards are, and whatever replicas have none. */
static void test_means_of_unequal_shards(void **state)
{
    (void)state;
    for (int64_t num_replicas = 1; num_replicas < 6; num_replicas++) {
        fixture own = set_up(num_replicas);
        for (int64_t count = 1; count <= COUNT; count++) {
            liana_per_replica *values = split(&own, count, 3);
            liana_array mean, sum, labels;
            double expected[2] = {0};
            for (int64_t i = 0; i < count; i++) {
                expected[0] += (double)(i + 1);
                expected[1] += (double)(i * i);
            }
            done(liana_per_replica_reduce(values, "x", LIANA_REDUCE_ROW_MEAN, &mean));
            done(liana_per_replica_reduce(values, "x", LIANA_REDUCE_ROW_SUM, &sum));
            done(liana_per_replica_reduce(values, "label", LIANA_REDUCE_CONCATENATE, &labels));
            assert_int_equal(sum.shape.rank, 1);
            for (size_t i = 0; i < 2; i++) {
                assert_compare(value_of(&sum, i), ==, expected[i], i);
                assert_compare(value_of(&mean, i), ==, expected[i] / (double)count, count, i);
            }
            assert_int_equal(labels.shape.dims[0], count);
            for (int64_t i = 0; i < count; i++) assert_int_equal(value_of(&labels, (size_t)i), 7 - i);
            liana_per_replica_destroy(values);
        }
        tear_down(&own);
    }
}

static void build_means(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor x = liana_graph_tensor(graph, "x");
    liana_graph_output(graph, "mean", liana_op_reduce_mean(x, LIANA_AXES(0), false));
    liana_graph_output(graph, "again", liana_op_reduce_mean(x, LIANA_AXES(0), false));
}

/* The mean of means of unequal shards is the mean of the examples. */
static void test_mean_of_shards_counts_examples(void **state)
{
    (void)state;
    fixture own = set_up(4);
    liana_replica_program *program;
    liana_per_replica *batch = split(&own, 11, 3), *values;
    liana_array mean;
    done(liana_replica_program_create(own.replicas, &(liana_replica_program_options){.build = build_means}, &program));
    done(liana_replica_program_run(program, &batch, 1, &values));
    done(liana_per_replica_reduce(values, "mean", LIANA_REDUCE_MEAN, &mean));
    assert_near(value_of(&mean, 0), 6, 1e-12);
    assert_near(value_of(&mean, 1), 35, 1e-12);
    liana_per_replica_destroy(values);
    liana_per_replica_destroy(batch);
    liana_replica_program_destroy(program);
    tear_down(&own);
}

/* ---- refusals ---- */

static void test_reductions_refuse(void **state)
{
    (void)state;
    fixture own = set_up(2);
    liana_array result;
    liana_per_replica *values = split(&own, 11, 3);
    refused(liana_per_replica_reduce(values, "lable", LIANA_REDUCE_SUM, &result), LIANA_NOT_FOUND, "'label'");
    refused(liana_per_replica_reduce(values, "label", LIANA_REDUCE_ROW_MEAN, &result), LIANA_INVALID_ARGUMENT,
            "means are of f32 or f64");
    refused(liana_per_replica_reduce(values, "name", LIANA_REDUCE_CONCATENATE, &result), LIANA_INVALID_ARGUMENT,
            "strings stay");
    refused(liana_per_replica_reduce(values, "x", LIANA_REDUCE_SUM, &result), LIANA_INVALID_ARGUMENT,
            "f64[3, 2] in leaf 0 and f64[2, 2] in leaf 3");
    refused(liana_per_replica_reduce(values, "x", (liana_reduction)17, &result), LIANA_INVALID_ARGUMENT, "17");
    assert_null(result.data);
    liana_per_replica_destroy(values);
    done(liana_per_replica_from_function(own.replicas, function_components, 2, fill_values, NULL, &values));
    refused(liana_per_replica_reduce(values, "number", LIANA_REDUCE_ROW_SUM, &result), LIANA_INVALID_ARGUMENT,
            "a scalar has no rows");
    liana_per_replica_destroy(values);
    tear_down(&own);
}

static void test_splits_refuse(void **state)
{
    (void)state;
    fixture own = set_up(2);
    const float numbers[6] = {0};
    liana_per_replica *values;
    const liana_array short_one[] = {{"a", LIANA_F32, liana_shape_of(3, 2), numbers},
                                     {"b", LIANA_F32, liana_shape_of(2), numbers}};
    refused(liana_per_replica_split(own.replicas, short_one, 2, 0, &values), LIANA_INVALID_ARGUMENT, "'b'");
    const liana_array twice[] = {{"a", LIANA_F32, liana_shape_of(3), numbers},
                                 {"a", LIANA_F32, liana_shape_of(3), numbers}};
    refused(liana_per_replica_split(own.replicas, twice, 2, 0, &values), LIANA_INVALID_ARGUMENT, "twice");
    const liana_array empty = {"a", LIANA_F32, {1, {0}}, numbers}, scalar = {"a", LIANA_F32, {0}, numbers},
                      nowhere = {"a", LIANA_F32, liana_shape_of(3), NULL}, odd = {"a", 77, liana_shape_of(3), numbers};
    refused(liana_per_replica_split(own.replicas, &empty, 1, 0, &values), LIANA_INVALID_ARGUMENT, "at least one");
    refused(liana_per_replica_split(own.replicas, &scalar, 1, 0, &values), LIANA_INVALID_ARGUMENT, "[examples, ...]");
    refused(liana_per_replica_split(own.replicas, &nowhere, 1, 0, &values), LIANA_INVALID_ARGUMENT, "at no address");
    refused(liana_per_replica_split(own.replicas, &odd, 1, 0, &values), LIANA_INVALID_ARGUMENT, "'a'");
    refused(liana_per_replica_split(own.replicas, twice, 0, 0, &values), LIANA_INVALID_ARGUMENT, "no array");
    refused(liana_per_replica_split(own.replicas, twice, 1, -1, &values), LIANA_INVALID_ARGUMENT, "microbatch is -1");
    const liana_component none[] = {{.name = "s", .dtype = LIANA_STRING}};
    refused(liana_per_replica_from_function(own.replicas, none, 1, fill_values, NULL, &values), LIANA_INVALID_ARGUMENT,
            "'s'");
    tear_down(&own);
}

static void test_strategies_that_are_not_there(void **state)
{
    (void)state;
    fixture own = {0};
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    liana_replicas *replicas;
    const struct {
        liana_replicas_options options;
        liana_status status;
        const char *text;
    } cases[] = {
        {{.strategy = {.name = "mirored"}}, LIANA_INVALID_CONFIG, "mirrored"},
        {{.device = "gpux", .strategy = {.name = "mirrored", .replicas = 2}}, LIANA_INVALID_CONFIG, "gpux"},
        {{.strategy = {.name = "mirrored", .replicas = -1}}, LIANA_INVALID_CONFIG, "replicas"},
        {{.strategy = {.name = "mirrored", .bind = (liana_thread_binding)9}}, LIANA_INVALID_ARGUMENT, "bind"},
        {{.strategy = {.name = "multi_worker"}}, LIANA_INVALID_CONFIG, "this process is alone"},
        {{.strategy = {.name = "parameter_server"}}, LIANA_INVALID_CONFIG, "this process is alone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(liana_replicas_open(own.context, &cases[i].options, &replicas), cases[i].status, cases[i].text);
        assert_null(replicas);
    }
    liana_context_destroy(own.context);
}

/* ---- programs ---- */

static void build_none(liana_graph *graph, void *user)
{
    (void)graph;
    (void)user;
}

static void build_assignment(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F64, liana_shape_of(2));
    liana_graph_assign(w, liana_op_add(w, liana_graph_tensor(graph, "step")));
}

static void build_read(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F64, liana_shape_of(2));
    liana_graph_output(graph, "w", w);
}

static void build_wrong(liana_graph *graph, void *user)
{
    (void)user;
    liana_graph_output(graph, "sum", liana_op_add(liana_graph_tensor(graph, "x"), liana_graph_tensor(graph, "y")));
}

static void build_own_input(liana_graph *graph, void *user)
{
    (void)user;
    liana_graph_output(graph, "z", liana_graph_input(graph, "z", LIANA_F32, LIANA_SCALAR));
}

typedef struct nested {
    liana_replica_program *program;
    liana_status status;
    char message[300];
    liana_context *context;
} nested;

/* Runs its own program while that is under way. */
static void build_nested(liana_graph *graph, void *user)
{
    nested *own = user;
    liana_per_replica *values;
    own->status = liana_replica_program_run(own->program, NULL, 0, &values);
    snprintf(own->message, sizeof own->message, "%s", liana_context_message(own->context));
    liana_graph_output(graph, "one", liana_graph_scalar(graph, LIANA_F32, 1));
}

static liana_replica_program *make(const fixture *own, void (*build)(liana_graph *, void *), void *user)
{
    liana_replica_program *program;
    const liana_replica_program_options options = {.build = build, .user = user, .name = "mine"};
    liana__tiny_done(own->context, liana_replica_program_create(own->replicas, &options, &program), __FILE__, __LINE__);
    return program;
}

static void test_programs_refuse(void **state)
{
    (void)state;
    fixture own = set_up(2), other = {.context = own.context};
    liana_replica_program *program;
    liana_per_replica *batch = split(&own, 11, 3), *cut = split(&own, 11, 4), *values;
    refused(liana_replica_program_create(own.replicas, &(liana_replica_program_options){0}, &program),
            LIANA_INVALID_ARGUMENT, "no function");
    static const struct {
        void (*build)(liana_graph *, void *);
        const char *text;
    } cases[] = {{build_none, "no outputs"}, {build_own_input, "'z'"}, {build_read, "'w'"}, {build_wrong, "mine"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program = make(&own, cases[i].build, NULL);
        refused(liana_replica_program_run(program, &batch, 1, &values), LIANA_INVALID_ARGUMENT, cases[i].text);
        assert_null(values);
        liana_replica_program_destroy(program);
    }
    program = make(&own, build_means, NULL);
    liana_per_replica *const two[] = {batch, cut}, *const same[] = {batch, batch}, *const none[] = {NULL};
    refused(liana_replica_program_run(program, two, 2, &values), LIANA_INVALID_ARGUMENT, "the same leaves");
    refused(liana_replica_program_run(program, same, 2, &values), LIANA_INVALID_ARGUMENT, "have an array 'x'");
    refused(liana_replica_program_run(program, none, 1, &values), LIANA_INVALID_ARGUMENT, "NULL");
    const liana_replicas_options options = {.strategy = {.name = "mirrored", .replicas = 3, .threads = 1}};
    done(liana_replicas_open(own.context, &options, &other.replicas));
    liana_per_replica *foreign = split(&other, 11, 3);
    refused(liana_replica_program_run(program, &foreign, 1, &values), LIANA_INVALID_ARGUMENT,
            "another strategy (mirrored with 3 replicas)");
    liana_per_replica_destroy(foreign);
    liana_replicas_close(other.replicas);
    liana_replica_program_destroy(program);
    liana_per_replica_destroy(batch);
    liana_per_replica_destroy(cut);
    tear_down(&own);
}

static void test_one_thing_at_a_time(void **state)
{
    (void)state;
    fixture own = set_up(2);
    nested inner = {.context = own.context};
    liana_per_replica *values;
    inner.program = make(&own, build_nested, &inner);
    done(liana_replica_program_run(inner.program, NULL, 0, &values));
    assert_int_equal(inner.status, LIANA_INVALID_ARGUMENT);
    assert_says(inner.message, "mine: its replicas are in use by mine");
    assert_int_equal(liana_per_replica_info(values).num_shards, 2);
    liana_per_replica_destroy(values);
    liana_replica_program_destroy(inner.program);
    tear_down(&own);
}

/* All devices see an update's new values of a variable, and the program's writes. */
static void test_variables_stay_in_step(void **state)
{
    (void)state;
    fixture own = set_up(3);
    const double begin[2] = {1, 2}, step[2] = {0.5, -4};
    liana_replica_program *reads = make(&own, build_read, NULL), *updates = make(&own, build_assignment, NULL);
    const liana_array input = {"step", LIANA_F64, liana_shape_of(2), step};
    liana_per_replica *values;
    refused(liana_replica_program_update(updates, &input, 1), LIANA_INVALID_ARGUMENT, "'w'");
    liana_variables *variables = liana_replicas_variables(own.replicas);
    for (int round = 0; round < 3; round++) {
        const double factor = round == 2 ? 2 : round;
        if (round == 0) done(liana_variables_write(variables, "w", begin, sizeof begin));
        if (round > 0) done(liana_replica_program_update(updates, &input, 1));
        done(liana_replica_program_run(reads, NULL, 0, &values));
        for (int64_t i = 0; i < 3; i++) {
            liana_array w;
            assert_true(liana_per_replica_array(values, i, "w", &w));
            for (size_t k = 0; k < 2; k++) assert_compare(value_of(&w, k), ==, begin[k] + factor * step[k], k);
        }
        liana_per_replica_destroy(values);
    }
    refused(liana_replica_program_run(updates, NULL, 0, &values), LIANA_INVALID_ARGUMENT, "");
    refused(liana_replica_program_update(reads, NULL, 0), LIANA_INVALID_ARGUMENT, "nothing to update");
    liana_replica_program_destroy(reads);
    liana_replica_program_destroy(updates);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_current_strategy),
        cmocka_unit_test(test_values_of_a_function),
        cmocka_unit_test(test_batches_are_cut),
        cmocka_unit_test(test_means_of_unequal_shards),
        cmocka_unit_test(test_mean_of_shards_counts_examples),
        cmocka_unit_test(test_reductions_refuse),
        cmocka_unit_test(test_splits_refuse),
        cmocka_unit_test(test_strategies_that_are_not_there),
        cmocka_unit_test(test_programs_refuse),
        cmocka_unit_test(test_one_thing_at_a_time),
        cmocka_unit_test(test_variables_stay_in_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
