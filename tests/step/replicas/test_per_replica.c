/* Strategies that a program holds: functions on each replica, reductions, distributed datasets and steps give the bits
 * of one device, on devices of this process and on processes (which are threads here); each process makes its own
 * examples. */
#include "harness/cluster/hub.h"
#include "harness/pjrt_plugin.h"
#include "harness/tiny_fit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 4, FEATURES = 6, MAX_PROCESSES = 9, EPOCHS = 2 };

/* The results of a body: bytes that are to be the same everywhere. */
typedef struct report {
    liana_status status;
    char message[512];
    char *bytes;
    size_t size;
    int64_t num_replicas, first_local, num_local;
    atomic_int made[COUNT]; /* how often an example was made here */
} report;

static void keep(report *own, const void *bytes, size_t size)
{
    own->bytes = realloc(own->bytes, own->size + size);
    memcpy(own->bytes + own->size, bytes, size);
    own->size += size;
}

static void keep_array(report *own, const liana_array *array)
{
    keep(own, array->data, (size_t)liana_shape_size(&array->shape) * liana_dtype_size((liana_dtype)array->dtype));
}

typedef liana_status (*body)(liana_context *context, liana_replicas *replicas, report *own);

/* ---- assignment ---- */

typedef struct setting {
    liana_strategy strategy;
    size_t num_workers, num_servers; /* 0: this process alone */
    int64_t num_replicas;
} setting;

static const setting SETTINGS[] = {
    {{.name = "mirrored", .replicas = 1}, 0, 0, 1},
    {{.name = "mirrored", .replicas = 2}, 0, 0, 2},
    {{.name = "mirrored", .replicas = 3, .threads = 2}, 0, 0, 3},
    {{.name = "mirrored", .replicas = 11, .threads = 1}, 0, 0, 11}, /* more than there are shards */
    {{.name = "multi_worker"}, 1, 0, 1},
    {{.name = "multi_worker"}, 2, 0, 2},
    {{.name = "multi_worker"}, 3, 0, 3},
    {{.name = "multi_worker"}, 4, 0, 4},
    {{.name = "multi_worker"}, 7, 0, 7},
    {{.name = "multi_worker", .replicas = 2, .threads = 1}, 1, 0, 2},
    {{.name = "multi_worker", .replicas = 2, .threads = 1}, 3, 0, 6},
    {{.name = "multi_worker", .replicas = 5, .threads = 1}, 2, 0, 10},
    {{.name = "parameter_server", .replicas = 2, .threads = 1}, 3, 1, 6},
    {{.name = "parameter_server"}, 1, 1, 1},
    {{.name = "parameter_server"}, 3, 2, 3},
    {{.name = "parameter_server"}, 7, 2, 7},
};
enum { NUM_SETTINGS = sizeof SETTINGS / sizeof *SETTINGS };

typedef struct process {
    liana__hub *hub; /* NULL: alone */
    size_t rank;
    liana_strategy strategy;
    const char *device;
    int num_threads;
    body body;
    report *report;
} process;

