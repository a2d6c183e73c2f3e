/* slice_map.h - which parts of sums and variables the owners of an update's slices have, as all processes know it. */
#ifndef LIANA_DISTRIBUTE_SLICE_MAP_H
#define LIANA_DISTRIBUTE_SLICE_MAP_H

#include "backends/variables.h"
#include "distribute/cluster/cluster.h"

/* A range of elements of one thing. */
typedef struct liana__slice_part {
    uint64_t thing; /* a sum of the shards, or a place among the plan's variables */
    uint64_t begin, end;
} liana__slice_part;

/* Lists of parts that an owner has. */
typedef enum liana__part_list {
    LIANA__PARTS_OF_SUMS, /* that its update reads, in order */
    LIANA__PARTS_SENT,    /* of variables: their new values go to all */
    LIANA__PARTS_FETCHED, /* those of them that shards read: workers that are not in step fetch no others */
    LIANA__PARTS_HELD,    /* of variables that only their owner keeps */
    LIANA__NUM_PART_LISTS,
} liana__part_list;

typedef struct liana__slice_map {
    liana__slice_part *parts[LIANA__NUM_PART_LISTS];
    size_t counts[LIANA__NUM_PART_LISTS], capacities[LIANA__NUM_PART_LISTS];
} liana__slice_map;

liana_status liana__slice_map_add(liana__slice_map *map, liana__part_list list, liana__slice_part part,
                                  liana__error *error) LIANA_MUST_USE;
void liana__slice_map_free(liana__slice_map *map);

/* Elements of all sums; bytes of all parts of variables in a list. */
size_t liana__slice_map_sums(const liana__slice_map *map);
size_t liana__slice_map_bytes(const liana__slice_map *map, liana__part_list list, const liana__variables *variables);
/* Elements that a list has of one thing. */
size_t liana__slice_map_elements(const liana__slice_map *map, liana__part_list list, size_t thing);

/* All processes tell each other their slices. own[num_slices]: NULL for those that they have not. maps[num_slices] is
 * zeros. Errors: those of the cluster, UNAVAILABLE if nobody has a slice, OUT_OF_MEMORY. */
liana_status liana__slice_maps_gather(liana__cluster *cluster, const liana__slice_map *const *own, size_t num_slices,
                                      liana__slice_map *maps, liana__error *error) LIANA_MUST_USE;

/* "NAME[begin:end]" is a piece of NAME. Copies NAME and sets the range; false: the name is of no piece. */
bool liana__piece_of_name(const char *text, char *name, size_t size, uint64_t *begin, uint64_t *end);

#endif
