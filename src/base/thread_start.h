/* thread_start.h - starting a thread that works for the library. */
#ifndef LIANA_BASE_THREAD_START_H
#define LIANA_BASE_THREAD_START_H

#include <pthread.h>

/* Starts a thread to which no signal is delivered: signals are for the program's own threads. The result is that of
 * pthread_create. */
int liana__thread_start(pthread_t *thread, void *(*run)(void *), void *user);

#endif
