/* yaml.h - YAML text to a tree of values that know their line and column.
 *
 * Reads one document of YAML 1.2 (yaml.org/spec/1.2.2), with libfyaml's events. Plain scalars follow the core schema;
 * quoted ones are text. Keys are always text ("<<" too: there are no merge keys). Anchors and aliases work; an alias is
 * the anchored value, with the anchored value's place. Tags, except !!str, and several documents are refused.
 *
 * libfyaml 0.7.12 leaks about 100 bytes for each quote of a text with five or more escaped quotes in a row. So fuzzing
 * YAML needs ASAN_OPTIONS=detect_leaks=0. */
#ifndef LIANA_FORMATS_YAML_H
#define LIANA_FORMATS_YAML_H

#include "base/value.h"

/* Limits, so that a hostile file cannot exhaust memory or the stack. LIANA__YAML_MAX_NODES counts the nodes of an alias
 * each time it is used. */
enum {
    LIANA__YAML_MAX_SIZE = 16 * 1024 * 1024,
    LIANA__YAML_MAX_DEPTH = 64,
    LIANA__YAML_MAX_NODES = 1000000,
    LIANA__YAML_MAX_KEYS = 10000, /* in one mapping */
};

/* Parses a text; `file` is its name in places and messages. An empty text is null. The tree is in the arena. Errors:
 * INVALID_CONFIG with "file:line:column: the fault" (syntax, a duplicate key, bytes that are not UTF-8, a limit);
 * OUT_OF_MEMORY. */
liana_status liana__yaml_parse(const char *text, size_t size, const char *file, liana__arena *arena,
                               liana__value **value, liana__error *error) LIANA_MUST_USE;

/* Reads a file. Errors: as above, and NOT_FOUND, IO_ERROR, OUT_OF_RANGE (too large). */
liana_status liana__yaml_read(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
    LIANA_MUST_USE;

#endif
