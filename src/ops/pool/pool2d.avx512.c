#include "ops/pool/pool2d.kernels.h"
