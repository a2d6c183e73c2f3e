/* Runs one shard after the other on a device. While a shard runs, the next one's rows are uploaded. */
#include "backends/shard_loop.h"

#include "backends/shard_programs.h"
#include "base/scoped.h"
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

/* Output rows of a shard, which are on the device. */
typedef struct shard_rows {
    liana__buffer *buffer; /* NULL: none */
    size_t leaf;
} shard_rows;

/* A shard's rows on the device. */
typedef struct shard_inputs {
    liana__buffer *buffers[LIANA__MAX_LEAF_INPUTS];
    liana__fence *fences[LIANA__MAX_LEAF_INPUTS];
    char *padded[LIANA__MAX_LEAF_INPUTS]; /* host memory for shards with missing rows; NULL: not needed yet */
} shard_inputs;

typedef struct shard_loop {
    liana__arena arena; /* of the lists */
    liana__device *device;
    liana__shard_programs programs;
    shard_inputs inputs[2]; /* of the running shard, and of the next one */
    /* Adds the sums of two subtrees. */
    liana_graph *add_graph;
    liana__executable *add;
    size_t num_sums;
    liana__buffer **terms;     /* [2 * num_sums] of one addition */
    liana__leaf_block *blocks; /* finished subtrees, in order; their sums are the loop's own */
    size_t num_blocks;
    shard_rows computed; /* of the last shard */
    float *present;      /* [leaf_size] */
} shard_loop;

/* ---- setting up ---- */

static void destroy_loop(liana__replica *replica);

static liana_status create_loop(liana__device *device, const liana__leaf_plan *plan, liana__replica **replica,
                                liana__error *error)
{
    *replica = NULL;
    shard_loop *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "a replica");
    own->device = device;
    own->programs =
        (liana__shard_programs){.device = device, .plan = *plan, .masked = device->backend->static_leaves, .user = own};
    own->blocks = liana__arena_allocate(&own->arena, plan->max_leaves * sizeof *own->blocks);
    own->present = liana__arena_allocate(&own->arena, (size_t)plan->leaf_size * sizeof *own->present);
    if (own->arena.failed) {
        destroy_loop((liana__replica *)own);
        return liana__fail_memory(error, "a replica");
    }
    *replica = (liana__replica *)own;
    return LIANA_OK;
}

static void drop_sums(const shard_loop *own, liana__buffer *const *sums)
{
    for (size_t i = 0; sums && i < own->num_sums; i++) {
        if (sums[i]) own->device->backend->buffer_destroy(sums[i]);
    }
    free((void *)sums);
}

static void drop_blocks(shard_loop *own)
{
    for (size_t i = 0; i < own->num_blocks; i++) drop_sums(own, own->blocks[i].sums);
    own->num_blocks = 0;
}

static void drop_inputs(const shard_loop *own, shard_inputs *inputs)
{
    for (size_t i = 0; i < LIANA__MAX_LEAF_INPUTS; i++) {
        (void)own->device->backend->wait(inputs->fences[i], NULL);
        if (inputs->buffers[i]) own->device->backend->buffer_destroy(inputs->buffers[i]);
        inputs->fences[i] = NULL;
        inputs->buffers[i] = NULL;
    }
}

static void drop_rows(shard_loop *own)
{
    if (own->computed.buffer) own->device->backend->buffer_destroy(own->computed.buffer);
    own->computed.buffer = NULL;
}

static void destroy_loop(liana__replica *replica)
{
    shard_loop *own = (shard_loop *)replica;
    if (!own) return;
    drop_blocks(own);
    drop_rows(own);
    for (int k = 0; k < 2; k++) {
        drop_inputs(own, &own->inputs[k]);
        for (size_t i = 0; i < LIANA__MAX_LEAF_INPUTS; i++) free(own->inputs[k].padded[i]);
    }
    if (own->add) own->device->backend->executable_destroy(own->add);
    liana_graph_destroy(own->add_graph);
    liana__shard_programs_free(&own->programs);
    liana__arena_free(&own->arena);
    free(own);
}

