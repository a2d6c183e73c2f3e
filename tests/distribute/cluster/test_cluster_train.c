/* liana train in several processes, which meet by their configuration: the run folder is that of one process. */
#include "harness/command_run.h"
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 90, MAX_PROCESSES = 6, MAX_WORDS = 16 };

/* The addresses of workers or servers, as an override; each cluster has its own. */
static void list_addresses(const char *key, const char *cluster, size_t count, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "cluster.%s=[", key);
    for (size_t i = 0; i < count; i++) {
        length +=
            (size_t)snprintf(text + length, size - length, "%sipc://%s", i ? ", " : "", liana__test_path(cluster));
        length += (size_t)snprintf(text + length, size - length, "-%s%zu", key, i);
    }
    snprintf(text + length, size - length, "]");
}

/* Trains in workers and servers with the same words; the exit code of each, by rank. */
static void train_in(const char *cluster, size_t num_workers, size_t num_servers, const char *const *words, int *codes)
{
    char workers[1024], servers[1024], task[32];
    pid_t processes[MAX_PROCESSES];
    list_addresses("workers", cluster, num_workers, workers, sizeof workers);
    list_addresses("servers", cluster, num_servers, servers, sizeof servers);
    for (size_t i = 0; i < num_workers + num_servers; i++) {
        const char *all[MAX_WORDS] = {0};
        size_t count = 0;
        for (; words[count]; count++) all[count] = words[count];
        if (i == 0) {
            snprintf(task, sizeof task, "cluster.task=chief");
        } else {
            bool works = i < num_workers;
            snprintf(task, sizeof task, "cluster.task=%s:%zu", works ? "worker" : "server",
                     works ? i : i - num_workers);
        }
        all[count++] = workers;
        if (num_servers) all[count++] = servers;
        all[count++] = task;
        all[count++] = "cluster.timeout=60";
        processes[i] = liana__test_spawn(all, NULL);
    }
    for (size_t i = 0; i < num_workers + num_servers; i++) {
        int status;
        assert_compare(waitpid(processes[i], &status, 0), ==, processes[i], i);
        codes[i] = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

static void assert_all_end_well(const int *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (codes[i] != 0) {
            char *said = liana__test_read_text("err");
            print_error("process %zu ends with %d; what was said last: %s\n", i, codes[i], said);
            free(said);
        }
        assert_int_equal(codes[i], 0);
    }
}

static void assert_same_in(const char *a, const char *b, const char *name)
{
    char left[512], right[512];
    snprintf(left, sizeof left, "%s/%s", liana__test_path(a), name);
    snprintf(right, sizeof right, "%s/%s", liana__test_path(b), name);
    assert_same_file(left, right);
}

static void assert_same_runs(const char *a, const char *b)
{
    char left[512], right[512];
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(right, sizeof right, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(left, right);
    assert_same_in(a, b, "history.json");
    assert_same_in(a, b, "validation_predictions.csv");
}

static const char *alone(void)
{
    static char path[512];
    if (*path) return "alone";
    snprintf(path, sizeof path, "%s", liana__test_path("alone"));
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", path, "train.epochs=2",
                                    "train.microbatch=4"),
                0);
    return "alone";
}

static void test_the_run_is_that_of_one_process(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t workers, servers;
    } clusters[] = {{"two", 2, 0}, {"three", 3, 0}, {"served", 2, 2}};
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        int codes[MAX_PROCESSES];
        char config[512], out[512];
        snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
        snprintf(out, sizeof out, "%s", liana__test_path(clusters[i].name));
        const char *const words[] = {"train",           config, "--out", out, "train.epochs=2", "train.microbatch=4",
                                     "train.threads=1", NULL};
        train_in(clusters[i].name, clusters[i].workers, clusters[i].servers, words, codes);
        assert_all_end_well(codes, clusters[i].workers + clusters[i].servers);
        assert_same_runs(alone(), clusters[i].name);
    }
}

/* Rare classes that are drawn more often, clipping by the norm of all gradients, LAMB, a metric of whole epochs. */
static void test_an_oversampled_run(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t workers, servers;
        const char *strategy;
    } clusters[] = {{"drawn", 0, 0, "train.strategy=one_device"},
                    {"drawn-mirrored", 0, 0, "train.strategy={name: mirrored, replicas: 3, threads: 1}"},
                    {"drawn-two", 2, 0, "train.strategy={name: multi_worker, replicas: 2, threads: 1}"},
                    {"drawn-served", 2, 1, "train.strategy=parameter_server"}};
    char config[512];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        int codes[MAX_PROCESSES];
        char out[512];
        snprintf(out, sizeof out, "%s", liana__test_path(clusters[i].name));
        const char *const words[] = {"train",
                                     config,
                                     "--out",
                                     out,
                                     "train.epochs=2",
                                     "train.microbatch=4",
                                     "data.oversample.target_count=40",
                                     "train.optimizer={name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}",
                                     "train.metrics=[accuracy, AUC]",
                                     "train.threads=1",
                                     clusters[i].strategy,
                                     NULL};
        if (clusters[i].workers) {
            train_in(clusters[i].name, clusters[i].workers, clusters[i].servers, words, codes);
            assert_all_end_well(codes, clusters[i].workers + clusters[i].servers);
        } else {
            int status;
            const pid_t process = liana__test_spawn(words, NULL);
            assert_int_equal(waitpid(process, &status, 0), process);
            assert_int_equal(status, 0);
        }
        if (i > 0) assert_same_runs("drawn", clusters[i].name);
    }
}

