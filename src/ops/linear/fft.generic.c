/* The kernels of fft for vectors that any processor has. */
#include "ops/linear/fft.kernels.h"
