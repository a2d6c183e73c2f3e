/* scan.h - a scan reads whole data sets and finds their errors.
 *
 * Every record is read, its checksum verified, its label checked, its image decoded and hashed. Images with equal
 * hashes are compared byte by byte. All threads of a pool read records; findings are in the order of the data. A record
 * takes 32 bytes of memory; each thread holds one image. */
#ifndef LIANA_DATA_SCAN_H
#define LIANA_DATA_SCAN_H

#include "base/threads.h"
#include "data/check/bad_records.h"
#include "data/source/source.h"

enum { LIANA__SCAN_MAX_PARTS = 8 };

/* One of several data sets that belong together. Parts are in this order: first those for training, then those for
 * measuring. */
typedef struct liana__scan_part {
    const char *name;
    liana__source *source;
    bool needs_labels; /* a record without a label is bad; false: labels are not read */
} liana__scan_part;

typedef enum liana__finding_kind {
    LIANA__FINDING_BAD,       /* a record that cannot be used: unreadable, undecodable, a wrong label */
    LIANA__FINDING_LOST,      /* (part of) a file that cannot be read */
    LIANA__FINDING_OVERLAP,   /* the image is also in a later part, which would then measure learnt images */
    LIANA__FINDING_CONFLICT,  /* the same image has another label elsewhere */
    LIANA__FINDING_DUPLICATE, /* the same image and label came before in this part (a warning) */
    LIANA__NUM_FINDINGS,
} liana__finding_kind;

extern const char *const liana__finding_names[LIANA__NUM_FINDINGS];

typedef struct liana__finding {
    liana__finding_kind kind;
    size_t part;
    liana__bad_record record;
} liana__finding;

/* The contents of a part. Sizes are those of the images that could be decoded; 0: none. */
typedef struct liana__scan_summary {
    uint64_t num_records;
    uint64_t counts[LIANA__NUM_FINDINGS];
    int64_t lost_bytes;
    int64_t min_height, max_height, min_width, max_width;
    int64_t *labels; /* [num_classes] number of records of each class */
} liana__scan_summary;

typedef struct liana__scan_result {
    liana__arena arena; /* holds texts and counts; names of files and parts are borrowed from the parts */
    liana__scan_summary parts[LIANA__SCAN_MAX_PARTS];
    int64_t num_classes;      /* as given, or one more than the largest label */
    liana__finding *findings; /* by kind, part, file and record */
    size_t num_findings;
} liana__scan_result;

typedef struct liana__scan_options {
    liana__pool *pool;
    int64_t label_offset;
    int64_t num_classes; /* 0: not known; any label from 0 on is correct */
    /* Called from time to time, on the caller's thread. False stops the scan. May be NULL. */
    bool (*on_progress)(void *user, uint64_t done, uint64_t total);
    void *user;
} liana__scan_options;

/* Scans parts. Findings are not errors. Free the result in any case. Errors: CANCELLED, OUT_OF_MEMORY, INVALID_ARGUMENT
 * (too many parts). */
liana_status liana__scan(const liana__scan_part *parts, size_t num_parts, const liana__scan_options *options,
                         liana__scan_result *result, liana__error *error) LIANA_MUST_USE;
void liana__scan_free(liana__scan_result *result);

/* Whether a finding is an error in the data; other findings are warnings. */
bool liana__finding_is_wrong(liana__finding_kind kind);

/* Adds to a list the records that a run should leave out: all bad records, images that a later part also has, and all
 * copies of images with contradicting labels. */
liana_status liana__scan_quarantine(const liana__scan_result *result, liana__bad_records *list, liana__error *error)
    LIANA_MUST_USE;

#endif
