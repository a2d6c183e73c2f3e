/* The transport zmq: messages between processes, meetings that do not come together, processes that die, strangers. */
#include <liana/context.h>

#include "harness/cluster/cluster_run.h"
#include "harness/harness.h"
#include "harness/tap.h"

#include "base/clock.h"
#include "distribute/transport/cluster_keys.h"
#include "distribute/transport/frame.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRY_MEMBER(member, expression)                                     \
    do {                                                                   \
        if ((member)->status == LIANA_OK) (member)->status = (expression); \
    } while (0)

static void demand(liana__test_member *member, bool condition, const char *what)
{
    if (condition || member->status != LIANA_OK) return;
    member->status = liana__fail(&member->error, LIANA_INTERNAL, "rank %zu: %s", member->place.rank, what);
}

static void all_ok(const liana__test_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_ok(members[i].status, &members[i].error);
}

/* ---- messages ---- */

static const size_t sizes[] = {
    0, 1, 4096, LIANA__FRAME_PIECE, 0, 200 * 1000, LIANA__FRAME_PIECE + 1, 3 * LIANA__FRAME_PIECE + 77};
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

static uint8_t byte_of(size_t from, size_t to, uint64_t step, size_t index)
{
    return (uint8_t)(from * 31 + to * 17 + step * 7 + index * 13 + (index >> 11));
}

/* By turns as one piece of memory, and as three parts: one is empty. */
static liana_status send_bytes(liana__test_member *member, size_t to, liana__message_key key, const uint8_t *bytes,
                               size_t size)
{
    const size_t first = size / 3;
    const liana__message_part parts[] = {{bytes, first}, {NULL, 0}, {bytes + first, size - first}};
    if (key.step % 2 == 0) {
        return liana__transport_send(member->transport, member->instance, to, key, bytes, size, &member->error);
    }
    return member->transport->send(member->instance, to, key, parts, 3, &member->error);
}

/* By turns as a copy, and with the message's own memory. */
static liana_status receive_bytes(liana__test_member *member, size_t from, liana__message_key key, uint8_t *bytes,
                                  size_t size)
{
    const liana__transport *transport = member->transport;
    const double until = liana__clock_seconds() + 60;
    if ((key.step + from) % 2) {
        return liana__transport_receive(transport, member->instance, from, key, bytes, size, until, &member->error);
    }
    liana__message message = {0};
    const liana_status status =
        transport->receive(member->instance, from, key, &(liana__receipt){NULL, &message, size}, until, &member->error);
    if (status == LIANA_OK && size) memcpy(bytes, message.bytes, size);
    liana__message_free(&message);
    return status;
}

/* Each sends to each, itself too; each receives in another order than was sent. */
static void exchange_all(liana__test_member *member)
{
    const liana__transport *transport = member->transport;
    size_t count = member->place.num_workers, rank = member->place.rank;
    uint8_t *bytes = malloc(sizes[NUM_SIZES - 1]);
    for (size_t step = 0; step < NUM_SIZES; step++) {
        for (size_t to = 0; to < count; to++) {
            for (size_t i = 0; i < sizes[step]; i++) bytes[i] = byte_of(rank, to, step, i);
            const liana__message_key key = {0, step, 5, (uint32_t)rank};
            TRY_MEMBER(member, send_bytes(member, to, key, bytes, sizes[step]));
            memset(bytes, 0xee, sizes[step]);
        }
    }
    for (size_t step = NUM_SIZES; step-- > 0;) {
        for (size_t from = count; from-- > 0;) {
            const liana__message_key key = {0, step, 5, (uint32_t)from};
            TRY_MEMBER(member, receive_bytes(member, from, key, bytes, sizes[step]));
            for (size_t i = 0; i < sizes[step] && member->status == LIANA_OK; i++) {
                demand(member, bytes[i] == byte_of(from, rank, step, i), "a byte of a message is another one");
            }
        }
    }
    free(bytes);
    liana__transport_counters counters;
    transport->counters(member->instance, &counters);
    size_t sum = 0;
    for (size_t step = 0; step < NUM_SIZES; step++) sum += sizes[step];
    demand(member, counters.messages_sent == (count - 1) * NUM_SIZES, "messages sent are miscounted");
    demand(member, counters.messages_received == (count - 1) * NUM_SIZES, "messages received are miscounted");
    demand(member, counters.bytes_sent == (count - 1) * sum, "bytes sent are miscounted");
    demand(member, counters.bytes_received == (count - 1) * sum, "bytes received are miscounted");
}

