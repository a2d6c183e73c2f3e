/* What augmentation does not do in a browser: it reads no files, and has no JPEGs. The functions of base/file.h and
 * formats/image.h that its code can reach, and that a page never calls. */
#include "base/error.h"
#include "base/file.h"
#include "formats/image.h"

char *liana__path_folder(liana__arena *arena, const char *path)
{
    return liana__arena_string(arena, path);
}

char *liana__path_join(liana__arena *arena, const char *folder, const char *name)
{
    (void)folder;
    return liana__arena_string(arena, name);
}

liana_status liana__jpeg_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, int quality,
                                liana__text *out, liana__error *error)
{
    (void)pixels;
    (void)height;
    (void)width;
    (void)channels;
    (void)quality;
    (void)out;
    return liana__fail(error, LIANA_UNIMPLEMENTED, "JPEG compression is not part of a page");
}

liana_status liana__image_decode(const void *bytes, size_t size, const liana__image_options *options,
                                 liana__image *image, liana__error *error)
{
    (void)bytes;
    (void)size;
    (void)options;
    (void)image;
    return liana__fail(error, LIANA_UNIMPLEMENTED, "images are not decoded on a page");
}

void liana__image_free(liana__image *image)
{
    (void)image;
}
