/* The file of elements: whatever bytes it holds, it is refused or each element can be read to its last byte or is said
 * to be damaged. Then the bytes are taken as an element, in a file whose table, footer and checksums are right. */
#include "base/crc32c.h"
#include "data/dataset/element_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const liana__element_file_contents kinds[] = {{{{1, 2}}, {{3, 4}}, -1, false}, {{{1, 2}}, {{3, 4}}, -1, true}};
/* Numbers in any number of rows, a fixed number of strings, any number of strings, and nothing. */
static const liana__spec spec = {.count = 4,
                                 .components = {{"numbers", LIANA_F32, {2, {LIANA_UNKNOWN_DIM, 3}}},
                                                {"pair", LIANA_STRING, {1, {2}}},
                                                {"names", LIANA_STRING, {1, {LIANA_UNKNOWN_DIM}}},
                                                {"nothing", LIANA_S32, {2, {LIANA_UNKNOWN_DIM, 0}}}}};

static void demand(bool condition)
{
    if (!condition) abort();
}

static void look_at(const void *bytes, size_t size)
{
    const volatile uint8_t *each = bytes;
    for (size_t i = 0; i < size; i++) (void)each[i];
}

static void look_at_element(const liana_element *element)
{
    for (size_t i = 0; i < spec.count; i++) {
        const liana_component *component = &spec.components[i];
        const int64_t rows = liana__element_rows(element, i), width = liana__element_width(element, i);
        look_at(element->data[i], liana__component_size(component, rows, width));
        if (component->dtype != LIANA_STRING) continue;
        const liana_bytes *strings = element->data[i];
        for (int64_t k = 0; k < liana__component_count(component, rows, width); k++)
            look_at(strings[k].data, strings[k].size);
    }
}

/* A piece that is an element, packed again, is the same element. */
static void pack_again(const liana_element *element)
{
    size_t size = liana__packed_size(element);
    void *packed = aligned_alloc(16, (size + 15) / 16 * 16);
    demand(packed != NULL);
    liana__element_pack(element, packed);
    demand(liana__packed_settle(&spec, packed, size, NULL) == LIANA_OK);
    liana_element again;
    liana__packed_element(&spec, packed, &again);
    for (size_t i = 0; i < spec.count; i++) demand(again.rows[i] == element->rows[i]);
    const liana_bytes *first = element->data[1], *second = again.data[1];
    for (int k = 0; k < 2; k++) {
        demand(first[k].size == second[k].size && memcmp(first[k].data, second[k].data, first[k].size) == 0);
    }
    look_at_element(&again);
    free(packed);
}

static void read_file(const char *path, const liana__element_file_contents *contents)
{
    liana__error error = {0};
    liana__element_file *file;
    liana__element_buffer buffer = {0};
    char why[80];
    demand(liana__element_file_open(path, contents, &file, why, sizeof why, &error) == LIANA_OK);
    demand(file || why[0]);
    for (uint64_t i = 0; file && i < liana__element_file_count(file); i++) {
        liana_element element;
        liana_status status = liana__element_file_read(file, &spec, i, &buffer, &element, &error);
        demand(status == LIANA_OK || (status == LIANA_DATA_LOSS && strstr(error.message, path)));
        if (status == LIANA_OK) look_at_element(&element);
        if (status == LIANA_OK) pack_again(&element);
    }
    liana__element_file_close(file);
    liana__element_buffer_free(&buffer);
}

static void put(const char *path, const void *bytes, size_t size, const void *end, size_t end_size)
{
    FILE *file = fopen(path, "wb");
    demand(file && fwrite(bytes, 1, size, file) == size && fwrite(end, 1, end_size, file) == end_size);
    demand(fclose(file) == 0);
}

/* The header of element_file.c, written a second time. */
static void put_right(const char *path, const uint8_t *bytes, size_t size)
{
    uint64_t number = 0, words[12] = {0, size, liana__crc32c_extend(liana__crc32c(&number, 8), bytes, size)};
    uint32_t byte_order_and_version[2] = {1, 2}, table_checksum = liana__crc32c(words, 24), checksum;
    memcpy(&words[3], "LIANAELM", 8);
    memcpy(&words[4], byte_order_and_version, 8);
    memcpy(&words[5], &kinds[0].settings, 16);
    memcpy(&words[7], &kinds[0].sources, 16);
    words[9] = 1;
    words[10] = size;
    memcpy(&words[11], &table_checksum, 4);
    checksum = liana__crc32c(&words[3], 68);
    memcpy((char *)&words[11] + 4, &checksum, 4);
    put(path, bytes, size, words, sizeof words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[512];
    const char *folder = getenv("TMPDIR"); /* /dev/shm is many times faster than a disk */
    snprintf(path, sizeof path, "%s/liana-fuzz-%ld.elements", folder ? folder : "/tmp", (long)getpid());
    put(path, bytes, size, "", 0);
    read_file(path, &kinds[0]);
    put_right(path, bytes, size);
    for (int deflated = 0; deflated < 2; deflated++) read_file(path, &kinds[deflated]);
    unlink(path);
    return 0;
}
