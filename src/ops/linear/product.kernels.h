/* product.kernels.h - matrix products (product.h) for one instruction set: which of them liana computes itself, with
 * how much scratch memory, and where oneDNN is better. */
#if defined(LIANA_AMX) || defined(LIANA_EMULATED_TILES)
#define LIANA__TILES_OF_AMX
#include "kernels/amx_product.h"
#else
#include "kernels/matrix_product.h"
#endif
#include "ir/graph_bodies.h"
#include "kernels/applicable.h"
#include "kernels/vector_epilogue.h"
#include "kernels/vector_kernels.h"
#include "ops/linear/product.h"
#include "ops/linear/product_kernels.h"
#include "ops/norm/batch_norm.h"

static bool product_dtype_applicable(const liana__node *node, const char **reason)
{
#if defined(LIANA__STORES_BF16) || defined(LIANA__TILES_OF_AMX)
    return liana__applicable_bf16(node, reason);
#else
    return liana__applicable_f32(node, reason);
#endif
}

#if defined(LIANA__TILES_OF_AMX)
/* As bench_products measures it on an Intel with AMX (bench/products.md): oneDNN 2.6 is as fast or a little faster if
 * a matrix is packed for few rows, and slower elsewhere. A tile of rows pays from 8 rows on. */
static bool product_preferred(const liana__product *p, const liana__node *node, liana__isa isa, const char **reason)
{
    (void)isa;
    *reason = "too short a sum";
    if (p->transpose_a) return p->depth >= 32;
    *reason = "too few rows to pack the smaller matrix for";
    return p->finished || p->rows >= (liana__is_of_weights(node->inputs[1]) ? 8 : 128);
}
#elif defined(LIANA__WIDENED)
/* On processors without instructions for bf16, oneDNN would get whole tensors as floats, which is always slower. With
 * tiles, as bench_products measures it: where liana's tiles decline, oneDNN's are taken if both sides are wide. */
static bool product_preferred(const liana__product *p, const liana__node *node, liana__isa isa, const char **reason)
{
#if LIANA_VECTOR_BYTES == 32
    *reason = "made for processors without AVX-512";
    if (isa > LIANA__ISA_AVX2) return false;
#endif
    if (p->finished || isa < LIANA__ISA_AVX512_BF16) return true;
    *reason = "dot products of bf16 are faster";
    if (isa < LIANA__ISA_AMX) return false;
    *reason = "oneDNN's tiles are faster";
    if (p->columns > 32 && (p->transpose_a ? p->rows : p->depth) > 32) return false;
    *reason = "too short a sum";
    if (p->transpose_a) return p->depth >= 32;
    *reason = "too few rows to pack the smaller matrix for";
    return p->rows >= (liana__is_of_weights(node->inputs[1]) ? 8 : 128);
}
#else
/* Of a product by weights. They are packed once: for all steps of a loop, or for all slices of a shard. oneDNN reads
 * floats of weights as they are. */
static int64_t least_rows(const liana__node *weights)
{
#if defined(LIANA__STORES_BF16)
    (void)weights;
    return 8;
#else
    return liana__is_of_loop_weights(weights) ? 8 : 32;
#endif
}

/* As bench_products measures it. oneDNN multiplies by small matrices without packing them, which pays where there are
 * few rows; it leaves lanes idle where the columns are not whole vectors; its sums over pixels are slow unless both
 * sides are wide, in AVX2 less so than liana's. */
