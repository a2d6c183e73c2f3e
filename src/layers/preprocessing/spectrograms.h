/* spectrograms.h - the common code of layers that make spectrograms. */
#ifndef LIANA_LAYERS_SPECTROGRAMS_H
#define LIANA_LAYERS_SPECTROGRAMS_H

#include "base/value.h"

#include <liana/options.h>

/* Keras's "window" may be a list of numbers; in liana's tables that is "window_values". */
void liana__move_window(liana__arena *arena, const liana__value *config, liana__value *options);
void liana__write_window(liana__arena *arena, const liana_floats *values, liana__value *config);

#endif
