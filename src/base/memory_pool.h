/* memory_pool.h - a memory pool: a limit on the memory of several threads, each of which works on one thing at a time.
 *
 * Each thread has a share of its own, which is always available. It may take more from the pool. A thread that is
 * refused gives up everything it has, waits in line, and begins its work again with the memory that was granted. So
 * nobody waits for memory while holding some. */
#ifndef LIANA_BASE_MEMORY_POOL_H
#define LIANA_BASE_MEMORY_POOL_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__memory_pool {
    size_t most; /* bytes of the pool, without the threads' own shares */
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    atomic_int waiting; /* threads in line */
    /* Guarded by the mutex. */
    size_t taken;
    uint64_t num_tickets; /* tickets given to waiting threads */
    uint64_t turn;        /* the ticket that is next */
} liana__memory_pool;

/* The memory of one thread. */
typedef struct liana__memory_share {
    liana__memory_pool *pool;
    size_t own;    /* bytes that it may always use */
    size_t taken;  /* bytes taken from the pool */
    size_t used;   /* bytes in use, as the thread has reported */
    size_t wanted; /* total bytes that it needed when it was refused; 0: it was not */
} liana__memory_share;

void liana__memory_pool_init(liana__memory_pool *pool, size_t most);
void liana__memory_pool_destroy(liana__memory_pool *pool);

/* Asks for `bytes` more; `what` names their use. Never waits. OUT_OF_MEMORY: they are not available now; `wanted` is
 * then set, and the work must be thrown away. Without a share (NULL) there is no limit. */
liana_status liana__memory_share_ask(liana__memory_share *share, size_t bytes, const char *what, liana__error *error)
    LIANA_MUST_USE;
/* Reports that `bytes` are in use now. The rest goes back to the pool. */
void liana__memory_share_settle(liana__memory_share *share, size_t bytes);
/* Waits until the memory that a thread was refused is available. The thread must have given up everything (settled on
 * 0). False, at once: it wanted more than the pool has. */
bool liana__memory_share_wait(liana__memory_share *share);
/* Whether others wait, so that a thread should give up all memory beyond its own share. */
static inline bool liana__memory_share_is_missed(const liana__memory_share *share)
{
    return share->taken > 0 && atomic_load_explicit(&share->pool->waiting, memory_order_relaxed) > 0;
}

#endif
