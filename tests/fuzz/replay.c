/* Feeds a fuzz target with the files of folders, without a fuzzer: the inputs that fuzzing began with and its findings
 * stay tested everywhere.
 *   replay_TARGET FOLDER... */
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MAX_SIZE = 1 << 20 };

static liana_status replay_file(const char *path, liana__error *error)
{
    char *data;
    size_t size;
    LIANA_TRY(liana__file_read(path, MAX_SIZE, &data, &size, error));
    uint8_t *exact = malloc(size ? size : 1); /* of just its size, for a sanitizer to see a read behind it */
    if (exact) {
        if (size) memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(data);
    free(exact);
    return exact ? LIANA_OK : liana__fail_memory(error, path);
}

static liana_status replay_folder(const char *folder, int *count, liana__error *error)
{
    liana__arena arena = {0};
    liana__paths names;
    liana_status status = liana__folder_list(folder, &arena, &names, error);
    for (size_t i = 0; status == LIANA_OK && i < names.count; i++) {
        const char *path = liana__path_join(&arena, folder, names.items[i]);
        status = path ? replay_file(path, error) : liana__fail_memory(error, folder);
        ++*count;
    }
    liana__arena_free(&arena);
    return status;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        liana__error error = {0};
        if (replay_folder(argv[i], &count, &error) != LIANA_OK) {
            fprintf(stderr, "%s\n", error.message);
            return EXIT_FAILURE;
        }
    }
    printf("%d inputs\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