static bool product_preferred(const liana__product *p, const liana__node *node, liana__isa isa, const char **reason)
{
    const packed_matrix matrix = plan_matrix(p->depth, p->columns);
    const bool idle_lanes = matrix.step_units == 2; /* would be, in oneDNN */
#if defined(LIANA__DOTS)
    *reason = "dot products are slow on processors with tiles";
    if (isa >= LIANA__ISA_AMX) return false;
#elif LIANA_VECTOR_BYTES == 32
    *reason = "made for processors without AVX-512";
    if (isa > LIANA__ISA_AVX2) return false;
    *reason = "oneDNN is faster for these sums";
    if (p->transpose_a || p->columns % (2 * VECTOR_LENGTH) != 0) return false;
#else
    (void)isa;
#endif
    if (p->finished)
        return true; /* the epilogue alone would take as long as is lost below, or there is no other
                                   * kernel */
    *reason = "rows of 1024 numbers share few sets of the cache";
    if (p->transpose_a && !p->strided && (p->rows % 1024 == 0 || p->columns % 1024 == 0)) return false;
    *reason = "too short a sum";
    if (p->transpose_a) return p->depth >= 32;
    *reason = "bound by writing the result";
    if (4 * p->depth <= p->columns && p->depth <= 16 && !idle_lanes && p->rows * p->columns > 2 << 20) return false;
    *reason = "too few products to a row";
    if (TILE_STEP == 2 && p->depth <= 16 && p->columns <= 16) return false;
    if (liana__is_of_weights(node->inputs[1])) return p->rows >= least_rows(node->inputs[1]);
    *reason = "too few rows to pack the smaller matrix for";
    const int64_t least_transposed = p->depth * p->columns > 1 << 18 ? 256 : 144;
    return p->rows >= (idle_lanes ? 72 : p->transpose_b ? least_transposed : TILE_STEP == 2 ? 128 : 512);
}
#endif

/* Bytes of gathered or scattered pixels, side by side in the L2 cache: as many lines of the grid at a time. */
enum { GATHERED_BYTES = 256 << 10 };

static int64_t lines_at_once(const liana__product *p)
{
    const int64_t size = p->transpose_b ? p->columns : p->depth;
    const int64_t lines = GATHERED_BYTES / (size * p->grid.columns * (int64_t)sizeof(tile_element));
    return lines > 0 ? at_most(lines, p->rows / p->grid.columns) : 1;
}

/* In bytes. */
static size_t room_size(const liana__product *p)
{
    if (!p->strided) return 0;
    return (size_t)(lines_at_once(p) * p->grid.columns * (p->transpose_b ? p->columns : p->depth)) *
           sizeof(tile_element);
}

#if !defined(LIANA__TILES_OF_AMX)

static size_t moments_size(const liana__product *p, const packed_matrix *matrix)
{
    return p->measured ? (size_t)(count_panels(matrix) * TILE_VECTORS) * sizeof(vector_moments) : 0;
}

/* Behind the packed matrix and the room for gathered rows. */
static vector_moments *place_moments(const liana__product *p, const packed_matrix *matrix, void *scratch)
{
    vector_moments *moments = (void *)((char *)scratch + liana__align_up(packed_size(matrix) + room_size(p)));
    memset(moments, 0, moments_size(p, matrix));
    return moments;
}

/* In bytes. */
static size_t widened_room_size(const liana__product *p)
{
#if defined(LIANA__WIDENED)
    return (size_t)widened_size(p->depth) * sizeof(tile_factor);
#else
    (void)p;
    return 0;
#endif
}

/* Behind the moments. */
static tile_factor *place_widened(const liana__product *p, const packed_matrix *matrix, void *scratch)
{
    return (void *)((char *)scratch + liana__align_up(packed_size(matrix) + room_size(p)) +
                    liana__align_up(moments_size(p, matrix)));
}

static void give_moments(const packed_matrix *matrix, const vector_moments *moments, double *statistics)
{
    for (int64_t i = 0; i < count_panels(matrix); i++, moments += TILE_VECTORS) {
        const packed_panel panel = panel_at(matrix, i);
        const int vectors = (panel.vectors + matrix->step_units - 1) / matrix->step_units;
        for (int v = 0; v < vectors; v++) {
            double *mean = statistics + panel.first + v * VECTOR_LENGTH;
            moments_give(&moments[v], v + 1 < vectors ? VECTOR_LENGTH : panel.last, mean, mean + matrix->columns);
        }
    }
}

#endif

static void product_prepare(const liana__product *p, liana__prepared *prepared)
{
    if (p->transpose_a) {
        prepared->scratch_size = columns_scratch(p->depth, p->rows, p->columns, p->strided);
        return;
    }
    const packed_matrix matrix = plan_matrix(p->depth, p->columns);
    prepared->packed_size = packed_size(&matrix);
    prepared->packed_input = 1;
    prepared->scratch_size = prepared->packed_size + room_size(p);
#if !defined(LIANA__TILES_OF_AMX)
    prepared->scratch_size =
        liana__align_up(prepared->scratch_size) + liana__align_up(moments_size(p, &matrix)) + widened_room_size(p);
#endif
}

