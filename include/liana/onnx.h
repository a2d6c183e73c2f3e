/* onnx.h - models as ONNX files (opset 17), for onnxruntime and other programs that run them. docs/guides/onnx.md shows
 * both ways. */
#ifndef LIANA_ONNX_H
#define LIANA_ONNX_H

#include <liana/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The images that an ONNX file takes. */
typedef enum liana_onnx_pixels {
    LIANA_ONNX_SCALED,  /* the model's own input: the caller scales the pixels */
    LIANA_ONNX_FLOAT32, /* float32, 0 to 255; the file scales them as the model was trained (liana_preprocessing) */
    LIANA_ONNX_UINT8,   /* the same as uint8 */
} liana_onnx_pixels;

/* Zeros are the defaults. */
typedef struct liana_onnx_options {
    int64_t batch;            /* examples in each call; 0: any number */
    liana_onnx_pixels pixels; /* for the model's first input of images [batch, height, width, channels] */
} liana_onnx_options;

/* Writes a model as an ONNX file: its inference, in float32, with the names of its inputs and outputs, and the names of
 * its classes as metadata. Images are [batch, height, width, channels], as in liana. Random layers do nothing in
 * inference and are left out. The file is written whole or not at all. Weights of more than 2 GiB are written beside
 * it, to a file of that name with `.data` behind it; both files belong together.
 *
 * `options` may be NULL. Errors: INVALID_ARGUMENT (options out of range; pixels of a model without images; inputs whose
 * sizes the data give: liana_model_set_input_shape), UNIMPLEMENTED (parts that ONNX cannot say, all named with their
 * layers, before anything is written), NOT_FOUND (no such folder), IO_ERROR, OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_save_onnx(liana_model *model, const char *path,
                                                            const liana_onnx_options *options);

/* Makes a new model from an ONNX file, whatever its name is (liana_model_load reads those called .onnx): convolutions,
 * dense layers, normalisations, embeddings and recurrent networks become layers with weights that can be trained; other
 * operators become layers without weights. Images are [batch, height, width, channels] in the model, also where the
 * file has the channels before them. Layers are named as the file's initializers ("layer1.0.conv1"), else as its nodes.
 * Numbers are read as float32. Opsets 7 to 24, as PyTorch and Keras write them; docs/guides/onnx.md lists the
 * operators. Notes are in the log of training (LIANA_LOG=train).
 *
 * Errors: those of reading the file, and files beside it that its weights are in; INVALID_DATA (no ONNX file, or a
 * damaged one); UNIMPLEMENTED (operators that liana does not have, all named; sizes other than the batch that are not
 * fixed). */
LIANA_API LIANA_MUST_USE liana_status liana_model_load_onnx(liana_context *context, const char *path,
                                                            liana_model **model);

#ifdef __cplusplus
}
#endif
#endif
