/* product_kernels.h - the kernels of matrix products, for the lists of the ops that are such products (product.h). */
#ifndef LIANA_OPS_PRODUCT_KERNELS_H
#define LIANA_OPS_PRODUCT_KERNELS_H

#include "kernels/vector_kernels.h"

LIANA__DECLARE_VECTOR_KERNELS(product);
LIANA__DECLARE_VECTOR_KERNELS(few_rows);

#endif
