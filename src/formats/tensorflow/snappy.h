/* snappy.h - expands Snappy's raw format (github.com/google/snappy, format_description.txt). */
#ifndef LIANA_FORMATS_TENSORFLOW_SNAPPY_H
#define LIANA_FORMATS_TENSORFLOW_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Expands the bytes into new memory, which is freed with free. False: the bytes are damaged, would expand to more than
 * `limit` bytes, or memory is out; then there is nothing to free. */
bool liana__snappy_expand(const uint8_t *bytes, size_t size, size_t limit, uint8_t **expanded, size_t *expanded_size);

#endif
