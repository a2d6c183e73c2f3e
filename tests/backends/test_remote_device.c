/* Devices of other processes: the bits of a local device, refused requests, and the end of one side. */
#include "harness/harness.h"

#include "backends/remote/device.h"
#include "backends/remote/look.h"
#include "backends/remote/names.h"
#include "base/context.h"
#include "base/waiting.h"
#include "distribute/transport/cluster_keys.h"
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/device_server.h"
#include "harness/mutate.h"
#include "harness/one_context.h"
#include "harness/text_files.h"
#include "harness/try/try_requests.h"
#include "harness/wait_until.h"
#include "ir/graph_file.h"
#include "program/device.h"

#include <liana/liana.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* "{workers: [...], keys: ..., timeout: 2}" for addresses. Static. */
static const char *cluster_text(const char *const *addresses, size_t count, const char *keys, double heartbeat)
{
    static char text[2048];
    size_t length = (size_t)snprintf(text, sizeof text, "{timeout: 120, heartbeat: %g, workers: [", heartbeat);
    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s\"%s\"", i ? ", " : "", addresses[i]);
    }
    snprintf(text + length, sizeof text - length, keys ? "], keys: \"%s\"}" : "]}", keys);
    return text;
}

static void use_cluster(const char *const *addresses, size_t count, const char *keys)
{
    assert_ok(liana_connect_to_cluster(context, cluster_text(addresses, count, keys, 60)), &context->error);
}

/* ---- programs ---- */

enum { ROWS = 16, COLUMNS = 8, UNITS = 5 };

typedef struct learner {
    liana_device *device;
    liana_graph *graph;
    liana_program *program;
} learner;

/* Two layers and momentum: products, relu, a softmax loss, and an update. */
static void begin(learner *own, const char *device)
{
    assert_ok(liana_device_open(context, device, &own->device), &context->error);
    assert_ok(liana_graph_create(context, &own->graph), &context->error);
    liana_graph *g = own->graph;
    liana_tensor x = liana_graph_input(g, "x", LIANA_F32, liana_shape_of(ROWS, COLUMNS));
    liana_tensor y = liana_graph_input(g, "y", LIANA_F32, liana_shape_of(ROWS, UNITS));
    liana_tensor a = liana_graph_variable(g, "a", LIANA_F32, liana_shape_of(COLUMNS, UNITS));
    liana_tensor b = liana_graph_variable(g, "b", LIANA_F32, liana_shape_of(UNITS, UNITS));
    liana_graph_initializer(a, "glorot_uniform");
    liana_graph_initializer(b, "glorot_uniform");
    liana_tensor hidden = liana_op_relu(liana_op_matmul(x, a, false, false));
    liana_tensor error = liana_op_subtract(liana_op_softmax(liana_op_matmul(hidden, b, false, false)), y);
    liana_tensor loss = liana_op_reduce_mean(liana_op_square(error), LIANA_ALL_AXES, false);
    liana_graph_output(g, "loss", loss);
    liana_graph_output(g, "hidden", hidden);
    liana_minimize(loss, NULL, 0, &(liana_optimizer_options){.optimizer = "{name: Adam, learning_rate: 0.05}"});
    assert_ok(liana_program_create(own->device, g, NULL, &own->program), &context->error);
    assert_ok(liana_variables_initialize(liana_program_variables(own->program), &(liana_initialize_options){.seed = 3}),
              &context->error);
}

static void end(learner *own)
{
    liana_program_destroy(own->program);
    liana_graph_destroy(own->graph);
    liana_device_close(own->device);
}

static liana_status learn(learner *own, int step, float *loss)
{
    float x[ROWS * COLUMNS], y[ROWS * UNITS] = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)((i * 37 + step * 11) % 23) / 23 - 0.5f;
    for (int i = 0; i < ROWS; i++) y[i * UNITS + (i + step) % UNITS] = 1;
    return liana_run(own->program,
                     .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(ROWS, COLUMNS), x},
                                          {"y", LIANA_F32, liana_shape_of(ROWS, UNITS), y}),
                     .fetches = LIANA_FETCHES({.name = "loss", .data = loss, .size = sizeof *loss}),
                     .assign = LIANA_NAMES("train"));
}

