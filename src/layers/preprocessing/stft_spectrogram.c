/* STFTSpectrogram: the short-time Fourier transform as a convolution, whose kernels may be trained. */
#include "ir/graph.h"
#include "layers/convolution/convolution.h"
#include "layers/model.h"
#include "layers/preprocessing/spectrograms.h"
#include "layers/rules/fourier_kernel.h"

#include <liana/layers/preprocessing.h>
#include <string.h>

static const char *const mode_names[] = {"log", "magnitude", "psd", "real", "imag", "angle", "stft", NULL};
static const char *const scaling_names[] = {"density", "spectrum", "none", NULL};
_Static_assert(LIANA__WINDOW_DENSITY == 0 && LIANA__WINDOW_AS_IT_IS == 2, "scaling_names follows its enum");
_Static_assert(LIANA_STFT_LOG == 0 && LIANA_STFT_STFT == 6, "mode_names follows liana_stft_mode");

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, mode, ENUM, .default_text = "log", .names = mode_names,
                     .doc = "log or magnitude of the spectrum, psd: its power; real, imag: parts of the transform, "
                            "stft: both, angle: its phase"),
    LIANA__COUNT_ROW(liana_stft_spectrogram_options, frame_length, .default_text = "256", .doc = "samples of a frame"),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, frame_step, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "samples from one frame to the next; default: half of frame_length"),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, fft_length, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "samples of a transform; more than those of the frame are zeros; default: a power of two"),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, window, STRING,
                     .doc = "the shares of a frame's samples, in the words of scipy.signal, or none; default: hann"),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, window_values, FLOATS, .doc = "the shares themselves"),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, periodic, BOOL, .default_text = "false",
                     .doc = "whether the window is part of a longer one"),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, scaling, ENUM, .default_text = "density", .names = scaling_names,
                     .doc = "what the window is divided by: the root of the sum of its squares, its sum, or nothing"),
    LIANA__PADDING_ROW(liana_stft_spectrogram_options),
    LIANA_OPTION_ROW(liana_stft_spectrogram_options, expand_dims, BOOL, .default_text = "false",
                     .doc = "whether channels stay an axis of their own: [batch, frames, bins, channels]"),
};

static int find_window(const liana_stft_spectrogram_options *own)
{
    int i = 0;
    while (liana__window_names[i] && strcmp(liana__window_names[i], own->window ? own->window : "hann") != 0) i++;
    return liana__window_names[i] ? i : -1;
}

static int64_t fft_length(const liana_stft_spectrogram_options *own)
{
    int64_t length = 1;
    while (length < own->frame_length) length *= 2;
    return own->fft_length ? own->fft_length : length;
}

static int64_t frame_step(const liana_stft_spectrogram_options *own)
{
    return own->frame_step ? own->frame_step : own->frame_length / 2;
}

static liana_status check_options(liana_check *check)
{
    const liana_stft_spectrogram_options *own = check->options;
    const int64_t length = own->frame_length;
    if (own->frame_step > length || !frame_step(own)) {
        return liana_option_refuse(check, "frame_step", "found %lld, expected 1 to %lld, the frame_length",
                                   (long long)frame_step(own), (long long)length);
    }
    if (own->fft_length && own->fft_length < length) {
        return liana_option_refuse(check, "fft_length", "found %lld, expected at least the frame_length, %lld",
                                   (long long)own->fft_length, (long long)length);
    }
    if (own->window_values.count && (int64_t)own->window_values.count != length) {
        return liana_option_refuse(check, "window_values",
                                   "found %zu numbers, expected one for each of the %lld "
                                   "samples of a frame",
                                   own->window_values.count, (long long)length);
    }
    if (find_window(own) >= 0 || own->window_values.count) return LIANA_OK;
    return liana_option_refuse(check, "window",
                               "found '%.60s', expected none, hann, hamming, blackman, nuttall, "
                               "blackmanharris, flattop, boxcar, bartlett, triang or cosine; give "
                               "others as numbers (window_values)",
                               own->window);
}

