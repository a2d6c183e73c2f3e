/* Counts the padding of tiles. */
#include "train/training/tile_plan.h"

#include "base/scoped.h"
#include "passes/pass.h"
#include "train/objective/step_graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

enum { COLUMNS = 128, WORD_ROWS = 8, WORD = 4 };

#define GIB (1024.0 * 1024 * 1024)

const liana__tpu_generation liana__tpu_generations[] = {
    {"v2", 8 * GIB, 128},   {"v3", 16 * GIB, 128},  {"v4", 32 * GIB, 128}, {"v5e", 16 * GIB, 128},
    {"v5p", 95 * GIB, 128}, {"v6e", 32 * GIB, 256}, {NULL, 0, 0},
};

/* Whether a text is two or three numbers above 0: "2x2", "2x2x1". Which of these exist, libtpu knows. */
static bool is_slice(const char *text)
{
    int count = 0;
    for (;; text++) {
        char *end;
        if (*text < '1' || *text > '9' || strtol(text, &end, 10) <= 0) return false;
        count++;
        text = end;
        if (*text != 'x') break;
    }
    return *text == 0 && (count == 2 || count == 3);
}

liana_status liana__tpu_generation_find(const char *name, const liana__tpu_generation **generation, liana__error *error)
{
    const size_t length = strcspn(name, ":");
    for (*generation = liana__tpu_generations; (*generation)->name; (*generation)++) {
        const char *own = (*generation)->name;
        if (strlen(own) != length || strncmp(own, name, length) != 0) continue;
        if (!name[length] || is_slice(name + length + 1)) return LIANA_OK;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the topology of '%.100s' is not one; expected two or three numbers of chips, such as "
                           "v5e:2x2 or v4:2x2x1",
                           name);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "there is no TPU '%.100s'; expected v2, v3, v4, v5e, v5p or v6e, with or without a topology: "
                       "v5e:2x2",
                       name);
}

/* ---- padding ---- */

static double padded(int64_t size, int64_t unit)
{
    return (double)((size + unit - 1) / unit * unit);
}

static double tiled(int64_t rows, int64_t columns, int64_t row_unit)
{
    return padded(rows, row_unit) * padded(columns, COLUMNS);
}

double liana__tiled_bytes(liana_dtype dtype, const liana_shape *shape)
{
    const int64_t size = (int64_t)liana_dtype_size(dtype), row_unit = size < WORD ? WORD_ROWS * WORD / size : WORD_ROWS;
    const double count = (double)liana_shape_size(shape);
    if (shape->rank == 0) return (double)size;
    double least = shape->rank == 1 ? tiled(1, shape->dims[0], row_unit) : INFINITY;
    for (int row = 0; row < shape->rank; row++) {
        for (int column = 0; column < shape->rank; column++) {
            if (row == column) continue;
            const int64_t rows = shape->dims[row], columns = shape->dims[column];
            least = fmin(least, count / ((double)rows * (double)columns) * tiled(rows, columns, row_unit));
        }
    }
    return (double)size * least;
}

/* Rows, inner axis and columns of a product. */
typedef struct product {
    int64_t rows, inner, columns;
} product;

static double filled(const product *of, int64_t unit)
{
    const double wanted = (double)of->rows * (double)of->inner * (double)of->columns;
    return padded(of->rows, WORD_ROWS) * padded(of->inner, unit) * padded(of->columns, unit) / wanted;
}

/* A convolution is a product at each place of its kernel. The smallest input or the result is the kernel
 * [height, width, channels, filters], and the largest has the most pixels; a matmul has the axes of its operands. */
static product product_of(const liana__node *node)
{
    const liana_shape *a = &node->inputs[0]->shape, *b = &node->inputs[1]->shape, *c = &node->shape;
    const bool gives_kernel = strcmp(node->op->name, "conv2d_kernel_gradient") == 0;
    if (strncmp(node->op->name, "conv2d", 6) == 0 && a->rank == 4) {
        const liana_shape *kernel = gives_kernel ? c : b;
        const int64_t channels = kernel->dims[2], filters = kernel->dims[3];
        const liana_shape *pixels = strcmp(node->op->name, "conv2d") == 0 ? c : gives_kernel ? b : a;
        const int64_t places = liana_shape_size(pixels) / pixels->dims[3];
        return (product){places, channels, filters};
    }
    const int64_t rows = c->rank > 1 ? c->dims[c->rank - 2] : 1, columns = c->dims[c->rank - 1];
    const double inner = liana__node_cost(node).flops / 2 / (double)liana_shape_size(c);
    return (product){rows, inner < 1 ? 1 : (int64_t)inner, columns};
}