static void run_exchange(size_t count, const char *const *addresses, const char *keys)
{
    liana__test_member members[LIANA__TEST_MEMBERS];
    liana__test_members(members, count, addresses, keys);
    for (size_t i = 0; i < count; i++) members[i].body = exchange_all;
    liana__test_run_members(members, count);
    all_ok(members, count);
}

static void messages_over_sockets_in_a_folder(void **state)
{
    (void)state;
    run_exchange(2, liana__test_sockets(2), NULL);
    run_exchange(5, liana__test_sockets(5), NULL);
}

static void messages_over_tcp_with_keys(void **state)
{
    (void)state;
    run_exchange(3, liana__test_ports(3), liana__test_keys());
}

/* Only the address of rank 0 is known. */
static void messages_with_a_master(void **state)
{
    (void)state;
    liana__test_member members[4];
    char master[64];
    snprintf(master, sizeof master, "127.0.0.1:%d", liana__test_free_port());
    liana__test_members(members, 4, NULL, liana__test_keys());
    for (size_t i = 0; i < 4; i++) {
        members[i].place.master = master;
        members[i].body = exchange_all;
    }
    liana__test_run_members(members, 4);
    all_ok(members, 4);
}

/* ---- possible ends of a receive ---- */

static void receive_badly(liana__test_member *member)
{
    const liana__transport *transport = member->transport;
    liana__message_key key = {0, 1, 1, 0}, other = {0, 1, 2, 0}, ready = {0, 9, 9, 9};
    char bytes[16] = "";
    size_t size = 0;
    liana__error error = {0};
    if (member->place.rank == 1) {
        TRY_MEMBER(member, liana__transport_send(transport, member->instance, 0, key, "hello", 5, &member->error));
        TRY_MEMBER(member,
                   liana__transport_receive(transport, member->instance, 0, ready, bytes, 1, 0, &member->error));
        return;
    }
    demand(member, !transport->peek(member->instance, 1, other, &size), "there is a message that was not sent");
    liana_status status = liana__transport_receive(transport, member->instance, 1, other, bytes, 5,
                                                   liana__clock_seconds() + 0.05, &error);
    demand(member, status == LIANA_UNAVAILABLE && strstr(error.message, "rank 1 has not sent"), error.message);
    const double begun = liana__clock_seconds();
    while (!transport->peek(member->instance, 1, key, &size) && liana__clock_seconds() - begun < 300) usleep(1000);
    demand(member, size == 5, "peek tells another size");
    status = liana__transport_receive(transport, member->instance, 1, key, bytes, 7, 0, &error);
    demand(member, status == LIANA_INTERNAL && strstr(error.message, "5 bytes, expected 7"), error.message);
    TRY_MEMBER(member, liana__transport_send(transport, member->instance, 1, ready, "", 1, &member->error));
    /* Rank 1 leaves. */
    status = liana__transport_receive(transport, member->instance, 1, other, bytes, 5, 0, &error);
    demand(member, status == LIANA_UNAVAILABLE && strstr(error.message, "rank 1 has left"), error.message);
    demand(member, transport->is_gone(member->instance, 1), "who has left is not gone");
    TRY_MEMBER(member, liana__transport_send(transport, member->instance, 1, ready, "", 1, &member->error));
}

static void receives_end_with_a_reason(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__test_members(members, 2, liana__test_sockets(2), NULL);
    members[0].body = members[1].body = receive_badly;
    liana__test_run_members(members, 2);
    all_ok(members, 2);
}

static void *interrupt_later(void *user)
{
    liana__test_member *member = user;
    usleep(50 * 1000);
    member->transport->interrupt(member->instance);
    return NULL;
}

