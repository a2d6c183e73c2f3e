/* onednn.h - the bridge to oneDNN. No other file includes oneDNN's headers, because its 3.x interface differs.
 *
 * A `prepare` function makes a plan: the primitives, their memory objects and the size of their scratch memory.
 * liana__onednn_run executes a plan and liana__onednn_release frees it. So the kernel of an op is three function
 * pointers.
 *
 * Threads. Inside each call oneDNN uses one thread. A primitive takes its number of threads from OpenMP's setting at
 * the moment when it is made, and it may hang if it is run with fewer threads. So primitives are both made and run
 * under omp_set_num_threads(1); afterwards the calling thread gets its own setting back.
 *
 * Lanes. Threads share a plan, but oneDNN's memory objects hold the addresses of one execution, and making such an
 * object allocates memory. So a plan owns several sets of them, called lanes: one for each core of the process. Each
 * execution claims a lane with an atomic flag. A thread that finds no free lane yields until there is one: in that case
 * every core is already at work in this same node. Nothing in a lane outlives an execution, so all lanes give the same
 * results.
 *
 * Scratch memory. Primitives have none of their own (dnnl_scratchpad_mode_user): it is planned like any other buffer.
 *
 * Instruction sets. LIANA_MAX_ISA limits oneDNN too. oneDNN takes this limit once in a process, before its first
 * kernel. If a process changes the variable later, oneDNN keeps the first value. "baseline" means SSE4.1 here, the
 * least that oneDNN has. */
#ifndef LIANA_KERNELS_ONEDNN_H
#define LIANA_KERNELS_ONEDNN_H

#include "base/cpu.h"
#include "ir/op.h"
#include "kernels/geometry.h"
#include "kernels/widened.h"

/* Limits the instruction set as LIANA_MAX_ISA does, if oneDNN has not begun. */
void liana__onednn_limit(liana__isa isa);

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
/* All three. */
#define LIANA__ONEDNN_MEMBERS .release = liana__onednn_release, .run = liana__onednn_run, .pack = liana__onednn_pack

#endif
