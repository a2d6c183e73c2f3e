/* The place of this process in a cluster, read from many environments. */
#include "harness/harness.h"

#include "distribute/transport/cluster_read.h"
#include "formats/yaml.h"

#include <string.h>

/* An environment: NAME, value, NAME, value, ..., NULL. */
static const char *get(void *user, const char *name)
{
    for (const char *const *at = user; *at; at += 2) {
        if (strcmp(at[0], name) == 0) return at[1];
    }
    return NULL;
}

static liana__arena arena;
static liana__cluster_place place;
static liana__error error;

static liana_status read_place(const char *yaml, const char *const *environment)
{
    liana__cluster_options options;
    liana__value *map = NULL;
    error = (liana__error){0};
    if (*yaml) assert_ok(liana__yaml_parse(yaml, strlen(yaml), "c.yaml", &arena, &map, &error), &error);
    LIANA_TRY(liana__fields_read(&liana__cluster_fields, map, "cluster", NULL, &arena, &options, &error));
    return liana__cluster_place_read(&options, get, (void *)(uintptr_t)environment, &arena, &place, &error);
}

#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})
#define assert_place(yaml, environment, expected_role, expected_rank, workers, servers) \
    do {                                                                                \
        assert_ok(read_place(yaml, environment), &error);                               \
        assert_int_equal(place.role, expected_role);                                    \
        assert_int_equal(place.rank, expected_rank);                                    \
        assert_int_equal(place.num_workers, workers);                                   \
        assert_int_equal(place.num_servers, servers);                                   \
    } while (0)
#define assert_no_place(yaml, environment, ...) \
    assert_fails(read_place(yaml, environment), LIANA_INVALID_CONFIG, &error, __VA_ARGS__)

static const char *const nothing[] = {NULL};

static void alone_without_anything(void **state)
{
    (void)state;
    assert_place("", nothing, LIANA__ROLE_CHIEF, 0, 1, 0);
    assert_null(place.transport);
    assert_place("", ENVIRONMENT("TF_CONFIG", "{}", "WORLD_SIZE", "1", "RANK", "0"), LIANA__ROLE_CHIEF, 0, 1, 0);
    assert_null(place.transport);
    assert_place("", ENVIRONMENT("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1"), LIANA__ROLE_CHIEF, 0, 1, 0);
    assert_null(place.transport);
    assert_ok(liana__cluster_place_read(NULL, get, (void *)(uintptr_t)nothing, &arena, &place, &error), &error);
    assert_null(place.transport);
    assert_compare(place.timeout, ==, 300);
    assert_compare(place.heartbeat, ==, 10);
}

#define TF_CLUSTER                                                                            \
    "{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\", \"c:1\"], \"ps\": [\"d:1\"]," \
    " \"evaluator\": [\"e:1\"]}, \"task\": "
static void tf_config(void **state)
{
    (void)state;
    assert_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"chief\", \"index\": 0}}"), LIANA__ROLE_CHIEF, 0,
                 3, 1);
    assert_string_equal(place.transport, "zmq");
    assert_string_equal(place.source, "TF_CONFIG");
    assert_string_equal(place.addresses[2], "c:1");
    assert_string_equal(place.addresses[3], "d:1");
    assert_null(place.master);
    assert_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"worker\", \"index\": 1}}"), LIANA__ROLE_WORKER,
                 2, 3, 1);
    assert_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"ps\", \"index\": \"0\"}}"), LIANA__ROLE_SERVER,
                 3, 3, 1);
    assert_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"evaluator\", \"index\": 0}}"),
                 LIANA__ROLE_EVALUATOR, 0, 3, 1);
    assert_null(place.transport);
    /* Without a chief worker 0 is the chief. */
    assert_place("{keys: /k}",
                 ENVIRONMENT("TF_CONFIG", "{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": "
                                          "\"worker\", \"index\": 0}}"),
                 LIANA__ROLE_CHIEF, 0, 2, 0);
    assert_string_equal(place.keys, "/k");
}

