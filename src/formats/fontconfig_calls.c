/* Loads libfontconfig. */
#include "formats/fontconfig_calls.h"

LIANA__LIBRARY_DEFINE(fontconfig, LIANA__FONTCONFIG_NAMES, LIANA_FONTCONFIG_FILE, "fonts other than the default need",
                      "libfontconfig1");

liana_status liana__fontconfig_load(liana__error *error)
{
    return liana__library_load(&liana__fontconfig_library.library, error);
}
