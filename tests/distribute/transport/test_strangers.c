/* Connections without a key, more of them than a process may have file descriptors: a training goes on and saves its
 * checkpoints, and a server answers its clients. */
#include "harness/cluster/cluster_job.h"
#include "harness/cluster/cluster_run.h"
#include "harness/peers.h"
#include "harness/text_files.h"
#include "harness/wait_until.h"

#include "base/descriptor.h"
#include "base/file.h"
#include "distribute/transport/service.h"
#include "distribute/transport/zmq_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* LIMIT: descriptors of the process that is visited by VISITORS at the same time. */
enum { COUNT = 90, LIMIT = 1024, VISITORS = 1200 };

static void limit_descriptors(rlim_t limit)
{
    const struct rlimit limits = {limit, limit};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limits), 0);
}

/* The test holds the other ends. */
static void skip_without_descriptors(void)
{
    struct rlimit limits;
    liana__descriptors_prepare();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limits), 0);
    if (limits.rlim_cur < VISITORS + 200) liana__test_skip("too few files may be open (ulimit -n)");
}

/* ---- files where no descriptor is left ---- */

static void fill_all(void)
{
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    }
    assert_int_equal(errno, EMFILE);
}

/* In a process of its own. */
static int in_child(void (*body)(void))
{
    int status;
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void use_the_reserve(void)
{
    liana__error error = {0};
    struct rlimit limits;
    char *text;
    size_t size;
    limit_descriptors(300);
    liana__descriptors_prepare();
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0 || limits.rlim_cur >= 300) _exit(1);
    fill_all();
    if (liana__file_replace(liana__test_path("reserve"), "abc", 3, &error) != LIANA_OK) _exit(2);
    if (liana__file_read(liana__test_path("reserve"), 10, &text, &size, &error) != LIANA_OK || size != 3) _exit(3);
    DIR *folder = liana__opendir(liana__test_path("."));
    if (!folder) _exit(4);
    closedir(folder);
    /* The reserve is one again, and other errors stay as they are. */
    if (open("/dev/null", O_RDONLY) >= 0 || errno != EMFILE) _exit(5);
    if (liana__open(liana__test_path("nowhere"), O_RDONLY, 0) >= 0 || errno != ENOENT) _exit(6);
}

static void *close_one(void *user)
{
    liana__job_pause(0.3);
    close(*(const int *)user);
    return NULL;
}

/* Not even the reserve is left: an open waits. */
static void wait_for_one(void)
{
    pthread_t thread;
    limit_descriptors(300);
    int one = open("/dev/null", O_RDONLY);
    fill_all();
    if (pthread_create(&thread, NULL, close_one, &one) != 0) _exit(1);
    if (liana__open("/dev/null", O_RDONLY, 0) < 0) _exit(2);
    pthread_join(thread, NULL);
}

static void test_files_where_no_descriptor_is_left(void **state)
{
    (void)state;
    assert_int_equal(in_child(use_the_reserve), 0);
    assert_int_equal(in_child(wait_for_one), 0);
}

/* The soft limit goes up, and not further than useful. */
static void raise_the_limit(void)
{
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0 || limits.rlim_max < 2000) _exit(0);
    limits.rlim_cur = 256;
    if (setrlimit(RLIMIT_NOFILE, &limits) != 0) _exit(1);
    for (int i = 0; i < 2; i++) liana__descriptors_prepare();
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0) _exit(2);
    if (limits.rlim_cur < 1000 || limits.rlim_cur > 65536 || limits.rlim_cur >= limits.rlim_max) _exit(3);
}

static void test_the_limit_is_raised(void **state)
{
    (void)state;
    assert_int_equal(in_child(raise_the_limit), 0);
}

/* ---- visitors ---- */

typedef struct visit {
    int port;
    const char *words; /* the first words of each */
    size_t size;
    atomic_bool over;
    atomic_int rounds; /* in which as many as VISITORS have come */
    atomic_int visits;
} visit;

static int knock(const visit *own)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    name.sin_port = htons((uint16_t)own->port);
    const int visitor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (visitor < 0) return -1;
    if (connect(visitor, (struct sockaddr *)&name, sizeof name) != 0) {
        close(visitor);
        return -1;
    }
    if (own->size) (void)!send(visitor, own->words, own->size, MSG_NOSIGNAL);
    return visitor;
}

static void *visit_all(void *user)
{
    visit *own = user;
    static int held[VISITORS];
    while (!own->over) {
        int count = 0;
        for (int i = 0; i < VISITORS && !own->over; i++) {
            held[count] = knock(own);
            own->visits += held[count] >= 0;
            count += held[count] >= 0;
        }
        own->rounds += count == VISITORS;
        for (int i = 0; i < 10 && count > 0 && !own->over; i++) liana__job_pause(0.1);
        for (int i = 0; i < count; i++) close(held[i]);
    }
    return NULL;
}

