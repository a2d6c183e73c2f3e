/* Reads the structure of classic HDF5 files: superblock and groups. */
#include "formats/hdf5/hdf5_classic.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LEVEL = 32 };

/* --- Groups: a B-tree of nodes of links, and a heap of their names (III.A.1, III.B, III.D) ------------------------ */

typedef struct group {
    const liana__hdf5_tree *file;
    uint64_t tree;
    liana__span names; /* the heap's data */
} group;

static liana_status open_group(const liana__hdf5_tree *file, uint64_t header, group *opened, liana__error *error)
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
            return liana__fail(error, LIANA_UNIMPLEMENTED, "is a link to another place, which liana does not follow");
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

liana_status liana__hdf5_tree_find(const liana__hdf5_tree *file, liana__hdf5_node node, const char *path,
                                   liana__hdf5_node *result, liana__error *error)
{
    uint64_t header = *path == '/' ? file->root : node;
    for (const char *part = path; *part;) {
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
    *result = header;
    return LIANA_OK;
}

/* ---- what is in a group ---- */

typedef struct listing {
    group in;
    liana__hdf5_take_child take;
    void *user;
    size_t *steps_left; /* the file's */
    liana__error *error;
} listing;

static liana_status take_step(listing *list)
{
    if (*list->steps_left == 0) {
        return liana__classic_damaged(list->error, "its groups have more links than it has room for");
    }
    --*list->steps_left;
    return LIANA_OK;
}

static liana_status list_links(listing *list, uint64_t address)
{
    enum { HEAD = 8, ENTRY = 40, SOFT_LINK = 2 };
    liana__span head, entries;
    const liana__hdf5_tree *file = list->in.file;
    LIANA_TRY(take_step(list));
    bool good = liana__classic_at(file, address, HEAD, &head) && memcmp(head.data, "SNOD", 4) == 0;
    uint64_t count = good ? liana__span_number(head.data + 6, 2) : 0;
    good = good && liana__classic_at(file, address + HEAD, count * ENTRY, &entries);
    if (!good) return liana__classic_damaged(list->error, "the links of a group are missing");
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = entries.data + i * ENTRY;
        uint64_t name = liana__span_number(entry, 8), header = liana__span_number(entry + 8, 8);
        int order;
        bool is_group;
        LIANA_TRY(take_step(list));
        if (!compare_name(&list->in, name, "", 0, &order)) {
            return liana__classic_damaged(list->error, "the names of a group are missing");
        }
        if (liana__span_number(entry + 16, 4) == SOFT_LINK) continue;
        LIANA_TRY(liana__classic_is_group(file, header, &is_group, list->error));
        LIANA_TRY(list->take(list->user, (const char *)list->in.names.data + name, header, is_group, list->error));
    }
    return LIANA_OK;
}

static liana_status list_tree(listing *list, uint64_t address, int expected)
{
    enum { HEAD = 24, KEY = 8, STEP = 16, GROUP_TREE = 0 };
    liana__span head, body;
    LIANA_TRY(take_step(list));
    bool good = liana__classic_at(list->in.file, address, HEAD, &head) && memcmp(head.data, "TREE", 4) == 0 &&
                head.data[4] == GROUP_TREE && head.data[5] < MAX_LEVEL && (expected < 0 || head.data[5] == expected);
    uint64_t count = good ? liana__span_number(head.data + 6, 2) : 0;
    good = good && liana__classic_at(list->in.file, address + HEAD, count * STEP + KEY, &body);
    if (!good) return liana__classic_damaged(list->error, "the tree of a group is broken");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t child = liana__span_number(body.data + i * STEP + KEY, 8);
        LIANA_TRY(head.data[5] == 0 ? list_links(list, child) : list_tree(list, child, head.data[5] - 1));
    }
    return LIANA_OK;
}

liana_status liana__hdf5_tree_children(liana__hdf5_tree *file, liana__hdf5_node node, liana__hdf5_take_child take,
                                       void *user, liana__error *error)
{
    listing list = {.take = take, .user = user, .steps_left = &file->steps_left, .error = error};
    LIANA_TRY(open_group(file, node, &list.in, error));
    return list_tree(&list, list.in.tree, -1);
}

