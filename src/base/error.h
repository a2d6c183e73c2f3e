/* error.h - the message that goes with a failing status.
 *
 * Internal functions take the error to write to, so that threads that read data keep their own and the first one in
 * *record order* can be reported, whichever thread met it first. Public functions use the context's. */
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

/* Puts "prefix: " before the message of an error already set (which file, which record) and returns its status. */
liana_status liana__fail_within(liana__error *error, const char *format, ...) LIANA__PRINTF(2, 3);

/* OUT_OF_MEMORY with what the memory was for. */
liana_status liana__fail_memory(liana__error *error, const char *what);

#endif
