/* Evaluation and prediction that several processes share: the bits and bytes of one process, each example made by one.
 * In C the processes are threads here; those of the command are processes. */
#include "harness/cluster/cluster_run.h"
#include "harness/cluster/hub.h"
#include "harness/made_examples.h"
#include "harness/tiny_fit.h"

#include <pthread.h>
#include <stdlib.h>

enum { COUNT = 90, BATCH = 80, MAX_PROCESSES = 9 };

static char data_path[512]; /* the harness's own paths are for one thread */

/* ---- in C ---- */

typedef struct process {
    liana__hub *hub; /* NULL: alone */
    size_t rank;
    liana_strategy strategy;
    liana_status status;
    char message[512];
    liana_results results;
    float outputs[COUNT * LIANA__TINY_CLASSES];
    liana__made_examples made;
} process;

/* Weights that only the chief has right. */
static liana_status set_weights(liana_model *model, const process *own)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        liana_array weights;
        LIANA_TRY(liana_model_get_weights(model, liana_model_weight(model, i).name, &weights));
        const size_t count = (size_t)liana_shape_size(&weights.shape);
        float *values = malloc((count + 1) * sizeof *values);
        if (!values) return LIANA_OUT_OF_MEMORY;
        for (size_t k = 0; k < count; k++) {
            values[k] = own->rank ? 0.5f : ((const float *)weights.data)[k] + 0.01f * (float)(k % 7);
        }
        weights.data = values;
        weights.name = liana_model_weight(model, i).name;
        const liana_status status = liana_model_set_weights(model, &weights, 1);
        free(values);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

