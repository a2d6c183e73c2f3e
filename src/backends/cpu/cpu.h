/* cpu.h - the inside of the CPU backend. */
#ifndef LIANA_BACKENDS_CPU_CPU_H
#define LIANA_BACKENDS_CPU_CPU_H

#include "backends/backend.h"
#include "base/memory.h"
#include "ir/part_node.h"
#include "plan/memory_plan.h"

#include <pthread.h>

/* The workspaces belong to the device: a worker runs one executable at a time, so all share them. */
typedef struct liana__cpu_device {
    liana__device base;
    liana__pool *pool;     /* the context's, or the device's own */
    liana__pool *own_pool; /* NULL: it has none */
    int num_workers;       /* how many executions may run at the same time, each with its own worker index */
    char **workspaces;     /* one for each worker */
    size_t workspace_size;
    /* For workers that have waited long for the others (team.c). */
    pthread_mutex_t mutex;
    pthread_cond_t progress;
    atomic_int num_sleeping;
} liana__cpu_device;

static inline int liana__cpu_num_workers(const liana__device *device)
{
    return ((const liana__cpu_device *)device)->num_workers;
}

/* An input of a step: a node of the graph, and how many bytes further the next slice's rows lie. */
typedef struct liana__cpu_source {
    uint32_t node;
    size_t advance;
} liana__cpu_source;

/* A kernel that runs once, or once for each slice of its segment. */
typedef struct liana__cpu_step {
    const liana__node *whole; /* of the graph */
    const liana__node *node;  /* the node of the kernel: `whole`, or a slice of it */
    const liana__kernel *kernel;
    liana__prepared prepared;
    const liana__cpu_source *sources;
    size_t advance;                /* of the result's rows, in bytes */
    struct liana__cpu_step *sum;   /* NULL, or the step that adds a slice's result to those before it */
    size_t part_size;              /* bytes between the parts that are merged; 0: none are */
    void *packed;                  /* NULL, or an input as the kernel wants it, kept between executions */
    bool is_packed_once;           /* an input is packed before the first slice, for all of them, */
    size_t packed_at;              /* to this place in bytes behind a worker's scratch memory */
    struct liana__cpu_step *watch; /* NULL, or counts what is not finite in the result, a new value of a variable */
    struct liana__cpu_step *last;  /* NULL, or for the last slice or tile, which has fewer rows than the others */
    /* NULL, or another step of its segment, later, whose kernel need not run: this one's gives its result too. */
    struct liana__cpu_step *companion;
    bool is_given; /* is somebody's companion */
    /* Of a step that runs whole: the tiles that a team computes; 0 or 1: it is not cut. */
    size_t num_tiles;
    struct liana__cpu_step *tile; /* how one tile is computed; NULL: the kernel itself has tiles */
} liana__cpu_step;

/* Steps that run one after the other for each slice. */
typedef struct liana__cpu_segment {
    size_t first_step, end_step;
    size_t num_slices;
    bool independent; /* slices write to places of their own: nothing is summed up or merged */
    bool kept;        /* one node of weights alone: runs when they have changed */
    bool packs;       /* has steps that are packed once */
} liana__cpu_segment;

/* A team's work between two barriers: the slices of a segment, the tiles of a step, or segments that one worker
 * runs. */
typedef struct liana__cpu_phase {
    size_t first_segment, end_segment;
    size_t num_tasks;
    bool tiles;
} liana__cpu_phase;

/* How far a phase is; on a cache line of its own. Its tasks stand in ranges of which each belongs to some workers. */
enum { LIANA__CPU_MOST_RANGES = 7 };
typedef struct liana__cpu_progress {
    _Alignas(LIANA__ALIGNMENT) atomic_size_t next[LIANA__CPU_MOST_RANGES]; /* counted from the begin of the range */
    atomic_size_t done;
} liana__cpu_progress;

/* The memory of one execution at a time. */
typedef struct liana__cpu_worker {
    char *workspace;      /* planned tensors, then scratch, then packed operands for the slices of a segment */
    char *shared;         /* where tensors lie that are not of one slice: another worker's workspace, or the same */
    void **values;        /* by node id: where each tensor lies */
    const void **sources; /* the inputs of the running step */
    bool *is_first;       /* by output: of two executions that share it, this one came first */
    bool has_non_finite;  /* a value that it watches: NaN or infinite */
    bool filled;          /* a graph of constants alone needs no workspace: NULL does not mean that nothing was done */
} liana__cpu_worker;

/* A node that lies in a buffer of the caller's. */
typedef struct liana__cpu_external {
    uint32_t node;
    liana__storage storage;
} liana__cpu_external;

