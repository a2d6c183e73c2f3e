/* json.h - JSON text (RFC 8259) to a tree of values, with jansson.
 *
 * Whole numbers have 64 bits. A duplicate key is an error. jansson does not tell where a value was written, so places
 * have the file and line 0. Syntax errors have line and column. */
#ifndef LIANA_FORMATS_JSON_H
#define LIANA_FORMATS_JSON_H

#include "base/value.h"

/* Limits of a text. (A safetensors header may have 100 MB by its own rules.) */
enum { LIANA__JSON_MAX_SIZE = 100 * 1024 * 1024, LIANA__JSON_MAX_DEPTH = 512 };

/* Parses a text; `file` is its name in places and messages. The tree is in the arena. Errors: INVALID_DATA with
 * "file:line:column: what is wrong"; OUT_OF_MEMORY. */
liana_status liana__json_parse(const char *text, size_t size, const char *file, liana__arena *arena,
                               liana__value **value, liana__error *error) LIANA_MUST_USE;

/* Reads a file. Errors: as above, and NOT_FOUND, IO_ERROR, OUT_OF_RANGE (too large). */
liana_status liana__json_read(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
    LIANA_MUST_USE;

#endif
