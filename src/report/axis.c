/* Chooses ranges and marks of axes. */
#include "report/canvas.h"

#include "base/format.h"

#include <math.h>

double liana__axis_step(double low, double high, int wanted)
{
    double rough = (high - low) / wanted, power = pow(10, floor(log10(rough))), ratio = rough / power;
    return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

liana__axis liana__axis_begin(bool logarithmic)
{
    return (liana__axis){.low = INFINITY, .high = -INFINITY, .logarithmic = logarithmic};
}

void liana__axis_take(liana__axis *axis, double value)
{
    if (axis->logarithmic) value = value > 0 ? log10(value) : NAN;
    if (!isfinite(value)) return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

void liana__axis_make_room(liana__axis *axis)
{
    if (axis->low > axis->high) axis->low = 0, axis->high = 1;
    double least = fmax(fabs(axis->low), fabs(axis->high)) * 1e-6 + 1e-12;
    if (axis->high - axis->low >= least) return;
    double half = fmax(fabs(axis->high) * 0.1, 1e-6);
    axis->low -= half;
    axis->high += half;
}

void liana__axis_round(liana__axis *axis, int wanted)
{
    axis->step = liana__axis_step(axis->low, axis->high, wanted);
    axis->low = floor(axis->low / axis->step + 1e-9) * axis->step;
    axis->high = ceil(axis->high / axis->step - 1e-9) * axis->step;
}

int liana__axis_steps(const liana__axis *axis)
{
    return (int)lround((axis->high - axis->low) / axis->step);
}

double liana__axis_place(const liana__axis *axis, double value)
{
    double at = axis->logarithmic ? log10(value) : value;
    return (at - axis->low) / (axis->high - axis->low);
}

void liana__axis_mark(const liana__axis *axis, double value, int most_decimals, char *text, size_t size)
{
    int decimals = (int)fmax(0, -floor(log10(axis->step) + 1e-9));
    double shown = fabs(value) < axis->step / 2 ? 0.0 : value;
    if (axis->logarithmic) {
        liana__format(text, size, "1e%d", (int)lround(value));
    } else if (decimals > most_decimals || fabs(value) >= 1e6) {
        liana__format(text, size, "%.3g", shown);
    } else {
        liana__format(text, size, "%.*f", decimals, shown);
    }
}
