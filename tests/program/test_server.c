/* A program that serves the devices of its machine: liana_server in C. */
#include "harness/harness.h"

#include "base/context.h"
#include "harness/cluster/cluster_run.h"
#include "harness/one_context.h"

#include <liana/liana.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a program that serves until it gets a signal ---- */

static liana_server *serving;

static void on_signal(int number)
{
    (void)number;
    liana_server_stop(serving);
}

static void count_line(void *user, const char *line)
{
    int *lines = user;
    *lines += *line != 0;
}

/* Ends with the number of lines about clients. */
static _Noreturn void serve(const liana_server_options *given)
{
    int lines = 0;
    liana_context *own;
    liana_server_options options = *given;
    options.say = count_line;
    options.user = &lines;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    if (liana_context_create(NULL, &own) != LIANA_OK) _exit(101);
    if (liana_server_create(own, &options, &serving) != LIANA_OK) {
        fprintf(stderr, "%s\n", liana_context_message(own));
        _exit(102);
    }
    signal(SIGTERM, on_signal);
    if (liana_server_run(serving, 0) != LIANA_OK) _exit(103);
    liana_server_destroy(serving);
    liana_context_destroy(own);
    _exit(lines);
}

static pid_t start(const liana_server_options *options)
{
    fflush(NULL);
    const pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process == 0) serve(options);
    return process;
}

static int stop(pid_t process)
{
    int code;
    kill(process, SIGTERM);
    assert_int_equal(waitpid(process, &code, 0), process);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

/* 1 + 2 on a device. */
static float add_on(const char *name)
{
    liana_device *device;
    liana_graph *graph;
    liana_program *adding;
    float sum = 0;
    assert_ok(liana_device_open(context, name, &device), &context->error);
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2));
    liana_graph_output(graph, "sum", liana_op_reduce_sum(x, LIANA_ALL_AXES, false));
    assert_ok(liana_program_create(device, graph, NULL, &adding), &context->error);
    const float values[] = {1, 2};
    const liana_run_options options = {.feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(2), values}),
                                       .fetches = LIANA_FETCHES({"sum", .data = &sum, .size = sizeof sum})};
    assert_ok(liana_program_run(adding, &options), &context->error);
    liana_program_destroy(adding);
    liana_graph_destroy(graph);
    liana_device_close(device);
    return sum;
}

static void test_a_program_serves(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(2);
    char name[512], cluster[512];
    pid_t process = start(&(liana_server_options){.listen = sockets[0], .num_threads = 1, .memory = 1 << 28});
    snprintf(name, sizeof name, "%s/cpu:0", sockets[0]);
    assert_compare(add_on(name), ==, 3);
    /* One client has come. It may go unseen, when all ends. */
    assert_in_range(stop(process), 1, 2);
    /* The address may be that of a task. */
    snprintf(cluster, sizeof cluster, "{workers: [\"%s\", \"%s\"]}", sockets[0], sockets[1]);
    process = start(&(liana_server_options){.cluster = cluster, .task = "worker:1", .num_threads = 1});
    assert_ok(liana_connect_to_cluster(context, cluster), &context->error);
    assert_compare(add_on("/job:worker/task:1/cpu:0"), ==, 3);
    assert_in_range(stop(process), 1, 2);
}

/* ---- the loop ---- */

static void *stop_it(void *server)
{
    liana_server_stop(server);
    return NULL;
}

static void test_the_end(void **state)
{
    (void)state;
    liana_server *server;
    pthread_t thread;
    liana_server_options options = {.listen = "127.0.0.1:*", .keys = liana__test_keys()};
    assert_ok(liana_server_create(context, &options, &server), &context->error);
    assert_says(liana_server_address(server), "127.0.0.1:");
    assert_null(strchr(liana_server_address(server), '*'));
    assert_ok(liana_server_run(server, 0.05), &context->error);
    assert_ok(liana_server_run(server, 0.05), &context->error);
    assert_int_equal(pthread_create(&thread, NULL, stop_it, server), 0);
    assert_ok(liana_server_run(server, 0), &context->error);
    pthread_join(thread, NULL);
    assert_ok(liana_server_run(server, 1e9), &context->error); /* it is stopped */
    assert_fails(liana_server_run(server, -1), LIANA_INVALID_ARGUMENT, &context->error, "-1");
    liana_server_destroy(server);
    liana_server_destroy(NULL);
    liana_server_stop(NULL);
    assert_null(liana_server_address(NULL));
}

/* ---- refusals ---- */

static void refuse(liana_server_options options, liana_status expected, const char *text, const char *more)
{
    liana_server *server;
    assert_fails(liana_server_create(context, &options, &server), expected, &context->error, text, more);
    assert_null(server);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(1);
    refuse((liana_server_options){0}, LIANA_INVALID_CONFIG, "nothing says where it listens", "TF_CONFIG");
    refuse((liana_server_options){.listen = "here"}, LIANA_INVALID_CONFIG, "'here'", "host:port");
    refuse((liana_server_options){.listen = "127.0.0.1:*"}, LIANA_INVALID_CONFIG, "key", "liana cluster keys");
    refuse((liana_server_options){.listen = sockets[0], .max_clients = 513}, LIANA_INVALID_ARGUMENT, "max_clients",
           "0 to 512");
    refuse((liana_server_options){.listen = sockets[0], .num_threads = -1}, LIANA_INVALID_ARGUMENT, "num_threads",
           "-1");
    refuse((liana_server_options){.listen = sockets[0], .memory = -1}, LIANA_INVALID_ARGUMENT, "memory", "-1");
    refuse((liana_server_options){.cluster = "{wrokers: []}"}, LIANA_INVALID_CONFIG, "wrokers", "workers");
    refuse((liana_server_options){.cluster = "{workers: [\"a:1\", \"b:1\"]}", .task = "worker:2"}, LIANA_INVALID_CONFIG,
           "worker:2", "2");
    liana_server *first;
    assert_ok(liana_server_create(context, &(liana_server_options){.listen = sockets[0]}, &first), &context->error);
    refuse((liana_server_options){.listen = sockets[0]}, LIANA_UNAVAILABLE, "is there already", sockets[0]);
    liana_server_destroy(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_serves),
        cmocka_unit_test(test_the_end),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
