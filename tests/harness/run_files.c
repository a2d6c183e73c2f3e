/* Names runs, and reads their files. */
#include "harness/run_files.h"

#include "harness/command_run.h"

#include "base/file.h"
#include "formats/json.h"

#include <stdio.h>

const char *liana__test_override(const char *key, const char *text)
{
    static char buffers[8][4200];
    static size_t next;
    char *buffer = buffers[next++ % 8];
    snprintf(buffer, sizeof buffers[0], "%s=%s", key, text);
    return buffer;
}

const char *liana__test_output(const char *run)
{
    return liana__test_override("output", liana__test_path(run));
}

size_t liana__test_history(const char *run, const char *key, double *values, size_t most)
{
    char path[256];
    snprintf(path, sizeof path, "%s/history.json", run);
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *history;
    assert_ok(liana__json_read(liana__test_path(path), &arena, &history, &error), &error);
    const liana__value *epochs = liana__value_get(history, "epochs");
    const size_t count = epochs->count;
    assert_in_range(count, 1, most);
    for (size_t i = 0; i < count; i++) {
        const liana__value *found = liana__value_get(epochs->items[i], key);
        assert_non_null(found);
        values[i] = found->number;
    }
    liana__arena_free(&arena);
    return count;
}

void liana__test_assert_same_training(const char *a, const char *b)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(first, second);
}

void liana__test_assert_same_run(const char *a, const char *b)
{
    static const char *const names[] = {"history.json", "model.json", "validation_predictions.csv",
                                        "test_predictions.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char first[600], second[600];
        snprintf(first, sizeof first, "%s/%s", a, names[i]);
        snprintf(second, sizeof second, "%s/%s", b, names[i]);
        const bool is_there = liana__file_exists(liana__test_path(first));
        if (i == 0) assert_true(is_there);
        assert_int_equal(liana__file_exists(liana__test_path(second)), is_there);
        if (is_there) assert_same_file(liana__test_path(first), liana__test_path(second));
    }
    liana__test_assert_same_training(a, b);
}
