/* memory_pool.h - a bound on the memory that several threads work with, each on one thing at a time.
 *
 * Each thread has a share of its own, of which it is certain, and may take more from a pool. One that is refused gives
 * up everything it has, waits in line, and begins its work anew with what it was granted; so nobody waits for memory
 * while holding some. */
#ifndef LIANA_BASE_MEMORY_POOL_H
#define LIANA_BASE_MEMORY_POOL_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__memory_pool {
    size_t most; /* bytes beside the threads' own */
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    atomic_int waiting; /* threads in line */
    /* Guarded by the mutex. */
    size_t taken;
    uint64_t num_tickets; /* given out to those who wait */
    uint64_t turn;        /* the ticket that is served next */
} liana__memory_pool;

/* What one thread has. */
typedef struct liana__memory_share {
    liana__memory_pool *pool;
    size_t own;    /* bytes that it always may use */
    size_t taken;  /* bytes of the pool beside them */
    size_t used;   /* of both, as far as it has said */
    size_t wanted; /* bytes in all that it would have needed when it was refused; 0: it was not */
} liana__memory_share;

void liana__memory_pool_init(liana__memory_pool *pool, size_t most);
void liana__memory_pool_destroy(liana__memory_pool *pool);

/* Before `bytes` more are used for `what`. Never waits: OUT_OF_MEMORY if they cannot be had now, which `wanted` then
 * says; whatever the work has become is to be thrown away. Without a share (NULL) there is no bound. */
liana_status liana__memory_share_ask(liana__memory_share *share, size_t bytes, const char *what, liana__error *error)
    LIANA_MUST_USE;
/* Says that `bytes` are in use now, and gives back what of the pool they do not need. */
void liana__memory_share_settle(liana__memory_share *share, size_t bytes);
/* For a thread that was refused and has given up all it had (settled on 0): waits until what it wanted can be had.
 * False, at once, if that is more than the pool has. */
bool liana__memory_share_wait(liana__memory_share *share);
/* Whether a thread should give up what it keeps beyond its own share: others wait. */
static inline bool liana__memory_share_is_missed(const liana__memory_share *share)
{
    return share->taken > 0 && atomic_load_explicit(&share->pool->waiting, memory_order_relaxed) > 0;
}

#endif
