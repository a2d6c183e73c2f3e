/* The tile registers of AMX in plain C. */
#include "harness/emulated/emulated_tiles.h"

#include <float.h>
#include <math.h>
#include <string.h>

static _Thread_local struct {
    bool configured;
    amx_config config;
    unsigned char tiles[AMX_TILES][AMX_ROWS][AMX_ROW_BYTES];
    const char *fault;
} unit;

static bool require(bool holds, const char *fault)
{
    if (!holds && !unit.fault) unit.fault = fault;
    return holds;
}

const char *liana__emulated_fault(void)
{
    const char *fault = unit.fault;
    unit.fault = NULL;
    return fault;
}

bool liana__emulated_tiles_held(void)
{
    return unit.configured;
}

static bool config_is_valid(const amx_config *config)
{
    bool valid = require(config->palette == 1, "a palette other than 1") &&
                 require(config->start_row == 0, "a start row other than 0");
    for (int i = 0; i < 14; i++) valid = valid && require(config->reserved[i] == 0, "reserved bytes are set");
    for (int i = 0; i < 16 && valid; i++) {
        const int rows = config->rows[i], bytes = config->row_bytes[i];
        valid = require(i < AMX_TILES || (rows == 0 && bytes == 0), "a tile behind the last is configured") &&
                require(rows <= AMX_ROWS, "a tile of more than 16 rows") &&
                require(bytes <= AMX_ROW_BYTES, "a tile with rows of more than 64 bytes") &&
                require((rows == 0) == (bytes == 0), "a tile with rows of no bytes, or bytes in no rows");
    }
    return valid;
}

void amx_configure(const amx_config *config)
{
    if (!config_is_valid(config)) return;
    unit.configured = true;
    unit.config = *config;
    memset(unit.tiles, 0, sizeof unit.tiles);
}

void amx_release(void)
{
    unit.configured = false;
    unit.config = (amx_config){0};
    memset(unit.tiles, 0, sizeof unit.tiles);
}

static bool is_usable(int tile)
{
    return require(unit.configured, "tiles are used without a configuration") &&
           require(tile >= 0 && tile < AMX_TILES, "there is no such tile") &&
           require(unit.config.rows[tile] > 0, "a tile is used that is not configured");
}

void amx_zero(int tile)
{
    if (is_usable(tile)) memset(unit.tiles[tile], 0, sizeof unit.tiles[tile]);
}

void amx_load(int tile, const void *source, int64_t stride)
{
    if (!is_usable(tile)) return;
    memset(unit.tiles[tile], 0, sizeof unit.tiles[tile]);
    for (int row = 0; row < unit.config.rows[tile]; row++) {
        memcpy(unit.tiles[tile][row], (const char *)source + row * stride, unit.config.row_bytes[tile]);
    }
}

void amx_store(int tile, void *target, int64_t stride)
{
    if (!is_usable(tile)) return;
    for (int row = 0; row < unit.config.rows[tile]; row++) {
        memcpy((char *)target + row * stride, unit.tiles[tile][row], unit.config.row_bytes[tile]);
    }
}

/* Denormal numbers are zeros, as operands and as results. */
static float flush(float value)
{
    return fabsf(value) < FLT_MIN ? copysignf(0, value) : value;
}

static float bf16_at(int tile, int row, int element)
{
    uint16_t half;
    memcpy(&half, unit.tiles[tile][row] + 2 * element, sizeof half);
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return flush(value);
}

static bool shapes_match(int c, int a, int b)
{
    const uint16_t *bytes = unit.config.row_bytes;
    const uint8_t *rows = unit.config.rows;
    return is_usable(c) && is_usable(a) && is_usable(b) &&
           require(c != a && c != b && a != b, "a tile is two operands") &&
           require(bytes[c] % 4 == 0 && bytes[a] % 4 == 0 && bytes[b] % 4 == 0, "rows of half a word") &&
           require(rows[c] == rows[a], "sums and left operand differ in rows") &&
           require(bytes[c] == bytes[b], "sums and right operand differ in columns") &&
           require(bytes[a] / 4 == rows[b], "left operand and right operand differ in their depth");
}

/* Even and odd elements have sums of their own, from zero; then both, then the former value: each rounded to
 * nearest. */
void amx_dot(int c, int a, int b)
{
    if (!shapes_match(c, a, b)) return;
    for (int row = 0; row < unit.config.rows[c]; row++) {
        for (int column = 0; column < unit.config.row_bytes[c] / 4; column++) {
            float even = 0, odd = 0, sum;
            for (int k = 0; k < unit.config.row_bytes[a] / 4; k++) {
                even = flush(fmaf(bf16_at(a, row, 2 * k), bf16_at(b, k, 2 * column), even));
                odd = flush(fmaf(bf16_at(a, row, 2 * k + 1), bf16_at(b, k, 2 * column + 1), odd));
            }
            unsigned char *at = unit.tiles[c][row] + column * sizeof sum;
            memcpy(&sum, at, sizeof sum);
            sum = flush(flush(sum) + flush(even + odd));
            memcpy(at, &sum, sizeof sum);
        }
    }
}
