/* Predictions as TensorFlow Serving's JSON. */
#include "serve/predict/response.h"

#include "base/scoped.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* Numbers with this many digits are read back as the same float32, and most with fewer. */
enum { FEWEST_DIGITS = 6, MOST_DIGITS = 9 };

/* `exponent` is not negative. */
static double power_of_ten(int exponent)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return exponent <= 22 ? powers[exponent] : pow(10, exponent);
}

/* value x 10^-exponent, with one rounding where the power is exact. */
static double scale(double value, int exponent)
{
    return exponent < 0 ? value * power_of_ten(-exponent) : value / power_of_ten(exponent);
}

/* The digits of a positive number as a whole number, and the exponent of ten of the last one. A number that is nearer
 * than 0.49 of the distance between two floats is read back as that float. */
static uint64_t find_digits(float value, int *exponent)
{
    const double exact = (double)value;
    const double room = 0.49 * (exact - (double)nextafterf(value, 0));
    const int first = (int)floor(log10(exact));
    for (int count = FEWEST_DIGITS;; count++) {
        *exponent = first - count + 1;
        const double digits = nearbyint(scale(exact, *exponent));
        const double again = scale(digits, -*exponent);
        if (fabs(again - exact) < room || count == MOST_DIGITS) return (uint64_t)digits;
    }
}

void liana__response_add_float(liana__text *text, float value)
{
    char digits[32], to[64];
    size_t at = 0;
    if (isnan(value) || isinf(value) || value == 0) {
        const char *word = isnan(value) ? "NaN" : isinf(value) ? "Infinity" : "0.0";
        if (signbit(value) && !isnan(value)) liana__text_add_bytes(text, "-", 1);
        liana__text_add_bytes(text, word, strlen(word));
        return;
    }
    int exponent;
    uint64_t whole = find_digits(fabsf(value), &exponent);
    while (whole % 10 == 0) {
        whole /= 10;
        exponent++;
    }
    int count = 0;
    for (; whole; whole /= 10) digits[sizeof digits - 1 - (size_t)count++] = (char)('0' + whole % 10);
    const char *from = digits + sizeof digits - count;
    const int point = count + exponent; /* digits before the point */
    if (value < 0) to[at++] = '-';
    if (point > -4 && point <= 0) {
        to[at++] = '0';
        to[at++] = '.';
        for (int i = point; i < 0; i++) to[at++] = '0';
        memcpy(to + at, from, (size_t)count);
        at += (size_t)count;
    } else if (point > 0 && point <= 9) {
        for (int i = 0; i < count || i < point; i++) {
            if (i == point) to[at++] = '.';
            to[at++] = i < count ? from[i] : '0';
        }
        if (count <= point) at += (size_t)snprintf(to + at, sizeof to - at, ".0");
    } else {
        to[at++] = from[0];
        if (count > 1) to[at++] = '.';
        memcpy(to + at, from + 1, (size_t)count - 1);
        at += (size_t)count - 1;
        at += (size_t)snprintf(to + at, sizeof to - at, "e%+03d", point - 1);
    }
    liana__text_add_bytes(text, to, at);
}

/* ---- texts ---- */

