/* Draws initial weights. */
#include "layers/initializers.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "layers/rules/call_text.h"
#include "layers/rules/fourier_kernel.h"
#include "layers/rules/orthonormal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
static const char *const distributions[] = {"truncated_normal", "untruncated_normal", "uniform", "normal", NULL};
enum { FAN_IN, FAN_OUT, FAN_AVG };
enum { TRUNCATED_NORMAL, UNTRUNCATED_NORMAL, UNIFORM, NORMAL /* Keras's old word for TRUNCATED_NORMAL */ };

typedef struct constant_options {
    double value;
} constant_options;

typedef struct range_options {
    double minval, maxval;
    int64_t seed;
} range_options;

typedef struct normal_options {
    double mean, stddev;
    int64_t seed;
} normal_options;

typedef struct scaling_options {
    double scale;
    int mode, distribution;
    int64_t seed;
} scaling_options;

typedef struct seed_options {
    int64_t seed;
} seed_options;

typedef struct orthogonal_options {
    double gain;
    int64_t seed;
} orthogonal_options;

typedef struct identity_options {
    double gain;
} identity_options;

typedef struct stft_options {
    int side, window, scaling;
    bool periodic;
} stft_options;

/* The last row of those that draw. */
#define SEED_ROW(type)                                                                                       \
    LIANA_OPTION_ROW(type, seed, INT, .default_text = "-1", .minimum = -1, .maximum = UINT32_MAX,            \
                     .doc = "of the draws: equal seeds give equal values; -1: that of the run, and another " \
                            "for each weight")

static const liana_option constant_rows[] = {
    LIANA_OPTION_ROW(constant_options, value, FLOAT, .doc = "of each element"),
};
static const liana_option range_rows[] = {
    LIANA_OPTION_ROW(range_options, minval, FLOAT, .default_text = "-0.05", .doc = "the smallest value"),
    LIANA_OPTION_ROW(range_options, maxval, FLOAT, .default_text = "0.05", .doc = "the largest value"),
    SEED_ROW(range_options),
};
static const liana_option normal_rows[] = {
    LIANA_OPTION_ROW(normal_options, mean, FLOAT, .doc = "of all values"),
    LIANA_OPTION_ROW(normal_options, stddev, FLOAT, .default_text = "0.05", .doc = "their standard deviation"),
    SEED_ROW(normal_options),
};
static const liana_option scaling_rows[] = {
    LIANA_OPTION_ROW(scaling_options, scale, FLOAT, .default_text = "1", .doc = "a factor of the variance"),
    LIANA_OPTION_ROW(scaling_options, mode, ENUM, .names = modes, .doc = "what the variance is divided by"),
    LIANA_OPTION_ROW(scaling_options, distribution, ENUM, .names = distributions, .doc = "of the values"),
    SEED_ROW(scaling_options),
};
static const liana_option seed_rows[] = {SEED_ROW(seed_options)};
static const liana_option orthogonal_rows[] = {
    LIANA_OPTION_ROW(orthogonal_options, gain, FLOAT, .default_text = "1", .doc = "a factor of the matrix"),
    SEED_ROW(orthogonal_options),
};
static const liana_option identity_rows[] = {
    LIANA_OPTION_ROW(identity_options, gain, FLOAT, .default_text = "1", .doc = "a factor of the matrix"),
};
static const char *const sides[] = {"real", "imag", NULL}, *const scalings[] = {"density", "spectrum", "none", NULL};
static const liana_option stft_rows[] = {
    LIANA_OPTION_ROW(stft_options, side, ENUM, .names = sides, .doc = "of the complex numbers"),
    LIANA_OPTION_ROW(stft_options, window, ENUM, .default_text = "hann", .names = liana__window_names,
                     .doc = "the shares of a frame's values"),
    LIANA_OPTION_ROW(stft_options, scaling, ENUM, .names = scalings, .doc = "what the window is divided by"),
    LIANA_OPTION_ROW(stft_options, periodic, BOOL, .doc = "whether the window is part of a longer one"),
};

/* ---- draws ---- */

