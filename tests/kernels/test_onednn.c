/* The bridge to oneDNN: products against a plain loop, and one plan on many threads at once. Convolutions are checked
 * through their ops. */
#include "harness/harness.h"

#include "base/memory.h"
#include "kernels/onednn.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers up to 8 and 4: every sum is exact in f32, whatever its order. */
static float *fill(int64_t count, int factor)
{
    float *data = liana__allocate_aligned((size_t)count * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) data[i] = (float)((i * factor + i / 7) % 17 - 8);
    return data;
}

static double naive(const liana__onednn_matmul *p, const float *a, const float *b, int64_t batch, int64_t row,
                    int64_t column)
{
    double sum = 0;
    for (int64_t i = 0; i < p->k; i++) {
        int64_t in_a = p->transpose_a ? i * p->m + row : row * p->k + i;
        int64_t in_b = p->transpose_b ? column * p->k + i : i * p->n + column;
        sum += (double)a[batch * p->m * p->k + in_a] * b[batch * p->k * p->n + in_b];
    }
    return sum;
}

static void check_matmul(const liana__onednn_matmul *p)
{
    float *a = fill(p->batch * p->m * p->k, 5), *b = fill(p->batch * p->k * p->n, 3);
    int64_t size = p->batch * p->m * p->n;
    float *c = liana__allocate_aligned((size_t)size * sizeof *c);
    liana__error error = {0};
    liana__prepared prepared = {0};
    assert_ok(liana__onednn_prepare_matmul(p, &prepared, &error), &error);
    void *scratch = liana__allocate_aligned(prepared.scratch_size);
    const void *src[] = {a, b};
    const liana__call call = {.src = src, .dst = c, .scratch = scratch, .plan = prepared.plan};
    assert_int_equal(liana__onednn_run(&call), LIANA_OK);
    for (int64_t i = 0; i < size; i++) {
        int64_t batch = i / (p->m * p->n), row = i / p->n % p->m, column = i % p->n;
        assert_compare(c[i], ==, naive(p, a, b, batch, row, column), i);
    }
    liana__onednn_release(prepared.plan);
    free(scratch);
    free(a);
    free(b);
    free(c);
}

static void test_products(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {{1, 1, 1, 1}, {1, 5, 7, 3},  {1, 33, 17, 65},
                                       {3, 4, 9, 6}, {1, 1, 9, 40}, {1, 9, 1, 40}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int transposed = 0; transposed < 4; transposed++) {
            const int64_t *s = sizes[i];
            check_matmul(&(liana__onednn_matmul){.batch = s[0],
                                                 .m = s[1],
                                                 .n = s[2],
                                                 .k = s[3],
                                                 .transpose_a = transposed & 1,
                                                 .transpose_b = transposed & 2});
        }
    }
}

enum { NUM_THREADS = 5, NUM_RUNS = 50 };

/* An irregular convolution, whose kernel gradient runs two primitives through scratch memory. */
static const liana__geometry geometry = {.batch = 2,
                                         .input = {9, 7},
                                         .output = {4, 7},
                                         .window = {3, 2},
                                         .strides = {2, 1},
                                         .dilations = {1, 2},
                                         .padding_low = {0, 1},
                                         .padding_high = {0, 1},
                                         .channels = 6,
                                         .filters = 10,
                                         .groups = 2};
enum { X_SIZE = 2 * 9 * 7 * 6, Y_SIZE = 2 * 4 * 7 * 10, KERNEL_SIZE = 3 * 2 * 3 * 10 };

typedef struct worker {
    liana__prepared prepared;
    const float *x, *y;
    float result[KERNEL_SIZE];
    bool same;
} worker;

static void *work(void *argument)
{
    worker *self = argument;
    void *scratch = liana__allocate_aligned(self->prepared.scratch_size);
    float *again = malloc(sizeof self->result);
    const void *src[] = {self->x, self->y};
    liana__call call = {.src = src, .dst = self->result, .scratch = scratch, .plan = self->prepared.plan};
    self->same = scratch && again && liana__onednn_run(&call) == LIANA_OK;
    call.dst = again;
    for (int i = 0; i < NUM_RUNS && self->same; i++) {
        self->same = liana__onednn_run(&call) == LIANA_OK && memcmp(again, self->result, sizeof self->result) == 0;
    }
    free(again);
    free(scratch);
    return NULL;
}

/* More threads than lanes share one plan; a second formula checks a tap. */
static void test_one_plan_on_many_threads(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__prepared prepared = {0};
    assert_ok(liana__onednn_prepare_conv(LIANA__CONV_KERNEL_GRADIENT, LIANA_F32, &geometry, &prepared, &error), &error);
    float *x = fill(X_SIZE, 5), *y = fill(Y_SIZE, 3);
    pthread_t threads[NUM_THREADS];
    static worker workers[NUM_THREADS];
    for (int i = 0; i < NUM_THREADS; i++) {
        workers[i] = (worker){.prepared = prepared, .x = x, .y = y};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < NUM_THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < NUM_THREADS; i++) {
        assert_true(workers[i].same);
        assert_memory_equal(workers[i].result, workers[0].result, sizeof workers[0].result);
    }
    /* Tap (row 1, column 0) of channel 2 in its group for filter 7, which is in the second group: x channel 5. */
    double sum = 0;
    for (int n = 0; n < 2; n++) {
        for (int row = 0; row < 4; row++) {
            for (int column = 1; column < 7; column++) {
                sum += (double)x[((n * 9 + row * 2 + 1) * 7 + column - 1) * 6 + 5] *
                       y[((n * 4 + row) * 7 + column) * 10 + 7];
            }
        }
    }
    assert_compare(workers[0].result[((1 * 2 + 0) * 3 + 2) * 10 + 7], ==, sum);
    liana__onednn_release(prepared.plan);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_one_plan_on_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
