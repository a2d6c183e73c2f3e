/* Comparisons that print both operands when they do not hold. */
#include "harness/harness.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The numbers are compared as long doubles, so one must hold what 64 bits hold. */
_Static_assert(LDBL_MANT_DIG >= 64, "assert_compare would round integers");

static bool holds(long double left, const char *relation, long double right)
{
    const bool or_equal = relation[1] == '=';
    switch (relation[0]) {
    case '<': return or_equal ? left <= right : left < right;
    case '>': return or_equal ? left >= right : left > right;
    case '!': return left != right;
    default: return left == right;
    }
}

/* Integers in all their digits, others in as many as a double needs. */
static void print_number(const char *before, long double number)
{
    const bool is_whole = fabsl(number) < 0x1p64L && number == truncl(number);
    print_error("%s%.*Lg", before, is_whole ? 20 : DBL_DECIMAL_DIG, number);
}

static void print_indices(const liana__test_operands *operands)
{
    if (!operands->num_indices) return;
    print_error(" at %s =", operands->index_names);
    for (size_t i = 0; i < operands->num_indices; i++) print_error("%s %" PRId64, i ? "," : "", operands->indices[i]);
}

void liana__test_assert_compare(long double left, const char *relation, long double right,
                                const liana__test_operands *operands)
{
    if (holds(left, relation, right)) return;
    print_error("%s:%d: %s %s %s does not hold", operands->file, operands->line, operands->left, relation,
                operands->right);
    print_indices(operands);
    print_number(": the left is ", left);
    print_number(", the right is ", right);
    print_error("\n");
    _fail(operands->file, operands->line);
}

void liana__test_assert_near(double actual, double expected, double tolerance, const liana__test_operands *operands)
{
    const double difference = fabs(actual - expected);
    if (difference <= tolerance) return;
    print_error("%s:%d: %s is not near %s", operands->file, operands->line, operands->left, operands->right);
    print_indices(operands);
    print_number(": found ", actual);
    print_number(", expected ", expected);
    print_error(" +- %g; they differ by %g\n", tolerance, difference);
    _fail(operands->file, operands->line);
}

static void fail_on_text(const char *text, const char *what, const char *part, const char *name, const char *file,
                         int line)
{
    print_error("%s:%d: %s %s '%s'; it is:\n%s\n", file, line, name, what, part, text ? text : "(NULL)");
    _fail(file, line);
}

void liana__test_assert_says(const char *text, const char *part, const char *name, const char *file, int line)
{
    if (!text || !strstr(text, part)) fail_on_text(text, "does not say", part, name, file, line);
}

void liana__test_assert_never_says(const char *text, const char *part, const char *name, const char *file, int line)
{
    if (!text || strstr(text, part)) fail_on_text(text, "says", part, name, file, line);
}

void liana__test_assert_begins(const char *text, const char *part, const char *name, const char *file, int line)
{
    if (!text || strncmp(text, part, strlen(part)) != 0)
        fail_on_text(text, "does not begin with", part, name, file, line);
}
