/* Which devices there are: liana_device_list says what `liana devices` prints, of this machine, of plugins and of
 * servers. */
#include "harness/harness.h"

#include "base/context.h"
#include "base/cpu.h"
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/device_server.h"
#include "harness/one_context.h"
#include "harness/pjrt_plugin.h"
#include "harness/text_files.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

static liana_device_list *make_list(const char *name)
{
    liana_device_list *list;
    assert_ok(liana_device_list_create(context, name, &list), &context->error);
    return list;
}

/* ---- the command's output ---- */

static void assert_text(const json_t *event, const char *key, const char *text)
{
    const json_t *value = json_object_get(event, key);
    if (!text) {
        assert_null(value);
        return;
    }
    assert_non_null(value);
    assert_string_equal(json_string_value(value), text);
}

static void assert_number(const json_t *event, const char *key, int64_t number, bool is_known)
{
    const json_t *value = json_object_get(event, key);
    assert_int_equal(value != NULL, is_known);
    if (is_known) assert_compare(json_integer_value(value), ==, number);
}

static void assert_prints(const char *line, const liana_device_facts *facts)
{
    json_t *event = liana__test_parse_json(line);
    assert_text(event, "event", facts->missing ? "missing_device" : "device");
    assert_text(event, "name", facts->name);
    assert_text(event, "kind", facts->kind);
    assert_text(event, "platform", facts->platform);
    assert_text(event, "plugin", facts->plugin);
    assert_text(event, "interface", facts->interface_version);
    assert_text(event, "version", facts->version);
    assert_text(event, "environment", facts->environment);
    assert_text(event, "address", facts->address);
    assert_text(event, "reason", facts->missing);
    assert_number(event, "memory", facts->memory, facts->memory >= 0);
    assert_number(event, "threads", facts->threads, facts->threads > 0);
    json_decref(event);
}

/* Each line is a device of the list, in the same order. */
static void assert_command_prints(char *out, const liana_device_list *list)
{
    size_t count = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
        const liana_device_facts *facts = liana_device_list_at(list, count++);
        assert_non_null(facts);
        assert_prints(line, facts);
    }
    assert_null(liana_device_list_at(list, count));
}

static void test_this_machine(void **state)
{
    (void)state;
    setenv("LIANA_THREADS", "2", 1); /* the context's */
    liana_device_list *list = make_list(NULL);
    liana__test_result got = liana__test_command("devices", "--json");
    assert_int_equal(got.code, 0);
    assert_command_prints(got.out, list);
    liana__test_free_result(&got);
    const liana_device_facts *cpu = liana_device_list_at(list, 0);
    assert_string_equal(cpu->name, "cpu");
    assert_string_equal(cpu->kind, liana__isa_name(context->isa));
    assert_int_equal(cpu->threads, 2);
    assert_compare(cpu->memory, >, 0);
    assert_null(cpu->missing);
    /* Each kind is there, or has a reason. */
    size_t gpus = 0, tpus = 0;
    const liana_device_facts *facts;
    for (size_t i = 0; (facts = liana_device_list_at(list, i)) != NULL; i++) {
        gpus += strncmp(facts->name, "gpu", 3) == 0;
        tpus += strncmp(facts->name, "tpu", 3) == 0;
        if (facts->missing)
            assert_string_not_equal(facts->missing, "");
        else
            assert_non_null(facts->kind);
    }
    assert_compare(gpus, >, 0);
    assert_compare(tpus, >, 0);
    liana_device_list_destroy(list);
    unsetenv("LIANA_THREADS");
}

/* ---- a plugin ---- */

static void test_a_plugin(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    liana__test_plugin_state()->memory_limit = 3LL << 30;
    char name[512];
    snprintf(name, sizeof name, "%s", liana__test_plugin_device("?cpu_device_count=3"));
    liana_device_list *list = make_list(name);
    liana__test_result got = liana__test_command("devices", name, "--json");
    assert_command_prints(got.out, list);
    liana__test_free_result(&got);
    assert_null(liana_device_list_at(list, 3));
    const liana_device_facts *last = liana_device_list_at(list, 2);
    assert_compare(last->memory, ==, 3LL << 30);
    assert_string_equal(last->platform, "cpu");
    assert_says(last->plugin, "counting_plugin");
    /* The name opens it. Then the client is there, and is asked as it is: no other one is made. */
    liana_device *device;
    assert_ok(liana_device_open(context, last->name, &device), &context->error);
    const size_t made = liana__test_plugin_state()->made[COUNTED_CLIENTS];
    snprintf(name, sizeof name, "%s", liana__test_plugin_device(""));
    liana_device_list *again = make_list(name);
    assert_int_equal(liana__test_plugin_state()->made[COUNTED_CLIENTS], made);
    assert_null(liana_device_list_at(again, 3));
    assert_string_equal(liana_device_list_at(again, 2)->name, last->name);
    liana_device_list_destroy(again);
    liana_device_close(device);
    liana_device_list_destroy(list);
    liana__test_plugin_is_clean();
}

