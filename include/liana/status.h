/* status.h - status codes: how liana's functions report failure.
 *
 * Every function that can fail returns a liana_status. The code gives the kind of failure. The sentence for people is
 * kept in the context: file, line, record, layer or key; the value found; the value expected; the remedy. Read it with
 * liana_context_message().
 *
 * Compilers warn where a status is not looked at. A program whose context keeps the first error (sticky_errors of
 * liana_context_options) defines LIANA_STICKY_ERRORS before it includes liana's headers, and they do not. */
#ifndef LIANA_STATUS_H
#define LIANA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LIANA_API __attribute__((visibility("default")))
#define LIANA_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define LIANA_API
#define LIANA_PRINTF(format_index, first_index)
#endif
/* Marks what a later major version removes: LIANA_DEPRECATED("since 1.2: use liana_new_name") before a declaration.
 * Compilers warn where it is used, unless the program defines LIANA_NO_DEPRECATION_WARNINGS before it includes liana's
 * headers. docs/guides/releasing.md has the rule. */
#if defined(__GNUC__) && !defined(LIANA_NO_DEPRECATION_WARNINGS)
#define LIANA_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define LIANA_DEPRECATED(text)
#endif
#if defined(__GNUC__) && !defined(LIANA_STICKY_ERRORS)
#define LIANA_MUST_USE __attribute__((warn_unused_result))
#else
#define LIANA_MUST_USE
#endif

/* The list of all status codes: name, and the sentence that liana_status_text() gives. */
#define LIANA_STATUS_MAP(X)                                                \
    X(OK, "no error")                                                      \
    X(INVALID_ARGUMENT, "an argument, shape or dtype does not fit")        \
    X(INVALID_CONFIG, "the configuration or the command line is wrong")    \
    X(NOT_FOUND, "a file, name or key does not exist")                     \
    X(DATA_LOSS, "a file is damaged: truncated, or its checksum is wrong") \
    X(INVALID_DATA, "the data could be read but are not as expected")      \
    X(OUT_OF_RANGE, "a value is outside its allowed range")                \
    X(OUT_OF_MEMORY, "out of memory")                                      \
    X(IO_ERROR, "the operating system refused to read or write")           \
    X(UNIMPLEMENTED, "not available in this build or on this device")      \
    X(UNAVAILABLE, "another process or a device cannot be reached")        \
    X(CANCELLED, "stopped on request")                                     \
    X(END_OF_DATA, "there are no more elements: not a failure")            \
    X(INTERNAL, "a defect in liana itself")

typedef enum liana_status {
#define LIANA_STATUS_ENUM(name, text) LIANA_##name,
    LIANA_STATUS_MAP(LIANA_STATUS_ENUM)
#undef LIANA_STATUS_ENUM
} liana_status;

/* The code's name as in the list above ("INVALID_ARGUMENT"); never NULL. The string is static. */
LIANA_API const char *liana_status_name(liana_status status);

/* One sentence about the kind of failure; never NULL. The string is static. */
LIANA_API const char *liana_status_text(liana_status status);

/* Returns from the calling function if `expression` is not LIANA_OK. */
#define LIANA_TRY(expression)                                \
    do {                                                     \
        liana_status liana_status_ = (expression);           \
        if (liana_status_ != LIANA_OK) return liana_status_; \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
