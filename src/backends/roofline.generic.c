#include "backends/roofline.kernels.h"
