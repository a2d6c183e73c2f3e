/* clock.h - time that only goes forward, whatever the clock of the day is set to; and the time of day: moments that
 * people write and read. */
#ifndef LIANA_BASE_CLOCK_H
#define LIANA_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds and seconds since some moment before the process began. */
uint64_t liana__clock(void);
double liana__clock_seconds(void);

/* ---- the time of day ---- */

/* Reads a moment: "2026-11-23T06:00", with seconds and with "Z" or "+01:00" behind it if wanted, or "06:00", the next
 * such time after `now`. Without a zone it is the time of this machine (TZ). A space may stand in place of the T.
 * False: the text is no moment. */
bool liana__wall_clock_read(const char *text, time_t now, time_t *moment);

/* The same time as this machine shows it, "2026-11-23 06:00:00 +0100". In `text`. */
const char *liana__wall_clock_show(time_t moment, char text[64]);

#endif