/* The same bytes as on the local device of that name, for losses and weights. */
static void assert_same_learning(const char *remote, const char *local)
{
    learner here, there;
    float a[2][COLUMNS * UNITS], loss[2];
    begin(&here, local);
    begin(&there, remote);
    for (int step = 0; step < 12; step++) {
        assert_ok(learn(&here, step, &loss[0]), &context->error);
        assert_ok(learn(&there, step, &loss[1]), &context->error);
        assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
    }
    assert_compare(loss[0], >, 0);
    assert_compare(loss[0], <, 1);
    assert_ok(liana_variables_read(liana_program_variables(here.program), "a", a[0], sizeof a[0]), &context->error);
    assert_ok(liana_variables_read(liana_program_variables(there.program), "a", a[1], sizeof a[1]), &context->error);
    assert_memory_equal(a[0], a[1], sizeof a[0]);
    end(&here);
    end(&there);
}

static void test_programs_give_the_bits_of_a_local_device(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(2);
    pid_t servers[2] = {liana__test_start_server(sockets[0], NULL, 0, 8),
                        liana__test_start_server(sockets[1], NULL, 0, 8)};
    use_cluster(sockets, 2, NULL);
    assert_same_learning("/job:worker/task:1/cpu:0", "cpu");
    assert_same_learning("/job:worker/replica:0/task:0/device:CPU:0", "cpu");
    assert_same_learning("/job:worker/task:0/reference:0", "reference");
    char address[256];
    snprintf(address, sizeof address, "%s/cpu:0", sockets[0]);
    assert_same_learning(address, "cpu");
    /* Names without a job mean devices of this process. */
    assert_same_learning("/cpu:0", "cpu");
    assert_same_learning("/job:localhost/replica:0/task:0/device:REFERENCE:0", "reference");
    for (int i = 0; i < 2; i++) liana__test_stop_server(servers[i]);
}

/* ---- training ---- */

static void train(const char *config, const char *out, const char *device, const char *strategy, const char *workers)
{
    char words[4][512];
    snprintf(words[0], sizeof words[0], "train.device=%s", device);
    snprintf(words[1], sizeof words[1], "train.strategy=%s", strategy);
    snprintf(words[2], sizeof words[2], "cluster.workers=%s", workers);
    snprintf(words[3], sizeof words[3], "%s", liana__test_path(out));
    assert_code(liana__test_command("train", config, words[0], words[1], words[2], "--out", words[3]), 0);
}

static void assert_same_run(const char *one, const char *other)
{
    char names[4][512];
    snprintf(names[0], sizeof names[0], "%s/history.json", one);
    snprintf(names[1], sizeof names[1], "%s/history.json", other);
    snprintf(names[2], sizeof names[2], "%s/variables.safetensors", liana__test_newest_checkpoint(one));
    snprintf(names[3], sizeof names[3], "%s/variables.safetensors", liana__test_newest_checkpoint(other));
    assert_same_file(liana__test_path(names[0]), liana__test_path(names[1]));
    assert_same_file(names[2], names[3]);
}

static void test_training_gives_the_bits_of_a_local_one(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(48);
    const char *const *sockets = liana__test_sockets(2);
    pid_t servers[2] = {liana__test_start_server(sockets[0], NULL, 0, 8),
                        liana__test_start_server(sockets[1], NULL, 0, 8)};
    char workers[512];
    snprintf(workers, sizeof workers, "[\"%s\", \"%s\"]", sockets[0], sockets[1]);
    train(config, "local", "cpu", "one_device", "[]");
    train(config, "far", "/job:worker/task:1/cpu:0", "one_device", workers);
    assert_same_run("local", "far");
    /* One replica in each task of the job. */
    train(config, "both", "/job:worker/cpu:0", "{name: mirrored, replicas: 2}", workers);
    assert_same_run("local", "both");
    /* The server's processor decides about bf16. */
    char device[512];
    snprintf(device, sizeof device, "train.device=%s/cpu:0", sockets[0]);
    assert_code(liana__test_command("train", config, "train.precision=auto", "--out", liana__test_path("auto")), 0);
    assert_code(liana__test_command("train", config, "train.precision=auto", device, "--out",
                                    liana__test_path("far-auto")),
                0);
    assert_same_run("auto", "far-auto");
    train(config, "slow", "reference", "one_device", "[]");
    train(config, "far-slow", "/job:worker/task:0/reference:0", "one_device", workers);
    assert_same_run("slow", "far-slow");
    for (int i = 0; i < 2; i++) liana__test_stop_server(servers[i]);
}

