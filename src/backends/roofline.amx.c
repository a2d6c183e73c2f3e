#include "backends/roofline.h"

#include <immintrin.h>
#include <string.h>

/* Six tiles of sums, and one of each operand: 16 rows of 64 bytes each. (Intel 64 and IA-32 Architectures Software
 * Developer's Manual, volume 1, chapter 18.) */
enum { TILES = 8, SUMS = 6, ROWS = 16, ROW_BYTES = 64 };

/* What LDTILECFG reads. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static float compute(int64_t rounds)
{
    tile_config config = {.palette = 1};
    for (int i = 0; i < TILES; i++) {
        config.row_bytes[i] = ROW_BYTES;
        config.rows[i] = ROWS;
    }
    uint16_t operand[ROWS * ROW_BYTES / 2];
    float result[ROWS * ROW_BYTES / 4];
    for (size_t i = 0; i < sizeof operand / sizeof *operand; i++) operand[i] = 0x3400; /* 2^-23 */
    memset(result, 0, sizeof result);
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_loadd(6, operand, ROW_BYTES);
    _tile_loadd(7, operand, ROW_BYTES);
    for (int64_t round = 0; round < rounds; round++) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    _tile_stored(0, result, ROW_BYTES);
    _tile_release();
    return result[0];
}

/* A product of tiles: 16 x 16 sums of 32 products. */
const liana__roofline_products liana__roofline_amx = {.compute = compute, .flops_per_round = 2.0 * SUMS * 16 * 16 * 32};
