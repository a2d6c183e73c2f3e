/* predict.h - the parts of liana predict: what is predicted, by which models, and in which form it is written.
 *
 * A model is a run and one of its checkpoints. Several models, and several variants of each image, are averaged: rows
 * of outputs are summed pass by pass, and the last pass gives the examples with the means. */
#ifndef LIANA_CLI_PREDICT_PREDICT_H
#define LIANA_CLI_PREDICT_PREDICT_H

#include "cli/remote_files.h"
#include "cli/session.h"
#include "formats/csv.h"
#include "formats/example.h"
#include "formats/npy.h"
#include "formats/tfrecord.h"
#include "train/run/run_truth.h"

/* ---- the data (predict_inputs.c) ---- */

typedef struct liana__predict_inputs {
    liana__strings paths; /* in the invocation's arena */
    const char *folder;   /* a temporary one, of what standard input gave; NULL: none */
} liana__predict_inputs;

/* The data of the command line: operands after the run, or --data. "@FILE" is a list of names, a line each; "-" is
 * standard input. Free them in any case. Errors: INVALID_CONFIG, NOT_FOUND (a name of a list), IO_ERROR. */
liana_status liana__predict_find_inputs(liana__invocation *invocation, liana__predict_inputs *inputs) LIANA_MUST_USE;
void liana__predict_inputs_free(liana__predict_inputs *inputs);

/* The items of an option such as "best,epoch-3", in the invocation's arena. A path that exists is one item, whatever
 * characters it has. None: the option was not given. Errors: INVALID_CONFIG (an empty item), OUT_OF_MEMORY. */
liana_status liana__predict_split(liana__invocation *invocation, const char *option, liana__strings *items)
    LIANA_MUST_USE;

/* ---- columns that are kept (predict_kept.c) ---- */

/* The tables that examples come from, for --keep. */
typedef struct liana__kept_table liana__kept_table;

/* Reads the CSV files of a source, which outlives the table. Errors: INVALID_CONFIG (no CSV files, or files with
 * different columns), and those of reading. */
