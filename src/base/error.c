/* Statuses by name, and the messages that go with them. */
#include "base/error.h"

#include "base/format.h"

#include <stdio.h>
#include <string.h>

const char *liana_status_name(liana_status status)
{
    static const char *const names[] = {
#define LIANA_STATUS_NAME(name, text) #name,
        LIANA_STATUS_MAP(LIANA_STATUS_NAME)
#undef LIANA_STATUS_NAME
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "UNKNOWN";
}

const char *liana_status_text(liana_status status)
{
    static const char *const texts[] = {
#define LIANA_STATUS_SENTENCE(name, text) text,
        LIANA_STATUS_MAP(LIANA_STATUS_SENTENCE)
#undef LIANA_STATUS_SENTENCE
    };
    size_t index = (size_t)status;
    return index < sizeof texts / sizeof *texts ? texts[index] : "an unknown status code";
}

liana_status liana__fail_list(liana__error *error, liana_status status, const char *format, va_list arguments)
{
    if (error) {
        error->status = status;
        liana__format_list(error->message, sizeof error->message, format, arguments);
        /* A message is one line of text, whatever text it quotes. */
        liana__escape_controls(error->message, sizeof error->message);
    }
    return status;
}

liana_status liana__fail(liana__error *error, liana_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(error, status, format, arguments);
    va_end(arguments);
    return status;
}

liana_status liana__fail_as(liana__error *error, const liana__error *failure)
{
    if (error) *error = *failure;
    return failure->status;
}

liana_status liana__fail_within(liana__error *error, const char *format, ...)
{
    if (!error) return LIANA_INTERNAL;
    char inner[sizeof error->message];
    memcpy(inner, error->message, sizeof inner);
    va_list arguments;
    va_start(arguments, format);
    int length = liana__format_list(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length + sizeof ": " < sizeof error->message) {
        char *end = error->message + length;
        size_t kept = strnlen(inner, sizeof error->message - (size_t)length - sizeof ": ");
        memcpy(end, ": ", 2);
        memcpy(end + 2, inner, kept);
        end[2 + kept] = 0;
    }
    liana__escape_controls(error->message, sizeof error->message);
    return error->status;
}

liana_status liana__fail_null(liana__error *error, const char *function, const char *argument)
{
    size_t length = strlen(function);
    if (length > 3 && strcmp(function + length - 3, "_at") == 0) length -= 3;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%.*s: '%s' is NULL, but must be given", (int)length, function,
                       argument);
}

liana_status liana__fail_memory(liana__error *error, const char *what)
{
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for %s", what);
}
