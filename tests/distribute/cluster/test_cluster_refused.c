/* Clusters of real processes that cannot work, and say why, each of them; and strangers on a port, which change
 * nothing. */
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/peers.h"

#include "base/file.h"
#include "distribute/transport/cluster_keys.h"
#include "distribute/transport/frame.h"
#include "distribute/transport/zmq_calls.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 60, NUM_PROCESSES = 2, MAX_WORDS = 20 };

static char config_path[512], keys_word[600];

/* ---- two processes ---- */

/* One process, by TF_CONFIG. */
typedef struct task {
    char tf_config[600];
    const char *environment[6]; /* more of it; NULL-terminated */
    const char *words[8];       /* more of them; NULL-terminated */
    const char *config;         /* NULL: that of the test */
} task;

static void set_task(task *one, const char *const *ports, int index)
{
    snprintf(one->tf_config, sizeof one->tf_config,
             "TF_CONFIG={\"cluster\": {\"worker\": [\"%s\", \"%s\"]}, \"task\": {\"type\": \"worker\", \"index\": %d}}",
             ports[0], ports[1], index);
}

static pid_t start_task(const task *one, const char *name)
{
    const char *words[MAX_WORDS] = {"train",          one->config ? one->config : config_path,
                                    "--out",          "",
                                    "train.epochs=1", "train.microbatch=4",
                                    "train.threads=1"};
    const char *environment[10] = {one->tf_config, keys_word};
    char out[600];
    size_t count = 7, variables = 2;
    snprintf(out, sizeof out, "%s-run", liana__test_path(name));
    words[3] = out;
    for (size_t i = 0; one->words[i]; i++) words[count++] = one->words[i];
    for (size_t i = 0; one->environment[i]; i++) environment[variables++] = one->environment[i];
    return liana__test_spawn_as(name, words, environment);
}

/* By process: its exit code, and texts in its message. The run folders are "0-run" and "1-run". */
static void run_tasks(const task *tasks, liana__test_result *results)
{
    static const char *const names[] = {"0", "1"};
    pid_t processes[NUM_PROCESSES];
    for (int i = 0; i < NUM_PROCESSES; i++) processes[i] = start_task(&tasks[i], names[i]);
    for (int i = 0; i < NUM_PROCESSES; i++) results[i] = liana__test_wait_as(names[i], processes[i]);
}

static void expect(liana__test_result *result, int code, const char *const *texts)
{
    for (; *texts; texts++) {
        if (!strstr(result->err, *texts)) print_error("expected '%s' in: %s\n", *texts, result->err);
        assert_says(result->err, *texts);
    }
    assert_code(*result, code);
}
#define EXPECT(result, code, ...) expect((result), (code), (const char *const[]){__VA_ARGS__, NULL})

static void both_tasks(task *tasks)
{
    const char *const *ports = liana__test_ports(NUM_PROCESSES);
    memset(tasks, 0, NUM_PROCESSES * sizeof *tasks);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        set_task(&tasks[i], ports, i);
        tasks[i].words[0] = "cluster.timeout=60";
    }
}

/* ---- what cannot work ---- */

static void the_same_task_twice(void **state)
{
    (void)state;
    task tasks[NUM_PROCESSES];
    liana__test_result results[NUM_PROCESSES];
    both_tasks(tasks);
    memcpy(tasks[1].tf_config, tasks[0].tf_config, sizeof tasks[0].tf_config);
    tasks[0].words[0] = tasks[1].words[0] = "cluster.timeout=15";
    run_tasks(tasks, results);
    const int second = strstr(results[1].err, "is in use") ? 1 : 0;
    EXPECT(&results[second], 1, "where rank 0 is to listen, is in use", "TF_CONFIG");
    EXPECT(&results[1 - second], 1, "did not come together within 15 s (cluster.timeout)",
           "missing: rank 1 at 127.0.0.1:");
}

