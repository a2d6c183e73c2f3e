/* fingerprint.h - a fingerprint: a number that says whether data and settings are still the same. */
#ifndef LIANA_DATA_FINGERPRINT_H
#define LIANA_DATA_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash of bytes; different bytes practically never give equal hashes. Begins as {0, 0}. */
typedef struct liana__fingerprint {
    uint64_t words[2];
} liana__fingerprint;

void liana__fingerprint_add(liana__fingerprint *fingerprint, const void *bytes, size_t size);
/* NULL is like "". */
void liana__fingerprint_add_text(liana__fingerprint *fingerprint, const char *text);
bool liana__fingerprint_equal(const liana__fingerprint *a, const liana__fingerprint *b);

/* Adds a file: its name to `settings`; its state, as the file system tells it (size, time of change, inode), to
 * `sources`. */
void liana__fingerprint_add_file(liana__fingerprint *settings, liana__fingerprint *sources, const char *path,
                                 uint64_t num_records);

#endif
