/* incident.h - a program whose numbers went bad, with all that it read: enough to run it again, here or elsewhere.
 *
 * The program is the graph of a shard, of the sum over shards, of the weights' penalty, or of an update. Facts are a
 * map: "what" ("shard", "validation shard", "sum over shards", "penalty" or "update"), "fault" (a sentence), "epoch"
 * and "step" from 1, "update", "learning_rate", "losses" of the last good updates, "examples" of the shard
 * ({"position", "file", "record", "id"}), "instruction_set", "precision". Numbers that are not finite are texts: "nan",
 * "inf", "-inf". */
#ifndef LIANA_TRAIN_INCIDENT_H
#define LIANA_TRAIN_INCIDENT_H

#include "base/value.h"
#include "exec/node_check.h"
#include "step/step.h"

/* Zero-initialise; free with liana__incident_free. */
typedef struct liana__incident {
    liana__arena arena; /* facts, finding, and the values that the graph read */
    liana_graph *graph;
    const void **inputs; /* by input, as by variable: aligned host data */
    const void **variables;
    int64_t num_rows; /* examples of a shard; 0: it is no shard */
    liana__value *facts;
    liana__value *finding; /* NULL: not examined */
} liana__incident;

void liana__incident_free(liana__incident *incident);

/* Makes room for the values that the graph reads, all zeros. Errors: OUT_OF_MEMORY. */
liana_status liana__incident_reserve(liana__incident *incident, liana__error *error) LIANA_MUST_USE;

/* Notes the layers of the graph's nodes: a node's file is then the layer's name, a newline and the file. Nodes keep it
 * through passes and in files. `layer_of` NULL or returning NULL: no layer. Errors: OUT_OF_MEMORY. */
liana_status liana__incident_note_layers(liana__incident *incident,
                                         const char *(*layer_of)(const void *user, const liana__node *node),
                                         const void *user, liana__error *error) LIANA_MUST_USE;

/* Runs the graph node by node and sets `finding`:
 *   "reproduced"       whether a result is not finite
 *   "kind"             of the first bad node: "op", "input", "variable" or "constant"
 *   "op", "name", "layer", "where" (FILE:LINE), "kernel", "fused", "type" ("f32[8, 10]"), "result" (a range)
 *   "inputs"           [{"name", "type", "range"}, ...]
 *   "bad_result"       the first result that is not finite, "bad_result_range"
 *   "bad_examples"     indices of the examples whose rows of the node are not finite; [] if that cannot be told
 * A range is {"min", "max", "mean", "count", "nan", "inf", "first_bad"}; the first three are of finite numbers. If the
 * graph as it is written gives finite results, it is run with all passes, as devices run it. Errors: OUT_OF_MEMORY, and
 * those of kernels. */
liana_status liana__incident_examine(liana__incident *incident, liana__error *error) LIANA_MUST_USE;

/* Whether numbers went bad again. */
bool liana__incident_is_reproduced(const liana__incident *incident);
/* The finding in one sentence: which op of which layer. Running out of memory leaves the text empty. */
void liana__incident_summary(const liana__incident *incident, liana__text *text);
/* ... and which of the shard's examples have bad numbers. */
void liana__incident_tell(const liana__incident *incident, liana__text *text);

/* A number in facts: a text if it is not finite. */
liana__value *liana__incident_number(liana__arena *arena, double number);

/* ---- rerun ---- */

/* A step whose numbers went bad, run again node by node: it finds the program, and in that the op, that gave the first
 * number that is not finite. It does so for every step, with any builders. */

/* All is borrowed. */
typedef struct liana__rerun {
    liana__step *step;
    const liana__batch *batch;
    const double *scalars; /* of the update */
    bool of_validation;    /* it was an evaluation */
    bool masked;           /* training shards are those of devices with static shapes */
    /* The value of a variable before an update that gave bad values: host data by the variable's index. NULL: it is as
     * on the device. */
    const void *(*before)(const void *user, size_t variable);
    const void *values;
    /* The layer of a node of a shard, and of a variable; NULL: nothing has layers. */
    const char *(*layer_of_node)(const void *user, const liana__node *node);
    const char *(*layer_of_variable)(const void *user, const char *name);
    /* Adds the file and record of an example to a map. NULL: they are not known. */
    void (*note_record)(const void *user, int64_t example, liana__arena *arena, liana__value *map);
    /* Adds facts to the program ("what") and the fault, and the examples of the shard among them. NULL: there are no
     * more facts. */
    void (*note_facts)(const void *user, liana__arena *arena, liana__value *facts, liana__value *examples);
    const void *user;
} liana__rerun;

/* Finds the program that went bad - of the shards the first one - and examines it. The step was just done. Where
 * nothing goes bad again, the incident is that of the last program tried, and its finding says so. Free the incident
 * in any case. Errors: those of building and running graphs, OUT_OF_MEMORY. */
liana_status liana__rerun_find(const liana__rerun *rerun, const liana__fault *fault, liana__incident *incident,
                               liana__error *error) LIANA_MUST_USE;

/* The graph of a shard with all that it reads, and its layers noted; facts and finding are NULL. Free the incident in
 * any case. Errors: those of building graphs, OUT_OF_MEMORY. */
liana_status liana__rerun_shard(const liana__rerun *rerun, const liana__leaf_batch *shards, size_t number,
                                liana__incident *incident, liana__error *error) LIANA_MUST_USE;

#endif
