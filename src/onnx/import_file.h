/* import_file.h - an ONNX file as its messages. */
#ifndef LIANA_ONNX_IMPORT_FILE_H
#define LIANA_ONNX_IMPORT_FILE_H

#include "base/error.h"
#include "base/memory.h"
#include "formats/onnx.pb-c.h"

/* Unpacks a file that was read, with limits on depth and memory. The messages are in the arena. Errors: INVALID_DATA;
 * OUT_OF_MEMORY. */
liana_status liana__import_unpack(liana__arena *arena, const void *bytes, size_t size, const char *path,
                                  Liana__Onnx__Model **file, liana__error *error) LIANA_MUST_USE;

/* Reads and unpacks a file. Errors: also those of reading it. */
liana_status liana__import_open(liana__arena *arena, const char *path, Liana__Onnx__Model **file, liana__error *error)
    LIANA_MUST_USE;

#endif
