/* json_reader.h - reads JSON (RFC 8259) from front to back, without a tree: a request of a million numbers goes
 * straight into an array. As in TensorFlow Serving, NaN, Infinity and -Infinity are numbers.
 *
 * All calls fail with INVALID_ARGUMENT and "offset 17: ...", the byte from 0. */
#ifndef LIANA_SERVE_PREDICT_JSON_READER_H
#define LIANA_SERVE_PREDICT_JSON_READER_H

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>

enum { LIANA__JSON_DEEPEST = 64 };

typedef struct liana__json_reader {
    const char *begin, *at, *end;
    liana__error *error;
    int depth;
} liana__json_reader;

liana__json_reader liana__json_reader_of(const char *text, size_t size, liana__error *error);

/* The first character of the next value; 0 at the end. White space is skipped. */
char liana__json_peek(liana__json_reader *reader);
/* Whether the next value is a number, or one of the words for those that are not finite. */
bool liana__json_is_number(liana__json_reader *reader);

/* Begins a list '[' or an object '{'. */
liana_status liana__json_open(liana__json_reader *reader, char bracket) LIANA_MUST_USE;
/* Goes on to the next item; *more is false at the end, behind the bracket. *first is true before the first call. */
liana_status liana__json_next(liana__json_reader *reader, char bracket, bool *first, bool *more) LIANA_MUST_USE;
/* The key of a member and its colon. In the arena; its length is without the 0. */
liana_status liana__json_read_key(liana__json_reader *reader, liana__arena *arena, const char **key) LIANA_MUST_USE;

/* A text, in UTF-8. In the arena, ended by a 0, though it may hold others. */
liana_status liana__json_read_text(liana__json_reader *reader, liana__arena *arena, const char **text, size_t *size)
    LIANA_MUST_USE;
/* A text of base64, standard or URL-safe, with or without padding: its bytes, in the arena. */
liana_status liana__json_read_base64(liana__json_reader *reader, liana__arena *arena, const void **bytes, size_t *size)
    LIANA_MUST_USE;

typedef struct liana__json_number {
    double number; /* may be NaN or infinite: a word. A number beyond doubles fails */
    int64_t integer;
    bool is_integer; /* it has neither point nor exponent, and fits 64 bits */
} liana__json_number;
liana_status liana__json_read_number(liana__json_reader *reader, liana__json_number *number) LIANA_MUST_USE;
liana_status liana__json_read_bool(liana__json_reader *reader, bool *value) LIANA_MUST_USE;

/* Goes behind any value, which is checked. */
liana_status liana__json_skip(liana__json_reader *reader) LIANA_MUST_USE;
/* There is nothing but white space. */
liana_status liana__json_end(liana__json_reader *reader) LIANA_MUST_USE;

/* Fails at the place of the reader. */
liana_status liana__json_fail(const liana__json_reader *reader, const char *format, ...) LIANA__PRINTF(2, 3);
/* What comes next, for messages: "a list", "the text \"abc\"". In `text`. */
const char *liana__json_describe(liana__json_reader *reader, char text[64]);

#endif