static void bad_tf_configs(void **state)
{
    (void)state;
    assert_no_place("", ENVIRONMENT("TF_CONFIG", "{cluster"), "TF_CONFIG is no JSON", "TF_CONFIG:1");
    assert_no_place("", ENVIRONMENT("TF_CONFIG", "[1]"), "TF_CONFIG", "expected a mapping");
    assert_no_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"worker\", \"index\": 2}}"), "worker 2",
                    "has 2 of them", "index from 0 to 1");
    assert_no_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"master\", \"index\": 0}}"), "has no master");
    assert_no_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"type\": \"worker\", \"index\": -1}}"), "task.index",
                    "-1");
    assert_no_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "{\"index\": 1}}"), "task.type", "nothing",
                    "expected text");
    assert_no_place("", ENVIRONMENT("TF_CONFIG", TF_CLUSTER "7}"), "task", "expected a mapping");
    assert_no_place("",
                    ENVIRONMENT("TF_CONFIG", "{\"cluster\": {\"worker\": \"a:1\"}, \"task\": {\"type\": \"worker\", "
                                             "\"index\": 0}}"),
                    "TF_CONFIG");
    assert_no_place("",
                    ENVIRONMENT("TF_CONFIG", "{\"cluster\": {\"worker\": [\"a\", \"b:1\"]}, \"task\": {\"type\": "
                                             "\"worker\", \"index\": 0}}"),
                    "'a'", "host:port");
    assert_no_place("",
                    ENVIRONMENT("TF_CONFIG", "{\"cluster\": {\"worker\": [\"b:1\", \"b:1\"]}, \"task\": {\"type\": "
                                             "\"worker\", \"index\": 0}}"),
                    "same address", "b:1");
    assert_no_place("",
                    ENVIRONMENT("TF_CONFIG", "{\"cluster\": {\"ps\": [\"b:1\"]}, \"task\": {\"type\": \"ps\", "
                                             "\"index\": 0}}"),
                    "neither a chief nor a worker");
}

static void ranks_as_torchrun_sets_them(void **state)
{
    (void)state;
    assert_place("", ENVIRONMENT("RANK", "2", "WORLD_SIZE", "4", "MASTER_ADDR", "node", "MASTER_PORT", "29500"),
                 LIANA__ROLE_WORKER, 2, 4, 0);
    assert_string_equal(place.transport, "zmq");
    assert_string_equal(place.master, "node:29500");
    assert_null(place.addresses);
    assert_place("{num_servers: 1}",
                 ENVIRONMENT("RANK", "3", "WORLD_SIZE", "4", "MASTER_ADDR", "::1", "MASTER_PORT", "29500"),
                 LIANA__ROLE_SERVER, 3, 3, 1);
    assert_string_equal(place.master, "[::1]:29500");
    /* RANK alone is somebody else's. */
    assert_place("", ENVIRONMENT("RANK", "2"), LIANA__ROLE_CHIEF, 0, 1, 0);
    assert_no_place("", ENVIRONMENT("RANK", "4", "WORLD_SIZE", "4"), "RANK is 4", "WORLD_SIZE is 4", "0 to 3");
    assert_no_place("", ENVIRONMENT("WORLD_SIZE", "4"), "RANK is not set", "WORLD_SIZE is 4");
    assert_no_place("", ENVIRONMENT("RANK", "x", "WORLD_SIZE", "4"), "RANK", "'x'");
    assert_no_place("", ENVIRONMENT("RANK", "1", "WORLD_SIZE", "4"), "MASTER_ADDR");
    assert_no_place("", ENVIRONMENT("RANK", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "a", "MASTER_PORT", "70000"),
                    "MASTER_PORT", "65535");
    assert_no_place("{num_servers: 4}",
                    ENVIRONMENT("RANK", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "a", "MASTER_PORT", "7"),
                    "cluster.num_servers is 4", "4 processes");
}

