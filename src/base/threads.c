/* The compute threads. */
#include "base/threads.h"

#include "base/cpu.h"
#include "base/denormals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct pool_thread {
    pthread_t id;
    liana__pool *pool;
    int worker;
} pool_thread;

struct liana__pool {
    int num_threads;
    int num_started;
    pool_thread *threads; /* [num_threads]; place 0 is the caller's */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_cond_t idle;
    bool looks; /* before it sleeps */
    /* Changed under the mutex, and looked at without it. */
    atomic_ulong generation;
    atomic_int num_busy;
    bool stopping; /* guarded by the mutex */
    /* Set before a generation starts, read by all in it. */
    liana__task task;
    void *user;
    size_t count;
    atomic_size_t next;
};

static void claim_tasks(liana__pool *pool, int worker)
{
    /* New threads inherit the setting of the thread that starts them; the caller has a setting of its own. */
    const liana__denormals before = liana__denormals_keep();
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (task >= pool->count) break;
        pool->task(pool->user, task, worker);
    }
    liana__denormals_restore(before);
}

static void look_for_work(liana__pool *pool, unsigned long seen)
{
    for (int i = 0; pool->looks && i < LIANA__MOST_LOOKS; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_relaxed) != seen) return;
        liana__look_away();
    }
}

/* The next generation; false: the pool ends. */
static bool wait_for_work(liana__pool *pool, unsigned long *seen)
{
    look_for_work(pool, *seen);
    pthread_mutex_lock(&pool->mutex);
    while (!pool->stopping && pool->generation == *seen) pthread_cond_wait(&pool->wake, &pool->mutex);
    const bool works = !pool->stopping;
    *seen = pool->generation;
    pthread_mutex_unlock(&pool->mutex);
    return works;
}

static void look_for_end(liana__pool *pool)
{
    for (int i = 0; pool->looks && i < LIANA__MOST_LOOKS; i++) {
        if (atomic_load_explicit(&pool->num_busy, memory_order_relaxed) == 0) return;
        liana__look_away();
    }
}

static void *thread_main(void *argument)
{
    const pool_thread *own = argument;
    liana__pool *pool = own->pool;
    unsigned long seen = 0;
    while (wait_for_work(pool, &seen)) {
        claim_tasks(pool, own->worker);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->num_busy == 0) pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->mutex);
    }
    return NULL;
}

/* A thread allocates and frees nothing: it may begin late, while others count what a run allocates. */
static bool start_thread(liana__pool *pool, int worker)
{
    pool_thread *own = &pool->threads[worker];
    own->pool = pool;
    own->worker = worker;
    return pthread_create(&own->id, NULL, thread_main, own) == 0;
}

liana_status liana__pool_create(int num_threads, liana__pool **out, liana__error *error)
{
    *out = NULL;
    liana__pool *pool = calloc(1, sizeof *pool);
    pool_thread *threads = calloc((size_t)num_threads, sizeof *threads);
    if (!pool || !threads) {
        free(pool);
        free(threads);
        return liana__fail_memory(error, "the thread pool");
    }
    pool->threads = threads;
    pool->num_threads = num_threads;
    /* A thread that looks takes time from those that work, if there are more threads than cores. */
    pool->looks = liana__cpu_count() >= num_threads;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->num_started = 1; /* the caller is worker 0 */
    for (int worker = 1; worker < num_threads; worker++) {
        if (!start_thread(pool, worker)) {
            liana__pool_destroy(pool);
            return liana__fail(error, LIANA_OUT_OF_MEMORY,
                               "could not start thread %d of %d; set LIANA_THREADS to a smaller number", worker + 1,
                               num_threads);
        }
        pool->num_started++;
    }
    *out = pool;
    return LIANA_OK;
}

void liana__pool_destroy(liana__pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (int worker = 1; worker < pool->num_started; worker++) pthread_join(pool->threads[worker].id, NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool);
}

int liana__pool_num_threads(const liana__pool *pool)
{
    return pool->num_threads;
}

void liana__pool_run(liana__pool *pool, size_t count, liana__task task, void *user)
{
    if (count == 0) return;
    pool->task = task;
    pool->user = user;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    if (pool->num_threads == 1 || count == 1) {
        claim_tasks(pool, 0);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->generation++;
    pool->num_busy = pool->num_threads - 1;
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake); /* not under the mutex, which those who wake take first */
    claim_tasks(pool, 0);
    look_for_end(pool);
    pthread_mutex_lock(&pool->mutex);
    while (pool->num_busy > 0) pthread_cond_wait(&pool->idle, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