static liana_status measure(liana_context *context, process *own)
{
    liana_dataset *data = NULL;
    liana_model *model = liana__tiny_model(context);
    liana_status status = model ? set_weights(model, own) : LIANA_OUT_OF_MEMORY;
    if (status == LIANA_OK) status = liana_dataset_open(context, data_path, NULL, &data);
    if (status == LIANA_OK) {
        data = liana__count_made(data, &own->made);
        status = liana_evaluate(model, data,
                                &(liana_evaluate_options){.batch_size = BATCH,
                                                          .loss = "sparse_categorical_crossentropy",
                                                          .metrics = {"accuracy", "precision"},
                                                          .strategy = own->strategy},
                                &own->results);
    }
    if (status == LIANA_OK) {
        status = liana_predict(model, data, &(liana_predict_options){.batch_size = BATCH, .strategy = own->strategy},
                               own->outputs);
    }
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void *run_process(void *user)
{
    process *own = user;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    own->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (own->status == LIANA_OK && own->hub) {
        liana__hub_join(own->hub, own->rank, &cluster);
        own->status = liana__cluster_join(context, &cluster);
    }
    if (own->status == LIANA_OK) own->status = measure(context, own);
    if (own->status != LIANA_OK) snprintf(own->message, sizeof own->message, "%s", liana_context_message(context));
    if (own->hub) liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

/* No worker: one process alone. */
static process *run(size_t num_workers, size_t num_servers)
{
    pthread_t threads[MAX_PROCESSES];
    const size_t count = num_workers ? num_workers + num_servers : 1;
    liana__hub *hub = num_workers ? liana__hub_create(num_workers, num_servers) : NULL;
    process *processes = calloc(count, sizeof *processes);
    assert_non_null(processes);
    for (size_t i = 0; i < count; i++) {
        processes[i].hub = hub;
        processes[i].rank = i;
        if (hub) processes[i].strategy.name = num_servers ? "parameter_server" : "multi_worker";
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < count; i++) {
        if (processes[i].status != LIANA_OK) print_error("process %zu: %s\n", i, processes[i].message);
        assert_int_equal(processes[i].status, LIANA_OK);
    }
    if (hub) assert_int_equal(liana__hub_num_kept(hub), 0);
    liana__hub_destroy(hub);
    return processes;
}

static void assert_shared_out(const process *processes, size_t num_workers, size_t count)
{
    const liana__made_examples *made[MAX_PROCESSES];
    for (size_t i = 0; i < count; i++) made[i] = &processes[i].made;
    liana__assert_made_by_workers(made, num_workers, count, COUNT);
}

static void test_what_is_measured_in_c_is_shared_out(void **state)
{
    (void)state;
    static const size_t clusters[][2] = {{1, 0}, {2, 0}, {3, 0}, {7, 0}, {3, 2}};
    process *alone = run(0, 0);
    assert_int_equal(alone->results.num_examples, COUNT);
    for (size_t k = 0; k < sizeof clusters / sizeof *clusters; k++) {
        const size_t count = clusters[k][0] + clusters[k][1];
        process *processes = run(clusters[k][0], clusters[k][1]);
        for (size_t i = 0; i < count; i++) {
            const liana_results *results = &processes[i].results;
            assert_int_equal(results->num_examples, COUNT);
            assert_memory_equal(&results->loss, &alone->results.loss, sizeof results->loss);
            assert_int_equal(results->num_metrics, 2);
            assert_memory_equal(results->metrics, alone->results.metrics, 2 * sizeof *results->metrics);
            assert_memory_equal(processes[i].outputs, alone->outputs, sizeof alone->outputs);
        }
        assert_shared_out(processes, clusters[k][0], count);
        free(processes);
    }
    free(alone);
}

/* ---- the command ---- */

static char run_folder[512], images[512];

/* The command's output, alone and in processes. */
static void assert_same_output(const char *what, const char *first, const char *second, const char *third)
{
    liana__test_result alone = liana__test_process(NULL, what, run_folder, first, second, third);
    assert_int_equal(alone.code, 0);
    static const char *const counts[] = {"2", "3", "4"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        liana__test_result shared =
            liana__test_process(NULL, "launch", "-n", counts[i], "--servers", i == 2 ? "1" : "0", "--", what,
                                run_folder, first, second, third);
        if (shared.code) print_error("%s\n", shared.err);
        assert_int_equal(shared.code, 0);
        assert_string_equal(shared.out, alone.out);
        assert_string_equal(shared.err, alone.err);
        liana__test_free_result(&shared);
    }
    liana__test_free_result(&alone);
}

static void test_the_command_prints_what_one_process_prints(void **state)
{
    (void)state;
    assert_same_output("evaluate", "--json", "--by-class", "train.validation_batch_size=18");
    assert_same_output("evaluate", NULL, NULL, NULL);
    assert_same_output("predict", images, "--json", NULL);
    assert_same_output("predict", images, NULL, NULL);
}

static void test_files_of_predictions_have_the_same_bytes(void **state)
{
    (void)state;
    static const char *const forms[] = {"csv", "jsonl", "npy", "tfrecord"};
    char one[512], other[512], name[32];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(name, sizeof name, "one.%s", forms[i]);
        snprintf(one, sizeof one, "%s", liana__test_path(name));
        snprintf(name, sizeof name, "other.%s", forms[i]);
        snprintf(other, sizeof other, "%s", liana__test_path(name));
        assert_code(liana__test_process(NULL, "predict", run_folder, images, "--out", one, "--augment", "3",
                                        "data.augment=[random_flip, random_brightness]"),
                    0);
        assert_code(liana__test_process(NULL, "launch", "-n", "3", "--", "predict", run_folder, images, "--out", other,
                                        "--augment", "3", "data.augment=[random_flip, random_brightness]"),
                    0);
        assert_same_file(one, other);
    }
    liana__test_result got =
        liana__test_process(NULL, "launch", "-n", "2", "--", "predict", run_folder, images, "--ensemble", run_folder);
    assert_says(got.err, "--ensemble is for one process");
    assert_code(got, 2);
}

static void test_launch_passes_the_file_on(void **state)
{
    (void)state;
    char one[512], other[512];
    snprintf(one, sizeof one, "%s", liana__test_path("one.csv"));
    snprintf(other, sizeof other, "%s", liana__test_path("other.csv"));
    assert_code(liana__test_process(NULL, "predict", run_folder, images, "--out", one), 0);
    assert_code(liana__test_process(NULL, "launch", "-n", "3", "--out", other, "predict", run_folder, images), 0);
    assert_same_file(one, other);
}

/* Two processes by TF_CONFIG. The second one cannot reach the run folder: its working folder is another, and the name
 * of the run means nothing there. */
static void test_only_the_chief_needs_the_run(void **state)
{
    (void)state;
    const char *const *ports = liana__test_ports(2);
    char config[2][600], keys[600];
    snprintf(keys, sizeof keys, "LIANA_CLUSTER_KEYS=%s", liana__test_keys());
    for (int i = 0; i < 2; i++) {
        snprintf(
            config[i], sizeof config[i],
            "TF_CONFIG={\"cluster\": {\"worker\": [\"%s\", \"%s\"]}, \"task\": {\"type\": \"worker\", \"index\": %d}}",
            ports[0], ports[1], i);
    }
    liana__test_result alone = liana__test_process(NULL, "evaluate", run_folder, "--json");
    pid_t second = liana__test_spawn((const char *const[]){"evaluate", "/nowhere/run", "--json", NULL},
                                     (const char *const[]){config[1], keys, NULL});
    liana__test_result first =
        liana__test_wait(liana__test_spawn((const char *const[]){"evaluate", run_folder, "--json", NULL},
                                           (const char *const[]){config[0], keys, NULL}));
    liana__test_result other = liana__test_wait(second);
    assert_int_equal(first.code, 0);
    assert_int_equal(other.code, 0);
    liana__test_free_result(&other);
    /* Both write to the same file; only the chief prints. */
    assert_string_equal(first.out, alone.out);
    liana__test_free_result(&first);
    liana__test_free_result(&alone);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    liana__test_result got = liana__test_process(NULL, "launch", "-n", "2", "--", "evaluate", "/nowhere/run");
    assert_says(got.err, "'/nowhere/run' is not a run folder");
    assert_code(got, 2);
    got = liana__test_process(NULL, "launch", "-n", "2", "--", "evaluate", run_folder, "--follow");
    assert_says(got.err, "--follow is for one process");
    assert_code(got, 2);
    got = liana__test_process(NULL, "launch", "-n", "2", "--", "predict", run_folder, "/nowhere/images");
    assert_says(got.err, "/nowhere/images");
    assert_int_not_equal(got.code, 0);
    liana__test_free_result(&got);
    /* The cluster of a run's own configuration is that of its training. */
    got = liana__test_process(NULL, "evaluate", run_folder, "cluster.workers=[localhost:1, localhost:2]");
    assert_says(got.err, "cluster.task");
    assert_code(got, 2);
}

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(COUNT);
    snprintf(data_path, sizeof data_path, "%s", liana__test_path("train-images"));
    snprintf(images, sizeof images, "%s", liana__test_path("validation-images"));
    snprintf(run_folder, sizeof run_folder, "%s", liana__test_path("run"));
    assert_code(liana__test_process(NULL, "train", config, "--out", run_folder, "train.epochs=1", "train.microbatch=4"),
                0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_measured_in_c_is_shared_out),
        cmocka_unit_test(test_the_command_prints_what_one_process_prints),
        cmocka_unit_test(test_files_of_predictions_have_the_same_bytes),
        cmocka_unit_test(test_launch_passes_the_file_on),
        cmocka_unit_test(test_only_the_chief_needs_the_run),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
