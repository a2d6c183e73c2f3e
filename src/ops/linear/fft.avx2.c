/* The kernels of fft for AVX2. */
#include "ops/linear/fft.kernels.h"