liana_status liana__kept_table_open(const liana__run *run, const liana__source *source, liana__kept_table **table,
                                    liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__kept_table_close(liana__kept_table *table);
size_t liana__kept_table_num_columns(const liana__kept_table *table);
const char *liana__kept_table_name(const liana__kept_table *table, size_t column);
/* A cell of the row of a record. "" if there is no such row. */
const char *liana__kept_table_cell(const liana__kept_table *table, uint64_t record, size_t column);

/* ---- predictions ---- */

/* What all predictions have in common. */
typedef struct liana__predict_facts {
    liana__invocation *invocation;
    const liana__run *run; /* the first model's: the classes of all */
    const liana__run_data *data;
    const liana__objective *objective;
    liana__output_classes classes[LIANA__MAX_OUTPUTS]; /* of each output */
    const char **keys[LIANA__MAX_OUTPUTS];             /* of all classes, in JSON */
    size_t row_size;
    size_t *top;             /* room for the likeliest classes */
    size_t num_top;          /* how many are shown */
    bool of_classes;         /* the only output says classes */
    bool of_labels;          /* the only output says for each label whether an example has it */
    bool with_probabilities; /* CSV has a column for each class */
    bool has_truth;
    const liana__kept_table *kept; /* NULL: no column is kept */
    bool is_chief;                 /* this process prints and writes */
} liana__predict_facts;

typedef struct liana__prediction {
    const char *id;
    uint64_t record;
    const float *output; /* [row_size] */
    int truth;           /* -1: not known */
    size_t said;         /* the class that is said; of an only output of classes */
} liana__prediction;

/* Fills in all but `has_truth` and `kept`. Errors: INVALID_CONFIG (--top; --threshold of a model that has none),
 * OUT_OF_MEMORY. */
liana_status liana__predict_facts_find(liana__invocation *invocation, const liana__run *run,
                                       const liana__run_data *data, liana__predict_facts *facts) LIANA_MUST_USE;
size_t liana__predict_output_size(const liana__predict_facts *facts, size_t output);
/* The classes to show, the likeliest first, in facts->top; returns how many. */
size_t liana__predict_find_shown(const liana__predict_facts *facts, const liana__output_classes *classes,
                                 const float *probabilities);

/* Whether an example has a label, by its probability: above train.threshold. Of an output of several labels. */
bool liana__predict_has_label(const liana__predict_facts *facts, const float *probabilities, size_t label);

/* ---- models (predict_models.c) ---- */

typedef struct liana__predict_options {
    const char *folder; /* of the first run; NULL: --model */
    const liana__source_config *where;
    liana__strings checkpoints; /* none: the newest */
    liana__strings others;      /* further runs */
    int64_t draws;              /* --augment; 0: not given */
    bool shows_progress;
} liana__predict_options;

/* Counts what was predicted. */
typedef struct liana__predict_counts {
    liana__measured measured;
    int64_t labelled; /* with a true class */
    int64_t right;
} liana__predict_counts;

typedef liana_status (*liana__on_prediction)(void *user, const liana__prediction *one, liana__error *error);

/* Predicts with the first run, which is open and has its data, and all others, and calls `on_prediction` for each
 * example in order. Errors: INVALID_CONFIG (models that do not fit together, no augmentation), INVALID_DATA (an output
 * that is no number), those of opening runs and of reading. */
liana_status liana__predict_all(const liana__predict_options *options, liana__predict_facts *facts,
                                liana__session *session, liana__run *run, const liana__run_truth *truth,
                                liana__on_prediction on_prediction, void *user, liana__predict_counts *counts)
    LIANA_MUST_USE;

/* Puts --threshold, --batch-size and --seed in the place of the run's (predict.c). */
liana_status liana__predict_read_options(liana__invocation *invocation, liana__session *session) LIANA_MUST_USE;

/* ---- printing (predict_print.c) ---- */

/* Prints a prediction, as lines or JSON; a liana__on_prediction whose user is the facts. */
liana_status liana__predict_print(void *user, const liana__prediction *one, liana__error *error) LIANA_MUST_USE;
/* The same as an event, in the arena. */
liana__value *liana__predict_event(const liana__predict_facts *facts, const liana__prediction *one,
                                   liana__arena *arena);
/* The totals: of examples that are printed, and of a file. */
void liana__predict_print_right(liana__invocation *invocation, const liana__predict_counts *counts);
void liana__predict_print_written(liana__invocation *invocation, const char *path, const liana__predict_counts *counts);

/* ---- files (predict_writer.c) ---- */

typedef struct liana__predict_writer liana__predict_writer;

/* The form of a file. Text is gathered in each process of a cluster, and written at the end by the one that is then the
 * chief. Other forms are written as examples come, by the chief alone. */
typedef struct liana__predict_form {
    const char *ending; /* ".npy"; NULL: any other */
    bool of_text;
    liana_status (*begin)(liana__predict_writer *writer, liana__error *error);
    liana_status (*add)(liana__predict_writer *writer, const liana__prediction *one, liana__error *error);
    liana_status (*finish)(liana__predict_writer *writer, liana__error *error); /* NULL for text */
    void (*abandon)(liana__predict_writer *writer);                             /* after a failure; NULL for text */
} liana__predict_form;

struct liana__predict_writer {
    const liana__predict_facts *facts;
    const liana__predict_form *form;
    const char *name; /* as it was given: may be a URL */
    const char *path; /* a local file or folder */
    liana__sending sending;
    bool is_sending;
    bool is_open;     /* the files are */
    liana__text text; /* of the form, or of the rows beside an array */
    liana__npy arrays[LIANA__MAX_OUTPUTS];
    size_t num_arrays; /* that are open */
    liana__tfrecord_writer records;
    liana__example_builder builder;
    struct liana__predict_pictures *pictures;
};

extern const liana__predict_form liana__predict_csv, liana__predict_jsonl, liana__predict_npy, liana__predict_tfrecord,
    liana__predict_folder;

/* The form that a path asks for: by its ending; a folder that exists, or a name with a slash at its end, is one of
 * pictures; else CSV. */
const liana__predict_form *liana__predict_find_form(const char *path);
/* Begins the file `path`. Free the writer in any case. Errors: INVALID_CONFIG (no images for pictures), IO_ERROR. */
liana_status liana__predict_writer_begin(liana__predict_writer *writer, const liana__predict_facts *facts,
                                         const char *path, liana__error *error) LIANA_MUST_USE;
/* A liana__on_prediction. */
liana_status liana__predict_writer_add(void *writer, const liana__prediction *one, liana__error *error) LIANA_MUST_USE;
/* After the last one: the file appears. A collective operation. */
liana_status liana__predict_writer_finish(liana__predict_writer *writer, liana__error *error) LIANA_MUST_USE;
void liana__predict_writer_free(liana__predict_writer *writer);

/* The rows of a CSV file, predict_csv.c; `with_probabilities`: a column for each. */
void liana__predict_add_header(const liana__predict_facts *facts, bool with_probabilities, liana__text *text);
void liana__predict_add_row(const liana__predict_facts *facts, const liana__prediction *one, bool with_probabilities,
                            liana__text *text);

/* Where a file that is written as examples come is made: `path`, or for a URL a local file that is sent at the end
 * (liana__sending_end, if *is_sending). Errors: those of liana__sending_start. */
liana_status liana__predict_find_place(liana__invocation *invocation, const char *path, liana__sending *sending,
                                       bool *is_sending, const char **local) LIANA_MUST_USE;

/* ---- outputs of layers (predict_layer.c) ---- */

liana_status liana__predict_check_layer(liana__invocation *invocation, const char *path) LIANA_MUST_USE;
liana_status liana__predict_layer(liana__invocation *invocation, liana__run *run, const liana__run_data *data,
                                  const char *path, bool is_chief) LIANA_MUST_USE;

#endif
