/* Fuzzes the readers of messages from other processes of a cluster: frames and greetings. */
#include "harness/try/try_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_frame(bytes, size);
    return 0;
}