static bool needs(const liana_stft_spectrogram_options *own, bool imaginary)
{
    return own->mode != (imaginary ? LIANA_STFT_REAL : LIANA_STFT_IMAG);
}

static const float *kernel_values(liana__arena *arena, const liana_stft_spectrogram_options *own, bool imaginary)
{
    const int64_t frame = own->frame_length, bins = fft_length(own) / 2 + 1;
    const int name = find_window(own);
    double *window = liana__arena_allocate(arena, (size_t)frame * sizeof *window);
    float *values = liana__arena_allocate(arena, (size_t)frame * (size_t)bins * sizeof *values);
    if (!window || !values) return NULL;
    if (!own->window_values.count && name > 0) liana__window_values(name, own->periodic, frame, window);
    for (size_t i = 0; i < own->window_values.count; i++) window[i] = own->window_values.items[i];
    liana__fourier_kernel(own->window_values.count || name > 0 ? window : NULL, (liana__window_scaling)own->scaling,
                          imaginary, frame, bins, values);
    return values;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_stft_spectrogram_options *own = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank != 3) return liana_layer_refuse(build, 0, "[batch, time, channels]");
    if (own->padding == LIANA_PADDING_VALID && x->dims[1] < own->frame_length) {
        return liana_layer_refuse(build, 0, "at least frame_length samples of time, or padding: same");
    }
    for (int imaginary = 0; imaginary < 2; imaginary++) {
        if (!needs(own, imaginary)) continue;
        const liana_shape shape = liana_shape_of(own->frame_length, 1, fft_length(own) / 2 + 1);
        liana_layer_add_weight(build, imaginary ? "imag_kernel" : "real_kernel", shape, "zeros", true);
        if (build->status != LIANA_OK || build->is_reuse) continue;
        const float *values = kernel_values(&build->model->arena, own, imaginary);
        if (!values) return liana__fail_memory(build->error, "a model");
        liana__layer_begin_with(build, values);
    }
    return build->status;
}

/* ---- the graph ---- */

/* [batch, time, channels] as [batch * channels, time, 1]. */
static liana_tensor channels_first(const liana_layer_call *call)
{
    liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    if (shape.dims[2] == 1) return x;
    x = liana_op_transpose_at(call->here, x, LIANA_AXES(0, 2, 1));
    return liana_op_reshape_at(call->here, x, liana_shape_of(shape.dims[0] * shape.dims[2], shape.dims[1], 1));
}

/* [batch, channels, frames, bins] */
static liana_tensor transform(liana_layer_call *call, liana_tensor x, liana_tensor kernel)
{
    const liana_stft_spectrogram_options *own = call->options;
    const int64_t step = frame_step(own), one = 1, channels = liana_tensor_shape(call->inputs[0]).dims[2];
    const liana__layer_window window = {1, &own->frame_length, &step, &one, own->padding};
    const liana_tensor y = liana_op_conv2d_at(call->here, liana__as_images(call, x), liana__as_kernel(call, kernel),
                                              liana__conv_options(&window, 1));
    const liana_shape shape = liana_tensor_shape(y); /* [batch * channels, 1, frames, bins] */
    return liana_op_reshape_at(call->here, y,
                               liana_shape_of(shape.dims[0] / channels, channels, shape.dims[2], shape.dims[3]));
}

/* Bins between the first and the last stand for two. */
static liana_tensor double_inner(liana_layer_call *call, liana_tensor power)
{
    const liana_shape shape = liana_tensor_shape(power);
    const int64_t bins = shape.dims[3];
    float *shares = liana__arena_allocate(&power.graph->arena, (size_t)bins * sizeof *shares);
    if (!shares) return liana__graph_fail(power.graph, call->here, LIANA_OUT_OF_MEMORY, "a spectrum");
    for (int64_t i = 0; i < bins; i++) shares[i] = i == 0 || i == bins - 1 ? 1 : 2;
    liana_tensor made = liana_graph_constant_at(call->here, power.graph, LIANA_F32, liana_shape_of(bins), shares);
    const liana_dtype dtype = liana_tensor_dtype(power);
    if (dtype != LIANA_F32) made = liana_op_cast_at(call->here, made, dtype);
    return liana_op_multiply_at(call->here, power, made);
}

