/* Fuzzes the messages of the processes of a cluster in collective operations, and about deaths and rounds. */
#include "harness/try/try_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_cluster(bytes, size);
    return 0;
}
