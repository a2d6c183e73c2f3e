/* The libraries of the rarer kinds of images. */
#include "formats/image_calls.h"

LIANA__LIBRARY_DEFINE(gif, LIANA__GIF_NAMES, LIANA_GIF_FILE, "GIF images need", "libgif7");
LIANA__LIBRARY_DEFINE(webp, LIANA__WEBP_NAMES, LIANA_WEBP_FILE, "WebP images need", "libwebp7");
LIANA__LIBRARY_DEFINE(tiff, LIANA__TIFF_NAMES, LIANA_TIFF_FILE, "TIFF images need", "libtiff6");
