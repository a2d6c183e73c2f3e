/* data_set.h - data sets by their names: "mnist", "mnist/test". The only list is in data_set.c. */
#ifndef LIANA_KNOWN_DATA_SET_H
#define LIANA_KNOWN_DATA_SET_H

#include "base/notes.h"
#include "base/text.h"
#include "known/known_file.h"
#include "remote/remote.h"

#include <liana/context.h>
#include <liana/options.h>

/* Case, '-' and '_' do not count, so Keras's names are names too: "cifar10", "fashion_mnist". */
bool liana__data_set_is_named(const char *text);
/* Whether a text means a data set: if nothing is at the path that it would be. */
bool liana__data_set_is_meant(const char *text, const char *path);
/* The nearest name of a data set, or NULL. */
const char *liana__data_set_nearest(const char *text);

/* The most files of a part. */
enum { LIANA__DATA_SET_FILES = 5 };

typedef struct liana__data_files {
    const char *set;           /* its name: "mnist" */
    const char *kind;          /* of source */
    liana_strings paths;       /* local */
    liana_strings class_names; /* of labels that are numbers; empty: the files say them */
} liana__data_files;

/* Finds the files of a name that liana__data_set_is_named takes. They are fetched and unpacked if they are not there.
 * Without a part in the name, it is the training part, or, if `measured`, the test part. `remote` fetches; `notes` may
 * be NULL. Strings are in the arena. Errors: INVALID_CONFIG (a part that the set does not have), those of fetching and
 * unpacking. */
liana_status liana__data_set_find(const char *name, bool measured, liana__remote *remote, liana_context *context,
                                  const liana__notes *notes, liana__arena *arena, liana__data_files *files,
                                  liana__error *error) LIANA_MUST_USE;

/* The names with a description each, for lists. NULL after the last one. */
const char *liana__data_set_at(size_t index, const char **doc);

#endif
