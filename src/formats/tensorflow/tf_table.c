/* Reads sorted tables of keys and values. */
#include "formats/tensorflow/tf_table.h"

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "base/scoped.h"
#include "formats/tensorflow/snappy.h"
#include "formats/tensorflow/varint.h"

#include <stdlib.h>
#include <string.h>

/* Sizes in bytes: of a footer; of what follows a block (its compression and its checksum); of a number in the list of
 * restarts, which ends a block. */
enum { FOOTER = 48, TRAILER = 5, RESTART = 4 };
enum { MOST_KEY = 1 << 16, MOST_BLOCK = 1 << 26 };
enum { STORED = 0, SNAPPY = 1 };

static const uint8_t magic[LIANA__TF_TABLE_MAGIC] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

bool liana__is_tf_table(const uint8_t end[LIANA__TF_TABLE_MAGIC])
{
    return memcmp(end, magic, sizeof magic) == 0;
}

typedef struct table {
    const char *name;
    const uint8_t *bytes;
    size_t size; /* without the footer */
    liana__tf_visit visit;
    void *user;
    uint8_t *last_key; /* of the entry visited last: MOST_KEY bytes */
    size_t last_size;
    bool begun;
    liana__error *error;
} table;

/* The place of a block, without its trailer. */
typedef struct handle {
    uint64_t offset;
    uint64_t size;
} handle;

static bool read_handle(liana__byte_reader *reader, handle *block)
{
    return liana__read_varint(reader, &block->offset) && liana__read_varint(reader, &block->size);
}

static liana_status fail_block(const table *own, const handle *block, liana_status status, const char *what)
{
    return liana__fail(own->error, status, "'%s': the block at byte %llu %s", own->name,
                       (unsigned long long)block->offset, what);
}

/* A block's bytes; *expanded, if it is not NULL, is to be freed. */
static liana_status open_block(const table *own, const handle *block, liana__byte_reader *inside, uint8_t **expanded)
{
    *expanded = NULL;
    if (block->offset > own->size || own->size - block->offset < TRAILER ||
        block->size > own->size - block->offset - TRAILER) {
        return fail_block(own, block, LIANA_DATA_LOSS, "ends behind the file; it is truncated, or the list is damaged");
    }
    const uint8_t *bytes = own->bytes + block->offset;
    const size_t size = (size_t)block->size;
    if (liana__crc32c_mask(liana__crc32c(bytes, size + 1)) != liana__load_u32(bytes + size + 1)) {
        return fail_block(own, block, LIANA_DATA_LOSS, "has a wrong checksum; the file is damaged");
    }
    *inside = (liana__byte_reader){bytes, size};
    if (bytes[size] == STORED) return LIANA_OK;
    if (bytes[size] != SNAPPY) {
        return fail_block(own, block, LIANA_UNIMPLEMENTED, "has an unknown compression, expected none or Snappy");
    }
    if (!liana__snappy_expand(bytes, size, MOST_BLOCK, expanded, &inside->size)) {
        return fail_block(own, block, LIANA_INVALID_DATA, "is not Snappy's format, or above 64 MB");
    }
    inside->data = *expanded;
    return LIANA_OK;
}

/* Takes the list of restarts off the end of a block: keys are read from the front. */
static bool drop_restarts(liana__byte_reader *inside)
{
    if (inside->size < RESTART) return false;
    const uint64_t count = liana__load_u32(inside->data + inside->size - RESTART);
    if (count > inside->size / RESTART - 1) return false;
    inside->size -= (size_t)(count + 1) * RESTART;
    return true;
}

/* An iteration of one block. */
typedef struct cursor {
    liana__byte_reader inside;
    uint8_t *key; /* MOST_KEY bytes */
    size_t key_size;
} cursor;

/* False: the entry is damaged, or its key too long. */
static bool read_entry(cursor *at, liana__tf_entry *entry)
{
    uint64_t shared, rest, value;
    liana__byte_reader *in = &at->inside;
    if (!liana__read_varint(in, &shared) || !liana__read_varint(in, &rest) || !liana__read_varint(in, &value)) {
        return false;
    }
    if (shared > at->key_size || rest > in->size || value > in->size - rest || rest > MOST_KEY - shared) return false;
    memcpy(at->key + shared, in->data, (size_t)rest);
    at->key_size = (size_t)(shared + rest);
    *entry = (liana__tf_entry){at->key, at->key_size, in->data + rest, (size_t)value};
    in->data += rest + value;
    in->size -= (size_t)(rest + value);
    return true;
}

static int compare_keys(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

/* Keys must ascend in the whole table. So no block can be listed twice, to make few bytes many. */
static liana_status take_entry(table *own, const handle *block, const liana__tf_entry *entry)
{
    if (own->begun && compare_keys(own->last_key, own->last_size, entry->key, entry->key_size) >= 0) {
        return fail_block(own, block, LIANA_INVALID_DATA, "has keys that do not ascend");
    }
    own->begun = true;
    memcpy(own->last_key, entry->key, entry->key_size);
    own->last_size = entry->key_size;
    return own->visit(own->user, entry, own->error);
}

static liana_status read_data_block(table *own, const handle *block, uint8_t *key)
{
    LIANA__SCOPED_MEMORY uint8_t *expanded = NULL;
    cursor at = {.key = key};
    LIANA_TRY(open_block(own, block, &at.inside, &expanded));
    bool good = drop_restarts(&at.inside);
    while (good && at.inside.size) {
        liana__tf_entry entry;
        good = read_entry(&at, &entry);
        if (good) LIANA_TRY(take_entry(own, block, &entry));
    }
    return good ? LIANA_OK : fail_block(own, block, LIANA_INVALID_DATA, "is no list of keys and values");
}

/* The values of the list are the places of the blocks. */
static liana_status read_list(table *own, const handle *list, uint8_t *list_key, uint8_t *key)
{
    LIANA__SCOPED_MEMORY uint8_t *expanded = NULL;
    cursor at = {.key = list_key};
    LIANA_TRY(open_block(own, list, &at.inside, &expanded));
    bool good = drop_restarts(&at.inside);
    while (good && at.inside.size) {
        liana__tf_entry entry;
        handle block;
        good = read_entry(&at, &entry);
        if (!good) break;
        liana__byte_reader place = {entry.value, entry.value_size};
        good = read_handle(&place, &block);
        if (good) LIANA_TRY(read_data_block(own, &block, key));
    }
    return good ? LIANA_OK : fail_block(own, list, LIANA_INVALID_DATA, "is no list of blocks");
}

liana_status liana__tf_table_read(const char *name, const uint8_t *bytes, size_t size, liana__tf_visit visit,
                                  void *user, liana__error *error)
{
    if (size < FOOTER || !liana__is_tf_table(bytes + size - sizeof magic)) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' does not end as the index of a TensorFlow checkpoint does; it is truncated, or "
                           "another kind of file",
                           name);
    }
    LIANA__SCOPED_MEMORY uint8_t *keys = malloc(3 * (size_t)MOST_KEY);
    if (!keys) return liana__fail_memory(error, name);
    table own = {.name = name,
                 .bytes = bytes,
                 .size = size - FOOTER,
                 .visit = visit,
                 .user = user,
                 .last_key = keys,
                 .error = error};
    handle ignored, list;
    liana__byte_reader footer = {bytes + size - FOOTER, FOOTER - sizeof magic};
    if (!read_handle(&footer, &ignored) || !read_handle(&footer, &list)) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': its last %d bytes do not say where its list of blocks is",
                           name, FOOTER);
    }
    return read_list(&own, &list, keys + MOST_KEY, keys + 2 * (size_t)MOST_KEY);
}
