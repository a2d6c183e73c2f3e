/* Reads the text that names an optimizer. */
#include "program/optimizer_text.h"

#include "formats/yaml.h"

#include <string.h>

liana_status liana__optimizer_text_read(const char *text, liana__arena *arena, liana__value **map, liana__error *error)
{
    liana__value *value;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "optimizer", arena, &value, error));
    *map = value;
    if (value->kind != LIANA__VALUE_STRING) return LIANA_OK;
    *map = liana__value_map(arena);
    liana__value_set(arena, *map, "name", value);
    return *map && !arena->failed ? LIANA_OK : liana__fail_memory(error, "the optimizer");
}
