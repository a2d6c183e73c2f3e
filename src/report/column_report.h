/* column_report.h - pictures of the columns of a table: how often which values occur. */
#ifndef LIANA_REPORT_COLUMN_REPORT_H
#define LIANA_REPORT_COLUMN_REPORT_H

#include "report/bars.h"

#include "data/source/source.h"

/* Called with each picture, which is drawn by the caller: `number` from 1. Strings are borrowed. */
typedef liana_status (*liana__on_bars)(void *user, size_t number, const liana__bars *bars);

/* Counts the values of each component of a source: the names of categories, and ranges of other numbers. Texts are left
 * out, and columns after the first 24. Errors: those of reading and of the caller. */
liana_status liana__report_columns(const liana__source *source, liana__on_bars on_bars, void *user, liana__error *error)
    LIANA_MUST_USE;

#endif
