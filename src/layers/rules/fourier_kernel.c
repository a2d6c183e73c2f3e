/* Windows as sums of cosines, and by their formulas: Harris 1978, "On the use of windows for harmonic analysis with the
 * discrete Fourier transform"; Nuttall 1981, "Some windows with very good sidelobe behavior". */
#include "layers/rules/fourier_kernel.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

const char *const liana__window_names[] = {"none",    "hann",   "hamming",  "blackman", "nuttall", "blackmanharris",
                                           "flattop", "boxcar", "bartlett", "triang",   "cosine",  NULL};
enum { NONE, HANN, HAMMING, BLACKMAN, NUTTALL, BLACKMAN_HARRIS, FLAT_TOP, BOXCAR, BARTLETT, TRIANGLE, COSINE };

enum { MOST_TERMS = 5 };
static const double terms[][MOST_TERMS] = {
    [HANN] = {0.5, 0.5},
    [HAMMING] = {0.54, 0.46},
    [BLACKMAN] = {0.42, 0.5, 0.08},
    [NUTTALL] = {0.3635819, 0.4891775, 0.1365995, 0.0106411},
    [BLACKMAN_HARRIS] = {0.35875, 0.48829, 0.14128, 0.01168},
    [FLAT_TOP] = {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368},
    [BOXCAR] = {1},
};

/* Value `i` of a symmetric window of `size` > 1 values. */
static double value_of(int name, int64_t i, int64_t size)
{
    const double place = (double)i / (double)(size - 1), from_middle = fabs(2 * place - 1);
    if (name == BARTLETT) return 1 - from_middle;
    if (name == TRIANGLE) {
        const double half = (double)(size % 2 ? size + 1 : size) / 2;
        return 1 - fabs((double)i - (double)(size - 1) / 2) / half;
    }
    if (name == COSINE) return sin(PI / (double)size * ((double)i + 0.5));
    double sum = 0;
    for (int k = 0; k < MOST_TERMS; k++) sum += (k % 2 ? -1 : 1) * terms[name][k] * cos(2 * PI * k * place);
    return sum;
}

void liana__window_values(int name, bool periodic, int64_t count, double *values)
{
    for (int64_t i = 0; i < count; i++) values[i] = count == 1 ? 1 : value_of(name, i, count + periodic);
}

void liana__fourier_kernel(const double *window, liana__window_scaling scaling, bool imaginary, int64_t frame,
                           int64_t bins, float *values)
{
    double squares = 0, sizes = 0;
    for (int64_t i = 0; window && i < frame; i++) {
        squares += window[i] * window[i];
        sizes += fabs(window[i]);
    }
    double scale = scaling == LIANA__WINDOW_DENSITY ? sqrt(squares) : sizes;
    if (!window || scaling == LIANA__WINDOW_AS_IT_IS || !(scale > 0)) scale = 1;
    for (int64_t i = 0; i < frame; i++) {
        for (int64_t k = 0; k < bins; k++) {
            const double angle = bins > 1 ? -PI * (double)i * (double)k / (double)(bins - 1) : 0;
            const double wave = imaginary ? sin(angle) : cos(angle);
            values[i * bins + k] = (float)(wave * (window ? window[i] : 1) / scale);
        }
    }
}