static void addresses_of_the_configuration(void **state)
{
    (void)state;
    static const char two[] = "{workers: ['a:1', 'b:1'], servers: ['c:1'], task: 'worker:1'}";
    assert_place(two, nothing, LIANA__ROLE_WORKER, 1, 2, 1);
    assert_place("{workers: ['a:1', 'b:1'], servers: ['c:1'], task: 'server:0'}", nothing, LIANA__ROLE_SERVER, 2, 2, 1);
    assert_place("{workers: ['a:1', 'b:1'], task: chief}", nothing, LIANA__ROLE_CHIEF, 0, 2, 0);
    assert_place("{workers: ['a:1', 'b:1'], task: evaluator}", nothing, LIANA__ROLE_EVALUATOR, 0, 2, 0);
    /* Addresses from here, the number from there. */
    assert_place("{workers: ['a:1', 'b:1']}", ENVIRONMENT("RANK", "1", "WORLD_SIZE", "2"), LIANA__ROLE_WORKER, 1, 2, 0);
    assert_string_equal(place.addresses[1], "b:1");
    assert_place("{workers: ['a:1', 'b:1'], keys: k}",
                 ENVIRONMENT("SLURM_PROCID", "1", "SLURM_NTASKS", "2", "SLURM_STEP_ID", "0"), LIANA__ROLE_WORKER, 1, 2,
                 0);
    assert_no_place("{workers: ['a:1', 'b:1']}", nothing, "cluster.workers has 2", "cluster.task");
    assert_no_place("{workers: ['a:1', 'b:1'], task: 'worker:2'}", nothing, "worker:2", "expected chief");
    assert_no_place("{workers: ['a:1', 'b:1'], task: 'boss'}", nothing, "boss");
    assert_no_place("{workers: ['a:1', 'b:x'], task: chief}", nothing, "'b:x'", "host:port");
    assert_no_place("{servers: ['a:1']}", nothing, "cluster.workers none");
    assert_no_place("{heartbeat: 0}", nothing, "heartbeat");
}

static void what_differs_is_refused(void **state)
{
    (void)state;
    static const char one[] =
        "{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}";
    assert_place("{workers: ['a:1', 'b:1']}", ENVIRONMENT("TF_CONFIG", one, "RANK", "1", "WORLD_SIZE", "2"),
                 LIANA__ROLE_WORKER, 1, 2, 0);
    assert_no_place("",
                    ENVIRONMENT("TF_CONFIG", one, "RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "a", "MASTER_PORT",
                                "1"),
                    "TF_CONFIG says that this is rank 1", "RANK and WORLD_SIZE says rank 0");
    assert_no_place("",
                    ENVIRONMENT("TF_CONFIG", one, "RANK", "1", "WORLD_SIZE", "3", "MASTER_ADDR", "a", "MASTER_PORT",
                                "1"),
                    "2 workers", "rank 1 of 3");
    assert_no_place("{workers: ['a:1', 'c:1']}", ENVIRONMENT("TF_CONFIG", one), "rank 1 is at c:1", "b:1");
}

static void numbers_of_mpi(void **state)
{
    (void)state;
    const char *const *open_mpi = ENVIRONMENT("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4");
    assert_place("", open_mpi, LIANA__ROLE_WORKER, 3, 4, 0);
    assert_string_equal(place.transport, "mpi");
    assert_string_equal(place.library, "openmpi");
    assert_place("{num_servers: 1}", open_mpi, LIANA__ROLE_SERVER, 3, 3, 1);
    assert_place("", ENVIRONMENT("PMI_RANK", "0", "PMI_SIZE", "2"), LIANA__ROLE_CHIEF, 0, 2, 0);
    assert_string_equal(place.library, "mpich");
    assert_place("{mpi: openmpi}", ENVIRONMENT("PMI_RANK", "0", "PMI_SIZE", "2"), LIANA__ROLE_CHIEF, 0, 2, 0);
    assert_string_equal(place.library, "openmpi");
    assert_place("", ENVIRONMENT("PMIX_RANK", "1", "SLURM_NTASKS", "2", "SLURM_PROCID", "1", "SLURM_STEP_ID", "0"),
                 LIANA__ROLE_WORKER, 1, 2, 0);
    assert_string_equal(place.transport, "mpi");
    assert_no_place("{transport: mpi}", nothing, "no mpirun has started");
    assert_no_place("", ENVIRONMENT("PMI_RANK", "2", "PMI_SIZE", "2"), "PMI_RANK is 2", "PMI_SIZE is 2");
}