/* The server dies during a training, which goes on at another one: the bytes of an undisturbed training. */
static void test_a_server_dies_during_a_training(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(48);
    const char *const *sockets = liana__test_sockets(1);
    char workers[256], out[2][512];
    snprintf(workers, sizeof workers, "cluster.workers=[\"%s\"]", sockets[0]);
    for (int i = 0; i < 2; i++) snprintf(out[i], sizeof out[i], "%s", liana__test_path(i ? "calm" : "shaken"));
    assert_code(liana__test_command("train", config, "train.epochs=40", workers, "--out", out[1]), 0);
    pid_t server = liana__test_start_server(sockets[0], NULL, 0, 8);
    const char *const words[] = {
        "train", config, "train.epochs=40", workers,    "train.device=/job:worker/task:0/cpu:0",
        "--out", out[0], "--requeue",       "--resume", NULL};
    pid_t training = liana__test_spawn(words, NULL);
    wait_until(access(liana__test_path("shaken/checkpoints"), F_OK) == 0);
    wait_until(*liana__test_newest_checkpoint("shaken"));
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
    assert_refused(liana__test_wait(training), 75, sockets[0]);
    server = liana__test_start_server(sockets[0], NULL, 0, 8);
    assert_code(liana__test_wait(liana__test_spawn(words, NULL)), 0);
    assert_same_run("calm", "shaken");
    liana__test_stop_server(server);
}

/* ---- names ---- */

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *job, *address, *device;
        bool has_task;
        size_t task;
    } good[] = {
        {"/job:worker/task:1/cpu:0", "worker", NULL, "cpu:0", true, 1},
        {"/job:ps/replica:0/task:12/device:GPU:3", "ps", NULL, "gpu:3", true, 12},
        {"/job:worker/task:0", "worker", NULL, "cpu:0", true, 0},
        {"/job:worker/gpu", "worker", NULL, "gpu:0", false, 0},
        {"host:2222/tpu:1", NULL, "host:2222", "tpu:1", false, 0},
        {"[::1]:2222/cpu", NULL, "[::1]:2222", "cpu:0", false, 0},
        {"ipc:///folder/socket/cpu:0", NULL, "ipc:///folder/socket", "cpu:0", false, 0},
        {"/device:CPU:0", NULL, NULL, "cpu:0", false, 0},
        {"/job:w/task:0/gpu:1?x=/a/b&y=1", "w", NULL, "gpu:1?x=/a/b&y=1", true, 0},
    };
    static const char *const bad[] = {"/job:/task:0",         "/job:w/task:x/cpu:0",
                                      "/task:1/cpu:0",        "/job:w/task:-1",
                                      "/job:w/task:1/task:2", "/job:w/replica:1/task:0",
                                      "/job:w//cpu:0",        "/job:w/cpu:0/gpu:0",
                                      "/job:w/job:v",         "/0"};
    liana__arena arena = {0};
    liana__served_name name;
    liana__error error;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(liana__served_knows(good[i].text));
        assert_ok(liana__served_name_read(good[i].text, &arena, &name, &error), &error);
        assert_string_equal(name.device, good[i].device);
        assert_compare(!name.job, ==, !good[i].job, i);
        if (name.job) assert_string_equal(name.job, good[i].job);
        assert_compare(!name.address, ==, !good[i].address, i);
        if (name.address) assert_string_equal(name.address, good[i].address);
        assert_int_equal(name.has_task, good[i].has_task);
        assert_int_equal(name.task, good[i].task);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(liana__served_knows(bad[i]));
        assert_fails(liana__served_name_read(bad[i], &arena, &name, &error), LIANA_INVALID_CONFIG, &error, bad[i]);
    }
    assert_false(liana__served_knows("cpu"));
    assert_false(liana__served_knows("pjrt:/path/plugin.so:1"));
    assert_false(liana__served_knows(NULL));
    liana__arena_free(&arena);
}

static liana_status find(const char *tf_config, const char *device, const char **address, liana__error *error)
{
    static liana__arena arena;
    liana__served_name name;
    liana__served_cluster cluster;
    const char *const *addresses;
    size_t count;
    liana__arena_free(&arena);
    setenv("TF_CONFIG", tf_config, 1);
    liana_status status = liana__served_find_cluster(context, &arena, &cluster, error);
    unsetenv("TF_CONFIG");
    if (status == LIANA_OK) status = liana__served_name_read(device, &arena, &name, error);
    if (status == LIANA_OK) status = liana__served_resolve(&name, &cluster, &addresses, &count, error);
    if (status == LIANA_OK) *address = addresses[count - 1];
    return status;
}

