/* Packs an element into one piece of memory, and unpacks it. */
#include "data/dataset/packed_element.h"

#include <string.h>

enum { ALIGNMENT = 16 };

_Static_assert(sizeof(liana_bytes) == 16 && sizeof(size_t) == 8, "strings are pairs of 64-bit words");

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* The words before the values. */
static size_t head_size(const liana__spec *spec)
{
    return (1 + 3 * spec->count) * sizeof(uint64_t);
}

/* Where the values of each component begin; returns where the bytes of strings do. */
static size_t lay_out(const liana_element *element, uint64_t places[LIANA_MAX_COMPONENTS])
{
    const liana__spec *spec = element->spec;
    size_t size = head_size(spec);
    for (size_t i = 0; i < spec->count; i++) {
        places[i] = aligned(size);
        size = (size_t)places[i] + liana__element_size(element, i);
    }
    return size;
}

size_t liana__packed_size(const liana_element *element)
{
    uint64_t places[LIANA_MAX_COMPONENTS];
    const liana__spec *spec = element->spec;
    size_t size = lay_out(element, places);
    for (size_t i = 0; i < spec->count; i++) {
        if (spec->components[i].dtype != LIANA_STRING) continue;
        const liana_bytes *values = element->data[i];
        int64_t count = liana__element_count(element, i);
        for (int64_t k = 0; k < count; k++) size += values[k].size;
    }
    return size;
}

void liana__element_pack(const liana_element *element, void *to)
{
    const liana__spec *spec = element->spec;
    uint64_t places[LIANA_MAX_COMPONENTS], *words = to;
    size_t heap = lay_out(element, places);
    char *bytes = to;
    memset(to, 0, heap);
    words[0] = element->record;
    for (size_t i = 0; i < spec->count; i++) {
        const liana_component *component = &spec->components[i];
        size_t size = liana__element_size(element, i);
        words[1 + i] = (uint64_t)liana__element_rows(element, i);
        words[1 + spec->count + i] = (uint64_t)liana__element_width(element, i);
        words[1 + 2 * spec->count + i] = places[i];
        if (component->dtype != LIANA_STRING) {
            if (size) memcpy(bytes + places[i], element->data[i], size);
            continue;
        }
        const liana_bytes *from = element->data[i];
        uint64_t *pairs = (uint64_t *)(bytes + places[i]);
        for (size_t k = 0; k < size / sizeof *from; k++) {
            pairs[2 * k] = heap;
            pairs[2 * k + 1] = from[k].size;
            if (from[k].size) memcpy(bytes + heap, from[k].data, from[k].size);
            heap += from[k].size;
        }
    }
}

static bool lies_within(uint64_t place, uint64_t size, uint64_t whole)
{
    return place <= whole && size <= whole - place;
}

/* A damaged piece may hold any numbers, so no product of them may overflow. */
static bool fits(const liana_component *component, int64_t rows, int64_t width, uint64_t place, uint64_t whole)
{
    const int64_t known = liana__component_rows(component), second = liana__component_width(component);
    int64_t size;
    if (rows < 0 || width < 0 || rows >> 40 || width >> 40) return false;
    if ((known != LIANA_UNKNOWN_DIM && rows != known) || (second != LIANA_UNKNOWN_DIM && width != second)) return false;
    if (__builtin_mul_overflow((int64_t)liana__component_size(component, 1, 1), rows, &size)) return false;
    if (second == LIANA_UNKNOWN_DIM && __builtin_mul_overflow(size, width, &size)) return false;
    return place % ALIGNMENT == 0 && lies_within(place, (uint64_t)size, whole);
}

liana_status liana__packed_settle(const liana__spec *spec, void *packed, size_t size, liana__error *error)
{
    const uint64_t *words = packed;
    char *bytes = packed;
    bool whole = size >= head_size(spec);
    for (size_t i = 0; whole && i < spec->count; i++) {
        const liana_component *component = &spec->components[i];
        int64_t rows = (int64_t)words[1 + i], width = (int64_t)words[1 + spec->count + i];
        uint64_t place = words[1 + 2 * spec->count + i];
        whole = fits(component, rows, width, place, size) && place >= head_size(spec);
        if (!whole || component->dtype != LIANA_STRING) continue;
        liana_bytes *strings = (liana_bytes *)(bytes + place);
        int64_t count = liana__component_count(component, rows, width);
        for (int64_t k = 0; whole && k < count; k++) {
            uint64_t at = (uint64_t)(uintptr_t)strings[k].data;
            whole = lies_within(at, strings[k].size, size);
            strings[k].data = whole && strings[k].size ? bytes + at : "";
        }
    }
    return whole ? LIANA_OK : liana__fail(error, LIANA_INVALID_DATA, "the kept bytes are not such an element");
}

void liana__packed_element(const liana__spec *spec, const void *packed, liana_element *element)
{
    const uint64_t *words = packed;
    *element = (liana_element){.spec = spec, .record = words[0]};
    for (size_t i = 0; i < spec->count; i++) {
        element->rows[i] = (int64_t)words[1 + i];
        element->widths[i] = (int64_t)words[1 + spec->count + i];
        element->data[i] = (const char *)packed + words[1 + 2 * spec->count + i];
    }
}
