/* try_onnx.h - feeds any bytes to the reader of ONNX files. */
#ifndef LIANA_TESTS_TRY_ONNX_H
#define LIANA_TESTS_TRY_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the bytes are a model. Aborts if the reader breaks a promise: a refusal names the file, a model is whole, has
 * values, and has the same layers when it is read without values. */
bool liana__try_onnx(const uint8_t *bytes, size_t size);

#endif