static void change_generation(liana__test_member *member)
{
    const liana__transport *transport = member->transport;
    static const bool both[2] = {true, true};
    size_t other = 1 - member->place.rank;
    liana__message_key old = {0, 1, 1, 0}, next = {1, 1, 1, 0}, never = {0, 2, 1, 0};
    char byte = 'o';
    liana__error error = {0};
    pthread_t thread;
    TRY_MEMBER(member, liana__transport_send(transport, member->instance, other, old, &byte, 1, &member->error));
    byte = 'n';
    TRY_MEMBER(member, liana__transport_send(transport, member->instance, other, next, &byte, 1, &member->error));
    pthread_create(&thread, NULL, interrupt_later, member);
    liana_status status = liana__transport_receive(transport, member->instance, other, never, &byte, 1, 0, &error);
    pthread_join(thread, NULL);
    demand(member, status == LIANA_UNAVAILABLE && strstr(error.message, "was interrupted"), error.message);
    transport->set_generation(member->instance, 1, both);
    status = liana__transport_receive(transport, member->instance, other, old, &byte, 1, 0, &error);
    demand(member, status == LIANA_UNAVAILABLE && strstr(error.message, "generation 0"), error.message);
    TRY_MEMBER(member, liana__transport_receive(transport, member->instance, other, next, &byte, 1, 0, &member->error));
    demand(member, byte == 'n', "the message of the new generation is another one");
    /* Neither leaves before the other has all. */
    TRY_MEMBER(member, liana__transport_send(transport, member->instance, other, (liana__message_key){1, 9, 9, 9}, "",
                                             1, &member->error));
    TRY_MEMBER(member, liana__transport_receive(transport, member->instance, other, (liana__message_key){1, 9, 9, 9},
                                                &byte, 1, 0, &member->error));
}

static void generations_drop_older_messages(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__test_members(members, 2, liana__test_sockets(2), NULL);
    members[0].body = members[1].body = change_generation;
    liana__test_run_members(members, 2);
    all_ok(members, 2);
}

static void send_too_much(liana__test_member *member)
{
    static char bytes[100 * 1000];
    liana__message_key key = {0, 0, 1, 0};
    liana__error error = {0};
    if (member->place.rank == 1) {
        for (key.step = 0; key.step < 20; key.step++) {
            TRY_MEMBER(member, liana__transport_send(member->transport, member->instance, 0, key, bytes, sizeof bytes,
                                                     &member->error));
        }
        return;
    }
    key.step = 1000;
    liana_status status = liana__transport_receive(member->transport, member->instance, 1, key, bytes, 1, 0, &error);
    demand(member, status == LIANA_OUT_OF_MEMORY && strstr(error.message, "nobody has asked for"), error.message);
}

static void kept_messages_are_limited(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__test_members(members, 2, liana__test_sockets(2), NULL);
    members[0].body = members[1].body = send_too_much;
    members[0].place.max_kept = 1 << 20;
    liana__test_run_members(members, 2);
    all_ok(members, 2);
}

/* ---- meetings that do not come together ---- */

static void who_is_missing_is_named_everywhere(void **state)
{
    (void)state;
    liana__test_member members[4];
    const char *const *addresses = liana__test_ports(4);
    liana__test_members(members, 4, addresses, liana__test_keys());
    for (size_t i = 0; i < 4; i++) members[i].place.timeout = 0.6;
    /* Rank 3 never comes. */
    liana__test_run_members(members, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_fails(members[i].status, LIANA_UNAVAILABLE, &members[i].error, "rank 3", addresses[3], "0.6 s");
    }
}

static char said[512];
static void say(void *user, const char *line)
{
    (void)user;
    snprintf(said, sizeof said, "%s", line);
}

static bool has_said(void *user)
{
    (void)user;
    return *said;
}

static void waiting_is_said(void **state)
{
    (void)state;
    liana__test_member members[2];
    const char *const *addresses = liana__test_sockets(2);
    liana__test_members(members, 2, addresses, NULL);
    members[0].place.say = say;
    members[0].place.stop = has_said;
    liana__test_run_members(members, 1);
    assert_fails(members[0].status, LIANA_CANCELLED, &members[0].error, "was stopped while it waited");
    assert_says(said, "rank 0 of 2 waits for rank 1 at ipc://");
}

