/* hdf5_calls.h - libhdf5's functions, from the library that liana__hdf5_load loads (base/library.h), and its error
 * messages. For hdf5*.c only. */
#ifndef LIANA_FORMATS_HDF5_CALLS_H
#define LIANA_FORMATS_HDF5_CALLS_H

#include "base/library.h"

#include <hdf5.h>

/* clang-format off */
#define LIANA__HDF5_NAMES(X) \
    X(H5Aclose) X(H5Acreate2) X(H5Aexists) X(H5Aget_name) X(H5Aget_num_attrs) X(H5Aget_space) X(H5Aget_type)    \
    X(H5Aopen) X(H5Aopen_by_idx) X(H5Aread) X(H5Awrite) X(H5Dclose) X(H5Dcreate2) X(H5Dget_create_plist)        \
    X(H5Dget_space) X(H5Dget_type) X(H5Dread) X(H5Dvlen_reclaim) X(H5Dwrite) X(H5Eclear2) X(H5Eget_auto2)       \
    X(H5Eset_auto2) X(H5Ewalk2) X(H5Fclose) X(H5Fcreate) X(H5Fflush) X(H5Fget_file_image) X(H5Fget_vfd_handle)  \
    X(H5Fopen) X(H5Gclose) X(H5Gcreate2) X(H5Gget_info) X(H5Iget_type) X(H5Lget_name_by_idx) X(H5Oclose)        \
    X(H5Oopen) X(H5PLset_loading_state) X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_FILE_ACCESS_ID_g)              \
    X(H5P_CLS_GROUP_CREATE_ID_g) X(H5P_CLS_LINK_ACCESS_ID_g) X(H5P_CLS_LINK_CREATE_ID_g) X(H5Pclose)            \
    X(H5Pcreate) X(H5Pget_external_count) X(H5Pget_layout) X(H5Pset_create_intermediate_group)                  \
    X(H5Pset_elink_cb) X(H5Pset_fapl_core) X(H5Pset_fclose_degree) X(H5Pset_file_image)                         \
    X(H5Pset_file_image_callbacks) X(H5Pset_obj_track_times) X(H5Sclose) X(H5Screate) X(H5Screate_simple)       \
    X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_npoints) X(H5Sget_simple_extent_type) X(H5Sis_simple)   \
    X(H5T_C_S1_g) X(H5T_IEEE_F32LE_g) X(H5T_IEEE_F64LE_g) X(H5T_STD_I16LE_g) X(H5T_STD_I32LE_g)                 \
    X(H5T_STD_I64LE_g) X(H5T_STD_I8LE_g) X(H5T_STD_U16LE_g) X(H5T_STD_U32LE_g) X(H5T_STD_U64LE_g)               \
    X(H5T_STD_U8LE_g) X(H5Tclose) X(H5Tcopy) X(H5Tcreate) X(H5Tget_class) X(H5Tget_sign) X(H5Tget_size)         \
    X(H5Tget_strpad) X(H5Tis_variable_str) X(H5Tset_cset) X(H5Tset_ebias) X(H5Tset_fields) X(H5Tset_size)       \
    X(H5Tset_strpad) X(H5check_version) X(H5open)
/* clang-format on */

LIANA__LIBRARY_DECLARE(hdf5, LIANA__HDF5_NAMES);

