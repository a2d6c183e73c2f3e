/* message.h - numbers and texts in the bytes of a message between processes, and back. Bytes from elsewhere may be
 * anything: a value that does not fit is never read. */
#ifndef LIANA_BASE_MESSAGE_H
#define LIANA_BASE_MESSAGE_H

#include "base/text.h"

/* A message that is being written is a liana__text: zero-initialise, send `data` and `length`, look at `failed`. */
void liana__message_put_u64(liana__text *message, uint64_t number);
void liana__message_put_i64(liana__text *message, int64_t number);
void liana__message_put_bytes(liana__text *message, const void *bytes, size_t size); /* with their number before them */
void liana__message_put_text(liana__text *message, const char *text);                /* NULL may be put */

/* A message that is being read. */
typedef struct liana__message_reader {
    const char *data;
    size_t size; /* that is left */
    bool failed; /* something did not fit; from then on all numbers are 0 and all texts NULL */
} liana__message_reader;

uint64_t liana__message_get_u64(liana__message_reader *reader);
int64_t liana__message_get_i64(liana__message_reader *reader);
/* A number below `limit`; another one fails. */
uint64_t liana__message_get_below(liana__message_reader *reader, uint64_t limit);
/* Borrowed from the message. */
const void *liana__message_get_bytes(liana__message_reader *reader, size_t *size);
/* Borrowed from the message, where it ends with a 0; NULL: none was put, or it failed. */
const char *liana__message_get_text(liana__message_reader *reader);
/* Whether all was read and nothing is left. */
bool liana__message_is_read(const liana__message_reader *reader);

#endif
