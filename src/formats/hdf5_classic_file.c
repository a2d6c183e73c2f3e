/* Reads the structure of classic HDF5 files: superblock and groups. */
#include "formats/hdf5_classic.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LEVEL = 32 };

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
    if (status == LIANA_OK) *source = &file->source;
    if (status != LIANA_OK) free(file);
    return status;
}
