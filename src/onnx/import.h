/* import.h - reads ONNX files: a graph of ONNX becomes layers of a model.
 *
 * Values keep their axes as ONNX counts them, and results of layers have the batch first and channels last. So the
 * order of axes is a fact about each value (import_internal.h), and a Transpose of the file costs nothing. */
#ifndef LIANA_ONNX_IMPORT_H
#define LIANA_ONNX_IMPORT_H

#include "base/notes.h"
#include "layers/model.h"

/* Whether liana has an operator of ONNX, perhaps for constants alone. */
bool liana__onnx_has_operator(const char *op);

/* What liana writes into the metadata of its own files; in the model's arena. NULL: it is not there. */
typedef struct liana__onnx_facts {
    const char *class_names; /* a list in JSON */
    const char *pixels;      /* the scale of the images that the file takes; "0..255": it scales them itself */
} liana__onnx_facts;

typedef struct liana__onnx_import_options {
    bool without_values;      /* layers alone: the values of weights are not read */
    liana__onnx_facts *facts; /* NULL: not wanted */
    liana__notes notes;       /* what became of the file that its reader may not expect */
} liana__onnx_import_options;

/* Adds the layers of an ONNX file to an empty model, and sets the values of its weights. External data is read from the
 * folder of the file. Errors: those of reading; INVALID_DATA (no ONNX file, or a damaged one); UNIMPLEMENTED (all
 * operators that liana does not have, or something that they ask for). Each names the file, and the node. */
liana_status liana__model_from_onnx(liana_model *model, const char *path, const liana__onnx_import_options *options,
                                    liana__error *error) LIANA_MUST_USE;

/* The same of bytes in memory. `path` is for messages and external data. */
liana_status liana__model_from_onnx_bytes(liana_model *model, const void *bytes, size_t size, const char *path,
                                          const liana__onnx_import_options *options, liana__error *error)
    LIANA_MUST_USE;

#endif
