/* data_page.h - what the pictures of data share: where they go, and how records become images on them. */
#ifndef LIANA_REPORT_DATA_PAGE_H
#define LIANA_REPORT_DATA_PAGE_H

#include "data/image/decode.h"
#include "report/reports.h"

/* The pictures of one part of the data. Zero-initialise; begin, and end in any case. */
typedef struct liana__data_page {
    liana__run *run;
    const liana__drawings *drawings;
    const char *prefix; /* of the names of its pictures: "", "validation-" */
    const char *noun;   /* "training" */
    liana__arena arena;
    liana__error *error;
    uint64_t seed; /* from 1 */
    liana__run_data *data;
    const liana__source *source; /* its own */
    void *scratch;               /* to read it with */
    liana__decoder decoder;
} liana__data_page;

/* A record as an image of a size. */
typedef struct liana__page_image {
    const uint8_t *pixels; /* in the page's arena */
    int64_t height, width;
    int32_t label;    /* -1: none */
    const char *name; /* its id, or "record 7" */
} liana__page_image;

liana_status liana__data_page_begin(liana__data_page *page, liana__report_part part) LIANA_MUST_USE;
void liana__data_page_end(liana__data_page *page);

/* Each hands on a picture. */
liana_status liana__data_page_grid(liana__data_page *page, const char *name, const liana__grid_item *items,
                                   size_t count, const liana__grid_options *options) LIANA_MUST_USE;
liana_status liana__data_page_bars(liana__data_page *page, const char *name, const liana__bars *bars) LIANA_MUST_USE;
liana_status liana__data_page_correlations(liana__data_page *page, const char *name,
                                           const liana__correlation_matrix *matrix) LIANA_MUST_USE;
liana_status liana__data_page_scatter(liana__data_page *page, const char *name, const char *title,
                                      const liana__scatter_point *points, size_t count, const double target[2])
    LIANA_MUST_USE;

/* The name of a class; "" for -1. */
const char *liana__data_page_class(liana__data_page *page, int64_t number);

/* Record `i` of `count` that the seed chooses. Sets of one pass through the data have no record in common; then a pass
 * in another order begins. */
uint64_t liana__data_page_choose(const liana__data_page *page, uint64_t i, uint64_t count);

/* Whether an error is a record's that the configuration says to leave out. */
bool liana__data_page_leaves_out(const liana__data_page *page, liana_status status);
/* Reads and decodes a record. Errors: those of the record, with its place. */
liana_status liana__data_page_decode(liana__data_page *page, uint64_t record, int64_t height, int64_t width,
                                     liana__page_image *image) LIANA_MUST_USE;
/* Named by its class, or by itself where it has none. */
liana__grid_item liana__data_page_item(liana__data_page *page, const liana__page_image *image);

/* sample_report.c: the pages of images. */
liana_status liana__draw_samples(liana__data_page *page) LIANA_MUST_USE;
liana_status liana__draw_augmented(liana__data_page *page) LIANA_MUST_USE;
/* batch_pages.c: batches next to their originals, where the data are sampled or augmented. */
liana_status liana__draw_batches(liana__data_page *page) LIANA_MUST_USE;
/* "+ 30% roses", or NULL for an example of a batch that was not mixed. */
const char *liana__mix_note(liana__data_page *page, const liana__batch *batch, uint64_t i);

#endif
