/* response.h - predictions as TensorFlow Serving's JSON. */
#ifndef LIANA_SERVE_PREDICT_RESPONSE_H
#define LIANA_SERVE_PREDICT_RESPONSE_H

#include "base/text.h"

#include <liana/predictor.h>

/* What a model gave: a row of values for each example. */
typedef struct liana__response_rows {
    const liana_predictor_port *outputs;
    size_t num_outputs;
    int64_t num_values; /* of a row */
    const float *values;
    int64_t count;
} liana__response_rows;

/* {"predictions": ...}, or {"outputs": ...} for a request in columns. */
void liana__response_add_predictions(liana__text *text, const liana__response_rows *rows, bool is_columns);
/* {"results": [[[LABEL, SCORE], ...], ...]}, the best first, `top` of them (0: all). A class without a name has its
 * number as label. Errors: INVALID_ARGUMENT, for a model that has not one output of classes; OUT_OF_MEMORY. */
liana_status liana__response_add_classes(liana__text *text, const liana__response_rows *rows, int64_t top,
                                         liana__error *error) LIANA_MUST_USE;
/* {"results": [NUMBER, ...]}. Errors: INVALID_ARGUMENT, for a model that has not one output of one number. */
liana_status liana__response_add_regressions(liana__text *text, const liana__response_rows *rows, liana__error *error)
    LIANA_MUST_USE;
/* {"error": MESSAGE}. */
void liana__response_add_error(liana__text *text, const char *message);

/* As few digits as are needed to read the same float32 back, and a point or an exponent: "0.1", "3.0", "1e-07",
 * "NaN". */
void liana__response_add_float(liana__text *text, float value);
/* A text with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void liana__response_add_text(liana__text *text, const char *string);

#endif
