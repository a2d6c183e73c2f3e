/* byte_budget.h - a limit on the memory that all requests of a server may take together. Safe on any thread. */
#ifndef LIANA_SERVE_BYTE_BUDGET_H
#define LIANA_SERVE_BYTE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct liana__byte_budget {
    atomic_size_t used;
    size_t limit; /* 0: none */
} liana__byte_budget;

/* False: the budget has no room for them. NULL has no limit. */
static inline bool liana__byte_budget_take(liana__byte_budget *budget, size_t bytes)
{
    if (!budget || !budget->limit) return true;
    const size_t before = atomic_fetch_add(&budget->used, bytes);
    if (before + bytes >= before && before + bytes <= budget->limit) return true;
    atomic_fetch_sub(&budget->used, bytes);
    return false;
}

static inline void liana__byte_budget_give(liana__byte_budget *budget, size_t bytes)
{
    if (budget && budget->limit) atomic_fetch_sub(&budget->used, bytes);
}

#endif
