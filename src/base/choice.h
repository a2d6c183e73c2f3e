/* choice.h - a thing that is chosen by NAME, or by {name: NAME, option: value, ...}. */
#ifndef LIANA_BASE_CHOICE_H
#define LIANA_BASE_CHOICE_H

#include "base/field.h"

/* Gives the name, and the map of options (NULL: only a name was given). `expected` ends the message: "the name of a
 * loss, or a mapping such as {name: huber, delta: 2.0}". Errors: INVALID_CONFIG with place and key. */
liana_status liana__choice_read(const liana__value *value, const char *where, const char *expected, const char **name,
                                const liana__value **map, liana__error *error) LIANA_MUST_USE;

/* Reads an entry of a list of things: "NAME", or "NAME: {option: value, ...}" with one key. Gives the name, its place,
 * and the map of options (NULL: none). `expected` ends the message: "one callback: 'CSVLogger' or 'EarlyStopping:
 * {patience: 3}'". Errors: INVALID_CONFIG with place and key. */
liana_status liana__choice_entry(const liana__value *entry, const char *where, const char *expected, const char **name,
                                 const liana__place **place, const liana__value **options, liana__error *error)
    LIANA_MUST_USE;

/* Reads the options of the thing into memory from the arena; *options is NULL if it has none. `ignored` is as for
 * liana__fields_read, and must contain "name". */
liana_status liana__choice_options(const liana__fields *fields, const liana__value *map, const char *where,
                                   const char *const *ignored, liana__arena *arena, const void **options,
                                   liana__error *error) LIANA_MUST_USE;

#endif
