/* The loops of bf16_loops for AVX-512. */
#include "kernels/bf16_loops.kernels.h"

const liana__bf16_loops liana__bf16_loops_avx512 = {widen, narrow};