/* libzmq's first bytes, and half of them. */
static const char opening[] = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0CURVE";
static const struct {
    const char *words;
    size_t size;
} kinds[] = {{"", 0}, {opening, 1}, {opening, 12}};

static void test_a_training_goes_on(void **state)
{
    (void)state;
    skip_without_descriptors();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        visit own = {.port = liana__test_free_port(), .words = kinds[i].words, .size = kinds[i].size};
        liana__test_job job = {.name = "visited", .number = (int)i, .workers = 2, .heartbeat = "60", .port = own.port};
        const struct rlimit limits = {LIMIT, LIMIT};
        pthread_t thread;
        /* The first process waits for the other one until the visitors are there. */
        liana__job_start(&job, 0, "");
        assert_int_equal(prlimit(job.processes[0], RLIMIT_NOFILE, &limits, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, visit_all, &own), 0);
        for (int k = 0; own.visits <= VISITORS / 2; k++) {
            assert_compare(k, <, 6000); /* a minute */
            liana__job_pause(0.01);
        }
        liana__job_start(&job, 1, "");
        assert_int_equal(prlimit(job.processes[1], RLIMIT_NOFILE, &limits, NULL), 0);
        for (size_t k = 0; k < 2; k++) liana__job_assert_ends(&job, k, 0);
        own.over = true;
        pthread_join(thread, NULL);
        char left[700], right[700];
        snprintf(left, sizeof left, "%s/history.json", liana__job_folder(&job));
        snprintf(right, sizeof right, "%s", liana__test_path("alone/history.json"));
        assert_same_file(left, right);
    }
}

/* ---- a server ---- */

static bool has_room(void *user, size_t size)
{
    (void)user;
    (void)size;
    return true;
}

static void echo(void *user, uint64_t client, const char *host, const liana__service_message *message)
{
    (void)host;
    liana__service_send(*(liana__service **)user, client, message);
    free(message->bytes);
}

static void refuse(void *user, uint64_t client, uint64_t number, size_t size)
{
    (void)user;
    (void)client;
    (void)number;
    (void)size;
}

static void forget(void *user, uint64_t client)
{
    (void)user;
    (void)client;
}

static _Noreturn void serve(const char *address, int told)
{
    liana__service *service;
    const liana__service_calls calls = {has_room, echo, refuse, forget, &service};
    const liana__service_place place = {.address = address,
                                        .keys = liana__test_keys(),
                                        .source = "the test",
                                        .heartbeat = 60};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    limit_descriptors(LIMIT);
    if (liana__service_open(&place, &calls, &service, NULL) != LIANA_OK) _exit(1);
    if (write(told, "", 1) != 1) _exit(2);
    for (;;) liana__service_turn(service, 1);
}

static void assert_answers(liana__link *link, uint64_t number)
{
    liana__error error = {0};
    liana__service_message message = {.number = number, .kind = 1}, answer;
    assert_ok(liana__link_send(link, &message, "abc", 3, &error), &error);
    assert_ok(liana__link_receive(link, &answer, &error), &error);
    assert_int_equal(answer.number, number);
    assert_int_equal(answer.size, 3);
    free(answer.bytes);
}

