/* Runs the liana command for tests. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 32, LIMIT = 1 << 26 };

liana__test_result liana__test_command_words(const char *const *words)
{
    const char *argv[MOST_WORDS] = {"liana"};
    int argc = 1;
    for (; *words; words++) argv[argc++] = *words;
    liana__test_result got = {0};
    size_t sizes[2];
    FILE *out = open_memstream(&got.out, &sizes[0]), *err = open_memstream(&got.err, &sizes[1]);
    got.code = liana__command_line(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return got;
}

static void become(const char *path, int descriptor)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(127);
}

/* Where a process writes: "out", or "out-NAME" of one of several. */
static void name_output(const char *stem, const char *name, char path[512])
{
    char file[64];
    snprintf(file, sizeof file, "%s%s%s", stem, name ? "-" : "", name ? name : "");
    snprintf(path, 512, "%s", liana__test_path(file));
}

pid_t liana__test_spawn_as(const char *name, const char *const *words, const char *const *environment)
{
    static const char *const program[] = {LIANA_TEST_EMULATOR LIANA_COMMAND};
    const char *argv[MOST_WORDS] = {NULL};
    char out[512], err[512];
    int count = 0;
    for (size_t i = 0; i < sizeof program / sizeof *program; i++) argv[count++] = program[i];
    for (; *words; words++) argv[count++] = *words;
    name_output("out", name, out);
    name_output("err", name, err);
    fflush(NULL);
    pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process > 0) return process;
    become(out, STDOUT_FILENO);
    become(err, STDERR_FILENO);
    for (; environment && *environment; environment++) putenv((char *)*environment);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

pid_t liana__test_spawn(const char *const *words, const char *const *environment)
{
    return liana__test_spawn_as(NULL, words, environment);
}

static char *read_output(const char *stem, const char *name)
{
    char *text, path[512];
    size_t size;
    liana__error error = {0};
    name_output(stem, name, path);
    assert_ok(liana__file_read(path, LIMIT, &text, &size, &error), &error);
    return text;
}

liana__test_result liana__test_wait(pid_t process)
{
    return liana__test_wait_as(NULL, process);
}

liana__test_result liana__test_wait_as(const char *name, pid_t process)
{
    int status;
    assert_int_equal(waitpid(process, &status, 0), process);
    liana__test_result got = {.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
    got.out = read_output("out", name);
    got.err = read_output("err", name);
    return got;
}

void liana__test_free_result(liana__test_result *result)
{
    free(result->out);
    free(result->err);
    *result = (liana__test_result){0};
}

void liana__test_assert_code(liana__test_result result, int expected, const char *file, int line)
{
    if (result.code != expected) {
        print_error("%s:%d: exit code %d, expected %d\n%s%s\n", file, line, result.code, expected, result.out,
                    result.err);
        _fail(file, line);
    }
    liana__test_free_result(&result);
}

void liana__test_assert_refused(liana__test_result result, int expected, const char *const *texts, const char *file,
                                int line)
{
    for (; *texts; texts++) {
        if (strstr(result.err, *texts)) continue;
        print_error("%s:%d: the message does not say '%s': %s\n", file, line, *texts, result.err);
        _fail(file, line);
    }
    const char *end = strchr(result.err, '\n');
    if (!liana__starts_with(result.err, "liana: ") || !end || end[1]) {
        print_error("%s:%d: not one message: '%s'\n", file, line, result.err);
        _fail(file, line);
    }
    liana__test_assert_code(result, expected, file, line);
}

void liana__test_assert_same_file(const char *a, const char *b, const char *file, int line)
{
    liana__mapping first, second;
    liana__error error = {0};
    assert_ok(liana__file_map(a, &first, &error), &error);
    assert_ok(liana__file_map(b, &second, &error), &error);
    bool same = first.size == second.size && (!first.size || memcmp(first.data, second.data, first.size) == 0);
    liana__file_unmap(&first);
    liana__file_unmap(&second);
    if (same) return;
    print_error("%s:%d: '%s' and '%s' differ\n", file, line, a, b);
    _fail(file, line);
}

/* ---- data ---- */

int liana__test_tiny_image(uint32_t seed, uint32_t index, uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE])
{
    enum { SIDE = LIANA__TINY_SIZE, SQUARE = 4 };
    liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_TEST, 1);
    uint32_t words[4];
    for (uint32_t i = 0; i < SIDE * SIDE; i += 4) {
        liana__philox(key, (const uint32_t[4]){i, index, 0, 0}, words);
        for (uint32_t k = 0; k < 4; k++) pixels[i + k] = (uint8_t)(words[k] % 160);
    }
    liana__philox(key, (const uint32_t[4]){0, index, 1, 0}, words);
    int label = (int)(words[0] % LIANA__TINY_CLASSES);
    int top = (int)(words[1] % 3) + (label / 2) * 6, left = (int)(words[2] % 3) + (label % 2) * 6;
    for (int y = top; y < top + SQUARE; y++) {
        for (int x = left; x < left + SQUARE; x++) pixels[y * SIDE + x] = (uint8_t)(pixels[y * SIDE + x] / 2 + 140);
    }
    return label;
}

