/* Writes a graph as text and as dot. */
#include "backends/dump.h"

#include "base/context.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

liana_status liana__dump_graph(const liana_graph *graph, const char *name, liana__error *error)
{
    const char *folder = graph->context->dump_folder;
    if (!folder) return LIANA_OK;
    LIANA_TRY(liana__folder_make(folder, error));
    static const char *const endings[] = {"txt", "dot"};
    for (int i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.%s", folder, name, endings[i]);
        char *text = i ? liana_graph_dot(graph) : liana_graph_text(graph);
        if (!text) return liana__fail_memory(error, path);
        liana_status status = liana__file_replace(path, text, strlen(text), error);
        free(text);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}
