/* roofline.h - the limits of this machine, measured by loops of our own: nothing is assumed of its clock, its units or
 * its memory.
 *
 * A node that does f operations and moves b bytes takes at least max(f / flops, b / bandwidth): Williams, Waterman and
 * Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009. */
#ifndef LIANA_BACKENDS_ROOFLINE_H
#define LIANA_BACKENDS_ROOFLINE_H

#include "base/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIANA__ROOFLINE_SIZES = 6 };

/* The speed of memory where a worker moves this many bytes over and over. */
typedef struct liana__bandwidth {
    size_t size; /* bytes of each worker */
    double rate; /* bytes per second, read or read and written, of all workers together */
} liana__bandwidth;

/* Rates of all workers together, while all of them work. */
typedef struct liana__roofline {
    int num_workers;
    double flops; /* f32 operations per second in chains of multiply-adds */
    /* Operations per second of dot products of bf16, summed in f32. At least `flops`: where units for them are slower,
     * or missing, a kernel can widen to f32. */
    double bf16_flops;
    /* From sizes within level 2 to sizes far beyond all caches, so that nothing is assumed of the caches, of which a
     * virtual machine may tell anything. */
    liana__bandwidth memory[LIANA__ROOFLINE_SIZES];
    /* The share of its time that a thread had a core, in the fastest try of that measurement where it was least: below
     * 1 something else ran in all tries, and the machine can do more than was measured. */
    double undisturbed;
} liana__roofline;

/* Takes about a second on the context's threads. Errors: OUT_OF_MEMORY. */
liana_status liana__roofline_measure(liana_context *context, liana__roofline *roofline, liana__error *error)
    LIANA_MUST_USE;

/* The least seconds that one worker needs, its share of the machine being that of one of num_workers. Bytes are moved
 * as fast as in a buffer of their size, because they may still lie in a cache from the node before. */
double liana__roofline_compute_seconds(const liana__roofline *roofline, double flops, bool bf16_dot_products);
double liana__roofline_memory_seconds(const liana__roofline *roofline, double bytes);

/* The loops of one instruction set. */
typedef struct liana__roofline_loops {
    /* `rounds` times `flops_per_round` operations; the result is of no interest, but must be used. */
    float (*compute)(int64_t rounds);
    double flops_per_round;
    /* The sum of `count` floats, a multiple of 256. */
    float (*read)(const float *source, int64_t count);
    /* target[i] = 2 source[i]. */
    void (*scale)(float *target, const float *source, int64_t count);
} liana__roofline_loops;

extern const liana__roofline_loops liana__roofline_generic, liana__roofline_avx2, liana__roofline_avx512;

/* Chains of dot products of bf16, where there are units for them. */
typedef struct liana__roofline_products {
    float (*compute)(int64_t rounds);
    double flops_per_round;
} liana__roofline_products;

extern const liana__roofline_products liana__roofline_avx512_bf16, liana__roofline_amx;

#endif
