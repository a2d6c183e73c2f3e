/* Fuzzes what a server of devices does for a client: requests in any order, with anything in them. */
#include "harness/try/try_requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_requests(bytes, size);
    return 0;
}
