/* The loops of resize for AVX2. */
#include "data/image/resize.kernels.h"

const liana__resize_kernels liana__resize_kernels_avx2 = LIANA__RESIZE_KERNELS;
