/* sys/mman.h - of a page in a browser, whose memory has no pages to give back: wasi-libc refuses its own header. */
#ifndef LIANA_REPORT_WEB_STAND_INS_SYS_MMAN_H
#define LIANA_REPORT_WEB_STAND_INS_SYS_MMAN_H

#include <stddef.h>

enum { MADV_DONTNEED = 4, MADV_HUGEPAGE = 14 };

static inline int madvise(void *memory, size_t size, int advice)
{
    (void)memory;
    (void)size;
    (void)advice;
    return 0;
}

#endif