/* The program that adds two subtrees' sums. */
static liana_status make_add(shard_loop *own, liana__error *error)
{
    const liana_graph *leaf = own->programs.items[0].graph;
    own->num_sums = liana__leaf_num_sums(&own->programs.plan, leaf);
    own->terms = liana__arena_allocate(&own->arena, 2 * own->num_sums * sizeof *own->terms);
    if (!own->terms) return liana__fail_memory(error, "a replica");
    LIANA_TRY(liana_graph_create(own->device->context, &own->add_graph));
    liana_graph *graph = own->add_graph;
    for (size_t i = 0; i < own->num_sums; i++) {
        const liana__node *node = leaf->outputs[i].node;
        char left[32], right[32];
        snprintf(left, sizeof left, "left %zu", i);
        snprintf(right, sizeof right, "right %zu", i);
        liana_tensor a = liana_graph_input(graph, left, node->dtype, node->shape);
        liana_tensor b = liana_graph_input(graph, right, node->dtype, node->shape);
        liana_graph_output(graph, left, liana_op_add(a, b));
    }
    liana_status status = liana_graph_status(graph);
    if (status != LIANA_OK) {
        *error = own->device->context->error;
        return status;
    }
    return own->device->backend->compile(own->device, graph, &own->add, error);
}

static liana_status prepare_loop(liana__replica *replica, const liana__leaf_batch *batch, liana__error *error)
{
    shard_loop *own = (shard_loop *)replica;
    if (batch->first == batch->end) return LIANA_OK;
    LIANA_TRY(liana__shard_programs_prepare(&own->programs, batch, error));
    return own->add ? LIANA_OK : make_add(own, error);
}

/* ---- running ---- */

/* The rows of a shard, and behind them copies of the first row in the place of missing ones: values that any input may
 * have. */
static liana_status pad_rows(shard_inputs *inputs, size_t input, const char *rows, size_t row_size, int64_t there,
                             int64_t size, const void **padded, liana__error *error)
{
    char **memory = &inputs->padded[input];
    if (!*memory) *memory = malloc(row_size * (size_t)size);
    if (!*memory) return liana__fail_memory(error, "the rows of a leaf");
    memcpy(*memory, rows, row_size * (size_t)there);
    for (int64_t i = there; i < size; i++) memcpy(*memory + (size_t)i * row_size, rows, row_size);
    *padded = *memory;
    return LIANA_OK;
}

static liana_status upload_input(shard_loop *own, const liana__leaf_batch *batch, const liana__leaf *leaf,
                                 shard_inputs *inputs, size_t input, liana__error *error)
{
    const liana__shard_program *program = liana__shard_programs_find(&own->programs, leaf->size);
    const liana__node *node = program->graph->inputs[input];
    size_t row_size = liana__byte_size(node->dtype, &node->shape) / (size_t)program->size;
    const void *rows = NULL;
    if (program->component[input] == LIANA__COMPONENT_PRESENT) {
        float *present = own->present;
        for (int64_t i = 0; i < program->size; i++) present[i] = i < leaf->size ? 1 : 0;
        LIANA_TRY(pad_rows(inputs, input, (const char *)present, row_size, program->size, program->size, &rows, error));
    } else {
        rows = (const char *)batch->rows[program->component[input]] + (size_t)leaf->begin * row_size;
        if (leaf->size < program->size) {
            LIANA_TRY(pad_rows(inputs, input, rows, row_size, leaf->size, program->size, &rows, error));
        }
    }
    return own->device->backend->upload(own->device, node->dtype, &node->shape, rows, &inputs->buffers[input],
                                        &inputs->fences[input], error);
}

static liana_status upload_shard(shard_loop *own, const liana__leaf_batch *batch, size_t number, liana__error *error)
{
    const liana__leaf *leaf = &batch->leaves[number];
    shard_inputs *inputs = &own->inputs[number % 2];
    const liana__shard_program *program = liana__shard_programs_find(&own->programs, leaf->size);
    for (size_t i = 0; i < program->graph->num_inputs; i++) {
        LIANA_TRY(upload_input(own, batch, leaf, inputs, i, error));
    }
    return LIANA_OK;
}

/* Copies the last shard's rows of the output to the host; those of missing examples are left out. */
static liana_status give_rows(shard_loop *own, const liana__leaf_batch *batch, liana__error *error)
{
    const liana__buffer *rows = own->computed.buffer;
    if (!rows) return LIANA_OK;
    const liana__leaf *leaf = &batch->leaves[own->computed.leaf];
    const size_t row_size = rows->size / (size_t)rows->shape.dims[0];
    LIANA__SCOPED_MEMORY char *all = malloc(rows->size);
    const liana_status status =
        all ? own->device->backend->download(rows, all, error) : liana__fail_memory(error, "the model's outputs");
    if (status == LIANA_OK) {
        memcpy((char *)batch->outputs + (size_t)leaf->begin * row_size, all, (size_t)leaf->size * row_size);
    }
    drop_rows(own);
    return status;
}

