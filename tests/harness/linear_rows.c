/* One update of a linear model. */
#include "harness/linear_rows.h"

#include "step/shard_list.h"

enum { ROWS = LIANA__LINEAR_ROWS, FEATURES = LIANA__LINEAR_FEATURES };

float liana__linear_x[ROWS * FEATURES], liana__linear_y[ROWS];

void liana__linear_fill(void)
{
    for (int i = 0; i < ROWS * FEATURES; i++) liana__linear_x[i] = (float)((i * 37) % 101 - 50) / 32;
    for (int i = 0; i < ROWS; i++) liana__linear_y[i] = (float)((i * 13) % 17 - 5) / 8;
}

void liana__linear_arrays(liana_array arrays[2])
{
    arrays[0] = (liana_array){"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), liana__linear_x};
    arrays[1] = (liana_array){"y", LIANA_F32, liana_shape_of(ROWS, 1), liana__linear_y};
}

size_t liana__linear_used(void)
{
    liana__leaf_range ranges[3];
    assert_int_equal(liana__share_shards(ROWS / LIANA__LINEAR_SHARD, 3, ranges, NULL), LIANA_OK);
    const size_t used = ranges[1].end * LIANA__LINEAR_SHARD;
    assert_compare(used, <, ROWS);
    assert_compare(used, >, 0);
    return used;
}

double liana__linear_assert_weights(const liana__cluster_result *results, size_t count, size_t used)
{
    double loss = 0;
    for (size_t feature = 0; feature < FEATURES; feature++) {
        double sum = 0;
        for (size_t i = 0; i < used; i++) {
            sum += 2 * (double)liana__linear_x[i * FEATURES + feature] * (double)liana__linear_y[i];
        }
        for (size_t i = 0; i < count; i++) {
            const double got = (double)((const float *)(void *)results[i].weights)[feature];
            assert_near(got, 0.5 * sum / (double)used, 1e-6);
        }
    }
    for (size_t i = 0; i < used; i++) loss += (double)liana__linear_y[i] * (double)liana__linear_y[i];
    return loss / (double)used;
}