static void add_escape(liana__text *text, unsigned char byte)
{
    static const char known[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = strchr(known, byte);
    char escape[8];
    if (found && byte) {
        snprintf(escape, sizeof escape, "\\%c", letters[found - known]);
    } else {
        snprintf(escape, sizeof escape, "\\u%04x", byte);
    }
    liana__text_add_bytes(text, escape, strlen(escape));
}

void liana__response_add_text(liana__text *text, const char *string)
{
    static const char unknown[] = "\xef\xbf\xbd";
    const size_t size = strlen(string);
    uint32_t code;
    liana__text_add_bytes(text, "\"", 1);
    for (size_t at = 0; at < size;) {
        const size_t taken = liana__utf8_character(string + at, size - at, &code);
        if (!taken) {
            liana__text_add_bytes(text, unknown, sizeof unknown - 1);
        } else if (code < ' ' || code == '"' || code == '\\') {
            add_escape(text, (unsigned char)code);
        } else {
            liana__text_add_bytes(text, string + at, taken);
        }
        at += taken ? taken : 1;
    }
    liana__text_add_bytes(text, "\"", 1);
}

void liana__response_add_error(liana__text *text, const char *message)
{
    liana__text_add_bytes(text, "{\"error\": ", 10);
    liana__response_add_text(text, message);
    liana__text_add_bytes(text, "}\n", 2);
}

/* ---- predictions ---- */

static void add_comma(liana__text *text, bool is_first)
{
    if (!is_first) liana__text_add_bytes(text, ", ", 2);
}

/* The values of an example from an axis on. */
static const float *add_axis(liana__text *text, const liana_shape *shape, int axis, const float *values)
{
    if (axis == shape->rank) {
        liana__response_add_float(text, *values);
        return values + 1;
    }
    liana__text_add_bytes(text, "[", 1);
    for (int64_t i = 0; i < shape->dims[axis]; i++) {
        add_comma(text, i == 0);
        values = add_axis(text, shape, axis + 1, values);
    }
    liana__text_add_bytes(text, "]", 1);
    return values;
}

static void add_name(liana__text *text, const char *name)
{
    liana__response_add_text(text, name);
    liana__text_add_bytes(text, ": ", 2);
}

static void add_rows(liana__text *text, const liana__response_rows *rows)
{
    for (int64_t row = 0; row < rows->count; row++) {
        const float *values = rows->values + row * rows->num_values;
        add_comma(text, row == 0);
        if (rows->num_outputs > 1) liana__text_add_bytes(text, "{", 1);
        for (size_t i = 0; i < rows->num_outputs; i++) {
            add_comma(text, i == 0);
            if (rows->num_outputs > 1) add_name(text, rows->outputs[i].name);
            add_axis(text, &rows->outputs[i].shape, 1, values + rows->outputs[i].offset);
        }
        if (rows->num_outputs > 1) liana__text_add_bytes(text, "}", 1);
    }
}

static void add_columns(liana__text *text, const liana__response_rows *rows)
{
    if (rows->num_outputs > 1) liana__text_add_bytes(text, "{", 1);
    for (size_t i = 0; i < rows->num_outputs; i++) {
        add_comma(text, i == 0);
        if (rows->num_outputs > 1) add_name(text, rows->outputs[i].name);
        liana__text_add_bytes(text, "[", 1);
        for (int64_t row = 0; row < rows->count; row++) {
            add_comma(text, row == 0);
            add_axis(text, &rows->outputs[i].shape, 1, rows->values + row * rows->num_values + rows->outputs[i].offset);
        }
        liana__text_add_bytes(text, "]", 1);
    }
    if (rows->num_outputs > 1) liana__text_add_bytes(text, "}", 1);
}

void liana__response_add_predictions(liana__text *text, const liana__response_rows *rows, bool is_columns)
{
    liana__text_add(text, "{\"%s\": %s", is_columns ? "outputs" : "predictions", is_columns ? "" : "[");
    if (is_columns) add_columns(text, rows);
    if (!is_columns) add_rows(text, rows);
    liana__text_add(text, "%s}\n", is_columns ? "" : "]");
}

/* ---- classes and numbers ---- */

typedef struct ranked {
    int64_t class;
    float score;
} ranked;

static int better(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->class < y->class ? -1 : x->class > y->class;
}

static void add_label(liana__text *text, const liana_predictor_port *output, int64_t class)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)class);
    const bool has_name = output->class_names && (size_t) class < output->num_class_names;
    liana__response_add_text(text, has_name ? output->class_names[class] : number);
}

liana_status liana__response_add_classes(liana__text *text, const liana__response_rows *rows, int64_t top,
                                         liana__error *error)
{
    const liana_predictor_port *output = &rows->outputs[0];
    if (rows->num_outputs != 1 || output->shape.rank > 2 || (output->num_values == 1 && output->num_class_names != 2)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model has not one output of classes; ask for its outputs with :predict");
    }
    /* One sigmoid is the probability of the second class. */
    const bool is_sigmoid = output->num_values == 1;
    const int64_t count = is_sigmoid ? 2 : output->num_values;
    LIANA__SCOPED_MEMORY ranked *classes = malloc((size_t)count * sizeof *classes);
    if (!classes) return liana__fail_memory(error, "an answer");
    if (!top || top > count) top = count;
    liana__text_add(text, "{\"results\": [");
    for (int64_t row = 0; row < rows->count; row++) {
        const float *values = rows->values + row * rows->num_values + output->offset;
        for (int64_t i = 0; i < count; i++) classes[i] = (ranked){i, values[is_sigmoid ? 0 : i]};
        if (is_sigmoid) classes[0].score = 1 - values[0];
        qsort(classes, (size_t)count, sizeof *classes, better);
        liana__text_add(text, "%s[", row ? ", " : "");
        for (int64_t i = 0; i < top; i++) {
            liana__text_add_bytes(text, i ? ", [" : "[", i ? 3 : 1);
            add_label(text, output, classes[i].class);
            liana__text_add_bytes(text, ", ", 2);
            liana__response_add_float(text, classes[i].score);
            liana__text_add_bytes(text, "]", 1);
        }
        liana__text_add_bytes(text, "]", 1);
    }
    liana__text_add(text, "]}\n");
    return LIANA_OK;
}

liana_status liana__response_add_regressions(liana__text *text, const liana__response_rows *rows, liana__error *error)
{
    if (rows->num_outputs != 1 || rows->num_values != 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model has not one output of one number; ask for its outputs with :predict");
    }
    liana__text_add(text, "{\"results\": [");
    for (int64_t row = 0; row < rows->count; row++) {
        add_comma(text, row == 0);
        liana__response_add_float(text, rows->values[row]);
    }
    liana__text_add(text, "]}\n");
    return LIANA_OK;
}