static void the_same_rank_twice(void **state)
{
    (void)state;
    liana__test_member members[3];
    const char *const *ports = liana__test_ports(4);
    const char *second[] = {ports[0], ports[3], ports[2]};
    liana__test_members(members, 3, ports, liana__test_keys());
    /* Rank 2 never comes, so all are still meeting when the second rank 1 does. */
    members[2] = members[1];
    members[2].place.addresses = second;
    for (size_t i = 0; i < 3; i++) members[i].place.id = "one";
    liana__test_run_members(members, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_fails(members[i].status, LIANA_UNAVAILABLE, &members[i].error, "two processes say that they are rank 1",
                     "process");
    }
}

static void a_port_in_use(void **state)
{
    (void)state;
    liana__test_member members[2];
    const char *const *ports = liana__test_ports(2);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    name.sin_port = htons((uint16_t)atoi(strchr(ports[0], ':') + 1));
    int holder = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(holder, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(holder, 1), 0);
    liana__test_members(members, 2, ports, liana__test_keys());
    members[1].place.timeout = 0.5;
    liana__test_run_members(members, 2);
    assert_fails(members[0].status, LIANA_UNAVAILABLE, &members[0].error, "in use", ports[0], "rank 0", "the test");
    assert_fails(members[1].status, LIANA_UNAVAILABLE, &members[1].error, "rank 0 at", ports[0]);
    close(holder);
    /* A socket on which somebody listens is not taken over. */
    const char *const *sockets = liana__test_sockets(2);
    liana__test_members(members, 2, sockets, NULL);
    members[1].place.rank = 0;
    /* The first is there until the second has come. */
    members[0].place.timeout = members[1].place.timeout = 10;
    liana__test_run_members(members, 2);
    bool first = strstr(members[0].error.message, "another process listens") != NULL;
    assert_fails(members[first ? 0 : 1].status, LIANA_UNAVAILABLE, &members[first ? 0 : 1].error,
                 "rank 0 is there already", sockets[0]);
}

static void other_sizes_and_clusters(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__test_members(members, 2, liana__test_sockets(3), NULL);
    members[1].place.num_workers = 3;
    liana__test_run_members(members, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_fails(members[i].status, LIANA_UNAVAILABLE, &members[i].error, "workers", "servers", "told the same");
    }
    liana__test_members(members, 2, liana__test_sockets(2), NULL);
    members[1].place.id = "another";
    liana__test_run_members(members, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_fails(members[i].status, LIANA_UNAVAILABLE, &members[i].error, "another cluster");
    }
}

static void wrong_and_missing_keys(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__error error = {0};
    const char *others = liana__test_path("other-keys"), *const *ports = liana__test_ports(2);
    assert_ok(liana__cluster_keys_make(others, &error), &error);
    assert_fails(liana__cluster_keys_make(others, &error), LIANA_INVALID_CONFIG, &error, "there already");
    liana__test_members(members, 2, ports, liana__test_keys());
    members[1].place.keys = others;
    members[0].place.timeout = members[1].place.timeout = 10;
    liana__test_run_members(members, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_fails(members[i].status, LIANA_UNAVAILABLE, &members[i].error, ports[1 - i],
                     "does not hold the cluster's key");
    }
    liana__test_members(members, 1, ports, NULL);
    liana__test_run_members(members, 1);
    assert_fails(members[0].status, LIANA_INVALID_CONFIG, &members[0].error, "liana cluster keys", "cluster.keys");
    members[0].place.keys = liana__test_path("no-keys");
    liana__test_run_members(members, 1);
    assert_fails(members[0].status, LIANA_INVALID_CONFIG, &members[0].error, "no-keys", "No such file");
}

