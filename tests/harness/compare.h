/* compare.h - comparisons that print both operands when they do not hold. Where elements of arrays are compared in a
 * loop, the loop's variables follow, and are printed as well: assert_near(got[i][k], expected[i][k], 1e-6, i, k). */
#ifndef LIANA_TESTS_COMPARE_H
#define LIANA_TESTS_COMPARE_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of any types; `relation` is <, <=, >, >=, == or !=. They are compared as numbers, whatever their types: -1 is
 * less than any size_t. */
#define assert_compare(left, relation, right, ...)                                              \
    liana__test_assert_compare((long double)(left), #relation, (long double)(right),            \
                               &(const liana__test_operands){#left, #right, __FILE__, __LINE__, \
                                                             LIANA__TEST_INDICES(__VA_ARGS__)})

/* |actual - expected| <= tolerance, in double. */
#define assert_near(actual, expected, tolerance, ...)                                             \
    liana__test_assert_near((double)(actual), (double)(expected), (double)(tolerance),            \
                            &(const liana__test_operands){#actual, #expected, __FILE__, __LINE__, \
                                                          LIANA__TEST_INDICES(__VA_ARGS__)})

/* That a text has `part` somewhere, nowhere, or at its beginning. */
#define assert_says(text, part) liana__test_assert_says((text), (part), #text, __FILE__, __LINE__)
#define assert_never_says(text, part) liana__test_assert_never_says((text), (part), #text, __FILE__, __LINE__)
#define assert_begins(text, part) liana__test_assert_begins((text), (part), #text, __FILE__, __LINE__)

/* The text of a failing comparison about its operands other than their values. */
typedef struct liana__test_operands {
    const char *left;
    const char *right;
    const char *file;
    int line;
    const char *index_names; /* "i, k", or "" */
    const int64_t *indices;
    size_t num_indices;
} liana__test_operands;

/* The first element is there because an array in C has one at least. */
#define LIANA__TEST_INDICES(...)                          \
#__VA_ARGS__, (const int64_t[]){0, __VA_ARGS__ } + 1, \
                                    sizeof((const int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1

/* A long double holds each number of 64 bits. */
void liana__test_assert_compare(long double left, const char *relation, long double right,
                                const liana__test_operands *operands);
void liana__test_assert_near(double actual, double expected, double tolerance, const liana__test_operands *operands);
void liana__test_assert_says(const char *text, const char *part, const char *name, const char *file, int line);
void liana__test_assert_never_says(const char *text, const char *part, const char *name, const char *file, int line);
void liana__test_assert_begins(const char *text, const char *part, const char *name, const char *file, int line);

#endif