static void test_tf_config_names_servers(void **state)
{
    (void)state;
    static const char good[] = "{\"cluster\": {\"worker\": [\"a:1\", \"b:2\"], \"ps\": [\"c:3\"], \"own\": [\"d:4\"]}, "
                               "\"task\": {\"type\": \"client\"}}";
    static const char *const expected[][2] = {{"/job:worker/task:0/cpu:0", "a:1"},
                                              {"/job:worker/cpu:0", "b:2"},
                                              {"/job:ps/task:0", "c:3"},
                                              {"/job:own/gpu", "d:4"}};
    liana__error error = {0};
    const char *address = NULL;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_ok(find(good, expected[i][0], &address, &error), &error);
        assert_string_equal(address, expected[i][1]);
    }
    assert_fails(find(good, "/job:chief/task:0", &address, &error), LIANA_INVALID_CONFIG, &error, "chief", "TF_CONFIG",
                 "worker, ps, own");
    assert_fails(find("{", "/job:worker", &address, &error), LIANA_INVALID_CONFIG, &error, "TF_CONFIG is no JSON");
    assert_fails(find("{\"cluster\": 3}", "/job:worker", &address, &error), LIANA_INVALID_CONFIG, &error, "no mapping");
    assert_fails(find("{\"cluster\": {\"worker\": 3}}", "/job:worker", &address, &error), LIANA_INVALID_CONFIG, &error,
                 "no list");
    assert_fails(find("{\"cluster\": {\"worker\": [3]}}", "/job:worker", &address, &error), LIANA_INVALID_CONFIG,
                 &error, "no address");
    assert_fails(find("{\"cluster\": {\"worker\": [\"here\"]}}", "/job:worker", &address, &error), LIANA_INVALID_CONFIG,
                 &error, "here", "host:port");
    assert_fails(find("{}", "/job:worker", &address, &error), LIANA_INVALID_CONFIG, &error, "no cluster is named");
}

/* ---- refusals ---- */

static void refuse(const char *device, liana_status status, const char *one, const char *other)
{
    liana_device *opened = NULL;
    assert_fails(liana_device_open(context, device, &opened), status, &context->error, one, other);
    assert_null(opened);
}

static void test_devices_that_are_not_there(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(2);
    pid_t server = liana__test_start_server(sockets[0], NULL, 0, 8);
    refuse("/job:worker/task:0/cpu:0", LIANA_INVALID_CONFIG, "no job 'worker'", "TF_CONFIG");
    use_cluster(sockets, 2, NULL);
    refuse("/job:worker/task:2/cpu:0", LIANA_INVALID_CONFIG, "no task 2", "which has 2");
    refuse("/job:clerk/task:0/cpu:0", LIANA_INVALID_CONFIG, "no job 'clerk'", "worker");
    refuse("/job:worker/task:0/cpu:1", LIANA_INVALID_CONFIG, "'cpu:1'", "/job:worker/task:0/cpu:1");
    refuse("/job:worker/task:0/abacus:0", LIANA_INVALID_CONFIG, "abacus:0", "reference");
    /* A client may not make a server load a file. */
    refuse("/job:worker/task:0/pjrt:lib:0", LIANA_INVALID_CONFIG, "pjrt:lib:0", "offers no device");
    /* A client does not choose what code runs on the server. The rest of a name with a slash is another part of it. */
    refuse("/job:worker/task:0/gpu:x.so", LIANA_INVALID_CONFIG, "gpu:x.so", "offers no device");
    refuse("/job:worker/task:0/pjrt:x.so:0", LIANA_INVALID_CONFIG, "pjrt:x.so:0", "offers no device");
    refuse("/job:worker/task:0/pjrt:cpu:x.so", LIANA_INVALID_CONFIG, "pjrt:cpu:x.so", "offers no device");
    assert_ok(liana_connect_to_cluster(context, "{workers: [\"127.0.0.1:1\"]}"), &context->error);
    refuse("/job:worker/task:0/cpu:0", LIANA_INVALID_CONFIG, "127.0.0.1:1", "LIANA_CLUSTER_KEYS");
    char text[256];
    snprintf(text, sizeof text, "{workers: [\"%s\"], timeout: 0.3}", sockets[1]);
    assert_ok(liana_connect_to_cluster(context, text), &context->error);
    refuse("/job:worker/task:0/cpu:0", LIANA_UNAVAILABLE, "/job:worker/task:0/cpu:0", sockets[1]);
    assert_fails(liana_connect_to_cluster(context, "{workers: [nowhere]}"), LIANA_INVALID_CONFIG, &context->error,
                 "nowhere");
    assert_fails(liana_connect_to_cluster(context, "{helpers: []}"), LIANA_INVALID_CONFIG, &context->error, "helpers");
    liana__test_stop_server(server);
}

