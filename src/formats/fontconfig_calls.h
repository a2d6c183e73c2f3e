/* fontconfig_calls.h - libfontconfig's functions, from the library that liana__fontconfig_load loads
 * (base/library.h). */
#ifndef LIANA_FORMATS_FONTCONFIG_CALLS_H
#define LIANA_FORMATS_FONTCONFIG_CALLS_H

#include "base/library.h"

#include <fontconfig/fontconfig.h>

/* clang-format off */
#define LIANA__FONTCONFIG_NAMES(X) \
    X(FcCharSetAddChar) X(FcCharSetCreate) X(FcCharSetDestroy) X(FcCharSetHasChar) X(FcConfigSubstitute)        \
    X(FcDefaultSubstitute) X(FcFontMatch) X(FcPatternAddCharSet) X(FcPatternAddString) X(FcPatternCreate)       \
    X(FcPatternDestroy) X(FcPatternGetCharSet) X(FcPatternGetString)
/* clang-format on */

LIANA__LIBRARY_DECLARE(fontconfig, LIANA__FONTCONFIG_NAMES);

#define FcCharSetAddChar liana__fontconfig_library.FcCharSetAddChar
#define FcCharSetCreate liana__fontconfig_library.FcCharSetCreate
#define FcCharSetDestroy liana__fontconfig_library.FcCharSetDestroy
#define FcCharSetHasChar liana__fontconfig_library.FcCharSetHasChar
#define FcConfigSubstitute liana__fontconfig_library.FcConfigSubstitute
#define FcDefaultSubstitute liana__fontconfig_library.FcDefaultSubstitute
#define FcFontMatch liana__fontconfig_library.FcFontMatch
#define FcPatternAddCharSet liana__fontconfig_library.FcPatternAddCharSet
#define FcPatternAddString liana__fontconfig_library.FcPatternAddString
#define FcPatternCreate liana__fontconfig_library.FcPatternCreate
#define FcPatternDestroy liana__fontconfig_library.FcPatternDestroy
#define FcPatternGetCharSet liana__fontconfig_library.FcPatternGetCharSet
#define FcPatternGetString liana__fontconfig_library.FcPatternGetString

/* Loads the library. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__fontconfig_load(liana__error *error) LIANA_MUST_USE;

#endif
