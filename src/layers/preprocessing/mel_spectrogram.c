/* MelSpectrogram: the spectra of frames of a signal, in bands of the mel scale (Stevens, Volkmann and Newman 1937; the
 * formula of the Hidden Markov Model Toolkit). */
#include "ir/graph.h"
#include "layers/option_rows.h"
#include "layers/preprocessing/spectrograms.h"

#include <liana/layers/preprocessing.h>

static const char *const window_names[] = {"hann", "hamming", "none", NULL};
enum { HANN, HAMMING, NONE };

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_mel_spectrogram_options, fft_length, .default_text = "2048",
                     .doc = "samples of a transform"),
    LIANA__COUNT_ROW(liana_mel_spectrogram_options, sequence_stride, .default_text = "512",
                     .doc = "samples from one frame to the next"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, sequence_length, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "samples of the window, in the middle of a frame; default: fft_length"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, window, ENUM, .default_text = "hann", .names = window_names,
                     .doc = "the shares of a frame's samples"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, window_values, FLOATS, .doc = "the shares themselves"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, sampling_rate, FLOAT, .default_text = "16000", .minimum = 1e-3,
                     .maximum = 1e12, .doc = "samples of a second"),
    LIANA__COUNT_ROW(liana_mel_spectrogram_options, num_mel_bins, .default_text = "128", .doc = "number of bands"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, min_freq, FLOAT, .default_text = "20", .minimum = 0,
                     .maximum = 1e12, .doc = "where the lowest band begins, in Hz"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, max_freq, FLOAT, .default_text = "0", .minimum = 0, .maximum = 1e12,
                     .doc = "where the highest band ends, in Hz; default: half of sampling_rate"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, power_to_db, BOOL, .default_text = "true",
                     .doc = "whether the result is in decibels"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, top_db, FLOAT, .default_text = "80",
                     .doc = "so many decibels below the greatest value of the batch are the least"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, mag_exp, FLOAT, .default_text = "2",
                     .doc = "the power of the magnitudes: 1 or 2 for amplitudes or powers"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, min_power, FLOAT, .default_text = "1e-10", .minimum = 1e-37,
                     .maximum = 1e37, .doc = "the least power, in decibels too"),
    LIANA_OPTION_ROW(liana_mel_spectrogram_options, ref_power, FLOAT, .default_text = "1",
                     .doc = "the power of 0 decibels"),
};

static int64_t window_length(const liana_mel_spectrogram_options *own)
{
    return own->sequence_length ? own->sequence_length : own->fft_length;
}

/* Keras leaves out a fraction. */
static double highest(const liana_mel_spectrogram_options *own)
{
    return own->max_freq > 0 ? own->max_freq : trunc(own->sampling_rate / 2);
}

static liana_status check_options(liana_check *check)
{
    const liana_mel_spectrogram_options *own = check->options;
    if (own->sequence_length > own->fft_length) {
        return liana_option_refuse(check, "sequence_length", "found %lld, expected at most the fft_length, %lld",
                                   (long long)own->sequence_length, (long long)own->fft_length);
    }
    if (own->window_values.count && (int64_t)own->window_values.count != window_length(own)) {
        return liana_option_refuse(check, "window_values", "found %zu numbers, expected %lld, the sequence_length",
                                   own->window_values.count, (long long)window_length(own));
    }
    if (own->min_freq < highest(own)) return LIANA_OK;
    return liana_option_refuse(check, "min_freq", "found %g, expected less than the highest frequency, %g",
                               own->min_freq, highest(own));
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_mel_spectrogram_options *own = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2 || x->rank + 2 > LIANA_MAX_RANK) return liana_layer_refuse(build, 0, "[batch, time]");
    if (x->dims[x->rank - 1] > own->fft_length / 2) return LIANA_OK;
    return liana_layer_refuse(build, 0, "more samples of time than half of fft_length, which are mirrored at the ends");
}

/* ---- constants ---- */

/* TensorFlow's window of an odd length is symmetric, of an even one periodic. */
static float share_of(const liana_mel_spectrogram_options *own, int64_t i)
{
    static const double PI = 3.14159265358979323846;
    const int64_t length = window_length(own);
    if (own->window_values.count) return (float)own->window_values.items[i];
    if (length == 1) return 1;
    const double a = own->window == HANN ? 0.5 : 0.54, all = (double)(length % 2 ? length - 1 : length);
    return (float)(a - (1 - a) * cos(2 * PI * (double)i / all));
}

