/* EinsumDense: a product with a weight in numpy's notation, and a bias. */
#include "layers/convolution/convolution.h"
#include "layers/option_rows.h"

#include <liana/layers/core.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_einsum_dense_options, equation, STRING, .required = true,
                     .doc = "the product, as \"abc,cd->abd\": the input, the kernel and the result by their axes"),
    LIANA_OPTION_ROW(liana_einsum_dense_options, output_shape, INTS, .required = true, .minimum = -1,
                     .maximum = INT32_MAX,
                     .doc = "sizes of the result's axes without the batch and those of '...'; -1 or null: the input's"),
    LIANA__ACTIVATION_ROW(liana_einsum_dense_options),
    LIANA_OPTION_ROW(liana_einsum_dense_options, bias_axes, STRING,
                     .doc = "letters of the result that the bias has; default: no bias"),
    LIANA__INITIALIZER_ROW(liana_einsum_dense_options, kernel_initializer, "glorot_uniform"),
    LIANA__INITIALIZER_ROW(liana_einsum_dense_options, bias_initializer, "zeros"),
    LIANA__REGULARIZER_ROW(liana_einsum_dense_options, kernel_regularizer),
    LIANA__REGULARIZER_ROW(liana_einsum_dense_options, bias_regularizer),
    LIANA__REGULARIZER_ROW(liana_einsum_dense_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_einsum_dense_options, kernel_constraint),
    LIANA__CONSTRAINT_ROW(liana_einsum_dense_options, bias_constraint),
};

/* The letters of the three parts of an equation. */
typedef struct equation {
    char input[LIANA_MAX_RANK + 1], kernel[LIANA_MAX_RANK + 1], result[LIANA_MAX_RANK + 1];
    bool left, right; /* "..." stands before the letters of input and result, or behind them */
} equation;

/* Reads letters up to a character that is none. */
static const char *take_letters(const char *text, char letters[LIANA_MAX_RANK + 1])
{
    size_t count = 0;
    while (count < LIANA_MAX_RANK && isalpha((unsigned char)text[count])) {
        if (memchr(letters, text[count], count)) return NULL;
        letters[count] = text[count];
        count++;
    }
    letters[count] = 0;
    return count && !isalpha((unsigned char)text[count]) ? text + count : NULL;
}

static const char *take(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return text && strncmp(text, word, length) == 0 ? text + length : NULL;
}

/* false: it has not one of the three forms. */
static bool read_equation(const char *text, equation *to)
{
    *to = (equation){.left = take(text, "...") != NULL};
    const char *next = to->left ? text + 3 : text;
    next = take_letters(next, to->input);
    to->right = take(next, "...") != NULL;
    if (to->right) next += 3;
    next = take(next, ",");
    if (next) next = take_letters(next, to->kernel);
    next = take(next, "->");
    if (next && to->left) next = take(next, "...");
    if (next) next = take_letters(next, to->result);
    if (next && to->right) next = take(next, "...");
    return next && !*next && !(to->left && to->right);
}

static liana_status check_options(liana_check *check)
{
    const liana_einsum_dense_options *chosen = check->options;
    equation read;
    if (!read_equation(chosen->equation, &read)) {
        return liana_option_refuse(check, "equation",
                                   "found '%.60s', expected the form ab,bc->ac, ...ab,bc->...ac or ab...,bc->ac..., "
                                   "with no letter twice in a part",
                                   chosen->equation);
    }
    for (const char *c = read.result; *c; c++) {
        if (strchr(read.input, *c) || strchr(read.kernel, *c)) continue;
        return liana_option_refuse(check, "equation",
                                   "found '%.60s': '%c' of the result is neither in the input nor in the kernel",
                                   chosen->equation, *c);
    }
    for (const char *c = read.kernel; *c; c++) {
        if (strchr(read.input, *c) || strchr(read.result, *c)) continue;
        return liana_option_refuse(check, "equation",
                                   "found '%.60s': '%c' of the kernel is neither in the input nor in the result",
                                   chosen->equation, *c);
    }
    const size_t expected = strlen(read.result) - !read.left;
    if ((size_t)chosen->output_shape.count < expected) { /* Keras passes over more */
        return liana_option_refuse(check, "output_shape",
                                   "found %lld sizes, expected %zu, for the result of '%.60s' without the batch%s",
                                   (long long)chosen->output_shape.count, expected, chosen->equation,
                                   read.left || read.right ? " and '...'" : "");
    }
    for (const char *c = chosen->bias_axes; c && *c; c++) {
        const char *at = strchr(read.result, *c);
        if (at && (read.left || at > read.result)) continue;
        return liana_option_refuse(check, "bias_axes", "found '%.30s': '%c' is %s of '%.60s'", chosen->bias_axes, *c,
                                   at ? "the batch" : "not in the result", chosen->equation);
    }
    return LIANA_OK;
}

