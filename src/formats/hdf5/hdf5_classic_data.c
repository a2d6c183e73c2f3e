/* Reads the elements of datasets of classic HDF5 files. */
#include "formats/hdf5/hdf5_classic.h"
#include "formats/widen.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAX_CHUNK = 1 << 30, MAX_FILTERS = 32, MAX_LEVEL = 32 };

typedef enum layout_class {
    LAYOUT_COMPACT = 0,
    LAYOUT_CONTIGUOUS = 1,
    LAYOUT_CHUNKED = 2,
} layout_class;

/* Where the elements of a dataset are. */
typedef struct data_layout {
    int kind;
    liana__span compact;
    uint64_t address;
    int chunk_rank;
    uint64_t chunk_dims[32];
} data_layout;

typedef struct filters {
    int count;
    struct {
        int id;
        uint32_t first_value; /* of its client data */
    } items[MAX_FILTERS];
} filters;

typedef struct dataset {
    const liana__hdf5_tree *file;
    liana__classic_type type;
    liana__classic_shape shape;
    data_layout layout;
    filters filters;
    float *floats; /* where the elements go: one of the two */
    int64_t *integers;
    uint64_t filled; /* elements read so far */
    liana__error *error;
} dataset;

/* --- Elements ---------------------------------------------------------------------------------------------------- */

