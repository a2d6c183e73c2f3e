/* known_file.h - files of others that are known by name: pretrained weights and data sets.
 *
 * The only list is known_files.def: addresses, hashes and sizes as they are published. Nothing here fetches. */
#ifndef LIANA_KNOWN_KNOWN_FILE_H
#define LIANA_KNOWN_KNOWN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__known_kind {
    LIANA__KNOWN_WEIGHTS,
    LIANA__KNOWN_DATA,
} liana__known_kind;

typedef struct liana__known_file {
    const char *name; /* "imagenet/ResNet50/no_top", "mnist/train-images"; no two rows have the same */
    liana__known_kind kind;
    const char *url;    /* https */
    const char *file;   /* its path in the cache: "weights/resnet50_....h5", "data/mnist/train-images-idx3-ubyte.gz" */
    const char *md5;    /* lower-case hex, as published; NULL: not published */
    const char *sha256; /* the same */
    uint64_t size;      /* bytes, as published; 0: not published */
    const char *source; /* who publishes it, and its licence */

    /* Of weights. */
    const char *set;          /* "imagenet", "noisy-student", "autoaugment" */
    const char *architecture; /* as in models.def */
    double alpha;             /* 0: the architecture has no width multiplier */
    bool is_minimalistic;     /* of a MobileNetV3 */
    int image_size;           /* the height and width for which they were made; 0: one file for all sizes */
    int only_size;            /* the only height and width that its classifier can read; 0: it reads any */
    bool has_top;
    /* Of data: the data set to which the file belongs. */
    const char *data_set;
} liana__known_file;

/* All of them, in the order of the list. */
const liana__known_file *liana__known_files(size_t *count);
/* The file of this name. NULL: there is none. */
const liana__known_file *liana__known_file_find(const char *name);

#endif
