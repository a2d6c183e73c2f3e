/* drawing.h - a drawing: the numbers of one picture of a report, before anybody draws it. The same drawing becomes a
 * PNG and an SVG file, or a part of a page, so all of them show the same numbers. */
#ifndef LIANA_REPORT_DRAWING_H
#define LIANA_REPORT_DRAWING_H

#include "report/pictures.h"

typedef enum liana__drawing_kind {
    LIANA__DRAWING_FIGURE,
    LIANA__DRAWING_BARS,
    LIANA__DRAWING_GRID,
    LIANA__DRAWING_MATRIX,
    LIANA__DRAWING_SCATTER,
    LIANA__DRAWING_CORRELATIONS,
} liana__drawing_kind;

typedef struct liana__drawing {
    const char *name; /* of its files, without the ending: "samples" */
    liana__drawing_kind kind;
    /* The one of its kind. */
    const liana__figure *figure;
    size_t most_file_lines; /* a file shows only the first lines of a panel; 0: all */
    const liana__bars *bars;
    const liana__class_matrix *matrix;
    const liana__correlation_matrix *correlations;
    struct {
        const liana__grid_item *items;
        size_t count;
        const liana__grid_options *options;
    } grid;
    struct {
        const char *title;
        const liana__scatter_point *points;
        size_t count;
        const double *target; /* [2] */
    } scatter;
} liana__drawing;

/* Receives a drawing, which is borrowed until it returns. */
typedef liana_status (*liana__on_drawing)(void *user, const liana__drawing *drawing, liana__error *error);

/* Receives drawings one after the other: files, or a page. */
typedef struct liana__drawings {
    liana__on_drawing on_drawing;
    void *user;
} liana__drawings;

static inline liana_status liana__drawings_add(const liana__drawings *drawings, const liana__drawing *drawing,
                                               liana__error *error)
{
    return drawings->on_drawing(drawings->user, drawing, error);
}

/* Called for each picture that was written. */
typedef void (*liana__on_picture)(void *user, const char *path);

/* Drawings as files in an existing folder. */
typedef struct liana__drawing_files {
    const char *folder;
    liana__on_picture on_picture;
    void *user;
} liana__drawing_files;

/* Writes NAME.png and NAME.svg; for liana__drawings, with a liana__drawing_files as `user`. Errors: those of the
 * picture. */
liana_status liana__drawing_write_files(void *user, const liana__drawing *drawing, liana__error *error) LIANA_MUST_USE;

#endif
