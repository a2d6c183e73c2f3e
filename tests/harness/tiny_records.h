/* tiny_records.h - TFRecord files of the small problem of command_run.h, some records of which may be odd, and ways to
 * damage files. */
#ifndef LIANA_TESTS_TINY_RECORDS_H
#define LIANA_TESTS_TINY_RECORDS_H

#include "harness/command_run.h"

/* Record i of a file shows image `first + i` of `seed`, is called "img%03d" by that number, and has the image's class,
 * unless an odd one says otherwise. A file whose name ends in ".gz" is
 * compressed. */
typedef struct liana__test_odd {
    int record;
    const void *image; /* other bytes than an image's PNG */
    size_t image_size;
    int other_image; /* the PNG of this image instead, and its class; 0: none */
    int label_plus;  /* added to the class */
    bool unlabelled;
} liana__test_odd;

void liana__test_tiny_records(const char *name, uint32_t seed, int first, int count, const liana__test_odd *odd,
                              size_t num_odd);

/* The offset of a record in a TFRecord file, by walking its lengths. */
long liana__test_record_offset(const char *path, int record);
/* Turns a bit of the byte at an offset around. */
void liana__test_flip_bit(const char *path, long offset);
/* Damages the data of a record, so that their checksum is wrong. */
void liana__test_damage_record(const char *path, int record);
/* Cuts a file to this number of bytes. */
void liana__test_cut(const char *path, long size);
long liana__test_file_size(const char *path);

#endif