static void other_keys_and_none(void **state)
{
    (void)state;
    task tasks[NUM_PROCESSES];
    liana__test_result results[NUM_PROCESSES];
    liana__error error = {0};
    char others[600];
    snprintf(others, sizeof others, "LIANA_CLUSTER_KEYS=%s", liana__test_path("others"));
    assert_ok(liana__cluster_keys_make(liana__test_path("others"), &error), &error);
    both_tasks(tasks);
    tasks[1].environment[0] = others;
    tasks[0].words[0] = tasks[1].words[0] = "cluster.timeout=15";
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) EXPECT(&results[i], 1, "does not hold the cluster's key (");
    both_tasks(tasks);
    tasks[0].environment[0] = tasks[1].environment[0] = "LIANA_CLUSTER_KEYS=/nowhere/keys";
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) EXPECT(&results[i], 2, "the folder of keys /nowhere/keys");
}

static void bad_environments(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *text, *also;
    } table[] = {
        {"TF_CONFIG={cluster", "TF_CONFIG", "expected"},
        {"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 2}}",
         "TF_CONFIG", "2"},
        {"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"boss\", \"index\": 0}}",
         "boss", "worker"},
        {"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"a:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}",
         "the same address", "a:1"},
        {"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b:1\"], \"evaluator\": [\"c:1\"]}, \"task\": {\"type\": "
         "\"evaluator\", \"index\": 0}}",
         "this process is the evaluator, which does not train", "--follow"},
        {"WORLD_SIZE=2", "WORLD_SIZE is 2, but RANK is not set", "which"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *environment[] = {table[i].variable, NULL};
        assert_refused(liana__test_process(environment, "train", config_path, "--out", liana__test_path("none")), 2,
                       table[i].text, table[i].also);
    }
}

static void other_settings_and_data(void **state)
{
    (void)state;
    task tasks[NUM_PROCESSES];
    liana__test_result results[NUM_PROCESSES];
    liana__error error = {0};
    both_tasks(tasks);
    tasks[1].words[1] = "train.seed=9";
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) EXPECT(&results[i], 2, "train.seed is ", "on process 1");
    /* Files of the same name and size with another byte. */
    static const char *const names[] = {"config.yaml",       "train-images",      "train-labels",
                                        "validation-images", "validation-labels", "test-images"};
    assert_ok(liana__folder_make(liana__test_path("elsewhere"), &error), &error);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *data, to[64];
        size_t size;
        assert_ok(liana__file_read(liana__test_path(names[i]), 1 << 24, &data, &size, &error), &error);
        if (i == 1) data[size / 2] ^= 1;
        snprintf(to, sizeof to, "elsewhere/%s", names[i]);
        assert_ok(liana__file_replace(liana__test_path(to), data, size, &error), &error);
        free(data);
    }
    char elsewhere[512];
    snprintf(elsewhere, sizeof elsewhere, "%s", liana__test_path("elsewhere/config.yaml"));
    both_tasks(tasks);
    tasks[1].config = elsewhere;
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        EXPECT(&results[i], 2, "data.train.files[train-images].contents is ", "on process 1", "data");
    }
}

static void a_device_that_is_not_there(void **state)
{
    (void)state;
    task tasks[NUM_PROCESSES];
    liana__test_result results[NUM_PROCESSES];
    both_tasks(tasks);
    for (int i = 0; i < NUM_PROCESSES; i++) tasks[i].words[1] = "train.device=pjrt:nowhere";
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        EXPECT(&results[i], results[i].code, "nowhere");
    }
    /* On one of them: both end, and both say on which. */
    both_tasks(tasks);
    tasks[1].words[1] = "train.device=pjrt:nowhere";
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        EXPECT(&results[i], 2, "train.device is \"cpu\" on the chief, and \"pjrt:nowhere\" on process 1");
    }
}

/* ---- another version ---- */

/* Greets as rank 1, of another liana, or in another protocol; the text of the refusal. */
typedef struct caller {
    const char *address;
    bool other_protocol;
    atomic_bool over; /* the one that is called has ended */
    uint64_t cluster;
    char answer[1024];
} caller;

