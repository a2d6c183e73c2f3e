/* Reads the bytes and the object headers of classic HDF5 files. */
#include "formats/hdf5/hdf5_classic.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 1024, MAX_MESSAGES = 65535 };

/* --- Bytes ------------------------------------------------------------------------------------------------------- */

bool liana__span_at(liana__span span, uint64_t offset, uint64_t size, liana__span *part)
{
    if (offset > span.size || size > span.size - offset) return false;
    *part = (liana__span){span.data + offset, (size_t)size};
    return true;
}

bool liana__classic_at(const liana__hdf5_tree *file, uint64_t address, uint64_t size, liana__span *span)
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
    const liana__hdf5_tree *file;
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

liana_status liana__classic_walk(const liana__hdf5_tree *file, uint64_t header, liana__take_message take, void *user,
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

/* h5py makes such groups in a file of the classic layout, if they keep the order of their links or have links to other
 * files. */
static liana_status refuse_newer_group(const liana__hdf5_tree *file, uint64_t header, liana__error *error)
{
    message_search search = {.kind = LIANA__MESSAGE_LINKS};
    LIANA_TRY(liana__classic_walk(file, header, match_message, &search, error));
    if (!search.found) return LIANA_OK;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "is a group of a newer layout of HDF5; rewrite the file with h5repack");
}

liana_status liana__classic_message(const liana__hdf5_tree *file, uint64_t header, int kind, liana__span *body,
                                    bool *found, liana__error *error)
{
    message_search search = {.kind = kind};
    LIANA_TRY(liana__classic_walk(file, header, match_message, &search, error));
    *body = search.body;
    if (kind == LIANA__MESSAGE_TABLE && !search.found) LIANA_TRY(refuse_newer_group(file, header, error));
    if (found) {
        *found = search.found;
    } else if (!search.found) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           kind == LIANA__MESSAGE_TABLE ? "is not a group" : "is not a dataset");
    }
    return LIANA_OK;
}

liana_status liana__classic_is_group(const liana__hdf5_tree *file, uint64_t header, bool *is_group, liana__error *error)
{
    liana__span body;
    return liana__classic_message(file, header, LIANA__MESSAGE_TABLE, &body, is_group, error);
}

/* --- Shapes ------------------------------------------------------------------------------------------------------ */

liana_status liana__hdf5_set_shape(liana__hdf5_data *data, int rank, const uint64_t *dims, uint64_t file_size,
                                   liana__error *error)
{
    enum { MAX_EXPANSION = 1032, SLACK = 4096 };
    if (rank > LIANA__HDF5_MAX_RANK) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "has %d dimensions, at most %d are read", rank,
                           LIANA__HDF5_MAX_RANK);
    }
    data->rank = rank;
    uint64_t elements = 1, limit = (file_size + SLACK) * MAX_EXPANSION;
    bool fits = true, empty = false;
    for (int axis = 0; axis < rank; axis++) {
        fits = fits && dims[axis] <= INT64_MAX;
        data->shape[axis] = (int64_t)dims[axis];
        empty |= dims[axis] == 0;
        if (!empty) fits = fits && !__builtin_mul_overflow(elements, dims[axis], &elements) && elements <= limit;
    }
    if (!fits) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "claims more elements than a file of %llu bytes can hold",
                           (unsigned long long)file_size);
    }
    data->num_elements = empty ? 0 : (size_t)elements;
    return LIANA_OK;
}