static void folders_that_others_may_enter(void **state)
{
    (void)state;
    liana__cluster_keys keys;
    liana__error error = {0};
    char folder[512], file[600];
    snprintf(folder, sizeof folder, "%s", liana__test_path("open-keys"));
    snprintf(file, sizeof file, "%s/cluster.secret", folder);
    assert_ok(liana__cluster_keys_make(folder, &error), &error);
    assert_ok(liana__cluster_keys_read(folder, &keys, &error), &error);
    assert_int_equal(strlen(keys.secret_key), 40);
    assert_int_not_equal(strcmp(keys.secret_key, keys.public_key), 0);
    chmod(folder, 0755);
    assert_fails(liana__cluster_keys_read(folder, &keys, &error), LIANA_INVALID_CONFIG, &error, "0755", "chmod 700");
    /* /tmp must not be closed for others. */
    assert_int_equal(chmod(folder, 01777), 0);
    assert_fails(liana__cluster_keys_read(folder, &keys, &error), LIANA_INVALID_CONFIG, &error, "1777", "mkdir -m 700");
    assert_never_says(error.message, "chmod");
    chmod(folder, 0700);
    chmod(file, 0644);
    assert_fails(liana__cluster_keys_read(folder, &keys, &error), LIANA_INVALID_CONFIG, &error, "chmod 600");
    chmod(file, 0600);
    assert_int_equal(truncate(file, 17), 0);
    assert_fails(liana__cluster_keys_read(folder, &keys, &error), LIANA_INVALID_CONFIG, &error, "17 bytes", "no key");
    liana__test_member members[2];
    liana__test_members(members, 2, liana__test_sockets(2), NULL);
    snprintf(folder, sizeof folder, "%s", members[0].place.addresses[0] + 6);
    *strrchr(folder, '/') = '\0';
    chmod(folder, 0750);
    liana__test_run_members(members, 1);
    assert_fails(members[0].status, LIANA_INVALID_CONFIG, &members[0].error, "folder of sockets", "0750");
}

/* ---- processes that die ---- */

/* How many have met; shared between processes. */
static atomic_int *num_met;

static void wait_to_be_killed(liana__test_member *member)
{
    liana__error error = {0};
    char byte;
    atomic_fetch_add(num_met, 1);
    if (member->place.rank == 2) {
        for (;;) pause();
    }
    double begun = liana__clock_seconds();
    liana_status status =
        liana__transport_receive(member->transport, member->instance, 2, (liana__message_key){0}, &byte, 1, 0, &error);
    double waited = liana__clock_seconds() - begun;
    demand(member, status == LIANA_UNAVAILABLE && strstr(error.message, "rank 2"), error.message);
    demand(member, member->transport->is_gone(member->instance, 2), "a dead process is not gone");
    demand(member, waited < 60, "a dead process was noticed late");
    /* The two that are left go on. */
    size_t other = 1 - member->place.rank;
    static const bool left[] = {true, true, false};
    member->transport->set_generation(member->instance, 1, left);
    TRY_MEMBER(member, liana__transport_send(member->transport, member->instance, other,
                                             (liana__message_key){1, 0, 0, 0}, "x", 1, &member->error));
    TRY_MEMBER(member, liana__transport_receive(member->transport, member->instance, other,
                                                (liana__message_key){1, 0, 0, 0}, &byte, 1, 0, &member->error));
}

