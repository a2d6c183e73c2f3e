/* rate_report.h - the curve of a learning-rate sweep as a picture and as numbers. */
#ifndef LIANA_REPORT_RATE_REPORT_H
#define LIANA_REPORT_RATE_REPORT_H

#include "train/training/rate_curve.h"

/* Draws loss by rate, with rings at the suggested rate and at the lowest loss (.png or .svg). A suggestion of NaN:
 * there is none. Errors: those of liana__figure_write. */
liana_status liana__report_rates(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion,
                                 const char *path, liana__error *error) LIANA_MUST_USE;

/* Writes update, rate, loss and smoothed loss of each update, and to .json also the suggested rate. Another ending than
 * .json is CSV (RFC 4180). Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__report_rate_numbers(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion,
                                        const char *path, liana__error *error) LIANA_MUST_USE;

#endif
