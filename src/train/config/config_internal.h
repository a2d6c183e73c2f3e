/* config_internal.h - the steps of reading a configuration, one file each. */
#ifndef LIANA_TRAIN_CONFIG_INTERNAL_H
#define LIANA_TRAIN_CONFIG_INTERNAL_H

#include "train/config/config.h"

/* config_override.c: sets "dotted.key=value" in the tree. Copies a changed branch first, so an alias in YAML keeps its
 * value. Errors: INVALID_CONFIG, "command line: ...". */
liana_status liana__config_override(liana__value **root, const char *text, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

/* The same for a change; its value is copied. Errors: INVALID_CONFIG with the place where the value was written. */
liana_status liana__config_apply(liana__value **root, const liana__config_change *change, liana__arena *arena,
                                 liana__error *error) LIANA_MUST_USE;

/* config_forms.c: writes out short forms: `train: x` becomes `train: {paths: x}`, `optimizer: Adam` becomes `optimizer:
 * {name: Adam}`. Done before and after overrides, so that these may change a part of a short form. */
liana_status liana__config_spell_out(liana__value *root, liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* config_lists.c: replaces `class_names: FILE`, and `vocabulary: FILE` of layers and columns, by the list in the
 * file. */
liana_status liana__config_read_lists(liana__value *root, liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* config_base.c: takes the keys of `model` that are options of its base out of the tree. *options: a map of them; NULL:
 * there are none, or the base is not known. Errors: INVALID_CONFIG for an option that the data give. */
liana_status liana__config_take_base_options(liana__value *root, liana__arena *arena, const liana__value **options,
                                             liana__error *error) LIANA_MUST_USE;
/* config_base.c: refuses other keys of a `model` with a base. Errors: INVALID_CONFIG, with the nearest one. */
liana_status liana__config_check_base_keys(const liana__value *root, liana__error *error) LIANA_MUST_USE;
/* config_base.c: checks the values of the options. */
liana_status liana__config_check_base_options(const liana__config *config, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
/* config_base.c: puts them back into the tree of a configuration. */
void liana__config_write_base_options(const liana__config *config, const liana__value *tree, liana__arena *arena);

/* config_check.c: refuses keys in the wrong section, and names the right one. */
liana_status liana__config_check_homes(const liana__value *root, liana__error *error) LIANA_MUST_USE;

/* config_check.c: checks keys that exclude or need each other. */
liana_status liana__config_check(const liana__config *config, liana__error *error) LIANA_MUST_USE;

/* config_columns.c: reads data.columns, data.inputs and data.targets. Errors: INVALID_CONFIG, with the nearest name of
 * a component. */
liana_status liana__config_read_columns(liana__config *config, liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* config_older.c: how the file of a run's configuration begins. */
extern const char liana__config_resolved[];
/* config_older.c: completes the tree of a run that an older liana began. */
liana_status liana__config_keep_older(const char *text, size_t size, liana__value *root, liana__arena *arena,
                                      bool *is_older, liana__error *error) LIANA_MUST_USE;

/* The table of one source. */
const liana__fields *liana__config_source_fields(void);

/* config.c: paths become absolute. */
liana_status liana__config_make_absolute(const liana__fields *fields, liana__arena *arena, void *object,
                                         liana__error *error) LIANA_MUST_USE;

/* config_sources.c: checks a source and its members. Writes their lists again, with short forms written out and
 * absolute paths. `where`: its key. */
liana_status liana__config_resolve_source(liana__source_config *source, const char *where, const liana__place *place,
                                          liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* The index of a key in a map; the map's count if the key is missing or `map` is not a map. */
size_t liana__config_find_key(const liana__value *map, const char *key, size_t length);

#endif
