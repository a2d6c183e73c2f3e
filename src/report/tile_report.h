/* tile_report.h - a training's use of a TPU's tiles, as text. */
#ifndef LIANA_REPORT_TILE_REPORT_H
#define LIANA_REPORT_TILE_REPORT_H

#include "train/training/tile_plan.h"

#include "base/text.h"

/* A row for each layer whose products or results are padded, the `most` worst first by their padding; all of them if
 * `most` is 0. Then the whole, memory by part, and advice on shards and widths. */
void liana__tile_report(const liana__tile_plan *plan, size_t most, liana__text *text);

#endif
