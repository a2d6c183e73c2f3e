#include "ops/reduce/argmax.kernels.h"
