/* bench_plot.h - the picture of a comparison. */
#ifndef LIANA_BENCH_PLOT_H
#define LIANA_BENCH_PLOT_H

#include "bench_records.h"

/* Bars for each panel, as long as their ratio to the best peer in their precision. The path's ending, .png or .svg,
 * chooses the format; `caption` says on which machine. */
liana_status bench_plot(const bench_records *records, const char *caption, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
