/* image_calls.h - the functions of giflib, libwebp and libtiff, from libraries that are loaded when the first such
 * image is read (base/library.h). */
#ifndef LIANA_FORMATS_IMAGE_CALLS_H
#define LIANA_FORMATS_IMAGE_CALLS_H

#include "base/library.h"

#include <gif_lib.h>
#include <tiffio.h>
#include <webp/decode.h>

/* clang-format off */
#define LIANA__GIF_NAMES(X) \
    X(DGifCloseFile) X(DGifGetExtension) X(DGifGetExtensionNext) X(DGifGetImageDesc) X(DGifGetLine)   \
    X(DGifGetRecordType) X(DGifOpen) X(GifErrorString)
#define LIANA__WEBP_NAMES(X) X(WebPDecodeRGBInto) X(WebPGetFeaturesInternal)
#define LIANA__TIFF_NAMES(X) \
    X(TIFFClientOpenExt) X(TIFFClose) X(TIFFGetFieldDefaulted) X(TIFFOpenOptionsAlloc) X(TIFFOpenOptionsFree) \
    X(TIFFOpenOptionsSetErrorHandlerExtR) X(TIFFOpenOptionsSetMaxSingleMemAlloc)                              \
    X(TIFFOpenOptionsSetWarningHandlerExtR) X(TIFFRGBAImageBegin) X(TIFFRGBAImageEnd) X(TIFFRGBAImageGet)
/* clang-format on */

LIANA__LIBRARY_DECLARE(gif, LIANA__GIF_NAMES);
LIANA__LIBRARY_DECLARE(webp, LIANA__WEBP_NAMES);
LIANA__LIBRARY_DECLARE(tiff, LIANA__TIFF_NAMES);

#define DGifCloseFile liana__gif_library.DGifCloseFile
#define DGifGetExtension liana__gif_library.DGifGetExtension
#define DGifGetExtensionNext liana__gif_library.DGifGetExtensionNext
#define DGifGetImageDesc liana__gif_library.DGifGetImageDesc
#define DGifGetLine liana__gif_library.DGifGetLine
#define DGifGetRecordType liana__gif_library.DGifGetRecordType
#define DGifOpen liana__gif_library.DGifOpen
#define GifErrorString liana__gif_library.GifErrorString
#define WebPDecodeRGBInto liana__webp_library.WebPDecodeRGBInto
#define WebPGetFeaturesInternal liana__webp_library.WebPGetFeaturesInternal
#define TIFFClientOpenExt liana__tiff_library.TIFFClientOpenExt
#define TIFFClose liana__tiff_library.TIFFClose
#define TIFFGetFieldDefaulted liana__tiff_library.TIFFGetFieldDefaulted
#define TIFFOpenOptionsAlloc liana__tiff_library.TIFFOpenOptionsAlloc
#define TIFFOpenOptionsFree liana__tiff_library.TIFFOpenOptionsFree
#define TIFFOpenOptionsSetErrorHandlerExtR liana__tiff_library.TIFFOpenOptionsSetErrorHandlerExtR
#define TIFFOpenOptionsSetMaxSingleMemAlloc liana__tiff_library.TIFFOpenOptionsSetMaxSingleMemAlloc
#define TIFFOpenOptionsSetWarningHandlerExtR liana__tiff_library.TIFFOpenOptionsSetWarningHandlerExtR
#define TIFFRGBAImageBegin liana__tiff_library.TIFFRGBAImageBegin
#define TIFFRGBAImageEnd liana__tiff_library.TIFFRGBAImageEnd
#define TIFFRGBAImageGet liana__tiff_library.TIFFRGBAImageGet

#endif
