/* hdf5_classic.h - the parts of the reader of classic HDF5 files. For hdf5_classic*.c only.
 *
 * It reads the layout that HDF5 has written since 1998, and still writes by default. Nothing in these files has a
 * checksum, and libhdf5 1.10 overruns its buffers if their structure is damaged.
 *
 * Written from "HDF5 File Format Specification Version 3.0" (support.hdfgroup.org); the section numbers in the code are
 * its own. Every address, size and count comes from the file and is checked against the file before it is used. */
#ifndef LIANA_FORMATS_HDF5_CLASSIC_H
#define LIANA_FORMATS_HDF5_CLASSIC_H

#include "formats/hdf5/hdf5_internal.h"

/* Bytes of the file. */
typedef struct liana__span {
    const uint8_t *data;
    size_t size;
} liana__span;

struct liana__hdf5_tree {
    liana__hdf5_node root;
    liana__span file;
    /* Links and nodes that may still be listed. A tree that goes round has no end, and links may make it as wide as
     * they like. */
    size_t steps_left;
    char *bytes;       /* the file's, malloc'ed: a copy, since others may write to the file while it is read */
    bool is_rewritten; /* by libhdf5 */
};

/* An address that says "nowhere". */
#define LIANA__CLASSIC_UNDEFINED UINT64_MAX

/* The `size` bytes at an address; false if they are not all in the file. */
bool liana__classic_at(const liana__hdf5_tree *file, uint64_t address, uint64_t size, liana__span *span);
/* The `size` bytes at an offset of a span; false if they are not all in it. */
bool liana__span_at(liana__span span, uint64_t offset, uint64_t size, liana__span *part);
/* A little-endian number of 1 to 8 bytes. */
uint64_t liana__span_number(const uint8_t *bytes, int size);
/* DATA_LOSS: "the file is damaged: `what`". */
liana_status liana__classic_damaged(liana__error *error, const char *what);

/* The kinds of header messages that matter here (IV.A.2). */
typedef enum liana__message_kind {
    LIANA__MESSAGE_SPACE = 0x01,
    LIANA__MESSAGE_LINKS = 0x02, /* of a group in a newer layout */
    LIANA__MESSAGE_TYPE = 0x03,
    LIANA__MESSAGE_EXTERNAL = 0x07,
    LIANA__MESSAGE_LAYOUT = 0x08,
    LIANA__MESSAGE_FILTERS = 0x0b,
    LIANA__MESSAGE_ATTRIBUTE = 0x0c,
    LIANA__MESSAGE_CONTINUATION = 0x10,
    LIANA__MESSAGE_TABLE = 0x11,
} liana__message_kind;

/* Takes one message of an object header; sets *done to end the walk. */
typedef liana_status (*liana__take_message)(void *user, int kind, liana__span body, bool *done, liana__error *error);
liana_status liana__classic_walk(const liana__hdf5_tree *file, uint64_t header, liana__take_message take, void *user,
                                 liana__error *error) LIANA_MUST_USE;
/* The first message of a kind; *found may be NULL: then it must be there. */
liana_status liana__classic_message(const liana__hdf5_tree *file, uint64_t header, int kind, liana__span *body,
                                    bool *found, liana__error *error) LIANA_MUST_USE;

typedef struct liana__classic_shape {
    int rank;
    uint64_t dims[32]; /* the format's limit */
    uint64_t count;    /* elements */
} liana__classic_shape;
liana_status liana__classic_shape_of(liana__span body, liana__classic_shape *shape, liana__error *error) LIANA_MUST_USE;

typedef enum liana__classic_class {
    LIANA__CLASSIC_INTEGER = 0,
    LIANA__CLASSIC_FLOAT = 1,
    LIANA__CLASSIC_TEXT = 3,
    LIANA__CLASSIC_OPAQUE = 5,
    LIANA__CLASSIC_VARIABLE = 9,
} liana__classic_class;

typedef struct liana__classic_type {
    int kind; /* a liana__classic_class, or another that is not read */
    size_t size;
    bool big_endian;
    bool is_signed;    /* INTEGER */
    bool space_padded; /* TEXT */
    bool of_text;      /* VARIABLE */
    bool is_bfloat16;  /* h5py writes these as OPAQUE, and Keras gives the dataset an attribute that says so */
    const char *name;  /* "float32", ...; NULL for other kinds of numbers, and for types that are no numbers */
} liana__classic_type;
liana_status liana__classic_type_of(liana__span body, liana__classic_type *type, liana__error *error) LIANA_MUST_USE;

/* Whether a node is a group. */
liana_status liana__classic_is_group(const liana__hdf5_tree *file, uint64_t header, bool *is_group, liana__error *error)
    LIANA_MUST_USE;

#endif
