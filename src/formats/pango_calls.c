/* Loads libpangocairo. */
#include "formats/pango_calls.h"

LIANA__LIBRARY_DEFINE(pango, LIANA__PANGO_NAMES, LIANA_PANGO_FILE, "text in pictures needs", "libpangocairo-1.0-0");

liana_status liana__pango_load(liana__error *error)
{
    return liana__library_load(&liana__pango_library.library, error);
}
