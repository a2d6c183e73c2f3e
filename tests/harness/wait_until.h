/* wait_until.h - waits for what another process or thread does. */
#ifndef LIANA_TESTS_WAIT_UNTIL_H
#define LIANA_TESTS_WAIT_UNTIL_H

#include "base/clock.h"

/* Looks at the condition every 2 ms until it is true. Fails the test after five minutes, and names the condition: no
 * machine is so slow. */
#define wait_until(condition)                                                        \
    for (double liana__test_begun = liana__clock_seconds(); !(condition);            \
         liana__test_wait_more(liana__test_begun, #condition, __FILE__, __LINE__)) { \
    }

void liana__test_wait_more(double begun, const char *condition, const char *file, int line);

#endif
