/* The kernels of fft for AVX-512. */
#include "ops/linear/fft.kernels.h"
