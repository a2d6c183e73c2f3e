/* error.h - the error message that goes with a failing status.
 *
 * Internal functions take the error to write to. So each thread that reads data has its own, and the first error in
 * *record order* can be reported, whichever thread met it first. Public functions use the context's error. */
#ifndef LIANA_BASE_ERROR_H
#define LIANA_BASE_ERROR_H

#include "base/printf_check.h"

#include <liana/status.h>
#include <stdarg.h>

typedef struct liana__error {
    liana_status status;
    char message[2048];
} liana__error;

/* Sets status and message and returns the status. A NULL error keeps only the status. */
liana_status liana__fail(liana__error *error, liana_status status, const char *format, ...) LIANA__PRINTF(3, 4);
liana_status liana__fail_list(liana__error *error, liana_status status, const char *format, va_list arguments)
    LIANA__PRINTF(3, 0);

/* Hands on a failure that was kept apart from the error. Returns its status. */
liana_status liana__fail_as(liana__error *error, const liana__error *failure);

/* Puts "prefix: " before the message of an error that is already set (the file, the record). Returns its status. */
liana_status liana__fail_within(liana__error *error, const char *format, ...) LIANA__PRINTF(2, 3);

/* Fails with OUT_OF_MEMORY; `what` names the use of the memory. */
liana_status liana__fail_memory(liana__error *error, const char *what);

/* Fails with INVALID_ARGUMENT, since an argument of a public function is NULL. Both names are those of its header; the
 * "_at" of functions behind macros is left out. */
liana_status liana__fail_null(liana__error *error, const char *function, const char *argument);

/* At the beginning of a public function: an argument that must be given. The argument has the name `name` in the
 * header. */
#define LIANA__REQUIRE_AS(error, argument, name)                             \
    do {                                                                     \
        if (!(argument)) return liana__fail_null((error), __func__, (name)); \
    } while (0)
#define LIANA__REQUIRE(error, argument) LIANA__REQUIRE_AS(error, argument, #argument)
/* The same for functions that return something else than a status. */
#define LIANA__REQUIRE_OR(value, error, argument)             \
    do {                                                      \
        if (!(argument)) {                                    \
            liana__fail_null((error), __func__, (#argument)); \
            return (value);                                   \
        }                                                     \
    } while (0)

#endif