static liana_status run_shard(shard_loop *own, const liana__leaf_batch *batch, size_t number, liana__buffer **outputs,
                              liana__error *error)
{
    const liana__leaf *leaf = &batch->leaves[number];
    shard_inputs *inputs = &own->inputs[number % 2];
    const liana__shard_program *program = liana__shard_programs_find(&own->programs, leaf->size);
    liana__execution execution = {.name = own->programs.plan.name,
                                  .inputs = inputs->buffers,
                                  .variables = program->variables,
                                  .outputs = outputs};
    liana_status status = number + 1 < batch->end ? upload_shard(own, batch, number + 1, error) : LIANA_OK;
    if (status == LIANA_OK) status = own->device->backend->execute(program->executable, &execution, error);
    drop_inputs(own, inputs);
    if (status != LIANA_OK || !own->programs.plan.gives_rows) return status;
    /* Waiting for the rows of the shard before leaves the device this one to compute. */
    status = give_rows(own, batch, error);
    own->computed = (shard_rows){outputs[own->num_sums], number};
    outputs[own->num_sums] = NULL;
    if (!batch->outputs) drop_rows(own);
    return status;
}

/* Whether the last two finished subtrees are the halves of one. */
static bool are_halves(const shard_loop *own, const liana__leaf_batch *batch)
{
    if (own->num_blocks < 2) return false;
    const liana__leaf_block *left = &own->blocks[own->num_blocks - 2], *right = left + 1;
    size_t end = right->first + right->count;
    return liana__leaf_block_size(left->first, end, batch->num_leaves) == left->count + right->count;
}

static liana_status add_halves(shard_loop *own, liana__error *error)
{
    liana__leaf_block *left = &own->blocks[own->num_blocks - 2], *right = left + 1;
    liana__buffer **sums = calloc(own->num_sums + 1, sizeof *sums);
    if (!sums) return liana__fail_memory(error, "the sums of a leaf");
    for (size_t i = 0; i < own->num_sums; i++) {
        own->terms[2 * i] = left->sums[i];
        own->terms[2 * i + 1] = right->sums[i];
    }
    liana__execution execution = {.name = "the sum of two shards", .inputs = own->terms, .outputs = sums};
    liana_status status = own->device->backend->execute(own->add, &execution, error);
    if (status != LIANA_OK) {
        drop_sums(own, sums);
        return status;
    }
    drop_sums(own, left->sums);
    drop_sums(own, right->sums);
    left->sums = sums;
    left->count += right->count;
    own->num_blocks--;
    return LIANA_OK;
}

static liana_status compute_shard(shard_loop *own, const liana__leaf_batch *batch, size_t number, liana__error *error)
{
    liana__buffer **outputs = calloc(own->num_sums + 2, sizeof *outputs);
    if (!outputs) return liana__fail_memory(error, "the sums of a leaf");
    liana_status status = run_shard(own, batch, number, outputs, error);
    if (status != LIANA_OK) {
        drop_sums(own, outputs);
        return status;
    }
    own->blocks[own->num_blocks++] = (liana__leaf_block){.first = number, .count = 1, .sums = outputs};
    while (are_halves(own, batch)) LIANA_TRY(add_halves(own, error));
    return LIANA_OK;
}

static liana_status compute_loop(liana__replica *replica, const liana__leaf_batch *batch,
                                 const liana__leaf_block **blocks, size_t *num_blocks, liana__error *error)
{
    shard_loop *own = (shard_loop *)replica;
    *num_blocks = 0;
    *blocks = own->blocks;
    drop_blocks(own);
    drop_rows(own);
    if (batch->first == batch->end) return LIANA_OK;
    LIANA_TRY(prepare_loop(replica, batch, error));
    liana__shard_programs_bind(&own->programs);
    LIANA_TRY(upload_shard(own, batch, batch->first, error));
    for (size_t leaf = batch->first; leaf < batch->end; leaf++) LIANA_TRY(compute_shard(own, batch, leaf, error));
    LIANA_TRY(give_rows(own, batch, error));
    *num_blocks = own->num_blocks;
    return LIANA_OK;
}

static void memory_loop(const liana__replica *replica, const liana__leaf_batch *batch, liana__replica_memory *memory)
{
    liana__shard_programs_memory(&((const shard_loop *)replica)->programs, batch, memory);
}

const liana__replica_functions liana__shard_loop = {create_loop, destroy_loop, prepare_loop, compute_loop, memory_loop};
