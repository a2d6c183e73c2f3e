/* Slices of an update: they take everything once, end where they may, and are as even as they can be. */
#include "harness/harness.h"

#include "base/random.h"
#include "distribute/slices.h"

#include <stdlib.h>

enum { MAX_ITEMS = 12, MAX_SLICES = 20 };

static uint32_t draw(uint32_t salt, uint32_t index)
{
    uint32_t words[4];
    liana__philox(liana__philox_make_key(12, LIANA__STREAM_TEST, salt), (uint32_t[4]){index, 0, 0, 0}, words);
    return words[0];
}

static int64_t size_of(const liana__slice_item *items, const liana__slice_end *ends)
{
    int64_t size = 0;
    liana__slice_piece pieces[MAX_ITEMS];
    size_t count = liana__slice_pieces(items, MAX_ITEMS, ends, pieces);
    for (size_t i = 0; i < count; i++) size += pieces[i].end - pieces[i].begin;
    return size;
}

/* Every element has one owner, in order, and ends are where they may be. Returns the largest slice. */
static int64_t check_slices(const liana__slice_item *items, size_t num_items, const liana__slice_end *ends,
                            size_t num_slices)
{
    size_t item = 0;
    int64_t element = 0, largest = 0;
    for (size_t slice = 0; slice < num_slices; slice++) {
        liana__slice_piece pieces[MAX_ITEMS];
        size_t count = liana__slice_pieces(items, num_items, &ends[slice], pieces);
        assert_int_equal(liana__slice_pieces(items, num_items, &ends[slice], NULL), count);
        int64_t size = 0;
        for (size_t i = 0; i < count; i++) {
            const liana__slice_piece *piece = &pieces[i];
            assert_compare(piece->item, ==, item);
            assert_compare(piece->begin, ==, element);
            assert_compare(piece->end, >, element);
            assert_compare(piece->end, <=, items[item].size);
            bool is_at_end = piece->end == items[item].size;
            if (!is_at_end) {
                assert_false(items[item].whole);
                assert_int_equal(piece->end % 4096, 0);
            }
            size += piece->end - piece->begin;
            element = is_at_end ? 0 : piece->end;
            item += is_at_end;
        }
        assert_int_equal(liana__slice_size(items, &ends[slice]), size);
        if (size > largest) largest = size;
    }
    assert_int_equal(item, num_items);
    return largest;
}

/* All places where a slice may end, as offsets. */
static size_t list_ends(const liana__slice_item *items, size_t num_items, int64_t *offsets)
{
    size_t count = 0;
    int64_t base = 0;
    for (size_t i = 0; i < num_items; i++) {
        for (int64_t element = 0; element < items[i].size; element += 4096) {
            if (element == 0 || !items[i].whole) offsets[count++] = base + element;
        }
        base += items[i].size;
    }
    offsets[count++] = base;
    return count;
}

/* The least largest slice, by trying all ends: most[k] is that of the first k parts. */
static int64_t least_largest(const liana__slice_item *items, size_t num_items, size_t num_slices)
{
    enum { MAX_ENDS = 400 };
    int64_t offsets[MAX_ENDS], most[MAX_ENDS] = {0};
    size_t count = list_ends(items, num_items, offsets);
    assert_compare(count, <=, MAX_ENDS);
    for (size_t k = 0; k < count; k++) most[k] = offsets[k];
    for (size_t slice = 1; slice < num_slices; slice++) {
        for (size_t k = count; k-- > 0;) {
            for (size_t j = 0; j <= k; j++) {
                int64_t last = offsets[k] - offsets[j], larger = last > most[j] ? last : most[j];
                if (larger < most[k]) most[k] = larger;
            }
        }
    }
    return most[count - 1];
}

static void test_random_models(void **state)
{
    (void)state;
    for (uint32_t try = 0; try < 1000; try++) {
        liana__slice_item items[MAX_ITEMS] = {{0}};
        liana__slice_end ends[MAX_SLICES + 1];
        liana__error error = {0};
        size_t num_items = draw(1, try) % MAX_ITEMS, num_slices = 1 + draw(2, try) % MAX_SLICES;
        for (size_t i = 0; i < num_items; i++) {
            uint32_t kind = draw(3, try * MAX_ITEMS + (uint32_t)i), size = draw(4, try * MAX_ITEMS + (uint32_t)i);
            int64_t chunks = size % 25;
            items[i] = (liana__slice_item){"variable", kind % 3 == 0 ? 1 + size % 5000 : 4096 * chunks + kind % 3,
                                           kind % 5 == 0};
            if (items[i].size == 0) items[i].size = 4096;
        }
        assert_ok(liana__slices_choose(items, num_items, num_slices, ends, &error), &error);
        int64_t largest = check_slices(items, num_items, ends, num_slices);
        assert_int_equal(largest, least_largest(items, num_items, num_slices));
    }
}