static void product_pack(const liana__product *p, const liana__call *call, void *packed)
{
    packed_matrix matrix = plan_matrix(p->depth, p->columns);
    matrix.units = packed;
    pack_matrix(&matrix, call->src[1], p->transpose_b, packed);
}

/* Cuts C into tiles for several threads: so that little is read twice, the larger operand first. A tile with fewer
 * operations costs more than it gains. */
#if defined(LIANA__TILES_OF_AMX)
enum { LEAST_TILE_FLOPS = 8 << 20 };
#else
enum { LEAST_TILE_FLOPS = 2 << 20 };
#endif

typedef struct product_cut {
    int64_t row_tiles, column_tiles;
} product_cut;

static product_cut cut_product(const liana__product *p)
{
    const packed_matrix matrix = plan_matrix(p->depth, p->columns);
    const int64_t most_rows = divide_round_up(p->rows, TILE_ROWS), most_columns = count_panels(&matrix);
    const double flops = 2 * (double)p->rows * (double)p->depth * (double)p->columns;
    /* Each tile of columns gathers the rows for itself. */
    const double least = p->strided ? 4 * (double)LEAST_TILE_FLOPS : (double)LEAST_TILE_FLOPS;
    const int64_t wanted = liana__count_tiles(flops, least, INT64_MAX);
    product_cut cut = {1, 1};
    if (p->transpose_a || (p->strided && p->transpose_b) || wanted < 2) return cut;
    if (p->columns > p->rows) {
        cut.column_tiles = at_most(wanted, most_columns);
        cut.row_tiles = at_most(divide_round_up(wanted, cut.column_tiles), most_rows);
    } else {
        cut.row_tiles = at_most(wanted, most_rows);
        cut.column_tiles = at_most(divide_round_up(wanted, cut.row_tiles), most_columns);
    }
    return cut;
}

/* Part `index` of `count`, of as nearly equal parts of `size` as whole units allow. */
static int64_t cut_at(int64_t size, int64_t unit, int64_t index, int64_t count)
{
    return at_most(size, divide_round_up(size, unit) * index / count * unit);
}

static size_t count_product_tiles(const liana__product *p)
{
    const product_cut cut = cut_product(p);
    return (size_t)(cut.row_tiles * cut.column_tiles);
}

/* Where C or parts of it are computed: the rows and panels of a tile, or all. */
typedef struct product_part {
    int64_t first_row, end_row, first_panel, end_panel;
} product_part;

static product_part find_part(const liana__product *p, const liana__call *call, const packed_matrix *matrix)
{
    const int64_t panels = count_panels(matrix);
    if (call->num_tiles <= 1) return (product_part){0, p->rows, 0, panels};
    const product_cut cut = cut_product(p);
    /* Neighbours read the same part of the larger operand: workers have ranges of tiles. */
    const bool by_columns = p->columns > p->rows;
    const int64_t tile = (int64_t)call->tile;
    const int64_t row = by_columns ? tile % cut.row_tiles : tile / cut.column_tiles;
    const int64_t column = by_columns ? tile / cut.row_tiles : tile % cut.column_tiles;
    return (product_part){cut_at(p->rows, TILE_ROWS, row, cut.row_tiles),
                          cut_at(p->rows, TILE_ROWS, row + 1, cut.row_tiles), column * panels / cut.column_tiles,
                          (column + 1) * panels / cut.column_tiles};
}

