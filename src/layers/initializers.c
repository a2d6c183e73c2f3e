/* Draws initial weights. */
#include "layers/initializers.h"

#include "base/format.h"
#include "base/parts.h"
#include "base/random.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef liana__initializer_argument argument_type;
typedef liana__initializer_type initializer_type;
typedef liana__drawing drawing;

const char *const liana__initializer_truths[] = {"false", "true", NULL};
static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
static const char *const distributions[] = {"truncated_normal", "untruncated_normal", "uniform", "normal", NULL};
enum { FAN_IN, FAN_OUT, FAN_AVG };
enum { TRUNCATED_NORMAL, UNTRUNCATED_NORMAL, UNIFORM, NORMAL /* Keras's old word for TRUNCATED_NORMAL */ };

static void fill_constant(const drawing *to)
{
    for (int64_t i = 0; i < to->count; i++) to->values[i] = (float)to->arguments[0];
}

static void fill_zeros(const drawing *to)
{
    memset(to->values, 0, (size_t)to->count * sizeof *to->values);
}

static void fill_ones(const drawing *to)
{
    for (int64_t i = 0; i < to->count; i++) to->values[i] = 1;
}

/* One word an element. */
static void draw_uniform(const drawing *to, double low, double high)
{
    for (int64_t i = 0; i < to->count; i += 4) {
        uint64_t block = (uint64_t)i / 4;
        uint32_t words[4];
        liana__philox(to->key, (const uint32_t[]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, words);
        for (int64_t k = 0; k < 4 && i + k < to->count; k++) {
            to->values[i + k] = (float)(low + (high - low) * (double)liana__uniform_float(words[k]));
        }
    }
}

double liana__draw_normal(liana__philox_key key, uint64_t index, uint32_t attempt)
{
    uint32_t words[4];
    liana__philox(key, (const uint32_t[]){(uint32_t)index, (uint32_t)(index >> 32), attempt, 1}, words);
    double u = 1 - liana__uniform_double(words[0], words[1]), v = liana__uniform_double(words[2], words[3]);
    return sqrt(-2 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

static void draw_normals(const drawing *to, double mean, double deviation, bool truncated)
{
    for (int64_t i = 0; i < to->count; i++) {
        double z = liana__draw_normal(to->key, (uint64_t)i, 0);
        for (uint32_t attempt = 1; truncated && fabs(z) > 2; attempt++)
            z = liana__draw_normal(to->key, (uint64_t)i, attempt);
        to->values[i] = (float)(mean + deviation * z);
    }
}

static void fill_random_uniform(const drawing *to)
{
    draw_uniform(to, to->arguments[0], to->arguments[1]);
}

static void fill_random_normal(const drawing *to)
{
    draw_normals(to, to->arguments[0], to->arguments[1], false);
}

static void fill_truncated_normal(const drawing *to)
{
    draw_normals(to, to->arguments[0], to->arguments[1], true);
}

/* He et al. 2015, generalised as in Keras: variance = scale / fan. */
static void draw_scaled(const drawing *to, double scale, int mode, int distribution)
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

static void fill_variance_scaling(const drawing *to)
{
    draw_scaled(to, to->arguments[0], (int)to->arguments[1], (int)to->arguments[2]);
}

static void fill_glorot_uniform(const drawing *to)
{
    draw_scaled(to, 1, FAN_AVG, UNIFORM);
}

static void fill_glorot_normal(const drawing *to)
{
    draw_scaled(to, 1, FAN_AVG, TRUNCATED_NORMAL);
}

static void fill_he_uniform(const drawing *to)
{
    draw_scaled(to, 2, FAN_IN, UNIFORM);
}

static void fill_he_normal(const drawing *to)
{
    draw_scaled(to, 2, FAN_IN, TRUNCATED_NORMAL);
}

static void fill_lecun_uniform(const drawing *to)
{
    draw_scaled(to, 1, FAN_IN, UNIFORM);
}

static void fill_lecun_normal(const drawing *to)
{
    draw_scaled(to, 1, FAN_IN, TRUNCATED_NORMAL);
}

static const initializer_type types[] = {
    {.name = "zeros", .class_name = "Zeros", .fill = fill_zeros},
    {.name = "ones", .class_name = "Ones", .fill = fill_ones},
    {.name = "constant", .class_name = "Constant", .arguments = {{.name = "value"}}, .fill = fill_constant},
    {.name = "random_uniform",
     .class_name = "RandomUniform",
     .arguments = {{.name = "minval", .standard = -0.05}, {.name = "maxval", .standard = 0.05}},
     .fill = fill_random_uniform},
    {.name = "random_normal",
     .class_name = "RandomNormal",
     .arguments = {{.name = "mean", .standard = 0}, {.name = "stddev", .standard = 0.05}},
     .fill = fill_random_normal},
    {.name = "truncated_normal",
     .class_name = "TruncatedNormal",
     .arguments = {{.name = "mean", .standard = 0}, {.name = "stddev", .standard = 0.05}},
     .fill = fill_truncated_normal},
    {.name = "variance_scaling",
     .class_name = "VarianceScaling",
     .arguments = {{.name = "scale", .standard = 1},
                   {.name = "mode", .standard = FAN_IN, .words = modes},
                   {.name = "distribution", .standard = TRUNCATED_NORMAL, .words = distributions}},
     .fill = fill_variance_scaling},
    {.name = "glorot_uniform", .class_name = "GlorotUniform", .fill = fill_glorot_uniform},
    {.name = "glorot_normal", .class_name = "GlorotNormal", .fill = fill_glorot_normal},
    {.name = "he_uniform", .class_name = "HeUniform", .fill = fill_he_uniform},
    {.name = "he_normal", .class_name = "HeNormal", .fill = fill_he_normal},
    {.name = "lecun_uniform", .class_name = "LecunUniform", .fill = fill_lecun_uniform},
    {.name = "lecun_normal", .class_name = "LecunNormal", .fill = fill_lecun_normal},
};
enum { NUM_TYPES = sizeof types / sizeof *types };

const char *const *liana__initializer_names(void)
{
    static const char *const names[] = {
        "zeros",
        "ones",
        "constant",
        "random_uniform",
        "random_normal",
        "truncated_normal",
        "variance_scaling",
        "glorot_uniform",
        "glorot_normal",
        "he_uniform",
        "he_normal",
        "lecun_uniform",
        "lecun_normal",
        NULL,
    };
    _Static_assert(sizeof names / sizeof *names == NUM_TYPES + 1, "one name for each type");
    return names;
}

static const liana__named known_types = LIANA__NAMED(initializer_type, types, NUM_TYPES);

static liana_status fail_unknown(const char *word, const char *nearest, liana__error *error)
{
    const char *const *names = liana__initializer_names();
    if (nearest) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', which is not an initialiser; did you mean '%s'?",
                           word, nearest);
    }
    liana__text known = {0};
    for (size_t i = 0; i < NUM_TYPES; i++) liana__text_add(&known, "%s%s", i ? ", " : "", names[i]);
    liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', expected an initialiser: %s", word,
                known.data ? known.data : "");
    liana__text_free(&known);
    return LIANA_INVALID_CONFIG;
}

