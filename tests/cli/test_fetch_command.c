/* liana fetch: lists, fetches from a server on this machine, verifies, and says how to place files by hand. */
#include "harness/command_run.h"
#include "harness/peers.h"
#include "harness/remote_server.h"

#include "base/file.h"
#include "formats/hdf5_tree.h"
#include "known/known_file.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of the table without a published hash, and one with. */
#define FOLDER "tensorflow/keras-applications/mobilenet/"
#define STEM "mobilenet_2_5_128_tf_no_top.h5"
static const char NAME[] = "imagenet/MobileNet/0.25/128/no_top";
static const char OTHER[] = "imagenet/MobileNet/0.25/128";

static void serve_weights(const char *name, float value)
{
    enum { COUNT = 40000 };
    liana__error error = {0};
    liana__hdf5_new *tree;
    const char *bytes;
    size_t size;
    const liana__hdf5_data data = {.dtype = "float32", .rank = 1, .shape = {COUNT}};
    float *values = malloc(COUNT * sizeof *values);
    for (int i = 0; i < COUNT; i++) values[i] = value * (float)i;
    if (liana__hdf5_new_create(name, &tree, &error) == LIANA_UNIMPLEMENTED) {
        free(values);
        liana__test_skip("no libhdf5");
    }
    assert_ok(liana__hdf5_new_dataset(tree, "conv1/kernel:0", &data, values, &error), &error);
    assert_ok(liana__hdf5_new_bytes(tree, &bytes, &size, &error), &error);
    liana__test_serve(name, bytes, size);
    liana__hdf5_new_free(tree);
    free(values);
}

static size_t count_lines(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        const char *found = strstr(at, part);
        count += found && found < end;
    }
    return count;
}

static void test_the_list(void **state)
{
    (void)state;
    size_t count;
    (void)liana__known_files(&count);
    liana__test_result got = liana__test_command("fetch");
    assert_int_equal(count_lines(got.out, "not here"), count);
    assert_says(got.out, NAME);
    assert_says(got.out, "9.5 MiB"); /* 9912422 bytes of mnist/train-images */
    assert_says(got.out, "SHA-256 published");
    assert_says(got.out, "MD5 published");
    assert_code(got, 0);
    got = liana__test_command("fetch", "--json");
    assert_int_equal(count_lines(got.out, "\"event\": \"known_file\""), count);
    assert_says(got.out, "\"size\": 9912422");
    assert_code(got, 0);
    /* By a name, all below it, or a pattern. */
    static const struct {
        const char *word;
        size_t count;
    } words[] = {{"mnist", 4},
                 {"mnist/", 4},
                 {"mnist/train-images", 1},
                 {"*mnist/*-labels", 4},
                 {"cifar-1*", 2},
                 {"mnist/t?st-labels", 1},
                 {"imagenet/ResNet50", 2},
                 {"imagenet/ResNet50*", 4}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        got = liana__test_command("fetch", "--where", words[i].word);
        assert_int_equal(count_lines(got.out, "  address  "), words[i].count);
        assert_code(got, 0);
    }
    static const char *const wrong[][2] = {{"mnst", "'mnist'"},
                                           {"../x", "lists them"},
                                           {"MobileNet/x*", "lists them"},
                                           {"imagenet/ResNet5", "'imagenet/ResNet50'"},
                                           {"mnist/train", "mnist/train"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused(liana__test_command("fetch", "mnist", wrong[i][0]), 2, "fetch: no known file", wrong[i][0],
                       wrong[i][1]);
    }
    assert_refused(liana__test_command("fetch", "--verify", "--where"), 2, "not both");
    assert_false(liana__folder_exists(liana__test_path("cache/data")));
}

static void test_where(void **state)
{
    (void)state;
    liana__test_result got = liana__test_command("fetch", "--where", "mnist/train-images", NAME);
    assert_says(got.out, liana__test_path("cache/data/mnist/train-images-idx3-ubyte.gz\n"));
    assert_says(got.out, "/web/cvdf-datasets/mnist/train-images-idx3-ubyte.gz\n");
    assert_says(got.out, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 (published)");
    assert_says(got.out, "bytes    9912422");
    assert_says(got.out, "none is published");
    assert_says(got.out, liana__test_path("cache/weights/" STEM ".sha256"));
    assert_says(got.out, "by hand");
    assert_code(got, 0);
}

static void test_fetched_and_verified(void **state)
{
    (void)state;
    serve_weights(FOLDER STEM, 1);
    liana__test_result got = liana__test_command("fetch", NAME);
    assert_says(got.out, liana__test_path("cache/weights/" STEM));
    assert_says(got.out, "pinned");
    assert_code(got, 0);
    assert_same_file(liana__test_path("cache/weights/" STEM), liana__test_path("served/" FOLDER STEM));
    got = liana__test_command("fetch", NAME, "--json");
    assert_says(got.out, "\"state\": \"here\"");
    assert_says(got.out, "\"hash\": \"pinned\"");
    assert_int_equal(count_lines(got.out, ""), 1);
    assert_code(got, 0);
    got = liana__test_command("fetch", "--verify");
    assert_int_equal(count_lines(got.out, "here      SHA-256 pinned"), 1);
    assert_int_equal(count_lines(got.out, ""), 2);
    assert_code(got, 0);
    got = liana__test_command("fetch");
    assert_int_equal(count_lines(got.out, "  here "), 1);
    assert_code(got, 0);
    /* One byte is another one. */
    char *bytes;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path("cache/weights/" STEM), 1 << 20, &bytes, &size, &error), &error);
    bytes[size - 5] ^= 1;
    liana__test_write("cache/weights/" STEM, bytes, size);
    free(bytes);
    got = liana__test_command("fetch", "--verify");
    assert_int_equal(count_lines(got.out, "  damaged "), 1);
    assert_says(got.err, "pinned at the first fetch");
    assert_says(got.err, "1 of 1 files is damaged");
    assert_code(got, 1);
    got = liana__test_command("fetch", "--verify", "--json", "imagenet/MobileNet/0.25", "mnist");
    assert_says(got.out, "\"state\": \"damaged\"");
    assert_says(got.out, "\"damage\": \"");
    assert_code(got, 1);
    assert_refused(liana__test_command("fetch", NAME), 1, "pinned at the first fetch", ".sha256");
}

