/* export.h - a trained model as a folder that is taken along: `liana export`.
 *
 * model.json, weights.safetensors   what liana_model_load reads
 * class_names.txt                   a name a line, in the order of the outputs; only of a model of classes
 * preprocessing.json                how images enter the model
 * README.md                         the model card
 * training/config.yaml, history.json  of a run: its resolved configuration and its results
 * examples/                         inputs and the outputs that belong to them; examples.json lists the files
 * SHA256SUMS                        of all files, for sha256sum -c */
#ifndef LIANA_TRAIN_EXPORT_H
#define LIANA_TRAIN_EXPORT_H

#include "train/config/config.h"
#include "train/predictor/predictor.h"

enum { LIANA__MOST_EXPORT_EXAMPLES = 64 };

/* How far an output may be from the recorded one, of an example: another processor or version rounds otherwise. */
#define LIANA__EXPORT_TOLERANCE 1e-3

typedef struct liana__export {
    liana_context *context;
    const char *from; /* as it was named, for the card */
    liana_model *model;
    const liana__config *config; /* of the run; NULL: it is no run */
    const char *run;             /* its folder; NULL: none */
    const char *checkpoint;      /* the folder of the checkpoint that the weights are from; NULL: none */
    int64_t num_examples;        /* at most LIANA__MOST_EXPORT_EXAMPLES */
    liana__remote *remote;       /* fetches data; NULL: made where it is needed */
    liana__notes notes;
    liana__arena *arena;
} liana__export;

/* Writes all files into a folder, which is empty. Errors: IO_ERROR, those of compiling. */
liana_status liana__export_write(const liana__export *own, const char *folder, liana__error *error) LIANA_MUST_USE;

/* ---- examples ---- */

/* An example that was chosen. */
typedef struct liana__export_example {
    const char *id;    /* NULL: it has none */
    int64_t label;     /* -1: not known */
    liana_bytes image; /* its image file; size 0: it has none */
} liana__export_example;

/* Everything is in an arena. */
typedef struct liana__export_examples {
    const char *source; /* "validation data"; NULL: they are made up */
    size_t count;
    liana__export_example items[LIANA__MOST_EXPORT_EXAMPLES];
    liana_array inputs[LIANA__MAX_INPUTS]; /* [count, ...], as liana_predictor_run takes them */
    size_t num_inputs;
    float *outputs; /* [count, num_values] */
} liana__export_examples;

/* Chooses examples of several classes: of the validation data of the run, else of the test or the training data. Where
 * there are none that can be read, numbers are drawn. The predictor has batch_size 1. */
liana_status liana__export_choose(const liana__export *own, liana_predictor *predictor,
                                  liana__export_examples *examples, liana__error *error) LIANA_MUST_USE;
/* Computes `outputs`, example by example. */
liana_status liana__export_compute(liana_predictor *predictor, liana__export_examples *examples, liana__arena *arena,
                                   liana__error *error) LIANA_MUST_USE;
/* Writes the files below FOLDER/examples; and reads them again, with the outputs as they were written. Errors of
 * reading: INVALID_DATA (files that do not fit the model), DATA_LOSS. */
liana_status liana__export_write_examples(const liana_predictor *predictor, const liana__export_examples *examples,
                                          const char *folder, liana__arena *arena, liana__error *error) LIANA_MUST_USE;
liana_status liana__export_read_examples(const liana_predictor *predictor, const char *folder, liana__arena *arena,
                                         liana__export_examples *examples, liana__error *error) LIANA_MUST_USE;

/* ---- the card ---- */

/* README.md. `predictor` has the model of the folder. */
liana_status liana__export_write_card(const liana__export *own, const liana_predictor *predictor,
                                      const liana__export_examples *examples, const char *folder, liana__error *error)
    LIANA_MUST_USE;

/* ---- checksums ---- */

/* Writes FOLDER/SHA256SUMS, of all files below it. */
liana_status liana__export_write_sums(const char *folder, liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* ---- verifying ---- */

typedef struct liana__export_report {
    size_t num_files; /* whose checksums hold */
    size_t num_examples;
    double largest; /* difference of an output */
    bool same_bits; /* of all outputs */
} liana__export_report;

/* Looks whether all files of a folder are as they were exported, and computes the examples once more. Errors: NOT_FOUND
 * (no such folder), DATA_LOSS (a file is missing or has changed), INVALID_DATA (outputs differ by more than the
 * tolerance), those of opening. */
liana_status liana__export_verify(liana_context *context, const char *folder, liana__export_report *report,
                                  liana__error *error) LIANA_MUST_USE;

#endif
