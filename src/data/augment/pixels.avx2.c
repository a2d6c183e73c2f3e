/* The loops of pixels for AVX2. */
#include "data/augment/pixels.kernels.h"
const liana__pixel_kernels liana__pixel_kernels_avx2 = LIANA__PIXEL_KERNELS;
