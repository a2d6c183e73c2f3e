/* number_rows.h - rows of numbers and estimators on them, for tests of model functions. */
#ifndef LIANA_TESTS_NUMBER_ROWS_H
#define LIANA_TESTS_NUMBER_ROWS_H

#include "harness/tiny_fit.h"

enum { LIANA__ROWS = 40, LIANA__ROW_WIDTH = 3, LIANA__ROW_CLASSES = 4, LIANA__ROW_BATCH = 8 };

typedef struct liana__number_rows {
    liana_context *context;
    liana_dataset *data; /* x f32 [3], y f32 [], label s64 [] */
    float xs[LIANA__ROWS * LIANA__ROW_WIDTH], ys[LIANA__ROWS];
    int64_t labels[LIANA__ROWS];
    /* For the test: models, which are closed with the rest; and which variant of a function or which mistake it
     * makes. */
    liana_model *model, *other;
    int what;
    /* The optimizer of the line's function; NULL: SGD, and no update of its own. */
    const char *optimizer;
    void (*update)(liana_update *update, void *params);
} liana__number_rows;

/* Makes the test's folder, a context with two threads, and the data. */
void liana__number_rows_open(liana__number_rows *own);
void liana__number_rows_close(liana__number_rows *own);

/* An estimator called "numbers"; its function gets the rows as params. */
liana_estimator *liana__rows_estimator(const liana__number_rows *own, liana_estimator_options options);
/* Updates on all rows in order, up to `max_steps`. */
liana_train_spec liana__rows_train(const liana__number_rows *own, int64_t max_steps);

/* y = w x + b with the squared error, in variables "line/w" and "line/b". */
liana_estimator_spec liana__line_fn(const liana_features *features, const liana_features *targets,
                                    const liana_estimator_mode *mode, void *params);
liana_estimator_options liana__line_options(void);

#endif
