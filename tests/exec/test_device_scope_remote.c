/* Parts of a graph on devices of servers: the bits of one local device, clients side by side, and servers that go
 * away. */
#include "harness/harness.h"

#include "base/context.h"
#include "harness/cluster/cluster_run.h"
#include "harness/device_server.h"
#include "harness/one_context.h"
#include "harness/towers.h"

#include <liana/liana.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2, SERVERS = 2, TASKS = WORKERS + SERVERS };

static const char *const *addresses;
static pid_t servers[TASKS];

/* Two tasks of the job worker, two of the job ps. */
static void start_cluster(const char *const *where, const char *keys)
{
    char text[2048];
    addresses = where;
    for (int i = 0; i < TASKS; i++) servers[i] = liana__test_start_server(addresses[i], keys, 0, 8);
    snprintf(text, sizeof text,
             "{timeout: 120, heartbeat: 60, workers: [\"%s\", \"%s\"], servers: [\"%s\", \"%s\"]%s%s}", addresses[0],
             addresses[1], addresses[2], addresses[3], keys ? ", keys: " : "", keys ? keys : "");
    assert_ok(liana_connect_to_cluster(context, text), &context->error);
}

static void stop_cluster(void)
{
    for (int i = 0; i < TASKS; i++) {
        if (servers[i]) liana__test_stop_server(servers[i]);
    }
}

#define WORKER(number) "/job:worker/task:" #number "/cpu:0"
#define SERVER(number) "/job:ps/task:" #number "/cpu:0"

static const liana__test_places replicated = {.own = "cpu",
                                              .towers = {WORKER(0), WORKER(1)},
                                              .servers = {SERVER(0), SERVER(1)}};

/* ---- the same bits ---- */

static void test_in_graph_replication(void **state)
{
    (void)state;
    const liana__test_places alone = {.own = "cpu"};
    start_cluster(liana__test_sockets(TASKS), NULL);
    liana__test_towers_compare(context, &alone, &replicated);
    /* Names in TensorFlow's long form, of a job without a task (its first one), and the program itself at a server. */
    liana__test_towers_compare(context, &alone,
                               &(liana__test_places){.own = WORKER(0),
                                                     .towers = {"/job:worker/replica:0/task:0/device:CPU:0", WORKER(1)},
                                                     .servers = {"/job:ps", "/cpu:0"},
                                                     .balance = LIANA_BY_BYTES});
    char address[300];
    snprintf(address, sizeof address, "%s/reference:0", addresses[1]);
    liana__test_towers_compare(context, &(liana__test_places){.own = "reference"},
                               &(liana__test_places){.own = "/job:worker/task:0/reference:0",
                                                     .towers = {address, "reference"},
                                                     .servers = {"/job:ps/task:1/reference:0", "reference:1"}});
    stop_cluster();
}

static void test_encrypted(void **state)
{
    (void)state;
    start_cluster(liana__test_ports(TASKS), liana__test_keys());
    liana__test_towers_compare(context, &(liana__test_places){.own = "cpu"}, &replicated);
    stop_cluster();
}

/* An op of a scope is computed by its server, at once. */
static void test_values_at_once(void **state)
{
    (void)state;
    const float numbers[] = {0.1f, 0.7f, -3, 5};
    float here[4], there[4];
    liana_graph *g;
    start_cluster(liana__test_sockets(TASKS), NULL);
    assert_ok(liana_graph_create(context, &g), &context->error);
    liana_tensor x = liana_graph_constant(g, LIANA_F32, liana_shape_of(2, 2), numbers);
    liana_device_scope_begin(g, WORKER(1));
    liana_tensor far = liana_op_softmax(liana_op_matmul(x, x, false, false)), later = liana_op_exp(far);
    liana_device_scope_end(g);
    assert_ok(liana_value(far, there, sizeof there), &context->error);
    assert_ok(liana_value(liana_op_softmax(liana_op_matmul(x, x, false, false)), here, sizeof here), &context->error);
    assert_memory_equal(here, there, sizeof here);
    kill(servers[1], SIGKILL);
    assert_int_equal(waitpid(servers[1], NULL, 0), servers[1]);
    servers[1] = 0;
    assert_fails(liana_value(later, there, sizeof there), LIANA_UNAVAILABLE, &context->error, WORKER(1), "exp");
    /* Computed values stay, and other devices go on. */
    assert_ok(liana_value(far, there, sizeof there), &context->error);
    assert_memory_equal(here, there, sizeof here);
    liana_graph_destroy(g);
    stop_cluster();
}

/* ---- clients ---- */

/* Two clients of the same servers train at the same time, in turns; neither sees the other's variables. */
static void test_clients_are_apart(void **state)
{
    (void)state;
    liana__test_towers clients[2], alone;
    float losses[2], expected;
    start_cluster(liana__test_sockets(TASKS), NULL);
    for (int i = 0; i < 2; i++) liana__test_towers_begin(context, &replicated, &clients[i]);
    liana__test_towers_begin(context, &(liana__test_places){.own = "cpu"}, &alone);
    for (int step = 0; step < LIANA__TEST_TOWER_STEPS; step++) {
        /* The second one is a step behind. */
        assert_ok(liana__test_towers_learn(&clients[0], step, &losses[0]), &context->error);
        if (step > 0) {
            assert_ok(liana__test_towers_learn(&clients[1], step - 1, &losses[1]), &context->error);
            assert_memory_equal(&losses[1], &expected, sizeof expected);
        }
        assert_ok(liana__test_towers_learn(&alone, step, &expected), &context->error);
        assert_memory_equal(&losses[0], &expected, sizeof expected);
    }
    liana__test_towers_end(&alone);
    for (int i = 0; i < 2; i++) liana__test_towers_end(&clients[i]);
    stop_cluster();
}

