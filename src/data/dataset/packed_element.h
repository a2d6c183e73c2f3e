/* packed_element.h - an element packed into one piece of memory, which can be kept or written to a file.
 *
 * 64-bit words: the record, the rows and the widths of the components, the place of each component's values. Then the
 * values, aligned to 16 bytes; strings as (place, size) pairs. Then the bytes of the strings. Places count from the
 * beginning, so the piece can be moved until it is settled. */
#ifndef LIANA_DATA_PACKED_ELEMENT_H
#define LIANA_DATA_PACKED_ELEMENT_H

#include "data/dataset/element.h"

size_t liana__packed_size(const liana_element *element);
/* Packs an element into memory of that size, aligned to 16 bytes. */
void liana__element_pack(const liana_element *element, void *to);

/* Checks a piece of `size` bytes, which may be any bytes, and turns the places of strings into pointers. Call it once,
 * where the piece will stay. INVALID_DATA: it is not an element of that spec. */
liana_status liana__packed_settle(const liana__spec *spec, void *packed, size_t size, liana__error *error)
    LIANA_MUST_USE;
/* The element of a settled piece, from which it borrows. */
void liana__packed_element(const liana__spec *spec, const void *packed, liana_element *element);

#endif
