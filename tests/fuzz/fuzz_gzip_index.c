/* Fuzzes reading from the middle of gzip files. */
#include "harness/try/try_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_gzip_index(bytes, size);
    return 0;
}