static void test_keys(void **state)
{
    (void)state;
    const char *const *ports = liana__test_ports(1);
    char other[512];
    liana__error error = {0};
    snprintf(other, sizeof other, "%s", liana__test_path("other-keys"));
    assert_ok(liana__cluster_keys_make(other, &error), &error);
    pid_t server = liana__test_start_server(ports[0], liana__test_keys(), 0, 8);
    use_cluster(ports, 1, liana__test_keys());
    assert_same_learning("/job:worker/task:0/cpu:0", "cpu");
    use_cluster(ports, 1, other);
    refuse("/job:worker/task:0/cpu:0", LIANA_UNAVAILABLE, "does not hold the key", ports[0]);
    use_cluster(ports, 1, liana__test_keys());
    assert_same_learning("/job:worker/task:0/cpu:0", "cpu");
    liana__test_stop_server(server);
}

/* That is not yet a server of another key: the next connection holds. */
static void test_the_first_connection_breaks(void **state)
{
    (void)state;
    const char *const *ports = liana__test_ports(1);
    pid_t server = liana__test_start_breaking_server(ports[0], liana__test_keys());
    use_cluster(ports, 1, liana__test_keys());
    assert_same_learning("/job:worker/task:0/cpu:0", "cpu");
    liana__test_stop_server(server);
}

/* Asks over a connection of its own. */
static liana_status say(const char *address, uint32_t kind, const char *version, liana__error *error)
{
    const liana__service_place place = {.address = address, .source = "the test", .timeout = 120, .heartbeat = 60};
    liana__link *link;
    liana__text text = {0};
    liana__service_message answer = {0};
    liana__wire_put_text(&text, version);
    liana__wire_put_text(&text, "a test");
    LIANA_TRY(liana__link_open(&place, &link, error));
    const liana__service_message message = {.number = 1,
                                            .kind = kind,
                                            .bytes = (uint8_t *)text.data,
                                            .size = text.length};
    assert_ok(liana__link_send(link, &message, "cpu", 0, error), error);
    liana_status status = liana__link_receive(link, &answer, error);
    if (status == LIANA_OK) {
        liana__wire wire = {.next = answer.bytes, .end = answer.bytes + answer.size};
        char words[LIANA__SERVED_TEXT];
        status = (liana_status)liana__wire_u32(&wire);
        liana__wire_text(&wire, words);
        assert_int_equal(answer.number, 1);
        if (status != LIANA_OK) status = liana__fail(error, status, "%s", words);
    }
    free(answer.bytes);
    liana__text_free(&text);
    liana__link_close(link);
    return status;
}

static void test_versions_and_requests(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(1);
    pid_t server = liana__test_start_server(sockets[0], NULL, 0, 8);
    liana__error error = {0};
    assert_ok(say(sockets[0], LIANA__SERVED_DEVICES, liana_version(), &error), &error);
    assert_fails(say(sockets[0], LIANA__SERVED_DEVICES, "0.0.7", &error), LIANA_UNAVAILABLE, &error, "0.0.7",
                 liana_version());
    assert_fails(say(sockets[0], LIANA__SERVED_UPLOAD, "0.0.7", &error), LIANA_UNAVAILABLE, &error, "opened no device");
    assert_fails(say(sockets[0], 0, "", &error), LIANA_INVALID_DATA, &error, "kind 0");
    assert_fails(say(sockets[0], LIANA__SERVED_OPEN, liana_version(), &error), LIANA_INVALID_DATA, &error, "cut off");
    /* A client that gets no answer is told so: it waits. */
    assert_fails(say(sockets[0], 99, liana_version(), &error), LIANA_UNAVAILABLE, &error, "sent what is no request",
                 sockets[0]);
    liana__test_stop_server(server);
}

static void test_clients(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(1);
    pid_t server = liana__test_start_server(sockets[0], NULL, 0, 2);
    use_cluster(sockets, 1, NULL);
    learner two[2];
    float loss[2];
    for (int i = 0; i < 2; i++) begin(&two[i], "/job:worker/task:0/cpu:0");
    for (int i = 0; i < 2; i++) assert_ok(learn(&two[i], 0, &loss[i]), &context->error);
    assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
    char process[32];
    snprintf(process, sizeof process, "process %d", (int)getpid());
    refuse("/job:worker/task:0/cpu:0", LIANA_UNAVAILABLE, "has 2 clients", process);
    end(&two[0]);
    /* The server notices soon that one has gone. */
    liana_device *device = NULL;
    wait_until(liana_device_open(context, "/job:worker/task:0/cpu:0", &device) == LIANA_OK);
    liana_device_close(device);
    end(&two[1]);
    liana__test_stop_server(server);
}

/* ---- hostile requests ---- */

static void add_request(liana__text *all, uint8_t kind, liana__text *request)
{
    const uint8_t head[3] = {kind, (uint8_t)request->length, (uint8_t)(request->length >> 8)};
    assert_compare(request->length, <, 1 << 16);
    liana__text_add_bytes(all, (const char *)head, sizeof head);
    liana__text_add_bytes(all, request->data, request->length);
    liana__text_free(request);
}

