/* Draws initial weights. */
#include "layers/initializers.h"

#include "base/format.h"
#include "base/random.h"
#include "layers/rules/call_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const truths[] = {"false", "true", NULL};
static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
static const char *const distributions[] = {"truncated_normal", "untruncated_normal", "uniform", "normal", NULL};
enum { FAN_IN, FAN_OUT, FAN_AVG };
enum { TRUNCATED_NORMAL, UNTRUNCATED_NORMAL, UNIFORM, NORMAL /* Keras's old word for TRUNCATED_NORMAL */ };

typedef struct constant_options {
    double value;
} constant_options;

typedef struct range_options {
    double minval, maxval;
} range_options;

typedef struct normal_options {
    double mean, stddev;
} normal_options;

typedef struct scaling_options {
    double scale;
    int mode, distribution;
} scaling_options;

static const liana_option constant_rows[] = {
    LIANA_OPTION_ROW(constant_options, value, FLOAT, .doc = "of each element"),
};
static const liana_option range_rows[] = {
    LIANA_OPTION_ROW(range_options, minval, FLOAT, .default_text = "-0.05", .doc = "the smallest value"),
    LIANA_OPTION_ROW(range_options, maxval, FLOAT, .default_text = "0.05", .doc = "the largest value"),
};
static const liana_option normal_rows[] = {
    LIANA_OPTION_ROW(normal_options, mean, FLOAT, .doc = "of all values"),
    LIANA_OPTION_ROW(normal_options, stddev, FLOAT, .default_text = "0.05", .doc = "their standard deviation"),
};
static const liana_option scaling_rows[] = {
    LIANA_OPTION_ROW(scaling_options, scale, FLOAT, .default_text = "1", .doc = "a factor of the variance"),
    LIANA_OPTION_ROW(scaling_options, mode, ENUM, .names = modes, .doc = "what the variance is divided by"),
    LIANA_OPTION_ROW(scaling_options, distribution, ENUM, .names = distributions, .doc = "of the values"),
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

static void fill_glorot_uniform(const liana_initializer_call *to)
{
    draw_scaled(to, 1, FAN_AVG, UNIFORM);
}

static void fill_glorot_normal(const liana_initializer_call *to)
{
    draw_scaled(to, 1, FAN_AVG, TRUNCATED_NORMAL);
}

static void fill_he_uniform(const liana_initializer_call *to)
{
    draw_scaled(to, 2, FAN_IN, UNIFORM);
}

static void fill_he_normal(const liana_initializer_call *to)
{
    draw_scaled(to, 2, FAN_IN, TRUNCATED_NORMAL);
}

static void fill_lecun_uniform(const liana_initializer_call *to)
{
    draw_scaled(to, 1, FAN_IN, UNIFORM);
}

static void fill_lecun_normal(const liana_initializer_call *to)
{
    draw_scaled(to, 1, FAN_IN, TRUNCATED_NORMAL);
}

/* ---- the kind ---- */

#define INITIALIZER(initializer, class_name, is_constant, ...)                                           \
    &((const liana_initializer_type){LIANA_PART(INITIALIZER, liana_initializer_type, #initializer, NULL, \
                                                .aliases = {class_name}, __VA_ARGS__),                   \
                                     .draws_nothing = (is_constant), .fill = fill_##initializer})        \
         .part

static const liana_part *const list[] = {
    INITIALIZER(zeros, "Zeros", true, .options = {0}),
    INITIALIZER(ones, "Ones", true, .options = {0}),
    INITIALIZER(constant, "Constant", true, LIANA_PART_OPTIONS(constant_options, constant_rows)),
    INITIALIZER(random_uniform, "RandomUniform", false, LIANA_PART_OPTIONS(range_options, range_rows)),
    INITIALIZER(random_normal, "RandomNormal", false, LIANA_PART_OPTIONS(normal_options, normal_rows)),
    INITIALIZER(truncated_normal, "TruncatedNormal", false, LIANA_PART_OPTIONS(normal_options, normal_rows)),
    INITIALIZER(variance_scaling, "VarianceScaling", false, LIANA_PART_OPTIONS(scaling_options, scaling_rows)),
    INITIALIZER(glorot_uniform, "GlorotUniform", false, .options = {0}),
    INITIALIZER(glorot_normal, "GlorotNormal", false, .options = {0}),
    INITIALIZER(he_uniform, "HeUniform", false, .options = {0}),
    INITIALIZER(he_normal, "HeNormal", false, .options = {0}),
    INITIALIZER(lecun_uniform, "LecunUniform", false, .options = {0}),
    INITIALIZER(lecun_normal, "LecunNormal", false, .options = {0}),
    NULL,
};
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

static liana_status fail_unknown(const char *word, const char *nearest, liana__error *error)
{
    if (nearest) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', which is not an initialiser; did you mean '%s'?",
                           word, nearest);
    }
    liana__text known = {0};
    for (size_t i = 0; list[i]; i++) liana__text_add(&known, "%s%s", i ? ", " : "", list[i]->name);
    liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', expected an initialiser: %s", word,
                known.data ? known.data : "");
    liana__text_free(&known);
    return LIANA_INVALID_CONFIG;
}

