/* draws.h - the random numbers of layers. */
#ifndef LIANA_LAYERS_DRAWS_H
#define LIANA_LAYERS_DRAWS_H

#include "layers/model.h"
#include "layers/option_rows.h"

/* What ops that draw are given. */
typedef struct liana__layer_key {
    uint64_t seed;
    uint32_t salt;
} liana__layer_key;

/* The run's seed and the layer; or a seed of the layer's own (0 or more) instead of both. Each call of a layer draws
 * other numbers. */
static inline liana__layer_key liana__layer_draws(const liana_layer_call *call, int64_t seed)
{
    if (seed < 0) return (liana__layer_key){call->seed, call->salt};
    return (liana__layer_key){(uint64_t)seed, call->salt / LIANA__MOST_LAYERS * LIANA__MOST_LAYERS};
}

#define LIANA__SEED_ROW(type)                                                                 \
    LIANA_OPTION_ROW(type, seed, INT, .default_text = "-1", .minimum = -1, .maximum = 0x1p53, \
                     .doc = "of the layer's draws, in place of the run's seed and the layer; -1: none")

/* Keras writes null for no seed. */
static inline void liana__seed_to_keras(liana__arena *arena, int64_t seed, liana__value *config)
{
    if (seed < 0) liana__value_set(arena, config, "seed", liana__value_null(arena));
}

#endif
