/* Runs clusters for tests. */
#include "harness/cluster/cluster_run.h"
#include "harness/harness.h"

#include "base/file.h"
#include "distribute/transport/cluster_keys.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- places ---- */

static char texts[LIANA__TEST_MEMBERS][128];
static const char *addresses[LIANA__TEST_MEMBERS];

static char socket_folder[64];

static void remove_socket_folder(void)
{
    if (liana__folder_remove(socket_folder, NULL) != LIANA_OK) fprintf(stderr, "could not remove %s\n", socket_folder);
}

const char *const *liana__test_sockets(size_t count)
{
    static int number;
    char folder[96];
    if (!*socket_folder) {
        /* The test's own folder is made anew between tests. */
        snprintf(socket_folder, sizeof socket_folder, "/tmp/liana-test-XXXXXX");
        assert_non_null(mkdtemp(socket_folder));
        atexit(remove_socket_folder);
    }
    snprintf(folder, sizeof folder, "%s/%d", socket_folder, number++);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "ipc://%s/%zu", folder, i);
        addresses[i] = texts[i];
    }
    return addresses;
}

/* Below the ports that the system gives to connections, and not those of the documents. */
enum { FIRST_PORT = 20000, NUM_PORTS = 9000 };

/* Claims a port among the tests of this machine: by a name that one process has, until the file is closed.
 * -1: another test has it. */
static int claim_port(int port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    /* The first byte stays 0: the name is in no folder. */
    const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "liana-test-port-%d", port);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    const int claim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (claim >= 0 && bind(claim, (struct sockaddr *)&name, size) == 0) return claim;
    if (claim >= 0) close(claim);
    return -1;
}

static bool is_free(int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    name.sin_port = htons((uint16_t)port);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_bound = listener >= 0 && bind(listener, (struct sockaddr *)&name, sizeof name) == 0;
    if (listener >= 0) close(listener);
    return is_bound;
}

int liana__test_free_port(void)
{
    static unsigned next;
    if (!next) next = (unsigned)getpid() * 31;
    for (int tries = 0; tries < NUM_PORTS; tries++) {
        const int port = FIRST_PORT + (int)(next++ % NUM_PORTS);
        /* Whether it is free is tried by binding to it: that would be in the way of a test that has claimed it. */
        const int claim = claim_port(port);
        if (claim < 0) continue;
        if (is_free(port)) return port; /* claimed until this process ends */
        close(claim);
    }
    fail_msg("no port is free from %d to %d", (int)FIRST_PORT, FIRST_PORT + NUM_PORTS - 1);
    return 0;
}

const char *const *liana__test_ports(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "127.0.0.1:%d", liana__test_free_port());
        addresses[i] = texts[i];
    }
    return addresses;
}

const char *liana__test_keys(void)
{
    static char folder[512];
    liana__error error = {0};
    snprintf(folder, sizeof folder, "%s", liana__test_path("keys"));
    if (access(folder, F_OK) != 0) assert_ok(liana__cluster_keys_make(folder, &error), &error);
    return folder;
}

void liana__test_members(liana__test_member *members, size_t count, const char *const *where, const char *keys)
{
    for (size_t i = 0; i < count; i++) {
        members[i] = (liana__test_member){
            .place = {.transport = "zmq",
                      .role = i == 0 ? LIANA__ROLE_CHIEF : LIANA__ROLE_WORKER,
                      .rank = i,
                      .num_workers = count,
                      .addresses = where,
                      .source = "the test",
                      .keys = keys,
                      .timeout = 120,
                      .heartbeat = 60},
        };
    }
}

/* ---- running ---- */

static void *run_member(void *user)
{
    liana__test_member *member = user;
    member->transport = liana__transport_find(member->place.transport, &member->error);
    member->status = member->transport ? member->transport->open(&member->place, &member->instance, &member->error)
                                       : member->error.status;
    if (member->status != LIANA_OK) return NULL;
    if (member->body) member->body(member);
    member->transport->close(member->instance);
    return NULL;
}

void liana__test_run_members(liana__test_member *members, size_t count)
{
    pthread_t threads[LIANA__TEST_MEMBERS];
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

pid_t liana__test_start_member(liana__test_member *member)
{
    fflush(NULL);
    pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process > 0) return process;
    run_member(member);
    if (member->status != LIANA_OK) fprintf(stderr, "rank %zu: %s\n", member->place.rank, member->error.message);
    fflush(NULL);
    _exit(member->status == LIANA_OK ? 0 : 1);
}

int liana__test_end_member(pid_t process)
{
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
