/* program.h - programs: graphs that run on a device, with values that are fed and results that are fetched by name.
 *
 *     liana_device_open(context, "cpu", &device);
 *     liana_program_create(device, graph, NULL, &program);
 *     liana_variables_initialize(liana_program_variables(program), NULL);
 *     liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(3), x}),
 *                        .fetches = LIANA_FETCHES({.name = "y", .data = y, .size = sizeof y}));
 *
 * A run computes the results that are asked for and no more. The first run that asks for a set of results and
 * assignments compiles the part of the graph that they need; later ones with the same set use it again, and nothing is
 * compiled. Results are copied into the caller's memory.
 *
 * One thread at a time may use a program, its variables and its device. The messages of failures are in the context. */
#ifndef LIANA_PROGRAM_H
#define LIANA_PROGRAM_H

#include <liana/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_program liana_program;

/* Zeros are the defaults. */
typedef struct liana_program_options {
    const char *name;           /* in messages and in the files of LIANA_DUMP; NULL: "program" */
    liana_variables *variables; /* on the same device; must outlive the program. NULL: a set of the program's own */
} liana_program_options;

/* Makes a program of a graph, and adds the graph's variables to its set. `options` may be NULL. The graph and the
 * device must outlive the program. The graph may grow afterwards: later runs see its new nodes. Errors: that of the
 * graph (liana_graph_status); INVALID_ARGUMENT (a variable has another dtype or shape in the set, or there is no device
 * or graph), INVALID_CONFIG (an unknown initialiser), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_program_create(liana_device *device, const liana_graph *graph,
                                                           const liana_program_options *options,
                                                           liana_program **program);

/* NULL is allowed. The program's own set of variables is destroyed with it. */
LIANA_API void liana_program_destroy(liana_program *program);

/* The program's variables. Borrowed. */
LIANA_API liana_variables *liana_program_variables(liana_program *program);

/* A result that is wanted: by name, as liana_graph_tensor finds it, or the tensor itself. */
typedef struct liana_fetch {
    const char *name;    /* NULL: `tensor` names it */
    liana_tensor tensor; /* used only without a name */
    void *data;          /* receives the result, row-major */
    size_t size;         /* of `data` in bytes: exactly that of the result */
} liana_fetch;

/* Lists. A feed is the value of an input of the graph, by name; it is copied.
 *
 *     LIANA_FEEDS({"x", LIANA_F32, shape, x}, ...), LIANA_FETCHES(...), LIANA_NAMES("train")
 *
 * The macros are for C. A C++ program writes an array and {array, count}. */
typedef struct liana_feeds {
    const liana_array *items;
    size_t count;
} liana_feeds;
typedef struct liana_fetches {
    const liana_fetch *items;
    size_t count;
} liana_fetches;
typedef struct liana_names {
    const char *const *items;
    size_t count;
} liana_names;
#if !defined(__cplusplus)
#define LIANA_FEEDS(...)                               \
    ((liana_feeds){(const liana_array[]){__VA_ARGS__}, \
                   sizeof((const liana_array[]){__VA_ARGS__}) / sizeof(liana_array)})
#define LIANA_FETCHES(...)                               \
    ((liana_fetches){(const liana_fetch[]){__VA_ARGS__}, \
                     sizeof((const liana_fetch[]){__VA_ARGS__}) / sizeof(liana_fetch)})
#define LIANA_NAMES(...)                               \
    ((liana_names){(const char *const[]){__VA_ARGS__}, \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)})
#endif

/* The work of a run. Zeros: nothing. */
typedef struct liana_run_options {
    liana_feeds feeds;     /* each input that is needed, once; others may be there as well */
    liana_fetches fetches; /* any results, in any order */
    /* Assignments to make: names of targets (liana_graph_target) or of variables that are assigned to. */
    liana_names assign;
    bool assign_all; /* all assignments of the graph */
} liana_run_options;

/* Runs once; `options` may be NULL. All results and assigned values are of the variables' values before the run.
 * Without fetches it runs for its assignments alone. Errors: NOT_FOUND (an input, result or assignment that does not
 * exist, with the nearest name); INVALID_ARGUMENT (an input that was not fed, fed twice, or has another dtype or shape;
 * a variable that has no value; a result of another size); those of compiling and of the device. Each names the node or
 * array concerned. After a failure no variable has changed. */
LIANA_API LIANA_MUST_USE liana_status liana_program_run(liana_program *program, const liana_run_options *options);

/* The same with the options written as in a call: liana_run(program, .feeds = ..., .fetches = ...). For C. */
#if !defined(__cplusplus)
#define liana_run(program, ...) liana_program_run(program, &(liana_run_options){__VA_ARGS__})
#endif

/* ---- files ---- */

/* Writes a graph to a file, or reads one. Names of inputs, variables, outputs and assignments are kept; other names,
 * initialisers and targets are not. Equal graphs give equal bytes. The file is replaced as a whole. Errors: that of the
 * graph; NOT_FOUND, IO_ERROR, OUT_OF_MEMORY; DATA_LOSS (cut off, or damaged), INVALID_DATA (no such file, or of an
 * unknown version or op), each with the path. */
LIANA_API LIANA_MUST_USE liana_status liana_graph_save(const liana_graph *graph, const char *path);
LIANA_API LIANA_MUST_USE liana_status liana_graph_load(liana_context *context, const char *path, liana_graph **graph);

#ifdef __cplusplus
}
#endif
#endif
