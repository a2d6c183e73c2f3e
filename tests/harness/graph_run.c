/* Runs a graph on a device with host data. */
#include "harness/harness.h"

#include "harness/graph_run.h"

#include "backends/cpu/cpu.h"
#include "base/random.h"
#include "ops/samples.h"

#include <math.h>
#include <stdlib.h>

int liana__test_open_devices(int num_threads, liana_context **context, liana__device **cpu, liana__device **reference)
{
    if (liana_context_create(&(liana_context_options){.num_threads = num_threads}, context) != LIANA_OK) return -1;
    liana__error *error = &(*context)->error;
    if (cpu && liana__device_open(*context, "cpu", cpu, error) != LIANA_OK) return -1;
    return reference && liana__device_open(*context, "reference", reference, error) != LIANA_OK ? -1 : 0;
}

int liana__test_close_devices(liana_context *context, liana__device *cpu, liana__device *reference)
{
    if (cpu) liana__device_close(cpu);
    if (reference) liana__device_close(reference);
    liana_context_destroy(context);
    return 0;
}

liana_graph *liana__test_new_graph(liana_context *context)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

/* The range travels in the input's name: "x in [-2, 2]". */
liana_tensor liana__sample_input(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape, double low,
                                 double high)
{
    char ranged[128];
    snprintf(ranged, sizeof ranged, "%s in [%.17g, %.17g]", name, low, high);
    return liana_graph_input(graph, ranged, dtype, shape);
}

liana_tensor liana__sample_given(liana_graph *graph, liana_dtype dtype, const liana__sample_values *values)
{
    return liana__sample_input(graph, values->name, values->dtype == LIANA_F32 ? dtype : values->dtype, values->shape,
                               values->low, values->high);
}

liana_tensor liana__sample_plain(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const liana__plain_row *own = row;
    liana_tensor inputs[3];
    size_t count = 0;
    for (; count < 3 && own->inputs[count].name; count++) {
        inputs[count] = liana__sample_given(graph, dtype, &own->inputs[count]);
    }
    return liana__build(LIANA_HERE, graph, op, inputs, count, NULL);
}

static double draw(liana__philox_key key, int64_t index, double low, double high, bool whole)
{
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0}, words[4];
    liana__philox(key, counter, words);
    double uniform = liana__uniform_double(words[0], words[1]);
    return whole ? floor(low + uniform * (high - low + 1)) : low + uniform * (high - low);
}

void liana__test_draw_inputs(const liana_graph *graph, uint64_t seed, liana__test_value *values)
{
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        double low = -1, high = 1;
        const char *range = strstr(node->name, " in [");
        if (range) assert_int_equal(sscanf(range, " in [%lf, %lf]", &low, &high), 2);
        size_t size = liana__byte_size(node->dtype, &node->shape);
        values[i] = (liana__test_value){node->dtype, node->shape, malloc(size)};
        assert_non_null(values[i].data);
        liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_TEST, (uint32_t)i);
        bool whole = !liana__dtype_is_float(node->dtype);
        for (int64_t k = 0; k < liana_shape_size(&node->shape); k++) {
            liana__store(values[i].data, node->dtype, k, draw(key, k, low, high, whole));
        }
    }
}

void liana__test_free_values(liana__test_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) free(values[i].data);
}

static liana__buffer *make_buffer(liana__device *device, const liana__node *node, const void *data)
{
    liana__error error = {0};
    liana__buffer *buffer = NULL;
    assert_ok(device->backend->upload(device, node->dtype, &node->shape, data, &buffer, NULL, &error), &error);
    return buffer;
}

liana_status liana__test_execute(liana__executable *executable, int worker, liana__buffer **inputs,
                                 liana__buffer **variables, liana__buffer **outputs, liana__error *error)
{
    const liana__backend *backend = executable->device->backend;
    if (backend == &liana__backend_cpu) {
        return liana__cpu_execute(executable, worker, inputs, variables, outputs, error);
    }
    liana__execution execution = {.name = "a test's graph",
                                  .inputs = inputs,
                                  .variables = variables,
                                  .outputs = outputs};
    return backend->execute(executable, &execution, error);
}

void liana__test_run(liana__device *device, const liana_graph *graph, const liana__test_value *inputs,
                     liana__test_value *outputs)
{
    const liana__backend *backend = device->backend;
    liana__error error = {0};
    liana__executable *executable;
    assert_ok(backend->compile(device, graph, &executable, &error), &error);
    liana__buffer *in[64], *out[64] = {NULL};
    assert_compare(graph->num_inputs, <=, 64);
    assert_compare(graph->num_outputs, <=, 64);
    assert_compare(graph->num_variables, ==, 0);
    for (size_t i = 0; i < graph->num_inputs; i++) in[i] = make_buffer(device, graph->inputs[i], inputs[i].data);
    liana__execution execution = {.name = "a test's graph", .inputs = in, .outputs = out};
    assert_ok(backend->execute(executable, &execution, &error), &error);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        outputs[i] = (liana__test_value){node->dtype, node->shape, malloc(out[i]->size)};
        assert_non_null(outputs[i].data);
        assert_ok(backend->download(out[i], outputs[i].data, &error), &error);
        backend->buffer_destroy(out[i]);
    }
    for (size_t i = 0; i < graph->num_inputs; i++) backend->buffer_destroy(in[i]);
    backend->executable_destroy(executable);
}
