/* library.h - shared libraries that are loaded when they are first needed.
 *
 * Most runs need no pictures, no network and no libhdf5. Those libraries need some fifty others. To link them would
 * cost each start more than all of liana does, and a machine without them could not train.
 * docs/explanation/libraries.md says more.
 *
 * The header of a loaded library (LIBRARY_calls.h) includes the library's own header, lists the names that are used
 * (NAMES below) and redefines each of them. So code calls the library as if it was linked. A name that is used but not
 * listed fails to link. Load the library before the first call. The addresses are written once and never change. */
#ifndef LIANA_BASE_LIBRARY_H
#define LIANA_BASE_LIBRARY_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct liana__library {
    const char *file;    /* its SONAME, which stands for the ABI that liana was compiled for */
    const char *purpose; /* subject and verb of the message: "pictures need" */
    const char *package; /* Debian 12's */
    const char *const *names;
    size_t num_names;
    pthread_mutex_t mutex;
    atomic_bool is_loaded;
} liana__library;

/* Loads the library into this process, for good. Cheap if it is loaded already; safe on any thread. Errors:
 * UNIMPLEMENTED; the message names the package, and the missing file or the name that it lacks. */
liana_status liana__library_load(liana__library *library, liana__error *error) LIANA_MUST_USE;

#define LIANA__LIBRARY_MEMBER_(name) __typeof__(name) *name;
#define LIANA__LIBRARY_NAME_(name) #name,
/* Declares liana__STEM_library: the library, then the addresses of its names. NAMES(X) is X(name) for each. */
#define LIANA__LIBRARY_DECLARE(stem, NAMES)       \
    typedef struct liana__##stem##_library_type { \
        liana__library library;                   \
        NAMES(LIANA__LIBRARY_MEMBER_)             \
    } liana__##stem##_library_type;               \
    extern liana__##stem##_library_type liana__##stem##_library
#define LIANA__LIBRARY_DEFINE(stem, NAMES, file, purpose, package)                                                  \
    static const char *const stem##_names[] = {NAMES(LIANA__LIBRARY_NAME_)};                                        \
    liana__##stem##_library_type liana__##stem##_library = {.library = {file, purpose, package, stem##_names,       \
                                                                        sizeof stem##_names / sizeof *stem##_names, \
                                                                        PTHREAD_MUTEX_INITIALIZER, false}}

#endif
