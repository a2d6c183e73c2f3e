/* Makes indexes of TensorFlow's checkpoints, and feeds bytes to their reader. */
#include "harness/try/try_tensorflow.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "formats/tensorflow/tf_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void demand(bool condition)
{
    if (!condition) abort();
}

/* ---- making ---- */

void liana__test_tf_number(liana__text *text, uint64_t number)
{
    char byte;
    for (; number > 127; number >>= 7) {
        byte = (char)(number | 128);
        liana__text_add_bytes(text, &byte, 1);
    }
    byte = (char)number;
    liana__text_add_bytes(text, &byte, 1);
}

void liana__test_tf_entry(liana__text *block, const void *key, size_t key_size, const void *value, size_t value_size)
{
    liana__test_tf_number(block, 0);
    liana__test_tf_number(block, key_size);
    liana__test_tf_number(block, value_size);
    liana__text_add_bytes(block, key, key_size);
    liana__text_add_bytes(block, value, value_size);
}

void liana__test_tf_end(liana__text *block)
{
    liana__text_add_bytes(block, "\0\0\0\0\1\0\0\0", 8);
}

static void add_number32(liana__text *text, uint32_t number)
{
    uint8_t bytes[4];
    liana__store_u32(bytes, number);
    liana__text_add_bytes(text, (const char *)bytes, sizeof bytes);
}

static void add_block(liana__text *file, const void *block, size_t size, char compression)
{
    const size_t begin = file->length;
    liana__text_add_bytes(file, block, size);
    liana__text_add_bytes(file, &compression, 1);
    add_number32(file, liana__crc32c_mask(liana__crc32c(file->data + begin, size + 1)));
}

liana__text liana__test_tf_table(const void *block, size_t size, char compression, int times)
{
    liana__text file = {0}, list = {0}, place = {0};
    add_block(&file, block, size, compression);
    liana__test_tf_number(&place, 0);
    liana__test_tf_number(&place, size);
    for (int i = 0; i < times; i++) liana__test_tf_entry(&list, "z", 1, place.data, place.length);
    liana__test_tf_end(&list);
    const size_t list_begin = file.length;
    add_block(&file, list.data, list.length, 0);
    const size_t end = file.length + 40;
    liana__test_tf_number(&file, 0);
    liana__test_tf_number(&file, 0);
    liana__test_tf_number(&file, list_begin);
    liana__test_tf_number(&file, list.length);
    while (file.length < end) liana__text_add_bytes(&file, "", 1);
    liana__text_add_bytes(&file, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    liana__text_free(&list);
    liana__text_free(&place);
    demand(!file.failed);
    return file;
}

/* ---- trying ---- */

typedef struct place {
    char folder[256];
    char index[320];
    char data[320];
} place;

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    demand(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static place make_place(void)
{
    const char *folder = getenv("TMPDIR");
    place own;
    snprintf(own.folder, sizeof own.folder, "%.200s/liana-tf-XXXXXX", folder ? folder : "/tmp");
    demand(mkdtemp(own.folder) != NULL);
    snprintf(own.index, sizeof own.index, "%s/x.index", own.folder);
    snprintf(own.data, sizeof own.data, "%s/x.data-00000-of-00001", own.folder);
    return own;
}

static bool try_files(const void *index, size_t index_size, const void *data, size_t data_size)
{
    enum { MOST = 1 << 16 }; /* elements that are read: for speed */
    const place own = make_place();
    write_file(own.index, index, index_size);
    write_file(own.data, data, data_size);
    liana__error error = {0};
    liana__tf_checkpoint file;
    const bool good = liana__tf_checkpoint_open(own.index, &file, &error) == LIANA_OK;
    if (!good) demand(error.status != LIANA_OK && strstr(error.message, own.folder));
    for (size_t i = 0; good && i < file.num_variables; i++) {
        const liana__tf_variable *variable = &file.variables[i];
        demand(variable->name && variable->key && variable->dtype);
        if (variable->num_elements > MOST) continue;
        float *values = malloc((variable->num_elements + 1) * sizeof *values);
        demand(values != NULL);
        error = (liana__error){0};
        if (liana__tf_checkpoint_read(&file, variable, values, &error) != LIANA_OK) {
            demand(error.message[0] && strstr(error.message, own.folder));
        }
        free(values);
    }
    if (good) liana__tf_checkpoint_free(&file);
    remove(own.index);
    remove(own.data);
    rmdir(own.folder);
    return good;
}

static bool try_graph(const void *graph, size_t size)
{
    liana__text data = {0}, block = {0}, entry = {0};
    uint8_t number[4];
    liana__test_tf_number(&data, size);
    liana__store_u32(number, (uint32_t)size);
    const uint32_t of_length = liana__crc32c(number, sizeof number);
    liana__store_u32(number, liana__crc32c_mask(of_length));
    liana__text_add_bytes(&data, (const char *)number, sizeof number);
    liana__text_add_bytes(&data, graph, size);
    const uint32_t checksum = liana__crc32c_extend(liana__crc32c_extend(of_length, number, sizeof number), graph, size);
    liana__text_add_bytes(&entry, "\x08\x07\x28", 3);
    liana__test_tf_number(&entry, data.length);
    liana__text_add_bytes(&entry, "\x35", 1);
    add_number32(&entry, liana__crc32c_mask(checksum));
    static const char key[] = "_CHECKPOINTABLE_OBJECT_GRAPH", values[] = "\x08\x01\x28\x04";
    liana__test_tf_entry(&block, "", 0, "\x08\x01", 2);
    liana__test_tf_entry(&block, key, sizeof key - 1, entry.data, entry.length);
    liana__test_tf_entry(&block, "a", 1, values, sizeof values - 1);
    liana__test_tf_entry(&block, "b", 1, values, sizeof values - 1);
    liana__test_tf_end(&block);
    liana__text table = liana__test_tf_table(block.data, block.length, 0, 1);
    const bool good = try_files(table.data, table.length, data.data, data.length);
    liana__text_free(&table);
    liana__text_free(&block);
    liana__text_free(&entry);
    liana__text_free(&data);
    return good;
}

bool liana__try_tf_checkpoint(const uint8_t *bytes, size_t size)
{
    static const uint8_t data[256];
    if (!size) return false;
    const int kind = bytes[0] % 4;
    if (kind == 0) return try_files(bytes + 1, size - 1, data, sizeof data);
    if (kind == 3) return try_graph(bytes + 1, size - 1);
    liana__text table = liana__test_tf_table(bytes + 1, size - 1, (char)(kind - 1), 1);
    const bool good = try_files(table.data, table.length, data, sizeof data);
    liana__text_free(&table);
    return good;
}