static void add_numbers(liana__text *request, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) liana__wire_put_u32(request, numbers[i]);
}
#define ADD_NUMBERS(request, ...) \
    add_numbers(request, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* w := w + x, and w + x as a result. */
static void add_graph(liana__text *request)
{
    liana_graph *graph;
    liana__error error = {0};
    uint8_t *bytes;
    size_t size;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(3));
    liana_tensor w = liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(3)), sum = liana_op_add(x, w);
    liana_graph_output(graph, "sum", sum);
    liana_graph_assign(w, sum);
    assert_ok(liana__graph_write(graph, &bytes, &size, &error), &error);
    liana__text_add_bytes(request, (const char *)bytes, size);
    free(bytes);
    liana_graph_destroy(graph);
}

/* Uploads x and w, compiles, runs twice, reads, frees. The numbers of buffers: x 0, w 1, sum 2. */
static void make_requests(liana__text *all)
{
    static const float values[3] = {1, 2, 3};
    liana__text request = {0};
    for (uint32_t i = 0; i < 2; i++) {
        liana__wire_put_u32(&request, i);
        liana__wire_put_type(&request, LIANA_F32, &(liana_shape){.rank = 1, .dims = {3}});
        liana__text_add_bytes(&request, (const char *)values, sizeof values);
        add_request(all, LIANA__SERVED_UPLOAD, &request);
    }
    ADD_NUMBERS(&request, 5, 0, 0);
    add_graph(&request);
    add_request(all, LIANA__SERVED_COMPILE, &request);
    ADD_NUMBERS(&request, 5);
    add_request(all, LIANA__SERVED_READY, &request);
    for (int i = 0; i < 2; i++) {
        liana__wire_put_u32(&request, 5);
        liana__wire_put_text(&request, "adder");
        ADD_NUMBERS(&request, 1, 0, 1, 1, 1, 2);
        add_request(all, LIANA__SERVED_EXECUTE, &request);
    }
    ADD_NUMBERS(&request, 3, 0, 1, 9);
    add_request(all, LIANA__SERVED_FREE, &request);
    ADD_NUMBERS(&request, 5);
    add_request(all, LIANA__SERVED_DROP, &request);
    ADD_NUMBERS(&request, 2);
    add_request(all, LIANA__SERVED_DOWNLOAD, &request);
}

/* A client to which an earlier error was told does not know that its program is there, and uses the number again. */
static void test_a_program_takes_the_place_of_another(void **state)
{
    (void)state;
    liana__text all = {0}, request = {0};
    ADD_NUMBERS(&request, 5, 0, 0);
    add_graph(&request);
    add_request(&all, LIANA__SERVED_COMPILE, &request);
    make_requests(&all);
    assert_true(liana__try_requests((const uint8_t *)all.data, all.length));
    liana__text_free(&all);
}

static void test_hostile_requests(void **state)
{
    (void)state;
    liana__text all = {0};
    make_requests(&all);
    assert_true(liana__try_requests((const uint8_t *)all.data, all.length));
    size_t num_refused = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        size_t size;
        char *bytes = liana__test_mutate(all.data, all.length, "\1\2\3\5\t\xff", 16, i, &size);
        num_refused += !liana__try_requests((const uint8_t *)bytes, size);
        free(bytes);
    }
    assert_compare(num_refused, >, 200);
    liana__text_free(&all);
}