static void end_process_with(int signal_number, double heartbeat)
{
    liana__test_member members[3];
    pid_t processes[3];
    num_met = mmap(NULL, sizeof *num_met, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(num_met, MAP_FAILED);
    liana__test_members(members, 3, liana__test_sockets(3), NULL);
    for (size_t i = 0; i < 3; i++) {
        members[i].place.heartbeat = heartbeat;
        members[i].body = wait_to_be_killed;
        processes[i] = liana__test_start_member(&members[i]);
    }
    for (int i = 0; i < 60000 && atomic_load(num_met) < 3; i++) usleep(1000);
    assert_int_equal(atomic_load(num_met), 3);
    kill(processes[2], signal_number);
    assert_int_equal(liana__test_end_member(processes[0]), 0);
    assert_int_equal(liana__test_end_member(processes[1]), 0);
    kill(processes[2], SIGKILL);
    assert_int_equal(liana__test_end_member(processes[2]), 128 + SIGKILL);
    munmap(num_met, sizeof *num_met);
}

static void a_killed_process_is_noticed(void **state)
{
    (void)state;
    /* By its connection, long before the heartbeat. */
    end_process_with(SIGKILL, 600);
}

static void a_stopped_process_is_noticed(void **state)
{
    (void)state;
    end_process_with(SIGSTOP, 6);
}

/* Rank 1 has been met, and rank 2 has not. */
static void note_meeting(void *user, const char *line)
{
    (void)user;
    if (strstr(line, "waits for rank 2")) atomic_store(num_met, 2);
}

/* Its connection stays open: only its silence tells that another process may have its place. */
static void a_process_in_the_place_of_one_that_is_stopped_while_all_meet(void **state)
{
    (void)state;
    liana__test_member members[3];
    pid_t processes[3], second;
    char master[64];
    num_met = mmap(NULL, sizeof *num_met, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(num_met, MAP_FAILED);
    snprintf(master, sizeof master, "127.0.0.1:%d", liana__test_free_port());
    liana__test_members(members, 3, NULL, liana__test_keys());
    for (size_t i = 0; i < 3; i++) {
        members[i].place.master = master;
        members[i].place.heartbeat = 6;
        members[i].body = exchange_all;
    }
    members[0].place.say = note_meeting;
    for (size_t i = 0; i < 2; i++) processes[i] = liana__test_start_member(&members[i]);
    for (int i = 0; i < 60000 && atomic_load(num_met) < 2; i++) usleep(1000);
    assert_int_equal(atomic_load(num_met), 2);
    kill(processes[1], SIGSTOP);
    second = liana__test_start_member(&members[1]);
    processes[2] = liana__test_start_member(&members[2]);
    assert_int_equal(liana__test_end_member(processes[0]), 0);
    assert_int_equal(liana__test_end_member(second), 0);
    assert_int_equal(liana__test_end_member(processes[2]), 0);
    kill(processes[1], SIGKILL);
    assert_int_equal(liana__test_end_member(processes[1]), 128 + SIGKILL);
    munmap(num_met, sizeof *num_met);
}

/* ---- strangers ---- */

static int knock(int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    name.sin_port = htons((uint16_t)port);
    int stranger = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(stranger, (struct sockaddr *)&name, sizeof name) != 0) {
        close(stranger);
        return -1;
    }
    return stranger;
}

/* The first bytes that libzmq expects, with one of three mechanisms: none, CURVE, and an older protocol. */
static size_t write_opening(uint8_t *bytes, int kind)
{
    static const uint8_t signature[10] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f};
    memset(bytes, 0, 64);
    memcpy(bytes, signature, sizeof signature);
    bytes[10] = kind == 2 ? 1 : 3;
    memcpy(bytes + 12, kind == 1 ? "CURVE" : "NULL", kind == 1 ? 5 : 4);
    return 64;
}

