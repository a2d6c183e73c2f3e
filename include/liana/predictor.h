/* predictor.h - a predictor: a trained model that is compiled to predict, for programs that use it.
 *
 *     liana_predictor *p;
 *     liana_predictor_open(context, "flowers", NULL, &p);
 *     float *probabilities = malloc((size_t)liana_predictor_info(p).num_values * sizeof(float));
 *     while (next_frame(camera, &frame)) {
 *         liana_predictor_run_images(p, &(liana_pixels){frame, 480, 640, 3}, 1, probabilities);
 *         ...
 *     }
 *     liana_predictor_close(p);
 *
 * A run takes up to batch_size examples, and writes a row of outputs for each: the values of all outputs of the model,
 * one behind the other, as liana_predict does. Of a model that was fitted from logits they are probabilities.
 *
 * Programs are compiled when a predictor is opened. On a CPU a run allocates nothing once it has seen images of the
 * largest size. (oneDNN, which computes some convolutions, makes and deletes a few objects below 1 KiB.) Batches of
 * some sizes are compiled; one between them is filled up with copies of its last example. The outputs of an example do
 * not depend on the others in its batch. Those of batches of different sizes may round differently.
 *
 * Threads. A predictor is used by one thread at a time, which may be another one than that of its context. It has
 * compute threads of its own. Several predictors run at the same time; those that liana_predictor_share makes have the
 * weights in common. Open, share and close them while no other thread uses their context.
 *
 * Errors. A failed open leaves its message in the context. A failed call on a predictor leaves it in the predictor
 * (liana_predictor_message), and the predictor can be used again. */
#ifndef LIANA_PREDICTOR_H
#define LIANA_PREDICTOR_H

#include <liana/array.h>
#include <liana/model.h>
#include <liana/preprocessing.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_predictor liana_predictor;

/* Zeros are the defaults. */
typedef struct liana_predictor_options {
    int64_t batch_size; /* the largest number of examples of a run; 0: 1. At most 65536 */
    const char *device; /* as in liana_device_open: "cpu", "gpu", "pjrt:cpu"; NULL: "cpu" */
    int num_threads;    /* compute threads of its own, on a CPU; 0: as many as the context has */
    /* How pixels enter the model; LIANA_SCALE_AUTO: as the model says. Say it for a model that does not know it: one of
     * a Keras or ONNX file. */
    liana_scale scale;
    /* The images that liana_predictor_run gets are prepared: f32, scaled already as the model's first layer takes them.
     * liana_predictor_run_images and liana_predictor_run_encoded are then errors. false: they are pixels, 0 to 255. */
    bool prepared_images;
} liana_predictor_options;

/* Opens whatever liana_model_load does: a folder of `liana export`, of liana_model_save, a run, a checkpoint of a run,
 * a .keras, .h5 or .onnx file, or a URL of one. `options` may be NULL. The context must outlive the predictor. Errors,
 * in the context: those of liana_model_load, of opening the device and of compiling; INVALID_ARGUMENT (an option out of
 * range), OUT_OF_MEMORY. *predictor is then NULL. */
LIANA_API LIANA_MUST_USE liana_status liana_predictor_open(liana_context *context, const char *path,
                                                           const liana_predictor_options *options,
                                                           liana_predictor **predictor);

/* Makes a predictor of a model of the program, with its weights as they are now. The model must outlive the predictor,
 * and keep its layers. Errors, in the model's context: as above. */
LIANA_API LIANA_MUST_USE liana_status liana_predictor_create(liana_model *model, const liana_predictor_options *options,
                                                             liana_predictor **predictor);

/* Makes another predictor of the same model, for another thread. On a CPU the weights are in memory once. Closing one
 * of them leaves the others as they are. Errors, in the context: as above. */
LIANA_API LIANA_MUST_USE liana_status liana_predictor_share(const liana_predictor *predictor,
                                                            const liana_predictor_options *options,
                                                            liana_predictor **other);

/* Frees it. NULL is allowed. */
LIANA_API void liana_predictor_close(liana_predictor *predictor);

/* The sentence that explains the last failure of a call on this predictor, or "" (also for NULL). Borrowed: valid until
 * the next call that fails. */
LIANA_API const char *liana_predictor_message(const liana_predictor *predictor);

/* ---- what it takes and gives ---- */

/* Facts that stay the same; pointers are valid as long as the predictor. */
typedef struct liana_predictor_facts {
    const char *name; /* of the model */
    int64_t batch_size;
    size_t num_inputs, num_outputs;
    int64_t num_values; /* of an example, of all outputs: the length of a row */
    /* Of a model that has one input, of images: their size at the model, and how pixels are scaled and resized. */
    bool takes_images;
    int64_t height, width;
    int channels;
    liana_preprocessing preprocessing; /* the scale as the options say it */
} liana_predictor_facts;
/* Zeros for NULL. */
LIANA_API liana_predictor_facts liana_predictor_info(const liana_predictor *predictor);

