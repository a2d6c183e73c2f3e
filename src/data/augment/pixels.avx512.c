/* The loops of pixels for AVX-512. */
#include "data/augment/pixels.kernels.h"
const liana__pixel_kernels liana__pixel_kernels_avx512 = LIANA__PIXEL_KERNELS;
