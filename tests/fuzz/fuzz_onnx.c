/* Fuzzes the reader of ONNX files. */
#include "harness/try/try_onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    (void)liana__try_onnx(bytes, size);
    return 0;
}
