#include "harness/emulated_kernels.h"

#include "ops/conv2d_affine.h"
#include "ops/matmul.h"

#if defined(LIANA_X86)
#define EMULATED(name)                                                    \
    {                                                                     \
        &liana__##name##_emulated_avx512, &liana__##name##_emulated, NULL \
    }
#else
#define EMULATED(name)                  \
    {                                   \
        &liana__##name##_emulated, NULL \
    }
#endif

const liana__kernel *const *liana__emulated_kernels(const liana__op *op)
{
    static const liana__kernel *const pointwise[] = EMULATED(conv2d_pointwise), *const matmul[] = EMULATED(matmul),
                                      *const none[] = {NULL};
    const liana__conv_family *family = &liana__conv2d_family;
    if (op == family->forward || op == family->input_gradient || op == family->kernel_gradient) return pointwise;
    if (op == &liana__op_conv2d_affine) return pointwise;
    return op == &liana__op_matmul ? matmul : none;
}
