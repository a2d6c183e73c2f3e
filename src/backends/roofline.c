/* Measures the limits of this machine. */
#include "backends/roofline.h"

#include "base/memory.h"
#include "base/recorder.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 12, SHORTEST_NS = 500000 };
static const double ENOUGH_SECONDS = 0.08; /* for one measurement: long ones are not repeated often */
/* Each size is 2^GROWTH times the one before. */
enum { GROWTH = 2 };
static const size_t SMALLEST_BUFFER = (size_t)256 << 10, MOST_MEMORY = (size_t)512 << 20;
static const size_t USUAL_LEVEL3 = (size_t)64 << 20;

/* The workers' task in one measurement. Each is a task; they start together. */
typedef struct workload {
    liana__arena arena; /* of the lists */
    const liana__roofline_loops *loops;
    const liana__roofline_products *products; /* NULL without units for bf16 */
    float **buffers;                          /* by task; two halves of `count` floats each */
    int64_t count;
    float *results;  /* by task, so that no loop is without a purpose */
    double *seconds; /* by task: of one round */
    double *shares;  /* by task: of the time of these rounds, in which the thread had a core */
    double undisturbed;
    size_t num_tasks;
    atomic_size_t num_started;
    void (*run)(struct workload *work, size_t task, int64_t rounds);
} workload;

static void run_compute(workload *work, size_t task, int64_t rounds)
{
    work->results[task] += work->loops->compute(rounds);
}

static void run_products(workload *work, size_t task, int64_t rounds)
{
    work->results[task] += work->products->compute(rounds);
}

static void run_read(workload *work, size_t task, int64_t rounds)
{
    for (int64_t i = 0; i < rounds; i++) {
        work->results[task] += work->loops->read(work->buffers[task], 2 * work->count);
    }
}

static void run_scale(workload *work, size_t task, int64_t rounds)
{
    for (int64_t i = 0; i < rounds; i++) {
        work->loops->scale(work->buffers[task], work->buffers[task] + work->count, work->count);
    }
}

static void run_fill(workload *work, size_t task, int64_t rounds)
{
    (void)rounds;
    for (int64_t i = 0; i < 2 * work->count; i++) work->buffers[task][i] = 1;
}

static double thread_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct attempt {
    double seconds;
    double share; /* in which the thread had a core */
} attempt;

static attempt time_rounds(workload *work, size_t task, int64_t rounds)
{
    double had = thread_seconds();
    uint64_t begin = liana__clock();
    work->run(work, task, rounds);
    double seconds = (double)(liana__clock() - begin) * 1e-9;
    had = thread_seconds() - had;
    return (attempt){seconds, had < seconds ? had / seconds : 1};
}

/* The least of several tries, each long enough to be timed and short enough to be undisturbed now and then. */
static void time_task(void *user, size_t task, int worker)
{
    (void)worker;
    workload *work = user;
    atomic_fetch_add(&work->num_started, 1);
    while (atomic_load(&work->num_started) < work->num_tasks) sched_yield();
    int64_t rounds = 1;
    attempt least = time_rounds(work, task, rounds);
    while (least.seconds < SHORTEST_NS * 1e-9) {
        rounds *= 2;
        least = time_rounds(work, task, rounds);
    }
    double spent = least.seconds;
    for (int i = 1; i < REPEATS && spent < ENOUGH_SECONDS; i++) {
        attempt another = time_rounds(work, task, rounds);
        if (another.seconds < least.seconds) least = another;
        spent += another.seconds;
    }
    work->seconds[task] = least.seconds / (double)rounds;
    work->shares[task] = least.share;
}

/* Rounds per second of all workers together. There are as many tasks as threads, so none waits for one that cannot
 * start. */
static double rate_of(workload *work, liana_context *context)
{
    double rate = 0;
    atomic_store(&work->num_started, 0);
    liana__pool_run(context->pool, work->num_tasks, time_task, work);
    for (size_t i = 0; i < work->num_tasks; i++) {
        rate += 1 / work->seconds[i];
        if (work->shares[i] < work->undisturbed) work->undisturbed = work->shares[i];
    }
    return rate;
}

static void fill_task(void *user, size_t task, int worker)
{
    (void)worker;
    run_fill(user, task, 1);
}

enum { FLOATS_AT_ONCE = 256 };

/* Bytes per second of all workers together in `bytes` for each: reading alone, or reading and writing; the faster one
 * is the roof. */
static double bandwidth_of(workload *work, liana_context *context, size_t bytes)
{
    work->count = (int64_t)(bytes / 2 / sizeof(float)) / FLOATS_AT_ONCE * FLOATS_AT_ONCE;
    liana__pool_run(context->pool, work->num_tasks, fill_task, work);
    double moved = 2 * (double)work->count * sizeof(float);
    work->run = run_read;
    double reading = rate_of(work, context);
    work->run = run_scale;
    double scaling = rate_of(work, context);
    return moved * (reading > scaling ? reading : scaling);
}