/* An input or output, as liana_predictor_run has it. */
typedef struct liana_predictor_port {
    const char *name; /* NULL: there is no such port */
    /* LIANA_F32, LIANA_S32 (ids), LIANA_STRING (texts), or LIANA_U8: images, which may also be f32. Outputs are f32. */
    int dtype;
    liana_shape shape;  /* [batch, ...], with LIANA_UNKNOWN_DIM for the batch */
    int64_t num_values; /* of an example */
    int64_t offset;     /* of an output: its first value in a row */
    int64_t num_ids;    /* of an input of ids: they are 0 to num_ids - 1; 0: any number */
    bool is_image;      /* pixels, 0 to 255, [batch, height, width, channels] */
    /* Of an output of classes: their names in the order of its values, then NULL. NULL: they have none, or it gives
     * numbers. Two names of one value: it is the probability of the second. */
    const char *const *class_names;
    size_t num_class_names;
} liana_predictor_port;
LIANA_API liana_predictor_port liana_predictor_input(const liana_predictor *predictor, size_t index);
LIANA_API liana_predictor_port liana_predictor_output(const liana_predictor *predictor, size_t index);

/* ---- running ---- */

/* Predicts a batch of 1 to batch_size examples. `arrays` are the model's inputs by name, [batch, ...] each, as
 * liana_predictor_input says; the array of an only input may have any name, or none. Images are u8 or f32 pixels, 0 to
 * 255, of the model's size; nothing is resized. `outputs` receives [batch, num_values]. Arrays are borrowed during the
 * call.
 *
 * Errors: INVALID_ARGUMENT (an array that is missing, unknown, or has another dtype or shape; too many examples),
 * OUT_OF_RANGE (a value that is not finite, or an id that is out of range, with the number of the example; or the model
 * gave NaN for an example), those of the device. */
LIANA_API LIANA_MUST_USE liana_status liana_predictor_run(liana_predictor *predictor, const liana_array *arrays,
                                                          size_t num_arrays, float *outputs);

/* Predicts 1 to batch_size images of any sizes in memory, of a model that has one input, of images. They are converted
 * to its channels, resized and scaled as in training (liana_prepare_image). Errors: INVALID_ARGUMENT (no image, too
 * many, another model, a model that does not know its scale), OUT_OF_MEMORY, and those of liana_predictor_run. */
LIANA_API LIANA_MUST_USE liana_status liana_predictor_run_images(liana_predictor *predictor, const liana_pixels *images,
                                                                 size_t num_images, float *outputs);

/* The same of image files in memory: JPEG, PNG, BMP, GIF, WebP or TIFF. They are decoded one after the other: a program
 * with several threads has each decode (liana_image_decoder), and runs the arrays. Errors: as above; DATA_LOSS,
 * INVALID_DATA, UNIMPLEMENTED or OUT_OF_RANGE for bytes that are no such image, are damaged, or are too large, with the
 * number of the image. */
LIANA_API LIANA_MUST_USE liana_status liana_predictor_run_encoded(liana_predictor *predictor, const liana_bytes *images,
                                                                  size_t num_images, float *outputs);

/* ---- images, prepared by other threads ---- */

/* Turns images into a predictor's input. Each thread has one of its own. It keeps its memory from image to image. It
 * may be used while the predictor runs, and after the predictor is closed. */
typedef struct liana_image_decoder liana_image_decoder;

/* Zeros are the defaults. */
typedef struct liana_image_decoder_options {
    int64_t max_pixels; /* height x width of an encoded image, checked before memory is allocated; 0: 178956970 */
} liana_image_decoder_options;

/* Makes a decoder; `options` may be NULL. Errors, in the predictor: INVALID_ARGUMENT (its model has not one input, of
 * images; or does not know its scale), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_image_decoder_create(liana_predictor *predictor,
                                                                 const liana_image_decoder_options *options,
                                                                 liana_image_decoder **decoder);
/* NULL is allowed. */
LIANA_API void liana_image_decoder_destroy(liana_image_decoder *decoder);

/* Decodes an image file in memory, and resizes it: writes height x width x channels of liana_predictor_facts to
 * `pixels`, f32, 0 to 255, a row of the array for liana_predictor_run. Errors: as liana_predictor_run_encoded; the
 * message is the decoder's. */
LIANA_API LIANA_MUST_USE liana_status liana_image_decode(liana_image_decoder *decoder, const void *bytes, size_t size,
                                                         float *pixels);
/* The same of an image in memory. */
LIANA_API LIANA_MUST_USE liana_status liana_image_resize(liana_image_decoder *decoder, const liana_pixels *image,
                                                         float *pixels);
/* As liana_predictor_message. */
LIANA_API const char *liana_image_decoder_message(const liana_image_decoder *decoder);

#ifdef __cplusplus
}
#endif
#endif