/* Without a published hash, HDF5 is opened. */
static void test_truncated_weights(void **state)
{
    (void)state;
    const off_t sizes[] = {100000, 2048, 600, 90, 0};
    serve_weights(FOLDER STEM, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(truncate(liana__test_path("served/" FOLDER STEM), sizes[i]), 0);
        assert_refused(liana__test_command("fetch", NAME), 1, NAME, "damaged or another file", "removed", "save it as",
                       liana__test_path("cache/weights/" STEM));
        liana__test_result got = liana__test_command("fetch", "--where", NAME);
        assert_says(got.out, "(not here)");
        assert_says(got.out, "none is published");
        assert_code(got, 0);
    }
}

static void test_damage_of_published_files(void **state)
{
    (void)state;
    char *bytes = calloc(1, 28881);
    liana__test_serve("cvdf-datasets/mnist/train-labels-idx1-ubyte.gz", bytes, 28881);
    liana__test_serve("cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz", bytes, 4541);
    /* What the server has is not what is published. */
    assert_refused(liana__test_command("fetch", "mnist/train-labels"), 1, "SHA-256",
                   "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", "published");
    assert_refused(liana__test_command("fetch", "mnist/test-labels"), 1, "4541 bytes, expected 4542");
    liana__test_result got = liana__test_command("fetch", "mnist");
    assert_int_equal(count_lines(got.err, "mnist/"), 4);
    assert_says(got.err, "4 of 4 files could not be fetched");
    assert_code(got, 1);
    /* Placed by hand. */
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("cache/data/mnist"), &error), &error);
    liana__test_write("cache/data/mnist/train-labels-idx1-ubyte.gz", bytes, 28881);
    free(bytes);
    got = liana__test_command("fetch");
    assert_int_equal(count_lines(got.out, "  here "), 1);
    assert_code(got, 0);
    got = liana__test_command("fetch", "--verify", "mnist");
    assert_int_equal(count_lines(got.out, "  damaged "), 1);
    assert_int_equal(count_lines(got.out, "not here"), 3);
    assert_says(got.err, "1 of 4 files is damaged: mnist/train-labels");
    assert_code(got, 1);
    liana__test_write("cache/data/mnist/train-labels-idx1-ubyte.gz", "x", 1);
    got = liana__test_command("fetch");
    assert_int_equal(count_lines(got.out, "  damaged "), 1);
    assert_says(got.err, "1 bytes, expected 28881");
    assert_code(got, 1);
}

static void test_killed_and_stopped(void **state)
{
    (void)state;
    serve_weights(FOLDER STEM, 2);
    static const int signals[] = {SIGKILL, SIGTERM};
    static const int codes[] = {128 + SIGKILL, 128 + SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        const char *words[] = {"fetch", NAME, NULL};
        liana__test_server_fault("hang", 1);
        const pid_t process = liana__test_spawn(words, NULL);
        struct stat info = {.st_size = 0};
        for (int k = 0; k < 1000 && info.st_size < 50000; k++) {
            usleep(10000);
            if (stat(liana__test_path("cache/weights/" STEM ".part"), &info) != 0) info.st_size = 0;
        }
        kill(process, signals[i]);
        liana__test_result got = liana__test_wait(process);
        assert_code(got, codes[i]);
        got = liana__test_command("fetch");
        assert_int_equal(count_lines(got.out, " partial "), 1);
        assert_code(got, 0);
        liana__test_server_forget();
        assert_code(liana__test_command("fetch", NAME), 0);
        assert_int_equal(liana__test_server_requests("bytes=", "206"), 1);
        assert_same_file(liana__test_path("cache/weights/" STEM), liana__test_path("served/" FOLDER STEM));
        assert_int_equal(remove(liana__test_path("cache/weights/" STEM)), 0);
    }
}

static void test_two_commands(void **state)
{
    (void)state;
    serve_weights(FOLDER STEM, 3);
    serve_weights(FOLDER "mobilenet_2_5_128_tf.h5", 4);
    liana__test_server_forget();
    liana__test_server_fault("slow", 9);
    const char *words[] = {"fetch", "imagenet/MobileNet/0.25/128", NULL};
    const pid_t first = liana__test_spawn_as("first", words, NULL),
                second = liana__test_spawn_as("second", words, NULL);
    liana__test_result got = liana__test_wait_as("first", first);
    assert_code(got, 0);
    got = liana__test_wait_as("second", second);
    assert_code(got, 0);
    assert_int_equal(liana__test_server_requests("GET", NULL), 2);
    got = liana__test_command("fetch", "--verify", OTHER);
    assert_int_equal(count_lines(got.out, "here      SHA-256 pinned"), 2);
    assert_code(got, 0);
}

static int set_up(void **state)
{
    liana__test_server_set_up_https(state);
    setenv("LIANA_FETCH_BASE", liana__test_server_url("/web"), 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, liana__test_server_tear_down)
        TEST(test_the_list),
        TEST(test_where),
        TEST(test_fetched_and_verified),
        TEST(test_truncated_weights),
        TEST(test_damage_of_published_files),
        TEST(test_killed_and_stopped),
        TEST(test_two_commands),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
