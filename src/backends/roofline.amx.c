/* The loops of roofline for AMX. */
#include "backends/roofline.h"

#include "kernels/amx_tiles.h"

#include <string.h>

/* Tiles of sums; two more are the operands. */
enum { SUMS = 6 };

static float compute(int64_t rounds)
{
    amx_config config = {.palette = 1};
    for (int i = 0; i < AMX_TILES; i++) {
        config.row_bytes[i] = AMX_ROW_BYTES;
        config.rows[i] = AMX_ROWS;
    }
    uint16_t operand[AMX_TILE_BYTES / sizeof(uint16_t)];
    float result[AMX_TILE_BYTES / sizeof(float)];
    for (size_t i = 0; i < sizeof operand / sizeof *operand; i++) operand[i] = 0x3400; /* 2^-23 */
    memset(result, 0, sizeof result);
    amx_configure(&config);
    amx_zero(0);
    amx_zero(1);
    amx_zero(2);
    amx_zero(3);
    amx_zero(4);
    amx_zero(5);
    amx_load(6, operand, AMX_ROW_BYTES);
    amx_load(7, operand, AMX_ROW_BYTES);
    for (int64_t round = 0; round < rounds; round++) {
        amx_dot(0, 6, 7);
        amx_dot(1, 6, 7);
        amx_dot(2, 6, 7);
        amx_dot(3, 6, 7);
        amx_dot(4, 6, 7);
        amx_dot(5, 6, 7);
    }
    amx_store(0, result, AMX_ROW_BYTES);
    amx_release();
    return result[0];
}

/* A product of tiles: 16 x 16 sums of 32 products. */
const liana__roofline_products liana__roofline_amx = {.compute = compute, .flops_per_round = 2.0 * SUMS * 16 * 16 * 32};
