/* sys/resource.h - of a page in a browser, which knows no limits of processes: wasi-libc refuses its own header. */
#ifndef LIANA_REPORT_WEB_STAND_INS_SYS_RESOURCE_H
#define LIANA_REPORT_WEB_STAND_INS_SYS_RESOURCE_H

enum { RLIMIT_AS = 9 };
#define RLIM_INFINITY (~0ULL)

struct rlimit {
    unsigned long long rlim_cur;
};

static inline int getrlimit(int resource, struct rlimit *limit)
{
    (void)resource;
    limit->rlim_cur = RLIM_INFINITY;
    return 0;
}

#endif
