/* What a Normalization reads behind other layers: the layers before it are computed for all training examples. */
#include "train/run/adapt_through.h"

#include "exec/program.h"
#include "ir/shape.h"

#include <stdlib.h>
#include <string.h>

/* Examples of a run of the program. The moments do not depend on it. */
enum { ROWS = 256 };

/* An input of the model that is read, and the rows of it. */
typedef struct row_input {
    size_t place; /* of the component among those of the source */
    size_t index; /* of the model's input */
    size_t row_bytes;
    unsigned char *rows; /* [ROWS, row_bytes] */
    size_t feed;
    liana_shape shape;
} row_input;

typedef struct through {
    liana__run *run;
    size_t node;  /* whose result is read */
    bool *needed; /* by node: the result depends on it */
    row_input inputs[LIANA__MAX_INPUTS];
    size_t num_inputs;
    liana__program *program;
    float *values;      /* a run's results */
    int64_t row_values; /* of an example */
} through;

static bool *find_needed(liana__run *run, size_t node)
{
    const liana_model *model = run->model;
    bool *needed = liana__arena_allocate(&run->arena, model->num_nodes * sizeof *needed);
    if (!needed) return NULL;
    needed[node] = true;
    for (size_t i = node + 1; i-- > 0;) {
        for (size_t k = 0; needed[i] && k < model->nodes[i].num_inputs; k++) needed[model->nodes[i].inputs[k]] = true;
    }
    return needed;
}

/* The component that an input of the model reads; num_components: none of numbers. */
static size_t place_of(const liana__run *run, size_t input)
{
    const liana__data_match *match = &run->training.match;
    const liana__source *source = run->training.source;
    const char *name = match->inputs[input].name;
    const bool is_image = input == 0 && match->has_image;
    size_t place = 0;
    while (name && !is_image && place < source->num_components) {
        const liana_component *component = &source->components[place];
        if (strcmp(component->name, name) == 0 && component->dtype != LIANA_STRING) return place;
        place++;
    }
    return source->num_components;
}

