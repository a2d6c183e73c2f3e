/* Names the kind of file that begins with some bytes. */
#include "formats/sniff.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

typedef struct signature {
    size_t offset;
    size_t length;
    const char *bytes;
    const char *what;
} signature;

#define SIGNATURE(offset, bytes, what)         \
    {                                          \
        offset, sizeof(bytes) - 1, bytes, what \
    }

static const signature signatures[] = {
    SIGNATURE(0, "\xff\xd8\xff", "a JPEG image"),
    SIGNATURE(0, "\x89PNG\r\n\x1a\n", "a PNG image"),
    SIGNATURE(0, "GIF8", "a GIF image"),
    SIGNATURE(8, "WEBP", "a WebP image"),
    SIGNATURE(0, "II*\0", "a TIFF image"),
    SIGNATURE(0, "MM\0*", "a TIFF image"),
    SIGNATURE(4, "ftypavif", "an AVIF image"),
    SIGNATURE(4, "ftypheic", "an HEIC image"),
    SIGNATURE(4, "ftypmif1", "an HEIF image"),
    SIGNATURE(4, "ftypheix", "an HEIC image"),
    SIGNATURE(0, "\xff\x0a", "a JPEG XL image"),
    SIGNATURE(0, "\0\0\0\x0cJXL ", "a JPEG XL image"),
    SIGNATURE(0, "\0\0\0\x0cjP  ", "a JPEG 2000 image"),
    SIGNATURE(0, "8BPS", "a Photoshop image"),
    SIGNATURE(0, "\0\0\1\0", "an icon"),
    SIGNATURE(0, "\x89HDF\r\n\x1a\n", "an HDF5 file"),
    SIGNATURE(0, "\x1f\x8b", "a gzip file"),
    SIGNATURE(0, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", LIANA__SNIFF_TORCH),
    SIGNATURE(0, "PK\x03\x04", "a zip archive"),
    SIGNATURE(0,
              "\xfd"
              "7zXZ",
              "an xz file"),
    SIGNATURE(0, "\x28\xb5\x2f\xfd", "a Zstandard file"),
    SIGNATURE(0, "BZh", "a bzip2 file"),
    SIGNATURE(257, "ustar", "a tar archive"),
    SIGNATURE(0, "\0\0\x08", "an IDX file"),
    SIGNATURE(0, "\x93NUMPY", "a NumPy array"),
    SIGNATURE(0, "%PDF", "a PDF file"),
    SIGNATURE(0, "version https://git-lfs", "a Git LFS pointer (run 'git lfs pull' to get the real file)"),
};

/* safetensors: the length of a JSON header as a 64-bit number, then the header. */
static bool looks_like_safetensors(const uint8_t *bytes, size_t size)
{
    return size > 9 && bytes[5] == 0 && bytes[6] == 0 && bytes[7] == 0 && bytes[8] == '{' && bytes[9] == '"';
}

/* PyTorch's files are zip archives whose first member is the pickle of the others. */
static bool looks_like_torch_zip(const uint8_t *bytes, size_t size)
{
    enum { NAME_SIZE = 26, NAME = 30 };
    static const char magic[4] = {'P', 'K', 3, 4}, pickle[] = "/data.pkl";
    const size_t length = sizeof pickle - 1;
    if (size < NAME || memcmp(bytes, magic, sizeof magic) != 0) return false;
    const size_t name = bytes[NAME_SIZE] | (size_t)bytes[NAME_SIZE + 1] << 8;
    return name >= length && name <= size - NAME && memcmp(bytes + NAME + name - length, pickle, length) == 0;
}

/* Python's pickles of protocols 2 to 5 begin with the number of the protocol, and end with '.'; what follows the number
 * is a frame, or begins a list, a map, a tuple or a class. */
static bool looks_like_pickle(const uint8_t *bytes, size_t size)
{
    return size > 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5 && bytes[2] &&
           strchr("\x95]}(c\x8c", bytes[2]);
}

static bool looks_like_zlib(const uint8_t *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x78 && (bytes[0] * 256 + bytes[1]) % 31 == 0;
}

static bool starts_without_case(const uint8_t *bytes, size_t size, const char *text)
{
    size_t length = strlen(text);
    return size >= length && strncasecmp((const char *)bytes, text, length) == 0;
}

static const char *sniff_text(const uint8_t *bytes, size_t size)
{
    size_t start = 0;
    while (start < size && start < 512 && strchr(" \t\r\n", bytes[start]) && bytes[start]) start++;
    const uint8_t *first = bytes + start;
    size_t rest = size - start;
    if (starts_without_case(first, rest, "<!doctype html") || starts_without_case(first, rest, "<html")) {
        return "a web page (HTML)";
    }
    if (starts_without_case(first, rest, "<?xml")) return "an XML file";
    size_t length = size < 512 ? size : 512;
    for (size_t i = 0; i < length; i++) {
        bool space = bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r';
        if ((bytes[i] < 0x20 && !space) || bytes[i] == 0x7f) return NULL;
    }
    if (length == 0) return NULL;
    return rest > 0 && (first[0] == '{' || first[0] == '[') ? "a JSON file" : "text";
}

const char *liana__sniff(const uint8_t *bytes, size_t size)
{
    if (size == 0) return NULL;
    if (looks_like_torch_zip(bytes, size)) return LIANA__SNIFF_TORCH;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *candidate = &signatures[i];
        if (size < candidate->offset + candidate->length) continue;
        if (memcmp(bytes + candidate->offset, candidate->bytes, candidate->length) == 0) return candidate->what;
    }
    if (looks_like_pickle(bytes, size)) return LIANA__SNIFF_PICKLE;
    if (looks_like_safetensors(bytes, size)) return "a safetensors file";
    const char *text = sniff_text(bytes, size);
    if (text) return text;
    return looks_like_zlib(bytes, size) ? "a zlib stream" : NULL;
}

liana_status liana__refuse_pickle(const char *looks, const char *path, liana__error *error)
{
    if (!looks || (strcmp(looks, LIANA__SNIFF_TORCH) != 0 && strcmp(looks, LIANA__SNIFF_PICKLE) != 0)) return LIANA_OK;
    const char *dot = strrchr(path, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - path) : strlen(path));
    return liana__fail(
        error, LIANA_UNIMPLEMENTED,
        "'%s' is %s, which can run any program when it is read, so it is not read; save it as "
        "safetensors, in Python: import torch, safetensors.torch; state = torch.load('%s', "
        "map_location='cpu', weights_only=True); safetensors.torch.save_file({k: v.contiguous().clone() for k, "
        "v in state.items()}, '%.*s.safetensors')",
        path, looks, path, stem, path);
}
