/* amx_tiles.h - the tile registers of AMX: everything that a kernel may do with them.
 *
 * Tiles are numbered by constants: 0 to 3 hold sums, 4 and 5 operands on the left, 6 and 7 operands on the right. A
 * tile is up to 16 rows of up to 64 bytes. amx_configure sets how many of each, and must come before everything else.
 *
 * The tiles belong to a thread. A thread that configures them releases them before it returns. So others (oneDNN) find
 * them as they expect, and switching to another thread does not save 8 KiB.
 *
 * amx_dot(c, a, b) adds A B to C. Rows of A are pairs of bf16 along the sum; row k of B is the pairs 2k, 2k + 1 of each
 * column (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18, and TDPBF16PS in volume
 * 2).
 *
 * A file that defines LIANA_EMULATED_TILES provides functions of the same names; tests do so, for processors without
 * AMX. */
#ifndef LIANA_KERNELS_AMX_TILES_H
#define LIANA_KERNELS_AMX_TILES_H

#include <stdint.h>

enum { AMX_TILES = 8, AMX_ROWS = 16, AMX_ROW_BYTES = 64, AMX_TILE_BYTES = AMX_ROWS * AMX_ROW_BYTES };

/* The configuration that LDTILECFG reads: for each tile its rows and the bytes of a row, both 0 for an unused tile. */
typedef struct amx_config {
    uint8_t palette; /* 1 */
    uint8_t start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_config;

#if !defined(LIANA_EMULATED_TILES)
#include <immintrin.h>

/* For GCC 12 these instructions read no memory (or 8 bytes of a configuration), so stores for them could come late or
 * never; this prevents it. Strides are in bytes. */
#define AMX_SEES_MEMORY(address) __asm__ volatile("" : : "r"(address) : "memory")

static inline void amx_configure(const amx_config *config)
{
    AMX_SEES_MEMORY(config);
    _tile_loadconfig(config);
}

#define amx_release() _tile_release()
#define amx_zero(tile) _tile_zero(tile)
#define amx_load(tile, source, stride)     \
    do {                                   \
        AMX_SEES_MEMORY(source);           \
        _tile_loadd(tile, source, stride); \
    } while (0)
#define amx_store(tile, target, stride) _tile_stored(tile, target, stride)
#define amx_dot(c, a, b) _tile_dpbf16ps(c, a, b)
#endif

#endif