/* ---- the file ---- */

liana__hdf5_node liana__hdf5_tree_root(const liana__hdf5_tree *tree)
{
    return tree->root;
}

void liana__hdf5_tree_close(liana__hdf5_tree *tree)
{
    if (!tree) return;
    free(tree->bytes);
    free(tree);
}

/* II.A, superblock versions 0 and 1. */
static liana_status read_superblock(liana__hdf5_tree *file, liana__error *error)
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
    file->root = liana__span_number(addresses + 32 + 8, 8);
    return LIANA_OK;
}

enum { VERSION = 8, NEWEST_CLASSIC = 1 };

static liana_status check_head(const char *name, const char *head, size_t size, size_t whole, liana__error *error)
{
    if (size >= 4 && memcmp(head, "PK\3\4", 4) == 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is a zip archive (a .keras file?), expected an HDF5 file",
                           name);
    }
    if (size > VERSION && memcmp(head, "\x89HDF\r\n\x1a\n", VERSION) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' (%zu bytes) is not an HDF5 file", name, whole);
}

/* Makes a classic file of one in a newer layout. */
static liana_status make_classic(liana__hdf5_tree *tree, const char *name, liana__error *error)
{
    char *classic;
    liana_status status = liana__hdf5_make_classic(tree->bytes, tree->file.size, &classic, &tree->file.size, error);
    if (status != LIANA_OK) return liana__fail_within(error, "'%s'", name);
    free(tree->bytes);
    tree->bytes = classic;
    tree->is_rewritten = true;
    return LIANA_OK;
}

static liana_status open_classic(liana__hdf5_tree *tree, const char *name, liana__error *error)
{
    /* A link takes 40 bytes. Every group is listed once or twice. */
    tree->steps_left = tree->file.size / 10 + 1000;
    tree->file.data = (const uint8_t *)tree->bytes;
    return read_superblock(tree, error) == LIANA_OK ? LIANA_OK : liana__fail_within(error, "'%s'", name);
}

static liana_status open_bytes(liana__hdf5_tree *tree, const char *name, liana__error *error)
{
    const size_t size = tree->file.size;
    LIANA_TRY(check_head(name, tree->bytes, size, size, error));
    if ((uint8_t)tree->bytes[VERSION] > NEWEST_CLASSIC) LIANA_TRY(make_classic(tree, name, error));
    return open_classic(tree, name, error);
}

bool liana__hdf5_tree_rewrite(liana__hdf5_tree *tree, const char *name)
{
    liana__error ignored;
    return !tree->is_rewritten && make_classic(tree, name, &ignored) == LIANA_OK &&
           open_classic(tree, name, &ignored) == LIANA_OK;
}

liana_status liana__hdf5_tree_take(const char *name, char *bytes, size_t size, liana__hdf5_tree **out,
                                   liana__error *error)
{
    *out = NULL;
    liana__error own;
    if (!error) error = &own;
    liana__hdf5_tree *tree = calloc(1, sizeof *tree);
    if (!tree) {
        free(bytes);
        return liana__fail_memory(error, name);
    }
    tree->bytes = bytes;
    tree->file.size = size;
    if (open_bytes(tree, name, error) == LIANA_OK) {
        *out = tree;
        return LIANA_OK;
    }
    liana__hdf5_tree_close(tree);
    return error->status;
}

liana_status liana__hdf5_tree_open(const char *path, liana__hdf5_tree **tree, liana__error *error)
{
    *tree = NULL;
    char *bytes, head[VERSION + 1];
    size_t size;
    liana__file_version version;
    /* A large file of another kind is not read for that. */
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    const bool is_there = liana__file_version_find(path, &version);
    LIANA_TRY(check_head(path, head, size, is_there ? (size_t)version.size : size, error));
    LIANA_TRY(liana__file_read(path, SIZE_MAX / 2, &bytes, &size, error));
    return liana__hdf5_tree_take(path, bytes, size, tree, error);
}
