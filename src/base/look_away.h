/* look_away.h - a pause between two looks of a thread that waits without sleeping. */
#ifndef LIANA_BASE_LOOK_AWAY_H
#define LIANA_BASE_LOOK_AWAY_H

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

/* Looks before a thread sleeps: some tens of microseconds. The tasks of a small network follow each other sooner than
 * the system wakes a thread. */
enum { LIANA__MOST_LOOKS = 2000 };

static inline void liana__look_away(void)
{
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#endif
}

#endif
