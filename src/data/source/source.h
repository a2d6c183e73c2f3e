/* source.h - where examples come from: files opened together and addressed by one number.
 *
 * A source is random-access: `read` takes any index below num_records, from any thread. So the order of the data is
 * the loader's affair alone, and a run can continue anywhere without replaying what came before. A kind of source is
 * one file in source/ and one row in sources.def. */
#ifndef LIANA_DATA_SOURCE_H
#define LIANA_DATA_SOURCE_H

#include "base/error.h"
#include "base/field.h"
#include "base/file.h"
#include "base/text.h"
#include "data/source/fingerprint.h"
#include "remote/remote.h"

#include <liana/augment.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One record as it is stored. All pointers are borrowed from the source or the scratch, until the next read with the
 * same scratch. */
typedef struct liana__record {
    /* An encoded image, or NULL ... */
    const uint8_t *bytes;
    size_t size;
    /* ... and then pixels [height, width, channels]. */
    const uint8_t *pixels;
    int64_t height;
    int64_t width;
    int channels;
    bool has_label;
    int64_t label;  /* as stored: no offset, no check */
    const char *id; /* not NUL-terminated; NULL if there is none */
    size_t id_size;
} liana__record;

/* Where a record lies: a file, and the record in it from 0, or -1 where the file is the record. */
typedef struct liana__record_address {
    const char *file;
    int64_t record;
} liana__record_address;

/* What of a file could not be read, because it is damaged or cannot be opened. */
typedef struct liana__lost {
    const char *file;
    int64_t record; /* the first one that is lost; 0: all of the file */
    int64_t offset; /* where its bytes begin */
    int64_t bytes;  /* of the file, from there on */
    const char *reason;
} liana__lost;

typedef struct liana__source_options {
    /* A name of sources.def; NULL or "auto" finds it by looking at the files. */
    const char *kind;
    /* The names of tf.Example features, CSV columns or extensions in a WebDataset; NULL looks for the usual ones. */
    const char *image_feature;
    const char *label_feature;
    const char *id_feature;
    /* IDX: the file of labels; NULL looks for it beside the file of images. */
    const char *labels;
    /* Folders and CSV: the names of the classes in the order of their labels, which any name must be one of; empty
     * takes those that occur, in byte order. */
    liana__strings class_names;
    /* Labels are among class_names, which other data have: numbers do not say which of them they mean. */
    bool labels_are_names;
    /* Only the first so many records; 0: all. */
    uint64_t take;
    /* Refuse data without labels when it is opened. */
    bool need_labels;
    /* Where URLs are fetched to; NULL: the source makes one for itself, so a kind's `open` always has one. Must outlive
     * the source. */
    liana__remote *remote;
    /* Take the data as if they had no labels, whatever these are and whatever class folders are called. */
    bool ignore_labels;
    /* Go on without what cannot be read: files that cannot be opened, and what lies behind damage that hides where
     * records begin. The source lists it as lost. */
    bool skip_damage;
    /* Look for the features' names in the first record that can be read: the first ones may be left out later. */
    bool any_first_record;
} liana__source_options;

typedef struct liana__source liana__source;

