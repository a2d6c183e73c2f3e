/* Fuzzes the readers of Keras's architectures and compile settings. */
#include "harness/try/try_keras.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_keras(bytes, size);
    return 0;
}
