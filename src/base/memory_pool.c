/* Divides a bounded amount of memory among threads. */
#include "base/memory_pool.h"

void liana__memory_pool_init(liana__memory_pool *pool, size_t most)
{
    *pool = (liana__memory_pool){.most = most};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->freed, NULL);
}

void liana__memory_pool_destroy(liana__memory_pool *pool)
{
    pthread_cond_destroy(&pool->freed);
    pthread_mutex_destroy(&pool->mutex);
}

/* The bytes that the share needs from the pool to use `bytes` in all. */
static size_t beyond_own(const liana__memory_share *share, size_t bytes)
{
    return bytes > share->own ? bytes - share->own : 0;
}

/* Takes `needed` bytes of the pool in all. Threads in line come first. */
static bool take(liana__memory_share *share, size_t needed)
{
    liana__memory_pool *pool = share->pool;
    if (needed <= share->taken) return true;
    size_t more = needed - share->taken;
    pthread_mutex_lock(&pool->mutex);
    bool granted = pool->turn == pool->num_tickets && more <= pool->most - pool->taken;
    if (granted) pool->taken += more;
    pthread_mutex_unlock(&pool->mutex);
    if (granted) share->taken = needed;
    return granted;
}

liana_status liana__memory_share_ask(liana__memory_share *share, size_t bytes, const char *what, liana__error *error)
{
    if (!share) return LIANA_OK;
    size_t all;
    if (__builtin_add_overflow(share->used, bytes, &all)) all = SIZE_MAX;
    if (all != SIZE_MAX && take(share, beyond_own(share, all))) {
        share->used = all;
        return LIANA_OK;
    }
    if (all > share->wanted) share->wanted = all;
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "%zu bytes for %s are more than are available now", bytes, what);
}

void liana__memory_share_settle(liana__memory_share *share, size_t bytes)
{
    liana__memory_pool *pool = share->pool;
    size_t needed = beyond_own(share, bytes);
    share->used = bytes;
    if (needed >= share->taken) return;
    pthread_mutex_lock(&pool->mutex);
    pool->taken -= share->taken - needed;
    pthread_cond_broadcast(&pool->freed);
    pthread_mutex_unlock(&pool->mutex);
    share->taken = needed;
}

bool liana__memory_share_wait(liana__memory_share *share)
{
    liana__memory_pool *pool = share->pool;
    size_t needed = beyond_own(share, share->wanted);
    if (needed > pool->most) return false;
    share->wanted = 0;
    atomic_fetch_add(&pool->waiting, 1);
    pthread_mutex_lock(&pool->mutex);
    uint64_t ticket = pool->num_tickets++;
    while (pool->turn != ticket || needed > pool->most - pool->taken) {
        pthread_cond_wait(&pool->freed, &pool->mutex);
    }
    pool->turn++;
    pool->taken += needed;
    pthread_cond_broadcast(&pool->freed);
    pthread_mutex_unlock(&pool->mutex);
    atomic_fetch_sub(&pool->waiting, 1);
    share->taken = needed;
    return true;
}