static bool fits(const argument_type *argument, double value)
{
    bool in_range =
        argument->minimum == argument->maximum || (value >= argument->minimum && value <= argument->maximum);
    return in_range && (!argument->whole || value == floor(value));
}

/* "a number", "a whole number from 1 to 5", "fan_in, fan_out or fan_avg". */
static void describe(const argument_type *argument, liana__text *text)
{
    /* Keras's old word for truncated_normal is read, not recommended. */
    const char *const *words = argument->words;
    size_t count = 0;
    while (words && words[count] && !(words == distributions && count == NORMAL)) count++;
    for (size_t i = 0; i < count; i++) {
        liana__text_add(text, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
    }
    if (words) return;
    liana__text_add(text, argument->whole ? "a whole number" : "a number");
    if (argument->minimum == argument->maximum) return;
    liana__text_add(text, " from ");
    liana__text_add_double(text, argument->minimum);
    liana__text_add(text, " to ");
    liana__text_add_double(text, argument->maximum);
}

/* A number or a word of the argument's list. */
static liana_status parse_value(const argument_type *argument, const char *text, size_t length, double *value,
                                liana__error *error)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), text);
    for (int i = 0; argument->words && argument->words[i]; i++) {
        if (strcmp(argument->words[i], word) == 0) {
            *value = i;
            return LIANA_OK;
        }
    }
    char *end = word;
    if (!argument->words) *value = liana__parse_double(word, &end);
    if (end != word && *end == 0 && isfinite(*value) && fits(argument, *value)) return LIANA_OK;
    liana__text expected = {0};
    describe(argument, &expected);
    liana__fail(error, LIANA_INVALID_CONFIG, "%s: found '%s', expected %s", argument->name, word,
                expected.data ? expected.data : "");
    liana__text_free(&expected);
    return LIANA_INVALID_CONFIG;
}

static int find_argument(const initializer_type *type, const char *name, size_t length)
{
    for (int i = 0; i < LIANA__MAX_INITIALIZER_ARGUMENTS && type->arguments[i].name; i++) {
        if (strlen(type->arguments[i].name) == length && strncmp(type->arguments[i].name, name, length) == 0) return i;
    }
    return -1;
}

/* "0.5" or "stddev=0.5": one argument, without blanks around. */
static liana_status parse_argument(const char *text, size_t length, int position, liana__initializer *initializer,
                                   liana__error *error)
{
    const char *equals = memchr(text, '=', length);
    const char *value = equals ? equals + 1 : text;
    size_t name_length = equals ? (size_t)(equals - text) : 0;
    while (name_length && text[name_length - 1] == ' ') name_length--;
    while (value < text + length && *value == ' ') value++;
    int index = equals ? find_argument(initializer->type, text, name_length) : position;
    bool known = index >= 0 && index < LIANA__MAX_INITIALIZER_ARGUMENTS && initializer->type->arguments[index].name;
    if (!known) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%.*s' is not an argument of %s",
                           (int)(length < 60 ? length : 60), text, initializer->type->name);
    }
    return parse_value(&initializer->type->arguments[index], value, (size_t)(text + length - value),
                       &initializer->arguments[index], error);
}

