/* Fuzzes the reader of TensorFlow's checkpoints. */
#include "harness/try/try_tensorflow.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_tf_checkpoint(bytes, size);
    return 0;
}
