/* source.h - sources of examples: files that are opened together, with one number for each record.
 *
 * A source is random-access: `read` takes any index below num_records, on any thread. So only the loader decides the
 * order of the data, and a run can continue anywhere without replaying. Kinds are liana_source_type of <liana/parts.h>.
 * Each is one file in source/ and one row in sources.def. */
#ifndef LIANA_DATA_SOURCE_H
#define LIANA_DATA_SOURCE_H

#include "base/error.h"
#include "base/field.h"
#include "base/file.h"
#include "base/notes.h"
#include "base/part.h"
#include "base/text.h"
#include "data/source/columns.h"
#include "data/source/fingerprint.h"
#include "remote/remote.h"

#include <liana/array.h>
#include <liana/data_parts.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of a file that could not be read, because it is damaged or cannot be opened. */
typedef struct liana__lost {
    const char *file;
    int64_t record; /* the first lost record; 0: the whole file */
    int64_t offset; /* where its bytes begin */
    int64_t bytes;  /* bytes of the file from there on */
    const char *reason;
} liana__lost;

/* Whether the first line of a table has the names of its columns. */
typedef enum liana__header {
    LIANA__HEADER_AUTO, /* if no cell of it is a number */
    LIANA__HEADER_YES,
    LIANA__HEADER_NO, /* the columns are called 0, 1, ... */
} liana__header;

typedef struct liana__source_options {
    /* Its own kinds count too; NULL: only those of sources.def. */
    const liana_context *context;
    /* A name in sources.def, or an own one. NULL or "auto": detected from the files. */
    const char *kind;
    /* The names of tf.Example features, CSV columns or extensions in a WebDataset. NULL: the usual names are tried. */
    const char *image_feature;
    const char *label_feature;
    const char *id_feature;
    /* IDX: the file of labels. NULL: it is looked for in the folder of the images. */
    const char *labels;
    /* Folders and CSV: the names of the classes in the order of their labels; other names are refused. Empty: the names
     * that occur, in byte order. */
    liana__strings class_names;
    /* Labels are names of class_names, which come from other data: numbers would not say which name they mean. */
    bool labels_are_names;
    /* More components, made of columns of CSV files or features of tf.Examples. NULL: none; of a table, each column. */
    const liana__columns *columns;
    /* Leave out those that the data lack: data to predict may have no targets. */
    bool columns_optional;
    liana__header header; /* of tables */
    /* Of CSV files. 0: the delimiter that the name tells; NULL: only an empty cell and the usual texts are missing. */
    char field_delim;
    bool plain_quotes;
    const char *na_value;
    bool or_table; /* CSV files without a column of image files are tables, whatever columns are asked for */
    /* Use only the first `take` records; 0: all. */
    uint64_t take;
    /* Of tables: records of these files, ascending, that means, medians and boundaries of bins leave out. */
    const liana_record_address *held_out;
    size_t num_held_out;
    /* Refuse data without labels at opening. */
    bool need_labels;
    /* Fetches URLs; must outlive the source. NULL: the source makes one for itself, so a kind's `open` always has
     * one. */
    liana__remote *remote;
    /* The name of a data set means its test part, if it names none; else its training part. */
    bool measured;
    /* Hears of data sets that are fetched. NULL: nobody does. */
    const liana__notes *notes;
    /* Treat the data as if they had no labels. */
    bool ignore_labels;
    /* Go on without unreadable parts: files that cannot be opened, and records after damage that hides where records
     * begin. The source lists it as lost. */
    bool skip_damage;
    /* Find the names of features in the first record that can be read, since the first records may be left out
     * later. */
    bool any_first_record;
} liana__source_options;

typedef struct liana__source liana__source;

/* The part that all sources share. A kind's own struct begins with it. */
struct liana__source {
    const liana_source_type *kind;
    bool is_plain; /* the kind's `open` made no source of its own (liana__source_make_plain) but this handle */
    void *handle;
    uint64_t num_records;
    size_t memory; /* bytes used while it is open: its index, and blocks that are kept */
    bool has_labels;
    bool lacks_images; /* its records are values only */
    /* Without labels: the components that its records have instead, and their use. NULL: nothing is known. */
    const char *instead_of_labels;
    /* Further components of its records, after image, label and id, with static shapes. */
    size_t num_components;
    const liana_component *components;
    /* How they are made, with the dtypes and vocabularies that were found: other data are opened with them to get the
     * same components. NULL: nobody asked for them. */
    const liana__columns *columns;
    liana__fingerprint settings; /* the options with which it was opened, as far as records depend on them */
    bool varies;  /* a record differs from epoch to epoch or from position to position: nothing must be kept of it */
    bool streams; /* records have an order of their own: the record at a position is read */
    /* Files and folders in folders of images that are no images, and were left out. */
    uint64_t num_ignored;
    /* Data that are not read though they look as if they should be, as a sentence: image files of kinds that liana
     * does not read. NULL: nothing. */
    const char *left_out;
    liana__remote *remote; /* the local files of its URLs */
    bool owns_remote;
    /* Class names in the order of the labels, if the source knows them (class folders, CSV with class names). */
    liana__strings class_names;
    /* If jumping from record to record is expensive (compressed files): the first record of each block of records that
     * are read together, ascending from 0. NULL: any order is equally good. */
    size_t num_blocks;
    const uint64_t *block_starts;
    /* As in the options: a reader of all records continues after bad ones. */
    bool skip_damage;
    /* With skip_damage: the lost parts. */
    size_t num_lost;
    liana__lost *lost;
};

/* The handle that the kind's functions get. */
static inline void *liana__source_handle(const liana__source *source)
{
    return source->is_plain ? source->handle : (void *)source;
}