/* A client that was there before and has said nothing yet, and one that comes meanwhile. */
static void test_a_server_answers(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__link *links[2];
    int told[2];
    char byte;
    pthread_t thread;
    skip_without_descriptors();
    const char *address = liana__test_ports(1)[0];
    visit own = {.port = atoi(strchr(address, ':') + 1), .words = opening, .size = 12};
    const liana__service_place place = {
        .address = address, .keys = liana__test_keys(), .source = "the test", .timeout = 120, .heartbeat = 60};
    assert_int_equal(pipe(told), 0);
    fflush(NULL);
    const pid_t server = fork();
    if (server == 0) serve(address, told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_ok(liana__link_open(&place, &links[0], &error), &error);
    assert_int_equal(pthread_create(&thread, NULL, visit_all, &own), 0);
    wait_until(own.rounds > 0);
    assert_ok(liana__link_open(&place, &links[1], &error), &error);
    for (size_t i = 0; i < 2; i++) assert_answers(links[i], i + 1);
    wait_until(own.rounds > 1);
    for (size_t i = 0; i < 2; i++) assert_answers(links[i], i + 3);
    own.over = true;
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 2; i++) liana__link_close(links[i]);
    assert_int_equal(waitpid(server, NULL, WNOHANG), 0);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

/* A client whose connection is ended before the server has read a word of it comes in with its next one. */
typedef struct slow_client {
    visit visit;
    pid_t halted; /* a server that does nothing while visitors come; 0: the client says nothing meanwhile */
    pthread_t thread;
    int looks;
} slow_client;

/* Called by the client before it looks whether it is connected, and again when it has said its first word. libzmq
 * agrees on the keys in a thread of its own. */
static bool is_visited_first(void *user)
{
    enum { WAITING = 64 }; /* visitors whom a halted server has room for */
    slow_client *own = user;
    if (own->looks++ > 0) return false;
    liana__job_pause(0.5);
    if (own->halted) assert_int_equal(kill(own->halted, SIGSTOP), 0);
    assert_int_equal(pthread_create(&own->thread, NULL, visit_all, &own->visit), 0);
    wait_until(own->halted ? own->visit.visits > WAITING : own->visit.rounds > 0);
    if (own->halted) assert_int_equal(kill(own->halted, SIGCONT), 0);
    liana__job_pause(0.5);
    return false;
}

static void assert_comes_in(const char *words, size_t size, bool halts)
{
    liana__error error = {0};
    liana__link *link;
    int told[2];
    char byte;
    const char *address = liana__test_ports(1)[0];
    slow_client own = {.visit = {.port = atoi(strchr(address, ':') + 1), .words = words, .size = size}};
    const liana__service_place place = {.address = address,
                                        .keys = liana__test_keys(),
                                        .source = "the test",
                                        .timeout = 120,
                                        .heartbeat = 60,
                                        .stop = is_visited_first,
                                        .user = &own};
    assert_int_equal(pipe(told), 0);
    fflush(NULL);
    const pid_t server = fork();
    if (server == 0) serve(address, told[1]);
    if (halts) own.halted = server;
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_ok(liana__link_open(&place, &link, &error), &error);
    for (uint64_t i = 1; i < 3; i++) assert_answers(link, i);
    own.visit.over = true;
    assert_compare(own.looks, >, 0);
    pthread_join(own.thread, NULL);
    liana__link_close(link);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
    close(told[0]);
    close(told[1]);
}

static void test_a_client_that_says_nothing_at_first(void **state)
{
    (void)state;
    skip_without_descriptors();
    assert_comes_in(opening, 12, false);
    assert_comes_in("", 0, false);
    assert_comes_in(opening, 1, true);
}

/* ---- a connection that ends before the client has looked ---- */

/* Takes the client's first frame, and sends it back if `answers`: any frame is an answer. Then the connection ends. */
static void serve_once(const char *address, bool answers)
{
    zmq_msg_t id, frame;
    void *context = zmq_ctx_new(), *router = zmq_socket(context, ZMQ_ROUTER);
    if (zmq_bind(router, address) != 0) _exit(3);
    zmq_msg_init(&id);
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&id, router, 0) < 0 || zmq_msg_recv(&frame, router, 0) < 0) _exit(4);
    if (answers) {
        zmq_msg_send(&id, router, ZMQ_SNDMORE);
        zmq_msg_send(&frame, router, 0);
    }
    zmq_msg_close(&id);
    zmq_msg_close(&frame);
    zmq_close(router);
    zmq_ctx_term(context);
}

/* By connection: 'a': it ends with an answer; 's': in silence. Then comes the server. */
static _Noreturn void serve_after(const char *address, const char *connections, int told)
{
    if (liana__zmq_load(NULL) != LIANA_OK) _exit(5);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (; *connections; connections++) serve_once(address, *connections == 'a');
    serve(address, told);
}

/* Time for the server to answer, to end the connection and to get the next one, before the client looks again. */
static bool pauses(void *user)
{
    (void)user;
    liana__job_pause(0.7);
    return false;
}

static void assert_opens_after(const char *connections)
{
    liana__error error = {0};
    liana__link *link;
    int told[2];
    const char *address = liana__test_sockets(1)[0];
    const liana__service_place place = {
        .address = address, .source = "the test", .timeout = 120, .heartbeat = 60, .stop = pauses};
    assert_int_equal(pipe(told), 0);
    fflush(NULL);
    const pid_t server = fork();
    if (server == 0) serve_after(address, connections, told[1]);
    assert_ok(liana__link_open(&place, &link, &error), &error);
    liana__job_pause(0.7);
    for (uint64_t i = 1; i < 3; i++) assert_answers(link, i);
    liana__link_close(link);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
    close(told[0]);
    close(told[1]);
}

/* A link is open when the server has answered over the connection that is there, and not over one that has ended. */
static void test_connections_that_end_early(void **state)
{
    (void)state;
    static const char *const all[] = {"as", "s", "aa", "asas"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_opens_after(all[i]);
}

static int make_data(void **state)
{
    (void)state;
    liana__job_make_data(COUNT, LIANA__JOB_EPOCHS);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_where_no_descriptor_is_left),
        cmocka_unit_test(test_the_limit_is_raised),
        cmocka_unit_test(test_a_training_goes_on),
        cmocka_unit_test(test_a_server_answers),
        cmocka_unit_test(test_a_client_that_says_nothing_at_first),
        cmocka_unit_test(test_connections_that_end_early),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