/* ---- a server ---- */

static void test_a_server(void **state)
{
    (void)state;
    const char *const *sockets = liana__test_sockets(2);
    pid_t server = liana__test_start_server(sockets[0], NULL, 1 << 30, 4);
    char text[512];
    snprintf(text, sizeof text, "cluster: {timeout: 120, workers: [\"%s\", \"%s\"]}\n", sockets[0], sockets[1]);
    const char *path = liana__test_write("cluster.yaml", text, strlen(text));
    assert_ok(liana_connect_to_cluster(context, text + strlen("cluster: ")), &context->error);
    liana_device_list *list = make_list("/job:worker/task:0");
    const liana_device_facts *facts = liana_device_list_at(list, 0);
    assert_string_equal(facts->name, "/job:worker/task:0/cpu:0");
    assert_string_equal(facts->kind, liana__isa_name(context->isa));
    assert_string_equal(facts->platform, "cpu");
    assert_string_equal(facts->version, liana_version());
    assert_string_equal(facts->address, sockets[0]);
    assert_int_equal(facts->threads, 1);
    assert_compare(facts->memory, ==, 1 << 30);
    assert_null(facts->plugin);
    liana__test_result got = liana__test_command("devices", "--cluster", path, "/job:worker/task:0", "--json");
    assert_command_prints(got.out, list);
    liana__test_free_result(&got);
    liana_device_list_destroy(list);
    /* Of all devices, the second server's are missing. */
    snprintf(text, sizeof text, "{timeout: 10, workers: [\"%s\", \"%s\"]}", sockets[0], sockets[1]);
    assert_ok(liana_connect_to_cluster(context, text), &context->error);
    list = make_list(NULL);
    for (size_t i = 0; liana_device_list_at(list, i); i++) facts = liana_device_list_at(list, i);
    assert_string_equal(facts->name, "/job:worker/task:1");
    assert_says(facts->missing, sockets[1]);
    assert_null(facts->kind);
    assert_compare(facts->memory, ==, -1);
    liana_device_list_destroy(list);
    liana__test_stop_server(server);
}

/* ---- refusals ---- */

static void test_what_is_refused(void **state)
{
    (void)state;
    liana_device_list *list;
    assert_fails(liana_device_list_create(context, "pjrt:/none.so", &list), LIANA_NOT_FOUND, &context->error,
                 "there is no plugin '/none.so'");
    assert_null(list);
    assert_fails(liana_device_list_create(context, "nothing", &list), LIANA_INVALID_CONFIG, &context->error,
                 "there is no device 'nothing'");
    assert_fails(liana_device_list_create(context, "127.0.0.1:99999/cpu:0", &list), LIANA_INVALID_CONFIG,
                 &context->error, "from 1 to 65535");
    assert_null(liana_device_list_at(NULL, 0));
    list = make_list("cpu");
    assert_non_null(liana_device_list_at(list, 0));
    assert_null(liana_device_list_at(list, 1));
    liana_device_list_destroy(list);
    liana_device_list_destroy(NULL);
}

/* Other libraries' names of devices are answered with liana's name. */
static void test_names_of_others(void **state)
{
    (void)state;
    liana_device *device;
    static const char *const names[][2] = {
        {"cuda:1", "liana calls it 'gpu:1'"},
        {"GPU:0", "liana calls it 'gpu:0'"},
        {"rocm", "liana calls it 'gpu'"},
        {"XLA:2", "liana calls it 'tpu:2'"},
        {"cpu:1", "one device without options, 'cpu'; train.strategy={name: mirrored, replicas: 2}"},
        {"CPU:0", "one device without options, 'cpu'"},
        {"cpu?threads=2", "one device without options, 'cpu'"},
        {"grpc://10.0.0.2:8470", "a TPU VM's own is 'tpu'"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_fails(liana_device_open(context, names[i][0], &device), LIANA_INVALID_CONFIG, &context->error,
                     names[i][0], names[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_machine),    cmocka_unit_test(test_a_plugin), cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_names_of_others), cmocka_unit_test(test_a_server),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
