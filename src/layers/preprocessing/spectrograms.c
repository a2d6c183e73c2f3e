/* Windows in Keras's files. */
#include "layers/preprocessing/spectrograms.h"

void liana__move_window(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *window = liana__value_get(config, "window");
    if (!window || window->kind != LIANA__VALUE_LIST) return;
    liana__value_remove(options, "window");
    liana__value_set(arena, options, "window_values", liana__value_copy(arena, window));
}

void liana__write_window(liana__arena *arena, const liana_floats *values, liana__value *config)
{
    liana__value_remove(config, "window_values");
    liana__value *list = values->count ? liana__value_list(arena) : NULL;
    for (size_t i = 0; list && i < values->count; i++) {
        liana__value_add(arena, list, liana__value_float(arena, values->items[i]));
    }
    if (list) liana__value_set(arena, config, "window", list);
}
