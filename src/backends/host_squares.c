/* Chooses the loop that sums squares on this processor. */
#include "backends/host_squares.h"

liana__host_squares_loop liana__host_choose_squares(liana__isa isa)
{
#if defined(LIANA_X86)
    if (isa >= LIANA__ISA_AVX512) return liana__host_squares_avx512;
    if (isa >= LIANA__ISA_AVX2) return liana__host_squares_avx2;
#endif
    (void)isa;
    return liana__host_squares_generic;
}
