/* Reads the structure of classic HDF5 files: superblock, object headers, groups. */
#include "formats/hdf5_classic.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 1024, MAX_MESSAGES = 65535, MAX_LEVEL = 32 };

/* --- Bytes ------------------------------------------------------------------------------------------------------- */

bool liana__span_at(liana__span span, uint64_t offset, uint64_t size, liana__span *part)
{
    if (offset > span.size || size > span.size - offset) return false;
    *part = (liana__span){span.data + offset, (size_t)size};
    return true;
}

bool liana__classic_at(const liana__classic *file, uint64_t address, uint64_t size, liana__span *span)
{
    return liana__span_at(file->file, address, size, span);
}

uint64_t liana__span_number(const uint8_t *bytes, int size)
{
    uint64_t number = 0;
    for (int i = size - 1; i >= 0; i--) number = number << 8 | bytes[i];
    return number;
}

liana_status liana__classic_damaged(liana__error *error, const char *what)
{
    return liana__fail(error, LIANA_DATA_LOSS, "the file is damaged: %s", what);
}

/* --- Object headers (IV.A.1.a) ----------------------------------------------------------------------------------- */

/* The blocks of one header: the first, and those that continuation messages add. */
typedef struct header_walk {
    const liana__classic *file;
    liana__span blocks[MAX_BLOCKS];
    int num_blocks;
    unsigned left; /* messages */
    liana__take_message take;
    void *user;
    bool done;
    liana__error *error;
} header_walk;

static liana_status add_block(header_walk *walk, uint64_t address, uint64_t size)
{
    bool good =
        walk->num_blocks < MAX_BLOCKS && liana__classic_at(walk->file, address, size, &walk->blocks[walk->num_blocks]);
    if (!good) return liana__classic_damaged(walk->error, "an object header lies outside of it");
    walk->num_blocks++;
    return LIANA_OK;
}

static liana_status take_message(header_walk *walk, const uint8_t *head, liana__span body)
{
    enum { SHARED = 0x02 };
    int kind = (int)liana__span_number(head, 2);
    if (kind == LIANA__MESSAGE_CONTINUATION) {
        if (body.size < 16) return liana__classic_damaged(walk->error, "a continuation of an object header is short");
        return add_block(walk, liana__span_number(body.data, 8), liana__span_number(body.data + 8, 8));
    }
    if ((head[4] & SHARED) && (kind == LIANA__MESSAGE_TYPE || kind == LIANA__MESSAGE_SPACE)) {
        return liana__fail(walk->error, LIANA_UNIMPLEMENTED, "uses a type stored elsewhere, which liana does not read");
    }
    return walk->take(walk->user, kind, body, &walk->done, walk->error);
}

static liana_status walk_block(header_walk *walk, liana__span block)
{
    enum { HEAD = 8 };
    liana__span head, body;
    size_t place = 0;
    while (!walk->done && walk->left > 0 && liana__span_at(block, place, HEAD, &head)) {
        uint64_t size = liana__span_number(head.data + 2, 2);
        if (!liana__span_at(block, place + HEAD, size, &body)) {
            return liana__classic_damaged(walk->error, "a message is longer than its object header");
        }
        walk->left--;
        LIANA_TRY(take_message(walk, head.data, body));
        place += HEAD + body.size;
    }
    return LIANA_OK;
}

static liana_status walk_blocks(header_walk *walk, uint64_t header)
{
    enum { PREFIX = 16, VERSION = 1 };
    liana__span prefix;
    if (!liana__classic_at(walk->file, header, PREFIX, &prefix)) {
        return liana__classic_damaged(walk->error, "an object header lies outside of it");
    }
    if (memcmp(prefix.data, "OHDR", 4) == 0) {
        return liana__fail(walk->error, LIANA_UNIMPLEMENTED,
                           "mixes old and new HDF5 structures, which liana does not read; rewrite the file with "
                           "h5repack");
    }
    if (prefix.data[0] != VERSION) return liana__classic_damaged(walk->error, "an object header has no known version");
    walk->left = (unsigned)liana__span_number(prefix.data + 2, 2);
    LIANA_TRY(add_block(walk, header + PREFIX, liana__span_number(prefix.data + 8, 4)));
    for (int i = 0; i < walk->num_blocks && !walk->done; i++) LIANA_TRY(walk_block(walk, walk->blocks[i]));
    return LIANA_OK;
}

