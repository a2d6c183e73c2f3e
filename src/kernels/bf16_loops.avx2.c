/* The loops of bf16_loops for AVX2. */
#include "kernels/bf16_loops.kernels.h"

const liana__bf16_loops liana__bf16_loops_avx2 = {widen, narrow};
