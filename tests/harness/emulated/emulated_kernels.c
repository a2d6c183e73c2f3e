/* Lists the kernels on emulated tiles of an op. */
#include "harness/emulated/emulated_kernels.h"

#include "ops/fused/conv2d_affine.h"
#include "ops/linear/matmul.h"

#if defined(LIANA_X86)
#define EMULATED(name) &liana__##name##_emulated_avx512, &liana__##name##_emulated
#else
#define EMULATED(name) &liana__##name##_emulated
#endif

const liana__kernel *const *liana__emulated_kernels(const liana__op *op)
{
    static const liana__kernel *const dense[] = {EMULATED(product), EMULATED(conv2d_window), NULL};
    static const liana__kernel *const matmul[] = {EMULATED(product), NULL}, *const none[] = {NULL};
    const liana__conv_family *family = &liana__conv2d_family;
    if (op == family->forward || op == family->input_gradient || op == family->kernel_gradient) return dense;
    if (op == &liana__op_conv2d_affine) return dense;
    return op == &liana__op_matmul ? matmul : none;
}