/* The words of an option; NULL: it is a number. */
static const char *const *words_of(const liana_option *row)
{
    return row->kind == LIANA_OPTION_BOOL ? truths : row->kind == LIANA_OPTION_ENUM ? row->names : NULL;
}

static bool fits(const liana_option *argument, double value)
{
    bool in_range =
        argument->minimum == argument->maximum || (value >= argument->minimum && value <= argument->maximum);
    return in_range && (argument->kind != LIANA_OPTION_INT || value == floor(value));
}

/* "a number", "a whole number from 1 to 5", "fan_in, fan_out or fan_avg". */
static void describe(const liana_option *argument, liana__text *text)
{
    /* Keras's old word for truncated_normal is read, not recommended. */
    const char *const *words = words_of(argument);
    size_t count = 0;
    while (words && words[count] && !(words == distributions && count == NORMAL)) count++;
    for (size_t i = 0; i < count; i++) {
        liana__text_add(text, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
    }
    if (words) return;
    liana__text_add(text, argument->kind == LIANA_OPTION_INT ? "a whole number" : "a number");
    if (argument->minimum == argument->maximum) return;
    liana__text_add(text, " from ");
    liana__text_add_double(text, argument->minimum);
    liana__text_add(text, " to ");
    liana__text_add_double(text, argument->maximum);
}

static void store(const liana_option *argument, double value, unsigned char *options)
{
    void *member = options + argument->offset;
    switch (argument->kind) {
    case LIANA_OPTION_BOOL: *(bool *)member = value != 0; break;
    case LIANA_OPTION_INT: *(int64_t *)member = (int64_t)value; break;
    case LIANA_OPTION_ENUM: *(int *)member = (int)value; break;
    default: *(double *)member = value; break;
    }
}

/* A number or a word of the argument's list. */
static liana_status parse_value(const liana_option *argument, const char *text, size_t length, unsigned char *options,
                                liana__error *error)
{
    char word[64];
    const char *const *words = words_of(argument);
    double value = 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), text);
    bool found = false;
    for (int i = 0; words && words[i] && !found; i++) {
        found = strcmp(words[i], word) == 0;
        value = i;
    }
    char *end = word;
    if (!words) {
        value = liana__parse_double(word, &end);
        found = end != word && *end == 0 && isfinite(value) && fits(argument, value);
    }
    if (found) {
        store(argument, value, options);
        return LIANA_OK;
    }
    liana__text expected = {0};
    describe(argument, &expected);
    liana__fail(error, LIANA_INVALID_CONFIG, "%s: found '%s', expected %s", argument->name, word,
                expected.data ? expected.data : "");
    liana__text_free(&expected);
    return LIANA_INVALID_CONFIG;
}

/* "0.5" or "stddev=0.5": one argument, without blanks around. */
static liana_status parse_argument(const char *text, size_t length, size_t position, liana__initializer *initializer,
                                   liana__error *error)
{
    const char *equals = memchr(text, '=', length);
    const char *value = equals ? equals + 1 : text;
    const liana_options *table = &initializer->type->part.options;
    size_t name_length = equals ? (size_t)(equals - text) : 0;
    while (name_length && text[name_length - 1] == ' ') name_length--;
    while (value < text + length && *value == ' ') value++;
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->items[i].name;
        const bool is_named = strlen(name) == name_length && strncmp(name, text, name_length) == 0;
        if (equals ? !is_named : i != position) continue;
        return parse_value(&table->items[i], value, (size_t)(text + length - value), initializer->options, error);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "'%.*s' is not an argument of %s", (int)(length < 60 ? length : 60),
                       text, initializer->type->part.name);
}

