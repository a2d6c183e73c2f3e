/* Chooses the loops over pixels for this processor. */
#include "data/augment/pixels.h"

const liana__pixel_kernels *liana__pixel_kernels_for(liana__isa isa)
{
#ifdef LIANA_X86
    if (isa >= LIANA__ISA_AVX512) return &liana__pixel_kernels_avx512;
    if (isa >= LIANA__ISA_AVX2) return &liana__pixel_kernels_avx2;
#else
    (void)isa;
#endif
    return &liana__pixel_kernels_generic;
}