/* A kind of source. Every function but `recognises` gets what open returned. */
typedef struct liana__source_kind {
    const char *name;
    const char *doc; /* one sentence */
    /* Whether a file of this path that starts with these bytes is one of this kind's. */
    bool (*recognises)(const char *path, const uint8_t *head, size_t head_size);
    /* Whether `open` takes folders as they are; otherwise it is given the files in them that it recognises. */
    bool takes_folders;
    /* Whether its files are only taken where they are named themselves: a list lies beside what it lists, and is not
     * meant where their folder is named. */
    bool named_only;
    /* Opens files (or folders) in the given order; paths and options are not kept. Errors name the file. */
    liana_status (*open)(const liana__paths *paths, const liana__source_options *options, liana__source **source,
                         liana__error *error);
    void (*close)(liana__source *source);
    /* Errors name the file and the record. */
    liana_status (*read)(const liana__source *source, uint64_t index, void *scratch, liana__record *record,
                         liana__error *error);
    /* The same record as it is in an epoch at a position; NULL: as always. */
    liana_status (*read_at)(const liana__source *source, const liana_example_address *address, void *scratch,
                            liana__record *record, liana__error *error);
    liana__record_address (*address)(const liana__source *source, uint64_t index);
    /* Calls `visit` for each file that is read beside those that addresses name with a record: files that are examples,
     * or hold labels. `name` is the path below the folder that was named; `labels` says that it holds these. NULL:
     * there are none. */
    void (*visit_files)(const liana__source *source,
                        void (*visit)(void *user, const char *path, const char *name, bool labels), void *user);
    /* The label of a record as it is stored, -1 if it has none. NULL: only reading tells. */
    int64_t (*known_label)(const liana__source *source, uint64_t index);
    /* Where the record begins in its file; NULL where that has no meaning. */
    int64_t (*offset)(const liana__source *source, uint64_t index);
    /* Tells the system that the record will be read soon, so that it comes from the disk meanwhile; NULL: needless. */
    void (*expect)(const liana__source *source, uint64_t index);
    /* While nobody reads: says that positions will be read from this one on, by several threads, so that another may be
     * the first that is asked for. NULL: no matter. */
    void (*begin)(const liana__source *source, uint64_t position);
    /* What one thread needs to read, zeroed before its first use; 0 where that is nothing. It begins with so many
     * liana__file_buffers, which are freed and bounded for the kind. */
    size_t scratch_size;
    size_t num_buffers;
    /* For what else is in it; NULL where that is nothing. Bounding it ties what it takes to the thread's share. */
    void (*scratch_free)(void *scratch);
    size_t (*scratch_bytes)(const void *scratch);
    void (*scratch_bound)(void *scratch, liana__memory_share *share);
    /* Before anything is read: so many bytes are for elements made ahead or kept, beside `memory`. NULL: it has none.
     */
    void (*take_memory)(const liana__source *source, size_t bytes);
} liana__source_kind;

/* The part that all sources share; a kind's own struct starts with it. */
struct liana__source {
    const liana__source_kind *kind;
    uint64_t num_records;
    size_t memory; /* bytes that it takes as long as it is open: its index, and the blocks of it that are kept */
    bool has_labels;
    liana__fingerprint settings; /* the options that it was opened with, as far as records depend on them */
    bool varies;  /* a record is something else in another epoch or at another position: nothing is to be kept of it */
    bool streams; /* records come in their own order: what is read is that of the position */
    /* What lies in the folders of images and is none: files and folders that were left out. */
    uint64_t num_ignored;
    liana__remote *remote; /* where its URLs are local files */
    bool owns_remote;
    /* Where the source knows them (class folders, CSV with class names): names in the order of the labels. */
    liana__strings class_names;
    /* Where it costs much to jump from record to record (compressed files): the first record of each block of records
     * that are read together, ascending from 0. NULL: any order is as good. */
    size_t num_blocks;
    const uint64_t *block_starts;
    /* As it was opened: whoever reads all records goes on past bad ones. */
    bool skip_damage;
    /* With skip_damage: what is missing. */
    size_t num_lost;
    liana__lost *lost;
};

/* How many blocks a source keeps at hand; a shuffled order draws from so many at a time. */
enum { LIANA__BLOCK_WINDOW = 8 };
/* Records that count as a block where there are none, among data that have them. */
enum { LIANA__PLAIN_BLOCK = 256 };

/* How much of a file `recognises` is shown. */
enum { LIANA__SOURCE_HEAD = 64 };

/* Opens what `patterns` (shell patterns, files, folders, also as URLs: remote/remote.h) match, in the order of the list
 * and in byte order below it. Errors: NOT_FOUND (nothing matches), INVALID_CONFIG (an unknown kind), INVALID_DATA (no
 * kind fits, or several do; no records; no labels where they are needed), and those of the kind. */
liana_status liana__source_open(const char *const *patterns, size_t num_patterns, const liana__source_options *options,
                                liana__source **source, liana__error *error) LIANA_MUST_USE;