/* Sizes of letters, for an input. */
typedef struct sizes {
    equation read;
    int elided; /* axes of "..." */
    int64_t of[128];
} sizes;

static liana_status find_sizes(liana_layer_build *build, sizes *to)
{
    const liana_einsum_dense_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    char expected[160];
    *to = (sizes){.elided = 0};
    (void)read_equation(chosen->equation, &to->read);
    const equation *read = &to->read;
    const int letters = (int)strlen(read->input);
    to->elided = x->rank - letters;
    if (to->elided < (read->left ? 1 : 0) || (to->elided && !read->left && !read->right)) {
        snprintf(expected, sizeof expected, "the axes '%s%s%s' of the equation", read->left ? "..." : "", read->input,
                 read->right ? "..." : "");
        return liana_layer_refuse(build, 0, expected);
    }
    for (int i = 0; i < letters; i++) to->of[(int)read->input[i]] = x->dims[i + (read->left ? to->elided : 0)];
    for (int i = 0; read->result[i]; i++) {
        const char letter = read->result[i];
        const int place = i - !read->left;
        const int64_t asked = place < 0 ? -1 : chosen->output_shape.values[place], own = to->of[(int)letter];
        if (asked <= 0 && !own) {
            snprintf(expected, sizeof expected, "a size in output_shape for '%c', which the input does not have",
                     letter);
            return liana_layer_refuse(build, 0, expected);
        }
        if (asked > 0 && own && asked != own) {
            snprintf(expected, sizeof expected, "one where '%c' has the size %lld, as in output_shape", letter,
                     (long long)asked);
            return liana_layer_refuse(build, 0, expected);
        }
        if (asked > 0) to->of[(int)letter] = asked;
    }
    return LIANA_OK;
}

/* The bias has the axes of the result from the first that it needs on; the others are 1. */
static liana_shape bias_shape(const sizes *to, const char *axes)
{
    liana_shape shape = {.rank = 0};
    for (const char *c = to->read.result; *c; c++) {
        const bool wanted = strchr(axes, *c) != NULL;
        if (wanted || shape.rank) shape.dims[shape.rank++] = wanted ? to->of[(int)*c] : 1;
    }
    for (int i = 0; i < to->elided && to->read.right; i++) shape.dims[shape.rank++] = 1;
    return shape;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_einsum_dense_options *chosen = build->options;
    sizes to;
    if (find_sizes(build, &to) != LIANA_OK) return build->status;
    liana_shape kernel = {.rank = 0};
    build->fan_in = build->fan_out = 1;
    for (const char *c = to.read.kernel; *c; c++) {
        const int64_t size = to.of[(int)*c];
        kernel.dims[kernel.rank++] = size;
        *(strchr(to.read.result, *c) ? &build->fan_out : &build->fan_in) *= size;
    }
    liana_layer_add_weight(build, "kernel", kernel, chosen->kernel_initializer, true);
    build->fan_in = build->fan_out = 0;
    if (chosen->bias_axes && *chosen->bias_axes) {
        liana_layer_add_weight(build, "bias", bias_shape(&to, chosen->bias_axes), chosen->bias_initializer, true);
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_einsum_dense_options *chosen = call->options;
    const liana_tensor both[] = {call->inputs[0], call->weights[0]};
    const bool has_bias = chosen->bias_axes && *chosen->bias_axes;
    return liana__bias_and_activate(call, liana_einsum_at(call->here, chosen->equation, both, 2),
                                    has_bias ? &call->weights[1] : NULL, chosen->activation);
}

/* Keras writes null for sizes that are the input's. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_einsum_dense_options *chosen = options;
    liana__value *list = liana__value_list(arena);
    for (int64_t i = 0; list && i < chosen->output_shape.count; i++) {
        const int64_t size = chosen->output_shape.values[i];
        liana__value_add(arena, list, size < 0 ? liana__value_null(arena) : liana__value_int(arena, size));
    }
    liana__value_set(arena, config, "output_shape", list);
}

const liana_layer_type liana__layer_einsum_dense = {
    LIANA_PART(LAYER, liana_layer_type, "EinsumDense", "activation(einsum(equation, x, kernel) + bias)",
               LIANA_PART_OPTIONS(liana_einsum_dense_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
};
