/* Interpolation along one axis as a sum of cells with fixed weights.
 *
 * Cell o of the result lies at (o + 0.5) * input / size - 0.5 among the cells of x. Its neighbours there count by a
 * function of their distance. Those beyond the ends count for the end (bilinear), or not at all; then the others have
 * the sum 1 again. Places are rounded to floats as in TensorFlow, which decides between two cells that are equally
 * near. */
#include "layers/reshaping/interpolate.h"

#include "base/scoped.h"
#include "ir/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const liana__interpolation_names[] = {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", NULL};

/* TensorFlow takes the weights of its bicubic interpolation from a table of that many places between two cells. More
 * taps than MOST_TAPS are a product with a matrix. */
enum { TABLE_SIZE = 1024, MOST_TAPS = 16 };

/* Cells along an axis for which weights are made, and weights of a matrix. */
enum { MOST_CELLS = 1 << 20, MOST_WEIGHTS = 1 << 26 };

static double sinc(double x)
{
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* The weight of a cell at this distance; `radius` is where it becomes 0. */
static double weight_at(double distance, int radius, liana_interpolation interpolation)
{
    const double x = fabs(distance);
    if (x >= radius) return 0;
    if (interpolation == LIANA_BILINEAR) return 1 - x;
    /* Keys 1981, with a = -0.5. */
    if (interpolation == LIANA_BICUBIC) {
        return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
    }
    return sinc(x) * sinc(x / radius); /* Duchon 1979 */
}

typedef struct request {
    int64_t input, size;
    liana_interpolation interpolation;
    bool antialias;
    int radius;
    float scale;  /* cells of the input for each of the result */
    double width; /* by how much the kernel is wider */
    int64_t taps; /* of each cell of the result */
} request;

static request make_request(int64_t input, int64_t size, liana_interpolation interpolation, bool antialias)
{
    static const int radii[] = {[LIANA_BILINEAR] = 1, [LIANA_BICUBIC] = 2, [LIANA_LANCZOS3] = 3, [LIANA_LANCZOS5] = 5};
    request made = {input, size, interpolation, antialias, radii[interpolation], (float)input / (float)size, 1, 0};
    if (antialias && input > size) made.width = (double)input / (double)size;
    made.taps = made.width == 1 ? 2 * made.radius : 2 * (int64_t)ceil(made.radius * made.width) + 1;
    return made;
}

/* The cells that a cell of the result sees, from the first one that may count, and their weights. */
static void find_taps(const request *r, int64_t cell, int32_t *cells, double *weights)
{
    const double place = (double)(((float)cell + 0.5F) * r->scale - 0.5F), below = floor(place);
    const bool clamps = r->interpolation == LIANA_BILINEAR && r->width == 1;
    double between = place - below, sum = 0;
    if (r->interpolation == LIANA_BICUBIC && !r->antialias) between = nearbyint(between * TABLE_SIZE) / TABLE_SIZE;
    for (int64_t i = 0; i < r->taps; i++) {
        const int64_t offset = i + 1 - (r->taps + 1) / 2, at = (int64_t)below + offset;
        const int64_t clamped = at < 0 ? 0 : at < r->input ? at : r->input - 1;
        const double distance = ((double)offset - between) / r->width;
        cells[i] = (int32_t)clamped;
        weights[i] = at == clamped || clamps ? weight_at(distance, r->radius, r->interpolation) : 0;
        sum += weights[i];
    }
    for (int64_t i = 0; i < r->taps; i++) weights[i] /= sum;
}

static liana_tensor no_memory(liana_location here, liana_tensor x)
{
    return liana__graph_fail(x.graph, here, LIANA_OUT_OF_MEMORY, "an interpolation");
}

/* x times a row of weights along `axis`. */
static liana_tensor weigh(liana_location here, liana_tensor x, int axis, int64_t size, const float *weights)
{
    liana_shape shape = {.rank = liana_tensor_shape(x).rank - axis, .dims = {size}};
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    liana_tensor factors = liana_graph_constant_at(here, x.graph, LIANA_F32, shape, weights);
    return liana_op_multiply_at(here, x, liana_op_cast_at(here, factors, liana_tensor_dtype(x)));
}

/* The sum of the cells that each tap sees, times their weights. */
static liana_tensor add_taps(liana_location here, liana_tensor x, int axis, const request *r)
{
    const size_t size = (size_t)r->size;
    LIANA__SCOPED_MEMORY int32_t *cells = malloc(size * MOST_TAPS * sizeof *cells);
    LIANA__SCOPED_MEMORY double *weights = malloc(size * MOST_TAPS * sizeof *weights);
    LIANA__SCOPED_MEMORY int32_t *column = malloc(size * sizeof *column);
    LIANA__SCOPED_MEMORY float *factors = malloc(size * sizeof *factors);
    if (!cells || !weights || !column || !factors) return no_memory(here, x);
    for (int64_t i = 0; i < r->size; i++) find_taps(r, i, cells + i * MOST_TAPS, weights + i * MOST_TAPS);
    liana_tensor sum = {0};
    for (int64_t tap = 0; tap < r->taps; tap++) {
        for (size_t i = 0; i < size; i++) {
            column[i] = cells[i * MOST_TAPS + (size_t)tap];
            factors[i] = (float)weights[i * MOST_TAPS + (size_t)tap];
        }
        liana_tensor at = liana_graph_constant_at(here, x.graph, LIANA_S32, liana_shape_of(r->size), column);
        liana_tensor part = weigh(here, liana_op_gather_at(here, x, at, axis), axis, r->size, factors);
        sum = tap ? liana_op_add_at(here, sum, part) : part;
    }
    return sum;
}

/* The same as a product with a matrix [size, input]. */
static liana_tensor multiply(liana_location here, liana_tensor x, int axis, const request *r)
{
    const size_t count = (size_t)(r->size * r->input), taps = (size_t)r->taps;
    if (r->size > MOST_WEIGHTS / r->input) {
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "an interpolation from %lld cells to %lld along axis %d would have %lld weights, "
                                 "expected at most %d: resize in two steps",
                                 (long long)r->input, (long long)r->size, axis, (long long)count, MOST_WEIGHTS);
    }
    LIANA__SCOPED_MEMORY float *matrix = calloc(count, sizeof *matrix);
    LIANA__SCOPED_MEMORY int32_t *cells = malloc(taps * sizeof *cells);
    LIANA__SCOPED_MEMORY double *weights = malloc(taps * sizeof *weights);
    if (!matrix || !cells || !weights) return no_memory(here, x);
    for (int64_t i = 0; i < r->size; i++) {
        find_taps(r, i, cells, weights);
        for (size_t tap = 0; tap < taps; tap++) matrix[i * r->input + cells[tap]] += (float)weights[tap];
    }
    liana_tensor by = liana_graph_constant_at(here, x.graph, LIANA_F32, liana_shape_of(r->size, r->input), matrix);
    by = liana_op_cast_at(here, by, liana_tensor_dtype(x));
    char letters[LIANA_MAX_RANK + 1] = "", equation[64];
    const int rank = liana_tensor_shape(x).rank;
    for (int i = 0; i < rank; i++) letters[i] = (char)('a' + i);
    snprintf(equation, sizeof equation, "z%c,%s->%.*sz%s", letters[axis], letters, axis, letters, letters + axis + 1);
    return liana_einsum_at(here, equation, (const liana_tensor[]){by, x}, 2);
}