/* A buffer that is a result and something else would be lost twice. */
static void test_buffers_that_are_used_twice(void **state)
{
    (void)state;
    static const uint32_t bad[][3] = {{0, 1, 1}, {0, 1, 0}, {1, 1, 2}, {0, 0, 2}, {7, 1, 2}, {0, 7, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        liana__text all = {0}, request = {0};
        make_requests(&all);
        /* Without what frees: the last three requests are 4 + 16, 4 and 4 bytes with heads of 3. */
        all.length -= 3 + 16 + 3 + 4 + 3 + 4;
        liana__wire_put_u32(&request, 5);
        liana__wire_put_text(&request, "adder");
        ADD_NUMBERS(&request, 1, bad[i][0], 1, bad[i][1], 1, bad[i][2]);
        add_request(&all, LIANA__SERVED_EXECUTE, &request);
        assert_false(liana__try_requests((const uint8_t *)all.data, all.length));
        liana__text_free(&all);
    }
}

/* ---- memory, errors and death ---- */

static liana__buffer *upload(liana__device *device, int64_t count, liana_status expected, const char *text)
{
    liana__buffer *buffer = NULL;
    liana_shape shape = {.rank = 1, .dims = {count}};
    liana__error error = {0};
    float *data = calloc((size_t)count, sizeof *data);
    liana_status status = device->backend->upload(device, LIANA_F32, &shape, data, &buffer, NULL, &error);
    free(data);
    if (expected == LIANA_OK) {
        assert_ok(status, &error);
    } else {
        assert_fails(status, expected, &error, text, "/job:worker/task:0");
    }
    return buffer;
}

/* NULL: the server has no room. */
static liana__buffer *try_upload(liana__device *device, int64_t count)
{
    liana__buffer *buffer = NULL;
    liana_shape shape = {.rank = 1, .dims = {count}};
    liana__error error = {0};
    float *data = calloc((size_t)count, sizeof *data);
    const liana_status status = device->backend->upload(device, LIANA_F32, &shape, data, &buffer, NULL, &error);
    free(data);
    return status == LIANA_OK ? buffer : NULL;
}

static void test_memory_is_limited_and_given_back(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    const char *const *sockets = liana__test_sockets(1);
    pid_t server = liana__test_start_server(sockets[0], NULL, 8 * MIB, 4);
    use_cluster(sockets, 1, NULL);
    for (int round = 0; round < 3; round++) {
        liana_device *device;
        assert_ok(liana_device_open(context, "/job:worker/task:0/cpu:0", &device), &context->error);
        liana__device *own = device->device;
        /* The memory of a client of the round before is freed once the server has seen that it is gone. */
        liana__buffer *first = NULL;
        wait_until((first = try_upload(own, MIB / 2)));
        liana__buffer *second = upload(own, MIB, LIANA_OK, NULL);
        assert_null(upload(own, MIB, LIANA_OUT_OF_MEMORY, "--memory"));
        assert_null(upload(own, 4 * MIB, LIANA_OUT_OF_MEMORY, "--memory"));
        own->backend->buffer_destroy(second);
        second = upload(own, MIB, LIANA_OK, NULL);
        /* A donated buffer's memory is used again. */
        liana_shape shape = second->shape;
        liana__error error = {0};
        float *data = calloc(MIB, sizeof *data);
        data[MIB - 1] = 7;
        assert_ok(own->backend->upload(own, LIANA_F32, &shape, data, &second, NULL, &error), &error);
        data[MIB - 1] = 0;
        assert_ok(own->backend->download(second, data, &error), &error);
        assert_compare(data[MIB - 1], ==, 7);
        free(data);
        own->backend->buffer_destroy(second);
        /* Another one stays: closing the device frees it on the server. */
        own->backend->buffer_destroy(first);
        liana__buffer *left = upload(own, MIB / 2, LIANA_OK, NULL);
        liana_device_close(device);
        free(left);
    }
    liana__test_stop_server(server);
}

static void test_errors_of_graphs_reach_the_client(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(1);
    pid_t server = liana__test_start_server(sockets[0], NULL, 1 << 20, 4);
    use_cluster(sockets, 1, NULL);
    learner own;
    float loss, x[4] = {0};
    begin(&own, "/job:worker/task:0/cpu:0");
    liana_graph *g = own.graph;
    liana_tensor big = liana_op_broadcast_to(liana_graph_scalar(g, LIANA_F32, 1), liana_shape_of(1 << 20));
    liana_graph_output(g, "big", liana_op_reduce_sum(big, LIANA_ALL_AXES, false));
    assert_fails(liana_run(own.program, .fetches = LIANA_FETCHES({.name = "big", .data = x, .size = sizeof *x})),
                 LIANA_OUT_OF_MEMORY, &context->error, "--memory", "/job:worker/task:0/cpu:0");
    assert_ok(learn(&own, 0, &loss), &context->error);
    end(&own);
    liana__test_stop_server(server);
}

static void test_a_server_that_dies(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(1);
    static const int signals[] = {SIGKILL, SIGSTOP};
    for (int i = 0; i < 2; i++) {
        pid_t server = liana__test_start_server(sockets[0], NULL, 0, 4);
        assert_ok(liana_connect_to_cluster(context, cluster_text(sockets, 1, NULL, 5)), &context->error);
        learner own;
        float loss;
        begin(&own, "/job:worker/task:0/cpu:0");
        assert_ok(learn(&own, 0, &loss), &context->error);
        kill(server, signals[i]);
        /* SIGSTOP: after cluster.heartbeat. */
        assert_fails(learn(&own, 1, &loss), LIANA_UNAVAILABLE, &context->error, "/job:worker/task:0/cpu:0", sockets[0],
                     "closed the connection");
        /* And so does all that follows. */
        assert_fails(learn(&own, 2, &loss), LIANA_UNAVAILABLE, &context->error, sockets[0]);
        kill(server, SIGKILL);
        assert_int_equal(waitpid(server, NULL, 0), server);
        end(&own);
    }
}

/* ---- a server that does not come ---- */

static bool stops_when_asked_often(void *user)
{
    return ++*(int *)user == 3;
}

static void test_a_wait_for_a_server_can_be_stopped(void **state)
{
    (void)state;
    static int asked;
    liana_device *device;
    const char *const *sockets = liana__test_sockets(1);
    use_cluster(sockets, 1, NULL);
    asked = 0;
    assert_ok(liana__waiting_set_stop(context, stops_when_asked_often, &asked), &context->error);
    assert_fails(liana_device_open(context, "/job:worker/task:0/cpu:0", &device), LIANA_CANCELLED, &context->error,
                 "/job:worker/task:0/cpu:0", "stopped while it waited for the server", sockets[0]);
    assert_int_equal(asked, 3);
}

/* Where a server should be: a process that says nothing. */
static int listen_at(const char *address)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s", address + strlen("ipc://"));
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

static void test_a_signal_ends_the_wait_for_a_server(void **state)
{
    (void)state;
    char config[512], workers[256], out[512];
    const char *const *sockets = liana__test_sockets(1);
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(48));
    snprintf(workers, sizeof workers, "cluster.workers=[\"%s\"]", sockets[0]);
    snprintf(out, sizeof out, "%s", liana__test_path("waits"));
    const char *const words[] = {"train", config, workers, "train.device=/job:worker/task:0/cpu:0", "--out", out, NULL};
    const int listener = listen_at(sockets[0]);
    const pid_t training = liana__test_spawn_as("waits", words, NULL);
    const int caller = accept(listener, NULL, NULL);
    assert_compare(caller, >=, 0);
    kill(training, SIGTERM);
    assert_refused(liana__test_wait_as("waits", training), 128 + SIGTERM, "stopped while it waited for the server",
                   sockets[0]);
    close(caller);
    close(listener);
}

