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

/* Puts "prefix: " before the message of an error that is already set (the file, the record). Returns its status. */
liana_status liana__fail_within(liana__error *error, const char *format, ...) LIANA__PRINTF(2, 3);

/* Fails with OUT_OF_MEMORY; `what` says what the memory was for. */
liana_status liana__fail_memory(liana__error *error, const char *what);

#endif
