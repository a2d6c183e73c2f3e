/* Loads libcairo. */
#include "formats/cairo_calls.h"

LIANA__LIBRARY_DEFINE(cairo, LIANA__CAIRO_NAMES, LIANA_CAIRO_FILE, "pictures need", "libcairo2");

liana_status liana__cairo_load(liana__error *error)
{
    return liana__library_load(&liana__cairo_library.library, error);
}