/* A is gathered before it is multiplied, or C is scattered after that. */
static void multiply_strided_rows(const liana__product *p, const liana__call *call, const packed_matrix *matrix,
                                  const product_target *whole, const product_part *part, tile_element *room)
{
    const int64_t at_once = lines_at_once(p) * p->grid.columns;
    const product_rows a = {call->src[0], p->depth, p->transpose_b ? NULL : &p->grid, room};
    for (int64_t first = part->first_row; first < part->end_row; first += at_once) {
        const int64_t count = at_most(at_once, part->end_row - first);
        product_target target = target_from(whole, first);
        if (p->transpose_b) target.data = room;
        multiply_panels(count, gather_rows(&a, first, count), p->depth, matrix, part->first_panel, part->end_panel,
                        &target);
        if (p->transpose_b) {
            scatter_lines(&p->grid, room, p->columns, first / p->grid.columns, count / p->grid.columns, call->dst);
        }
    }
}

static void multiply_all(const liana__product *p, const liana__call *call, const packed_matrix *matrix,
                         const product_target *target)
{
    const product_part part = find_part(p, call, matrix);
    if (p->strided) {
        tile_element *room = (tile_element *)((char *)call->scratch + packed_size(matrix));
        multiply_strided_rows(p, call, matrix, target, &part, room);
        return;
    }
    const product_target rows = target_from(target, part.first_row);
    multiply_panels(part.end_row - part.first_row, (const tile_element *)call->src[0] + part.first_row * p->depth,
                    p->depth, matrix, part.first_panel, part.end_panel, &rows);
}

static void product_run(const liana__product *p, const liana__call *call)
{
    const void *a = call->src[0], *b = call->src[1];
    if (p->transpose_a) {
        const product_rows rows = {a, p->rows, p->strided ? &p->grid : NULL, NULL};
        multiply_columns(p->depth, rows, b, p->columns, call->dst, call->scratch);
        return;
    }
    if (!call->packed) product_pack(p, call, call->scratch);
    packed_matrix matrix = plan_matrix(p->depth, p->columns);
    matrix.units = call->packed ? call->packed : call->scratch;
    product_target target = {.data = call->dst, .stride = p->columns, .wide = call->node->dtype == LIANA_F32};
    epilogue after;
    if (p->finished) {
        after = epilogue_of(call, p->columns, p->activation);
        target.after = &after;
        if (call->node->num_inputs > LIANA__RESIDUAL_INPUT) target.residual = call->src[LIANA__RESIDUAL_INPUT];
    }
#if !defined(LIANA__TILES_OF_AMX)
    target.widened = place_widened(p, &matrix, call->scratch);
    if (call->companion) target.moments = place_moments(p, &matrix, call->scratch);
#endif
    multiply_all(p, call, &matrix, &target);
#if !defined(LIANA__TILES_OF_AMX)
    if (call->companion) give_moments(&matrix, target.moments, call->companion);
#endif
}

/* ---- the kernel, which all ops share that are matrix products ---- */

static bool is_applicable(const liana__node *node, const char **reason)
{
    return product_dtype_applicable(node, reason) && liana__is_product(node, reason);
}

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const liana__product p = liana__product_of(node);
    return product_preferred(&p, node, isa, reason);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__product p = liana__product_of(node);
    product_prepare(&p, prepared);
    return LIANA_OK;
}

/* Each tile would pack for itself operands that are not packed before. */
static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__product p = liana__product_of(node);
    prepared->num_tiles = count_product_tiles(&p);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const liana__product p = liana__product_of(call->node);
    product_run(&p, call);
    return LIANA_OK;
}

static liana_status pack(const liana__call *call, void *packed)
{
    const liana__product p = liana__product_of(call->node);
    product_pack(&p, call, packed);
    return LIANA_OK;
}

#if defined(LIANA__TILES_OF_AMX)
LIANA__VECTOR_KERNEL(product, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare, .run = run,
                     .pack = pack, .cut = cut);
#else
/* For fewer pixels, the work that is done once for each channel takes as long as reading the pixels again. */
enum { LEAST_MEASURED_ROWS = 256 };

static bool gives_statistics(const liana__node *node, const liana__node *reader)
{
    const liana__product p = liana__product_of(node);
    return p.measured && liana__batch_norm_is_part_of_statistics(reader) && p.rows >= LEAST_MEASURED_ROWS;
}

LIANA__VECTOR_KERNEL(product, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare, .run = run,
                     .pack = pack, .cut = cut, .gives_companion = gives_statistics);
#endif
