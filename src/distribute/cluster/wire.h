/* wire.h - slices of sums as messages: in float32, or gradients in bfloat16.
 *
 * In bfloat16 each gradient of a block is rounded to nearest even, once, whether or not it travels: an owner does the
 * same with its own blocks. So the sums depend on the blocks, and not on their owners. Statistics stay float32. */
#ifndef LIANA_DISTRIBUTE_WIRE_H
#define LIANA_DISTRIBUTE_WIRE_H

#include "distribute/cluster/slice_map.h"

typedef enum liana__wire_kind {
    LIANA__WIRE_FLOAT32,
    LIANA__WIRE_BFLOAT16,
} liana__wire_kind;

/* By liana__wire_kind, NULL-terminated. */
extern const char *const liana__wire_names[];

/* How the sums of a training are sent. Zero: all in float32. */
typedef struct liana__wire_format {
    liana__wire_kind wire;
    bool (*is_gradient)(void *user, size_t sum); /* others stay float32; NULL: all are gradients */
    void *user;
} liana__wire_format;

/* Bytes of an owner's slice of a block; of a part of it. */
size_t liana__wire_size(const liana__wire_format *format, const liana__slice_map *map);
size_t liana__wire_part_size(const liana__wire_format *format, const liana__slice_part *part);
/* Whether sums are sent from where they lie; else they are packed. */
bool liana__wire_is_plain(const liana__wire_format *format);
/* Writes a part of the sum at `sum` as it is sent, and returns the end of it. */
char *liana__wire_pack_part(const liana__wire_format *format, const liana__slice_part *part, const float *sum,
                            char *to);
/* One part of a message, at *from, which goes on to the next one: its floats, in the message or widened into `room`. */
const float *liana__wire_read_part(const liana__wire_format *format, const liana__slice_part *part, const char **from,
                                   float *room);
/* The floats of a part as its receiver would read them: the floats themselves, or in `room`. */
const float *liana__wire_round_part(const liana__wire_format *format, const liana__slice_part *part,
                                    const float *floats, float *room);
/* An owner's slice of a block, whose sum s begins at offsets[s]. */
void liana__wire_pack(const liana__wire_format *format, const liana__slice_map *map, const size_t *offsets,
                      const float *block, void *message);

#endif
