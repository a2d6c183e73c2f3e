/* Serialised graphs: as they are, and with header and checksums put right. */
#include "harness/try/try_graph.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEADER = 28, VERSION = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_graph(bytes, size);
    if (size < HEADER) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) abort();
    memcpy(copy, bytes, size);
    copy[VERSION] = 1;
    memset(copy + VERSION + 1, 0, 3);
    liana__try_graph_repaired(copy, size);
    free(copy);
    return 0;
}
