/* emulated_tiles.h - the tile registers of AMX in plain C, so that kernels for them are tested on any processor.
 *
 * To be included before kernels/amx_tiles.h. Tiles, configuration and arithmetic are those of Intel's manual (Intel 64
 * and IA-32 Architectures Software Developer's Manual: LDTILECFG, TILELOADD, TILESTORED, TDPBF16PS). A fault of a
 * processor is remembered instead, and changes nothing. Each thread has its own. */
#ifndef LIANA_HARNESS_EMULATED_TILES_H
#define LIANA_HARNESS_EMULATED_TILES_H

#define LIANA_EMULATED_TILES
#include "kernels/amx_tiles.h"

#include <stdbool.h>

void amx_configure(const amx_config *config);
void amx_release(void);
void amx_zero(int tile);
void amx_load(int tile, const void *source, int64_t stride);
void amx_store(int tile, void *target, int64_t stride);
void amx_dot(int c, int a, int b);

/* The first fault since the last call, or NULL. */
const char *liana__emulated_fault(void);

/* Whether the tiles are configured. */
bool liana__emulated_tiles_held(void);

#endif
