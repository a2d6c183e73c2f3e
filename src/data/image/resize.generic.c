/* The loops of resize for vectors that any processor has. */
#include "data/image/resize.kernels.h"

const liana__resize_kernels liana__resize_kernels_generic = LIANA__RESIZE_KERNELS;
