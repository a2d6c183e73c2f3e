/* Unpacks an ONNX file. protobuf-c reads messages within messages by recursion, and allocates many small pieces: so the
 * depth is checked before, and the memory is limited by the size of the file. */
#include "onnx/import_file.h"

#include "base/file.h"
#include "base/scoped.h"

#include <protobuf-c/protobuf-c.h>
#include <string.h>

static const size_t MOST_BYTES = (size_t)1 << 31; /* of a message of protobuf */

enum {
    MOST_DEPTH = 24,
    /* An empty element of a list costs a few bytes in the file and some 200 in memory. */
    BUDGET_PER_BYTE = 256,
};

/* ---- the depth ---- */

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static bool read_varint(cursor *own, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && own->at < own->end; shift += 7) {
        const uint8_t byte = *own->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

/* The kinds of messages that hold others of their kind in the end. */
typedef enum kind { MODEL, GRAPH, NODE, ATTRIBUTE, FUNCTION, OTHER } kind;

static kind inner_kind(kind outer, uint64_t field)
{
    static const struct {
        kind outer;
        uint64_t field;
        kind inner;
    } fields[] = {{MODEL, 7, GRAPH},     {MODEL, 25, FUNCTION},  {GRAPH, 1, NODE},    {NODE, 5, ATTRIBUTE},
                  {ATTRIBUTE, 6, GRAPH}, {ATTRIBUTE, 11, GRAPH}, {FUNCTION, 7, NODE}, {FUNCTION, 11, ATTRIBUTE}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].outer == outer && fields[i].field == field) return fields[i].inner;
    }
    return OTHER;
}

/* False: the bytes are no message, or it is too deep. */
static bool check_message(cursor own, kind outer, int depth)
{
    while (own.at < own.end) {
        uint64_t key, size;
        if (!read_varint(&own, &key)) return false;
        const uint64_t field = key >> 3;
        switch (key & 7) {
        case 0:
            if (!read_varint(&own, &size)) return false;
            continue;
        case 1: size = 8; break;
        case 5: size = 4; break;
        case 2:
            if (!read_varint(&own, &size)) return false;
            break;
        default: return false;
        }
        if (size > (uint64_t)(own.end - own.at)) return false;
        const kind inner = (key & 7) == 2 ? inner_kind(outer, field) : OTHER;
        const cursor part = {own.at, own.at + size};
        if (inner != OTHER && (depth == MOST_DEPTH || !check_message(part, inner, depth + 1))) return false;
        own.at += size;
    }
    return true;
}

/* ---- memory ---- */

typedef struct memory {
    liana__arena *arena;
    uint64_t budget;
    bool is_spent;
} memory;

static void *allocate(void *user, size_t size)
{
    memory *own = user;
    own->is_spent = own->is_spent || size > own->budget;
    if (own->is_spent) return NULL;
    own->budget -= size;
    return liana__arena_allocate(own->arena, size);
}

static void release(void *user, void *address)
{
    (void)user;
    (void)address;
}

liana_status liana__import_unpack(liana__arena *arena, const void *bytes, size_t size, const char *path,
                                  Liana__Onnx__Model **file, liana__error *error)
{
    const cursor all = {bytes, (const uint8_t *)bytes + size};
    memory own = {arena, (uint64_t)size * BUDGET_PER_BYTE + 4096, false};
    ProtobufCAllocator allocator = {allocate, release, &own};
    *file = NULL;
    if (size == 0) return liana__fail(error, LIANA_INVALID_DATA, "'%s' is empty, expected an ONNX model", path);
    if (check_message(all, MODEL, 0)) *file = liana__onnx__model__unpack(&allocator, size, bytes);
    if (!*file && arena->failed) return liana__fail_memory(error, path);
    if (!*file) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is no ONNX model, or it is damaged or cut off (its messages do not fit each other); "
                           "export or copy it again",
                           path);
    }
    if ((*file)->graph && (*file)->graph->n_node) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no graph with nodes: it is no ONNX model", path);
}

liana_status liana__import_open(liana__arena *arena, const char *path, Liana__Onnx__Model **file, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *bytes = NULL;
    size_t size = 0;
    LIANA_TRY(liana__file_read(path, MOST_BYTES, &bytes, &size, error));
    return liana__import_unpack(arena, bytes, size, path, file, error);
}
