/* The loops of roofline for vectors that any processor has. */
#include "backends/roofline.kernels.h"