static float convert_float(uint64_t bits, const liana__classic_type *type)
{
    if (type->size == 2 && !type->is_bfloat16) return liana__half_to_float((uint16_t)bits);
    if (type->size == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return (float)value;
    }
    uint32_t word = (uint32_t)bits << (type->is_bfloat16 ? 16 : 0);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static int64_t extend_sign(uint64_t bits, const liana__classic_type *type)
{
    int shift = type->is_signed ? 64 - 8 * (int)type->size : 0;
    return (int64_t)(bits << shift) >> shift;
}

static float convert_integer(uint64_t bits, const liana__classic_type *type)
{
    return type->is_signed ? (float)extend_sign(bits, type) : (float)bits;
}

static uint64_t read_element(const liana__classic_type *type, const uint8_t *bytes)
{
    if (!type->big_endian) return liana__span_number(bytes, (int)type->size);
    uint64_t bits = 0;
    for (size_t k = 0; k < type->size; k++) bits = bits << 8 | bytes[k];
    return bits;
}

/* Converts `count` elements into the places from `place`. */
static void convert(const dataset *in, const uint8_t *bytes, uint64_t place, uint64_t count)
{
    const liana__classic_type *type = &in->type;
    bool is_float = type->kind == LIANA__CLASSIC_FLOAT;
    if (in->floats && is_float && type->size == sizeof(float) && !type->big_endian) {
        memcpy(in->floats + place, bytes, count * sizeof(float));
        return;
    }
    for (uint64_t i = 0; i < count; i++, bytes += type->size) {
        uint64_t bits = read_element(type, bytes);
        if (in->integers) {
            in->integers[place + i] = extend_sign(bits, type);
        } else {
            in->floats[place + i] = is_float ? convert_float(bits, type) : convert_integer(bits, type);
        }
    }
}

/* --- Describing -------------------------------------------------------------------------------------------------- */

/* IV.A.2.i, versions 1 to 3: the later ones belong to newer files. */
static liana_status read_layout(liana__span body, data_layout *layout, liana__error *error)
{
    *layout = (data_layout){.address = LIANA__CLASSIC_UNDEFINED};
    int version = body.size >= 12 ? body.data[0] : 0;
    uint64_t place, dims = 0, step = 4;
    bool good = version >= 1 && version <= 3;
    if (version == 3) {
        layout->kind = body.data[1];
        layout->chunk_rank = layout->kind == LAYOUT_CHUNKED ? body.data[2] : 0;
        place = layout->kind == LAYOUT_CHUNKED ? 3 : 2;
        dims = place + 8;
    } else if (good) {
        layout->chunk_rank = body.data[1];
        layout->kind = body.data[2];
        place = 8;
        dims = layout->kind == LAYOUT_COMPACT ? place : place + 8;
    }
    liana__span part;
    good = good && layout->kind <= LAYOUT_CHUNKED && layout->chunk_rank <= 32;
    if (good && layout->kind == LAYOUT_COMPACT) {
        uint64_t size_place = version == 3 ? place : dims + (uint64_t)layout->chunk_rank * step;
        int size_bytes = version == 3 ? 2 : 4;
        good = liana__span_at(body, size_place, (uint64_t)size_bytes, &part) &&
               liana__span_at(body, size_place + (uint64_t)size_bytes, liana__span_number(part.data, size_bytes),
                              &layout->compact);
    } else if (good) {
        good = liana__span_at(body, place, 8, &part);
        if (good) layout->address = liana__span_number(part.data, 8);
        good = good && liana__span_at(body, dims, (uint64_t)layout->chunk_rank * step, &part);
        for (int i = 0; good && i < layout->chunk_rank; i++) {
            layout->chunk_dims[i] = liana__span_number(part.data + (uint64_t)i * step, 4);
        }
    }
    return good ? LIANA_OK : liana__classic_damaged(error, "it does not say where the elements are");
}

/* IV.A.2.l, versions 1 and 2. */
static liana_status read_filters(liana__span body, filters *list, liana__error *error)
{
    enum { NAMELESS = 256 };
    int version = body.size >= 2 ? body.data[0] : 0;
    bool good = (version == 1 || version == 2) && body.data[1] <= MAX_FILTERS;
    list->count = good ? body.data[1] : 0;
    uint64_t place = version == 1 ? 8 : 2;
    for (int i = 0; good && i < list->count; i++) {
        liana__span part;
        good = liana__span_at(body, place, 2, &part);
        if (!good) break;
        list->items[i].id = (int)liana__span_number(part.data, 2);
        bool named = version == 1 || list->items[i].id >= NAMELESS;
        good = liana__span_at(body, place + 2, named ? 6 : 4, &part);
        if (!good) break;
        uint64_t name = named ? liana__span_number(part.data, 2) : 0;
        uint64_t num_values = liana__span_number(part.data + (named ? 4 : 2), 2);
        if (version == 1) name = (name + 7) & ~(uint64_t)7;
        place += (named ? 8 : 6) + name;
        good = liana__span_at(body, place, num_values * 4, &part);
        list->items[i].first_value = good && num_values ? (uint32_t)liana__span_number(part.data, 4) : 0;
        place += num_values * 4 + (version == 1 && num_values % 2 ? 4 : 0);
    }
    return good ? LIANA_OK : liana__classic_damaged(error, "its filters cannot be read");
}

/* The text of an attribute that says what opaque elements are. */
typedef struct said_type {
    int count;
    bool is_bfloat16;
} said_type;

static liana_status match_bfloat16(void *user, const char *text, size_t length, liana__error *error)
{
    said_type *said = user;
    if (said->count++) return liana__fail(error, LIANA_INVALID_DATA, "has an attribute 'dtype' of several texts");
    said->is_bfloat16 = length == 8 && memcmp(text, "bfloat16", 8) == 0;
    return LIANA_OK;
}

static liana_status read_type(const liana__hdf5_tree *file, uint64_t header, liana__classic_type *type,
                              liana__error *error)
{
    liana__span body;
    bool found;
    LIANA_TRY(liana__classic_message(file, header, LIANA__MESSAGE_TYPE, &body, NULL, error));
    LIANA_TRY(liana__classic_type_of(body, type, error));
    if (type->kind == LIANA__CLASSIC_OPAQUE && type->size == 2) {
        said_type said = {0};
        LIANA_TRY(liana__hdf5_tree_texts(file, header, "dtype", match_bfloat16, &said, &found, error));
        type->is_bfloat16 = said.is_bfloat16;
        if (type->is_bfloat16) {
            type->name = "bfloat16";
            type->kind = LIANA__CLASSIC_FLOAT;
            type->big_endian = false;
        }
    }
    return type->name ? LIANA_OK : liana__fail(error, LIANA_INVALID_DATA, "is not made of numbers");
}

static liana_status open_dataset(const liana__hdf5_tree *file, uint64_t header, dataset *opened, liana__error *error)
{
    liana__span body;
    bool found;
    *opened = (dataset){.file = file, .error = error};
    LIANA_TRY(read_type(file, header, &opened->type, error));
    LIANA_TRY(liana__classic_message(file, header, LIANA__MESSAGE_EXTERNAL, &body, &found, error));
    if (found) return liana__fail(error, LIANA_INVALID_DATA, "is stored outside of the file");
    LIANA_TRY(liana__classic_message(file, header, LIANA__MESSAGE_SPACE, &body, NULL, error));
    LIANA_TRY(liana__classic_shape_of(body, &opened->shape, error));
    LIANA_TRY(liana__classic_message(file, header, LIANA__MESSAGE_LAYOUT, &body, NULL, error));
    LIANA_TRY(read_layout(body, &opened->layout, error));
    LIANA_TRY(liana__classic_message(file, header, LIANA__MESSAGE_FILTERS, &body, &found, error));
    return found ? read_filters(body, &opened->filters, error) : LIANA_OK;
}

liana_status liana__hdf5_tree_describe(const liana__hdf5_tree *file, liana__hdf5_node node, liana__hdf5_data *data,
                                       liana__error *error)
{
    dataset opened;
    LIANA_TRY(open_dataset(file, node, &opened, error));
    data->dtype = opened.type.name;
    LIANA_TRY(liana__hdf5_set_shape(data, opened.shape.rank, opened.shape.dims, file->file.size, error));
    data->num_elements = (size_t)opened.shape.count;
    return LIANA_OK;
}

/* --- Chunks ------------------------------------------------------------------------------------------------------ */

/* Undoes shuffle: first all first bytes of the elements, then all second bytes, ... (bytes after the last whole element
 * stay). */
static void unshuffle(const uint8_t *from, uint8_t *to, size_t size, size_t element)
{
    size_t count = element ? size / element : 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < element; k++) to[i * element + k] = from[k * count + i];
    }
    memcpy(to + count * element, from + count * element, size - count * element);
}

