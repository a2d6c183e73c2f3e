/* Fuzzes the reader of tf.Example messages. */
#include "harness/try/try_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_example(bytes, size);
    return 0;
}