static void *run_process(void *user)
{
    const process *own = user;
    report *got = own->report;
    liana_context *context = NULL;
    liana_replicas *replicas = NULL;
    liana__cluster cluster = {0};
    got->status = liana_context_create(&(liana_context_options){.num_threads = own->num_threads}, &context);
    if (got->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK) {
        got->status =
            liana_replicas_open(context, &(liana_replicas_options){.device = own->device, .strategy = own->strategy},
                                &replicas);
    }
    got->num_replicas = liana_replicas_info(replicas).num_in_sync;
    got->num_local = liana_replicas_info(replicas).num_local;
    got->first_local = liana_replicas_info(replicas).first_local;
    if (got->status == LIANA_OK) got->status = own->body(context, replicas, got);
    if (got->status != LIANA_OK) snprintf(got->message, sizeof got->message, "%s", liana_context_message(context));
    liana_replicas_close(replicas);
    if (own->hub) liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

/* From this operation on the last worker is dead; 0: it lives. */
static uint64_t death;

static size_t run(const setting *wanted, body run_body, report *reports)
{
    pthread_t threads[MAX_PROCESSES];
    process processes[MAX_PROCESSES];
    const size_t count = wanted->num_workers ? wanted->num_workers + wanted->num_servers : 1;
    liana__hub *hub = wanted->num_workers ? liana__hub_create(wanted->num_workers, wanted->num_servers) : NULL;
    memset(reports, 0, count * sizeof *reports);
    if (death) liana__hub_kill(hub, wanted->num_workers - 1, death);
    for (size_t i = 0; i < count; i++) {
        processes[i] = (process){hub, i, wanted->strategy, NULL, 1, run_body, &reports[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    if (hub && !death) assert_int_equal(liana__hub_num_kept(hub), 0);
    if (hub) liana__hub_destroy(hub);
    return count;
}

static void free_reports(report *reports, size_t count)
{
    for (size_t i = 0; i < count; i++) free(reports[i].bytes);
}

/* The body gives the same bytes in all processes of all settings. */
static void assert_same_everywhere(body run_body)
{
    report one = {0}, reports[MAX_PROCESSES];
    run_process(&(process){NULL, 0, {.name = "one_device"}, NULL, 1, run_body, &one});
    if (one.status != LIANA_OK) print_error("one_device: %s\n", one.message);
    assert_int_equal(one.status, LIANA_OK);
    assert_compare(one.size, >, 0);
    for (size_t k = 0; k < NUM_SETTINGS; k++) {
        const size_t count = run(&SETTINGS[k], run_body, reports);
        for (size_t i = 0; i < count; i++) {
            if (reports[i].status != LIANA_OK) print_error("setting %zu, %zu: %s\n", k, i, reports[i].message);
            assert_int_equal(reports[i].status, LIANA_OK);
            assert_compare(reports[i].num_replicas, ==, SETTINGS[k].num_replicas, k, i);
            assert_int_equal(reports[i].size, one.size);
            assert_memory_equal(reports[i].bytes, one.bytes, one.size);
        }
        free_reports(reports, count);
    }
    free(one.bytes);
}

/* ---- a small regression ---- */

static float x_of(int64_t example, int feature)
{
    return (float)((example * 37 + feature * 11) % 101) / 50 - 1;
}

static float y_of(int64_t example)
{
    return (float)((example * 13) % 17) / 8;
}

static const liana_component components[] = {
    {.name = "x", .dtype = LIANA_F32, .shape = {1, {FEATURES}}},
    {.name = "y", .dtype = LIANA_F32, .shape = {1, {1}}},
    {.name = "id", .dtype = LIANA_STRING},
};

static liana_status make_example(void *user, const liana_example_address *address, const liana_element *input,
                                 liana_element *output)
{
    report *own = user;
    const int64_t number = *(const int64_t *)liana_element_array(input, "value").data;
    char id[24];
    (void)address;
    atomic_fetch_add(&own->made[number], 1);
    for (int i = 0; i < FEATURES; i++) ((float *)liana_element_output(output, "x"))[i] = x_of(number, i);
    *(float *)liana_element_output(output, "y") = y_of(number);
    snprintf(id, sizeof id, "example %lld", (long long)number);
    return liana_element_set_string(output, "id", 0, id, strlen(id));
}

static liana_dataset *open_examples(liana_context *context, report *own, int64_t begin, int64_t end)
{
    liana_dataset *data = liana_dataset_range(context, begin, end, 1);
    return liana_dataset_map(data, &(liana_map_options){.name = "example",
                                                        .function = make_example,
                                                        .user = own,
                                                        .components = components,
                                                        .num_components = 3});
}

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

/* Squares of errors, predictions, and the sum of the gradients. */
static void build_gradient(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor x = liana_graph_tensor(graph, "x"), y = liana_graph_tensor(graph, "y"), gradient;
    liana_tensor weight = liana_graph_variable(graph, "weight", LIANA_F32, liana_shape_of(FEATURES, 1));
    liana_tensor output = liana_op_matmul(x, weight, false, false);
    liana_tensor squares = liana_op_square(liana_op_subtract(output, y));
    liana_gradients(liana_op_reduce_sum(squares, LIANA_ALL_AXES, false), &weight, 1, &gradient);
    liana_graph_output(graph, "output", output);
    liana_graph_output(graph, "squares", squares);
    liana_graph_output(graph, "mean", liana_op_reduce_mean(squares, LIANA_ALL_AXES, false));
    liana_graph_output(graph, "gradient", gradient);
}

static void build_descent(liana_graph *graph, void *user)
{
    (void)user;
    liana_tensor gradient = liana_graph_tensor(graph, "gradient"), rate = liana_graph_tensor(graph, "rate");
    liana_tensor weight = liana_graph_variable(graph, "weight", LIANA_F32, liana_shape_of(FEATURES, 1));
    liana_graph_assign(weight, liana_op_subtract(weight, liana_op_multiply(rate, gradient)));
}

/* The state of a loop. */
typedef struct loop {
    liana_replicas *replicas;
    liana_dataset *data;
    liana_replica_iterator *iterator;
    liana_replica_program *gradient, *descent;
} loop;

static liana_status begin_loop(loop *own)
{
    const float zeros[FEATURES] = {0};
    liana_status status =
        liana_replica_program_create(own->replicas, &(liana_replica_program_options){.build = build_gradient},
                                     &own->gradient);
    if (status == LIANA_OK) {
        status =
            liana_replica_program_create(own->replicas,
                                         &(liana_replica_program_options){.build = build_descent, .name = "descent"},
                                         &own->descent);
    }
    if (status != LIANA_OK) return status;
    return liana_variables_add(liana_replicas_variables(own->replicas), "weight", LIANA_F32,
                               liana_shape_of(FEATURES, 1), zeros);
}

static void end_loop(loop *own)
{
    liana_replica_iterator_destroy(own->iterator);
    liana_replica_program_destroy(own->gradient);
    liana_replica_program_destroy(own->descent);
    liana_dataset_close(own->data);
}

/* Gradients of all replicas, and the weights moved by them. */
static liana_status descend(loop *own, const liana_per_replica *batch, liana_per_replica *values, report *got)
{
    liana_array arrays[5];
    static const struct {
        const char *name;
        liana_reduction reduction;
    } wanted[] = {{"gradient", LIANA_REDUCE_SUM},
                  {"mean", LIANA_REDUCE_MEAN},
                  {"output", LIANA_REDUCE_CONCATENATE},
                  {"squares", LIANA_REDUCE_ROW_SUM},
                  {"squares", LIANA_REDUCE_ROW_MEAN}};
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < 5; i++) {
        status = liana_per_replica_reduce(values, wanted[i].name, wanted[i].reduction, &arrays[i]);
        if (status == LIANA_OK) keep_array(got, &arrays[i]);
    }
    if (status != LIANA_OK) return status;
    const float rate = (float)(0.1 / (double)liana_per_replica_info(batch).num_examples);
    return liana_replica_program_update(own->descent,
                                        (liana_array[]){arrays[0], {"rate", LIANA_F32, LIANA_SCALAR, &rate}}, 2);
}

static liana_status run_loop(loop *own, report *got)
{
    liana_status status = LIANA_OK;
    while (status == LIANA_OK) {
        liana_per_replica *batch = NULL, *values = NULL;
        status = liana_replica_iterator_next(own->iterator, &batch);
        if (status == LIANA_OK) status = liana_replica_program_run(own->gradient, &batch, 1, &values);
        if (status == LIANA_OK) status = descend(own, batch, values, got);
        liana_per_replica_destroy(values);
        liana_per_replica_destroy(batch);
    }
    if (status != LIANA_END_OF_DATA) return status;
    float weight[FEATURES];
    status = liana_variables_read(liana_replicas_variables(own->replicas), "weight", weight, sizeof weight);
    keep(got, weight, sizeof weight);
    return status;
}

/* A shuffled dataset in batches of 32, 32 and 26. */
static liana_status train(liana_context *context, liana_replicas *replicas, report *got, bool streams)
{
    loop own = {.replicas = replicas};
    liana_status status = begin_loop(&own);
    own.data = liana_dataset_shuffle(open_examples(context, got, 0, COUNT), NULL);
    if (streams) own.data = liana_dataset_filter(own.data, &(liana_filter_options){.function = keep_all});
    for (uint64_t epoch = 0; status == LIANA_OK && epoch < EPOCHS; epoch++) {
        const liana_distribute_options options = {.batch_size = BATCH,
                                                  .microbatch = MICROBATCH,
                                                  .iterator = {.seed = 5, .epoch = epoch}};
        status = liana_replicas_distribute(replicas, own.data, &options, &own.iterator);
        if (status == LIANA_OK) status = run_loop(&own, got);
        liana_replica_iterator_destroy(own.iterator);
        own.iterator = NULL;
    }
    end_loop(&own);
    return status;
}

static liana_status train_shared(liana_context *context, liana_replicas *replicas, report *got)
{
    return train(context, replicas, got, false);
}

static liana_status train_stream(liana_context *context, liana_replicas *replicas, report *got)
{
    return train(context, replicas, got, true);
}

static void test_a_loop_has_the_same_bits_everywhere(void **state)
{
    (void)state;
    assert_same_everywhere(train_shared);
}

/* Nobody goes on without the shards of a dead process: results computed before are right, and all end. */
static void test_a_death_ends_the_loop(void **state)
{
    (void)state;
    static const setting clusters[] = {{{.name = "multi_worker"}, 3, 0, 3}, {{.name = "parameter_server"}, 2, 1, 2}};
    static const uint64_t deaths[] = {5, 9, 14, 20, 27, 35, 44, 60, 90, 130, 200, 300};
    size_t num_ended = 0, num_begun = 0;
    for (size_t k = 0; k < sizeof clusters / sizeof *clusters; k++) {
        report whole[MAX_PROCESSES], reports[MAX_PROCESSES];
        const size_t count = run(&clusters[k], train_shared, whole);
        for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
            death = deaths[i];
            run(&clusters[k], train_shared, reports);
            death = 0;
            for (size_t rank = 0; rank < count; rank++) {
                const report *own = &reports[rank];
                if (own->status != LIANA_OK) assert_int_equal(own->status, LIANA_UNAVAILABLE);
                if (own->status == LIANA_OK) assert_int_equal(own->size, whole[rank].size);
                assert_compare(own->size, <=, whole[rank].size, rank);
                if (own->size) assert_memory_equal(own->bytes, whole[rank].bytes, own->size);
                num_ended += own->status != LIANA_OK;
                num_begun += own->status != LIANA_OK && own->size > 0;
            }
            free_reports(reports, count);
        }
        free_reports(whole, count);
    }
    assert_compare(num_ended, >, 20);
    assert_compare(num_begun, >, 5);
}

static void test_a_stream_is_read_by_one_process(void **state)
{
    (void)state;
    report reports[MAX_PROCESSES];
    assert_same_everywhere(train_stream);
    const size_t count = run(&(setting){{.name = "multi_worker"}, 3, 0, 3}, train_stream, reports);
    for (size_t i = 0; i < count; i++) {
        for (int example = 0; example < COUNT; example++) {
            assert_int_equal(reports[i].made[example], i == 0 ? EPOCHS : 0);
        }
    }
    free_reports(reports, count);
}

static void test_each_process_makes_its_own_examples(void **state)
{
    (void)state;
    static const setting clusters[] = {{{.name = "multi_worker"}, 4, 0, 4},
                                       {{.name = "multi_worker"}, 7, 0, 7},
                                       {{.name = "parameter_server"}, 3, 2, 3}};
    for (size_t k = 0; k < sizeof clusters / sizeof *clusters; k++) {
        report reports[MAX_PROCESSES];
        const size_t count = run(&clusters[k], train_shared, reports);
        for (int example = 0; example < COUNT; example++) {
            int made = 0;
            for (size_t i = 0; i < count; i++) made += reports[i].made[example];
            assert_int_equal(made, EPOCHS);
        }
        for (size_t i = 0; i < count; i++) {
            int made = 0;
            for (int example = 0; example < COUNT; example++) made += reports[i].made[example];
            assert_int_equal(made > 0, i < clusters[k].num_workers);
        }
        free_reports(reports, count);
    }
}

/* ---- steps ---- */

static void build_shard(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor x = liana_shard_input(shard, "x"), y = liana_shard_input(shard, "y");
    liana_tensor weight = liana_graph_variable(shard->graph, "weight", LIANA_F32, liana_shape_of(FEATURES, 1));
    liana_tensor hidden = liana_op_matmul(x, weight, false, false);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_op_square(liana_op_subtract(hidden, y)));
    liana_shard_gradients(shard, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "Adam", .rate = liana_update_scalar(update, "rate")});
}

