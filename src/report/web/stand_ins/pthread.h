/* pthread.h - of a page in a browser, which has one thread: wasi-libc of Debian 12 has no such header. */
#ifndef LIANA_REPORT_WEB_STAND_INS_PTHREAD_H
#define LIANA_REPORT_WEB_STAND_INS_PTHREAD_H

typedef int pthread_mutex_t;
typedef int pthread_cond_t;
typedef int pthread_t;

#endif