/* The loader compares shapes too, but later. */
static liana_status check_size(const liana__run *run, size_t input, size_t place, liana__error *error)
{
    const liana_component *component = &run->training.source->components[place];
    const liana__model_port port = liana__model_input(run->model, input);
    if (liana_shape_size(&component->shape) == liana_shape_size(&port.shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%.100s' is %s, but the model's input '%.100s' is %s (with a batch of 1); change "
                       "the data's or the model's shape",
                       component->name, liana__shape_print(&component->shape).text, port.name,
                       liana__shape_print(&port.shape).text);
}

liana_status liana__adapt_obstacle(liana__run *run, size_t node, const char **obstacle, liana__error *error)
{
    const liana_model *model = run->model;
    const bool *needed = find_needed(run, node);
    *obstacle = NULL;
    if (!needed) return liana__fail_memory(error, "a Normalization");
    if (run->training.source->streams) *obstacle = "the data are a stream";
    for (size_t i = 0; i < model->num_inputs && !*obstacle; i++) {
        if (!needed[model->inputs[i]]) continue;
        const size_t place = place_of(run, i);
        if (place == run->training.source->num_components) {
            *obstacle = "it reads images, not numbers";
        } else {
            LIANA_TRY(check_size(run, i, place, error));
        }
    }
    for (size_t i = 0; i < model->num_weights && !*obstacle; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        for (size_t k = 0; k <= node && !*obstacle; k++) {
            if (!needed[k] || model->nodes[k].layer != model->weights[i].layer) continue;
            *obstacle = liana__arena_format(&run->arena, "layer '%s' before it is trained, so its results change",
                                            model->layers[model->nodes[k].layer].name);
            if (!*obstacle) return liana__fail_memory(error, "a Normalization");
        }
    }
    return LIANA_OK;
}

/* ---- the program ---- */

/* Input `index` of the model as it arrives, in the model's dtype; zeros where it is not needed. */
static liana_tensor build_input(through *own, liana_graph *graph, size_t index)
{
    const liana__run *run = own->run;
    liana__model_port port = liana__model_input(run->model, index);
    port.shape.dims[0] = ROWS;
    if (!own->needed[run->model->inputs[index]]) {
        return liana_op_broadcast_to(liana_graph_scalar(graph, port.dtype, 0), port.shape);
    }
    const size_t place = place_of(run, index);
    const liana_component *component = &run->training.source->components[place];
    const liana_dtype dtype = (liana_dtype)component->dtype;
    own->inputs[own->num_inputs++] = (row_input){.place = place,
                                                 .index = index,
                                                 .row_bytes = liana__byte_size(dtype, &component->shape),
                                                 .shape = port.shape};
    liana_tensor x = liana_graph_input(graph, port.name, dtype, port.shape);
    return dtype == port.dtype ? x : liana_op_cast(x, port.dtype);
}

static void build_graph(through *own, liana_graph *graph)
{
    const liana_model *model = own->run->model;
    liana_tensor inputs[LIANA__MAX_INPUTS];
    const liana__model_mode mode = {.here = LIANA_HERE};
    for (size_t i = 0; i < model->num_inputs; i++) inputs[i] = build_input(own, graph, i);
    const liana__model_results results = liana__model_call(model, inputs, &mode);
    if (liana_graph_status(graph) != LIANA_OK) return;
    liana_tensor values = liana_op_cast(results.nodes[own->node], LIANA_F32);
    const liana_shape shape = liana_tensor_shape(values);
    own->row_values = liana_shape_size(&shape) / ROWS;
    liana_graph_output(graph, "values", values);
}

static liana_status open_program(through *own, liana__error *error)
{
    liana__run *run = own->run;
    liana_graph *graph;
    liana_status status = liana_graph_create(run->context, &graph);
    if (status == LIANA_OK) {
        build_graph(own, graph);
        status = liana_graph_status(graph);
        if (status != LIANA_OK) liana_graph_destroy(graph);
    }
    if (status != LIANA_OK) {
        if (error != &run->context->error) *error = run->context->error;
        return status;
    }
    LIANA_TRY(liana__program_create(run->core.device, graph, "adapt", &run->core.variables, &own->program, error));
    own->values = malloc((size_t)own->row_values * ROWS * sizeof *own->values);
    if (!own->values) return liana__fail_memory(error, "a Normalization");
    for (size_t i = 0; i < own->num_inputs; i++) {
        row_input *input = &own->inputs[i];
        const char *name = liana__model_input(run->model, input->index).name;
        LIANA_TRY(liana__program_find_feed(own->program, name, &input->feed, error));
        input->rows = calloc(ROWS, input->row_bytes);
        if (!input->rows) return liana__fail_memory(error, "a Normalization");
    }
    return LIANA_OK;
}

static void close_program(through *own)
{
    for (size_t i = 0; i < own->num_inputs; i++) free(own->inputs[i].rows);
    free(own->values);
    liana__program_destroy(own->program);
}

/* ---- the data ---- */

static liana_status read_rows(through *own, void *scratch, uint64_t first, size_t count, liana__error *error)
{
    const liana__source *source = own->run->training.source;
    for (size_t row = 0; row < count; row++) {
        liana_source_record record;
        LIANA_TRY(liana__source_read(source, first + row, scratch, &record, error));
        for (size_t i = 0; i < own->num_inputs; i++) {
            const row_input *input = &own->inputs[i];
            memcpy(input->rows + row * input->row_bytes, record.values[input->place], input->row_bytes);
        }
    }
    return LIANA_OK;
}

/* The last run has fewer rows; what stands behind them is left out. */
static liana_status add_rows(through *own, void *scratch, uint64_t first, liana__moments *moments, liana__error *error)
{
    const liana__source *source = own->run->training.source;
    const size_t count = source->num_records - first < ROWS ? (size_t)(source->num_records - first) : ROWS;
    LIANA_TRY(read_rows(own, scratch, first, count, error));
    for (size_t i = 0; i < own->num_inputs; i++) {
        const row_input *input = &own->inputs[i];
        const liana_dtype dtype = (liana_dtype)source->components[input->place].dtype;
        LIANA_TRY(liana__program_feed(own->program, input->feed, dtype, &input->shape, input->rows, error));
    }
    LIANA_TRY(liana__program_run(own->program, error));
    LIANA_TRY(liana__program_fetch(own->program, 0, own->values, error));
    return liana__moments_add(moments, LIANA_F32, own->values, (int64_t)count * own->row_values, error);
}

liana_status liana__adapt_through(liana__run *run, size_t node, liana__moments *moments, liana__error *error)
{
    through own = {.run = run, .node = node, .needed = find_needed(run, node)};
    const liana__source *source = run->training.source;
    if (!own.needed) return liana__fail_memory(error, "a Normalization");
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? open_program(&own, error) : liana__fail_memory(error, "the records");
    for (uint64_t first = 0; status == LIANA_OK && first < source->num_records; first += ROWS) {
        status = liana__adapt_may_go_on(run, first, error);
        if (status == LIANA_OK) status = add_rows(&own, scratch, first, moments, error);
    }
    if (scratch) liana__source_scratch_destroy(source, scratch);
    close_program(&own);
    return status;
}
