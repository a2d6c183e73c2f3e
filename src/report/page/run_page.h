/* run_page.h - the page of one run or of several: curves, differences, how to repeat them, and of up to four runs what
 * they predict and what they were trained on.
 *
 * Begin it with the run folders, add what can be opened, and write it. What cannot be opened becomes a note in the
 * page, so that a run without data still has its curves. */
#ifndef LIANA_REPORT_RUN_PAGE_H
#define LIANA_REPORT_RUN_PAGE_H

#include "report/drawing.h"
#include "report/run_plot.h"

/* The most runs of a page, and those of which predictions and data are shown. */
enum { LIANA__RUN_PAGE_MOST_RUNS = 500, LIANA__RUN_PAGE_MOST_DETAILS = 4 };

typedef struct liana__run_page {
    liana__run_files *runs;
    size_t count;
    liana__value *data;     /* of the page */
    liana__value **details; /* [count] of the first runs */
    size_t num_details;
    liana__plotted_rate *rates; /* [num_rates] */
    size_t num_rates;
    liana__arena arena;
} liana__run_page;

/* Reads the folders. Zero-initialise; free with liana__run_page_free. `with_details`: the caller adds predictions and
 * data of the first runs, if there are no more than LIANA__RUN_PAGE_MOST_DETAILS. Errors: INVALID_CONFIG for a folder
 * that is no run; OUT_OF_MEMORY. */
liana_status liana__run_page_begin(liana__run_page *page, const char *const *folders, size_t count, bool with_details,
                                   liana__error *error) LIANA_MUST_USE;
/* Adds a sentence to the details of run `index`. */
void liana__run_page_note(liana__run_page *page, size_t index, const char *note);
/* Adds the predictions of a run that is open with its validation data and has weights. Errors: those of the evaluation,
 * OUT_OF_MEMORY. */
liana_status liana__run_page_add_predictions(liana__run_page *page, size_t index, liana__run *run, liana__error *error)
    LIANA_MUST_USE;
/* Adds the training data and the schedule of a run that is open for training. Errors: those of the data. */
liana_status liana__run_page_add_data(liana__run_page *page, size_t index, liana__run *run, liana__error *error)
    LIANA_MUST_USE;
/* Writes the page. Errors: those of liana__page_write. */
liana_status liana__run_page_write(liana__run_page *page, const char *path, liana__error *error) LIANA_MUST_USE;
/* Says that the page is served while runs train: it asks for new data, and shows buttons (src/serve/live_server.h). */
void liana__run_page_set_live(liana__run_page *page);
/* The whole page as text. */
void liana__run_page_text(liana__run_page *page, liana__text *text);
void liana__run_page_free(liana__run_page *page);

#endif
