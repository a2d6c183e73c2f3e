#include "data/augment/pixels.kernels.h"
const liana__pixel_kernels liana__pixel_kernels_avx512 = LIANA__PIXEL_KERNELS;
