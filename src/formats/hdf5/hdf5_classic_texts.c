/* Reads shapes, types and attributes of classic HDF5 files. */
#include "formats/hdf5/hdf5_classic.h"

#include <string.h>

/* --- Shapes and types -------------------------------------------------------------------------------------------- */

/* IV.A.2.b: the dataspace message, versions 1 and 2. */
liana_status liana__classic_shape_of(liana__span body, liana__classic_shape *shape, liana__error *error)
{
    enum { NULL_SPACE = 2 };
    liana__span dims;
    bool good = body.size >= 4 && (body.data[0] == 1 || body.data[0] == 2);
    int rank = good ? body.data[1] : 0;
    good = good && rank <= 32 && liana__span_at(body, body.data[0] == 1 ? 8 : 4, (uint64_t)rank * 8, &dims);
    if (!good) return liana__classic_damaged(error, "a shape cannot be read");
    shape->rank = rank;
    shape->count = body.data[0] == 2 && body.data[3] == NULL_SPACE ? 0 : 1;
    bool empty = false;
    for (int axis = 0; axis < rank; axis++) {
        shape->dims[axis] = liana__span_number(dims.data + (size_t)axis * 8, 8);
        empty |= shape->dims[axis] == 0;
        if (!empty && __builtin_mul_overflow(shape->count, shape->dims[axis], &shape->count)) {
            return liana__classic_damaged(error, "a shape has more elements than can be counted");
        }
    }
    if (empty) shape->count = 0;
    return LIANA_OK;
}

static const char *integer_name(size_t size, bool is_signed)
{
    switch (size) {
    case 1: return is_signed ? "int8" : "uint8";
    case 2: return is_signed ? "int16" : "uint16";
    case 4: return is_signed ? "int32" : "uint32";
    case 8: return is_signed ? "int64" : "uint64";
    default: return NULL;
    }
}

/* The three IEEE formats by where their exponent is and how long it is (IV.A.2.d, class 1). */
static const char *float_name(size_t size, const uint8_t *properties)
{
    static const struct {
        size_t size;
        uint8_t exponent_place, exponent_size, mantissa_size;
        const char *name;
    } formats[] = {{2, 10, 5, 10, "float16"}, {4, 23, 8, 23, "float32"}, {8, 52, 11, 52, "float64"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        bool same = formats[i].size == size && formats[i].exponent_place == properties[4] &&
                    formats[i].exponent_size == properties[5] && properties[6] == 0 &&
                    formats[i].mantissa_size == properties[7] && properties[0] == 0 && properties[1] == 0;
        if (same) return formats[i].name;
    }
    return NULL;
}

/* IV.A.2.d: the datatype message. */
liana_status liana__classic_type_of(liana__span body, liana__classic_type *type, liana__error *error)
{
    enum { HEAD = 8, ODD_ORDER = 0x40, SPACE_PADDED = 2, SEQUENCE_OF_TEXT = 1 };
    *type = (liana__classic_type){0};
    if (body.size < HEAD) return liana__classic_damaged(error, "a type cannot be read");
    const uint8_t *properties = body.data + HEAD;
    type->kind = body.data[0] & 0x0f;
    type->size = (size_t)liana__span_number(body.data + 4, 4);
    type->big_endian = body.data[1] & 1;
    type->space_padded = (body.data[1] & 0x0f) == SPACE_PADDED;
    type->of_text = (body.data[1] & 0x0f) == SEQUENCE_OF_TEXT;
    type->is_signed = body.data[1] & 0x08;
    if (type->kind == LIANA__CLASSIC_INTEGER && body.size >= HEAD + 4) {
        bool plain = liana__span_number(properties, 2) == 0 && liana__span_number(properties + 2, 2) == type->size * 8;
        if (plain) type->name = integer_name(type->size, type->is_signed);
    } else if (type->kind == LIANA__CLASSIC_FLOAT && body.size >= HEAD + 12 && !(body.data[1] & ODD_ORDER)) {
        type->name = float_name(type->size, properties);
    }
    return LIANA_OK;
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

typedef struct attribute {
    liana__classic_type type;
    liana__classic_shape shape;
    liana__span data;
} attribute;

/* IV.A.2.m: the parts of an attribute message; in version 1 each is padded to 8 bytes. */
static liana_status split_attribute(liana__span body, liana__span parts[4], liana__error *error)
{
    enum { SHARED = 3 };
    int version = body.size >= 8 ? body.data[0] : 0;
    if (version < 1 || version > 3) return liana__classic_damaged(error, "an attribute has no known version");
    if (version > 1 && (body.data[1] & SHARED)) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "uses a type stored elsewhere, which liana does not read");
    }
    uint64_t place = version == 3 ? 9 : 8;
    for (int i = 0; i < 3; i++) {
        uint64_t size = liana__span_number(body.data + 2 + 2 * i, 2);
        if (!liana__span_at(body, place, size, &parts[i])) {
            return liana__classic_damaged(error, "an attribute runs over its end");
        }
        place += version == 1 ? (size + 7) & ~(uint64_t)7 : size;
    }
    if (place > body.size) place = body.size;
    parts[3] = (liana__span){body.data + place, body.size - (size_t)place};
    return LIANA_OK;
}

