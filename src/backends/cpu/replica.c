/* The CPU's replica: workers compute shards at the same time, each with its own inputs, and add them in a tree. */
#include "backends/cpu/cpu.h"

#include "backends/cpu/sum_tree.h"
#include "backends/host.h"
#include "backends/shard_programs.h"

#include <stdlib.h>

/* The buffers that the workers bind to a program. */
typedef struct bindings {
    liana__arena arena;                               /* of both lists */
    liana__buffer *(*inputs)[LIANA__MAX_LEAF_INPUTS]; /* by worker and input of the graph */
    liana__buffer **rows;                             /* by worker: the output "output"; NULL: there is none */
} bindings;

typedef struct cpu_replica {
    liana__device *device;
    liana__shard_programs programs;
    liana__sum_tree *tree;
    const liana__leaf_batch *batch; /* the running one */
} cpu_replica;

/* ---- setting up ---- */

static void release_bindings(void *user, liana__shard_program *program)
{
    const cpu_replica *own = user;
    bindings *bound = program->own;
    for (int worker = 0; worker < liana__cpu_num_workers(own->device); worker++) {
        for (size_t i = 0; bound->inputs && i < program->graph->num_inputs; i++) {
            liana__host_buffer_destroy(bound->inputs[worker][i]);
        }
        if (bound->rows) liana__host_buffer_destroy(bound->rows[worker]);
    }
    liana__arena_free(&bound->arena);
    free(bound);
}

static liana_status make_buffer(const cpu_replica *own, const liana__node *node, liana__buffer **buffer,
                                liana__error *error)
{
    return liana__host_buffer_create(own->device, node->dtype, &node->shape, buffer, error);
}

static liana_status make_bindings(void *user, liana__shard_program *program, liana__error *error)
{
    cpu_replica *own = user;
    size_t workers = (size_t)liana__cpu_num_workers(own->device);
    const liana_graph *graph = program->graph;
    bindings *bound = program->own = calloc(1, sizeof *bound);
    if (!bound) return liana__fail_memory(error, "a shard program");
    liana__arena *arena = &bound->arena;
    bound->inputs = liana__arena_allocate(arena, workers * sizeof *bound->inputs);
    if (own->programs.plan.gives_rows) bound->rows = liana__arena_allocate(arena, workers * sizeof *bound->rows);
    if (arena->failed) return liana__fail_memory(error, "a shard program");
    for (size_t worker = 0; worker < workers; worker++) {
        for (size_t i = 0; i < graph->num_inputs; i++) {
            LIANA_TRY(make_buffer(own, graph->inputs[i], &bound->inputs[worker][i], error));
        }
        if (!bound->rows) continue;
        LIANA_TRY(make_buffer(own, graph->outputs[graph->num_outputs - 1].node, &bound->rows[worker], error));
    }
    return LIANA_OK;
}

/* The sums' memory is taken before the first program is compiled: the memory limit must know of it. */
static liana_status make_tree(void *user, const liana_graph *graph, liana__error *error)
{
    cpu_replica *own = user;
    const liana__leaf_plan *plan = &own->programs.plan;
    if (own->tree) return LIANA_OK;
    return liana__sum_tree_create(own->device, graph, liana__leaf_num_sums(plan, graph), plan->max_leaves,
                                  plan->of_parts, &own->tree, error);
}

static liana_status create_replica(liana__device *device, const liana__leaf_plan *plan, liana__replica **replica,
                                   liana__error *error)
{
    *replica = NULL;
    cpu_replica *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "a replica");
    own->device = device;
    own->programs = (liana__shard_programs){.device = device,
                                            .plan = *plan,
                                            .before = make_tree,
                                            .after = make_bindings,
                                            .release = release_bindings,
                                            .user = own};
    *replica = (liana__replica *)own;
    return LIANA_OK;
}

static void destroy_replica(liana__replica *replica)
{
    cpu_replica *own = (cpu_replica *)replica;
    if (!own) return;
    liana__shard_programs_free(&own->programs);
    liana__sum_tree_destroy(own->tree);
    free(own);
}