static void assert_ends(const liana__slice_item *items, size_t num_items, size_t num_slices,
                        const int64_t (*expected)[2])
{
    liana__error error = {0};
    liana__slice_end ends[MAX_SLICES + 1];
    assert_ok(liana__slices_choose(items, num_items, num_slices, ends, &error), &error);
    check_slices(items, num_items, ends, num_slices);
    for (size_t i = 0; i + 1 < num_slices; i++) {
        assert_compare(ends[i + 1].item, ==, expected[i][0], i);
        assert_compare(ends[i + 1].element, ==, expected[i][1], i);
    }
}

static void test_slices_by_hand(void **state)
{
    (void)state;
    const liana__slice_item even[] = {{"kernel", 4 * 4096, false}};
    assert_ends(even, 1, 1, NULL);
    assert_ends(even, 1, 2, (const int64_t[][2]){{0, 8192}});
    assert_ends(even, 1, 4, (const int64_t[][2]){{0, 4096}, {0, 8192}, {0, 12288}});
    /* Balanced are 1 2/3 and 3 1/3 chunks. */
    const liana__slice_item odd[] = {{"kernel", 5 * 4096, false}};
    assert_ends(odd, 1, 3, (const int64_t[][2]){{0, 8192}, {0, 12288}});
    /* The averages of a layer and a variable that is needed whole are not cut; their owners may have little else. */
    const liana__slice_item mixed[] = {{"conv2d/kernel", 9000, false},
                                       {"averages of 'bn'", 20000, true},
                                       {"dense/kernel", 9000, true},
                                       {"dense/bias", 10, false}};
    assert_ends(mixed, 4, 3, (const int64_t[][2]){{1, 0}, {2, 0}});
    assert_ends(mixed, 4, 2, (const int64_t[][2]){{2, 0}});
    /* More owners than chunks. */
    const liana__slice_item small[] = {{"a", 10, false}, {"b", 5000, false}};
    liana__slice_end ends[7];
    liana__error error = {0};
    assert_ok(liana__slices_choose(small, 2, 6, ends, &error), &error);
    assert_int_equal(check_slices(small, 2, ends, 6), 4096);
    /* Nothing to update. */
    assert_ok(liana__slices_choose(NULL, 0, 6, ends, &error), &error);
    for (int i = 0; i <= 6; i++) {
        assert_compare(ends[i].item, ==, 0, i);
        assert_compare(ends[i].element, ==, 0, i);
    }
}

/* Where all can be cut, no slice is further from the average than a chunk. */
static void test_thousands_of_slices(void **state)
{
    (void)state;
    enum { ITEMS = 300, SLICES = 3000 };
    static liana__slice_item items[ITEMS];
    static liana__slice_end ends[SLICES + 1];
    int64_t total = 0, previous = 0;
    liana__error error = {0};
    for (uint32_t i = 0; i < ITEMS; i++) {
        items[i] = (liana__slice_item){"variable", 1 + draw(5, i) % 2000000, false};
        total += items[i].size;
    }
    assert_ok(liana__slices_choose(items, ITEMS, SLICES, ends, &error), &error);
    for (size_t slice = 0; slice < SLICES; slice++) {
        int64_t size = liana__slice_size(items, &ends[slice]);
        assert_compare(llabs(size - total / SLICES), <=, 2 * 4096);
        previous += size;
        assert_compare(llabs(previous - total / SLICES * (int64_t)(slice + 1)), <=, 2 * 4096 + SLICES, slice);
    }
    assert_int_equal(previous, total);
}

static void test_chunks(void **state)
{
    (void)state;
    assert_int_equal(liana__num_chunks(0), 0);
    assert_int_equal(liana__num_chunks(1), 1);
    assert_int_equal(liana__num_chunks(4096), 1);
    assert_int_equal(liana__num_chunks(4097), 2);
    const liana__slice_item items[MAX_ITEMS] = {{"a", 10, false}, {"b", 5000, false}};
    assert_int_equal(size_of(items, (const liana__slice_end[]){{0, 0}, {1, 4096}}), 4106);
}

static void test_wrong_calls_are_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__slice_end ends[3];
    const liana__slice_item items[] = {{"dense/kernel", 7, false}, {"dense/bias", 0, false}};
    assert_fails(liana__slices_choose(items, 2, 2, ends, &error), LIANA_INVALID_ARGUMENT, &error, "'dense/bias' has 0");
    assert_fails(liana__slices_choose(items, 1, 0, ends, &error), LIANA_INVALID_ARGUMENT, &error, "0 slices");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_models),           cmocka_unit_test(test_slices_by_hand),
        cmocka_unit_test(test_thousands_of_slices),     cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_wrong_calls_are_refused),
    };
    return cmocka_run_group_tests_name("update slices", tests, NULL, NULL);
}
