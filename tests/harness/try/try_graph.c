/* Reads a graph from bytes, runs it and writes it again. */
#include "harness/try/try_graph.h"

#include "backends/backend.h"
#include "base/context.h"
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "ir/body.h"
#include "ir/graph_file.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool condition)
{
    if (!condition) abort();
}

static liana_context *context;
static liana__device *devices[2];

static void open_once(void)
{
    static const char *const names[] = {"reference", "cpu"};
    if (context) return;
    demand(liana_context_create(&(liana_context_options){.num_threads = 1}, &context) == LIANA_OK);
    for (int i = 0; i < 2; i++) {
        liana__error error = {0};
        demand(liana__device_open(context, names[i], &devices[i], &error) == LIANA_OK);
    }
}

/* How often the bodies of a node run at most: as many steps as an attribute says; a loop without a limit for ever. */
static double count_runs(const liana_graph *graph, const liana__node *node)
{
    const liana_tensor tensor = liana__node_tensor(graph, node);
    liana_attribute steps;
    if (liana_tensor_find_attribute(tensor, "steps", &steps)) return (double)steps.integer;
    if (!liana_tensor_find_attribute(tensor, "most_steps", &steps)) return 1;
    return steps.integer ? (double)steps.integer : 1e300;
}

/* Of all nodes, in operations and bytes. */
static double count_work(const liana_graph *graph)
{
    double work = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        const liana__cost cost = liana__node_cost(node);
        work += cost.flops + cost.bytes + (double)liana__byte_size(node->dtype, &node->shape);
        /* The inputs that an op reads and its cost does not count. */
        for (uint32_t i = 0; i < node->num_inputs; i++) work += (double)liana_shape_size(&node->inputs[i]->shape);
        for (size_t i = 0; i < node->op->num_bodies; i++) {
            work += count_runs(graph, node) * (100 + count_work(liana__node_body(node, i)));
        }
    }
    return work;
}

bool liana__graph_is_small(const liana_graph *graph)
{
    enum { MOST = 1 << 20, MOST_NODES = 200 };
    return graph->num_nodes <= MOST_NODES && count_work(graph) <= MOST;
}

/* Bytes of all kinds: indices out of range, NaNs, zeros. */
static liana__buffer *make_buffer(liana__device *device, const liana__node *node)
{
    liana__error error = {0};
    liana__buffer *buffer = NULL;
    size_t size = liana__byte_size(node->dtype, &node->shape);
    uint8_t *data = malloc(size + 1);
    demand(data != NULL);
    uint32_t random = node->id;
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        bool is_bool = node->dtype == LIANA_BOOL;
        data[i] = is_bool ? random >> 31 : random >> 30 ? (uint8_t)(random >> 22) : 0;
    }
    demand(device->backend->upload(device, node->dtype, &node->shape, data, &buffer, NULL, &error) == LIANA_OK);
    free(data);
    return buffer;
}

static liana__buffer **make_buffers(liana__device *device, liana__node *const *nodes, size_t count)
{
    liana__buffer **buffers = calloc(count + 1, sizeof *buffers);
    demand(buffers != NULL);
    for (size_t i = 0; i < count; i++) buffers[i] = make_buffer(device, nodes[i]);
    return buffers;
}

static void free_buffers(liana__buffer **buffers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (buffers[i]) buffers[i]->device->backend->buffer_destroy(buffers[i]);
    }
    free(buffers);
}

static void run(liana__device *device, const liana_graph *graph)
{
    const liana__backend *backend = device->backend;
    liana__error error = {0};
    liana__executable *executable;
    if (backend->compile(device, graph, &executable, &error) != LIANA_OK) {
        demand(error.message[0]);
        return;
    }
    liana__buffer **inputs = make_buffers(device, graph->inputs, graph->num_inputs),
                  **variables = make_buffers(device, graph->variables, graph->num_variables),
                  **outputs = calloc(graph->num_outputs + 1, sizeof *outputs);
    demand(outputs != NULL);
    liana__execution execution = {.name = "a graph from a file",
                                  .inputs = inputs,
                                  .variables = variables,
                                  .outputs = outputs};
    demand(backend->execute(executable, &execution, &error) == LIANA_OK || error.message[0]);
    free_buffers(inputs, graph->num_inputs);
    free_buffers(variables, graph->num_variables);
    free_buffers(outputs, graph->num_outputs);
    backend->executable_destroy(executable);
}

/* Once more through bytes, to the same bytes. */
static void demand_round_trip(const liana_graph *graph)
{
    liana__error error = {0};
    uint8_t *bytes, *again;
    size_t size, size_again;
    liana_graph *copy;
    demand(liana__graph_write(graph, &bytes, &size, &error) == LIANA_OK);
    demand(liana__graph_read(context, liana__ops, bytes, size, &copy, &error) == LIANA_OK);
    demand(liana__graph_write(copy, &again, &size_again, &error) == LIANA_OK);
    demand(size == size_again && memcmp(bytes, again, size) == 0);
    liana_graph_destroy(copy);
    free(bytes);
    free(again);
}

bool liana__try_graph(const uint8_t *bytes, size_t size)
{
    open_once();
    liana__error error = {0};
    liana_graph *graph;
    liana_status status = liana__graph_read(context, liana__ops, bytes, size, &graph, &error);
    if (status != LIANA_OK) {
        demand(!graph && error.status == status && error.message[0]);
        demand(status == LIANA_DATA_LOSS || status == LIANA_INVALID_DATA);
        return false;
    }
    demand(liana__graph_verify(graph, &error) == LIANA_OK);
    demand_round_trip(graph);
    for (int i = 0; i < 2 && liana__graph_is_small(graph); i++) run(devices[i], graph);
    liana_graph_destroy(graph);
    return true;
}

void liana__repair_graph(uint8_t *bytes, size_t size)
{
    memcpy(bytes, LIANA__GRAPH_FILE_MAGIC, LIANA__GRAPH_FILE_MAGIC_SIZE);
    liana__store_u32(bytes + 12, liana__crc32c(bytes + LIANA__GRAPH_FILE_HEADER, size - LIANA__GRAPH_FILE_HEADER));
    liana__store_u64(bytes + 16, size - LIANA__GRAPH_FILE_HEADER);
    liana__store_u32(bytes + LIANA__GRAPH_FILE_CHECKED, liana__crc32c(bytes, LIANA__GRAPH_FILE_CHECKED));
}

bool liana__try_graph_repaired(const uint8_t *bytes, size_t size)
{
    if (size < LIANA__GRAPH_FILE_HEADER) return liana__try_graph(bytes, size);
    uint8_t *copy = malloc(size); /* of just its size, for a sanitizer to see a read behind it */
    demand(copy != NULL);
    memcpy(copy, bytes, size);
    liana__repair_graph(copy, size);
    bool accepted = liana__try_graph(copy, size);
    free(copy);
    return accepted;
}