/* The window in the middle of a frame. */
static liana_tensor window_of(const liana_layer_call *call, liana_graph *graph)
{
    const liana_mel_spectrogram_options *own = call->options;
    const int64_t frame = own->fft_length, length = window_length(own), before = (frame - length) / 2;
    float *shares = liana__arena_allocate(&graph->arena, (size_t)frame * sizeof *shares);
    if (!shares) return liana__graph_fail(graph, call->here, LIANA_OUT_OF_MEMORY, "a window");
    for (int64_t i = 0; i < frame; i++) {
        shares[i] = i >= before && i < before + length ? share_of(own, i - before) : 0;
    }
    return liana_graph_constant_at(call->here, graph, LIANA_F32, liana_shape_of(frame), shares);
}

/* The samples of all frames: [frames * length]. Half a frame before the first and behind the last is mirrored. */
static liana_tensor places_of(const liana_layer_call *call, liana_graph *graph, int64_t time, int64_t *frames)
{
    const liana_mel_spectrogram_options *own = call->options;
    const int64_t length = own->fft_length, half = length / 2;
    *frames = 1 + (time + 2 * half - length) / own->sequence_stride;
    int32_t *places = liana__arena_allocate(&graph->arena, (size_t)(*frames * length) * sizeof *places);
    if (!places) return liana__graph_fail(graph, call->here, LIANA_OUT_OF_MEMORY, "frames");
    for (int64_t i = 0; i < *frames * length; i++) {
        int64_t place = i / length * own->sequence_stride + i % length - half;
        if (place < 0) place = -place;
        if (place >= time) place = 2 * (time - 1) - place;
        places[i] = (int32_t)place;
    }
    return liana_graph_constant_at(call->here, graph, LIANA_S32, liana_shape_of(*frames * length), places);
}

static float mel_of(float hertz)
{
    return 1127.0F * logf(1.0F + hertz / 700.0F);
}

/* How much of each bin a band has: triangles on the mel scale, [bins, bands]. In f32, as Keras computes them. */
static liana_tensor bands_of(const liana_layer_call *call, liana_graph *graph)
{
    const liana_mel_spectrogram_options *own = call->options;
    const int64_t bins = own->fft_length / 2 + 1, bands = own->num_mel_bins;
    const float low = mel_of((float)own->min_freq), high = mel_of((float)highest(own));
    const float width = (high - low) / (float)(bands + 1);
    const float hertz = bins > 1 ? (float)own->sampling_rate / 2 / (float)(bins - 1) : 0;
    float *shares = liana__arena_allocate(&graph->arena, (size_t)(bins * bands) * sizeof *shares);
    if (!shares) return liana__graph_fail(graph, call->here, LIANA_OUT_OF_MEMORY, "bands");
    for (int64_t i = 0; i < bins * bands; i++) {
        const int64_t bin = i / bands, band = i % bands;
        const float mel = mel_of(hertz * (float)bin), middle = low + width * (float)(band + 1);
        const float begin = low + width * (float)band;
        const float end = band + 1 == bands ? high : low + width * (float)(band + 2);
        const float up = (mel - begin) / (middle - begin), down = (end - mel) / (end - middle);
        const float share = up < down ? up : down;
        shares[i] = bin > 0 && share > 0 ? share : 0;
    }
    return liana_graph_constant_at(call->here, graph, LIANA_F32, liana_shape_of(bins, bands), shares);
}

/* ---- the graph ---- */

static liana_tensor number(const liana_layer_call *call, liana_tensor like, double value)
{
    return liana_graph_scalar_at(call->here, like.graph, liana_tensor_dtype(like), value);
}

