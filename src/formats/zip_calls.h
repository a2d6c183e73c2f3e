/* zip_calls.h - libzip's functions, from the library that liana__zip_load loads (base/library.h). For zip*.c only. */
#ifndef LIANA_FORMATS_ZIP_CALLS_H
#define LIANA_FORMATS_ZIP_CALLS_H

#include "base/library.h"

#include <zip.h>

/* clang-format off */
#define LIANA__ZIP_NAMES(X) \
    X(zip_close) X(zip_discard) X(zip_error_code_zip) X(zip_error_fini) X(zip_error_init)                         \
    X(zip_error_init_with_code) X(zip_error_set) X(zip_error_strerror) X(zip_error_to_data) X(zip_fclose)         \
    X(zip_fdopen) X(zip_file_add) X(zip_file_get_error) X(zip_file_get_external_attributes)                       \
    X(zip_file_set_dostime) X(zip_fopen_index) X(zip_fread) X(zip_get_error) X(zip_get_num_entries)               \
    X(zip_open_from_source) X(zip_set_file_compression) X(zip_source_buffer) X(zip_source_free)                   \
    X(zip_source_function_create) X(zip_source_seek_compute_offset) X(zip_stat_index)
/* clang-format on */

LIANA__LIBRARY_DECLARE(zip, LIANA__ZIP_NAMES);

#define zip_close liana__zip_library.zip_close
#define zip_discard liana__zip_library.zip_discard
#define zip_error_code_zip liana__zip_library.zip_error_code_zip
#define zip_error_fini liana__zip_library.zip_error_fini
#define zip_error_init liana__zip_library.zip_error_init
#define zip_error_init_with_code liana__zip_library.zip_error_init_with_code
#define zip_error_set liana__zip_library.zip_error_set
#define zip_error_strerror liana__zip_library.zip_error_strerror
#define zip_error_to_data liana__zip_library.zip_error_to_data
#define zip_fclose liana__zip_library.zip_fclose
#define zip_fdopen liana__zip_library.zip_fdopen
#define zip_file_add liana__zip_library.zip_file_add
#define zip_file_get_error liana__zip_library.zip_file_get_error
#define zip_file_get_external_attributes liana__zip_library.zip_file_get_external_attributes
#define zip_file_set_dostime liana__zip_library.zip_file_set_dostime
#define zip_fopen_index liana__zip_library.zip_fopen_index
#define zip_fread liana__zip_library.zip_fread
#define zip_get_error liana__zip_library.zip_get_error
#define zip_get_num_entries liana__zip_library.zip_get_num_entries
#define zip_open_from_source liana__zip_library.zip_open_from_source
#define zip_set_file_compression liana__zip_library.zip_set_file_compression
#define zip_source_buffer liana__zip_library.zip_source_buffer
#define zip_source_free liana__zip_library.zip_source_free
#define zip_source_function_create liana__zip_library.zip_source_function_create
#define zip_source_seek_compute_offset liana__zip_library.zip_source_seek_compute_offset
#define zip_stat_index liana__zip_library.zip_stat_index

/* Loads the library. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__zip_load(liana__error *error) LIANA_MUST_USE;

/* Fails with "'path': 'entry': what (libzip: its reason)"; NULL: it is about no entry. The status follows libzip's
 * code. */
liana_status liana__zip_fail(liana__error *error, const char *path, const char *entry, const char *what,
                             zip_error_t *reason);

#endif