/* Keras's backend.epsilon() is the least value. */
static liana_tensor at_least(liana_layer_call *call, liana_tensor x)
{
    return liana_op_maximum_at(call->here, x, liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), 1e-7));
}

static liana_tensor spectrum(liana_layer_call *call, liana_tensor real, liana_tensor imaginary)
{
    const liana_stft_spectrogram_options *own = call->options;
    const liana_location here = call->here;
    switch (own->mode) {
    case LIANA_STFT_REAL: return real;
    case LIANA_STFT_IMAG: return imaginary;
    case LIANA_STFT_ANGLE: return liana_op_atan2_at(here, imaginary, real);
    case LIANA_STFT_STFT: return liana_op_concat_at(here, (const liana_tensor[]){real, imaginary}, 2, 3);
    default: break;
    }
    const liana_tensor power =
        liana_op_add_at(here, liana_op_square_at(here, real), liana_op_square_at(here, imaginary));
    if (own->mode == LIANA_STFT_PSD) return double_inner(call, power);
    const liana_tensor magnitude = liana_op_sqrt_at(here, at_least(call, power));
    return own->mode == LIANA_STFT_MAGNITUDE ? magnitude : liana_op_log_at(here, at_least(call, magnitude));
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_stft_spectrogram_options *own = call->options;
    liana_tensor x = call->inputs[0], parts[2] = {{0}};
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    x = channels_first(call);
    for (int imaginary = 0, next = 0; imaginary < 2; imaginary++) {
        if (needs(own, imaginary)) parts[imaginary] = transform(call, x, call->weights[next++]);
    }
    const liana_tensor made = spectrum(call, parts[0], parts[1]);
    if (x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    const liana_shape shape = liana_tensor_shape(made);
    if (own->expand_dims) return liana_op_transpose_at(call->here, made, LIANA_AXES(0, 2, 3, 1));
    const liana_tensor turned =
        shape.dims[1] == 1 ? made : liana_op_transpose_at(call->here, made, LIANA_AXES(0, 2, 1, 3));
    return liana_op_reshape_at(call->here, turned,
                               liana_shape_of(shape.dims[0], shape.dims[2], shape.dims[1] * shape.dims[3]));
}

/* ---- Keras's files ---- */

/* There null is no window or no scaling, and a window may be a list of numbers. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    static const char *const keys[] = {"window", "scaling"};
    for (int i = 0; i < 2; i++) {
        const liana__value *value = liana__value_get(config, keys[i]);
        if (value && value->kind == LIANA__VALUE_NULL) {
            liana__value_set(arena, options, keys[i], liana__value_string(arena, "none"));
        }
    }
    liana__move_window(arena, config, options);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_stft_spectrogram_options *own = chosen;
    if (!own->frame_step) liana__value_set(arena, config, "frame_step", liana__value_null(arena));
    if (!own->fft_length) liana__value_set(arena, config, "fft_length", liana__value_null(arena));
    if (own->scaling == LIANA__WINDOW_AS_IT_IS) {
        liana__value_set(arena, config, "scaling", liana__value_null(arena));
    }
    if (!own->window) liana__value_set(arena, config, "window", liana__value_string(arena, "hann"));
    if (find_window(own) == 0) liana__value_set(arena, config, "window", liana__value_null(arena));
    liana__write_window(arena, &own->window_values, config);
}

const liana_layer_type liana__layer_stft_spectrogram = {
    LIANA_PART(LAYER, liana_layer_type, "STFTSpectrogram",
               "the short-time Fourier transform of signals, by kernels that may be trained",
               LIANA_PART_OPTIONS(liana_stft_spectrogram_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = declare_weights,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
