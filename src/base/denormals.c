/* Sets how this thread computes with denormal numbers. */
#include "base/denormals.h"

#if defined(__x86_64__)

#include <xmmintrin.h>

/* Flush to zero (results) and denormals are zeros (operands). Every x86-64 processor has both. SSE, AVX and AVX-512
 * obey them; x87 does not, but liana does not use it. */
enum { FLUSHES = 1u << 15 | 1u << 6 };

static uint64_t read_control(void)
{
    return _mm_getcsr();
}

static void write_control(uint64_t control)
{
    _mm_setcsr((unsigned)control);
}

#elif defined(__aarch64__)

/* FZ: operands and results, of floats and doubles. */
enum { FLUSHES = 1u << 24 };

static uint64_t read_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static void write_control(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}

#else

enum { FLUSHES = 0 };

static uint64_t read_control(void)
{
    return 0;
}

static void write_control(uint64_t control)
{
    (void)control;
}

#endif

/* Writing the register may stall the processor, and most calls change nothing; so it is read first. */
static liana__denormals set(uint64_t flushes)
{
    const uint64_t control = read_control();
    if ((control & FLUSHES) != flushes) write_control((control & ~(uint64_t)FLUSHES) | flushes);
    return control & FLUSHES;
}

bool liana__denormals_can_flush(void)
{
    return FLUSHES != 0;
}

liana__denormals liana__denormals_flush(void)
{
    return set(FLUSHES);
}

liana__denormals liana__denormals_keep(void)
{
    return set(0);
}

void liana__denormals_restore(liana__denormals before)
{
    set(before);
}
