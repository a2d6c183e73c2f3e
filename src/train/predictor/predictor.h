/* predictor.h - the inside of liana_predictor. */
#ifndef LIANA_TRAIN_PREDICTOR_H
#define LIANA_TRAIN_PREDICTOR_H

#include "base/context.h"
#include "train/model/compiled.h"
#include "train/model/image_reader.h"
#include "train/objective/prediction_rows.h"

#include <liana/predictor.h>

#include <stdatomic.h>

/* A model that predictors and decoders have in common. The last of them frees it. */
typedef struct liana__shared_model {
    atomic_size_t num_holders;
    liana_model *model;
    liana_context *context; /* of the program */
    bool is_borrowed;       /* the model is the program's */
    float **weights;        /* [num_weights] their values, aligned, which devices are lent; NULL: not taken yet */
    size_t num_weights;
} liana__shared_model;

/* An input, as the graphs read it. */
typedef struct liana__predictor_input {
    liana_predictor_port port;
    liana__component_name component; /* of the batch */
    liana_dtype dtype;               /* of its rows */
    liana_shape shape;               /* of an example, without the batch */
    size_t row_size;                 /* bytes */
    liana__row_of_texts texts;       /* run NULL: it is no input of texts */
    uint8_t *rows;                   /* [largest batch, ...], aligned: a copy of what the caller gives, where needed */
} liana__predictor_input;

struct liana_predictor {
    liana__shared_model *shared;
    liana_context *context; /* a branch with errors and threads of its own */
    liana__pool *pool;      /* those threads */
    liana__arena arena;
    liana_predictor_facts facts;
    liana_scale scale;
    liana__predictor_input *inputs; /* [num_inputs] */
    liana_predictor_port *outputs;  /* [num_outputs] */
    liana__training training;
    bool is_compiled;
    int64_t *computed;            /* [batch_size + 1]: how many examples are computed for a batch of so many */
    uint64_t *positions;          /* [batch_size] */
    float *rows;                  /* [batch_size, num_values]: outputs with those of copies */
    liana_image_decoder *decoder; /* NULL: it takes no images */
};

/* Takes hold of it once more; lets it go. */
liana__shared_model *liana__shared_model_hold(liana__shared_model *shared);
void liana__shared_model_release(liana__shared_model *shared);

/* Takes the values of the model's weights, once. A model that is not the program's then has none itself. */
liana_status liana__shared_model_take_weights(liana__shared_model *shared, liana__error *error) LIANA_MUST_USE;

/* Compiles, and finds inputs, outputs and facts. The shared model is set. Errors: those of liana_predictor_open. */
liana_status liana__predictor_compile(liana_predictor *predictor, const liana_predictor_options *options,
                                      liana__error *error) LIANA_MUST_USE;

/* Runs the first `count` rows of the inputs, which `batch` has, without looking at them. */
liana_status liana__predictor_run_rows(liana_predictor *predictor, liana__batch *batch, int64_t count, float *outputs,
                                       liana__error *error) LIANA_MUST_USE;
/* Fills up the rows of `count` examples with copies of the last one. */
void liana__predictor_fill_up(const liana__predictor_input *input, int64_t count, int64_t computed);
/* Fails for a batch of none or too many. `what` is "examples" or "images". */
liana_status liana__predictor_check_count(const liana_predictor *predictor, int64_t count, const char *what,
                                          liana__error *error) LIANA_MUST_USE;

#endif
