/* dropout.kernels.h - dropout of f32 or bf16, for one instruction set. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/random/dropout.h"
#include "ops/random/philox.kernels.h"

/* `count` is at most STEP. */
LIANA__INLINE void drop_part(liana_dtype dtype, void *dst, const void *src, int64_t at, int64_t count,
                             const vector_uint words[LANES], uint32_t threshold, float scale)
{
    for (int lane = 0; lane < LANES; lane++) {
        int64_t first = (int64_t)lane * VECTOR_LENGTH;
        vector_int kept = (words[lane] >> 8) >= threshold;
        if (first >= count) return;
        vector_float x = vector_load_up_to(dtype, src, at + first, count - first) * scale;
        vector_store_up_to(dtype, dst, at + first, vector_select(kept, x, (vector_float){0}), count - first);
    }
}

LIANA__INLINE liana_status run_as(const liana__call *call, liana_dtype dtype)
{
    const liana__node *node = call->node;
    const liana__dropout_attributes *options = node->attributes;
    const uint64_t *positions = call->src[1];
    liana__philox_key key = liana__dropout_key(options);
    uint32_t threshold = liana__dropout_threshold(options->rate);
    float scale = (float)liana__dropout_scale(options->rate, LIANA_F32);
    int64_t batch = node->shape.dims[0], length = liana_shape_size(&node->shape) / batch;
    for (int64_t example = 0; example < batch; example++) {
        for (int64_t j = 0; j < length; j += STEP) {
            vector_uint words[LANES];
            draw(key, (uint64_t)j / 4, positions[example], words);
            drop_part(dtype, call->dst, call->src[0], example * length + j, length - j < STEP ? length - j : STEP,
                      words, threshold, scale);
        }
    }
    return LIANA_OK;
}

static liana_status run_dropout(const liana__call *call)
{
    return vector_run_as(call, run_as);
}

LIANA__VECTOR_KERNEL(dropout, .applicable = vector_applicable, .run = run_dropout);
