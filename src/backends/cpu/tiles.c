/* Steps of one execution are cut into tiles, which a team of workers computes at the same time. How, follows from the
 * shapes: an element of the result is the same sum, whether its tile is one of many or the whole. */
#include "backends/cpu/cpu.h"

/* The least bytes that a tile that is a node of its own should read and write. */
static const double LEAST_TILE_BYTES = 64 << 10;

static double bytes_of(const liana__node *node)
{
    return (double)liana__byte_size(node->dtype, &node->shape);
}

/* How a node's rows can be cut: images of a batch, or lines of one image. PART_NONE: not at all. */
static liana__node_cut find_cut(const liana__node *node)
{
    liana__node_cut cut = {.parts = liana__node_parts(node)};
    if (cut.parts.kind == LIANA__PART_ROWS && cut.parts.rows > 1) return cut;
    return (liana__node_cut){.parts = liana__node_line_parts(node), .axis = 1};
}

/* Which rows a tile has: as many as others, or fewer in the last. */
static int64_t choose_rows(const liana__node *node, const liana__node_cut *cut)
{
    double bytes = bytes_of(node);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (!liana__parts_is_whole(&cut->parts, i)) bytes += bytes_of(node->inputs[i]);
    }
    int64_t count = liana__count_tiles(bytes, LEAST_TILE_BYTES, cut->parts.rows);
    return (cut->parts.rows + count - 1) / count;
}

static size_t row_bytes(const liana__node *node, const liana__node_cut *cut)
{
    return liana__byte_size(node->dtype, &node->shape) / (size_t)cut->parts.rows;
}

/* A step of the kernel that computes the whole, for parts of `rows` rows. */
static liana__cpu_step *make_part(liana__cpu_executable *executable, const liana__cpu_step *whole, liana__node_cut cut,
                                  int64_t rows, liana__error *error)
{
    liana__cpu_step *part = liana__arena_allocate(&executable->arena, sizeof *part);
    if (!part) return NULL;
    *part = (liana__cpu_step){.whole = whole->whole, .kernel = whole->kernel};
    cut.rows = rows;
    if (liana__cpu_make_part(executable, part, &cut, error) == LIANA_OK) return part;
    liana__cpu_release_step(part);
    return NULL;
}

static liana_status cut_rows(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    const liana__node *node = step->whole;
    const liana__node_cut cut = find_cut(node);
    if (cut.parts.kind != LIANA__PART_ROWS || step->packed) return LIANA_OK;
    const int64_t rows = choose_rows(node, &cut), left = cut.parts.rows % rows;
    if (rows == cut.parts.rows) return LIANA_OK;
    liana__cpu_source *sources = liana__arena_allocate(&executable->arena, (node->num_inputs + 1) * sizeof *sources);
    if (!sources) return liana__fail_memory(error, "an executable");
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        sources[i] = (liana__cpu_source){.node = node->inputs[i]->id};
        if (!liana__parts_is_whole(&cut.parts, i)) sources[i].advance = (size_t)rows * row_bytes(node->inputs[i], &cut);
    }
    liana__cpu_step *tile = make_part(executable, step, cut, rows, error);
    if (!tile) return liana__fail_memory(error, "the tiles of a node");
    step->tile = tile;
    tile->sources = sources;
    tile->advance = (size_t)rows * row_bytes(node, &cut);
    if (left) tile->last = make_part(executable, step, cut, left, error);
    if (left && !tile->last) return liana__fail_memory(error, "the tiles of a node");
    step->num_tiles = (size_t)((cut.parts.rows + rows - 1) / rows);
    return LIANA_OK;
}

static liana_status cut_step(liana__cpu_executable *executable, liana__cpu_step *step, liana__error *error)
{
    const liana__kernel *kernel = step->kernel;
    bool is_packed = step->packed || step->prepared.packed_size == 0;
    if (kernel->cut && is_packed) {
        LIANA_TRY(kernel->cut(step->node, &step->prepared, error));
        step->num_tiles = step->prepared.num_tiles;
        size_t scratch = liana__align_up(step->prepared.scratch_size);
        if (scratch > executable->scratch_size) executable->scratch_size = scratch;
    }
    return step->num_tiles > 1 ? LIANA_OK : cut_rows(executable, step, error);
}

/* ---- phases ---- */

/* The next phase from segment `first` on. */
static liana__cpu_phase phase_at(const liana__cpu_executable *executable, size_t first)
{
    const liana__cpu_segment *segment = &executable->segments[first];
    const liana__cpu_step *step = &executable->steps[segment->first_step];
    liana__cpu_phase phase = {.first_segment = first, .end_segment = first + 1, .num_tasks = 1};
    if (segment->num_slices > 1) {
        if (segment->independent) phase.num_tasks = segment->num_slices;
    } else if (segment->end_step == segment->first_step + 1 && step->num_tiles > 1) {
        phase.num_tasks = step->num_tiles;
        phase.tiles = true;
    }
    return phase;
}

static liana_status list_phases(liana__cpu_executable *executable, liana__error *error)
{
    size_t most = executable->num_segments + 1;
    executable->phases = liana__arena_allocate(&executable->arena, most * sizeof *executable->phases);
    executable->progress = liana__arena_allocate(&executable->arena, most * sizeof *executable->progress);
    if (!executable->phases || !executable->progress) return liana__fail_memory(error, "an executable");
    for (size_t i = 0; i < executable->num_segments; i++) {
        if (executable->segments[i].kept) continue;
        const liana__cpu_phase phase = phase_at(executable, i);
        liana__cpu_phase *before = executable->num_phases ? &executable->phases[executable->num_phases - 1] : NULL;
        if (before && before->num_tasks == 1 && phase.num_tasks == 1) {
            before->end_segment = phase.end_segment;
        } else {
            executable->phases[executable->num_phases++] = phase;
        }
        if (phase.num_tasks > 1) executable->shares_work = true;
    }
    return LIANA_OK;
}

/* One line for each step, with the number of its tiles. */
static void log_tiles(const liana__cpu_executable *executable)
{
    liana_context *context = executable->base.device->context;
    for (size_t i = 0; liana__log_wants(context, LIANA__LOG_EXEC) && i < executable->num_segments; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        const liana__cpu_step *step = &executable->steps[segment->first_step];
        if (segment->kept || segment->num_slices > 1) continue;
        liana__log(context, LIANA__LOG_EXEC, "%zu tiles of node %u %s %s: %s", step->num_tiles ? step->num_tiles : 1,
                   step->node->id, step->node->op->name, liana__type_print(step->node->dtype, &step->node->shape).text,
                   step->kernel->name);
    }
}

liana_status liana__cpu_make_ready_together(liana__executable *base, liana__error *error)
{
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    if (executable->phases) return LIANA_OK;
    for (size_t i = 0; i < executable->num_segments && !base->device->context->validate; i++) {
        const liana__cpu_segment *segment = &executable->segments[i];
        if (segment->num_slices > 1 || segment->kept) continue;
        for (size_t k = segment->first_step; k < segment->end_step; k++) {
            LIANA_TRY(cut_step(executable, &executable->steps[k], error));
        }
    }
    LIANA_TRY(liana__cpu_grow_scratch(executable, error));
    LIANA_TRY(list_phases(executable, error));
    log_tiles(executable);
    return LIANA_OK;
}