/* Undoes one filter: `bytes` (of *size) into `spare`, both with room for `capacity`. */
static liana_status undo_filter(const dataset *in, int filter, const uint8_t *bytes, size_t *size, uint8_t *spare,
                                size_t capacity)
{
    enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER32 = 3, CHECKSUM = 4 };
    int id = in->filters.items[filter].id;
    if (id == DEFLATE) {
        uLongf length = capacity;
        if (uncompress(spare, &length, bytes, *size) != Z_OK) {
            return liana__classic_damaged(in->error, "a compressed chunk cannot be unpacked");
        }
        *size = length;
        return LIANA_OK;
    }
    if (id == SHUFFLE) {
        unshuffle(bytes, spare, *size, in->filters.items[filter].first_value);
        return LIANA_OK;
    }
    if (id == FLETCHER32 && *size >= CHECKSUM) {
        *size -= CHECKSUM;
        memcpy(spare, bytes, *size);
        return LIANA_OK;
    }
    return liana__fail(
        in->error, LIANA_UNIMPLEMENTED,
        "is compressed with HDF5 filter %d, which liana does not read; rewrite the file with h5repack -f NONE", id);
}

/* Copies a chunk's elements to their places; those beyond the dataset's edges are padding. */
static void place_chunk(dataset *in, const uint8_t *bytes, const uint64_t *origin)
{
    int rank = in->shape.rank;
    const uint64_t *dims = in->layout.chunk_dims;
    uint64_t index[32] = {0}, row = rank ? dims[rank - 1] : 1, rows = 1, width = 1;
    for (int axis = 0; axis < rank - 1; axis++) rows *= dims[axis];
    if (rank) width = in->shape.dims[rank - 1] - origin[rank - 1];
    if (width > row) width = row;
    for (uint64_t r = 0; r < rows; r++, bytes += row * in->type.size) {
        uint64_t place = 0;
        bool inside = true;
        for (int axis = 0; axis < rank; axis++) {
            uint64_t at = origin[axis] + (axis < rank - 1 ? index[axis] : 0);
            inside = inside && at < in->shape.dims[axis];
            place = place * in->shape.dims[axis] + at;
        }
        if (inside) {
            convert(in, bytes, place, width);
            in->filled += width;
        }
        for (int axis = rank - 2; axis >= 0 && ++index[axis] == dims[axis]; axis--) index[axis] = 0;
    }
}

/* The bytes of a chunk, before any filter: dims[0] * ... * element size. 0 if that is absurd. */
static uint64_t chunk_bytes(const dataset *in)
{
    uint64_t bytes = in->type.size;
    bool good = in->layout.chunk_rank == in->shape.rank + 1;
    for (int axis = 0; good && axis < in->shape.rank; axis++) {
        good = !__builtin_mul_overflow(bytes, in->layout.chunk_dims[axis], &bytes) && bytes <= MAX_CHUNK;
    }
    return good ? bytes : 0;
}

static liana_status read_chunk(dataset *in, liana__span stored, uint32_t mask, const uint64_t *origin)
{
    size_t needed = (size_t)chunk_bytes(in), capacity = needed + 64, size = stored.size;
    if (size > capacity) capacity = size;
    uint8_t *bytes = malloc(capacity), *spare = malloc(capacity);
    liana_status status = bytes && spare ? LIANA_OK : liana__fail_memory(in->error, "a chunk");
    if (status == LIANA_OK) memcpy(bytes, stored.data, size);
    /* The last applied filter is undone first. A bit of the mask means that a filter was left out. */
    for (int filter = in->filters.count - 1; filter >= 0 && status == LIANA_OK; filter--) {
        if (mask >> filter & 1) continue;
        status = undo_filter(in, filter, bytes, &size, spare, capacity);
        uint8_t *swapped = bytes;
        bytes = spare;
        spare = swapped;
    }
    if (status == LIANA_OK && size < needed) status = liana__classic_damaged(in->error, "a chunk is too short");
    if (status == LIANA_OK) place_chunk(in, bytes, origin);
    free(bytes);
    free(spare);
    return status;
}