void liana__source_close(liana__source *source);

/* What a thread reads with. NULL if out of memory. */
void *liana__source_scratch_create(const liana__source *source);
void liana__source_scratch_destroy(const liana__source *source, void *scratch);
/* From now on records come out of the thread's share, so that reading may fail because memory is short just then
 * (base/memory_pool.h). */
void liana__source_scratch_bound(const liana__source *source, void *scratch, liana__memory_share *share);
/* Bytes that it has grown to. */
size_t liana__source_scratch_bytes(const liana__source *source, const void *scratch);

/* Says that a record will be read soon. */
void liana__source_expect(const liana__source *source, uint64_t index);

/* Reads record `index` in [0, num_records). Any number of threads, each with a scratch of its own. */
liana_status liana__source_read(const liana__source *source, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error) LIANA_MUST_USE;
/* The same for address->record, as it is in that epoch at that position. */
liana_status liana__source_read_at(const liana__source *source, const liana_example_address *address, void *scratch,
                                   liana__record *record, liana__error *error) LIANA_MUST_USE;
liana__record_address liana__source_address(const liana__source *source, uint64_t index);
/* The offset of a record in its file; -1 where that is not known. */
int64_t liana__source_offset(const liana__source *source, uint64_t index);

/* Whether an error is one of the record that was read, which a reader may leave out, and not of the machine or of
 * liana. */
bool liana__source_is_bad_record(liana_status status);

/* For a kind: notes what of a file is missing. Strings are copied into the arena, which must live as long as the
 * source. Errors: OUT_OF_MEMORY. */
liana_status liana__source_add_lost(liana__source *source, liana__arena *arena, const liana__lost *lost,
                                    liana__error *error) LIANA_MUST_USE;
/* The same for a whole file, if the source goes on without it and `why` is a matter of the file; else `why` is the
 * error and its status is returned. */
liana_status liana__source_lose_file(liana__source *source, liana__arena *arena, const char *file, bool skip_damage,
                                     const liana__error *why, liana__error *error) LIANA_MUST_USE;
/* For a kind's `open`: gives the source out, or closes it and hands the status on. */
liana_status liana__source_finish(liana__source *source, liana_status status, liana__source **out) LIANA_MUST_USE;

/* A record's id for people, in `text` of 81 bytes or more: cut if long, with what could upset a terminal replaced. NULL
 * if the record has none. */
const char *liana__source_id(const liana__record *record, char *text, size_t size);

/* Puts "'FILE', record N (id 'ID'): " before the message of an error about a record that was read. Returns its
 * status. */
liana_status liana__source_fail_within(const liana__source *source, uint64_t index, const liana__record *record,
                                       liana__error *error);

/* The record's label plus `offset`, which must lie in [0, num_classes) (num_classes 0: in [0, 2^31)).
 * Errors: OUT_OF_RANGE, INVALID_DATA (no label); they name file, record and id. */
liana_status liana__source_label(const liana__source *source, uint64_t index, const liana__record *record,
                                 int64_t offset, int64_t num_classes, int32_t *label, liana__error *error)
    LIANA_MUST_USE;

/* More classes than this are a mistake in the labels. */
enum { LIANA__MAX_CLASSES = 1000000 };

/* Reads all records and gives the largest label plus `offset` plus one: the number of classes, where nothing else says
 * it. With skip_damage, of those that can be read. `seen` [LIANA__MAX_CLASSES], NULL if not wanted, becomes true for
 * each class that occurs. Errors: those of reading and of liana__source_label, with
 * LIANA__MAX_CLASSES. */
liana_status liana__source_count_classes(const liana__source *source, int64_t offset, int64_t *num_classes, bool *seen,
                                         liana__error *error) LIANA_MUST_USE;

/* The same of `seen` [num_classes], without reading any record; false if the source cannot tell. */
bool liana__source_known_classes(const liana__source *source, int64_t offset, int64_t num_classes, bool *seen);

#define LIANA__SOURCE(stem, name) extern const liana__source_kind liana__source_##name;
#include "data/sources.def"
#undef LIANA__SOURCE

#endif
