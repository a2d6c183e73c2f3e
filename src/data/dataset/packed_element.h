/* packed_element.h - an element in one piece of memory, which can be kept or written to a file.
 *
 * 64-bit words: the record, the rows of each component, where each one's values begin; then the values, aligned to 16
 * bytes, strings as (place, size) pairs; then the bytes of the strings. Places count from the beginning, so that the
 * whole may be moved, until it is settled. */
#ifndef LIANA_DATA_PACKED_ELEMENT_H
#define LIANA_DATA_PACKED_ELEMENT_H

#include "data/dataset/element.h"

size_t liana__packed_size(const liana_element *element);
/* Into memory of that size, aligned to 16 bytes. */
void liana__element_pack(const liana_element *element, void *to);

/* Checks what a piece of `size` bytes says (it may be any bytes), and makes places of strings pointers: once, where it
 * will stay. INVALID_DATA where it is no element of that spec. */
liana_status liana__packed_settle(const liana__spec *spec, void *packed, size_t size, liana__error *error)
    LIANA_MUST_USE;
/* The element of a piece that is settled, which it borrows from. */
void liana__packed_element(const liana__spec *spec, const void *packed, liana_element *element);

#endif
