/* yaml.h - YAML text to a tree of values that know their line and column.
 *
 * One document of YAML 1.2 (yaml.org/spec/1.2.2), read through libfyaml's events; plain scalars mean what the core
 * schema says, quoted ones are text. Keys are text, whatever they look like ("<<" too: there are no merge keys).
 * Anchors and aliases work (an alias is the anchored value, with the anchored value's place); tags, except !!str, and
 * several documents are refused.
 *
 * libfyaml 0.7.12 leaks about 100 bytes per quote of a text with five or more escaped quotes in a row, so fuzzing YAML
 * needs ASAN_OPTIONS=detect_leaks=0. */
#ifndef LIANA_FORMATS_YAML_H
#define LIANA_FORMATS_YAML_H

#include "base/value.h"

/* Refused above these, so that a hostile file cannot exhaust memory or the stack. LIANA__YAML_MAX_NODES counts what an
 * alias stands for each time it is used. */
enum {
    LIANA__YAML_MAX_SIZE = 16 * 1024 * 1024,
    LIANA__YAML_MAX_DEPTH = 64,
    LIANA__YAML_MAX_NODES = 1000000,
    LIANA__YAML_MAX_KEYS = 10000, /* in one mapping */
};

/* Reads a text; `file` is its name in places and messages. An empty text is null. The tree lives in the arena.
 * Errors: INVALID_CONFIG with "file:line:column: what is wrong" (syntax, a duplicate key, bytes that are not UTF-8, a
 * limit); OUT_OF_MEMORY. */
liana_status liana__yaml_parse(const char *text, size_t size, const char *file, liana__arena *arena,
                               liana__value **value, liana__error *error) LIANA_MUST_USE;

/* Reads a file. Errors: as above, and NOT_FOUND, IO_ERROR, OUT_OF_RANGE (too large). */
liana_status liana__yaml_read(const char *path, liana__arena *arena, liana__value **value, liana__error *error)
    LIANA_MUST_USE;

#endif