/* What stands between the parentheses. */
static liana_status parse_arguments(const char *next, liana__initializer *initializer, liana__error *error)
{
    for (size_t position = 0; *next; position++) {
        next += strspn(next, " ");
        size_t extent = strcspn(next, ",)"), trimmed = extent;
        while (trimmed && next[trimmed - 1] == ' ') trimmed--;
        if (trimmed) LIANA_TRY(parse_argument(next, trimmed, position, initializer, error));
        next += extent + 1;
    }
    return LIANA_OK;
}

liana_status liana__initializer_parse(const liana_context *context, const char *text, liana__initializer *initializer,
                                      liana__error *error)
{
    size_t length = strcspn(text, "(");
    while (length && text[length - 1] == ' ') length--;
    char name[64];
    const char *nearest = NULL;
    liana__arena arena = {0};
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), text);
    const liana_initializer_type *type = liana__part_find(context, &liana__initializer_kind, name, &nearest);
    if (!type) return fail_unknown(name, nearest, error);
    *initializer = (liana__initializer){.type = type};
    liana_status status = liana__fields_default(&type->part.options, &arena, initializer->options, error);
    liana__arena_free(&arena);
    LIANA_TRY(status);
    const char *next = strchr(text, '(');
    if (next && text[strlen(text) - 1] != ')') {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found '%.60s', expected ')' at its end", text);
    }
    if (next) LIANA_TRY(parse_arguments(next + 1, initializer, error));
    return liana__part_check(&type->part, context, initializer->options, NULL, type->part.name, error);
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
    const liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_INITIALIZER, salt);
    const liana_initializer_type *type = initializer->type;
    liana_initializer_call call = {
        .options = type->part.options.size ? initializer->options : NULL,
        .shape = shape,
        .count = liana_shape_size(shape),
        .values = values,
        .key = {key.words[0], key.words[1]},
    };
    compute_fans(shape, &call);
    memset(values, 0, (size_t)call.count * sizeof *values);
    type->fill(&call);
}

/* ---- Keras ---- */

/* "zeros" also for "zero" and "Zeros"; "random_normal" also for "normal" and "RandomNormal". */
static const liana_part *find_any_spelling(const liana_context *context, const char *name)
{
    static const char *const old_names[][2] = {{"zero", "zeros"},
                                               {"one", "ones"},
                                               {"normal", "random_normal"},
                                               {"uniform", "random_uniform"}};
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++) {
        if (strcmp(name, old_names[i][0]) == 0) name = old_names[i][1];
    }
    return liana__part_find(context, &liana__initializer_kind, name, NULL);
}

const char *liana__initializer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value)
{
    bool is_map = value->kind == LIANA__VALUE_MAP;
    const liana__value *name = is_map ? liana__value_get(value, "class_name") : value;
    if (!name || name->kind != LIANA__VALUE_STRING) return NULL;
    const liana_part *part = find_any_spelling(context, name->string);
    if (!part) return is_map ? NULL : name->string;
    const liana__value *config = is_map ? liana__value_get(value, "config") : NULL;
    liana__text text = {0};
    liana__text_add(&text, "%s", part->name);
    int count = 0;
    for (size_t i = 0; i < part->options.count; i++) {
        const liana__value *argument = liana__value_get(config, part->options.items[i].name);
        if (!argument) continue;
        liana__text_add(&text, "%s%s=", count++ ? ", " : "(", part->options.items[i].name);
        if (argument->kind == LIANA__VALUE_STRING) {
            liana__text_add(&text, "%s", argument->string);
        } else if (argument->kind == LIANA__VALUE_BOOL) {
            liana__text_add(&text, argument->boolean ? "true" : "false");
        } else {
            liana__text_add_double(&text, argument->number);
        }
    }
    if (count) liana__text_add(&text, ")");
    const char *copy = text.failed ? NULL : liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return copy;
}

liana__value *liana__initializer_to_keras(const liana_context *context, liana__arena *arena, const char *text)
{
    liana__initializer initializer;
    if (liana__initializer_parse(context, text, &initializer, NULL) != LIANA_OK) return NULL;
    const liana_part *part = &initializer.type->part;
    liana__value *map = liana__value_map(arena);
    liana__value *config = liana__fields_write(&part->options, arena, initializer.options);
    if (!map || !config) return NULL;
    if (!initializer.type->draws_nothing) liana__value_set(arena, config, "seed", liana__value_null(arena));
    liana__value_set(arena, map, "class_name", liana__value_string(arena, liana__part_class_name(part)));
    liana__value_set(arena, map, "config", config);
    return map;
}
