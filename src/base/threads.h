/* threads.h - the compute threads: a fixed pool that claims numbered tasks.
 *
 * Which thread runs which task is not defined, and must not matter. Tasks write to places of their own. Their results
 * are combined in an order fixed by the task numbers. */
#ifndef LIANA_BASE_THREADS_H
#define LIANA_BASE_THREADS_H

#include "base/error.h"

#include <stddef.h>

typedef struct liana__pool liana__pool;

/* `worker` is in [0, number of threads): an index for memory of which each thread has its own. */
typedef void (*liana__task)(void *user, size_t task, int worker);

liana_status liana__pool_create(int num_threads, liana__pool **pool, liana__error *error) LIANA_MUST_USE;
void liana__pool_destroy(liana__pool *pool);
int liana__pool_num_threads(const liana__pool *pool);

/* Runs task(user, 0..count-1) and returns when all tasks are done. The pool's threads and the caller (worker 0) claim
 * tasks in ascending order. One call at a time; never from inside a task. Allocates nothing. Tasks begin with denormals
 * kept. */
void liana__pool_run(liana__pool *pool, size_t count, liana__task task, void *user);

/* Looks of a thread before it sleeps: some tens of microseconds. The tasks of a small network follow each other sooner
 * than the system wakes a thread. */
enum { LIANA__MOST_LOOKS = 2000 };

/* A pause between two looks. */
static inline void liana__look_away(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

#endif