/* The whole data, as a batch of a step without replicas takes them. */
static liana_status run_whole(liana_step *step, liana_step_results *results)
{
    static float x[COUNT * FEATURES], y[COUNT];
    for (int64_t i = 0; i < COUNT; i++) {
        for (int k = 0; k < FEATURES; k++) x[i * FEATURES + k] = x_of(i, k);
        y[i] = y_of(i);
    }
    liana_status status = LIANA_OK;
    for (int64_t begin = 0; status == LIANA_OK && begin < COUNT; begin += BATCH) {
        const int64_t count = COUNT - begin < BATCH ? COUNT - begin : BATCH;
        const liana_step_input batch = {.arrays = {{"x", LIANA_F32, liana_shape_of(count, FEATURES),
                                                    x + begin * FEATURES},
                                                   {"y", LIANA_F32, liana_shape_of(count, 1), y + begin}},
                                        .scalars = {{"rate", 0.1}}};
        status = liana_step_run(step, &batch, results);
    }
    return status;
}

static liana_status run_shared(liana_step *step, liana_replica_iterator *iterator, liana_step_results *results)
{
    liana_status status = LIANA_OK;
    while (status == LIANA_OK) {
        liana_per_replica *batch = NULL;
        status = liana_replica_iterator_next(iterator, &batch);
        if (status == LIANA_OK) {
            status = liana_step_run(step, &(liana_step_input){.values = batch, .scalars = {{"rate", 0.1}}}, results);
        }
        liana_per_replica_destroy(batch);
    }
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

static liana_status run_step(liana_context *context, liana_replicas *replicas, report *got, bool whole)
{
    liana_step *step = NULL;
    liana_replica_iterator *iterator = NULL;
    liana_step_results results = {0};
    liana_variables *variables = liana_replicas_variables(replicas);
    float weight[FEATURES] = {0};
    const liana_step_options options = {.shard = build_shard,
                                        .update = build_update,
                                        .components = components,
                                        .num_components = 2,
                                        .scalars = {"rate"},
                                        .batch_size = BATCH,
                                        .microbatch = MICROBATCH,
                                        .replicas = replicas};
    const liana_distribute_options batches = {.batch_size = BATCH, .microbatch = MICROBATCH};
    liana_dataset *data = open_examples(context, got, 0, COUNT);
    liana_status status = liana_step_create(context, &options, &step);
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", weight, sizeof weight);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    if (status == LIANA_OK) status = liana_replicas_distribute(replicas, data, &batches, &iterator);
    if (status == LIANA_OK) status = whole ? run_whole(step, &results) : run_shared(step, iterator, &results);
    if (status == LIANA_OK) status = liana_variables_read(variables, "weight", weight, sizeof weight);
    keep(got, weight, sizeof weight);
    keep(got, results.sums, sizeof results.sums);
    got->num_replicas = liana_step_info(step).num_replicas_in_sync;
    liana_replica_iterator_destroy(iterator);
    liana_step_destroy(step);
    liana_dataset_close(data);
    return status;
}

static liana_status run_shared_step(liana_context *context, liana_replicas *replicas, report *got)
{
    return run_step(context, replicas, got, false);
}

static liana_status run_whole_step(liana_context *context, liana_replicas *replicas, report *got)
{
    return run_step(context, replicas, got, true);
}

/* The same bits as a step over arrays that every process has. */
static void test_steps_take_distributed_batches(void **state)
{
    (void)state;
    report shared, whole;
    assert_same_everywhere(run_shared_step);
    run(&SETTINGS[0], run_shared_step, &shared);
    run(&SETTINGS[0], run_whole_step, &whole);
    assert_int_equal(shared.size, whole.size);
    assert_memory_equal(shared.bytes, whole.bytes, whole.size);
    free_reports(&shared, 1);
    free_reports(&whole, 1);
}

/* ---- other devices ---- */

static void assert_same_on_devices(const char *device)
{
    static const liana_strategy strategies[] = {{.name = "one_device"}, {.name = "mirrored", .replicas = 3}};
    report reports[2] = {0};
    for (int i = 0; i < 2; i++) {
        run_process(&(process){NULL, 0, strategies[i], device, 1, train_shared, &reports[i]});
        if (reports[i].status != LIANA_OK) print_error("%s: %s\n", device, reports[i].message);
        assert_int_equal(reports[i].status, LIANA_OK);
    }
    assert_int_equal(reports[1].num_local, 3);
    assert_int_equal(reports[0].size, reports[1].size);
    assert_memory_equal(reports[0].bytes, reports[1].bytes, reports[0].size);
    free_reports(reports, 2);
}

/* A device's own arithmetic, but the same on one and on three of them. */
static void test_other_devices(void **state)
{
    (void)state;
    assert_same_on_devices("reference");
    if (liana__test_plugin_is_there()) assert_same_on_devices("pjrt:cpu?cpu_device_count=3");
}

/* ---- a dataset of each process's own ---- */

/* The processes share 50 examples out unevenly: the last ones have fewer, or none. */
typedef struct own_input {
    report *report;
    liana_input_pipeline pipeline;
} own_input;

static liana_dataset *open_own(void *user, liana_context *context, const liana_input_pipeline *pipeline)
{
    own_input *own = user;
    own->pipeline = *pipeline;
    const int64_t begin = pipeline->id * 20 < 50 ? pipeline->id * 20 : 50, end = begin + 20 < 50 ? begin + 20 : 50;
    return open_examples(context, own->report, begin, end);
}

static liana_status count_own(liana_context *context, liana_replicas *replicas, report *got)
{
    own_input input = {.report = got};
    liana_replica_iterator *iterator = NULL;
    const liana_distribute_options options = {.batch_size = 12, .microbatch = 2, .function = open_own, .user = &input};
    (void)context;
    liana_status status = liana_replicas_distribute(replicas, NULL, &options, &iterator);
    int64_t total = 0, own = 0;
    double sum = 0;
    while (status == LIANA_OK) {
        liana_per_replica *batch = NULL;
        liana_array sums;
        status = liana_replica_iterator_next(iterator, &batch);
        if (status == LIANA_OK) status = liana_per_replica_reduce(batch, "y", LIANA_REDUCE_ROW_SUM, &sums);
        if (status == LIANA_OK) sum += (double)*(const float *)sums.data;
        total += liana_per_replica_info(batch).num_examples;
        liana_local_shard shard;
        for (int64_t i = 0; liana_per_replica_local(batch, i, &shard); i++) own += shard.num_examples;
        liana_per_replica_destroy(batch);
    }
    keep(got, &total, sizeof total);
    keep(got, &own, sizeof own);
    keep(got, &sum, sizeof sum);
    keep(got, &input.pipeline, sizeof input.pipeline);
    liana_replica_iterator_destroy(iterator);
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

/* The state of count_own. */
typedef struct counted {
    int64_t total, own;
    double sum;
    liana_input_pipeline pipeline;
} counted;

static void test_datasets_from_a_function(void **state)
{
    (void)state;
    static const setting settings[] = {{{.name = "mirrored", .replicas = 2}, 0, 0, 2},
                                       {{.name = "multi_worker"}, 2, 0, 2},
                                       {{.name = "multi_worker"}, 4, 0, 4},
                                       {{.name = "parameter_server"}, 3, 1, 3}};
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        report reports[MAX_PROCESSES];
        const size_t count = run(&settings[k], count_own, reports);
        const size_t workers = settings[k].num_workers ? settings[k].num_workers : 1;
        const int64_t expected = workers * 20 < 50 ? (int64_t)workers * 20 : 50;
        double sum = 0;
        for (int64_t i = 0; i < expected; i++) sum += (double)y_of(i);
        for (size_t i = 0; i < count; i++) {
            counted got;
            if (reports[i].status != LIANA_OK) print_error("%s\n", reports[i].message);
            assert_int_equal(reports[i].status, LIANA_OK);
            memcpy(&got, reports[i].bytes, sizeof got);
            const int64_t mine = i < workers ? expected - (int64_t)i * 20 : 0;
            assert_int_equal(got.total, expected);
            assert_int_equal(got.own, mine > 20 ? 20 : mine < 0 ? 0 : mine);
            assert_compare(got.sum, ==, sum);
            if (i >= workers) continue;
            assert_int_equal(got.pipeline.id, i);
            assert_int_equal(got.pipeline.count, workers);
            assert_int_equal(got.pipeline.num_replicas_in_sync, settings[k].num_replicas);
            assert_int_equal(got.pipeline.batch_size, 12);
        }
        free_reports(reports, count);
    }
}

/* ---- failures in one process ---- */

static liana_status fail_one(void *user, const liana_example_address *address, const liana_element *input,
                             liana_element *output)
{
    (void)user;
    (void)input;
    return address->position == 41 ? liana_element_fail(output, LIANA_INVALID_DATA, "this one is odd") : LIANA_OK;
}

static liana_status read_all(liana_replica_iterator *iterator)
{
    liana_status status = LIANA_OK;
    while (status == LIANA_OK) {
        liana_per_replica *batch;
        status = liana_replica_iterator_next(iterator, &batch);
        liana_per_replica_destroy(batch);
    }
    return status;
}

static liana_status read_odd(liana_context *context, liana_replicas *replicas, report *got)
{
    liana_replica_iterator *iterator = NULL;
    liana_dataset *data =
        liana_dataset_map(open_examples(context, got, 0, COUNT), &(liana_map_options){.function = fail_one});
    liana_status status =
        liana_replicas_distribute(replicas, data, &(liana_distribute_options){.batch_size = 32}, &iterator);
    if (status == LIANA_OK) status = read_all(iterator);
    if (status == LIANA_INVALID_DATA) status = read_all(iterator); /* it stays so */
    liana_replica_iterator_destroy(iterator);
    liana_dataset_close(data);
    return status;
}

/* Each process gives the update another rate. */
static liana_status update_apart(liana_context *context, liana_replicas *replicas, report *got)
{
    (void)context;
    (void)got;
    loop own = {.replicas = replicas};
    const float gradient[FEATURES] = {0}, rate = (float)liana_replicas_info(replicas).first_local;
    liana_status status = begin_loop(&own);
    const liana_array inputs[] = {{"gradient", LIANA_F32, liana_shape_of(FEATURES, 1), gradient},
                                  {"rate", LIANA_F32, LIANA_SCALAR, &rate}};
    if (status == LIANA_OK) status = liana_replica_program_update(own.descent, inputs, 2);
    end_loop(&own);
    return status;
}

static void test_an_error_of_one_is_that_of_all(void **state)
{
    (void)state;
    static const setting three = {{.name = "multi_worker"}, 3, 0, 3};
    const struct {
        body body;
        liana_status status;
        const char *text;
    } cases[] = {{read_odd, LIANA_INVALID_DATA, "this one is odd"},
                 {update_apart, LIANA_INVALID_ARGUMENT, "process 1 was given another 'rate' than process 0"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        report reports[MAX_PROCESSES];
        const size_t count = run(&three, cases[k].body, reports);
        for (size_t i = 0; i < count; i++) {
            assert_compare(reports[i].status, ==, cases[k].status, k, i);
            assert_says(reports[i].message, cases[k].text);
        }
        free_reports(reports, count);
    }
}

/* ---- refusals ---- */

static void refuse_dataset(liana_replicas *replicas, liana_context *context, liana_dataset *data,
                           const liana_distribute_options *options, const char *text)
{
    liana_replica_iterator *iterator;
    liana__tiny_refused(context, liana_replicas_distribute(replicas, data, options, &iterator), LIANA_INVALID_ARGUMENT,
                        text, __FILE__, __LINE__);
    assert_null(iterator);
    liana_dataset_close(data);
}

static void refuse_batch(liana_step *step, liana_context *context, const liana_array *arrays, size_t count,
                         int64_t microbatch, liana_replicas *replicas, const char *text)
{
    liana_per_replica *values;
    assert_int_equal(liana_per_replica_split(replicas, arrays, count, microbatch, &values), LIANA_OK);
    liana__tiny_refused(context,
                        liana_step_run(step, &(liana_step_input){.values = values, .scalars = {{"rate", 1}}}, NULL),
                        LIANA_INVALID_ARGUMENT, text, __FILE__, __LINE__);
    liana_per_replica_destroy(values);
}

static liana_dataset *open_none(void *user, liana_context *context, const liana_input_pipeline *pipeline)
{
    (void)user;
    (void)context;
    (void)pipeline;
    return NULL;
}

static void test_what_is_refused(void **state)
{
    (void)state;
    report got = {0};
    liana_context *context;
    liana_replicas *replicas, *others;
    liana_step *step;
    static const float numbers[64 * FEATURES];
    const liana_replicas_options two = {.strategy = {.name = "mirrored", .replicas = 2}};
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_replicas_open(context, &two, &replicas), LIANA_OK);
    assert_int_equal(liana_replicas_open(context, &two, &others), LIANA_OK);
    refuse_dataset(replicas, context,
                   liana_dataset_batch(open_examples(context, &got, 0, 10), &(liana_batch_options){.batch_size = 4}),
                   NULL, "'x'");
    refuse_dataset(replicas, context, open_examples(context, &got, 0, 10),
                   &(liana_distribute_options){.batch_size = 4, .iterator = {.start = 6}}, "a multiple of 4");
    refuse_dataset(replicas, context, open_examples(context, &got, 0, 10),
                   &(liana_distribute_options){.batch_size = -4}, "-4");
    refuse_dataset(replicas, context, open_examples(context, &got, 0, 10),
                   &(liana_distribute_options){.batch_size = INT64_MAX}, "at most");
    refuse_dataset(replicas, context, open_examples(context, &got, 0, 10),
                   &(liana_distribute_options){.batch_size = 4, .iterator = {.start = UINT64_C(1) << 63}},
                   "a multiple of 4");
    liana_replica_iterator *iterator;
    const liana_distribute_options none = {.function = open_none};
    liana__tiny_refused(context, liana_replicas_distribute(replicas, NULL, &none, &iterator), LIANA_INVALID_ARGUMENT,
                        "left no message", __FILE__, __LINE__);
    liana_dataset *both = open_examples(context, &got, 0, 10);
    liana__tiny_refused(context, liana_replicas_distribute(replicas, both, &none, &iterator), LIANA_INVALID_ARGUMENT,
                        "give one of them", __FILE__, __LINE__);
    liana_dataset_close(both);
    liana__tiny_refused(context, liana_replicas_distribute(replicas, NULL, NULL, &iterator), LIANA_INVALID_ARGUMENT,
                        "'dataset'", __FILE__, __LINE__);
    liana_per_replica *values;
    const liana_bytes nowhere = {NULL, 5};
    const liana_array words = {"words", LIANA_STRING, liana_shape_of(1), &nowhere};
    liana__tiny_refused(context, liana_per_replica_split(replicas, &words, 1, 0, &values), LIANA_INVALID_ARGUMENT,
                        "at no address", __FILE__, __LINE__);
    liana_step_options options = {.shard = build_shard,
                                  .update = build_update,
                                  .components = components,
                                  .num_components = 2,
                                  .scalars = {"rate"},
                                  .batch_size = BATCH,
                                  .microbatch = MICROBATCH,
                                  .replicas = replicas};
    options.variables = liana_replicas_variables(others);
    liana__tiny_refused(context, liana_step_create(context, &options, &step), LIANA_INVALID_ARGUMENT,
                        "variables besides its replicas", __FILE__, __LINE__);
    options.variables = NULL;
    options.strategy.name = "mirrored";
    liana__tiny_refused(context, liana_step_create(context, &options, &step), LIANA_INVALID_ARGUMENT,
                        "a strategy besides its replicas", __FILE__, __LINE__);
    options.strategy.name = NULL;
    assert_int_equal(liana_step_create(context, &options, &step), LIANA_OK);
    const liana_array x = {"x", LIANA_F32, liana_shape_of(32, FEATURES), numbers},
                      y = {"y", LIANA_F32, liana_shape_of(32, 1), numbers},
                      flat = {"y", LIANA_F32, liana_shape_of(32), numbers};
    refuse_batch(step, context, (liana_array[]){x, y}, 2, 8, replicas, "shards of up to 8");
    refuse_batch(step, context, (liana_array[]){x, y}, 2, 4, others, "other replicas");
    refuse_batch(step, context, &x, 1, 4, replicas, "'y' is not there");
    refuse_batch(step, context, (liana_array[]){x, flat}, 2, 4, replicas, "expected f32[1]");
    liana_step_destroy(step);
    liana_replicas_close(others);
    liana_replicas_close(replicas);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loop_has_the_same_bits_everywhere),
        cmocka_unit_test(test_a_death_ends_the_loop),
        cmocka_unit_test(test_a_stream_is_read_by_one_process),
        cmocka_unit_test(test_each_process_makes_its_own_examples),
        cmocka_unit_test(test_steps_take_distributed_batches),
        cmocka_unit_test(test_other_devices),
        cmocka_unit_test(test_datasets_from_a_function),
        cmocka_unit_test(test_an_error_of_one_is_that_of_all),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
