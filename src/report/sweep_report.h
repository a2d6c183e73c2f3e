/* sweep_report.h - the page of a sweep: its table, its pictures and the conclusions from its numbers. */
#ifndef LIANA_REPORT_SWEEP_REPORT_H
#define LIANA_REPORT_SWEEP_REPORT_H

#include "train/config/results.h"

/* Writes a page in Markdown to `path`, and its pictures into the folder "images" next to it, called as the page is:
 * means and spread of all settings, and the curves of each comparison's first finished seed. A difference of means
 * counts if it is more than twice its standard error, sqrt(s1^2/n1 + s2^2/n2) (Welch 1947). The same runs give the same
 * bytes. Errors: INVALID_CONFIG (no run is finished), IO_ERROR, OUT_OF_MEMORY, those of pictures. */
liana_status liana__sweep_report_write(const liana__sweep_results *results, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
