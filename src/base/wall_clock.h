/* wall_clock.h - the time of day: moments that people write and read. base/clock.h measures how long something
 * takes. */
#ifndef LIANA_BASE_WALL_CLOCK_H
#define LIANA_BASE_WALL_CLOCK_H

#include <stdbool.h>
#include <time.h>

/* Reads a moment: "2026-11-23T06:00", with seconds and with "Z" or "+01:00" behind it if wanted, or "06:00", the next
 * such time after `now`. Without a zone it is the time of this machine (TZ). A space may stand in place of the T.
 * False: the text is no moment. */
bool liana__wall_clock_read(const char *text, time_t now, time_t *moment);

/* The same time as this machine shows it, "2026-11-23 06:00:00 +0100". In `text`. */
const char *liana__wall_clock_show(time_t moment, char text[64]);

#endif
