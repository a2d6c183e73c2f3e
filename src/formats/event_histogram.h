/* event_histogram.h - histograms as event files have them. */
#ifndef LIANA_FORMATS_EVENT_HISTOGRAM_H
#define LIANA_FORMATS_EVENT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* TensorBoard's usual number of buckets. */
enum { LIANA__EVENT_BUCKETS = 30 };

/* Numbers in buckets of equal width between the least and the greatest, as TensorFlow 2's histograms have them
 * (tensorboard/plugins/histogram/summary_v2.py): [LIANA__EVENT_BUCKETS, 3], rows of left end, right end and count.
 * Equal numbers are all in the last bucket, whose ends are the number. NaN and infinities are left out. Returns the
 * numbers that are in the buckets; 0: the buckets are zeros. */
int64_t liana__event_buckets(const float *values, int64_t count, double buckets[LIANA__EVENT_BUCKETS * 3]);

#endif
