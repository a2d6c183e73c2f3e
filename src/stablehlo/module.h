/* module.h - a graph as the text of a StableHLO module. */
#ifndef LIANA_STABLEHLO_MODULE_H
#define LIANA_STABLEHLO_MODULE_H

#include "ir/graph.h"

/* Zeros are the defaults. */
typedef struct liana__stablehlo_options {
    const char *name;     /* the module's; NULL: "liana" */
    const char *function; /* the function's; NULL: "main", which is public */
    /* Only the function, private, without a module around it: for a caller that writes a larger module. */
    bool function_only;
    /* The function has one more argument, behind the others: a bool, whether the assignments are made. Where it is
     * false, each one gives its variable's old value, and readers of the new value of a variable read that. */
    bool assigns_if;
    /* With assigns_if: each part of the graph (parts.h) is a function of its own, called "<function>_1" and so on. XLA
     * is told not to inline it. XLA on CPUs joins loops over values of one shape that read the same scalar, up to four
     * variables in a loop. Hardly two of these are equal. A function's loops are joined with nothing outside, and XLA
     * compiles equal loops once. */
    bool calls_parts;
    /* The buffer of each variable that the graph assigns to becomes the buffer of its new value. */
    bool donate_variables;
    /* By index: inputs whose buffers the program may use as it likes. NULL: none. */
    const bool *donated_inputs;
    /* Each op has the line of the caller's source that made it. Then the text depends on where the source lies. */
    bool locations;
    /* Products and convolutions of f32 are computed in f32, where a device would rather round their operands. */
    bool highest_precision;
    /* Products and convolutions of bf16 are computed as those of f32: for a device that would round each partial sum,
     * as StableHLO's own interpreter does. Accelerators sum in f32 in any case. */
    bool wide_products;
    /* The text is for XLA on CPUs. Convolutions have the usual order of axes, "b01f" and "01io", between
     * transpositions: for another order inside a while XLA writes slow loops there, which add in another order, too.
     * Folds are over short axes only, since XLA makes trees of windows for long ones (lowering_sums.c). The kernel's
     * gradient of a depthwise convolution is a sum for each place of the window (conv2d.stablehlo.c). */
    bool for_cpus;
    /* Ops have no location at all. Otherwise the reader of the text gives each its line there, and a compiled program
     * keeps that: 5% more bytes on disk for XLA on CPUs, and 7% more time to load them. */
    bool no_locations;
} liana__stablehlo_options;

/* Writes the graph as it is, without passes: a module with one function.
 *
 * Its arguments are the graph's inputs in their order, then its variables in theirs, used or not. Its results are the
 * outputs in their order, then the new values of the assignments in theirs. dtypes are kept; bool is i1. Nodes that no
 * result depends on are left out. The same graph gives the same text.
 *
 * `options` may be NULL. The caller frees *text. Errors: UNIMPLEMENTED for an op that cannot be written, with the op,
 * the node and its place; OUT_OF_MEMORY. */
liana_status liana__stablehlo_print(const liana_graph *graph, const liana__stablehlo_options *options, char **text,
                                    liana__error *error) LIANA_MUST_USE;

#endif