/* Begun by three, ended by a worker and a server, and measured by one. */
static void test_a_run_goes_on_in_other_processes(void **state)
{
    (void)state;
    int codes[MAX_PROCESSES];
    char config[512], out[512];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(out, sizeof out, "%s", liana__test_path("parts"));
    const char *const begin[] = {"train", config, "--out", out, "train.epochs=1", "train.microbatch=4", NULL};
    train_in("begin", 3, 0, begin, codes);
    assert_all_end_well(codes, 3);
    const char *const end[] = {"train", config, "--out", out, "--resume", "train.epochs=2", "train.microbatch=4", NULL};
    train_in("end", 1, 1, end, codes);
    assert_all_end_well(codes, 2);
    assert_same_runs(alone(), "parts");
    assert_code(liana__test_command("evaluate", out), 0);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const char *config = liana__test_path("config.yaml"), *out = liana__test_path("refused");
    liana__test_result got = liana__test_command("train", config, "--out", out, "train.strategy=multi_worker");
    assert_int_not_equal(got.code, 0);
    assert_says(got.err, "this process is alone: start it with 'liana launch', mpirun or srun");
    liana__test_free_result(&got);
    got = liana__test_command("train", config, "--out", out, "train.strategy=mirrored",
                              "cluster.workers=[ipc:///tmp/liana-a, ipc:///tmp/liana-b]", "cluster.task=chief");
    assert_int_not_equal(got.code, 0);
    assert_says(got.err, "is for one process");
    liana__test_free_result(&got);
}

/* ---- a program of one's own ---- */

/* The program of `liana launch --program`: this file with --fit, the data and the strategy. A digest of the weights. */
static int fit_here(const char *images, const char *strategy, uint64_t *digest)
{
    liana_context *context = NULL;
    liana_dataset *data = NULL;
    liana_status status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (status != LIANA_OK) return 1;
    liana_model *model = liana__tiny_model(context);
    status = liana_dataset_open(context, images, NULL, &data);
    if (status == LIANA_OK) {
        status = liana_fit(model, &(liana_fit_options){
                                      .training = data, .epochs = 2, .microbatch = 4, .strategy = {.name = strategy}});
    }
    for (size_t i = 0; status == LIANA_OK && liana_model_weight(model, i).name; i++) {
        liana_array weights;
        status = liana_model_get_weights(model, liana_model_weight(model, i).name, &weights);
        const unsigned char *bytes = weights.data;
        for (size_t k = 0; k < (size_t)liana_shape_size(&weights.shape) * sizeof(float); k++) {
            *digest = (*digest ^ bytes[k]) * 1099511628211u;
        }
    }
    if (status != LIANA_OK) fprintf(stderr, "%s\n", liana_context_message(context));
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
    return status == LIANA_OK ? 0 : 1;
}

static void test_a_program_of_ones_own(void **state)
{
    (void)state;
    char program[512] = "", data[512], expected[64];
    uint64_t digest = 0;
    assert_compare(readlink("/proc/self/exe", program, sizeof program - 1), >, 0);
    snprintf(data, sizeof data, "%s", liana__test_path("train-images"));
    assert_int_equal(fit_here(data, "one_device", &digest), 0);
    snprintf(expected, sizeof expected, "digest %llx", (unsigned long long)digest);
    liana__test_result got =
        liana__test_process(NULL, "launch", "-n", "3", "--program", program, "--", "--fit", data, "multi_worker");
    if (got.code != 0) print_error("%s\n", got.err);
    assert_int_equal(got.code, 0);
    assert_says(got.out, expected);
    liana__test_free_result(&got);
    got = liana__test_process(NULL, "launch", "-n", "3", "--servers", "1", "--program", program, "--", "--fit", data,
                              "parameter_server");
    assert_int_equal(got.code, 0);
    assert_says(got.out, expected);
    liana__test_free_result(&got);
    assert_int_equal(fit_here(data, "multi_worker", &digest), 1);
}

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t digest = 0;
    if (argc == 4 && strcmp(argv[1], "--fit") == 0) {
        const int code = fit_here(argv[2], argv[3], &digest);
        printf("digest %llx\n", (unsigned long long)digest);
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_run_is_that_of_one_process),
        cmocka_unit_test(test_an_oversampled_run),
        cmocka_unit_test(test_a_run_goes_on_in_other_processes),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_program_of_ones_own),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