/* The programs of those shards that all workers compute together. */
static liana_status make_ready_together(cpu_replica *own, const liana__leaf_batch *batch, liana__error *error)
{
    size_t together = liana__sum_tree_num_together(own->device, batch->end - batch->first);
    for (size_t leaf = batch->end - together; leaf < batch->end; leaf++) {
        const liana__shard_program *program = liana__shard_programs_find(&own->programs, batch->leaves[leaf].size);
        LIANA_TRY(liana__cpu_make_ready_together(program->executable, error));
    }
    return LIANA_OK;
}

static liana_status prepare_replica(liana__replica *replica, const liana__leaf_batch *batch, liana__error *error)
{
    cpu_replica *own = (cpu_replica *)replica;
    LIANA_TRY(liana__shard_programs_prepare(&own->programs, batch, error));
    return make_ready_together(own, batch, error);
}

/* ---- running ---- */

static liana_status write_rows(const cpu_replica *own, const liana__shard_program *program, int64_t begin,
                               liana__buffer *const *inputs, liana__error *error)
{
    for (size_t i = 0; i < program->graph->num_inputs; i++) {
        const char *rows = own->batch->rows[program->component[i]];
        size_t row_size = inputs[i]->size / (size_t)program->size;
        LIANA_TRY(liana__host_buffer_write(inputs[i], rows + (size_t)begin * row_size, error));
    }
    return LIANA_OK;
}

static liana_status run_shard(void *user, size_t number, int worker, const liana__shard_target *into,
                              liana__error *error)
{
    const cpu_replica *own = user;
    const liana__leaf leaf = own->batch->leaves[number];
    const liana__shard_program *program = liana__shard_programs_find(&own->programs, leaf.size);
    const bindings *bound = program->own;
    const bool together = worker == LIANA__ALL_WORKERS;
    if (together) worker = 0;
    liana__buffer *const *inputs = bound->inputs[worker], *const *variables = program->variables;
    liana__buffer *const *sums = into->sums;
    LIANA_TRY(write_rows(own, program, leaf.begin, inputs, error));
    liana__buffer *outputs[LIANA__MAX_ROW_SUMS + 1];
    const size_t num_sums = liana__leaf_num_sums(&own->programs.plan, program->graph);
    if (bound->rows) {
        for (size_t i = 0; i < num_sums; i++) outputs[i] = sums[i];
        outputs[num_sums] = bound->rows[worker];
        sums = outputs;
    }
    if (together) {
        LIANA_TRY(liana__cpu_execute_together(program->executable, inputs, variables, sums, error));
    } else {
        const liana__cpu_buffers given = {.inputs = inputs,
                                          .variables = variables,
                                          .outputs = sums,
                                          .arrivals = into->arrivals,
                                          .watch = into->watch};
        LIANA_TRY(liana__cpu_execute_and_add(program->executable, worker, &given, error));
    }
    if (!bound->rows || !own->batch->outputs) return LIANA_OK;
    const liana__buffer *rows = bound->rows[worker];
    size_t row_size = rows->size / (size_t)leaf.size;
    return liana__host_buffer_read(rows, (char *)own->batch->outputs + (size_t)leaf.begin * row_size, error);
}

static liana_status compute_replica(liana__replica *replica, const liana__leaf_batch *batch,
                                    const liana__leaf_block **blocks, size_t *num_blocks, liana__error *error)
{
    cpu_replica *own = (cpu_replica *)replica;
    *num_blocks = 0;
    if (batch->first == batch->end) return LIANA_OK;
    LIANA_TRY(prepare_replica(replica, batch, error));
    liana__shard_programs_bind(&own->programs);
    own->batch = batch;
    return liana__sum_tree_run(own->tree, batch, run_shard, own, blocks, num_blocks, error);
}

static void memory_replica(const liana__replica *replica, const liana__leaf_batch *batch, liana__replica_memory *memory)
{
    const cpu_replica *own = (const cpu_replica *)replica;
    liana__shard_programs_memory(&own->programs, batch, memory);
    memory->workspace *= (size_t)liana__cpu_num_workers(own->device);
    memory->workspace_before *= (size_t)liana__cpu_num_workers(own->device);
}

const liana__replica_functions liana__cpu_replicas = {create_replica, destroy_replica, prepare_replica, compute_replica,
                                                      memory_replica};