liana_status liana__classic_walk(const liana__classic *file, uint64_t header, liana__take_message take, void *user,
                                 liana__error *error)
{
    header_walk *walk = malloc(sizeof *walk);
    if (!walk) return liana__fail_memory(error, "an object header");
    walk->file = file;
    walk->num_blocks = 0;
    walk->take = take;
    walk->user = user;
    walk->done = false;
    walk->error = error;
    liana_status status = walk_blocks(walk, header);
    free(walk);
    return status;
}

typedef struct message_search {
    int kind;
    liana__span body;
    bool found;
} message_search;

static liana_status match_message(void *user, int kind, liana__span body, bool *done, liana__error *error)
{
    (void)error;
    message_search *search = user;
    if (kind != search->kind) return LIANA_OK;
    search->body = body;
    search->found = *done = true;
    return LIANA_OK;
}

liana_status liana__classic_message(const liana__classic *file, uint64_t header, int kind, liana__span *body,
                                    bool *found, liana__error *error)
{
    message_search search = {.kind = kind};
    LIANA_TRY(liana__classic_walk(file, header, match_message, &search, error));
    *body = search.body;
    if (found) {
        *found = search.found;
    } else if (!search.found) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           kind == LIANA__MESSAGE_TABLE ? "is not a group" : "is not a dataset");
    }
    return LIANA_OK;
}

/* --- Groups: a B-tree of nodes of links, and a heap of their names (III.A.1, III.B, III.D) ------------------------ */

typedef struct group {
    const liana__classic *file;
    uint64_t tree;
    liana__span names; /* the heap's data */
} group;

static liana_status open_group(const liana__classic *file, uint64_t header, group *opened, liana__error *error)
{
    enum { HEAP_HEAD = 32 };
    liana__span body, heap;
    LIANA_TRY(liana__classic_message(file, header, LIANA__MESSAGE_TABLE, &body, NULL, error));
    bool good = body.size >= 16 && liana__classic_at(file, liana__span_number(body.data + 8, 8), HEAP_HEAD, &heap) &&
                memcmp(heap.data, "HEAP", 4) == 0 &&
                liana__classic_at(file, liana__span_number(heap.data + 24, 8), liana__span_number(heap.data + 8, 8),
                                  &opened->names);
    if (!good) return liana__classic_damaged(error, "the names of a group are missing");
    opened->file = file;
    opened->tree = liana__span_number(body.data, 8);
    return LIANA_OK;
}

/* Compares the name at an offset of the heap with `name` of `length` bytes; false if it is not in the heap. */
static bool compare_name(const group *in, uint64_t offset, const char *name, size_t length, int *order)
{
    if (offset >= in->names.size) return false;
    const char *other = (const char *)in->names.data + offset;
    size_t room = in->names.size - (size_t)offset, size = strnlen(other, room);
    if (size == room) return false;
    *order = memcmp(name, other, length < size ? length : size);
    if (*order == 0) *order = length < size ? -1 : length > size ? 1 : 0;
    return true;
}

/* A leaf: links in the order of their names. */
static liana_status find_link(const group *in, uint64_t address, const char *name, size_t length, uint64_t *header,
                              liana__error *error)
{
    enum { HEAD = 8, ENTRY = 40, SOFT_LINK = 2 };
    liana__span head, entries;
    bool good = liana__classic_at(in->file, address, HEAD, &head) && memcmp(head.data, "SNOD", 4) == 0;
    uint64_t count = good ? liana__span_number(head.data + 6, 2) : 0;
    good = good && liana__classic_at(in->file, address + HEAD, count * ENTRY, &entries);
    for (uint64_t i = 0; good && i < count; i++) {
        const uint8_t *entry = entries.data + i * ENTRY;
        int order;
        good = compare_name(in, liana__span_number(entry, 8), name, length, &order);
        if (!good || order != 0) continue;
        if (liana__span_number(entry + 16, 4) == SOFT_LINK) {
            return liana__fail(error, LIANA_INVALID_DATA, "is a link to another file, which liana does not follow");
        }
        *header = liana__span_number(entry + 8, 8);
        return LIANA_OK;
    }
    if (!good) return liana__classic_damaged(error, "the links of a group are missing");
    return liana__fail(error, LIANA_NOT_FOUND, "the file does not hold it");
}