/* The cell whose area the middle of each cell of the result lies in. */
static liana_tensor choose(liana_location here, liana_tensor x, int axis, int64_t size)
{
    const int64_t input = liana_tensor_shape(x).dims[axis];
    const float scale = (float)input / (float)size;
    LIANA__SCOPED_MEMORY int32_t *cells = malloc((size_t)size * sizeof *cells);
    if (!cells) return no_memory(here, x);
    for (int64_t i = 0; i < size; i++) {
        const int64_t at = (int64_t)floorf(((float)i + 0.5F) * scale);
        cells[i] = (int32_t)(at < input ? at : input - 1);
    }
    liana_tensor at = liana_graph_constant_at(here, x.graph, LIANA_S32, liana_shape_of(size), cells);
    return liana_op_gather_at(here, x, at, axis);
}

liana_tensor liana__interpolate(liana_location here, liana_tensor x, int axis, int64_t size,
                                liana_interpolation interpolation, bool antialias)
{
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    const int64_t input = liana_tensor_shape(x).dims[axis];
    if (size < 1 || size > MOST_CELLS) {
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "an interpolation to %lld cells along axis %d, expected 1 to %d", (long long)size,
                                 axis, MOST_CELLS);
    }
    if (size == input) return x;
    if (interpolation == LIANA_NEAREST) return choose(here, x, axis, size);
    const request r = make_request(input, size, interpolation, antialias);
    return r.taps > MOST_TAPS ? multiply(here, x, axis, &r) : add_taps(here, x, axis, &r);
}