/* An output that is complete when its segment has run, and that nobody in the graph reads. */
typedef struct liana__cpu_delivery {
    uint32_t node;
    size_t output;
    size_t segment;
    size_t spare; /* its place in the workspace, if it is then added to the output */
} liana__cpu_delivery;

/* A copy of the memory plan, to an output, that can be made when a segment has run. */
typedef struct liana__cpu_early_copy {
    size_t copy;
    size_t segment;
} liana__cpu_early_copy;

/* A value made of weights alone and kept between executions (kept.c). The mutex is held while it is made again; an
 * execution that has seen it up to date reads it freely, as no variable changes while any execution reads it. */
typedef struct liana__cpu_kept {
    bool *nodes;        /* by node id: is kept */
    void **values;      /* by node id; NULL: not kept */
    uint64_t *versions; /* of each variable, when all was made */
    void **blocks;
    size_t num_blocks;
    size_t size; /* bytes */
    pthread_mutex_t mutex;
    bool has_mutex;
} liana__cpu_kept;

typedef struct liana__cpu_executable {
    liana__executable base;
    const liana_graph *graph; /* the graph that runs: `optimized`, or the caller's if no pass was run */
    liana_graph *optimized;
    liana__execution_order schedule;
    liana__memory_plan plan;
    liana__arena arena; /* of all lists below, and of what the steps point to */
    liana__cpu_step *steps;
    size_t num_steps;
    liana__cpu_segment *segments;
    size_t num_segments;
    size_t scratch_size; /* bytes, of the greediest step */
    size_t packed_size;  /* bytes that the greediest segment packs for its slices */
    size_t max_inputs;
    bool *watched;    /* by node id: a new value of a variable */
    bool watches_all; /* each such value is computed here */
    liana__cpu_external *externals;
    size_t num_externals;
    liana__cpu_delivery *deliveries; /* in the order of the segments; of graphs with a gradient */
    size_t num_deliveries;
    liana__cpu_early_copy *early_copies; /* the same order; of graphs with a gradient */
    size_t num_early_copies;
    bool *is_early; /* by copy of the memory plan */
    liana__cpu_kept kept;
    liana__cpu_worker *workers;
    struct liana__cpu_run *runs; /* by worker, for an execution that they share */
    liana__error *errors;
    /* For a team; NULL until liana__cpu_make_ready_together. */
    liana__cpu_phase *phases;
    liana__cpu_progress *progress;
    size_t num_phases;
    bool shares_work; /* some phase has tasks for several workers */
} liana__cpu_executable;

/* A worker's side of one execution. */
typedef struct liana__cpu_run {
    const liana__cpu_executable *executable;
    liana__cpu_worker *worker;
    int worker_index;
    void *scratch;
    bool watches; /* new values of variables, for numbers that are not finite */
    char *packed; /* operands that the running segment has packed for all its slices; NULL: steps pack for themselves */
    liana__error *error;
} liana__cpu_run;

/* Chooses and prepares a kernel for each computed node, or for the slices of it. */
liana_status liana__cpu_make_steps(liana__cpu_executable *executable, liana__error *error);
void liana__cpu_free_steps(liana__cpu_executable *executable);
/* Makes a step, of which `whole` is set, compute a part of it, with the kernel that is set or (NULL) the best one. */
liana_status liana__cpu_make_part(liana__cpu_executable *executable, liana__cpu_step *step, const liana__node_cut *cut,
                                  liana__error *error);
void liana__cpu_release_step(liana__cpu_step *step);

/* Finds the values that can be watched, before there are steps (watch.c). */
liana_status liana__cpu_choose_watched(liana__cpu_executable *executable, liana__error *error);
/* Whether an execution sees all new values of variables. */
bool liana__cpu_watches(const liana__cpu_executable *executable);

/* When steps need more scratch memory than they did: makes the workspaces larger. */
liana_status liana__cpu_grow_scratch(liana__cpu_executable *executable, liana__error *error);

/* Cuts steps into tiles and lists the phases of a team. Optional warm-up: otherwise the first execute_together does it.
 * Not while an execution runs. */
liana_status liana__cpu_make_ready_together(liana__executable *executable, liana__error *error);

/* Chooses the nodes that are kept, before memory is planned for the others. */
liana_status liana__cpu_kept_create(liana__cpu_executable *executable, liana__error *error);
void liana__cpu_kept_free(liana__cpu_kept *kept);
/* Marks a segment as kept if its node is. */
liana_status liana__cpu_keep_segment(liana__cpu_executable *executable, liana__cpu_segment *segment,
                                     liana__error *error);
