/* image_files.h - a list of image files, shared by the sources whose records are files. */
#ifndef LIANA_DATA_IMAGE_FILES_H
#define LIANA_DATA_IMAGE_FILES_H

#include "data/source/source.h"

typedef struct liana__image_file {
    const char *path;  /* NULL: a row of a table, which has no image */
    const char *id;    /* NULL: none */
    bool names_itself; /* the data give the id, which is not changed */
    int64_t label;     /* -1: none */
    /* Why the record cannot be used, for any file: the error of reading it. */
    const char *reason; /* NULL: no reason */
    liana_status status;
} liana__image_file;

/* Strings are in the arena. Zero-initialise; free with liana__image_files_free. */
typedef struct liana__image_files {
    liana__arena arena;
    liana__image_file *items;
    size_t count;
    size_t capacity;
    size_t num_unlabelled;         /* of those without a reason */
    liana__file_version *versions; /* of the files; a size of -1: not known. NULL: of none */
} liana__image_files;

/* Whether the records count as labelled: all that can be used, or with skip_damage some (the others are then bad). */
bool liana__image_files_labelled(const liana__image_files *files, bool skip_damage);

/* Adds a file. Path and id must be in the arena, or outlive the list. Errors: OUT_OF_MEMORY. */
liana_status liana__image_files_add(liana__image_files *files, const liana__image_file *file, liana__error *error)
    LIANA_MUST_USE;

/* Makes equal ids of different files longer, by one folder at a time from the end of the paths, until they differ:
 * "a/1.jpg" and "b/1.jpg" for "1.jpg". Ids that the data give are not changed. Errors: OUT_OF_MEMORY. */
liana_status liana__image_files_distinguish(liana__image_files *files, liana__error *error) LIANA_MUST_USE;

/* Bytes of memory of the list. */
size_t liana__image_files_memory(const liana__image_files *files);

/* Fetches all files whose paths are URLs, together. With skip_damage, a missing one fails when it is read. Otherwise it
 * is an error here, and *failed is its number (SIZE_MAX: no file is the cause). Errors: those of liana__remote_files,
 * and of missing files. */
liana_status liana__image_files_fetch(liana__image_files *files, const liana__source_options *options, size_t *failed,
                                      liana__error *error) LIANA_MUST_USE;

/* Notes the versions of the local files, once all are added: a file that is exchanged or written to later is not read.
 * (Files of servers are copies, whose versions src/remote knows.) Errors: OUT_OF_MEMORY. */
liana_status liana__image_files_note_versions(liana__image_files *files, liana__error *error) LIANA_MUST_USE;

/* Reads a file's bytes into the scratch, a liana__file_buffer of one thread. The record's id and label are set before
 * that. Errors: those of liana__file_read_again. */
liana_status liana__image_files_read(const liana__image_files *files, uint64_t index, void *scratch,
                                     liana_source_record *record, liana__error *error) LIANA_MUST_USE;
/* Asks the system to fetch the file, which will be read soon. */
void liana__image_files_expect(const liana__image_files *files, uint64_t index);

/* For a kind's visit_files: the first `count` files. */
void liana__image_files_visit(const liana__image_files *files, uint64_t count,
                              void (*visit)(void *user, const char *path, const char *name, bool labels), void *user);

void liana__image_files_free(liana__image_files *files);

#endif
