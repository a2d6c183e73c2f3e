/* label_advice.h - advice for the label of a tf.Example that is no class number. */
#ifndef LIANA_DATA_LABEL_ADVICE_H
#define LIANA_DATA_LABEL_ADVICE_H

#include "base/text.h"
#include "formats/example.h"

/* Adds how data.columns reads a feature as the target: "'label' is a text; ...". Nothing for one whole number, and for
 * a feature that is missing. */
void liana__label_advice(const liana__example *example, const char *label, liana__text *text);

#endif
