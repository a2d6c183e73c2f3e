/* Draws a model as boxes and arrows. */
#include "report/model_boxes.h"
#include "report/pictures.h"

#include <math.h>
#include <stdio.h>

/* The measures of a page, in pixels. */
enum { MARGIN = 24, TITLE = 62, BOX = 270, GAP = 22, BEND = 22, RANK_GAP = 30, LINE = 16, PADDING = 8, HEAD = 7 };
static const double scale = 1.5;

typedef struct page {
    liana__canvas *canvas;
    const liana__model_boxes *model;
    const liana__graph_layout *layout;
    double *tops, *heights; /* of the ranks */
    double left;            /* of the drawing */
    double bottom;
} page;

/* Name, kind, shape, and parameters if it has some. */
static int lines_of(const liana__model_box *box)
{
    return 3 + (box->parameters > 0 || box->is_shared);
}

static double height_of(const liana__model_box *box)
{
    return lines_of(box) * LINE + 2 * PADDING;
}

static void place_ranks(page *own)
{
    const liana__graph_layout *layout = own->layout;
    for (size_t rank = 0; rank < layout->num_ranks; rank++) own->heights[rank] = 0;
    for (size_t i = 0; i < own->model->count; i++) {
        double *height = &own->heights[layout->places[i].rank];
        *height = fmax(*height, height_of(&own->model->boxes[i]));
    }
    double top = MARGIN + TITLE;
    for (size_t rank = 0; rank < layout->num_ranks; rank++) {
        own->tops[rank] = top;
        top += own->heights[rank] + RANK_GAP;
    }
    own->bottom = layout->num_ranks ? top - RANK_GAP : top + LINE;
}

static double x_of(const page *own, size_t place)
{
    return own->left + own->layout->places[place].x;
}

/* The lower edge of a place: of a box its own, which stands in the middle of its rank; of a bend that of the rank. */
static void edges_of(const page *own, size_t place, double *top, double *bottom)
{
    const size_t rank = own->layout->places[place].rank;
    *top = own->tops[rank];
    *bottom = *top + own->heights[rank];
    if (place >= own->model->count) return;
    const double spare = (own->heights[rank] - height_of(&own->model->boxes[place])) / 2;
    *top += spare;
    *bottom -= spare;
}

/* ---- arrows ---- */

static void draw_head(const page *own, double x, double y)
{
    cairo_t *cairo = own->canvas->cairo;
    cairo_move_to(cairo, x, y);
    cairo_line_to(cairo, x - HEAD / 2.0, y - HEAD);
    cairo_line_to(cairo, x + HEAD / 2.0, y - HEAD);
    cairo_close_path(cairo);
    liana__canvas_ink(own->canvas, liana__ink_quiet);
    cairo_fill(cairo);
}

static void draw_path(const page *own, const liana__graph_path *path)
{
    cairo_t *cairo = own->canvas->cairo;
    double top, bottom, next_top, next_bottom;
    edges_of(own, path->places[0], &top, &bottom);
    cairo_move_to(cairo, x_of(own, path->places[0]), bottom);
    for (size_t i = 1; i < path->count; i++) {
        const bool last = i + 1 == path->count;
        const double from = x_of(own, path->places[i - 1]), to = x_of(own, path->places[i]);
        edges_of(own, path->places[i], &next_top, &next_bottom);
        const double end = last ? next_top - HEAD + 1 : next_top, middle = (bottom + end) / 2;
        cairo_curve_to(cairo, from, middle, to, middle, to, end);
        if (!last) cairo_line_to(cairo, to, next_bottom);
        bottom = next_bottom;
    }
    liana__canvas_ink(own->canvas, liana__ink_quiet);
    cairo_set_line_width(cairo, 1.25);
    cairo_stroke(cairo);
    draw_head(own, x_of(own, path->places[path->count - 1]), next_top);
}

/* ---- boxes ---- */

static void draw_frame(const page *own, const liana__model_box *box, double x, double y, double height)
{
    static const liana__ink white = {1, 1, 1}, with_weights = {0.92, 0.95, 0.99}, of_many = {0.99, 0.95, 0.89};
    static const liana__ink end = {0.91, 0.96, 0.92};
    cairo_t *cairo = own->canvas->cairo;
    const bool many = box->is_group || box->is_nested;
    const liana__ink fill = box->is_input ? end : many ? of_many : box->parameters ? with_weights : white;
    liana__canvas_box(own->canvas, x, y, BOX, height, fill);
    cairo_rectangle(cairo, x, y, BOX, height);
    cairo_set_line_width(cairo, box->is_output ? 2.5 : 1);
    liana__canvas_ink(own->canvas, box->is_output ? liana__ink_good : liana__ink_quiet);
    cairo_stroke(cairo);
}

