/* A library that a test loads into a process before all others: its clock of the day is LIANA_TEST_CLOCK seconds
 * ahead. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef int (*clock_function)(clockid_t clock, struct timespec *now);

static long ahead(void)
{
    const char *seconds = getenv("LIANA_TEST_CLOCK");
    return seconds ? strtol(seconds, NULL, 10) : 0;
}

/* They take the place of the C library's. */
#pragma GCC visibility push(default)

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static clock_function next;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    const int code = next(clock, now);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
    return code;
}

time_t time(time_t *moment)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (moment) *moment = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec moment = {0};
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &moment);
    *now = (struct timeval){moment.tv_sec, moment.tv_nsec / 1000};
    return 0;
}
