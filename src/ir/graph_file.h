/* graph_file.h - the serialised form of a graph, for bundles, caches and remote devices.
 *
 * Equal graphs give equal bytes. The reader makes each node with the graph's own builders and the op's shape rule, so
 * damaged or hostile bytes give an error and never an invalid graph. Ops, dtypes and attributes are stored by name: a
 * reader knows the files of older versions, and gives the default to an attribute that an old file lacks.
 *
 * Numbers are little-endian. A "text" is a u32, an index into the table of texts.
 *
 *   header       8 bytes "LIANAGRF", u32 version, u32 CRC-32C of the body, u64 size of the body in bytes,
 *                u32 CRC-32C of the 24 bytes before; all versions have this header
 *   body         texts, graph, nodes, outputs, assignments, one after the other
 *   texts        u32 count; of each: u32 size, the bytes, none of them 0
 *   graph        u32 flags (1: mixed precision), u32 first gradient, u32 number of nodes, of outputs, of assignments
 *   node         text op, text dtype, u32 rank, u64 each dimension, u32 flags (1: keep wide, 2: recomputed),
 *                text file, u32 line, and then
 *                input, variable: text name
 *                constant: its elements in row-major order
 *                another op: u32 number of inputs, u32 node of each, attributes; of each of its bodies (ir/body.h):
 *                graph, nodes, outputs, assignments, of which there are none
 *   attributes   u32 count; of each: text name, u32 type, the value (liana__attribute_type)
 *   output       text name, u32 node
 *   assignment   u32 variable, u32 value, both nodes
 *
 * Names that were given to results of ops, initialisers and targets are not stored: they are for the program that
 * builds a graph, and change no result.
 *
 * Nodes are numbered from 1. The dtype and shape of an op's result must be those of its shape rule. */
#ifndef LIANA_IR_GRAPH_FILE_H
#define LIANA_IR_GRAPH_FILE_H

#include "ir/graph.h"

/* The newest version, which is written. It rises when the layout above changes, not when an op is added. */
enum { LIANA__GRAPH_FILE_VERSION = 1 };

/* Writes a graph that has not failed. *bytes is from malloc. Errors: OUT_OF_MEMORY; INVALID_ARGUMENT for a failed graph
 * and for one that exceeds a limit below. */
liana_status liana__graph_write(const liana_graph *graph, uint8_t **bytes, size_t *size, liana__error *error)
    LIANA_MUST_USE;

/* Makes the graph that the bytes describe, of the ops in the NULL-terminated list `ops`. Needs the bytes only during
 * the call. Errors: OUT_OF_MEMORY; DATA_LOSS for bytes that are cut off or whose checksum is wrong; INVALID_DATA for
 * all else, with the node's number and op. The caller adds where the bytes came from. */
liana_status liana__graph_read(liana_context *context, const liana__op *const *ops, const void *bytes, size_t size,
                               liana_graph **graph, liana__error *error) LIANA_MUST_USE;

/* ---- for the writer and the reader ---- */

#define LIANA__GRAPH_FILE_MAGIC "LIANAGRF"

enum {
    LIANA__GRAPH_FILE_MAGIC_SIZE = 8,
    LIANA__GRAPH_FILE_CHECKED = 24, /* bytes of the header that its own checksum covers */
    LIANA__GRAPH_FILE_HEADER = 28,
};

/* Limits, so that reading hostile bytes takes time and memory in proportion to their number. */
enum {
    LIANA__GRAPH_FILE_MAX_TEXT = 4096,   /* bytes */
    LIANA__GRAPH_FILE_MAX_NAMES = 32768, /* inputs, variables, outputs and assignments, of each */
};

enum liana__graph_flags { LIANA__GRAPH_MIXED_PRECISION = 1 };
enum liana__node_flags { LIANA__NODE_KEEP_WIDE = 1, LIANA__NODE_RECOMPUTED = 2 };

/* How the value of an attribute is stored. */
typedef enum liana__attribute_type {
    LIANA__ATTRIBUTE_NONE,
    LIANA__ATTRIBUTE_BOOL,    /* u32 0 or 1 */
    LIANA__ATTRIBUTE_INT,     /* u64, two's complement */
    LIANA__ATTRIBUTE_FLOAT,   /* u64, the bits of an IEEE 754 double */
    LIANA__ATTRIBUTE_NAME,    /* text: of an ENUM */
    LIANA__ATTRIBUTE_PAIR,    /* two INTs */
    LIANA__ATTRIBUTE_INTS,    /* u32 count, INTs */
    LIANA__ATTRIBUTE_SECTION, /* attributes */
    LIANA__NUM_ATTRIBUTE_TYPES,
} liana__attribute_type;

/* ATTRIBUTE_NONE for kinds that no op has. */
static inline liana__attribute_type liana__attribute_type_of(liana_option_kind kind)
{
    switch (kind) {
    case LIANA__FIELD_BOOL: return LIANA__ATTRIBUTE_BOOL;
    case LIANA__FIELD_INT: return LIANA__ATTRIBUTE_INT;
    case LIANA__FIELD_FLOAT: return LIANA__ATTRIBUTE_FLOAT;
    case LIANA__FIELD_ENUM: return LIANA__ATTRIBUTE_NAME;
    case LIANA__FIELD_INT_PAIR: return LIANA__ATTRIBUTE_PAIR;
    case LIANA__FIELD_INTS: return LIANA__ATTRIBUTE_INTS;
    case LIANA__FIELD_SECTION: return LIANA__ATTRIBUTE_SECTION;
    default: return LIANA__ATTRIBUTE_NONE;
    }
}

#endif
