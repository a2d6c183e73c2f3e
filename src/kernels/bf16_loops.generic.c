/* The loops of bf16_loops for vectors that any processor has. */
#include "kernels/bf16_loops.kernels.h"

const liana__bf16_loops liana__bf16_loops_generic = {widen, narrow};