/* ---- failures ---- */

static void kill_task(int task)
{
    kill(servers[task], SIGKILL);
    assert_int_equal(waitpid(servers[task], NULL, 0), servers[task]);
    servers[task] = 0;
}

static void read_all(const liana__test_towers *towers, const char *name, void *bytes, size_t size)
{
    assert_ok(liana_variables_read(liana_program_variables(towers->program), name, bytes, size), &context->error);
}

/* A worker that dies fails the step by name. The variables, which live elsewhere, are as before it, and a new program
 * goes on with them at the same worker once it is back. */
static void test_a_worker_dies(void **state)
{
    (void)state;
    liana__test_towers shaken, calm;
    float loss, expected;
    float before[40], after[40];
    start_cluster(liana__test_sockets(TASKS), NULL);
    liana__test_towers_begin(context, &replicated, &shaken);
    liana__test_towers_begin(context, &(liana__test_places){.own = "cpu"}, &calm);
    for (int step = 0; step < 3; step++) {
        assert_ok(liana__test_towers_learn(&shaken, step, &loss), &context->error);
        assert_ok(liana__test_towers_learn(&calm, step, &expected), &context->error);
    }
    const char *path = liana__test_path("before.safetensors");
    assert_ok(liana_variables_save(liana_program_variables(shaken.program), path), &context->error);
    read_all(&shaken, "a/kernel", before, sizeof before);
    kill_task(1);
    for (int i = 0; i < 2; i++) {
        assert_fails(liana__test_towers_learn(&shaken, 3, &loss), LIANA_UNAVAILABLE, &context->error, WORKER(1));
        read_all(&shaken, "a/kernel", after, sizeof after);
        assert_memory_equal(before, after, sizeof before);
    }
    liana__test_towers_end(&shaken);
    servers[1] = liana__test_start_server(addresses[1], NULL, 0, 8);
    liana__test_towers_begin(context, &replicated, &shaken);
    assert_ok(liana_variables_load(liana_program_variables(shaken.program), path, false), &context->error);
    for (int step = 3; step < LIANA__TEST_TOWER_STEPS; step++) {
        assert_ok(liana__test_towers_learn(&shaken, step, &loss), &context->error);
        assert_ok(liana__test_towers_learn(&calm, step, &expected), &context->error);
        assert_memory_equal(&loss, &expected, sizeof loss);
    }
    liana__test_towers_end(&shaken);
    liana__test_towers_end(&calm);
    stop_cluster();
}

/* The values of a server that dies are lost; those of the others are as before the step. */
static void test_a_server_of_variables_dies(void **state)
{
    (void)state;
    liana__test_towers towers;
    float loss, before[40], after[40], bias[5];
    start_cluster(liana__test_sockets(TASKS), NULL);
    liana__test_towers_begin(context, &replicated, &towers);
    assert_ok(liana__test_towers_learn(&towers, 0, &loss), &context->error);
    read_all(&towers, "a/kernel", before, sizeof before);
    kill_task(3);
    assert_fails(liana__test_towers_learn(&towers, 1, &loss), LIANA_UNAVAILABLE, &context->error, SERVER(1));
    read_all(&towers, "a/kernel", after, sizeof after);
    assert_memory_equal(before, after, sizeof before);
    assert_fails(liana_variables_read(liana_program_variables(towers.program), "a/bias", bias, sizeof bias),
                 LIANA_UNAVAILABLE, &context->error, SERVER(1));
    liana__test_towers_end(&towers);
    stop_cluster();
}

static void test_servers_that_are_not_there(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{"/job:worker/task:2/cpu:0", "no task 2"},
                                         {"/job:clerk/task:0/cpu:0", "no job 'clerk'"},
                                         {"/job:worker/task:0/cpu:1", "cpu:1"},
                                         {"/job:ps/task:1/cpu:0", "/job:ps/task:1/cpu:0"}};
    liana_device *device;
    liana_program *program;
    enum { LAST = sizeof bad / sizeof *bad - 1 }; /* the one that is not waited for in vain for long */
    char text[1024];
    start_cluster(liana__test_sockets(TASKS), NULL);
    kill_task(3);
    snprintf(text, sizeof text, "{timeout: 0.3, workers: [\"%s\", \"%s\"], servers: [\"%s\", \"%s\"]}", addresses[0],
             addresses[1], addresses[2], addresses[3]);
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    for (size_t i = 0; i <= LAST; i++) {
        liana_graph *g;
        if (i == LAST) assert_ok(liana_connect_to_cluster(context, text), &context->error);
        assert_ok(liana_graph_create(context, &g), &context->error);
        liana_device_scope_begin(g, bad[i][0]);
        liana_graph_variable(g, "v", LIANA_F32, LIANA_SCALAR);
        liana_device_scope_end(g);
        assert_fails(liana_program_create(device, g, NULL, &program),
                     i < LAST ? LIANA_INVALID_CONFIG : LIANA_UNAVAILABLE, &context->error, bad[i][1],
                     "test_device_scope_remote.c", "device scope");
        liana_graph_destroy(g);
    }
    liana_device_close(device);
    stop_cluster();
}

int main(void)
{
    liana__test_folder();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_graph_replication, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_encrypted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clients_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_dies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_of_variables_dies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_servers_that_are_not_there, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("device_scope_remote", tests, NULL, NULL);
}