static void uniform_words(const liana_initializer_call *call, uint64_t block, uint32_t words[4])
{
    const liana__philox_key key = {{call->key[0], call->key[1]}};
    liana__philox(key, (const uint32_t[]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, words);
}

double liana_initializer_uniform(const liana_initializer_call *call, uint64_t index)
{
    if (!call) return 0;
    uint32_t words[4];
    uniform_words(call, index / 4, words);
    return (double)liana__uniform_float(words[index % 4]);
}

/* Box and Muller 1958. */
double liana_initializer_normal(const liana_initializer_call *call, uint64_t index, uint32_t attempt)
{
    if (!call) return 0;
    const liana__philox_key key = {{call->key[0], call->key[1]}};
    uint32_t words[4];
    liana__philox(key, (const uint32_t[]){(uint32_t)index, (uint32_t)(index >> 32), attempt, 1}, words);
    double u = 1 - liana__uniform_double(words[0], words[1]), v = liana__uniform_double(words[2], words[3]);
    return sqrt(-2 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

static void fill_constant(const liana_initializer_call *to)
{
    for (int64_t i = 0; i < to->count; i++) to->values[i] = (float)((const constant_options *)to->options)->value;
}

/* They are zeros already. */
static void fill_zeros(const liana_initializer_call *to)
{
    (void)to;
}

static void fill_ones(const liana_initializer_call *to)
{
    for (int64_t i = 0; i < to->count; i++) to->values[i] = 1;
}

/* One word an element. */
static void draw_uniform(const liana_initializer_call *to, double low, double high)
{
    for (int64_t i = 0; i < to->count; i += 4) {
        uint32_t words[4];
        uniform_words(to, (uint64_t)i / 4, words);
        for (int64_t k = 0; k < 4 && i + k < to->count; k++) {
            to->values[i + k] = (float)(low + (high - low) * (double)liana__uniform_float(words[k]));
        }
    }
}

static void draw_normals(const liana_initializer_call *to, double mean, double deviation, bool truncated)
{
    for (int64_t i = 0; i < to->count; i++) {
        double z = liana_initializer_normal(to, (uint64_t)i, 0);
        for (uint32_t attempt = 1; truncated && fabs(z) > 2; attempt++)
            z = liana_initializer_normal(to, (uint64_t)i, attempt);
        to->values[i] = (float)(mean + deviation * z);
    }
}

static void fill_random_uniform(const liana_initializer_call *to)
{
    const range_options *range = to->options;
    draw_uniform(to, range->minval, range->maxval);
}

static void fill_random_normal(const liana_initializer_call *to)
{
    const normal_options *normal = to->options;
    draw_normals(to, normal->mean, normal->stddev, false);
}

static void fill_truncated_normal(const liana_initializer_call *to)
{
    const normal_options *normal = to->options;
    draw_normals(to, normal->mean, normal->stddev, true);
}

/* He et al. 2015, generalised as in Keras: variance = scale / fan. */
static void draw_scaled(const liana_initializer_call *to, double scale, int mode, int distribution)
{
    double fan = mode == FAN_IN ? to->fan_in : mode == FAN_OUT ? to->fan_out : (to->fan_in + to->fan_out) / 2;
    double variance = scale / (fan < 1 ? 1 : fan);
    if (distribution == UNIFORM) {
        double limit = sqrt(3 * variance);
        draw_uniform(to, -limit, limit);
    } else if (distribution == UNTRUNCATED_NORMAL) {
        draw_normals(to, 0, sqrt(variance), false);
    } else {
        /* The deviation of a standard normal cut at two deviations. */
        draw_normals(to, 0, sqrt(variance) / .87962566103423978, true);
    }
}

static void fill_variance_scaling(const liana_initializer_call *to)
{
    const scaling_options *scaling = to->options;
    draw_scaled(to, scaling->scale, scaling->mode, scaling->distribution);
}

#define SCALED(name, scale, mode, distribution)               \
    static void fill_##name(const liana_initializer_call *to) \
    {                                                         \
        draw_scaled(to, scale, mode, distribution);           \
    }
SCALED(glorot_uniform, 1, FAN_AVG, UNIFORM)
SCALED(glorot_normal, 1, FAN_AVG, TRUNCATED_NORMAL)
SCALED(he_uniform, 2, FAN_IN, UNIFORM)
SCALED(he_normal, 2, FAN_IN, TRUNCATED_NORMAL)
SCALED(lecun_uniform, 1, FAN_IN, UNIFORM)
SCALED(lecun_normal, 1, FAN_IN, TRUNCATED_NORMAL)
#undef SCALED

static const char *refuse_vector(const void *options, const liana_shape *shape)
{
    (void)options;
    return shape->rank >= 2 ? NULL : "a weight of at least 2 dimensions";
}

/* Saxe et al. 2013, "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks": the matrix
 * [all but the last axis, last axis] has orthonormal columns, or rows if there are fewer of these. */
static void fill_orthogonal(const liana_initializer_call *to)
{
    const orthogonal_options *options = to->options;
    const int64_t columns = to->shape->dims[to->shape->rank - 1], rows = to->count / columns;
    const bool wide = rows < columns;
    const int64_t count = wide ? rows : columns, size = wide ? columns : rows;
    LIANA__SCOPED_MEMORY double *vectors = liana__allocate_aligned((size_t)to->count * sizeof *vectors);
    if (!vectors) return;
    for (int64_t i = 0; i < to->count; i++) vectors[i] = liana_initializer_normal(to, (uint64_t)i, 0);
    liana__orthonormalize(vectors, count, size);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < size; k++) {
            to->values[wide ? i * columns + k : k * columns + i] = (float)(options->gain * vectors[i * size + k]);
        }
    }
}

static const char *refuse_no_matrix(const void *options, const liana_shape *shape)
{
    (void)options;
    return shape->rank == 2 ? NULL : "a matrix";
}

static void fill_identity(const liana_initializer_call *to)
{
    const identity_options *options = to->options;
    const int64_t rows = to->shape->dims[0], columns = to->shape->dims[1];
    for (int64_t i = 0; i < rows && i < columns; i++) to->values[i * columns + i] = (float)options->gain;
}

static const char *refuse_no_kernel(const void *options, const liana_shape *shape)
{
    (void)options;
    return shape->rank == 3 && shape->dims[1] == 1 ? NULL : "[frame length, 1, fft length / 2 + 1]";
}

static void fill_stft(const liana_initializer_call *to)
{
    const stft_options *options = to->options;
    const int64_t frame = to->shape->dims[0], bins = to->shape->dims[2];
    LIANA__SCOPED_MEMORY double *window = options->window ? malloc((size_t)frame * sizeof *window) : NULL;
    if (window) liana__window_values(options->window, options->periodic, frame, window);
    liana__fourier_kernel(window, (liana__window_scaling)options->scaling, options->side == 1, frame, bins, to->values);
}

/* ---- the kind ---- */

#define INITIALIZER(initializer, text, names, is_constant, refuses, ...)                                               \
    &((const liana_initializer_type){LIANA_PART(INITIALIZER, liana_initializer_type, #initializer, text,               \
                                                .aliases = {names}, __VA_ARGS__),                                      \
                                     .draws_nothing = (is_constant), .fill = fill_##initializer, .refuse = (refuses)}) \
         .part
#define CONSTANT(initializer, text, name, ...) INITIALIZER(initializer, text, name, true, NULL, __VA_ARGS__)
#define RANDOM(initializer, text, name, type, rows) \
    INITIALIZER(initializer, text, name, false, NULL, LIANA_PART_OPTIONS(type, rows))
/* Keras has a second class name for each of these. */
#define TWO_NAMES(name) name, name "Initializer"

static const liana_part *const list[] = {
    CONSTANT(zeros, "all values are 0", "Zeros", .options = {0}),
    CONSTANT(ones, "all values are 1", "Ones", .options = {0}),
    CONSTANT(constant, "all values are `value`", "Constant", LIANA_PART_OPTIONS(constant_options, constant_rows)),
    RANDOM(random_uniform, "drawn evenly between minval and maxval", "RandomUniform", range_options, range_rows),
    RANDOM(random_normal, "drawn from a normal distribution with mean and stddev", "RandomNormal", normal_options,
           normal_rows),
    RANDOM(truncated_normal, "drawn from a normal distribution; values beyond two stddev are drawn again",
           "TruncatedNormal", normal_options, normal_rows),
    RANDOM(variance_scaling, "drawn with the variance scale / fan: the number of inputs, of outputs, or their mean",
           "VarianceScaling", scaling_options, scaling_rows),
    RANDOM(glorot_uniform, "drawn evenly within sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010)", "GlorotUniform",
           seed_options, seed_rows),
    RANDOM(glorot_normal, "drawn from a truncated normal distribution with the variance 2 / (inputs + outputs)",
           "GlorotNormal", seed_options, seed_rows),
    RANDOM(he_uniform, "drawn evenly within sqrt(6 / inputs), for relu (He et al. 2015)", "HeUniform", seed_options,
           seed_rows),
    RANDOM(he_normal, "drawn from a truncated normal distribution with the variance 2 / inputs, for relu", "HeNormal",
           seed_options, seed_rows),
    RANDOM(lecun_uniform, "drawn evenly within sqrt(3 / inputs)", "LecunUniform", seed_options, seed_rows),
    RANDOM(lecun_normal, "drawn from a truncated normal distribution with the variance 1 / inputs, for selu",
           "LecunNormal", seed_options, seed_rows),
    INITIALIZER(orthogonal, "orthonormal columns, or rows where there are fewer of these (Saxe et al. 2013)",
                TWO_NAMES("Orthogonal"), false, refuse_vector, LIANA_PART_OPTIONS(orthogonal_options, orthogonal_rows)),
    INITIALIZER(identity, "a square matrix with gain on its diagonal, else 0", TWO_NAMES("Identity"), true,
                refuse_no_matrix, LIANA_PART_OPTIONS(identity_options, identity_rows)),
    INITIALIZER(stft, "the kernel of a short-time Fourier transform", TWO_NAMES("STFT"), true, refuse_no_kernel,
                LIANA_PART_OPTIONS(stft_options, stft_rows)),
    NULL,
};
#undef TWO_NAMES
#undef RANDOM
#undef CONSTANT
#undef INITIALIZER

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_options *table = &part->options;
    LIANA_TRY(liana__part_needs(context, part, ((const liana_initializer_type *)part)->fill != NULL, "fill"));
    if (table->count > LIANA_MAX_INITIALIZER_OPTIONS || table->size > LIANA_MAX_INITIALIZER_BYTES) {
        return liana__part_refuse(context, part,
                                  "it has %zu options in %zu bytes, expected at most %d options in %d bytes",
                                  table->count, table->size, LIANA_MAX_INITIALIZER_OPTIONS,
                                  LIANA_MAX_INITIALIZER_BYTES);
    }
    for (size_t i = 0; i < table->count; i++) {
        const liana_option *row = &table->items[i];
        const bool is_number = row->kind == LIANA_OPTION_INT || row->kind == LIANA_OPTION_FLOAT;
        const bool is_word = row->kind == LIANA_OPTION_BOOL || row->kind == LIANA_OPTION_ENUM;
        if (!row->required && (is_number || is_word)) continue;
        return liana__part_refuse(context, part,
                                  "its option '%s' is %s; an initialiser's options are numbers and words with defaults",
                                  row->name, row->required ? "required" : "a text or a list");
    }
    return LIANA_OK;
}

const liana__kind liana__initializer_kind = {.kind = LIANA_PART_INITIALIZER,
                                             .size = sizeof(liana_initializer_type),
                                             .builtin = list,
                                             .accept = accept};

/* ---- reading ---- */

liana_status liana__initializer_parse(const liana_context *context, const char *text, liana__initializer *initializer,
                                      liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana_part *part;
    const void *options;
    LIANA_TRY(liana__call_text_read(text, &liana__initializer_kind, context, &arena, &part, &options, error));
    *initializer = (liana__initializer){.type = (const liana_initializer_type *)part};
    if (options) memcpy(initializer->options, options, part->options.size);
    return LIANA_OK;
}

liana_status liana__initializer_check_shape(const liana__initializer *initializer, const char *text, const char *weight,
                                            const liana_shape *shape, liana__error *error)
{
    const liana_initializer_type *type = initializer->type;
    const char *expected = type->refuse ? type->refuse(initializer->options, shape) : NULL;
    if (!expected) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the weight '%.100s' is %s, expected %s for the initialiser '%.60s'", weight,
                       liana__shape_print(shape).text, expected, text);
}

/* The seed that the options have; -1: none. */
static int64_t own_seed(const liana__initializer *initializer)
{
    int64_t seed = -1;
    const liana_option *row = liana__fields_find(&initializer->type->part.options, "seed");
    if (row && row->kind == LIANA_OPTION_INT) memcpy(&seed, initializer->options + row->offset, sizeof seed);
    return seed;
}

/* Keras's fans: of a kernel [.., in, out] each is its axis times the window's size. */
static void compute_fans(const liana_shape *shape, liana_initializer_call *to)
{
    double window = 1;
    for (int i = 0; i < shape->rank - 2; i++) window *= (double)shape->dims[i];
    if (shape->rank >= 2) {
        to->fan_in = window * (double)shape->dims[shape->rank - 2];
        to->fan_out = window * (double)shape->dims[shape->rank - 1];
    } else {
        to->fan_in = to->fan_out = shape->rank ? (double)shape->dims[0] : 1;
    }
}

void liana__initializer_fill(const liana__initializer *initializer, uint64_t seed, uint32_t salt,
                             const liana_shape *shape, float *values)
{
    const int64_t own = own_seed(initializer);
    const liana__philox_key key = own >= 0 ? liana__philox_make_key((uint64_t)own, LIANA__STREAM_INITIALIZER, 0)
                                           : liana__philox_make_key(seed, LIANA__STREAM_INITIALIZER, salt);
    const liana_initializer_type *type = initializer->type;
    liana_initializer_call call = {
        .options = type->part.options.size ? initializer->options : NULL,
        .shape = shape,
        .count = liana_shape_size(shape),
        .values = values,
        .key = {key.words[0], key.words[1]},
    };
    compute_fans(shape, &call);
    if (initializer->fan_in > 0) {
        call.fan_in = initializer->fan_in;
        call.fan_out = initializer->fan_out;
    }
    memset(values, 0, (size_t)call.count * sizeof *values);
    type->fill(&call);
}

/* ---- Keras ---- */

/* Names of Keras 1 and 2. */
static const char *new_name(const char *name)
{
    static const char *const old_names[][2] = {{"zero", "zeros"},
                                               {"one", "ones"},
                                               {"normal", "random_normal"},
                                               {"uniform", "random_uniform"}};
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++) {
        if (strcmp(name, old_names[i][0]) == 0) return old_names[i][1];
    }
    return name;
}

