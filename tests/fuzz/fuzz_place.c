/* Fuzzes the search for a process's place in a cluster: the environment, TF_CONFIG, cluster.workers. */
#include "harness/try/try_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_place(bytes, size);
    return 0;
}
