/* metadata.h - what a model takes and gives, as TensorFlow Serving tells it. */
#ifndef LIANA_SERVE_PREDICT_METADATA_H
#define LIANA_SERVE_PREDICT_METADATA_H

#include "base/value.h"
#include "serve/predict/servable.h"

/* {"model_spec": ..., "metadata": {"signature_def": ...}}, with the one signature "serving_default". In the arena,
 * whose `failed` says that there was no memory. */
liana__value *liana__metadata_value(const char *model, int64_t version, const liana__servable *servable,
                                    liana__arena *arena);

#endif
