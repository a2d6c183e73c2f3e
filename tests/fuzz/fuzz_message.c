/* Fuzzes the readers of messages between the processes of a training. */
#include "harness/try/try_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_message(bytes, size);
    return 0;
}
