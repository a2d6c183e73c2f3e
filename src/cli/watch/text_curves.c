/* Curves as lines of text. */
#include "cli/watch/watch_terminal.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 10, DOT_COLUMNS = 2, DOT_ROWS = 4, LONGEST_NAME = 40 };

/* Letters in ascii. */
static const char marks[LIANA__TEXT_CURVES + 1] = "*o+x";

typedef struct canvas {
    int columns, rows; /* characters of the plot */
    bool ascii;
    unsigned char *dots; /* [rows, columns]: dots of Braille, or a letter */
    double left, right, low, high;
} canvas;

static bool find_ranges(canvas *own, const liana__text_curve *curves, size_t count)
{
    own->left = own->low = INFINITY;
    own->right = own->high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < curves[i].count; k++) {
            if (!isfinite(curves[i].y[k])) continue;
            own->left = fmin(own->left, curves[i].x[k]);
            own->right = fmax(own->right, curves[i].x[k]);
            own->low = fmin(own->low, curves[i].y[k]);
            own->high = fmax(own->high, curves[i].y[k]);
        }
    }
    if (!(own->left <= own->right)) return false;
    if (own->left == own->right) own->right = own->left + 1;
    const double room = own->high > own->low ? 0 : fmax(fabs(own->low) * 0.1, 1e-12);
    own->low -= room;
    own->high += room;
    return true;
}

/* The bit of a dot in U+2800: down the left column, then the right one, and the lowest row last. */
static unsigned char bit_of(int column, int row)
{
    static const unsigned char bits[DOT_ROWS][DOT_COLUMNS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    return bits[row][column];
}

static void set_dot(canvas *own, size_t curve, int x, int y)
{
    const int wide = own->ascii ? 1 : DOT_COLUMNS, high = own->ascii ? 1 : DOT_ROWS;
    if (x < 0 || y < 0 || x >= own->columns * wide || y >= own->rows * high) return;
    unsigned char *cell = &own->dots[(y / high) * own->columns + x / wide];
    *cell = own->ascii ? (unsigned char)marks[curve] : *cell | bit_of(x % wide, y % high);
}

/* In as many steps as it is long. */
static void set_line(canvas *own, size_t curve, const double from[2], const double to[2])
{
    const int steps = (int)ceil(fmax(1, fmax(fabs(to[0] - from[0]), fabs(to[1] - from[1]))));
    for (int i = 0; i <= steps; i++) {
        const double share = (double)i / steps;
        set_dot(own, curve, (int)lround(from[0] + (to[0] - from[0]) * share),
                (int)lround(from[1] + (to[1] - from[1]) * share));
    }
}

static void draw_curve(canvas *own, size_t number, const liana__text_curve *curve)
{
    const double wide = own->columns * (own->ascii ? 1 : DOT_COLUMNS) - 1,
                 high = own->rows * (own->ascii ? 1 : DOT_ROWS) - 1;
    double before[2] = {NAN, NAN};
    for (size_t i = 0; i < curve->count; i++) {
        if (!isfinite(curve->y[i])) {
            before[0] = (double)NAN;
            continue;
        }
        const double at[2] = {(curve->x[i] - own->left) / (own->right - own->left) * wide,
                              (own->high - curve->y[i]) / (own->high - own->low) * high};
        set_line(own, number, isnan(before[0]) ? at : before, at);
        memcpy(before, at, sizeof before);
    }
}

/* U+2800 and its dots, in UTF-8. */
static void add_cell(const canvas *own, unsigned char cell, liana__text *text)
{
    if (own->ascii) {
        liana__text_add(text, "%c", cell ? cell : ' ');
    } else if (!cell) {
        liana__text_add(text, " ");
    } else {
        const char bytes[3] = {(char)0xe2, (char)(0xa0 | cell >> 6), (char)(0x80 | (cell & 0x3f))};
        liana__text_add_bytes(text, bytes, sizeof bytes);
    }
}

static void add_rows(const canvas *own, liana__text *text)
{
    for (int row = 0; row < own->rows; row++) {
        char label[32] = "";
        if (row == 0) liana__format(label, sizeof label, "%.4g", own->high);
        if (row == own->rows - 1) liana__format(label, sizeof label, "%.4g", own->low);
        liana__text_add(text, "%*.*s %s", LABEL, LABEL, label, own->ascii ? "|" : "\xe2\x94\x82");
        for (int column = 0; column < own->columns; column++) {
            add_cell(own, own->dots[row * own->columns + column], text);
        }
        liana__text_add(text, "\n");
    }
}

/* The axis, and its ends below it. */
static void add_axis(const canvas *own, const char *x_label, liana__text *text)
{
    char left[32], right[32];
    liana__format(left, sizeof left, "%.6g", own->left);
    liana__format(right, sizeof right, "%.6g", own->right);
    liana__text_add(text, "%*s %s", LABEL, "", own->ascii ? "+" : "\xe2\x94\x94");
    for (int column = 0; column < own->columns; column++) liana__text_add(text, own->ascii ? "-" : "\xe2\x94\x80");
    const int room = own->columns - (int)strlen(left) - (int)strlen(x_label) - 2;
    liana__text_add(text, "\n%*s %s %s %*s\n", LABEL + 1, "", left, x_label, room > 0 ? room : 0, right);
}

void liana__text_add_name(liana__text *text, const char *name)
{
    char plain[LONGEST_NAME * 4];
    snprintf(plain, sizeof plain, "%.*s", LONGEST_NAME, name);
    liana__escape_controls(plain, sizeof plain);
    liana__text_add(text, "%s", plain);
}

void liana__text_curves_draw(const char *title, const char *x_label, const liana__text_curve *curves, size_t count,
                             int width, int height, bool ascii, liana__text *text)
{
    canvas own = {.columns = width - LABEL - 2, .rows = height - 3, .ascii = ascii};
    if (own.columns < 8) own.columns = 8;
    if (own.rows < 2) own.rows = 2;
    if (count > LIANA__TEXT_CURVES) count = LIANA__TEXT_CURVES;
    liana__text_add_name(text, title);
    for (size_t i = 0; count > 1 && i < count; i++) {
        if (ascii) liana__text_add(text, "  %c ", marks[i]);
        if (!ascii) liana__text_add(text, "%s ", i ? "," : ":");
        liana__text_add_name(text, curves[i].name);
    }
    liana__text_add(text, "\n");
    own.dots = calloc((size_t)(own.columns * own.rows), 1);
    if (!own.dots || !find_ranges(&own, curves, count)) {
        liana__text_add(text, "%*s no values yet\n", LABEL, "");
    } else {
        for (size_t i = 0; i < count; i++) draw_curve(&own, i, &curves[i]);
        add_rows(&own, text);
        add_axis(&own, x_label, text);
    }
    free(own.dots);
}
