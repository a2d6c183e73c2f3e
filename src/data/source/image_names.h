/* image_names.h - the meaning of names of files and folders: images that are read, images that are not, and remains of
 * programs. */
#ifndef LIANA_DATA_IMAGE_NAMES_H
#define LIANA_DATA_IMAGE_NAMES_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a file has the name of an image that liana reads: "rose.jpg", "rose.BMP". */
bool liana__named_as_image(const char *path);
/* The same of the first `length` bytes. */
bool liana__begins_as_image(const char *path, size_t length);

/* Image files of kinds that liana does not read, counted by kind. Zero-initialise. */
enum { LIANA__UNREAD_KINDS = 26 };
typedef struct liana__unread_images {
    uint64_t total;
    uint64_t counts[LIANA__UNREAD_KINDS];
} liana__unread_images;
/* Counts a file if it is such an image; false: it is not. */
bool liana__unread_images_add(liana__unread_images *unread, const char *path);
/* "2 .heic and 1 .svg"; in the arena. NULL: out of memory. */
const char *liana__unread_images_list(const liana__unread_images *unread, liana__arena *arena);

/* Whether programs of archives and disks make files and folders of that name: "__MACOSX", "@eaDir". Hidden ones count
 * too. */
bool liana__named_as_litter(const char *name);

#endif
