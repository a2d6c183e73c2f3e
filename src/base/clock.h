/* clock.h - time that only goes forward, whatever the clock of the day is set to. */
#ifndef LIANA_BASE_CLOCK_H
#define LIANA_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds and seconds since some moment before the process began. */
uint64_t liana__clock(void);
double liana__clock_seconds(void);

#endif
