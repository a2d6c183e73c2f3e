/* Drawings as the values that a page's script draws. */
#include "report/page/page.h"

#include "base/format.h"

#include <string.h>

/* ---- numbers ---- */

liana__value *liana__page_number(liana__arena *arena, double number)
{
    char text[40];
    if (!isfinite(number)) return liana__value_null(arena);
    liana__format(text, sizeof text, "%.6g", number);
    const double rounded = liana__parse_double(text, NULL);
    if (rounded == floor(rounded) && fabs(rounded) < 1e15) return liana__value_int(arena, (int64_t)rounded);
    return liana__value_float(arena, rounded);
}

liana__value *liana__page_numbers(liana__arena *arena, const double *numbers, size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < count; i++) liana__value_add(arena, list, liana__page_number(arena, numbers[i]));
    return list;
}

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    if (text) liana__value_set(arena, map, key, liana__value_string(arena, text));
}

static void set_true(liana__arena *arena, liana__value *map, const char *key, bool is_true)
{
    if (is_true) liana__value_set(arena, map, key, liana__value_bool(arena, true));
}

/* ---- figures ---- */

/* The number of an ink of the seven; -1: grey, as of lines that compare. */
static int number_of_ink(liana__ink ink)
{
    for (int i = 0; i < LIANA__FIGURE_INKS; i++) {
        if (memcmp(&liana__figure_inks[i], &ink, sizeof ink) == 0) return i;
    }
    return -1;
}

static bool counts_from_one(const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (x[i] != (double)i + 1) return false;
    }
    return true;
}

static liana__value *line_value(liana__arena *arena, const liana__figure_line *line)
{
    liana__value *map = liana__value_map(arena);
    set_text(arena, map, "name", line->name);
    liana__value_set(arena, map, "run", liana__value_int(arena, (int64_t)line->run));
    liana__value_set(arena, map, "ink", liana__value_int(arena, number_of_ink(line->ink)));
    set_true(arena, map, "dashed", line->dashed);
    set_true(arena, map, "thin", line->thin);
    if (!counts_from_one(line->x, line->count)) {
        liana__value_set(arena, map, "x", liana__page_numbers(arena, line->x, line->count));
    }
    liana__value_set(arena, map, "y", liana__page_numbers(arena, line->y, line->count));
    return map;
}

static liana__value *mark_value(liana__arena *arena, const liana__figure_mark *mark)
{
    liana__value *list = liana__value_list(arena);
    liana__value_add(arena, list, liana__page_number(arena, mark->x));
    liana__value_add(arena, list, liana__page_number(arena, mark->y));
    if (mark->dot && !mark->name) return list;
    liana__value_add(arena, list, liana__value_int(arena, number_of_ink(mark->ink)));
    liana__value_add(arena, list, liana__value_string(arena, mark->name ? mark->name : ""));
    return list;
}

static liana__value *panel_value(liana__arena *arena, const liana__figure_panel *panel)
{
    liana__value *map = liana__value_map(arena), *lines = liana__value_list(arena), *marks = liana__value_list(arena);
    set_text(arena, map, "title", panel->title);
    set_text(arena, map, "x_label", panel->x_label);
    set_text(arena, map, "y_label", panel->y_label);
    set_true(arena, map, "log_x", panel->log_x);
    set_true(arena, map, "whole_x", panel->whole_x);
    set_true(arena, map, "dots", panel->num_marks && panel->marks[0].dot);
    for (size_t i = 0; i < panel->num_lines; i++) liana__value_add(arena, lines, line_value(arena, &panel->lines[i]));
    for (size_t i = 0; i < panel->num_marks; i++) liana__value_add(arena, marks, mark_value(arena, &panel->marks[i]));
    liana__value_set(arena, map, "lines", lines);
    if (panel->num_marks) liana__value_set(arena, map, "marks", marks);
    return map;
}

liana__value *liana__page_figure(const liana__figure *figure, const char *name, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *panels = liana__value_list(arena);
    set_text(arena, map, "kind", "figure");
    set_text(arena, map, "name", name);
    set_text(arena, map, "title", figure->title);
    set_true(arena, map, "by_run", figure->by_run);
    for (size_t i = 0; i < figure->num_panels; i++) {
        liana__value_add(arena, panels, panel_value(arena, &figure->panels[i]));
    }
    liana__value_set(arena, map, "panels", panels);
    return map;
}

