/* The loops of roofline for AVX-512. */
#include "backends/roofline.kernels.h"
