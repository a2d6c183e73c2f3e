/* Chooses the loops that widen and narrow bf16 on this processor. */
#include "kernels/bf16_loops.h"

const liana__bf16_loops *liana__bf16_loops_for(liana__isa isa)
{
#if defined(LIANA_X86)
    if (isa >= LIANA__ISA_AVX512) return &liana__bf16_loops_avx512;
    if (isa >= LIANA__ISA_AVX2) return &liana__bf16_loops_avx2;
#endif
    (void)isa;
    return &liana__bf16_loops_generic;
}
