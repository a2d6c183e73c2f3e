/* The statistics of a convolution's result, given by the convolution.
 *
 * In training, batch normalisation first needs mean and variance of all that it normalises. The graph stays as it is;
 * a backend lets a kernel that can (`gives_companion` in ir/op.h) add up what it stores while that is in registers, and
 * leaves out the node that would read it again. That is so where both run slice by slice over the batch, as statistics
 * are then made of those of slices, which one worker computes from beginning to end. */
#include "passes/pass.h"

const liana__pass liana__pass_fuse_statistics = {
    .name = "fuse_statistics",
    .doc = "Convolutions also give the batch statistics of their results, slice by slice, so the results are not read "
           "again (applied when a backend chooses kernels).",
};
