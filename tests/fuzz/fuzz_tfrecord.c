/* Fuzzes the reader of TFRecord files. */
#include "harness/try/try_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_tfrecord(bytes, size);
    liana__try_tfrecord_repaired(bytes, size);
    return 0;
}