static void *be_a_stranger(void *user)
{
    int port = atoi(strchr(((liana__test_member *)user)->place.addresses[0], ':') + 1);
    for (uint32_t turn = 0; turn < 60; turn++) {
        uint8_t bytes[4096];
        int stranger = knock(port);
        if (stranger < 0) continue;
        size_t size = turn % 4 == 3 ? 0 : write_opening(bytes, (int)(turn % 4));
        for (size_t i = size; i < sizeof bytes; i++) bytes[i] = (uint8_t)(turn * 41 + i * i * 7);
        /* A command, or a message that says it has 2^62 bytes. */
        if (size && turn % 8 < 4) memcpy(bytes + size, "\x06\x40\0\0\0\0\0\0\0", 9);
        if (send(stranger, bytes, sizeof bytes, MSG_NOSIGNAL) < 0) {
            close(stranger);
            continue;
        }
        /* All that a stranger may read is libzmq's own opening: no key, no address, no name. */
        uint8_t answer[4096];
        struct timeval soon = {.tv_usec = 20 * 1000};
        setsockopt(stranger, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
        ssize_t got = recv(stranger, answer, sizeof answer, MSG_WAITALL);
        if (got > 0 && memmem(answer, (size_t)got, "liana", 5)) abort();
        if (got > 512) abort();
        close(stranger);
    }
    return NULL;
}

static void exchange_beside_a_stranger(liana__test_member *member)
{
    pthread_t stranger;
    if (member->place.rank == 0) pthread_create(&stranger, NULL, be_a_stranger, member);
    exchange_all(member);
    if (member->place.rank == 0) pthread_join(stranger, NULL);
}

static void strangers_change_nothing(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__test_members(members, 2, liana__test_ports(2), liana__test_keys());
    members[0].body = members[1].body = exchange_beside_a_stranger;
    liana__test_run_members(members, 2);
    all_ok(members, 2);
}

/* ---- listening on the wire ---- */

static const char secret[] = "weights that nobody else may read";
enum { SECRETS = 5000 };

/* Sends the other one a message that is full of the secret, and receives its. */
static void exchange_secrets(liana__test_member *member)
{
    const size_t size = SECRETS * sizeof secret, other = 1 - member->place.rank;
    const liana__message_key key = {.step = 1, .kind = 5};
    char *bytes = malloc(size);
    for (size_t i = 0; i < SECRETS; i++) memcpy(bytes + i * sizeof secret, secret, sizeof secret);
    TRY_MEMBER(member,
               liana__transport_send(member->transport, member->instance, other, key, bytes, size, &member->error));
    memset(bytes, 0, size);
    TRY_MEMBER(member, liana__transport_receive(member->transport, member->instance, other, key, bytes, size,
                                                liana__clock_seconds() + 60, &member->error));
    demand(member, memcmp(bytes + size - sizeof secret, secret, sizeof secret) == 0, "the secret is another one");
    free(bytes);
}

/* Each speaks to the other through a relay that keeps all bytes. */
static void who_listens_reads_nothing(void **state)
{
    (void)state;
    liana__test_member members[2];
    liana__tap *taps[2];
    char relayed[2][32];
    const char *const *ports = liana__test_ports(2);
    for (int i = 0; i < 2; i++) {
        taps[i] = liana__tap_open(atoi(strchr(ports[i], ':') + 1));
        snprintf(relayed[i], sizeof relayed[i], "127.0.0.1:%d", liana__tap_port(taps[i]));
    }
    const char *const places[2][2] = {{ports[0], relayed[1]}, {relayed[0], ports[1]}};
    liana__test_members(members, 2, ports, liana__test_keys());
    for (int i = 0; i < 2; i++) {
        members[i].place.addresses = places[i];
        members[i].place.id = "through relays";
        members[i].body = exchange_secrets;
    }
    liana__test_run_members(members, 2);
    all_ok(members, 2);
    for (int i = 0; i < 2; i++) {
        liana__tap_stop(taps[i]);
        /* It has all of the message; libzmq's opening can be read, but no frame, no greeting, no message. */
        assert_compare(liana__tap_size(taps[i]), >, SECRETS * sizeof secret, i);
        assert_true(liana__tap_has(taps[i], "CURVE", 5));
        assert_false(liana__tap_has(taps[i], "liana", 5));
        assert_false(liana__tap_has(taps[i], liana_version(), strlen(liana_version())));
        assert_false(liana__tap_has(taps[i], secret, sizeof secret - 1));
        liana__tap_free(taps[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_over_sockets_in_a_folder),
        cmocka_unit_test(messages_over_tcp_with_keys),
        cmocka_unit_test(messages_with_a_master),
        cmocka_unit_test(receives_end_with_a_reason),
        cmocka_unit_test(generations_drop_older_messages),
        cmocka_unit_test(kept_messages_are_limited),
        cmocka_unit_test(who_is_missing_is_named_everywhere),
        cmocka_unit_test(waiting_is_said),
        cmocka_unit_test(the_same_rank_twice),
        cmocka_unit_test(a_port_in_use),
        cmocka_unit_test(other_sizes_and_clusters),
        cmocka_unit_test(wrong_and_missing_keys),
        cmocka_unit_test(folders_that_others_may_enter),
        cmocka_unit_test(a_killed_process_is_noticed),
        cmocka_unit_test(a_stopped_process_is_noticed),
        cmocka_unit_test(a_process_in_the_place_of_one_that_is_stopped_while_all_meet),
        cmocka_unit_test(strangers_change_nothing),
        cmocka_unit_test(who_listens_reads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