typedef struct attribute_search {
    const char *name;
    attribute *result;
    bool found;
} attribute_search;

static liana_status match_attribute(void *user, int kind, liana__span body, bool *done, liana__error *error)
{
    attribute_search *search = user;
    liana__span parts[4];
    if (kind != LIANA__MESSAGE_ATTRIBUTE) return LIANA_OK;
    LIANA_TRY(split_attribute(body, parts, error));
    size_t length = strlen(search->name);
    bool same = parts[0].size > length && memcmp(parts[0].data, search->name, length + 1) == 0;
    if (!same) return LIANA_OK;
    search->found = *done = true;
    LIANA_TRY(liana__classic_type_of(parts[1], &search->result->type, error));
    LIANA_TRY(liana__classic_shape_of(parts[2], &search->result->shape, error));
    uint64_t size;
    bool whole = !__builtin_mul_overflow(search->result->shape.count, search->result->type.size, &size) &&
                 liana__span_at(parts[3], 0, size, &search->result->data);
    return whole ? LIANA_OK : liana__classic_damaged(error, "an attribute is shorter than its shape says");
}

/* An object of a heap of texts (III.E). */
static liana_status find_in_heap(const liana__hdf5_tree *file, uint64_t address, uint64_t index, liana__span *object,
                                 liana__error *error)
{
    enum { HEAD = 16 };
    liana__span head, heap, entry;
    bool good = liana__classic_at(file, address, HEAD, &head) && memcmp(head.data, "GCOL", 4) == 0 &&
                liana__classic_at(file, address, liana__span_number(head.data + 8, 8), &heap);
    for (uint64_t place = HEAD; good && liana__span_at(heap, place, HEAD, &entry);) {
        uint64_t number = liana__span_number(entry.data, 2), size = liana__span_number(entry.data + 8, 8);
        if (number == 0) break; /* free space is last */
        if (!liana__span_at(heap, place + HEAD, size, object)) break;
        if (number == index) return LIANA_OK;
        place += HEAD + ((size + 7) & ~(uint64_t)7);
    }
    return liana__classic_damaged(error, "a text is missing");
}

static liana_status take_variable(const liana__hdf5_tree *file, const attribute *from, liana__hdf5_take_text take,
                                  void *user, liana__error *error)
{
    enum { ELEMENT = 16 };
    uint64_t total = 0;
    if (from->type.size != ELEMENT) return liana__classic_damaged(error, "a text has an impossible size");
    for (uint64_t i = 0; i < from->shape.count; i++) {
        const uint8_t *element = from->data.data + i * ELEMENT;
        uint64_t length = liana__span_number(element, 4), address = liana__span_number(element + 4, 8);
        liana__span text = {(const uint8_t *)"", 0};
        if (length > 0) {
            LIANA_TRY(find_in_heap(file, address, liana__span_number(element + 12, 4), &text, error));
            if (length > text.size) return liana__classic_damaged(error, "a text is shorter than it says");
            text.size = strnlen((const char *)text.data, (size_t)length);
        }
        /* Many elements may name one long text. */
        total += text.size;
        if (total > LIANA__HDF5_MAX_ATTRIBUTE) {
            return liana__fail(error, LIANA_OUT_OF_RANGE, "has more than %d bytes of text", LIANA__HDF5_MAX_ATTRIBUTE);
        }
        LIANA_TRY(take(user, (const char *)text.data, text.size, error));
    }
    return LIANA_OK;
}

static liana_status take_fixed(const attribute *from, liana__hdf5_take_text take, void *user, liana__error *error)
{
    size_t size = from->type.size;
    if (size == 0) return liana__classic_damaged(error, "its texts have no size");
    for (uint64_t i = 0; i < from->shape.count; i++) {
        const char *text = (const char *)from->data.data + i * size;
        size_t length = strnlen(text, size);
        while (from->type.space_padded && length > 0 && text[length - 1] == ' ') length--;
        LIANA_TRY(take(user, text, length, error));
    }
    return LIANA_OK;
}

liana_status liana__hdf5_tree_texts(const liana__hdf5_tree *file, liana__hdf5_node node, const char *name,
                                    liana__hdf5_take_text take, void *user, bool *found, liana__error *error)
{
    attribute result = {0};
    attribute_search search = {.name = name, .result = &result};
    LIANA_TRY(liana__classic_walk(file, node, match_attribute, &search, error));
    *found = search.found;
    /* numpy gives an empty list whatever element type it likes, float64 as a rule. */
    if (!search.found || result.shape.count == 0) return LIANA_OK;
    if (result.type.kind == LIANA__CLASSIC_TEXT) return take_fixed(&result, take, user, error);
    if (result.type.kind == LIANA__CLASSIC_VARIABLE && result.type.of_text) {
        return take_variable(file, &result, take, user, error);
    }
    return liana__fail(error, LIANA_INVALID_DATA, "is not made of text");
}
