/* Waits a moment, but not for ever. */
#include "harness/wait_until.h"

#include "harness/harness.h"

#include <time.h>

void liana__test_wait_more(double begun, const char *condition, const char *file, int line)
{
    enum { PATIENCE = 300 };
    if (liana__clock_seconds() - begun > PATIENCE) {
        print_error("%s:%d: waited %d s in vain until %s\n", file, line, PATIENCE, condition);
        _fail(file, line);
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}