/* [.., time] to [.., frames, bins]: magnitudes to the power mag_exp. */
static liana_tensor spectra(const liana_layer_call *call, liana_tensor x)
{
    const liana_mel_spectrogram_options *own = call->options;
    const liana_location here = call->here;
    liana_shape shape = liana_tensor_shape(x);
    int64_t frames;
    const liana_tensor places = places_of(call, x.graph, shape.dims[shape.rank - 1], &frames);
    x = liana_op_gather_at(here, x, places, shape.rank - 1);
    shape.dims[shape.rank - 1] = frames;
    shape.dims[shape.rank++] = own->fft_length;
    x = liana_op_reshape_at(here, x, shape);
    if (own->window != NONE || own->window_values.count) {
        x = liana_op_multiply_at(here, x, window_of(call, x.graph));
    }
    const liana_tensor squares = liana_op_square_at(here, liana_rfft_at(here, x, 0));
    const liana_tensor power = liana_op_reduce_sum_at(here, squares, LIANA_AXES(-1), false);
    return own->mag_exp == 2 ? power : liana_op_power_at(here, power, number(call, power, own->mag_exp / 2));
}

/* [.., bins] to [.., bands] */
static liana_tensor into_bands(const liana_layer_call *call, liana_tensor x)
{
    const liana_mel_spectrogram_options *own = call->options;
    liana_shape shape = liana_tensor_shape(x);
    x = liana_op_reshape_at(call->here, x, liana_shape_of(-1, own->fft_length / 2 + 1));
    x = liana_op_matmul_at(call->here, x, bands_of(call, x.graph), false, false);
    shape.dims[shape.rank - 1] = own->num_mel_bins;
    return liana_op_reshape_at(call->here, x, shape);
}

/* The floor is top_db below the greatest value of the whole batch, as in Keras. */
static liana_tensor decibels(const liana_layer_call *call, liana_tensor x)
{
    static const double PER_LOG = 4.34294481903251827651; /* 10 / log(10) */
    const liana_mel_spectrogram_options *own = call->options;
    const liana_location here = call->here;
    const double reference = PER_LOG * log(fmax(fabs(own->ref_power), own->min_power));
    x = liana_op_log_at(here, liana_op_maximum_at(here, x, number(call, x, own->min_power)));
    x = liana_op_subtract_at(here, liana_op_multiply_at(here, x, number(call, x, PER_LOG)), number(call, x, reference));
    const int rank = liana_tensor_shape(x).rank;
    liana_axes all = {.count = rank};
    for (int i = 0; i < rank; i++) all.values[i] = i;
    const liana_tensor greatest = liana_op_reduce_max_at(here, x, all, false);
    return liana_op_maximum_at(here, x, liana_op_subtract_at(here, greatest, number(call, x, own->top_db)));
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_mel_spectrogram_options *own = call->options;
    liana_tensor x = call->inputs[0];
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    const liana_dtype dtype = liana_tensor_dtype(x);
    if (dtype != LIANA_F32) x = liana_op_cast_at(call->here, x, LIANA_F32);
    x = into_bands(call, spectra(call, x));
    if (own->power_to_db) x = decibels(call, x);
    if (x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    const int rank = liana_tensor_shape(x).rank;
    liana_axes turned = {.count = rank};
    for (int i = 0; i < rank; i++) turned.values[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    x = liana_op_transpose_at(call->here, x, turned);
    return dtype == LIANA_F32 ? x : liana_op_cast_at(call->here, x, dtype);
}

/* ---- Keras's files ---- */

static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *window = liana__value_get(config, "window");
    if (window && window->kind == LIANA__VALUE_NULL) {
        liana__value_set(arena, options, "window", liana__value_string(arena, "none"));
    }
    liana__move_window(arena, config, options);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_mel_spectrogram_options *own = chosen;
    if (!own->sequence_length) liana__value_set(arena, config, "sequence_length", liana__value_null(arena));
    if (own->max_freq <= 0) liana__value_set(arena, config, "max_freq", liana__value_null(arena));
    if (own->window == NONE) liana__value_set(arena, config, "window", liana__value_null(arena));
    liana__write_window(arena, &own->window_values, config);
}

/* In decibels an example's result depends on the others of its batch. */
const liana_layer_type liana__layer_mel_spectrogram = {
    LIANA_PART(LAYER, liana_layer_type, "MelSpectrogram",
               "spectra of the frames of a signal, in bands of the mel scale",
               LIANA_PART_OPTIONS(liana_mel_spectrogram_options, rows), .check = check_options),
    .min_inputs = 1,
    .max_inputs = 1,
    .weights = check_input,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