/* ---- layers ---- */

static size_t layer_of(const liana_model *model, const liana__node *node)
{
    for (size_t i = 0; node->where.file && i < model->num_layers; i++) {
        if (model->layers[i].where.file == node->where.file) return i;
    }
    return SIZE_MAX;
}

/* By node: whether the backward pass reads it. */
static bool *find_kept(const liana_graph *graph)
{
    bool *kept = calloc(graph->num_nodes + 1, sizeof *kept);
    for (size_t id = graph->first_gradient; kept && id && id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; i < node->num_inputs; i++) kept[node->inputs[i]->id] = true;
    }
    return kept;
}

static void count_node(liana__tile_plan *plan, const liana__node *node, bool is_forward, bool is_kept,
                       liana__tile_row *row)
{
    if (liana__node_cost(node).dot_products && node->num_inputs >= 2) {
        const product of = product_of(node);
        const double flops = liana__node_cost(node).flops;
        row->flops += flops;
        row->padded_flops += flops * filled(&of, plan->generation->matrix_unit);
    }
    if (!is_forward) return;
    row->type = liana__arena_string(&plan->arena, liana__type_print(node->dtype, &node->shape).text);
    row->features = node->shape.rank ? node->shape.dims[node->shape.rank - 1] : 1;
    if (!is_kept) return;
    row->bytes += (double)liana__byte_size(node->dtype, &node->shape);
    row->padded_bytes += liana__tiled_bytes(node->dtype, &node->shape);
}

static void count_layers(liana__tile_plan *plan, const liana_model *model, const liana_graph *graph, const bool *needed,
                         const bool *kept)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        const size_t layer = needed[id] && node->num_inputs ? layer_of(model, node) : SIZE_MAX;
        const bool is_forward = !graph->first_gradient || id < graph->first_gradient;
        if (layer != SIZE_MAX) count_node(plan, node, is_forward, kept[id], &plan->rows[layer]);
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        plan->sums += (double)liana__byte_size(node->dtype, &node->shape);
        plan->padded_sums += liana__tiled_bytes(node->dtype, &node->shape);
    }
}

/* Rows of layers that compute something move to the front. */
static void add_up(liana__tile_plan *plan, const liana_model *model)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        liana__tile_row row = plan->rows[i];
        if (!row.type) continue;
        row.layer = model->layers[i].name;
        plan->flops += row.flops;
        plan->padded_flops += row.padded_flops;
        plan->activations += row.bytes;
        plan->padded_activations += row.padded_bytes;
        plan->rows[plan->count++] = row;
    }
}

static void count_variables(liana__tile_plan *plan, const liana__variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        const liana__buffer *buffer = variables->items[i].buffer;
        plan->variables += (double)buffer->size;
        plan->padded_variables += liana__tiled_bytes(buffer->dtype, &buffer->shape);
    }
}

static liana_status count(liana__tile_plan *plan, const liana__training *training, const liana_graph *graph,
                          liana__error *error)
{
    bool *kept = find_kept(graph), *needed = calloc(graph->num_nodes + 1, sizeof *needed);
    plan->rows = calloc(training->model->num_layers + 1, sizeof *plan->rows);
    const bool has_memory = kept && needed && plan->rows;
    if (has_memory) {
        liana__graph_mark_needed(graph, needed);
        count_layers(plan, training->model, graph, needed, kept);
        add_up(plan, training->model);
        count_variables(plan, &training->variables);
    }
    free(kept);
    free(needed);
    return has_memory && !plan->arena.failed ? LIANA_OK : liana__fail_memory(error, "a plan");
}

liana_status liana__tile_plan_make(const liana__training *training, int64_t shard,
                                   const liana__tpu_generation *generation, liana__tile_plan *plan, liana__error *error)
{
    *plan = (liana__tile_plan){.generation = generation, .shard = shard};
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *built = NULL;
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *rewritten = NULL;
    LIANA_TRY(liana__step_build_shard(training->trainer->step, LIANA__STEP_TRAINING, shard, false, &built, error));
    /* Mixed precision is a pass. */
    LIANA_TRY(liana__passes_run_asked_for(built, &rewritten, error));
    return count(plan, training, rewritten ? rewritten : built, error);
}

double liana__tile_plan_memory(const liana__tile_plan *plan)
{
    return plan->padded_variables + plan->padded_sums + plan->padded_activations;
}

void liana__tile_plan_free(liana__tile_plan *plan)
{
    free(plan->rows);
    liana__arena_free(&plan->arena);
    *plan = (liana__tile_plan){0};
}
