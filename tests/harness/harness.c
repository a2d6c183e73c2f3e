/* The common code of all tests. */
#include "harness/harness.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void liana__test_assert_ok(liana_status status, const liana__error *error, const char *file, int line)
{
    if (status == LIANA_OK) return;
    print_error("%s:%d: %s: %s\n", file, line, liana_status_name(status), error ? error->message : "");
    _fail(file, line);
}

void liana__test_assert_fails(liana_status status, liana_status expected, const liana__error *error,
                              const char *const *texts, const char *file, int line)
{
    if (status != expected) {
        print_error("%s:%d: status is %s, expected %s: %s\n", file, line, liana_status_name(status),
                    liana_status_name(expected), status != LIANA_OK ? error->message : "");
        _fail(file, line);
    }
    for (; *texts; texts++) {
        if (strstr(error->message, *texts)) continue;
        print_error("%s:%d: the message does not say '%s': %s\n", file, line, *texts, error->message);
        _fail(file, line);
    }
}

enum { NUM_BUFFERS = 4, BUFFER_SIZE = 1024 };

static char *next_buffer(void)
{
    static char buffers[NUM_BUFFERS][BUFFER_SIZE];
    static int next;
    next = (next + 1) % NUM_BUFFERS;
    return buffers[next];
}

const char *liana__test_data(const char *name)
{
    const char *root = getenv("LIANA_TEST_DATA");
    if (!root) root = LIANA_SOURCE_DIR "/../shared/data";
    if (!liana__folder_exists(root)) {
        printf("skipped: no data (looked for %s)\n", root);
        skip();
    }
    char *path = next_buffer();
    snprintf(path, BUFFER_SIZE, "%s/%s", root, name);
    return path;
}

static char folder[64];

static void remove_folder(void)
{
    if (*folder && liana__folder_remove(folder, NULL) != LIANA_OK) fprintf(stderr, "could not remove %s\n", folder);
}

const char *liana__test_folder(void)
{
    if (!*folder) {
        atexit(remove_folder);
    } else {
        remove_folder();
    }
    snprintf(folder, sizeof folder, "/tmp/liana-test-XXXXXX");
    if (!mkdtemp(folder)) {
        perror(folder);
        fail();
    }
    return folder;
}

const char *liana__test_path(const char *name)
{
    if (!*folder) liana__test_folder();
    char *path = next_buffer();
    snprintf(path, BUFFER_SIZE, "%s/%s", folder, name);
    return path;
}

const char *liana__test_write(const char *name, const void *data, size_t size)
{
    const char *path = liana__test_path(name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        fail();
    }
    return path;
}
