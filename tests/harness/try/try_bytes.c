/* Feeds any bytes to the readers of record files. */
#include "harness/try/try_bytes.h"

#include "base/crc32c.h"
#include "data/source/csv_columns.h"
#include "data/source/source_open.h"
#include "formats/csv.h"
#include "formats/example.h"
#include "formats/gzip_index.h"
#include "formats/idx.h"
#include "formats/tar.h"
#include "formats/tfrecord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The name that messages must have: that of bytes in memory, or the path of the file. */
static const char *name = "tried.bin";

enum { LIMIT = 1 << 20 };

static void demand(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

static void demand_message(liana_status status, const liana__error *error)
{
    demand(status == LIANA_DATA_LOSS || status == LIANA_INVALID_DATA || status == LIANA_OUT_OF_RANGE,
           "the status says that the data are at fault");
    demand(error->status == status, "status and error agree");
    demand(strstr(error->message, name) != NULL, "the message names the file");
}

/* The path of a file in memory with these bytes, until the next call. */
static const char *put_into_file(const uint8_t *bytes, size_t size)
{
    static int descriptor = -1;
    static char path[40];
    if (descriptor < 0) descriptor = memfd_create(name, MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    demand(ftruncate(descriptor, 0) == 0 && pwrite(descriptor, bytes, size, 0) == (ssize_t)size, "the file is written");
    return name = path;
}

/* Reads every byte, for the address sanitizer to see. */
static void touch(const void *bytes, size_t size)
{
    const volatile uint8_t *each = bytes;
    for (size_t i = 0; i < size; i++) (void)each[i];
}

static void touch_feature(const liana__feature *feature)
{
    touch(feature->name, strlen(feature->name) + 1);
    if (feature->kind == LIANA__FEATURE_FLOAT) touch(feature->floats, feature->count * sizeof *feature->floats);
    if (feature->kind == LIANA__FEATURE_INT64) touch(feature->int64s, feature->count * sizeof *feature->int64s);
    for (size_t j = 0; feature->kind == LIANA__FEATURE_BYTES && j < feature->count; j++) {
        touch(feature->bytes[j].data, feature->bytes[j].len);
    }
}

static void touch_lists(const liana__example *example)
{
    liana__error error;
    for (size_t i = 0; i < liana__example_num_lists(example); i++) {
        const liana__feature_list list = liana__example_list_at(example, i);
        for (size_t k = 0; k < list.count; k++) {
            const liana__feature step = liana__feature_list_step(&list, k);
            touch_feature(&step);
        }
    }
    liana__feature_list words;
    const liana_status status = liana__example_sequence(example, "words", LIANA__FEATURE_INT64, &words, &error);
    if (status == LIANA_OK) demand(strcmp(words.name, "words") == 0, "the list of that name is found");
    if (status != LIANA_OK) demand(strstr(error.message, name) != NULL, "the message names the file");
}

static void touch_features(const liana__example *example)
{
    liana__error error;
    for (size_t i = 0; i < liana__example_num_features(example); i++) {
        const liana__feature feature = liana__example_feature(example, i);
        touch_feature(&feature);
    }
    touch_lists(example);
    int64_t number;
    const uint8_t *bytes;
    size_t size;
    liana_status status = liana__example_int64(example, "class", &number, &error);
    if (status == LIANA_NOT_FOUND) demand(strstr(error.message, name) != NULL, "the message names the file");
    liana__feature floats;
    if (liana__example_list(example, "x", LIANA__FEATURE_FLOAT, &floats, &error) == LIANA_OK) {
        touch(floats.floats, floats.count * sizeof *floats.floats);
    }
    if (liana__example_bytes(example, "image", &bytes, &size, &error) == LIANA_OK) touch(bytes, size);
}

static bool parse_example(liana__example *example, size_t record, const uint8_t *bytes, size_t size)
{
    liana__error error;
    liana_status status = liana__example_parse(example, name, record, bytes, size, &error);
    if (status != LIANA_OK) demand_message(status, &error);
    touch_features(example);
    return status == LIANA_OK;
}

bool liana__try_example(const uint8_t *bytes, size_t size)
{
    liana__example example = {0};
    bool accepted = parse_example(&example, 0, bytes, size);
    /* Again, into memory that was used before. */
    demand(parse_example(&example, 1, bytes, size) == accepted, "the same bytes give the same answer");
    liana__example_free(&example);
    return accepted;
}

bool liana__try_tfrecord(const uint8_t *bytes, size_t size)
{
    liana__error error;
    liana__tfrecord *file;
    liana__tfrecord_options options = {.inflated_limit = LIMIT};
    liana_status status = liana__tfrecord_open(put_into_file(bytes, size), &options, &file, &error);
    if (status != LIANA_OK) {
        demand(!file, "no file after a failure");
        demand_message(status, &error);
        return false;
    }
    liana__example example = {0};
    size_t count = liana__tfrecord_count(file);
    for (size_t record = 0; record < count; record++) {
        const uint8_t *data;
        size_t data_size;
        status = liana__tfrecord_get(file, record, &data, &data_size, &error);
        if (status != LIANA_OK) {
            demand_message(status, &error);
            continue;
        }
        touch(data, data_size);
        parse_example(&example, record, data, data_size);
    }
    liana__example_free(&example);
    liana__tfrecord_close(file);
    return true;
}

static void store_checksum(uint8_t *at, const uint8_t *bytes, size_t size)
{
    uint32_t checksum = liana__crc32c_mask(liana__crc32c(bytes, size));
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(checksum >> (8 * i));
}

bool liana__try_tfrecord_repaired(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    if (!copy) return false;
    if (size) memcpy(copy, bytes, size);
    size_t offset = 0;
    while (size - offset >= 12) {
        uint64_t length = 0;
        for (int i = 0; i < 8; i++) length |= (uint64_t)copy[offset + (size_t)i] << (8 * i);
        store_checksum(copy + offset + 8, copy + offset, 8);
        offset += 12;
        if (size - offset < 4 || length > size - offset - 4) break;
        store_checksum(copy + offset + length, copy + offset, (size_t)length);
        offset += (size_t)length + 4;
    }
    bool accepted = liana__try_tfrecord(copy, size);
    free(copy);
    return accepted;
}

static bool try_idx(const uint8_t *bytes, size_t size, bool start)
{
    liana__error error;
    liana__idx idx;
    liana_status status = liana__idx_open(put_into_file(bytes, size), LIMIT, start, &idx, &error);
    if (status != LIANA_OK) {
        demand_message(status, &error);
        demand(!idx.name && !idx.inflated && !idx.data, "nothing to close after a failure");
        return false;
    }
    touch(idx.data, idx.size);
    demand(start || !idx.missing, "nothing is missing unless that is allowed");
    size_t elements = 1;
    for (int i = 0; i < idx.num_dimensions; i++) elements *= idx.dimensions[i];
    demand(elements == idx.num_elements, "as many elements as the dimensions say");
    if (liana__idx_expect_u8(&idx, 3, "images", &error) == LIANA_OK) {
        demand(idx.size == idx.num_elements, "a byte for each element of u8");
    }
    liana__idx_close(&idx);
    return true;
}

bool liana__try_idx(const uint8_t *bytes, size_t size)
{
    bool whole = try_idx(bytes, size, false), start = try_idx(bytes, size, true);
    demand(start || !whole, "what can be read whole can be read in part");
    return whole;
}

static void touch_records(const liana__source *source)
{
    void *scratch = liana__source_scratch_create(source);
    for (uint64_t i = 0; scratch && i < source->num_records; i++) {
        liana__error error = {0};
        liana_source_record record;
        const liana_status status = liana__source_read(source, i, scratch, &record, &error);
        const int64_t known = source->kind->known_label(liana__source_handle(source), i);
        demand(liana__source_offset(source, i) >= 0, "a record has its offset");
        if (status != LIANA_OK) {
            demand_message(status, &error);
            demand(known < 0, "a label that cannot be read is not known");
            continue;
        }
        touch(record.pixels, (size_t)(record.height * record.width) * (size_t)record.channels);
        demand(record.label == known && known >= 0 && known < 100, "the label is in its range");
    }
    liana__source_scratch_destroy(source, scratch);
}

bool liana__try_cifar(const uint8_t *bytes, size_t size)
{
    static const char *const labels[] = {NULL, "fine", "coarse"};
    bool accepted = false;
    for (int i = 0; i < 6; i++) {
        liana__error error = {0};
        liana__source *source;
        const char *path = put_into_file(bytes, size);
        const liana__source_options options = {.kind = "cifar", .label_feature = labels[i / 2], .skip_damage = i % 2};
        const liana_status status = liana__source_open(&path, 1, &options, &source, &error);
        if (status == LIANA_OK) {
            touch_records(source);
            liana__source_close(source);
        } else if (status != LIANA_INVALID_CONFIG) {
            demand_message(status, &error);
        }
        accepted = accepted || status == LIANA_OK;
    }
    return accepted;
}

/* The inflated bytes of a stream; too many of them end the pass. */
typedef struct gathered {
    uint8_t bytes[LIMIT];
    size_t size;
} gathered;

static liana_status gather(void *context, const uint8_t *bytes, size_t size, liana__error *error)
{
    gathered *all = context;
    if (size > LIMIT - all->size) return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' is too long to try", name);
    memcpy(all->bytes + all->size, bytes, size);
    all->size += size;
    return LIANA_OK;
}

static void read_parts(const liana__gzip_index *index, const gathered *all)
{
    uint8_t *part = malloc(all->size + 1);
    if (!part) return;
    for (size_t place = 0; place < liana__gzip_index_count(index) && place < 16; place++) {
        liana__error error;
        size_t begin = (size_t)liana__gzip_index_offset(index, place), left = all->size - begin;
        size_t skip = left / 3, length = place % 2 ? left - skip : left / 2;
        demand(liana__gzip_index_read(index, begin + skip, part, length, &error) == LIANA_OK,
               "what was there is there");
        demand(memcmp(part, all->bytes + begin + skip, length) == 0, "and is the same");
    }
    free(part);
}

bool liana__try_gzip_index(const uint8_t *bytes, size_t size)
{
    static gathered all;
    liana__error error;
    liana__gzip_index *index;
    liana__file_view file = liana__file_view_of_bytes(name, bytes, size);
    file.ahead = size % 64; /* in pieces, or all at once */
    all.size = 0;
    liana_status status = liana__gzip_index_build(&file, 100, gather, &all, &index, &error);
    if (status != LIANA_OK) demand_message(status, &error);
    if (status == LIANA_OK) read_parts(index, &all);
    liana__gzip_index_free(index);
    return status == LIANA_OK;
}

bool liana__try_csv(const uint8_t *bytes, size_t size)
{
    bool accepted = false;
    for (int i = 0; i < 6; i++) {
        liana__error error;
        liana__csv csv = {.keep_ragged = i == 2 || i == 3, .plain_quotes = i > 3};
        liana_status status =
            liana__csv_parse(name, (const char *)bytes, size, i == 5 ? 'e' : ",\t"[i % 2], &csv, &error);
        demand(csv.size <= size, "rows end where the text does");
        if (status != LIANA_OK) demand_message(status, &error);
        for (size_t row = 0; row < csv.num_rows; row++) {
            demand(csv.lines[row] > (row ? csv.lines[row - 1] : 0), "lines go up");
            for (size_t column = 0; column < csv.num_columns; column++) {
                const char *cell = liana__csv_cell(&csv, row, column);
                touch(cell, strlen(cell) + 1);
            }
        }
        liana__csv_free(&csv);
        accepted = accepted || status == LIANA_OK;
    }
    return accepted;
}

/* Reads all rows with these columns (NULL: all); bad rows are left out. */
static bool try_columns(const liana__csv *csv, const liana__columns *columns)
{
    liana__error error;
    liana__arena arena = {0};
    liana__csv_columns found;
    liana__csv_table table = {name, csv, liana__csv_has_header(csv)};
    liana__csv_request request = {.tables = &table, .count = 1, .columns = columns, .skip_damage = columns == NULL};
    size_t num_rows = csv->num_rows - table.first_row;
    liana_status status = liana__csv_columns_find(&request, num_rows, &arena, &found, &error);
    bool is_wide = status == LIANA_INVALID_CONFIG && strstr(error.message, "components");
    if (status != LIANA_OK && !is_wide) demand_message(status, &error);
    bool any = false;
    for (size_t row = 0; status == LIANA_OK && row < num_rows; row++) {
        liana_status own = liana__csv_columns_read(&found, &table, 0, row + table.first_row, row, &error);
        if (own != LIANA_OK) {
            demand(own == LIANA_INVALID_DATA || own == LIANA_OUT_OF_RANGE, "the cell is at fault");
            demand(strncmp(error.message, "line ", 5) == 0 && strstr(error.message, ", column '"),
                   "its place is named");
        }
        any = any || own == LIANA_OK;
        for (size_t i = 0; own == LIANA_OK && i < found.components.count; i++) {
            const char *values = found.values[i] + row * found.components.sizes[i];
            touch(values, found.components.sizes[i]);
            if (found.components.items[i].dtype != LIANA_STRING) continue;
            const liana_bytes *text = (const liana_bytes *)values;
            touch(text->data, text->size);
        }
    }
    liana__csv_columns_free(&found);
    liana__arena_free(&arena);
    return any;
}

bool liana__try_csv_table(const uint8_t *bytes, size_t size)
{
    static const char *const all[] = {"*"}, *const one[] = {"1"}, *const mean[] = {"mean"};
    liana__error error;
    bool accepted = false;
    for (int i = 0; i < 2; i++) {
        liana__csv csv = {0};
        bool whole = liana__csv_parse(name, (const char *)bytes, size, ",\t"[i], &csv, &error) == LIANA_OK;
        if (whole && csv.num_rows && csv.num_columns <= 64) {
            liana__column ways[] = {
                {.name = "a", .from = {1, all}, .stacked = true, .dtype = LIANA__DTYPE_DETECTED},
                {.name = "b", .from = {1, all}, .length = 3, .padding = -1, .lengths = "n", .dtype = LIANA_S32},
                {.name = "c", .from = {1, all}, .multi_hot = 5, .dtype = LIANA_U8},
                {.name = "d", .from = {1, all}, .stacked = true, .category = true, .dtype = LIANA__DTYPE_DETECTED},
                {.name = "e", .from = {1, all}, .stacked = true, .dtype = LIANA_BOOL, .values_if_missing = {1, one}},
                {.name = "f", .from = {1, all}, .stacked = true, .hash_bins = 7, .dtype = LIANA__DTYPE_DETECTED},
                {.name = "g", .from = {1, all}, .stacked = true, .dtype = LIANA_F32, .values_if_missing = {1, mean}},
                {.name = "h",
                 .from = {1, all},
                 .stacked = true,
                 .category = true,
                 .num_oov_indices = 1,
                 .dtype = LIANA__DTYPE_DETECTED},
            };
            accepted = try_columns(&csv, NULL) || accepted;
            for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
                accepted = try_columns(&csv, &(liana__columns){1, &ways[k]}) || accepted;
            }
        }
        liana__csv_free(&csv);
    }
    return accepted;
}

bool liana__try_tar(const uint8_t *bytes, size_t size)
{
    liana__error error;
    liana__tar tar;
    liana_status status = liana__tar_open(put_into_file(bytes, size), &tar, &error);
    if (status != LIANA_OK) demand_message(status, &error);
    for (size_t i = 0; status == LIANA_OK && i < tar.count; i++) {
        touch(tar.members[i].name, strlen(tar.members[i].name) + 1);
        touch(tar.mapping.data + tar.members[i].offset, (size_t)tar.members[i].size);
    }
    liana__tar_close(&tar);
    return status == LIANA_OK;
}

bool liana__try_tar_repaired(const uint8_t *bytes, size_t size)
{
    enum { BLOCK = 512, SUM_AT = 148, SUM_SIZE = 8 };
    uint8_t *copy = malloc(size + 1);
    if (!copy) return false;
    if (size) memcpy(copy, bytes, size);
    for (size_t offset = 0; size - offset >= BLOCK; offset += BLOCK) {
        uint8_t *header = copy + offset;
        if (memcmp(header + 257, "ustar", 5) != 0) continue;
        unsigned sum = 0;
        memset(header + SUM_AT, ' ', SUM_SIZE);
        for (int i = 0; i < BLOCK; i++) sum += header[i];
        for (int i = 0; i < 6; i++) header[SUM_AT + 5 - i] = (uint8_t)('0' + (sum >> (3 * i) & 7));
        header[SUM_AT + 6] = 0;
    }
    bool accepted = liana__try_tar(copy, size);
    free(copy);
    return accepted;
}
