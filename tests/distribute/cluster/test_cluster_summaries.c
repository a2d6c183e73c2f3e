/* Event files of trainings in several processes: those of the validation are the bytes of one process, with the images
 * of examples and mistakes that other processes have. */
#include "formats/event_files.h"
#include "harness/command_run.h"

#include "base/text.h"

#include <stdlib.h>

enum { TRAINING = 66 };

static const char *config;

/* All events of a folder's files without their times, each with its length before it. */
static void read_values(const char *folder, liana__text *values)
{
    char path[1024], name[2048] = "";
    snprintf(path, sizeof path, "%s/summaries/validation", liana__test_path(folder));
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (strstr(entry->d_name, "tfevents")) snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    }
    closedir(entries);
    liana__tfrecord *file;
    liana__error error = {0};
    assert_ok(liana__tfrecord_open(name, NULL, &file, &error), &error);
    for (size_t i = 0; i < liana__tfrecord_count(file); i++) {
        const uint8_t *bytes;
        size_t size;
        assert_ok(liana__tfrecord_get(file, i, &bytes, &size, &error), &error);
        /* Field 1, a double: the time. */
        assert_compare(size, >, 9);
        assert_int_equal(bytes[0], 0x09);
        liana__text_add(values, "%zu ", size);
        liana__text_add_bytes(values, (const char *)bytes + 9, size - 9);
    }
    liana__tfrecord_close(file);
}

static void train(const char *processes, const char *batch, const char *folder)
{
    char to[600];
    snprintf(to, sizeof to, "%s", liana__test_path(folder));
    liana__test_result got =
        processes ? liana__test_process(NULL, "launch", "-n", processes, "--", "train", config, "summaries=true", batch,
                                        "train.epochs=2", "--out", to)
                  : liana__test_process(NULL, "train", config, "summaries=true", batch, "train.epochs=2", "--out", to);
    assert_code(got, 0);
}

/* The validation has 33 examples: the last batch is smaller, and of 1 example where batches have 8 or 16. Batches of 2
 * have examples of the first two processes alone. */
static void test_pictures_of_all_processes(void **state)
{
    (void)state;
    static const char *const batches[] = {"train.validation_batch_size=8", "train.validation_batch_size=20",
                                          "train.validation_batch_size=2"};
    static const char *const processes[] = {"2", "3"};
    static events alone;
    liana__test_folder();
    config = liana__test_tiny_run(TRAINING);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        char folder[32];
        liana__text expected = {0};
        snprintf(folder, sizeof folder, "alone%zu", i);
        train(NULL, batches[i], folder);
        read_values(folder, &expected);
        strcat(folder, "/summaries/validation");
        events_read(&alone, folder);
        size_t met = 0;
        for (size_t k = 0; k < alone.count; k++) {
            const bool examples = strcmp(alone.items[k].tag, "examples") == 0;
            if (!examples && strcmp(alone.items[k].tag, "mistakes") != 0) continue;
            assert_int_equal(alone.items[k].pictures, examples && i == 2 ? 2 : 8);
            met++;
        }
        assert_int_equal(met, 4); /* of two epochs */
        for (size_t k = 0; k < sizeof processes / sizeof *processes; k++) {
            liana__text got = {0};
            snprintf(folder, sizeof folder, "together%zu%zu", i, k);
            train(processes[k], batches[i], folder);
            read_values(folder, &got);
            assert_int_equal(got.length, expected.length);
            assert_memory_equal(got.data, expected.data, expected.length);
            liana__text_free(&got);
        }
        liana__text_free(&expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_of_all_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
