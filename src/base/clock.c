/* Reads the system's monotonic clock; moments of the day as texts. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
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

/* ---- the time of day ---- */

enum { DAY = 24 * 60 * 60 };

/* Reads that number of digits. */
static bool read_digits(const char **text, int count, int *number)
{
    *number = 0;
    for (int i = 0; i < count; i++, ++*text) {
        if (**text < '0' || **text > '9') return false;
        *number = 10 * *number + (**text - '0');
    }
    return true;
}

static bool read_sign(const char **text, char sign)
{
    if (**text != sign) return false;
    ++*text;
    return true;
}

/* HH:MM or HH:MM:SS. */
static bool read_time(const char **text, struct tm *parts)
{
    bool right = read_digits(text, 2, &parts->tm_hour) && read_sign(text, ':') && read_digits(text, 2, &parts->tm_min);
    if (right && read_sign(text, ':')) right = read_digits(text, 2, &parts->tm_sec);
    return right && parts->tm_hour < 24 && parts->tm_min < 60 && parts->tm_sec < 60;
}

static bool read_date(const char **text, struct tm *parts)
{
    int year, month, day;
    bool right = read_digits(text, 4, &year) && read_sign(text, '-') && read_digits(text, 2, &month) &&
                 read_sign(text, '-') && read_digits(text, 2, &day);
    if (!right || year < 1970) return false;
    parts->tm_year = year - 1900;
    parts->tm_mon = month - 1;
    parts->tm_mday = day;
    /* A day that the calendar does not have becomes another one. */
    struct tm real = {.tm_year = parts->tm_year, .tm_mon = parts->tm_mon, .tm_mday = day};
    return timegm(&real) != (time_t)-1 && real.tm_mon == parts->tm_mon && real.tm_mday == day;
}

/* "Z", "+01:00" or "-0530": how far it is ahead of UTC, in seconds. */
static bool read_zone(const char *text, int *ahead)
{
    int hours, minutes;
    *ahead = 0;
    if (strcmp(text, "Z") == 0) return true;
    const int sign = *text == '-' ? -1 : 1;
    if (*text != '+' && *text != '-') return false;
    text++;
    if (!read_digits(&text, 2, &hours)) return false;
    (void)read_sign(&text, ':');
    if (!read_digits(&text, 2, &minutes) || *text || hours > 14 || minutes > 59) return false;
    *ahead = sign * (hours * 60 + minutes) * 60;
    return true;
}

static bool read_whole(const char *text, time_t *moment)
{
    struct tm parts = {.tm_isdst = -1};
    int ahead;
    if (!read_date(&text, &parts)) return false;
    if (!read_sign(&text, 'T') && !read_sign(&text, ' ')) return false;
    if (!read_time(&text, &parts)) return false;
    if (!*text) {
        *moment = mktime(&parts);
        return *moment != (time_t)-1;
    }
    if (!read_zone(text, &ahead)) return false;
    parts.tm_isdst = 0;
    *moment = timegm(&parts) - ahead;
    return true;
}

/* The next time that the clock shows this: today, or tomorrow. */
static bool read_next(const char *text, time_t now, time_t *moment)
{
    struct tm wanted = {0}, today;
    if (!read_time(&text, &wanted) || *text || !localtime_r(&now, &today)) return false;
    for (int day = 0; day < 2; day++) {
        struct tm parts = {.tm_year = today.tm_year,
                           .tm_mon = today.tm_mon,
                           .tm_mday = today.tm_mday + day,
                           .tm_hour = wanted.tm_hour,
                           .tm_min = wanted.tm_min,
                           .tm_sec = wanted.tm_sec,
                           .tm_isdst = -1};
        *moment = mktime(&parts);
        if (*moment > now) return true;
    }
    *moment = now + DAY;
    return true;
}

bool liana__wall_clock_read(const char *text, time_t now, time_t *moment)
{
    return read_whole(text, moment) || read_next(text, now, moment);
}

const char *liana__wall_clock_show(time_t moment, char text[64])
{
    struct tm parts;
    if (!localtime_r(&moment, &parts) || !strftime(text, 64, "%Y-%m-%d %H:%M:%S %z", &parts)) {
        snprintf(text, 64, "%lld", (long long)moment);
    }
    return text;
}