static size_t size_or(int name, size_t usual)
{
    long size = sysconf(name);
    return size > 0 ? (size_t)size : usual;
}

/* Bytes of each worker's buffer that lie far beyond the caches, within a share of the memory of the machine. */
static size_t large_buffer(size_t workers)
{
    size_t machine = size_or(_SC_PHYS_PAGES, 1 << 18) * size_or(_SC_PAGE_SIZE, 4096);
    size_t most = machine / 8 < MOST_MEMORY ? machine / 8 : MOST_MEMORY;
    size_t size = 2 * size_or(_SC_LEVEL3_CACHE_SIZE, USUAL_LEVEL3) / workers;
    if (size < 2 * SMALLEST_BUFFER << GROWTH * (LIANA__ROOFLINE_SIZES - 2)) {
        size = 2 * SMALLEST_BUFFER << GROWTH * (LIANA__ROOFLINE_SIZES - 2);
    }
    return size * workers > most ? most / workers : size;
}

static const liana__roofline_loops *choose_loops(liana__isa isa)
{
#if defined(LIANA_X86)
    if (isa >= LIANA__ISA_AVX512) return &liana__roofline_avx512;
    if (isa >= LIANA__ISA_AVX2) return &liana__roofline_avx2;
#endif
    (void)isa;
    return &liana__roofline_generic;
}

static const liana__roofline_products *choose_products(liana__isa isa)
{
#if defined(LIANA_X86)
    if (isa >= LIANA__ISA_AMX) return &liana__roofline_amx;
    if (isa >= LIANA__ISA_AVX512_BF16) return &liana__roofline_avx512_bf16;
#endif
    (void)isa;
    return NULL;
}

static liana_status allocate(workload *work, size_t size, liana__error *error)
{
    liana__arena *arena = &work->arena;
    work->buffers = liana__arena_allocate(arena, work->num_tasks * sizeof *work->buffers);
    work->results = liana__arena_allocate(arena, work->num_tasks * sizeof *work->results);
    work->seconds = liana__arena_allocate(arena, work->num_tasks * sizeof *work->seconds);
    work->shares = liana__arena_allocate(arena, work->num_tasks * sizeof *work->shares);
    bool enough = !arena->failed;
    for (size_t i = 0; enough && i < work->num_tasks; i++) {
        work->buffers[i] = liana__allocate_aligned(size);
        enough = work->buffers[i] != NULL;
    }
    if (enough) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_MEMORY,
                       "out of memory for measuring the machine's bandwidth: %zu threads need %zu MiB each",
                       work->num_tasks, size >> 20);
}

static void measure(workload *work, liana_context *context, size_t largest, liana__roofline *roofline)
{
    work->run = run_compute;
    roofline->flops = work->loops->flops_per_round * rate_of(work, context);
    roofline->bf16_flops = roofline->flops;
    if (work->products) {
        work->run = run_products;
        double flops = work->products->flops_per_round * rate_of(work, context);
        if (flops > roofline->flops) roofline->bf16_flops = flops;
    }
    double best = 0;
    for (int i = LIANA__ROOFLINE_SIZES; i-- > 0;) {
        size_t size = i + 1 < LIANA__ROOFLINE_SIZES ? SMALLEST_BUFFER << GROWTH * i : largest;
        if (size > largest) size = largest;
        double rate = bandwidth_of(work, context, size);
        /* Less is never slower, but for disturbances. */
        if (rate > best) best = rate;
        roofline->memory[i] = (liana__bandwidth){size, best};
    }
    roofline->undisturbed = work->undisturbed;
}

liana_status liana__roofline_measure(liana_context *context, liana__roofline *roofline, liana__error *error)
{
    size_t workers = (size_t)liana__pool_num_threads(context->pool), largest = large_buffer(workers);
    *roofline = (liana__roofline){.num_workers = (int)workers};
    workload work = {.loops = choose_loops(context->isa),
                     .products = choose_products(context->isa),
                     .undisturbed = 1,
                     .num_tasks = workers};
    liana_status status = allocate(&work, largest, error);
    if (status == LIANA_OK) measure(&work, context, largest, roofline);
    for (size_t i = 0; work.buffers && i < workers; i++) free(work.buffers[i]);
    liana__arena_free(&work.arena);
    return status;
}

double liana__roofline_compute_seconds(const liana__roofline *roofline, double flops, bool bf16_dot_products)
{
    return flops * roofline->num_workers / (bf16_dot_products ? roofline->bf16_flops : roofline->flops);
}

double liana__roofline_memory_seconds(const liana__roofline *roofline, double bytes)
{
    int i = 0;
    while (i + 1 < LIANA__ROOFLINE_SIZES && bytes > (double)roofline->memory[i].size) i++;
    return bytes * roofline->num_workers / roofline->memory[i].rate;
}
