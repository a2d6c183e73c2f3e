/* Interpolation along one axis as a sum of gathered cells.
 *
 * Cell o of the result lies at (o + 0.5) * input / size - 0.5 among the cells of x. Its neighbours there count by a
 * function of their distance. Those beyond the ends count for the end (bilinear), or not at all; then the others have
 * the sum 1 again. */
#include "layers/reshaping/interpolate.h"

#include "base/scoped.h"
#include "ir/graph.h"

#include <math.h>
#include <stdlib.h>

const char *const liana__interpolation_names[] = {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", NULL};

/* TensorFlow takes the weights of its bicubic interpolation from a table of that many places between two cells. */
enum { TABLE_SIZE = 1024, MOST_TAPS = 10 };

/* Cells along an axis for which weights are made. */
enum { MOST_CELLS = 1 << 20 };

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

typedef struct taps {
    int32_t cells[MOST_TAPS];
    double weights[MOST_TAPS];
} taps;

static int radius_of(liana_interpolation interpolation)
{
    static const int radii[] = {[LIANA_BILINEAR] = 1, [LIANA_BICUBIC] = 2, [LIANA_LANCZOS3] = 3, [LIANA_LANCZOS5] = 5};
    return radii[interpolation];
}

static taps find_taps(int64_t cell, int64_t input, int64_t size, liana_interpolation interpolation)
{
    const int radius = radius_of(interpolation);
    const double place = ((double)cell + 0.5) * (double)input / (double)size - 0.5, below = floor(place);
    double between = place - below, sum = 0;
    taps made;
    if (interpolation == LIANA_BICUBIC) between = nearbyint(between * TABLE_SIZE) / TABLE_SIZE;
    for (int i = 0; i < 2 * radius; i++) {
        const int64_t at = (int64_t)below + i + 1 - radius, clamped = at < 0 ? 0 : at < input ? at : input - 1;
        const bool counts = at == clamped || interpolation == LIANA_BILINEAR;
        made.cells[i] = (int32_t)clamped;
        made.weights[i] = counts ? weight_at((double)(i + 1 - radius) - between, radius, interpolation) : 0;
        sum += made.weights[i];
    }
    for (int i = 0; i < 2 * radius; i++) made.weights[i] /= sum;
    return made;
}

/* The cells that tap `tap` of each cell of the result sees, times their weights. */
static liana_tensor add_tap(liana_location here, liana_tensor x, int axis, int64_t size, const taps *all, int tap)
{
    const int rank = liana_tensor_shape(x).rank;
    LIANA__SCOPED_MEMORY int32_t *cells = malloc((size_t)size * sizeof *cells);
    LIANA__SCOPED_MEMORY float *weights = malloc((size_t)size * sizeof *weights);
    if (!cells || !weights) return liana__graph_fail(x.graph, here, LIANA_OUT_OF_MEMORY, "an interpolation");
    for (int64_t i = 0; i < size; i++) {
        cells[i] = all[i].cells[tap];
        weights[i] = (float)all[i].weights[tap];
    }
    liana_shape shape = {.rank = rank - axis, .dims = {size}};
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    liana_tensor factors = liana_graph_constant_at(here, x.graph, LIANA_F32, shape, weights);
    factors = liana_op_cast_at(here, factors, liana_tensor_dtype(x));
    liana_tensor seen =
        liana_op_gather_at(here, x, liana_graph_constant_at(here, x.graph, LIANA_S32, liana_shape_of(size), cells),
                           axis);
    return liana_op_multiply_at(here, seen, factors);
}

liana_tensor liana__interpolate(liana_location here, liana_tensor x, int axis, int64_t size,
                                liana_interpolation interpolation)
{
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    const int64_t input = liana_tensor_shape(x).dims[axis];
    if (size < 1 || size > MOST_CELLS) {
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "an interpolation to %lld cells along axis %d, expected 1 to %d", (long long)size,
                                 axis, MOST_CELLS);
    }
    LIANA__SCOPED_MEMORY taps *all = malloc((size_t)size * sizeof *all);
    if (!all) return liana__graph_fail(x.graph, here, LIANA_OUT_OF_MEMORY, "an interpolation");
    for (int64_t i = 0; i < size; i++) all[i] = find_taps(i, input, size, interpolation);
    liana_tensor sum = {0};
    for (int tap = 0; tap < 2 * radius_of(interpolation); tap++) {
        liana_tensor part = add_tap(here, x, axis, size, all, tap);
        sum = tap ? liana_op_add_at(here, sum, part) : part;
    }
    return sum;
}
