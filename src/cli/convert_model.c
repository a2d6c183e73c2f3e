/* liana convert-model: a model from one kind of file to another. */
#include "base/file.h"
#include "base/scoped.h"
#include "cli/session.h"
#include "layers/model.h"
#include "onnx/export_model.h"
#include "train/checkpoint/weights.h"
#include "train/model/model_file.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)
LIANA__SCOPED_POINTER(liana_model_destroy, liana_model)

static const liana__option options[] = {
    {"weights", "FILE", "weights for an architecture (.json), or in place of the model's own"},
    {"batch", "N", "examples in each call of an .onnx file (default: any number)"},
    {"pixels", "KIND", "images that an .onnx file takes: scaled as in training (default), float32 or uint8 of 0..255"},
    {"keras", "2", "write a .h5 or .json file in the form of Keras 2, for tf_keras (default 3)"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

typedef struct job {
    liana__invocation *invocation;
    liana_model *model;
    liana__notes notes;
} job;

static liana_status read(const job *own, const char *from)
{
    liana__error *error = &own->invocation->error;
    liana__arena *arena = &own->invocation->arena;
    const char *weights = liana__invocation_text(own->invocation, "weights");
    if (!weights) return liana__model_read_any(own->model, from, &own->notes, arena, error);
    liana__model_file file;
    LIANA_TRY(liana__model_file_open(from, arena, &file, error));
    LIANA_TRY(liana__model_file_fill(&file, own->model, &own->notes, error));
    if (liana_model_load_weights(own->model, weights, false) == LIANA_OK) return LIANA_OK;
    *error = own->model->context->error;
    return error->status;
}

static liana_status read_pixels(liana__invocation *invocation, liana_onnx_pixels *pixels)
{
    const char *text = liana__invocation_text(invocation, "pixels");
    for (int i = 0; text && liana__onnx_pixels_names[i]; i++) {
        if (strcmp(text, liana__onnx_pixels_names[i]) != 0) continue;
        *pixels = (liana_onnx_pixels)i;
        return LIANA_OK;
    }
    return text ? liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                              "--pixels: found '%s', expected scaled, float32 or uint8", text)
                : LIANA_OK;
}

static liana_status write_model(const job *own, const char *to, liana__keras_form form)
{
    liana__invocation *invocation = own->invocation;
    liana_onnx_options wanted = {0};
    LIANA_TRY(liana__invocation_int(invocation, "batch", 1, INT32_MAX, &wanted.batch));
    LIANA_TRY(read_pixels(invocation, &wanted.pixels));
    const bool is_asked = wanted.batch || liana__invocation_has(invocation, "pixels");
    if (is_asked && !liana__onnx_is_named(to)) {
        return liana__fail(
            &invocation->error, LIANA_INVALID_CONFIG,
            "--batch and --pixels are for ONNX files, and '%s' is none: give a name that ends in .onnx, or "
            "leave them out",
            to);
    }
    if (is_asked && form == LIANA__KERAS3) {
        return liana__onnx_save(own->model, to, &wanted, LIANA__ONNX_MOST_INSIDE, &invocation->error);
    }
    return liana__model_write_any(own->model, to, form, &own->notes, &invocation->error);
}

static void report(const job *own, const char *from, const char *to)
{
    liana__invocation *invocation = own->invocation;
    const int64_t parameters = liana__model_num_parameters(own->model, false);
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "%s: %s, %lld parameters\n", to, liana__model_name(own->model), (long long)parameters);
        return;
    }
    liana__value *event = liana__session_event(invocation, "converted");
    liana__event_text(invocation, event, "input", from);
    liana__event_text(invocation, event, "output", to);
    liana__event_text(invocation, event, "model", liana__model_name(own->model));
    liana__event_int(invocation, event, "parameters", parameters);
    liana__invocation_print_json(invocation, event);
}

static liana_status run(liana__invocation *invocation)
{
    const char *from = invocation->operands[0], *to = invocation->operands[1];
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA__SCOPED_BY(liana_model_destroy_scoped) liana_model *model = NULL;
    const liana_context_options wanted = {.num_threads = 1,
                                          .allow_plugins = liana__invocation_has(invocation, "allow-plugins")};
    int64_t version = 3;
    LIANA_TRY(liana__invocation_int(invocation, "keras", 2, 3, &version));
    liana_status status = liana_context_create(&wanted, &context);
    if (status == LIANA_OK) status = liana_model_create(context, NULL, &model);
    if (status != LIANA_OK && context) invocation->error = context->error;
    LIANA_TRY(status);
    const job own = {invocation, model, {liana__session_note, invocation}};
    LIANA_TRY(read(&own, from));
    LIANA_TRY(write_model(&own, to, version == 2 ? LIANA__KERAS2 : LIANA__KERAS3));
    report(&own, from, to);
    return LIANA_OK;
}

const liana__command liana__subcommand_convert_model = {
    .name = "convert-model",
    .operands = "MODEL OUT",
    .summary = "Turn a model into a file of Keras, ONNX, safetensors, TensorFlow.js, or a folder",
    .help =
        "MODEL is a run, one of its checkpoints (RUN/checkpoints/best), a folder that liana saved, a .keras file, a\n"
        "whole .h5 file, an ONNX file (.onnx), or an architecture (.json) with --weights. The end of OUT says what is\n"
        "written: .keras and .h5 are whole models, with the state of the optimizer; .weights.h5 and .safetensors are\n"
        "weights; .json is the architecture; .onnx is the inference of the model for onnxruntime and other programs;\n"
        ".tfjs is a layers model of TensorFlow.js, a folder; another name is a folder with model.json and\n"
        "weights.safetensors. What the format cannot say of the model is an error, and nothing is written.\n",
    .options = options,
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
