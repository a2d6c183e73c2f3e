/* The loops of roofline for AVX2. */
#include "backends/roofline.kernels.h"