/* III.A.1, node type 1: each key holds the stored size, the filter mask and the chunk's first element. */
static liana_status read_tree(dataset *in, uint64_t address, int expected)
{
    enum { HEAD = 24, CHUNK_TREE = 1 };
    liana__span head, body, stored;
    size_t key = 8 + 8 * (size_t)(in->shape.rank + 1), step = key + 8;
    bool good = liana__classic_at(in->file, address, HEAD, &head) && memcmp(head.data, "TREE", 4) == 0 &&
                head.data[4] == CHUNK_TREE && head.data[5] < MAX_LEVEL && (expected < 0 || head.data[5] == expected);
    uint64_t count = good ? liana__span_number(head.data + 6, 2) : 0;
    good = good && liana__classic_at(in->file, address + HEAD, count * step + key, &body);
    if (!good) return liana__classic_damaged(in->error, "the tree of its chunks is broken");
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = body.data + i * step;
        uint64_t child = liana__span_number(entry + key, 8), origin[32] = {0};
        if (head.data[5] > 0) {
            LIANA_TRY(read_tree(in, child, head.data[5] - 1));
            continue;
        }
        for (int axis = 0; axis < in->shape.rank; axis++) {
            origin[axis] = liana__span_number(entry + 8 + 8 * axis, 8);
            good = good && origin[axis] < in->shape.dims[axis];
        }
        good = good && liana__classic_at(in->file, child, liana__span_number(entry, 4), &stored);
        /* Chunks do not overlap: more elements than there are would be a tree that goes round. */
        good = good && in->filled < in->shape.count;
        if (!good) return liana__classic_damaged(in->error, "a chunk lies outside");
        LIANA_TRY(read_chunk(in, stored, (uint32_t)liana__span_number(entry + 4, 4), origin));
    }
    return LIANA_OK;
}

static liana_status read_chunks(dataset *in)
{
    if (chunk_bytes(in) == 0) return liana__classic_damaged(in->error, "the shape of its chunks is impossible");
    if (in->floats) memset(in->floats, 0, (size_t)in->shape.count * sizeof *in->floats);
    if (in->integers) memset(in->integers, 0, (size_t)in->shape.count * sizeof *in->integers);
    LIANA_TRY(read_tree(in, in->layout.address, -1));
    if (in->filled == in->shape.count) return LIANA_OK;
    return liana__fail(in->error, LIANA_DATA_LOSS, "%llu of its %llu elements are missing",
                       (unsigned long long)(in->shape.count - in->filled), (unsigned long long)in->shape.count);
}

/* Reads the elements of a dataset into the one of its two arrays that is there. */
static liana_status read_elements(dataset *in, const liana__hdf5_data *data)
{
    if (in->shape.count != data->num_elements) return liana__classic_damaged(in->error, "its shape changed");
    if (in->shape.count == 0) return LIANA_OK;
    if (in->layout.kind == LAYOUT_CHUNKED) return read_chunks(in);
    liana__span from = in->layout.compact;
    uint64_t size = in->shape.count * in->type.size;
    bool whole = in->layout.kind == LAYOUT_COMPACT ? size <= from.size
                                                   : liana__classic_at(in->file, in->layout.address, size, &from);
    if (!whole) return liana__classic_damaged(in->error, "its elements lie outside");
    convert(in, from.data, 0, in->shape.count);
    return LIANA_OK;
}

liana_status liana__hdf5_tree_read_f32(const liana__hdf5_tree *file, liana__hdf5_node node,
                                       const liana__hdf5_data *data, float *values, liana__error *error)
{
    dataset in;
    LIANA_TRY(open_dataset(file, node, &in, error));
    in.floats = values;
    return read_elements(&in, data);
}

liana_status liana__hdf5_tree_read_s64(const liana__hdf5_tree *file, liana__hdf5_node node,
                                       const liana__hdf5_data *data, int64_t *values, liana__error *error)
{
    dataset in;
    LIANA_TRY(open_dataset(file, node, &in, error));
    bool fits = in.type.kind == LIANA__CLASSIC_INTEGER && (in.type.is_signed || in.type.size < sizeof *values);
    if (!fits) return liana__fail(error, LIANA_INVALID_DATA, "is made of %s, expected int64", in.type.name);
    in.integers = values;
    return read_elements(&in, data);
}
