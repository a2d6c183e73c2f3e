/* Writes a graph as text, as dot and as StableHLO. */
#include "backends/dump.h"

#include "base/context.h"
#include "base/file.h"
#include "stablehlo/module.h"

#include <stdio.h>
#include <stdlib.h>

/* With the lines of the source. A graph that no accelerator could run can still be looked at in the other forms. */
static char *stablehlo_text(const liana_graph *graph, const char *name)
{
    char *text = NULL;
    liana__error error = {0};
    const liana__stablehlo_options options = {.name = name, .locations = true};
    if (liana__stablehlo_print(graph, &options, &text, &error) == LIANA_OK) return text;
    liana__text reason = {0};
    liana__text_add(&reason, "// %s\n", error.message);
    return reason.data;
}

liana_status liana__dump_text(const liana_context *context, const char *name, const char *text, liana__error *error)
{
    char path[4096];
    const char *folder = context->dump_folder;
    if (!folder) return LIANA_OK;
    LIANA_TRY(liana__folder_make(folder, error));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return liana__file_replace(path, text, strlen(text), error);
}

liana_status liana__dump_graph(const liana_graph *graph, const char *name, liana__error *error)
{
    const char *folder = graph->context->dump_folder;
    if (!folder) return LIANA_OK;
    LIANA_TRY(liana__folder_make(folder, error));
    static const char *const endings[] = {"txt", "dot", "mlir"};
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.%s", folder, name, endings[i]);
        char *text = i == 0 ? liana_graph_text(graph) : i == 1 ? liana_graph_dot(graph) : stablehlo_text(graph, name);
        if (!text) return liana__fail_memory(error, path);
        liana_status status = liana__file_replace(path, text, strlen(text), error);
        free(text);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}
