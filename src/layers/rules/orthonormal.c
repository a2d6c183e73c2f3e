/* Gram and Schmidt's method, done twice: Giraud et al. 2005, "Rounding error analysis of the classical Gram-Schmidt
 * orthogonalization process", show that two rounds are exact to rounding. */
#include "layers/rules/orthonormal.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 };

/* In lanes, so that compilers use vectors. */
static double dot(const double *a, const double *b, int64_t size)
{
    double lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= size; i += LANES) {
        for (int k = 0; k < LANES; k++) lanes[k] += a[i + k] * b[i + k];
    }
    for (; i < size; i++) sum += a[i] * b[i];
    for (int k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

static void take_away(double *vector, const double *direction, double factor, int64_t size)
{
    for (int64_t i = 0; i < size; i++) vector[i] -= factor * direction[i];
}

void liana__orthonormalize(double *vectors, int64_t count, int64_t size)
{
    for (int64_t i = 0; i < count; i++) {
        double *own = vectors + i * size;
        const double before = sqrt(dot(own, own, size));
        for (int round = 0; round < 2; round++) {
            for (int64_t k = 0; k < i; k++) {
                const double *other = vectors + k * size;
                take_away(own, other, dot(own, other, size), size);
            }
        }
        const double length = sqrt(dot(own, own, size));
        if (!(length > 1e-12 * before)) {
            memset(own, 0, (size_t)size * sizeof *own);
            continue;
        }
        for (int64_t k = 0; k < size; k++) own[k] /= length;
    }
}
