/* per_replica.h - the inside of values by replica: arrays of shards, of which each process has its own. */
#ifndef LIANA_STEP_PER_REPLICA_H
#define LIANA_STEP_PER_REPLICA_H

#include "step/replicas/replicas.h"

typedef struct liana__leaf_component {
    const char *name;
    liana_array *arrays; /* by shard of this process */
    /* Of a batch: the examples of all these shards lie one behind the other. Known where there are no shards, too. */
    const void *rows; /* NULL: it is no batch */
    int dtype;
    liana_shape row;
} liana__leaf_component;

struct liana_per_replica {
    liana_replicas *replicas;
    liana_context *context;
    liana__arena arena;        /* of all that follows */
    size_t num_leaves;         /* of all replicas */
    int64_t *examples;         /* by shard */
    liana__leaf_range *ranges; /* by replica */
    size_t first, end;         /* the shards of this process */
    liana__leaf_component *components;
    size_t num_components, capacity;
};

/* Makes values without arrays: shards with these numbers of examples, shared out. Errors: OUT_OF_MEMORY. */
liana_status liana__per_replica_create(liana_replicas *replicas, const int64_t *examples, size_t num_leaves,
                                       liana_per_replica **values, liana__error *error) LIANA_MUST_USE;
/* The same where it is known which replica has which shards. */
liana_status liana__per_replica_create_as(liana_replicas *replicas, const int64_t *examples, size_t num_leaves,
                                          const liana__leaf_range *ranges, liana_per_replica **values,
                                          liana__error *error) LIANA_MUST_USE;
/* The same with the shards of others. */
liana_status liana__per_replica_like(const liana_per_replica *like, liana_per_replica **values, liana__error *error)
    LIANA_MUST_USE;

/* The shards of replicas [begin, end). */
liana__leaf_range liana__per_replica_range(const liana_per_replica *values, size_t begin, size_t end);

/* Adds a component, whose arrays are filled by the caller; the name is copied. NULL: out of memory. */
liana__leaf_component *liana__per_replica_add(liana_per_replica *values, const char *name);
/* Gives shard `index` of this process its array: zeros. Errors: OUT_OF_MEMORY. */
liana_status liana__per_replica_allocate(liana_per_replica *values, liana__leaf_component *component, size_t index,
                                         int dtype, const liana_shape *shape, liana__error *error) LIANA_MUST_USE;
/* Gives all shards of this process their examples of a batch: rows of the given shape. Errors: OUT_OF_MEMORY. */
liana_status liana__per_replica_allocate_rows(liana_per_replica *values, liana__leaf_component *component, int dtype,
                                              const liana_shape *row, liana__error *error) LIANA_MUST_USE;
/* Copies `count` values, strings with their bytes. */
liana_status liana__per_replica_fill(liana_per_replica *values, int dtype, void *to, const void *from, size_t count,
                                     liana__error *error) LIANA_MUST_USE;
/* NULL: missing. */
const liana__leaf_component *liana__per_replica_find(const liana_per_replica *values, const char *name,
                                                     const char **nearest);

/* Whether both have the same shards of the same replicas. */
bool liana__per_replica_same_leaves(const liana_per_replica *a, const liana_per_replica *b);

/* The bytes of a value of a component's dtype. */
static inline size_t liana__value_size(int dtype)
{
    return dtype == LIANA_STRING ? sizeof(liana_bytes) : liana_dtype_size((liana_dtype)dtype);
}

#endif