liana_status liana__initializer_parse(const liana_context *context, const char *text, liana__initializer *initializer,
                                      liana__error *error)
{
    size_t length = strcspn(text, "(");
    while (length && text[length - 1] == ' ') length--;
    char name[64];
    const char *nearest = NULL;
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), text);
    const initializer_type *type = liana__part_find(context, LIANA__PART_INITIALIZER, known_types, name, &nearest);
    if (!type) return fail_unknown(name, nearest, error);
    *initializer = (liana__initializer){.type = type};
    for (int i = 0; i < LIANA__MAX_INITIALIZER_ARGUMENTS; i++) initializer->arguments[i] = type->arguments[i].standard;
    const char *next = strchr(text, '(');
    if (!next) return liana__own_initializer_check(initializer, error);
    if (text[strlen(text) - 1] != ')') {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found '%.60s', expected ')' at its end", text);
    }
    next++;
    for (int position = 0; *next; position++) {
        next += strspn(next, " ");
        size_t extent = strcspn(next, ",)"), trimmed = extent;
        while (trimmed && next[trimmed - 1] == ' ') trimmed--;
        if (trimmed) LIANA_TRY(parse_argument(next, trimmed, position, initializer, error));
        next += extent + 1;
    }
    return liana__own_initializer_check(initializer, error);
}

/* Keras's fans: of a kernel [.., in, out] each is its axis times the window's size. */
static void compute_fans(const liana_shape *shape, drawing *to)
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
    drawing to = {
        .type = initializer->type,
        .shape = shape,
        .key = liana__philox_make_key(seed, LIANA__STREAM_INITIALIZER, salt),
        .arguments = initializer->arguments,
        .count = liana_shape_size(shape),
        .values = values,
    };
    compute_fans(shape, &to);
    initializer->type->fill(&to);
}

/* "zeros" also for "zero", "Zeros"; "random_normal" also for "normal" and "RandomNormal". */
static const initializer_type *find_any_spelling(const liana_context *context, const char *name)
{
    static const char *const old_names[][2] = {{"zero", "zeros"},
                                               {"one", "ones"},
                                               {"normal", "random_normal"},
                                               {"uniform", "random_uniform"}};
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++) {
        if (strcmp(name, old_names[i][0]) == 0) name = old_names[i][1];
    }
    for (size_t i = 0; i < NUM_TYPES; i++) {
        if (strcmp(types[i].name, name) == 0 || strcmp(types[i].class_name, name) == 0) return &types[i];
    }
    return liana__part_find(context, LIANA__PART_INITIALIZER, known_types, name, NULL);
}

const char *liana__initializer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value)
{
    bool is_map = value->kind == LIANA__VALUE_MAP;
    const liana__value *name = is_map ? liana__value_get(value, "class_name") : value;
    if (!name || name->kind != LIANA__VALUE_STRING) return NULL;
    const initializer_type *type = find_any_spelling(context, name->string);
    if (!type) return is_map ? NULL : name->string;
    const liana__value *config = is_map ? liana__value_get(value, "config") : NULL;
    liana__text text = {0};
    liana__text_add(&text, "%s", type->name);
    int count = 0;
    for (int i = 0; i < LIANA__MAX_INITIALIZER_ARGUMENTS && type->arguments[i].name; i++) {
        const liana__value *argument = liana__value_get(config, type->arguments[i].name);
        if (!argument) continue;
        liana__text_add(&text, "%s%s=", count++ ? ", " : "(", type->arguments[i].name);
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
    liana__value *map = liana__value_map(arena), *config = liana__value_map(arena);
    if (!map || !config) return NULL;
    for (int i = 0; i < LIANA__MAX_INITIALIZER_ARGUMENTS && initializer.type->arguments[i].name; i++) {
        const argument_type *argument = &initializer.type->arguments[i];
        double value = initializer.arguments[i];
        liana__value *item = argument->words == liana__initializer_truths ? liana__value_bool(arena, value != 0)
                             : argument->words ? liana__value_string(arena, argument->words[(int)value])
                                               : liana__value_float(arena, value);
        liana__value_set(arena, config, argument->name, item);
    }
    bool draws = initializer.type->fill != fill_zeros && initializer.type->fill != fill_ones &&
                 initializer.type->fill != fill_constant;
    if (draws) liana__value_set(arena, config, "seed", liana__value_null(arena));
    liana__value_set(arena, map, "class_name", liana__value_string(arena, initializer.type->class_name));
    liana__value_set(arena, map, "config", config);
    return map;
}
