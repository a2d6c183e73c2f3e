/* The loops of resize for AVX-512. */
#include "data/image/resize.kernels.h"

const liana__resize_kernels liana__resize_kernels_avx512 = LIANA__RESIZE_KERNELS;
