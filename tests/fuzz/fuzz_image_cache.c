/* The cache of decoded images: whatever bytes its file holds, it is opened or made anew, and each entry that is found
 * is one that a writer wrote. Entries are found in the rest behind a header that is put right. */
#include "data/cache/decoded_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { COUNT = 3, SIZE = 70, STRIDE = 256 + 128, PAGE = 4096, WHOLE = PAGE + COUNT * STRIDE };

static void demand(bool condition)
{
    if (!condition) abort();
}

static void read_entries(const char *path)
{
    liana__error error = {0};
    liana__decoded_file_contents contents = {COUNT, SIZE, {{1, 2}}, {{3, 4}}};
    liana__decoded_file *file;
    char why[80];
    demand(liana__decoded_file_open(path, &contents, &file, why, sizeof why, &error) == LIANA_OK);
    uint8_t pixels[SIZE] = {7}, read[SIZE];
    liana__decoded_file_room room = {.pixels = read};
    for (uint64_t i = 0; i < COUNT; i++) {
        liana__decoded_file_entry entry;
        if (liana__decoded_file_find(file, i, &room, &entry) == LIANA__DECODED_FILE_WHOLE) {
            const volatile uint8_t *each = entry.pixels;
            for (int k = 0; k < SIZE; k++) (void)each[k];
            demand(entry.id_size <= LIANA__DECODED_FILE_ID_SIZE);
            const volatile char *id = entry.id;
            for (size_t k = 0; k < entry.id_size; k++) (void)id[k];
        }
        entry = (liana__decoded_file_entry){.pixels = pixels, .label = 5, .id = "id", .id_size = 2};
        demand(liana__decoded_file_write(file, i, &entry, &error) == LIANA_OK);
        demand(liana__decoded_file_find(file, i, &room, &entry) == LIANA__DECODED_FILE_WHOLE && entry.label == 5);
    }
    liana__decoded_file_close(file);
}

static void put(const char *path, const uint8_t *bytes, size_t size, off_t offset, bool cut)
{
    int descriptor = open(path, O_RDWR | O_CREAT | (cut ? O_TRUNC : 0), 0600);
    demand(descriptor >= 0 && pwrite(descriptor, bytes, size, offset) == (ssize_t)size);
    close(descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[512];
    const char *folder = getenv("TMPDIR"); /* /dev/shm is many times faster than a disk */
    snprintf(path, sizeof path, "%s/liana-fuzz-%ld.images", folder ? folder : "/tmp", (long)getpid());
    put(path, bytes, size < WHOLE ? size : WHOLE, 0, true);
    read_entries(path); /* which leaves a whole file */
    put(path, bytes, size < COUNT * STRIDE ? size : COUNT * STRIDE, PAGE, false);
    read_entries(path);
    unlink(path);
    return 0;
}
