/* Fuzzes the reader of CSV files. */
#include "harness/try/try_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_csv(bytes, size);
    return 0;
}