static void print_parameters(const liana__model_box *box, char *text, size_t size)
{
    char all[40], trained[40];
    liana__print_grouped(box->parameters, all, sizeof all);
    liana__print_grouped(box->trainable, trained, sizeof trained);
    if (box->is_shared) {
        snprintf(text, size, "the same weights once more");
    } else if (box->trainable > 0 && box->trainable < box->parameters) {
        snprintf(text, size, "%s parameters, %s trained", all, trained);
    } else {
        snprintf(text, size, "%s parameters%s", all, box->trainable ? "" : ", not trained");
    }
}

static void draw_box(const page *own, size_t index)
{
    const liana__model_box *box = &own->model->boxes[index];
    double top, bottom;
    edges_of(own, index, &top, &bottom);
    const double x = x_of(own, index), inner = BOX - 2 * PADDING;
    draw_frame(own, box, x - BOX / 2.0, top, bottom - top);
    char parameters[120] = "";
    if (lines_of(box) > 3) print_parameters(box, parameters, sizeof parameters);
    const liana__label name = {.size = 12, .bold = true, .align = 0.5, .max_width = inner, .ink = liana__ink_text};
    const liana__label line = {.size = 11, .align = 0.5, .max_width = inner, .ink = liana__ink_quiet};
    const char *const texts[] = {box->name, box->kind, box->shape, parameters};
    for (int i = 0; i < lines_of(box); i++) {
        liana__canvas_text(own->canvas, x, top + PADDING + LINE * (i + 1) - 4, i ? &line : &name, texts[i]);
    }
}

static void draw_page(const page *own, const liana_model *model, double width)
{
    char title[200], totals[200], all[40], trained[40];
    const int64_t parameters = liana__model_num_parameters(model, false);
    liana__print_grouped(parameters, all, sizeof all);
    liana__print_grouped(liana__model_num_parameters(model, true), trained, sizeof trained);
    snprintf(title, sizeof title, "%.180s", liana__model_name(model));
    snprintf(totals, sizeof totals, "%s parameters, %s of them trained%s", all, trained,
             own->model->grouped ? "; blocks of layers are one box" : "");
    const liana__label quiet = {.size = 11, .max_width = width - 2 * MARGIN, .ink = liana__ink_quiet};
    liana__canvas_title(own->canvas, MARGIN, MARGIN + 14, 16, width - 2 * MARGIN, title);
    liana__canvas_text(own->canvas, MARGIN, MARGIN + 34, &quiet, totals);
    for (size_t i = 0; i < own->model->num_edges; i++) draw_path(own, &own->layout->paths[i]);
    for (size_t i = 0; i < own->model->count; i++) draw_box(own, i);
}

static liana_status draw(const char *path, const liana_model *model, liana__arena *arena, liana__error *error)
{
    liana__canvas canvas;
    liana__model_boxes boxes;
    liana__graph_layout layout;
    LIANA_TRY(liana__model_boxes_find(model, arena, &boxes, error));
    const liana__graph graph = {boxes.count, boxes.edges, boxes.num_edges, BOX + GAP, BEND};
    LIANA_TRY(liana__graph_layout_make(&graph, arena, &layout, error));
    page own = {.canvas = &canvas, .model = &boxes, .layout = &layout};
    own.tops = liana__arena_allocate(arena, (layout.num_ranks + 1) * sizeof *own.tops);
    own.heights = liana__arena_allocate(arena, (layout.num_ranks + 1) * sizeof *own.heights);
    if (!own.tops || !own.heights) return liana__fail_memory(error, path);
    place_ranks(&own);
    const double width = fmax(layout.width - GAP, 480) + 2 * MARGIN;
    own.left = (width - layout.width) / 2;
    /* A long model is drawn smaller, so that the picture can be written. */
    const double height = own.bottom + MARGIN, most = LIANA__CANVAS_MAX - 1;
    const double fitting = fmin(scale, fmin(most / height, most / width));
    LIANA_TRY(liana__canvas_begin(&canvas, path, width, height, fitting, error));
    draw_page(&own, model, width);
    return liana__canvas_finish(&canvas, path, error);
}

liana_status liana__model_picture_write(const char *path, const liana_model *model, liana__error *error)
{
    liana__arena arena = {0};
    const liana_status status = draw(path, model, &arena, error);
    liana__arena_free(&arena);
    return status;
}