static void *call(void *user)
{
    caller *own = user;
    liana__greeting greeting = {.version = "0.0.1-other", .num_workers = 2, .address = "ipc:///tmp/x", .host = "here"};
    char text[LIANA__GREETING_SIZE];
    uint8_t bytes[LIANA__FRAME_HEADER + LIANA__GREETING_SIZE];
    const size_t size = liana__greeting_write(&greeting, text);
    const liana__frame frame = {
        .kind = LIANA__FRAME_HELLO, .sender = 1, .incarnation = 5, .size = size, .num_bytes = size};
    liana__frame_write(&frame, bytes);
    memcpy(bytes + LIANA__FRAME_HEADER, text, size);
    if (own->other_protocol) bytes[6] = LIANA__FRAME_PROTOCOL + 1;
    void *context = zmq_ctx_new(), *dealer = zmq_socket(context, ZMQ_DEALER);
    const int linger = 0;
    zmq_setsockopt(dealer, ZMQ_LINGER, &linger, sizeof linger);
    zmq_connect(dealer, own->address);
    zmq_msg_t message;
    zmq_msg_init_size(&message, LIANA__FRAME_HEADER + size);
    memcpy(zmq_msg_data(&message), bytes, LIANA__FRAME_HEADER + size);
    zmq_msg_send(&message, dealer, 0);
    zmq_pollitem_t item = {.socket = dealer, .events = ZMQ_POLLIN};
    liana__frame answer;
    if (!own->other_protocol && zmq_poll(&item, 1, 60000) > 0) {
        zmq_msg_init(&message);
        zmq_msg_recv(&message, dealer, 0);
        if (liana__frame_read(zmq_msg_data(&message), zmq_msg_size(&message), &answer, NULL) == LIANA_OK) {
            snprintf(own->answer, sizeof own->answer, "%.*s", (int)answer.num_bytes, (const char *)answer.bytes);
        }
        zmq_msg_close(&message);
    } else {
        /* Sent frames are dropped with the socket. */
        while (!own->over) zmq_poll(&item, 1, 50);
    }
    zmq_close(dealer);
    zmq_ctx_term(context);
    return NULL;
}

static void another_version(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_ok(liana__zmq_load(&error), &error);
    for (int protocol = 0; protocol < 2; protocol++) {
        liana__test_member member;
        pthread_t thread;
        const char *const *sockets = liana__test_sockets(2);
        caller other = {.address = sockets[0], .other_protocol = protocol};
        liana__test_members(&member, 1, sockets, NULL);
        member.place.num_workers = 2;
        assert_int_equal(pthread_create(&thread, NULL, call, &other), 0);
        liana__test_run_members(&member, 1);
        other.over = true;
        pthread_join(thread, NULL);
        if (protocol) {
            assert_fails(member.status, LIANA_UNAVAILABLE, &member.error, "version 3 of the protocol", "version 2",
                         "same version of liana");
        } else {
            assert_fails(member.status, LIANA_UNAVAILABLE, &member.error, "rank 1 is liana 0.0.1-other",
                         "all processes need the same version");
            assert_says(other.answer, "rank 1 is liana 0.0.1-other");
        }
    }
}

/* ---- what changes nothing ---- */

static const char *alone(void)
{
    static char path[512];
    if (*path) return path;
    snprintf(path, sizeof path, "%s", liana__test_path("alone"));
    assert_code(liana__test_process(NULL, "train", config_path, "--out", path, "train.epochs=1", "train.microbatch=4"),
                0);
    return path;
}

static void assert_run_of_one_process(const char *run)
{
    char one[600], other[600];
    snprintf(one, sizeof one, "%s/history.json", alone());
    snprintf(other, sizeof other, "%s/history.json", liana__test_path(run));
    assert_same_file(one, other);
    snprintf(one, sizeof one, "%s/variables.safetensors", liana__test_newest_checkpoint("alone"));
    snprintf(other, sizeof other, "%s/variables.safetensors", liana__test_newest_checkpoint(run));
    assert_same_file(one, other);
}