static void put_size(uint8_t *bytes, uint32_t size)
{
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(size >> (24 - 8 * i));
}

void liana__test_tiny_data(const char *name, uint32_t count, uint32_t seed)
{
    enum { PIXELS = LIANA__TINY_SIZE * LIANA__TINY_SIZE };
    uint8_t *images = calloc(1, 16 + (size_t)count * PIXELS), *labels = calloc(1, 8 + count);
    assert_true(images && labels);
    images[2] = labels[2] = 8; /* unsigned bytes */
    images[3] = 3;
    labels[3] = 1;
    put_size(images + 4, count);
    put_size(images + 8, LIANA__TINY_SIZE);
    put_size(images + 12, LIANA__TINY_SIZE);
    put_size(labels + 4, count);
    for (uint32_t i = 0; i < count; i++) {
        labels[8 + i] = (uint8_t)liana__test_tiny_image(seed, i, images + 16 + (size_t)i * PIXELS);
    }
    char file[64];
    snprintf(file, sizeof file, "%s-images", name);
    liana__test_write(file, images, 16 + (size_t)count * PIXELS);
    snprintf(file, sizeof file, "%s-labels", name);
    liana__test_write(file, labels, 8 + count);
    free(images);
    free(labels);
}

const char *liana__test_tiny_run(uint32_t count)
{
    liana__test_tiny_data("train", count, 1);
    liana__test_tiny_data("validation", count / 2, 2);
    liana__test_tiny_data("test", count / 2, 3);
    static const char config[] = "data:\n"
                                 "  train: {images: train-images, labels: train-labels}\n"
                                 "  validation: {images: validation-images, labels: validation-labels}\n"
                                 "  test: {images: test-images}\n"
                                 "model:\n"
                                 "  layers:\n"
                                 "    - Conv2D: {filters: 8, kernel_size: 3, activation: relu}\n"
                                 "    - BatchNormalization: {momentum: 0.9}\n"
                                 "    - MaxPooling2D\n"
                                 "    - Dropout: {rate: 0.25}\n"
                                 "    - Flatten\n"
                                 "    - Dense: {units: 4, activation: softmax}\n"
                                 "train:\n"
                                 "  epochs: 3\n"
                                 "  batch_size: 32\n"
                                 "  microbatch: 8\n"
                                 "  optimizer: {name: Adam, learning_rate: 0.003}\n"
                                 "  seed: 7\n"
                                 "output: run\n";
    static char path[256];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    return path;
}

const char *liana__test_newest_checkpoint(const char *run)
{
    static char buffers[2][512];
    static int next;
    char *newest = buffers[next ^= 1];
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    char name[256];
    snprintf(name, sizeof name, "%s/checkpoints", run);
    const char *folder = liana__test_path(name);
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    *newest = 0;
    for (size_t i = 0; i < names.count; i++) {
        bool is_one = liana__starts_with(names.items[i], "step-") && !strchr(names.items[i], '.');
        if (is_one) snprintf(newest, sizeof buffers[0], "%s/%s", folder, names.items[i]);
    }
    liana__arena_free(&arena);
    return newest;
}
