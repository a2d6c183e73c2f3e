/* cpu.h - the instruction sets that this processor has and LIANA_MAX_ISA allows. */
#ifndef LIANA_BASE_CPU_H
#define LIANA_BASE_CPU_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Each level includes the levels before it. BASELINE is the compiler's assumption (x86-64: SSE2). */
typedef enum liana__isa {
    LIANA__ISA_BASELINE,
    LIANA__ISA_AVX2,                /* with FMA and F16C */
    LIANA__ISA_AVX512,              /* F, BW, DQ and VL */
    LIANA__ISA_AVX512_BF16_STORAGE, /* f32 to bf16 in one instruction; bf16 is multiplied in f32 */
    LIANA__ISA_AVX512_BF16,         /* dot products of pairs of bf16 */
    LIANA__ISA_AMX,                 /* tiles with bf16, granted by the kernel */
} liana__isa;

/* "baseline", "avx2", "avx512", "avx512_bf16_storage", "avx512_bf16", "amx". */
const char *liana__isa_name(liana__isa isa);

/* The identity of a processor, from CPUID's leaves 0 and 1. */
typedef struct liana__cpu_identity {
    char vendor[13]; /* "GenuineIntel" */
    int family, model, stepping;
} liana__cpu_identity;

/* Whether such a processor, if it has AVX512_BF16, multiplies pairs of bf16 faster than floats. The answer comes from
 * one table. Processors that are not in it count as slow, unless newer processors of their maker are known to be fast.
 * Counting as slow is safe: bf16 is then multiplied in f32, which is never slower than float32. */
bool liana__cpu_has_fast_dots(const liana__cpu_identity *identity);

/* The features that the processor reports, and those that the operating system lets a process use. */
typedef struct liana__cpu_facts {
    bool avx2;        /* with FMA and F16C */
    bool avx512;      /* F, BW, DQ and VL */
    bool avx512_bf16; /* dot products of pairs of bf16, and f32 rounded to bf16 */
    bool amx;         /* tiles, and their products of bf16 */
    bool fast_dots;   /* the dot products are faster than products of f32 */
    /* The kernel's answer to the request for the tile registers: 0, or an errno. It is only asked if everything else is
     * there. */
    int amx_refusal;
} liana__cpu_facts;

/* The highest level up to `cap` that the facts allow, and that is not slower than a lower one. So AVX512_BF16 with slow
 * dot products is chosen only if `cap` names it. `reason` (may be NULL) receives why it is not a higher level: "" at
 * the top, else a sentence for LIANA_LOG=dispatch. */
liana__isa liana__cpu_level(const liana__cpu_facts *facts, liana__isa cap, char *reason, size_t size);

/* The facts about this machine. If the rest of the facts and `cap` allow AMX, the kernel is asked for the tile
 * registers: Linux lets a process use them only after that. */
liana__cpu_facts liana__cpu_read_facts(liana__isa cap);

/* Asks the kernel for the tile registers: 0, or the errno of its refusal. */
int liana__cpu_ask_for_tiles(void);

/* The level of this processor and operating system, at most `limit` (the value of LIANA_MAX_ISA; NULL: no limit);
 * `reason` as above. Errors: INVALID_CONFIG for an unknown name. */
liana_status liana__cpu_detect(const char *limit, liana__isa *isa, char *reason, size_t size, liana__error *error)
    LIANA_MUST_USE;

/* The number of cores this process may run on (its affinity mask), at least 1. */
int liana__cpu_count(void);

#endif