/* ---- bars ---- */

static liana__value *texts_value(liana__arena *arena, const char *const *texts, size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < count; i++) liana__value_add(arena, list, liana__value_string(arena, texts[i]));
    return list;
}

static liana__value *bars_value(const liana__bars *bars, const char *name, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *list = liana__value_list(arena);
    set_text(arena, map, "kind", "bars");
    set_text(arena, map, "name", name);
    set_text(arena, map, "title", bars->title);
    set_true(arena, map, "percent", bars->percent);
    liana__value_set(arena, map, "labels", texts_value(arena, bars->labels, bars->count));
    for (size_t i = 0; i < bars->num_series; i++) {
        liana__value *series = liana__value_map(arena);
        set_text(arena, series, "name", bars->series[i].name);
        liana__value_set(arena, series, "values", liana__page_numbers(arena, bars->series[i].values, bars->count));
        liana__value_add(arena, list, series);
    }
    liana__value_set(arena, map, "series", list);
    if (bars->mark > 0) {
        liana__value_set(arena, map, "mark", liana__page_number(arena, bars->mark));
        set_text(arena, map, "mark_label", bars->mark_label);
    }
    return map;
}

/* ---- matrices ---- */

/* Cells that are not 0: row, column, count, one after the other. */
static liana__value *matrix_value(const liana__class_matrix *matrix, const char *name, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *cells = liana__value_list(arena);
    set_text(arena, map, "kind", "matrix");
    set_text(arena, map, "name", name);
    set_text(arena, map, "title", matrix->title);
    liana__value_set(arena, map, "labels", texts_value(arena, matrix->labels, matrix->classes));
    for (size_t i = 0; i < matrix->classes * matrix->classes; i++) {
        if (matrix->counts[i] == 0) continue;
        liana__value_add(arena, cells, liana__value_int(arena, (int64_t)(i / matrix->classes)));
        liana__value_add(arena, cells, liana__value_int(arena, (int64_t)(i % matrix->classes)));
        liana__value_add(arena, cells, liana__page_number(arena, matrix->counts[i]));
    }
    liana__value_set(arena, map, "cells", cells);
    return map;
}

/* ---- correlations ---- */

static liana__value *correlations_value(const liana__correlation_matrix *matrix, const char *name, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    set_text(arena, map, "kind", "correlations");
    set_text(arena, map, "name", name);
    set_text(arena, map, "title", matrix->title);
    liana__value_set(arena, map, "labels", texts_value(arena, matrix->names, matrix->count));
    liana__value_set(arena, map, "values", liana__page_numbers(arena, matrix->values, matrix->count * matrix->count));
    return map;
}

/* ---- sizes ---- */

static liana__value *scatter_value(const liana__drawing *drawing, liana__arena *arena)
{
    enum { MOST = 1000 };
    liana__value *map = liana__value_map(arena), *points = liana__value_list(arena);
    set_text(arena, map, "kind", "sizes");
    set_text(arena, map, "name", drawing->name);
    set_text(arena, map, "title", drawing->scatter.title);
    for (size_t i = 0; i < drawing->scatter.count && i < MOST; i++) {
        const liana__scatter_point *point = &drawing->scatter.points[i];
        const double numbers[3] = {point->width, point->height, (double)point->count};
        liana__value_add(arena, points, liana__page_numbers(arena, numbers, 3));
    }
    liana__value_set(arena, map, "points", points);
    liana__value_set(arena, map, "target", liana__page_numbers(arena, drawing->scatter.target, 2));
    return map;
}

liana__value *liana__page_drawing(const liana__drawing *drawing, liana__arena *arena)
{
    switch (drawing->kind) {
    case LIANA__DRAWING_FIGURE: return liana__page_figure(drawing->figure, drawing->name, arena);
    case LIANA__DRAWING_BARS: return bars_value(drawing->bars, drawing->name, arena);
    case LIANA__DRAWING_MATRIX: return matrix_value(drawing->matrix, drawing->name, arena);
    case LIANA__DRAWING_SCATTER: return scatter_value(drawing, arena);
    case LIANA__DRAWING_CORRELATIONS: return correlations_value(drawing->correlations, drawing->name, arena);
    case LIANA__DRAWING_GRID: break;
    }
    return liana__value_null(arena);
}
