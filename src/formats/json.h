/* json.h - JSON text (RFC 8259) to a tree of values, with jansson.
 *
 * Whole numbers have 64 bits. A duplicate key is an error. jansson does not tell where a value was written, so places
 * have the file and line 0. Syntax errors have line and column. */
#ifndef LIANA_FORMATS_JSON_H
#define LIANA_FORMATS_JSON_H

#include "base/value.h"

/* Limits of a text. (A safetensors header may have 100 MB by its own rules.) The memory is that of the parsed values:
 * two bytes of text may be a value of 500 bytes. A file that liana writes stays below it, up to the largest size. */
enum {
    LIANA__JSON_MAX_SIZE = 100 * 1024 * 1024,
    LIANA__JSON_MAX_DEPTH = 512,
    LIANA__JSON_MAX_MEMORY = 1 << 30,
};

/* Refuses a text whose values would take more than LIANA__JSON_MAX_MEMORY, before it is parsed. `file` is its name in
 * the message. Errors: OUT_OF_RANGE. */
liana_status liana__json_check_memory(const char *text, size_t size, const char *file, liana__error *error)
    LIANA_MUST_USE;

/* Parses a text; `file` is its name in places and messages. The tree is in the arena. Errors: INVALID_DATA with
 * "file:line:column: the fault"; OUT_OF_RANGE (too many values); OUT_OF_MEMORY. */
liana_status liana__json_parse(const char *text, size_t size, const char *file, liana__arena *arena,
                               liana__value **value, liana__error *error) LIANA_MUST_USE;

/* Reads a file. Errors: as above, and NOT_FOUND, IO_ERROR, OUT_OF_RANGE (too large). */
liana_status liana__json_read(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
    LIANA_MUST_USE;

/* Writes a value (NULL: out of memory) to a file, as a whole. Errors: those of liana__file_replace. */
liana_status liana__json_write(const char *path, const liana__value *value, liana__error *error) LIANA_MUST_USE;

/* A value as one line, in the arena. NULL: out of memory. */
const char *liana__json_line(const liana__value *value, liana__arena *arena);

#endif
