/* A message may come after a wait for it has ended, and before its process looks for deaths. It counts, also where its
 * sender has closed the cluster since, or another process has ended. */
#include "distribute/cluster/recovery.h"
#include "harness/harness.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

enum { RANK, SENDER, THIRD, SIZE };

/* A transport of which everything comes after the first wait. */
struct liana__transport_instance {
    bool sends, closes, is_gone[SIZE];
    int waits;
    char bytes[4];
};

static bool is_close(liana__message_key key)
{
    return key.kind == LIANA__MESSAGE_CLOSE;
}

static bool has_come(const liana__transport_instance *own, size_t from, liana__message_key key)
{
    if (own->waits == 0 || from != SENDER) return false;
    return is_close(key) ? own->closes : own->sends && key.kind == LIANA__MESSAGE_GATHER;
}

static liana_status receive(liana__transport_instance *own, size_t from, liana__message_key key,
                            const liana__receipt *wanted, double deadline, liana__error *error)
{
    if (has_come(own, from, key)) {
        if (wanted->message) wanted->message->bytes = own->bytes;
        if (wanted->data) memcpy(wanted->data, own->bytes, wanted->size);
        return LIANA_OK;
    }
    own->waits++;
    while (liana__clock_seconds() < deadline) nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    return liana__fail(error, LIANA_UNAVAILABLE, "rank %zu has not sent what was expected in time", from);
}

static bool peek(liana__transport_instance *own, size_t from, liana__message_key key, size_t *size)
{
    *size = 0;
    return has_come(own, from, key);
}

static bool is_gone(const liana__transport_instance *own, size_t rank)
{
    return own->waits > 0 && own->is_gone[rank];
}

static const liana__transport transport = {
    .name = "late", .survives_death = true, .receive = receive, .peek = peek, .is_gone = is_gone};

/* Waits for a message of the sender, for a copy and for its own memory. `survives`: nobody is missed afterwards. */
static void assert_waits(const liana__transport_instance *script, liana_status expected, bool survives)
{
    for (int takes = 0; takes < 2; takes++) {
        const liana__cluster_place place = {.rank = RANK, .num_workers = SIZE, .heartbeat = 1};
        liana__transport_instance own = *script;
        liana__cluster cluster;
        liana__error error = {0};
        liana__message message = {0};
        char bytes[4] = "";
        memcpy(own.bytes, "abc", 4);
        liana__cluster_init(&cluster, &place, &transport, &own);
        liana__cluster_begin(&cluster);
        const liana_status status =
            takes ? liana__cluster_take(&cluster, SENDER, LIANA__MESSAGE_GATHER, 0, sizeof bytes, &message, &error)
                  : liana__cluster_receive(&cluster, SENDER, LIANA__MESSAGE_GATHER, 0, bytes, sizeof bytes, &error);
        assert_int_equal(status, expected);
        if (expected == LIANA_OK) assert_string_equal(takes ? message.bytes : bytes, "abc");
        assert_int_equal(cluster.recovery->lost, !survives);
        cluster.instance = NULL; /* nobody is there to take leave of */
        liana__cluster_close(&cluster);
    }
}

static void test_what_comes_before_a_look_counts(void **state)
{
    (void)state;
    assert_waits(&(liana__transport_instance){.sends = true}, LIANA_OK, true);
    assert_waits(&(liana__transport_instance){.sends = true, .closes = true}, LIANA_OK, true);
    assert_waits(&(liana__transport_instance){.sends = true, .is_gone[SENDER] = true}, LIANA_OK, true);
    assert_waits(&(liana__transport_instance){.sends = true, .closes = true, .is_gone[SENDER] = true}, LIANA_OK, true);
    assert_waits(&(liana__transport_instance){.sends = true, .is_gone[THIRD] = true}, LIANA_OK, true);
}

static void test_what_does_not_come_is_missed(void **state)
{
    (void)state;
    assert_waits(&(liana__transport_instance){.closes = true}, LIANA_UNAVAILABLE, false);
    assert_waits(&(liana__transport_instance){.is_gone[SENDER] = true}, LIANA_UNAVAILABLE, false);
    assert_waits(&(liana__transport_instance){.is_gone[THIRD] = true}, LIANA_UNAVAILABLE, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_before_a_look_counts),
        cmocka_unit_test(test_what_does_not_come_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
