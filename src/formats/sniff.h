/* sniff.h - names the kind of a wrong file by its first bytes, for error messages. */
#ifndef LIANA_FORMATS_SNIFF_H
#define LIANA_FORMATS_SNIFF_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* As many bytes as it looks at, at most. */
enum { LIANA__SNIFF_BYTES = 1024 };

/* What is never read: a pickle is a program. */
#define LIANA__SNIFF_TORCH "a PyTorch file (pickle)"
#define LIANA__SNIFF_PICKLE "a pickle of Python"

/* The kind of thing that the first bytes look like: "a JPEG image", "an HDF5 file", "a web page (HTML)", "text", ...;
 * NULL if nothing known. Never reads beyond `size`. The string is static. */
const char *liana__sniff(const uint8_t *bytes, size_t size);

/* Fails with UNIMPLEMENTED if liana__sniff has named a pickle: says how to make weights of it. */
liana_status liana__refuse_pickle(const char *looks, const char *path, liana__error *error) LIANA_MUST_USE;

#endif
