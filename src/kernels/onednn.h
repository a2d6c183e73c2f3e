/* onednn.h - the bridge to oneDNN: the only place that includes its headers, whose 3.x interface differs.
 *
 * A `prepare` function makes a plan (primitives, their memory objects, the size of their scratch memory) that
 * liana__onednn_run executes and liana__onednn_release frees, so that an op's kernel is three function pointers.
 *
 * Threads. oneDNN is single-threaded inside every call: a primitive takes its thread count from OpenMP's setting when
 * it is made, and one made for more threads than it is run with may hang; so both happen under omp_set_num_threads(1),
 * the calling thread's own setting is restored.
 *
 * The plan is shared by threads, but oneDNN's memory objects hold the addresses of one execution, and making them
 * allocates. So a plan owns several sets of them ("lanes", one for each core of the process), and each execution claims
 * one with an atomic flag. A thread that finds none free yields until one is: then every core is already at work in
 * this very node. What a lane holds never outlives one execution, so a plan gives the same results in every lane.
 *
 * No scratch memory is hidden in the primitives (dnnl_scratchpad_mode_user): it is planned like any other buffer.
 *
 * Instruction sets. LIANA_MAX_ISA caps oneDNN too. It can be told so only once a process and before its first kernel:
 * a process that changes the variable in between keeps the first value here. "baseline" is SSE4.1, oneDNN's least. */
#ifndef LIANA_KERNELS_ONEDNN_H
#define LIANA_KERNELS_ONEDNN_H

#include "ir/op.h"
#include "kernels/geometry.h"
#include "kernels/widened.h"

/* c [batch, m, n] = a [batch, m, k] * b [batch, k, n], row-major and contiguous; a is stored as [batch, k, m] if
 * transpose_a, b as [batch, n, k] if transpose_b. Batch is 1 for plain matrices. Sums are in f32. */
typedef struct liana__onednn_matmul {
    int64_t batch;
    int64_t m, n, k;
    bool transpose_a;
    bool transpose_b;
    liana_dtype dtype;  /* of a and b: f32, or bf16 from AVX512_BF16 on (below, oneDNN is slow or lacks it) */
    liana_dtype result; /* of c: as dtype, or f32 */
} liana__onednn_matmul;

/* Prepares src[0] = a, src[1] = b, dst = c. Errors: OUT_OF_MEMORY; UNIMPLEMENTED or INTERNAL with oneDNN's status. */
liana_status liana__onednn_prepare_matmul(const liana__onednn_matmul *matmul, liana__prepared *prepared,
                                          liana__error *error) LIANA_MUST_USE;

/* Prepares a convolution of f32, or of bf16 as above, whose kernel gradient is f32. Images are NHWC; the kernel is
 * HWIO, [height, width, channels / groups, filters], and is reordered to and from oneDNN's preferred layout inside each
 * execution, unless it is packed before. Convolutions that are matrix products (1x1, stride 1, unpadded, one group)
 * are run as such. Errors as for matmul. */
liana_status liana__onednn_prepare_conv(liana__conv_pass pass, liana_dtype dtype, const liana__geometry *geometry,
                                        liana__prepared *prepared, liana__error *error) LIANA_MUST_USE;

/* `cut` for these kernels: cuts forward convolutions that are not matrix products. */
liana_status liana__onednn_cut_conv(liana__conv_pass pass, liana_dtype dtype, const liana__geometry *geometry,
                                    liana__prepared *prepared, liana__error *error) LIANA_MUST_USE;

/* The part that a tile of a cut plan reads and writes. */
void liana__onednn_find_part(const void *plan, size_t tile, liana__widened_part *part);

/* A kernel's `run`. Does not allocate; oneDNN 2.6 itself makes 4 to 9 objects, together under 600 bytes, in each
 * execution, and its AVX2 product a packing buffer of 16 KiB. */
liana_status liana__onednn_run(const liana__call *call);
/* A kernel's `pack`, if `prepare` set packed_size: the kernel of a convolution in oneDNN's layout. */
liana_status liana__onednn_pack(const liana__call *call, void *packed);
/* A kernel's `release`. NULL is allowed. */
void liana__onednn_release(void *plan);

#endif
