/* The loops of pixels for vectors that any processor has. */
#include "data/augment/pixels.kernels.h"
const liana__pixel_kernels liana__pixel_kernels_generic = LIANA__PIXEL_KERNELS;
