#include "kernels/bf16_loops.kernels.h"

const liana__bf16_loops liana__bf16_loops_generic = {widen, narrow};
