/* try_values.h - feeds any bytes to a reader of texts: the common code of the fuzz targets and the mutation tests. An
 * accepted text must be written so that it reads back equal; a refused one must be refused with a message that names
 * the file. */
#ifndef LIANA_TESTS_TRY_VALUES_H
#define LIANA_TESTS_TRY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns whether the reader accepted the bytes, and aborts where a promise of its header is broken. */
bool liana__try_yaml(const uint8_t *bytes, size_t size);
bool liana__try_json(const uint8_t *bytes, size_t size);
/* As a run configuration. */
bool liana__try_config(const uint8_t *bytes, size_t size);
/* As an override of one: any bytes but 0. */
bool liana__try_override(const uint8_t *bytes, size_t size);

#endif
