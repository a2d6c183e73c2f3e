/* The sizes of architectures, for `liana list models`. */
#include "base/context_plugins.h"
#include "base/scoped.h"
#include "cli/list/list.h"
#include "models/models.h"

#include <liana/architectures.h>
#include <stdio.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

/* 25636712 -> "25,636,712". */
static const char *with_commas(int64_t count, liana__arena *arena)
{
    char digits[32], text[48];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = 0;
    return liana__arena_string(arena, text);
}

static const liana__value *size_facts(const liana_shape *shape, const liana_architecture_size *size,
                                      liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *dims = liana__value_list(arena);
    for (int i = 0; i < shape->rank; i++) liana__value_add(arena, dims, liana__value_int(arena, shape->dims[i]));
    liana__value_set(arena, map, "input_shape", dims);
    liana__value_set(arena, map, "parameters", liana__value_int(arena, size->num_parameters));
    liana__value_set(arena, map, "trainable_parameters", liana__value_int(arena, size->num_trainable_parameters));
    liana__value_set(arena, map, "flops", liana__value_int(arena, (int64_t)size->flops));
    return map;
}

const char *const liana__size_columns[] = {"input", "parameters", "GFLOP", NULL};

static liana_status measure_architecture(liana__invocation *invocation, liana_context *context, size_t index,
                                         liana__list_item *item)
{
    liana__arena *arena = &invocation->arena;
    const liana_shape shape = liana_architecture_at(index).input_shape;
    liana_architecture_size size;
    const liana_status status = liana_architecture_measure(context, item->name, &size);
    if (status != LIANA_OK) {
        invocation->error = context->error;
        return status;
    }
    const char **cells = liana__arena_allocate(arena, sizeof liana__size_columns);
    if (!cells) return liana__fail_memory(&invocation->error, "the list");
    cells[0] = liana__arena_format(arena, "%lld x %lld x %lld", (long long)shape.dims[0], (long long)shape.dims[1],
                                   (long long)shape.dims[2]);
    cells[1] = with_commas(size.num_parameters, arena);
    cells[2] = liana__arena_format(arena, "%.2f", 1e-9 * size.flops);
    item->cells = cells;
    item->facts = size_facts(&shape, &size, arena);
    return arena->failed ? liana__fail_memory(&invocation->error, "the list") : LIANA_OK;
}

liana_status liana__list_measure_architectures(liana__invocation *invocation, liana__list_items *list)
{
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) {
        return liana__fail_memory(&invocation->error, "a context");
    }
    for (size_t i = 0, place = 0; liana__architectures[i]; i++) {
        if (place == list->count || strcmp(liana__architectures[i]->name, list->items[place].name) != 0) continue;
        LIANA_TRY(measure_architecture(invocation, context, i, &list->items[place++]));
    }
    return LIANA_OK;
}
