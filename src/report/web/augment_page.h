/* augment_page.h - a page on which one's own images are augmented in a browser, by liana's own code in WebAssembly. */
#ifndef LIANA_REPORT_WEB_AUGMENT_PAGE_H
#define LIANA_REPORT_WEB_AUGMENT_PAGE_H

#include "train/run/run.h"

/* Writes the page: one HTML file that needs no network, with some of the training images in the size that the list of
 * stages begins with, and the options of every stage. `title` says what it is of, such as the configuration's path. The
 * path may be a gs:// or s3:// URL. The run is open with its training data. Errors: UNIMPLEMENTED (liana was built
 * without WebAssembly), INVALID_CONFIG (the data have no images), those of the data and of writing. */
liana_status liana__augment_page_write(liana__run *run, const char *title, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
