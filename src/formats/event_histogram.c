/* Histograms as event files have them. */
#include "formats/event_histogram.h"

#include <math.h>
#include <string.h>

enum { COUNT = LIANA__EVENT_BUCKETS, COLUMNS = 3 };

/* The ends of all numbers that are finite. Returns how many there are. */
static int64_t find_ends(const float *values, int64_t count, double *least, double *greatest)
{
    int64_t finite = 0;
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        if (!isfinite(value)) continue;
        if (!finite || value < *least) *least = value;
        if (!finite || value > *greatest) *greatest = value;
        finite++;
    }
    return finite;
}

int64_t liana__event_buckets(const float *values, int64_t count, double buckets[COUNT * COLUMNS])
{
    double least = 0, greatest = 0;
    const int64_t finite = find_ends(values, count, &least, &greatest);
    const double width = (greatest - least) / COUNT;
    memset(buckets, 0, COUNT * COLUMNS * sizeof *buckets);
    if (!finite) return 0;
    for (int i = 0; i < COUNT; i++) {
        buckets[i * COLUMNS] = least + i * width;
        buckets[i * COLUMNS + 1] = i + 1 < COUNT ? least + (i + 1) * width : greatest;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) continue;
        const double place = width > 0 ? ((double)values[i] - least) / width : COUNT;
        buckets[(place < COUNT ? (int)place : COUNT - 1) * COLUMNS + 2]++;
    }
    return finite;
}