/* An option as the text has it; NULL: it is left out. Without a seed Keras writes null. With a generator of seeds it
 * writes that. */
static liana__value *plain_option(liana__arena *arena, const liana_option *row, const liana__value *value)
{
    if (value->kind == LIANA__VALUE_NULL) {
        return row->kind == LIANA_OPTION_ENUM ? liana__value_string(arena, "none") : NULL;
    }
    return value->kind == LIANA__VALUE_MAP ? NULL : liana__value_copy(arena, value);
}

/* Keras writes more than the options: in old files a dtype. */
const char *liana__initializer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value)
{
    const bool is_map = value->kind == LIANA__VALUE_MAP;
    const liana__value *name = is_map ? liana__value_get(value, "class_name") : value;
    if (!name || name->kind != LIANA__VALUE_STRING) return NULL;
    const liana_part *part = liana__part_find(context, &liana__initializer_kind, new_name(name->string), NULL);
    if (!part) return is_map ? NULL : name->string;
    const liana__value *config = is_map ? liana__value_get(value, "config") : NULL;
    liana__value *plain = liana__value_map(arena), *options = liana__value_map(arena);
    if (!plain || !options) return NULL;
    for (size_t i = 0; i < part->options.count; i++) {
        const liana_option *row = &part->options.items[i];
        const liana__value *option = liana__value_get(config, row->name);
        liana__value *copy = option ? plain_option(arena, row, option) : NULL;
        if (copy) liana__value_set(arena, options, row->name, copy);
    }
    liana__value_set(arena, plain, "class_name", liana__value_string(arena, part->name));
    if (options->count) liana__value_set(arena, plain, "config", options);
    return liana__call_text_from_keras(arena, plain, &liana__initializer_kind, context);
}

liana__value *liana__initializer_to_keras(const liana_context *context, liana__arena *arena, const char *text)
{
    liana__initializer initializer;
    if (liana__initializer_parse(context, text, &initializer, NULL) != LIANA_OK) return NULL;
    liana__value *map = liana__call_text_to_keras(arena, text, &liana__initializer_kind, context);
    liana__value *config = map ? map->items[1] : NULL;
    bool is_own = true;
    for (size_t i = 0; list[i] && is_own; i++) is_own = list[i] != &initializer.type->part;
    for (size_t i = 0; config && !is_own && i < config->count; i++) {
        const liana__value *item = config->items[i];
        const bool is_none = item->kind == LIANA__VALUE_STRING && strcmp(item->string, "none") == 0;
        if (is_none) config->items[i] = liana__value_null(arena);
    }
    if (config && !initializer.type->draws_nothing && own_seed(&initializer) < 0) {
        liana__value_set(arena, config, "seed", liana__value_null(arena));
    }
    return map;
}