/* A day apart; the time at which training is to end is past for one of them. */
static void a_clock_that_differs(void **state)
{
    (void)state;
    task tasks[NUM_PROCESSES];
    liana__test_result results[NUM_PROCESSES];
    char clock_library[600], stop[64];
    const time_t later = time(NULL) + 6 * 3600;
    struct tm parts;
#ifdef __SANITIZE_ADDRESS__
    liana__test_skip("the sanitizer's own library must be the first");
#endif
    snprintf(clock_library, sizeof clock_library, "LD_PRELOAD=%s", LIANA_OTHER_CLOCK);
    strftime(stop, sizeof stop, "train.stop_at=%Y-%m-%dT%H:%M:%SZ", gmtime_r(&later, &parts));
    both_tasks(tasks);
    for (int i = 0; i < NUM_PROCESSES; i++) tasks[i].words[1] = stop;
    tasks[1].environment[0] = clock_library;
    tasks[1].environment[1] = "LIANA_TEST_CLOCK=86400";
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) assert_code(results[i], 0);
    assert_run_of_one_process("0-run");
    /* The other way round it is past where it counts, and all hear it. */
    const char *environment[] = {clock_library, "LIANA_TEST_CLOCK=86400", NULL};
    both_tasks(tasks);
    for (int i = 0; i < NUM_PROCESSES; i++) tasks[i].words[1] = stop;
    memcpy(tasks[0].environment, environment, sizeof environment);
    assert_ok(liana__folder_remove(liana__test_path("0-run"), NULL), NULL);
    run_tasks(tasks, results);
    for (int i = 0; i < NUM_PROCESSES; i++) EXPECT(&results[i], 2, "train.stop_at", "expected a time to come");
}

/* ---- a flood ---- */

typedef struct flood {
    int ports[NUM_PROCESSES];
    atomic_bool over;
    atomic_int knocks;
} flood;

static int knock(int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    name.sin_port = htons((uint16_t)port);
    int stranger = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (stranger < 0) return -1;
    connect(stranger, (struct sockaddr *)&name, sizeof name);
    return stranger;
}

/* Connections that say nothing, half of an opening, or garbage; many at a time, some of which are left open. */
static void *flood_ports(void *user)
{
    enum { HELD = 200 };
    flood *own = user;
    int held[HELD];
    uint32_t turn = 0;
    for (int i = 0; i < HELD; i++) held[i] = -1;
    static const uint8_t opening[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    while (!own->over) {
        int *place = &held[turn % HELD];
        if (*place >= 0) close(*place);
        *place = knock(own->ports[turn % NUM_PROCESSES]);
        usleep(200);
        uint8_t bytes[2048];
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(turn * 97 + i * i * 31);
        if (turn % 4 == 1) memcpy(bytes, opening, sizeof opening);
        const size_t size = turn % 4 == 0 ? 0 : turn % 4 == 2 ? 33 : sizeof bytes;
        if (*place >= 0 && size && send(*place, turn % 4 == 2 ? opening : bytes, size, MSG_NOSIGNAL) > 0) own->knocks++;
        turn++;
    }
    for (int i = 0; i < HELD; i++) {
        if (held[i] >= 0) close(held[i]);
    }
    return NULL;
}

static void a_flood_changes_nothing(void **state)
{
    (void)state;
    task tasks[NUM_PROCESSES];
    liana__test_result results[NUM_PROCESSES];
    pthread_t thread;
    flood water = {.over = false};
    alone();
    const char *const *ports = liana__test_ports(NUM_PROCESSES);
    memset(tasks, 0, sizeof tasks);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        set_task(&tasks[i], ports, i);
        tasks[i].words[0] = "cluster.timeout=120";
        water.ports[i] = atoi(strchr(ports[i], ':') + 1);
    }
    assert_ok(liana__folder_remove(liana__test_path("0-run"), NULL), NULL);
    assert_int_equal(pthread_create(&thread, NULL, flood_ports, &water), 0);
    run_tasks(tasks, results);
    water.over = true;
    pthread_join(thread, NULL);
    for (int i = 0; i < NUM_PROCESSES; i++) assert_code(results[i], 0);
    assert_compare(water.knocks, >, 50);
    assert_run_of_one_process("0-run");
}

