/* Reads the system's monotonic clock. */
#include "base/clock.h"

#include <time.h>

uint64_t liana__clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double liana__clock_seconds(void)
{
    return 1e-9 * (double)liana__clock();
}