/* When all segments are made: the inputs that kernels pack. */
liana_status liana__cpu_keep_weights(liana__cpu_executable *executable, liana__error *error);
/* Makes kept values again if a variable has changed. */
liana_status liana__cpu_refresh_kept(const liana__cpu_run *run, liana__buffer *const *variables);

/* Behind nodes that are their input under another shape. */
const liana__node *liana__cpu_find_source(const liana__node *node);
/* Chooses the operands that are packed once for all slices of a segment, among those that are not kept. */
void liana__cpu_plan_packing(liana__cpu_executable *executable);
/* Lays the packed input of a step out. */
liana_status liana__cpu_pack_step(const liana__cpu_run *run, const liana__cpu_step *step, void *packed);
/* A worker's memory in addition to planned tensors, in bytes. */
size_t liana__cpu_private_size(const liana__cpu_executable *executable);

/* Hears of outputs as they are given, before the execution has ended: on its worker, each at most once. */
typedef struct liana__output_watch {
    void (*given)(void *user, size_t output);
    void *user;
} liana__output_watch;

/* The buffers of an execution. */
typedef struct liana__cpu_buffers {
    liana__buffer *const *inputs;
    liana__buffer *const *variables;
    liana__buffer *const *outputs;
    atomic_int *arrivals;             /* by output, where another execution gives to the same ones; else NULL */
    const liana__output_watch *watch; /* NULL: nobody */
    bool *all_finite;                 /* NULL, or what an execution says of it (struct liana__execution) */
} liana__cpu_buffers;

liana_status liana__cpu_check_buffers(const liana_graph *graph, const liana__cpu_buffers *given, liana__error *error);
/* Makes a worker ready to run on its own workspace and on that of the worker `shared`. */
liana__cpu_run liana__cpu_start(liana__cpu_executable *executable, int worker_index, int shared,
                                const liana__cpu_buffers *given, liana__error *error);
/* Delivers the rest, when all has run. */
void liana__cpu_finish(const liana__cpu_run *run, const liana__cpu_buffers *given);

/* Computes a tile of a step that has some. */
liana_status liana__cpu_run_tile(const liana__cpu_run *run, const liana__cpu_step *step, size_t tile);

/* Runs the steps of a segment for one slice. */
liana_status liana__cpu_run_slice(const liana__cpu_run *run, const liana__cpu_segment *segment, size_t slice);
/* For all slices, one after the other, unless its results are kept. */
liana_status liana__cpu_run_segment(const liana__cpu_run *run, const liana__cpu_segment *segment);

/* Lists the nodes that lie in the caller's buffers. */
liana_status liana__cpu_external_values(liana__cpu_executable *executable, liana__error *error);
/* Lists the outputs that can be delivered while later segments still run: those that are computed in place, and
 * copies. */
liana_status liana__cpu_list_deliveries(liana__cpu_executable *executable, liana__error *error);
liana_status liana__cpu_list_early_copies(liana__cpu_executable *executable, liana__error *error);

/* Runs a graph once on one worker. Assignments write into `variables`. Calls with different workers may run at the same
 * time if no buffer that one writes is used by the other. */
liana_status liana__cpu_execute(liana__executable *executable, int worker, liana__buffer *const *inputs,
                                liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error);

/* The same of a graph with a gradient, for one of two executions that accumulate into one output: `arrivals` are an
 * enum liana__arrival, NOBODY_YET before both. A failed execution leaves its share undefined; the other goes on. */
liana_status liana__cpu_execute_and_add(liana__executable *executable, int worker, const liana__cpu_buffers *given,
                                        liana__error *error);

/* Runs once with all workers, to the same bits; while nothing else runs. */
liana_status liana__cpu_execute_together(liana__executable *executable, liana__buffer *const *inputs,
                                         liana__buffer *const *variables, liana__buffer *const *outputs,
                                         liana__error *error);
/* The same, and what it says of new values of variables (struct liana__execution); `all_finite` may be NULL. */
liana_status liana__cpu_execute_together_watched(liana__executable *executable, liana__execution *execution,
                                                 liana__error *error);

/* The CPU's (replica.c). */
extern const liana__replica_functions liana__cpu_replicas;

/* LIANA_VALIDATE: computes a step again with the reference kernel and compares. Errors: INTERNAL with the node, the
 * kernel, the element and both values. */
liana_status liana__cpu_validate_step(const liana__cpu_step *step, const void *const *sources, const void *result,
                                      liana__error *error);

#endif