/* ---- what strangers can take ---- */

enum { STRANGERS = 60, MOST_TAKEN = 16 << 20 /* bytes: the size of the kernel's two buffers */, MOST_SENT = 256 << 20 };

typedef struct strangers {
    int port;
    atomic_bool over;
    int sockets[STRANGERS];
    int num_closed;    /* by the process, each while the stranger was still there */
    size_t most_taken; /* bytes of one connection */
} strangers;

/* As many bytes as are taken before the connection is closed. */
static size_t pour(int stranger)
{
    static const uint8_t garbage[1 << 16] = {7, 7, 7};
    struct pollfd ready = {.fd = stranger, .events = POLLOUT};
    size_t taken = 0;
    while (taken < MOST_SENT && poll(&ready, 1, 2000) > 0) {
        const ssize_t sent = send(stranger, garbage, sizeof garbage, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) break;
        taken += (size_t)sent;
    }
    return taken;
}

static bool is_closed(int stranger)
{
    uint8_t bytes[1024];
    struct pollfd ready = {.fd = stranger, .events = POLLIN};
    while (poll(&ready, 1, 60 * 1000) > 0) {
        if (recv(stranger, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) return true;
    }
    return false;
}

/* Connections that say nothing, that stop in the middle of the opening, and that never stop. */
static void stay_on_port(liana__test_member *member)
{
    static const uint8_t opening[33] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    strangers *own = member->user;
    for (int i = 0; i < STRANGERS; i++) {
        own->sockets[i] = knock(own->port);
        struct pollfd ready = {.fd = own->sockets[i], .events = POLLOUT};
        poll(&ready, 1, 60000);
        if (i % 3 == 1) send(own->sockets[i], opening, sizeof opening, MSG_NOSIGNAL);
        const size_t taken = i % 3 == 2 ? pour(own->sockets[i]) : 0;
        if (taken > own->most_taken) own->most_taken = taken;
    }
    for (int i = 0; i < STRANGERS; i++) {
        own->num_closed += is_closed(own->sockets[i]);
        close(own->sockets[i]);
    }
    own->over = true;
}

static void wait_for_strangers(liana__test_member *member)
{
    const strangers *own = member->user;
    while (!own->over) usleep(10000);
}

/* Not by a clock: each connection is closed, and of one that never stops little is taken. Both members end well. */
static void what_strangers_take_is_bounded(void **state)
{
    (void)state;
    const char *const *ports = liana__test_ports(2);
    strangers crowd = {.port = atoi(strchr(ports[0], ':') + 1)};
    liana__test_member members[2];
    liana__test_members(members, 2, ports, liana__test_keys());
    for (int i = 0; i < 2; i++) members[i].user = &crowd;
    members[0].body = wait_for_strangers;
    members[1].body = stay_on_port;
    liana__test_run_members(members, 2);
    for (int i = 0; i < 2; i++) assert_ok(members[i].status, &members[i].error);
    assert_int_equal(crowd.num_closed, STRANGERS);
    assert_compare(crowd.most_taken, <, MOST_TAKEN);
}

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(COUNT));
    snprintf(keys_word, sizeof keys_word, "LIANA_CLUSTER_KEYS=%s", liana__test_keys());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_task_twice),
        cmocka_unit_test(other_keys_and_none),
        cmocka_unit_test(bad_environments),
        cmocka_unit_test(other_settings_and_data),
        cmocka_unit_test(a_device_that_is_not_there),
        cmocka_unit_test(another_version),
        cmocka_unit_test(a_clock_that_differs),
        cmocka_unit_test(a_flood_changes_nothing),
        cmocka_unit_test(what_strangers_take_is_bounded),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