/* ---- the command ---- */

static void test_the_command_lists_servers(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(2);
    pid_t server = liana__test_start_server(sockets[0], NULL, 1 << 30, 4);
    char text[512];
    snprintf(text, sizeof text, "cluster: {timeout: 10, workers: [\"%s\", \"%s\"]}\n", sockets[0], sockets[1]);
    const char *path = liana__test_write("cluster.yaml", text, strlen(text));
    liana__test_result got = liana__test_command("devices", "--cluster", path);
    assert_int_equal(got.code, 0);
    assert_says(got.out, "/job:worker/task:0/cpu:0  1 thread, ");
    assert_says(got.out, "1.0 GiB for clients");
    assert_says(got.out, sockets[0]);
    assert_says(got.out, "/job:worker/task:1  missing: ");
    liana__test_free_result(&got);
    got = liana__test_command("devices", "--cluster", path, "--json", "/job:worker/task:0");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "\"version\"");
    liana__test_free_result(&got);
    assert_refused(liana__test_command("devices", "--cluster", path, "/job:worker/task:5"), 2, "no task 5");
    assert_refused(liana__test_command("server"), 2, "--listen");
    assert_refused(liana__test_command("server", "--listen", sockets[0]), 1, "is there already");
    assert_refused(liana__test_command("server", "--listen", "127.0.0.1:*"), 2, "liana cluster keys");
    assert_refused(liana__test_command("server", "--listen", "here"), 2, "--listen", "'here'", "host:port");
    assert_refused(liana__test_command("server", "--listen", "127.0.0.1:0"), 2, "a port from 1 to 65535");
    assert_refused(liana__test_command("devices", "127.0.0.1:99999/cpu:0"), 2, "'127.0.0.1:99999'", "from 1 to 65535");
    liana__test_stop_server(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_programs_give_the_bits_of_a_local_device, set_up, tear_down),
        cmocka_unit_test(test_training_gives_the_bits_of_a_local_one),
        cmocka_unit_test(test_a_server_dies_during_a_training),
        cmocka_unit_test_setup_teardown(test_tf_config_names_servers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_devices_that_are_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_first_connection_breaks, set_up, tear_down),
        cmocka_unit_test(test_versions_and_requests),
        cmocka_unit_test_setup_teardown(test_a_program_takes_the_place_of_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buffers_that_are_used_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_is_limited_and_given_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_of_graphs_reach_the_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_that_dies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wait_for_a_server_can_be_stopped, set_up, tear_down),
        cmocka_unit_test(test_a_signal_ends_the_wait_for_a_server),
        cmocka_unit_test(test_the_command_lists_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
