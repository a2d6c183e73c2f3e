/* augment_module.h - augmentation as a page in a browser calls it. WebAssembly's functions take and return numbers and
 * places in the module's memory, so there are no structs here. docs/explanation/augmentation.md says how it is built.
 *
 * The functions are liana's augmentation itself: a list is read, checked and run by src/data/augment. A page makes a
 * list of stages with options as texts ("0.25", "bilinear", "[24, 24]"), prepares it for a shape, and runs it on images
 * for addresses. A status is a liana_status; after one that is not LIANA_OK there is a message. */
#ifndef LIANA_REPORT_WEB_AUGMENT_MODULE_H
#define LIANA_REPORT_WEB_AUGMENT_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks what the module exports, besides malloc and free: cmake/web.cmake reads it here. */
#define LIANA__WEB

typedef struct liana__web liana__web;

/* NULL: out of memory. */
LIANA__WEB liana__web *liana__web_create(void);
LIANA__WEB void liana__web_destroy(liana__web *web);
/* Why the last call failed, in words. Valid until the next call. */
LIANA__WEB const char *liana__web_message(const liana__web *web);

/* ---- the list ---- */

/* Makes the list empty. */
LIANA__WEB void liana__web_clear(liana__web *web);
/* Adds a stage. Its options follow. */
LIANA__WEB void liana__web_add_stage(liana__web *web, const char *name);
LIANA__WEB void liana__web_set_option(liana__web *web, const char *option, const char *text);
/* The list as the YAML of a configuration, below "augment:"; NULL: out of memory. Valid until the next call. */
LIANA__WEB const char *liana__web_yaml(liana__web *web);

/* Reads and checks the list for images that end as height x width x channels (1 or 3). Errors: as of
 * liana__augment_create. */
LIANA__WEB int liana__web_prepare(liana__web *web, int height, int width, int channels);
/* The size of images before the first stage of a prepared list. */
LIANA__WEB int liana__web_input_height(const liana__web *web);
LIANA__WEB int liana__web_input_width(const liana__web *web);

/* Augments `count` images, which lie one behind the other in src, into dst, as those of one shard: the first one has
 * the position `position`, each next one the next. With mixing stages, shares[i] is how much of image i is its own, and
 * partners[i] is the image that the rest is of. Errors: those of the stages, OUT_OF_MEMORY. */
LIANA__WEB int liana__web_run(liana__web *web, uint64_t seed, uint64_t epoch, uint64_t position, int count,
                              const uint8_t *src, uint8_t *dst, float *shares, int32_t *partners);

/* ---- perspective ---- */

/* The matrix [9] of the mappings at the head of a prepared list, for an address: from output to input. False: none of
 * them is chosen for it, and the matrix is the identity. */
LIANA__WEB bool liana__web_mapping(const liana__web *web, uint64_t seed, uint64_t epoch, uint64_t position,
                                   double *matrix);
/* Points are x, y of the corners from the upper left one clockwise, in pixels: where the corners of an image of this
 * size come to lie. False: they are not the corners of a convex quadrilateral, in order, and there is no such
 * perspective. */
LIANA__WEB bool liana__web_matrix_of(const double *points, double width, double height, double *matrix);
LIANA__WEB void liana__web_points_of(const double *matrix, double width, double height, double *points);
/* As liana__perspective_factor. */
LIANA__WEB double liana__web_factor_of(const double *points, double width, double height, bool *turn);
/* Samples an image of height x width x channels once, as a stage with these options does (numbers of words in
 * liana_interpolation_names and liana_fill_mode_names). The output has the input's size. */
LIANA__WEB void liana__web_warp(const uint8_t *src, uint8_t *dst, int height, int width, int channels,
                                const double *matrix, int interpolation, int fill_mode, int fill);

/* Red, green, blue and opacity of each pixel, as a canvas takes them. */
LIANA__WEB void liana__web_paint(const uint8_t *pixels, size_t num_pixels, int channels, uint8_t *rgba);

#endif
