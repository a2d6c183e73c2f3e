/* One kernel on one node, called by itself. */
#include "harness/kernel_run.h"

#include "base/memory.h"
#include "base/random.h"
#include "harness/emulated/emulated_kernels.h"
#include "harness/harness.h"

#include <stdlib.h>
#include <string.h>

int liana__test_find_kernels(liana_context *context, const liana__node *node, const char *name,
                             const liana__kernel **found)
{
    const liana__kernel *const *const lists[] = {node->op->kernels, liana__emulated_kernels(node->op)};
    int count = 0;
    for (int list = 0; list < 2; list++) {
        for (const liana__kernel *const *k = lists[list]; *k; k++) {
            const char *reason = NULL;
            if (strncmp((*k)->name, name, strlen(name)) != 0 || (*k)->isa > context->isa) continue;
            if ((*k)->applicable && !(*k)->applicable(node, &reason)) continue;
            assert_compare(count, <, LIANA__TEST_MAX_KERNELS);
            found[count++] = *k;
        }
    }
    return count;
}

static void *draw(const liana__node *node, uint64_t seed)
{
    void *data = liana__allocate_aligned(liana__byte_size(node->dtype, &node->shape));
    liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_TEST, 0);
    assert_non_null(data);
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        liana__store(data, node->dtype, i, (double)words[0] * 0x1p-31 - 1);
    }
    return data;
}

liana__test_sources liana__test_draw_sources(const liana__node *node)
{
    return (liana__test_sources){{draw(node->inputs[0], 1), draw(node->inputs[1], 2)}};
}

void liana__test_free_sources(liana__test_sources *sources)
{
    free(sources->data[0]);
    free(sources->data[1]);
}

static void run_tiles(const liana__kernel *kernel, liana__call *call, size_t num_tiles)
{
    if (num_tiles == 0) {
        assert_int_equal(kernel->run(call), LIANA_OK);
        return;
    }
    assert_compare(num_tiles, >, 1);
    call->num_tiles = num_tiles;
    for (call->tile = num_tiles; call->tile-- > 0;) assert_int_equal(kernel->run(call), LIANA_OK);
}

void *liana__test_run_kernel(liana_context *context, const liana__kernel *kernel, const liana__node *node,
                             const liana__test_sources *sources, liana__test_manner how)
{
    liana__prepared prepared = {0};
    if (kernel->prepare) assert_ok(kernel->prepare(node, &prepared, &context->error), &context->error);
    if (how.tiles) assert_ok(kernel->cut(node, &prepared, &context->error), &context->error);
    void *scratch = liana__allocate_aligned(prepared.scratch_size), *packed = NULL;
    void *result = liana__allocate_aligned(liana__byte_size(node->dtype, &node->shape));
    assert_true(scratch && result);
    memset(scratch, 0xff, prepared.scratch_size);
    const void *const src[] = {sources->data[0], sources->data[1]};
    liana__call call = {.node = node, .src = src, .dst = result, .scratch = scratch, .plan = prepared.plan};
    if (how.packed) {
        packed = liana__allocate_aligned(prepared.packed_size);
        const void *const weights[] = {NULL, src[1]};
        const liana__call pack = {.node = node, .src = weights, .scratch = scratch, .plan = prepared.plan};
        assert_int_equal(kernel->pack(&pack, packed), LIANA_OK);
        memset(scratch, 0xff, prepared.scratch_size);
    }
    call.packed = packed;
    run_tiles(kernel, &call, how.tiles ? prepared.num_tiles : 0);
    if (kernel->release && prepared.plan) kernel->release(prepared.plan);
    free(scratch);
    free(packed);
    const char *fault = liana__emulated_fault();
    if (fault) fail_msg("%s: %s", kernel->name, fault);
    assert_false(liana__emulated_tiles_held());
    return result;
}
