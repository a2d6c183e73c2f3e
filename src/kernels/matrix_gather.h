/* matrix_gather.h - matrices whose rows are some of the pixels of images, for convolutions of single pixels with
 * strides. Pixels are copied side by side, some at a time; or back to their places. For *.kernels.h, included where
 * tile_element is known. */
#ifndef LIANA_KERNELS_MATRIX_GATHER_H
#define LIANA_KERNELS_MATRIX_GATHER_H

#include "kernels/geometry.h"
#include "kernels/matrix_words.h"

/* Rows of `size` elements: those at `data`, or if there is a grid, pixels of the images there, which are copied to
 * `room` before they are used. */
typedef struct product_rows {
    const tile_element *data;
    int64_t size;
    const liana__pixel_grid *grid;
    tile_element *room;
} product_rows;

/* `count` rows from `first` on, side by side. */
static const tile_element *gather_rows(const product_rows *rows, int64_t first, int64_t count)
{
    const liana__pixel_grid *g = rows->grid;
    if (!g) return rows->data + first * rows->size;
    for (int64_t i = 0; i < count; i++) {
        const int64_t line = (first + i) / g->columns, column = (first + i) % g->columns;
        const int64_t image = line / g->lines, row = line % g->lines;
        const int64_t pixel = (image * g->height + row * g->strides[0]) * g->width + column * g->strides[1];
        memcpy(rows->room + i * rows->size, rows->data + pixel * rows->size, (size_t)rows->size * sizeof *rows->room);
    }
    return rows->room;
}

/* Writes the pixels of `count` lines of the grid from `first` on, which are side by side at `source`, and zeros for the
 * pixels between and after them. All lines together write all pixels of the images. */
static void scatter_lines(const liana__pixel_grid *g, const tile_element *source, int64_t size, int64_t first,
                          int64_t count, tile_element *images)
{
    const size_t bytes = (size_t)size * sizeof *images;
    for (int64_t line = first; line < first + count; line++) {
        const int64_t image = line / g->lines, row = line % g->lines * g->strides[0];
        const int64_t end = line % g->lines + 1 < g->lines ? row + g->strides[0] : g->height;
        tile_element *to = images + (image * g->height + row) * g->width * size;
        for (int64_t column = 0; column < g->columns; column++, source += size) {
            const int64_t next = column + 1 < g->columns ? g->strides[1] : g->width - column * g->strides[1];
            memcpy(to, source, bytes);
            memset(to + size, 0, (size_t)(next - 1) * bytes);
            to += next * size;
        }
        memset(to, 0, (size_t)((end - row - 1) * g->width) * bytes);
    }
}

#endif