static void steps_of_slurm(void **state)
{
    (void)state;
    assert_place("",
                 ENVIRONMENT("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "3", "SLURM_STEP_ID", "0", "SLURM_JOB_ID",
                             "70001", "SLURM_STEP_NODELIST", "node[03-07,9].x,other"),
                 LIANA__ROLE_WORKER, 1, 3, 0);
    assert_string_equal(place.master, "node03.x:30001");
    assert_string_equal(place.id, "slurm 70001.0");
    assert_place("",
                 ENVIRONMENT("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_STEP_ID", "2", "SLURM_JOB_ID", "5",
                             "SLURM_JOB_NODELIST", "one,two"),
                 LIANA__ROLE_CHIEF, 0, 2, 0);
    assert_string_equal(place.master, "one:20005");
    /* The batch script itself is no step. */
    assert_place("", ENVIRONMENT("SLURM_PROCID", "0", "SLURM_NTASKS", "2"), LIANA__ROLE_CHIEF, 0, 1, 0);
    assert_null(place.transport);
    /* Another numbering of the processes is believed. */
    assert_place("",
                 ENVIRONMENT("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_STEP_ID", "0", "RANK", "5", "WORLD_SIZE",
                             "8", "MASTER_ADDR", "a", "MASTER_PORT", "1"),
                 LIANA__ROLE_WORKER, 5, 8, 0);
    assert_no_place("",
                    ENVIRONMENT("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_STEP_ID", "0", "SLURM_JOB_ID", "5"),
                    "SLURM_STEP_NODELIST");
}

static void processes_of_launch(void **state)
{
    (void)state;
    assert_place("",
                 ENVIRONMENT("LIANA_CLUSTER", "{\"rank\": 1, \"num_workers\": 2, \"num_servers\": 0, \"addresses\": "
                                              "[\"ipc:///f/0\", \"ipc:///f/1\"]}"),
                 LIANA__ROLE_WORKER, 1, 2, 0);
    assert_string_equal(place.addresses[1], "ipc:///f/1");
    assert_place("",
                 ENVIRONMENT("LIANA_CLUSTER",
                             "{\"rank\": 0, \"num_workers\": 1, \"num_servers\": 1, \"master\": \"a:1\", "
                             "\"keys\": \"/k\", \"id\": \"i\"}"),
                 LIANA__ROLE_CHIEF, 0, 1, 1);
    assert_string_equal(place.master, "a:1");
    assert_string_equal(place.keys, "/k");
    assert_no_place("",
                    ENVIRONMENT("LIANA_CLUSTER",
                                "{\"rank\": 2, \"num_workers\": 2, \"num_servers\": 0, \"master\": \"a:1\"}"),
                    "rank 2 of 2");
    assert_no_place("", ENVIRONMENT("LIANA_CLUSTER", "x"), "LIANA_CLUSTER is no JSON");
    assert_no_place("", ENVIRONMENT("LIANA_CLUSTER", "{\"rank\": 0, \"num_workers\": 2, \"num_servers\": 0}"),
                    "no place");
}

static int free_arena(void **state)
{
    (void)state;
    liana__arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_without_anything),
        cmocka_unit_test(tf_config),
        cmocka_unit_test(bad_tf_configs),
        cmocka_unit_test(ranks_as_torchrun_sets_them),
        cmocka_unit_test(addresses_of_the_configuration),
        cmocka_unit_test(what_differs_is_refused),
        cmocka_unit_test(numbers_of_mpi),
        cmocka_unit_test(steps_of_slurm),
        cmocka_unit_test(processes_of_launch),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