#define H5Aclose liana__hdf5_library.H5Aclose
#define H5Acreate2 liana__hdf5_library.H5Acreate2
#define H5Aexists liana__hdf5_library.H5Aexists
#define H5Aget_name liana__hdf5_library.H5Aget_name
#define H5Aget_num_attrs liana__hdf5_library.H5Aget_num_attrs
#define H5Aget_space liana__hdf5_library.H5Aget_space
#define H5Aget_type liana__hdf5_library.H5Aget_type
#define H5Aopen liana__hdf5_library.H5Aopen
#define H5Aopen_by_idx liana__hdf5_library.H5Aopen_by_idx
#define H5Aread liana__hdf5_library.H5Aread
#define H5Awrite liana__hdf5_library.H5Awrite
#define H5Dclose liana__hdf5_library.H5Dclose
#define H5Dcreate2 liana__hdf5_library.H5Dcreate2
#define H5Dget_create_plist liana__hdf5_library.H5Dget_create_plist
#define H5Dget_space liana__hdf5_library.H5Dget_space
#define H5Dget_type liana__hdf5_library.H5Dget_type
#define H5Dread liana__hdf5_library.H5Dread
#define H5Dvlen_reclaim liana__hdf5_library.H5Dvlen_reclaim
#define H5Dwrite liana__hdf5_library.H5Dwrite
#define H5Eclear2 liana__hdf5_library.H5Eclear2
#define H5Eget_auto2 liana__hdf5_library.H5Eget_auto2
#define H5Eset_auto2 liana__hdf5_library.H5Eset_auto2
#define H5Ewalk2 liana__hdf5_library.H5Ewalk2
#define H5Fclose liana__hdf5_library.H5Fclose
#define H5Fcreate liana__hdf5_library.H5Fcreate
#define H5Fflush liana__hdf5_library.H5Fflush
#define H5Fget_file_image liana__hdf5_library.H5Fget_file_image
#define H5Fget_vfd_handle liana__hdf5_library.H5Fget_vfd_handle
#define H5Fopen liana__hdf5_library.H5Fopen
#define H5Gclose liana__hdf5_library.H5Gclose
#define H5Gcreate2 liana__hdf5_library.H5Gcreate2
#define H5Gget_info liana__hdf5_library.H5Gget_info
#define H5Iget_type liana__hdf5_library.H5Iget_type
#define H5Lget_name_by_idx liana__hdf5_library.H5Lget_name_by_idx
#define H5Oclose liana__hdf5_library.H5Oclose
#define H5Oopen liana__hdf5_library.H5Oopen
#define H5PLset_loading_state liana__hdf5_library.H5PLset_loading_state
#define H5Pclose liana__hdf5_library.H5Pclose
#define H5Pcreate liana__hdf5_library.H5Pcreate
#define H5Pget_external_count liana__hdf5_library.H5Pget_external_count
#define H5Pget_layout liana__hdf5_library.H5Pget_layout
#define H5Pset_create_intermediate_group liana__hdf5_library.H5Pset_create_intermediate_group
#define H5Pset_elink_cb liana__hdf5_library.H5Pset_elink_cb
#define H5Pset_fapl_core liana__hdf5_library.H5Pset_fapl_core
#define H5Pset_fclose_degree liana__hdf5_library.H5Pset_fclose_degree
#define H5Pset_file_image liana__hdf5_library.H5Pset_file_image
#define H5Pset_file_image_callbacks liana__hdf5_library.H5Pset_file_image_callbacks
#define H5Pset_obj_track_times liana__hdf5_library.H5Pset_obj_track_times
#define H5Sclose liana__hdf5_library.H5Sclose
#define H5Screate liana__hdf5_library.H5Screate
#define H5Screate_simple liana__hdf5_library.H5Screate_simple
#define H5Sget_simple_extent_dims liana__hdf5_library.H5Sget_simple_extent_dims
#define H5Sget_simple_extent_npoints liana__hdf5_library.H5Sget_simple_extent_npoints
#define H5Sget_simple_extent_type liana__hdf5_library.H5Sget_simple_extent_type
#define H5Sis_simple liana__hdf5_library.H5Sis_simple
#define H5Tclose liana__hdf5_library.H5Tclose
#define H5Tcopy liana__hdf5_library.H5Tcopy
#define H5Tcreate liana__hdf5_library.H5Tcreate
#define H5Tget_class liana__hdf5_library.H5Tget_class
#define H5Tget_sign liana__hdf5_library.H5Tget_sign
#define H5Tget_size liana__hdf5_library.H5Tget_size
#define H5Tget_strpad liana__hdf5_library.H5Tget_strpad
#define H5Tis_variable_str liana__hdf5_library.H5Tis_variable_str
#define H5Tset_cset liana__hdf5_library.H5Tset_cset
#define H5Tset_ebias liana__hdf5_library.H5Tset_ebias
#define H5Tset_fields liana__hdf5_library.H5Tset_fields
#define H5Tset_size liana__hdf5_library.H5Tset_size
#define H5Tset_strpad liana__hdf5_library.H5Tset_strpad
#define H5check_version liana__hdf5_library.H5check_version
#define H5open liana__hdf5_library.H5open
/* The numbers of types and classes, which are variables of libhdf5. */
#define H5P_CLS_DATASET_CREATE_ID_g (*liana__hdf5_library.H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_FILE_ACCESS_ID_g (*liana__hdf5_library.H5P_CLS_FILE_ACCESS_ID_g)
#define H5P_CLS_GROUP_CREATE_ID_g (*liana__hdf5_library.H5P_CLS_GROUP_CREATE_ID_g)
#define H5P_CLS_LINK_ACCESS_ID_g (*liana__hdf5_library.H5P_CLS_LINK_ACCESS_ID_g)
#define H5P_CLS_LINK_CREATE_ID_g (*liana__hdf5_library.H5P_CLS_LINK_CREATE_ID_g)
#define H5T_C_S1_g (*liana__hdf5_library.H5T_C_S1_g)
#define H5T_IEEE_F32LE_g (*liana__hdf5_library.H5T_IEEE_F32LE_g)
#define H5T_IEEE_F64LE_g (*liana__hdf5_library.H5T_IEEE_F64LE_g)
#define H5T_STD_I16LE_g (*liana__hdf5_library.H5T_STD_I16LE_g)
#define H5T_STD_I32LE_g (*liana__hdf5_library.H5T_STD_I32LE_g)
#define H5T_STD_I64LE_g (*liana__hdf5_library.H5T_STD_I64LE_g)
#define H5T_STD_I8LE_g (*liana__hdf5_library.H5T_STD_I8LE_g)
#define H5T_STD_U16LE_g (*liana__hdf5_library.H5T_STD_U16LE_g)
#define H5T_STD_U32LE_g (*liana__hdf5_library.H5T_STD_U32LE_g)
#define H5T_STD_U64LE_g (*liana__hdf5_library.H5T_STD_U64LE_g)
#define H5T_STD_U8LE_g (*liana__hdf5_library.H5T_STD_U8LE_g)

/* Loads the library. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__hdf5_load(liana__error *error) LIANA_MUST_USE;

/* libhdf5's type for a dtype, in this processor's order, to be closed. -1: there is none of that name. */
hid_t liana__hdf5_type(const char *name);

/* libhdf5 prints failures by default, and the program that uses liana may have its own setting. `enter` switches
 * printing off; `leave` restores the setting. */
typedef struct liana__hdf5_quiet {
    H5E_auto2_t function;
    void *data;
} liana__hdf5_quiet;

liana__hdf5_quiet liana__hdf5_enter(void);
void liana__hdf5_leave(liana__hdf5_quiet quiet);

/* Fails with the message, followed by the innermost reason in libhdf5's error stack, if there is one. */
liana_status liana__hdf5_fail(liana__error *error, liana_status status, const char *format, ...) LIANA__PRINTF(3, 4);

#endif
