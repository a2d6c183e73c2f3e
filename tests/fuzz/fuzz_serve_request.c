/* Fuzzes the reader of requests for predictions: JSON and forms. */
#include "harness/try/try_serve_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_serve_request(bytes, size);
    return 0;
}