/* Goes down the tree: the child between two keys holds the names above the first, up to the second. */
static liana_status find_in_group(const group *in, const char *name, size_t length, uint64_t *header,
                                  liana__error *error)
{
    enum { HEAD = 24, KEY = 8, STEP = 16, GROUP_TREE = 0 };
    uint64_t address = in->tree;
    int expected = -1;
    for (int level = MAX_LEVEL; level != 0;) {
        liana__span head, body;
        bool good = liana__classic_at(in->file, address, HEAD, &head) && memcmp(head.data, "TREE", 4) == 0 &&
                    head.data[4] == GROUP_TREE && head.data[5] < MAX_LEVEL &&
                    (expected < 0 || head.data[5] == expected);
        uint64_t count = good ? liana__span_number(head.data + 6, 2) : 0;
        good = good && liana__classic_at(in->file, address + HEAD, count * STEP + KEY, &body);
        int order = 1;
        uint64_t child = 0;
        for (; good && child < count && order > 0; child += order > 0) {
            good = compare_name(in, liana__span_number(body.data + (child + 1) * STEP, 8), name, length, &order);
        }
        if (!good) return liana__classic_damaged(error, "the tree of a group is broken");
        if (child == count) return liana__fail(error, LIANA_NOT_FOUND, "the file does not hold it");
        address = liana__span_number(body.data + child * STEP + KEY, 8);
        level = head.data[5];
        expected = level - 1;
    }
    return find_link(in, address, name, length, header, error);
}

static liana_status find(liana__hdf5_source *source, liana__hdf5_node node, const char *name, liana__hdf5_node *result,
                         liana__error *error)
{
    const liana__classic *file = (const liana__classic *)(const void *)source;
    uint64_t header = (uint64_t)(*name == '/' ? source->root : node);
    for (const char *part = name; *part;) {
        size_t length = strcspn(part, "/");
        bool named = length > 0 && !(length == 1 && *part == '.');
        group in = {0};
        if (named) {
            LIANA_TRY(open_group(file, header, &in, error));
            LIANA_TRY(find_in_group(&in, part, length, &header, error));
        }
        part += length;
        part += *part == '/';
    }
    *result = (liana__hdf5_node)header;
    return LIANA_OK;
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

static void release(liana__hdf5_source *source, liana__hdf5_node node)
{
    (void)source;
    (void)node;
}

static void close_classic(liana__hdf5_source *source)
{
    free(source);
}

/* II.A, superblock versions 0 and 1. */
static liana_status read_superblock(liana__classic *file, liana__error *error)
{
    enum { SIZE = 96, EXTRA = 4 };
    liana__span block;
    bool whole = liana__classic_at(file, 0, SIZE + EXTRA, &block);
    if (!whole) return liana__fail(error, LIANA_DATA_LOSS, "the file is truncated: %zu bytes", file->file.size);
    if (block.data[13] != 8 || block.data[14] != 8) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "addresses of %d and lengths of %d bytes, expected 8 and 8",
                           block.data[13], block.data[14]);
    }
    const uint8_t *addresses = block.data + 24 + (block.data[8] == 1 ? EXTRA : 0);
    uint64_t base = liana__span_number(addresses, 8), end = liana__span_number(addresses + 16, 8);
    if (base != 0) return liana__classic_damaged(error, "its base address is not 0");
    if (end > file->file.size) {
        return liana__fail(error, LIANA_DATA_LOSS, "the file is truncated: %zu of %llu bytes", file->file.size,
                           (unsigned long long)end);
    }
    file->source.root = (liana__hdf5_node)liana__span_number(addresses + 32 + 8, 8);
    return LIANA_OK;
}

liana_status liana__hdf5_classic_open(const uint8_t *bytes, size_t size, liana__hdf5_source **source,
                                      liana__error *error)
{
    liana__classic *file = malloc(sizeof *file);
    if (!file) return liana__fail_memory(error, "an HDF5 file");
    *file = (liana__classic){.source = {0, close_classic, find, release, liana__classic_texts, liana__classic_describe,
                                        liana__classic_read},
                             .file = {bytes, size}};
    liana_status status = read_superblock(file, error);
    if (status != LIANA_OK) {
        free(file);
        return status;
    }
    *source = &file->source;
    return LIANA_OK;
}
