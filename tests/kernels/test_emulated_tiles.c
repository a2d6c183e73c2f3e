/* The emulated tiles, on which kernels for AMX are tested: they report faults of a processor, and round as it
 * rounds. */
#include "harness/emulated/emulated_tiles.h"
#include "harness/harness.h"

#include <string.h>

static const amx_config whole = {.palette = 1,
                                 .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                 .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

static void assert_fault(const char *expected)
{
    const char *fault = liana__emulated_fault();
    assert_non_null(fault);
    assert_string_equal(fault, expected);
    assert_null(liana__emulated_fault());
}

static void refuse(const amx_config *config, const char *expected)
{
    amx_configure(config);
    assert_fault(expected);
    assert_false(liana__emulated_tiles_held());
}

static void test_configurations(void **state)
{
    (void)state;
    amx_config wrong = whole;
    wrong.palette = 2;
    refuse(&wrong, "a palette other than 1");
    wrong = whole;
    wrong.start_row = 1;
    refuse(&wrong, "a start row other than 0");
    wrong = whole;
    wrong.reserved[13] = 1;
    refuse(&wrong, "reserved bytes are set");
    wrong = whole;
    wrong.rows[3] = 17;
    refuse(&wrong, "a tile of more than 16 rows");
    wrong = whole;
    wrong.row_bytes[7] = 65;
    refuse(&wrong, "a tile with rows of more than 64 bytes");
    wrong = whole;
    wrong.rows[5] = 0;
    refuse(&wrong, "a tile with rows of no bytes, or bytes in no rows");
    wrong = whole;
    wrong.rows[8] = 1;
    wrong.row_bytes[8] = 4;
    refuse(&wrong, "a tile behind the last is configured");
    amx_configure(&whole);
    assert_null(liana__emulated_fault());
    assert_true(liana__emulated_tiles_held());
    amx_release();
    assert_false(liana__emulated_tiles_held());
}

static void test_faults(void **state)
{
    (void)state;
    unsigned char memory[AMX_TILE_BYTES] = {0};
    amx_load(4, memory, AMX_ROW_BYTES);
    assert_fault("tiles are used without a configuration");
    amx_config config = whole;
    config.rows[1] = 0;
    config.row_bytes[1] = 0;
    config.rows[2] = 5;
    config.row_bytes[3] = 60;
    config.row_bytes[5] = 32;
    amx_configure(&config);
    amx_zero(8);
    assert_fault("there is no such tile");
    amx_store(1, memory, AMX_ROW_BYTES);
    assert_fault("a tile is used that is not configured");
    amx_dot(0, 4, 4);
    assert_fault("a tile is two operands");
    amx_dot(2, 4, 6);
    assert_fault("sums and left operand differ in rows");
    amx_dot(3, 4, 6);
    assert_fault("sums and right operand differ in columns");
    amx_dot(0, 5, 6);
    assert_fault("left operand and right operand differ in their depth");
    amx_release();
}

/* One row of 4 elements (two pairs) times one column. */
static float dot(const uint16_t *a, const uint16_t *b, float sum)
{
    const amx_config config = {.palette = 1, .row_bytes = {4, [4] = 8, [6] = 4}, .rows = {1, [4] = 1, [6] = 2}};
    amx_configure(&config);
    amx_load(0, &sum, 4);
    amx_load(4, a, 8);
    amx_load(6, b, 4);
    amx_dot(0, 4, 6);
    amx_store(0, &sum, 4);
    amx_release();
    assert_null(liana__emulated_fault());
    return sum;
}

enum { ONE = 0x3f80, MINUS_ONE = 0xbf80, TINY = 0x0040 /* 2^-127 */, SMALL = 0x2000 /* 2^-63 */, TWO_24 = 0x4b80 };

/* Known answers: each tells one rule from another that one might take for it. */
static void test_arithmetic(void **state)
{
    (void)state;
    const uint16_t ones[] = {ONE, ONE, ONE, ONE};
    /* Even elements, then odd ones, then both: 2^24 and 1 and -2^24 and 1 in order would be 1, and pair by pair 0. */
    assert_compare(dot((const uint16_t[]){TWO_24, ONE, TWO_24 | 0x8000, ONE}, ones, 0), ==, 2);
    /* The products are added up from 0 and only then to the former value. */
    assert_compare(dot((const uint16_t[]){ONE, ONE, 0, 0}, ones, 0x1p24f), ==, 0x1p24f + 2);
    /* Ties go to the even one. */
    assert_compare(dot((const uint16_t[]){ONE, 0, 0, 0}, ones, 0x1p24f), ==, 0x1p24f);
    assert_compare(dot((const uint16_t[]){ONE, 0, 0, 0}, ones, 0x1p24f + 2), ==, 0x1p24f + 4);
    /* Denormal operands, products and sums are zeros. */
    assert_compare(dot((const uint16_t[]){TINY, 0, 0, 0}, (const uint16_t[]){TWO_24, 0, 0, 0}, 0), ==, 0);
    assert_compare(dot((const uint16_t[]){SMALL, 0, 0, 0}, (const uint16_t[]){SMALL, 0, 0, 0}, 0), ==, 0x1p-126f);
    assert_compare(dot((const uint16_t[]){SMALL, 0, 0, 0}, (const uint16_t[]){SMALL - 0x80, 0, 0, 0}, 0), ==, 0);
    assert_compare(dot((const uint16_t[]){0, 0, 0, 0}, ones, 0x1p-127f), ==, 0);
}

/* C [3, 2] += A [3, 4] B [4, 2], rows of memory farther apart than tiles are wide. */
static void test_shapes(void **state)
{
    (void)state;
    const amx_config config = {.palette = 1, .row_bytes = {8, [4] = 8, [6] = 8}, .rows = {3, [4] = 3, [6] = 2}};
    static const uint16_t a[3][6] = {{ONE, 0, 0, 0}, {0, ONE, 0, 0}, {0, 0, ONE, MINUS_ONE}};
    static const uint16_t b[2][8] = {{0x4000, 0x4040, 0x4080, 0x40a0}, {0x40c0, 0x40e0, 0x4100, 0x4110}};
    float c[3][5] = {{1, 1, 7}, {1, 1, 7}, {1, 1, 7}};
    amx_configure(&config);
    amx_load(0, c, sizeof c[0]);
    amx_load(4, a, sizeof a[0]);
    amx_load(6, b, sizeof b[0]);
    amx_dot(0, 4, 6);
    amx_store(0, c, sizeof c[0]);
    amx_release();
    assert_null(liana__emulated_fault());
    /* Columns of B are 2 3 6 7 and 4 5 8 9. */
    static const float expected[3][5] = {{3, 5, 7}, {4, 6, 7}, {0, 0, 7}};
    assert_memory_equal(c, expected, sizeof c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests_name("emulated tiles", tests, NULL, NULL);
}
