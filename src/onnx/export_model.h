/* export_model.h - writes a model as an ONNX file. */
#ifndef LIANA_ONNX_EXPORT_MODEL_H
#define LIANA_ONNX_EXPORT_MODEL_H

#include "base/error.h"

#include <liana/onnx.h>

/* The most bytes of weights within the file: one of protobuf must stay below 2 GiB. */
#define LIANA__ONNX_MOST_INSIDE ((size_t)2000 << 20)

/* The names of liana_onnx_pixels, NULL-terminated. */
extern const char *const liana__onnx_pixels_names[];

/* Whether a name ends as that of an ONNX file. */
bool liana__onnx_is_named(const char *path);

/* As liana_model_save_onnx, for the model of a context that is in a call; more weights than `most_inside` bytes are
 * written beside the file. */
liana_status liana__onnx_save(liana_model *model, const char *path, const liana_onnx_options *options,
                              size_t most_inside, liana__error *error) LIANA_MUST_USE;

/* The same for a graph without variables, with its own inputs and outputs. */
liana_status liana__onnx_save_graph(const liana_graph *graph, const char *path, liana__error *error) LIANA_MUST_USE;

#endif
