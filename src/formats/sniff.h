/* sniff.h - names the kind of a wrong file by its first bytes, for error messages. */
#ifndef LIANA_FORMATS_SNIFF_H
#define LIANA_FORMATS_SNIFF_H

#include <stddef.h>
#include <stdint.h>

/* As many bytes as it looks at, at most. */
enum { LIANA__SNIFF_BYTES = 1024 };

/* The kind of thing that the first bytes look like: "a JPEG image", "an HDF5 file", "a web page (HTML)", "text", ...;
 * NULL if nothing known. Never reads beyond `size`. The string is static. */
const char *liana__sniff(const uint8_t *bytes, size_t size);

#endif
