/* kernel_run.h - one kernel on one node, called by itself. */
#ifndef LIANA_HARNESS_KERNEL_RUN_H
#define LIANA_HARNESS_KERNEL_RUN_H

#include "base/context.h"
#include "ir/op.h"

enum { LIANA__TEST_MAX_KERNELS = 8 };

/* The kernels of a node that are here and whose names begin so, those on emulated tiles too: their number. */
int liana__test_find_kernels(liana_context *context, const liana__node *node, const char *name,
                             const liana__kernel **found);

/* The two inputs of a node, drawn from [-1, 1). */
typedef struct liana__test_sources {
    void *data[2];
} liana__test_sources;

liana__test_sources liana__test_draw_sources(const liana__node *node);
void liana__test_free_sources(liana__test_sources *sources);

/* How a kernel is called: in its tiles, the last first (tiles 0: whole), with its weights packed before. */
typedef struct liana__test_manner {
    size_t tiles;
    bool packed;
} liana__test_manner;

/* The result, to be freed. Scratch memory begins as NaN; a refusal of emulated tiles fails the test. */
void *liana__test_run_kernel(liana_context *context, const liana__kernel *kernel, const liana__node *node,
                             const liana__test_sources *sources, liana__test_manner how);

#endif
