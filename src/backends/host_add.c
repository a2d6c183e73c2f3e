/* Chooses the loop that adds tensors on this processor. */
#include "backends/host_add.h"

liana__host_add_loop liana__host_choose_add(liana__isa isa)
{
#if defined(LIANA_X86)
    if (isa >= LIANA__ISA_AVX512) return liana__host_add_avx512;
    if (isa >= LIANA__ISA_AVX2) return liana__host_add_avx2;
#endif
    (void)isa;
    return liana__host_add_generic;
}
