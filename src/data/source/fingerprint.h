/* fingerprint.h - what data and settings were, as a number: whether they still are the same. */
#ifndef LIANA_DATA_FINGERPRINT_H
#define LIANA_DATA_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number made of many bytes; different ones do not come out equal by accident. Starts at {0, 0}. */
typedef struct liana__fingerprint {
    uint64_t words[2];
} liana__fingerprint;

void liana__fingerprint_add(liana__fingerprint *fingerprint, const void *bytes, size_t size);
/* NULL is as "". */
void liana__fingerprint_add_text(liana__fingerprint *fingerprint, const char *text);
bool liana__fingerprint_equal(const liana__fingerprint *a, const liana__fingerprint *b);

/* Of a file, its name goes into `settings`, and what is in it, as far as the file system tells (size, time of change,
 * inode), into `sources`. */
void liana__fingerprint_add_file(liana__fingerprint *settings, liana__fingerprint *sources, const char *path,
                                 uint64_t num_records);

#endif
