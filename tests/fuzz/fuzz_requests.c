/* Fuzzes a server of devices with one client: requests in any order, with anything in them. */
#include "harness/try/try_requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_requests(bytes, size);
    return 0;
}
