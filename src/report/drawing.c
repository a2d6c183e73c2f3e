/* Writes drawings as files. */
#include "report/drawing.h"

#include "base/file.h"
#include "base/scoped.h"

/* A page lets its reader choose lines; a file has only room for some. */
static liana_status write_figure(const liana__drawing *drawing, const char *path, liana__error *error)
{
    const size_t most = drawing->most_file_lines;
    liana__figure figure = *drawing->figure;
    if (!most || figure.num_panels != 1) return liana__figure_write(path, &figure, error);
    liana__figure_panel panel = figure.panels[0];
    if (panel.num_lines > most) panel.num_lines = most;
    if (figure.num_keys > most) figure.num_keys = most;
    figure.panels = &panel;
    return liana__figure_write(path, &figure, error);
}

static liana_status write_one(const liana__drawing *drawing, const char *path, liana__error *error)
{
    switch (drawing->kind) {
    case LIANA__DRAWING_FIGURE: return write_figure(drawing, path, error);
    case LIANA__DRAWING_BARS: return liana__bars_write(path, drawing->bars, error);
    case LIANA__DRAWING_MATRIX: return liana__class_matrix_write(path, drawing->matrix, error);
    case LIANA__DRAWING_CORRELATIONS: return liana__correlation_matrix_write(path, drawing->correlations, error);
    case LIANA__DRAWING_GRID:
        return liana__grid_write(path, drawing->grid.items, drawing->grid.count, drawing->grid.options, error);
    case LIANA__DRAWING_SCATTER:
        return liana__scatter_write(path, drawing->scatter.title, drawing->scatter.points, drawing->scatter.count,
                                    drawing->scatter.target, error);
    }
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': there is nothing to draw", path);
}

liana_status liana__drawing_write_files(void *user, const liana__drawing *drawing, liana__error *error)
{
    static const char *const endings[] = {"png", "svg"};
    const liana__drawing_files *own = user;
    LIANA__SCOPED(liana__arena) arena = {0};
    for (int i = 0; i < 2; i++) {
        const char *name = liana__arena_format(&arena, "%s.%s", drawing->name, endings[i]);
        const char *path = name ? liana__path_join(&arena, own->folder, name) : NULL;
        if (!path) return liana__fail_memory(error, drawing->name);
        LIANA_TRY(write_one(drawing, path, error));
        own->on_picture(own->user, path);
    }
    return LIANA_OK;
}
