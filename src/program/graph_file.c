/* Graphs in files: one program exports them and another one runs them. */
#include "ir/graph_file.h"
#include "base/context.h"
#include "base/file.h"
#include "base/scoped.h"
#include "ops/ops.h"

#include <liana/program.h>

enum { SIZE_LIMIT = 1 << 30 };

static liana_status save_graph(const liana_graph *graph, const char *path)
{
    liana__error *error = &graph->context->error;
    LIANA__SCOPED_MEMORY uint8_t *bytes = NULL;
    size_t size;
    LIANA_TRY(liana__graph_write(graph, &bytes, &size, error));
    return liana__file_replace(path, bytes, size, error);
}

liana_status liana_graph_save(const liana_graph *graph, const char *path)
{
    LIANA__REQUIRE(NULL, graph);
    LIANA__REQUIRE(&graph->context->error, path);
    if (graph->status != LIANA_OK) return graph->status;
    LIANA__CONTEXT_CALL(graph->context, save_graph(graph, path));
}

static liana_status load_graph(liana_context *context, const char *path, liana_graph **graph)
{
    LIANA__SCOPED_MEMORY char *bytes = NULL;
    size_t size;
    LIANA_TRY(liana__file_read(path, SIZE_LIMIT, &bytes, &size, &context->error));
    const liana_status status = liana__graph_read(context, liana__ops, bytes, size, graph, &context->error);
    return status == LIANA_OK ? status : liana__fail_within(&context->error, "%s", path);
}

liana_status liana_graph_load(liana_context *context, const char *path, liana_graph **graph)
{
    LIANA__REQUIRE(liana__context_error(context), graph);
    *graph = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, path);
    LIANA__CONTEXT_CALL(context, load_graph(context, path, graph));
}