/* The number of blocks that a source keeps. A shuffled order draws from this many at a time. */
enum { LIANA__BLOCK_WINDOW = 8 };
/* The number of records that count as a block, for data without blocks among data with blocks. */
enum { LIANA__PLAIN_BLOCK = 256 };

void liana__source_close(liana__source *source);

/* The memory with which a thread reads. NULL: out of memory. */
void *liana__source_scratch_create(const liana__source *source);
void liana__source_scratch_destroy(const liana__source *source, void *scratch);
/* From now on records count for the thread's share, so reading may fail because memory is short just then
 * (base/memory_pool.h). */
void liana__source_scratch_bound(const liana__source *source, void *scratch, liana__memory_share *share);
/* Bytes that it has now. */
size_t liana__source_scratch_bytes(const liana__source *source, const void *scratch);

/* Announces that a record will be read soon. */
void liana__source_expect(const liana__source *source, uint64_t index);

/* Call the kind's functions of these names, or do without them. The record has index, scratch and
 * error. */
liana_status liana__source_read_record(const liana__source *source, liana_source_record *record) LIANA_MUST_USE;
liana_record_address liana__source_local_address(const liana__source *source, uint64_t index);
void liana__source_visit_files(const liana__source *source, liana_file_visitor *visit, void *user);

/* Reads record `index` in [0, num_records). On any number of threads, each with a scratch of its own. */
liana_status liana__source_read(const liana__source *source, uint64_t index, void *scratch, liana_source_record *record,
                                liana__error *error) LIANA_MUST_USE;
/* The same for address->record, as it is in that epoch at that position. */
liana_status liana__source_read_at(const liana__source *source, const liana_example_address *address, void *scratch,
                                   liana_source_record *record, liana__error *error) LIANA_MUST_USE;
liana_record_address liana__source_address(const liana__source *source, uint64_t index);
/* The offset of a record in its file; -1: not known. */
int64_t liana__source_offset(const liana__source *source, uint64_t index);

/* Whether an error is the record's, so that a reader may leave the record out; and not the machine's or liana's. */
bool liana__source_is_bad_record(liana_status status);

/* For a kind: notes the lost part of a file. Strings are copied into the arena, which must live as long as the source.
 * Errors: OUT_OF_MEMORY. */
liana_status liana__source_add_lost(liana__source *source, liana__arena *arena, const liana__lost *lost,
                                    liana__error *error) LIANA_MUST_USE;
/* The same for a whole file, if the source goes on without it and `why` is the file's fault. Otherwise `why` is the
 * error, and its status is returned. */
liana_status liana__source_lose_file(liana__source *source, liana__arena *arena, const char *file,
                                     const liana__error *why, liana__error *error) LIANA_MUST_USE;
/* For a kind's `open`: makes its struct of `size` bytes, zeros, which begins with the source and is its handle. If
 * opening fails, it is closed. NULL: out of memory. */
void *liana__source_make(liana_source_opening *opening, size_t size);

/* For an `open` that fills in the opening: makes the source. The components are checked, since the loader relies on
 * them. Errors: INVALID_ARGUMENT (wrong components), OUT_OF_MEMORY; the handle stays the caller's then. */
liana_status liana__source_make_plain(const liana_source_opening *opening, liana__source **source, liana__error *error)
    LIANA_MUST_USE;
/* The failure of such an `open`: its message, else the status's text. */
liana_status liana__source_fail_opening(const liana_source_type *kind, const char *file, liana_status status,
                                        const char *message, liana__error *error);

/* A record's id for messages, in `text` of at least 81 bytes: cut if long, with characters replaced that could disturb
 * a terminal. NULL: the record has none. */
const char *liana__source_id(const liana_source_record *record, char *text, size_t size);

/* Puts "'FILE', record N (id 'ID'): " before the message of an error about a record that was read. Returns its
 * status. */
liana_status liana__source_fail_within(const liana__source *source, uint64_t index, const liana_source_record *record,
                                       liana__error *error);

/* The record's label plus `offset`, which must be in [0, num_classes) (num_classes 0: in [0, 2^31)). Errors, with file,
 * record and id: OUT_OF_RANGE, INVALID_DATA (no label). */
liana_status liana__source_label(const liana__source *source, uint64_t index, const liana_source_record *record,
                                 int64_t offset, int64_t num_classes, int32_t *label, liana__error *error)
    LIANA_MUST_USE;

/* The largest number of classes. More are a mistake in the labels. */
enum { LIANA__MAX_CLASSES = 1000000 };

/* Reads the labels of all records: labels[num_records]. With the source's skip_damage a bad record has label -1.
 * Errors: those of reading and of liana__source_label. */
liana_status liana__source_labels(const liana__source *source, int64_t offset, int64_t num_classes, int32_t *labels,
                                  liana__error *error) LIANA_MUST_USE;

/* Reads all records (with skip_damage, those that can be read). The number of classes is the largest label plus
 * `offset` plus one. `seen` [LIANA__MAX_CLASSES] (may be NULL) becomes true for each class that occurs. Errors: those
 * of reading and of liana__source_label, with LIANA__MAX_CLASSES. */
liana_status liana__source_count_classes(const liana__source *source, int64_t offset, int64_t *num_classes, bool *seen,
                                         liana__error *error) LIANA_MUST_USE;

/* The same for `seen` [num_classes], without reading any record. False: the source cannot tell. */
bool liana__source_known_classes(const liana__source *source, int64_t offset, int64_t num_classes, bool *seen);

/* Adds all files of a source, remote ones by their server's name for their state. */
void liana__source_fingerprint(const liana__source *source, liana__fingerprint *settings, liana__fingerprint *sources);

#define LIANA__SOURCE(stem, name) extern const liana_source_type liana__source_##name;
#include "data/sources.def"
#undef LIANA__SOURCE

#endif
