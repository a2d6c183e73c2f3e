/* interface.h - PJRT's C interface, as far as liana calls it: functions by number, and their arguments.
 *
 * A plugin exports GetPjrtApi, which returns a table of functions. The table only grows at its end, so a function's
 * place is fixed. Every function takes one struct of arguments and returns NULL or an error, which the caller owns;
 * PJRT_Error_Destroy and PJRT_Error_Message return nothing. Texts have a length and need not end with a zero.
 * Structs that PJRT lays out alike are one struct here. tests/checks/test_pjrt_header.sh compares numbers and layouts
 * with the header that comes with a plugin. */
#ifndef LIANA_BACKENDS_PJRT_INTERFACE_H
#define LIANA_BACKENDS_PJRT_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that liana calls: constant, place in the table, name. */
#define LIANA__PJRT_FUNCTIONS(X)                                                 \
    X(ERROR_DESTROY, 0, PJRT_Error_Destroy)                                      \
    X(ERROR_MESSAGE, 1, PJRT_Error_Message)                                      \
    X(ERROR_GET_CODE, 2, PJRT_Error_GetCode)                                     \
    X(PLUGIN_INITIALIZE, 3, PJRT_Plugin_Initialize)                              \
    X(PLUGIN_ATTRIBUTES, 4, PJRT_Plugin_Attributes)                              \
    X(EVENT_DESTROY, 5, PJRT_Event_Destroy)                                      \
    X(EVENT_AWAIT, 8, PJRT_Event_Await)                                          \
    X(CLIENT_CREATE, 10, PJRT_Client_Create)                                     \
    X(CLIENT_DESTROY, 11, PJRT_Client_Destroy)                                   \
    X(CLIENT_PLATFORM_NAME, 12, PJRT_Client_PlatformName)                        \
    X(CLIENT_PLATFORM_VERSION, 14, PJRT_Client_PlatformVersion)                  \
    X(CLIENT_DEVICES, 15, PJRT_Client_Devices)                                   \
    X(CLIENT_ADDRESSABLE_DEVICES, 16, PJRT_Client_AddressableDevices)            \
    X(CLIENT_COMPILE, 20, PJRT_Client_Compile)                                   \
    X(CLIENT_BUFFER_FROM_HOST_BUFFER, 22, PJRT_Client_BufferFromHostBuffer)      \
    X(DEVICE_DESCRIPTION_ID, 23, PJRT_DeviceDescription_Id)                      \
    X(DEVICE_DESCRIPTION_KIND, 26, PJRT_DeviceDescription_Kind)                  \
    X(DEVICE_GET_DESCRIPTION, 29, PJRT_Device_GetDescription)                    \
    X(DEVICE_MEMORY_STATS, 34, PJRT_Device_MemoryStats)                          \
    X(EXECUTABLE_DESTROY, 40, PJRT_Executable_Destroy)                           \
    X(EXECUTABLE_NUM_OUTPUTS, 44, PJRT_Executable_NumOutputs)                    \
    X(EXECUTABLE_GET_COST_ANALYSIS, 46, PJRT_Executable_GetCostAnalysis)         \
    X(EXECUTABLE_OPTIMIZED_PROGRAM, 48, PJRT_Executable_OptimizedProgram)        \
    X(EXECUTABLE_SERIALIZE, 49, PJRT_Executable_Serialize)                       \
    X(LOADED_EXECUTABLE_DESTROY, 50, PJRT_LoadedExecutable_Destroy)              \
    X(LOADED_EXECUTABLE_GET_EXECUTABLE, 51, PJRT_LoadedExecutable_GetExecutable) \
    X(LOADED_EXECUTABLE_EXECUTE, 55, PJRT_LoadedExecutable_Execute)              \
    X(EXECUTABLE_DESERIALIZE_AND_LOAD, 56, PJRT_Executable_DeserializeAndLoad)   \
    X(BUFFER_DESTROY, 58, PJRT_Buffer_Destroy)                                   \
    X(BUFFER_IS_DELETED, 68, PJRT_Buffer_IsDeleted)                              \
    X(BUFFER_TO_HOST_BUFFER, 70, PJRT_Buffer_ToHostBuffer)                       \
    X(TOPOLOGY_CREATE, 82, PJRT_TopologyDescription_Create)                      \
    X(TOPOLOGY_DESTROY, 83, PJRT_TopologyDescription_Destroy)                    \
    X(COMPILE, 89, PJRT_Compile)                                                 \
    X(EXECUTABLE_GET_COMPILED_MEMORY_STATS, 96, PJRT_Executable_GetCompiledMemoryStats)

typedef enum liana__pjrt_function {
#define LIANA__PJRT_FUNCTION(constant, place, name) LIANA__PJRT_##constant = place,
    LIANA__PJRT_FUNCTIONS(LIANA__PJRT_FUNCTION)
#undef LIANA__PJRT_FUNCTION
} liana__pjrt_function;

/* An error that a plugin returned. */
typedef struct liana__pjrt_failure liana__pjrt_failure;
typedef liana__pjrt_failure *(*liana__pjrt_entry)(void *args);

typedef struct liana__pjrt_api {
    size_t struct_size; /* also says how many functions there are */
    void *extensions;
    struct {
        size_t struct_size;
        void *extensions;
        int32_t major, minor;
    } version;
    liana__pjrt_entry functions[];
} liana__pjrt_api;

/* The oldest interface that liana uses; its structs have all fields that liana sets. */
enum { LIANA__PJRT_MAJOR = 0, LIANA__PJRT_OLDEST_MINOR = 54 };

/* Codes of errors: those of absl::StatusCode. */
enum liana__pjrt_code {
    LIANA__PJRT_CANCELLED = 1,
    LIANA__PJRT_INVALID_ARGUMENT = 3,
    LIANA__PJRT_NOT_FOUND = 5,
    LIANA__PJRT_RESOURCE_EXHAUSTED = 8,
    LIANA__PJRT_UNIMPLEMENTED = 12,
};

/* The head of every struct of arguments; liana__pjrt_call sets it. */
typedef struct liana__pjrt_head {
    size_t struct_size;
    void *extensions;
} liana__pjrt_head;

/* Arguments: an object. Destroy, Await, Initialize (which has none), GetExecutable's result ... */
typedef struct liana__pjrt_object_args {
    liana__pjrt_head head;
    void *object;
} liana__pjrt_object_args;

/* An object; the result is an object: GetDescription, GetExecutable. */
typedef struct liana__pjrt_pointer_args {
    liana__pjrt_head head;
    void *object;
    void *pointer;
} liana__pjrt_pointer_args;

/* An object; the result is a number: NumOutputs. */
typedef struct liana__pjrt_size_args {
    liana__pjrt_head head;
    void *object;
    size_t size;
} liana__pjrt_size_args;

/* An object; the result is a small number: GetCode, Id. */
typedef struct liana__pjrt_int_args {
    liana__pjrt_head head;
    void *object;
    int32_t number;
} liana__pjrt_int_args;

/* An object; the result says yes or no: IsDeleted. */
typedef struct liana__pjrt_bool_args {
    liana__pjrt_head head;
    void *object;
    bool yes;
} liana__pjrt_bool_args;

/* An object; the result is a list or a text, which belongs to the object: Message, PlatformName, AddressableDevices. */
typedef struct liana__pjrt_list_args {
    liana__pjrt_head head;
    void *object;
    const void *items;
    size_t count;
} liana__pjrt_list_args;

enum liana__pjrt_value_kind {
    LIANA__PJRT_STRING,
    LIANA__PJRT_INT64,
    LIANA__PJRT_INT64_LIST,
    LIANA__PJRT_FLOAT,
    LIANA__PJRT_BOOL,
};

/* An option of a client, or an attribute of a plugin. */
typedef struct liana__pjrt_named_value {
    liana__pjrt_head head;
    const char *name;
    size_t name_size;
    int32_t kind; /* enum liana__pjrt_value_kind */
    union {
        const char *string;
        int64_t int64;
        const int64_t *int64_list;
        float number;
        bool yes;
    } value;
    size_t value_size; /* elements of a list or bytes of a string; else 1 */
} liana__pjrt_named_value;

typedef struct liana__pjrt_attributes_args {
    liana__pjrt_head head;
    const liana__pjrt_named_value *items;
    size_t count;
} liana__pjrt_attributes_args;

typedef struct liana__pjrt_client_create_args {
    liana__pjrt_head head;
    const liana__pjrt_named_value *options;
    size_t num_options;
    void *get, *get_user, *put, *put_user; /* a store of keys and values that several processes share */
    void *client;
    void *try_get, *try_get_user;
} liana__pjrt_client_create_args;

typedef struct liana__pjrt_program_text {
    liana__pjrt_head head;
    const char *code; /* where the plugin writes a program, it writes here */
    size_t code_size;
    const char *format; /* "mlir" */
    size_t format_size;
} liana__pjrt_program_text;

typedef struct liana__pjrt_compile_args {
    liana__pjrt_head head;
    void *client;
    const liana__pjrt_program_text *program;
    const char *options; /* a CompileOptionsProto */
    size_t options_size;
    void *executable;
} liana__pjrt_compile_args;

/* Types of elements. */
enum liana__pjrt_type {
    LIANA__PJRT_PRED = 1,
    LIANA__PJRT_S8 = 2,
    LIANA__PJRT_S16 = 3,
    LIANA__PJRT_S32 = 4,
    LIANA__PJRT_S64 = 5,
    LIANA__PJRT_U8 = 6,
    LIANA__PJRT_U16 = 7,
    LIANA__PJRT_U32 = 8,
    LIANA__PJRT_U64 = 9,
    LIANA__PJRT_F16 = 10,
    LIANA__PJRT_F32 = 11,
    LIANA__PJRT_F64 = 12,
    LIANA__PJRT_BF16 = 13,
};

/* How long the host's data stay as they are. */
enum liana__pjrt_host_semantics {
    LIANA__PJRT_UNTIL_RETURN = 0,
    LIANA__PJRT_UNTIL_EVENT = 1,
};

typedef struct liana__pjrt_upload_args {
    liana__pjrt_head head;
    void *client;
    const void *data;
    int32_t type;
    const int64_t *dims;
    size_t num_dims;
    const int64_t *byte_strides; /* NULL: row-major */
    size_t num_byte_strides;
    int32_t semantics;
    void *device;
    void *memory, *layout;
    void *done; /* an event */
    void *buffer;
} liana__pjrt_upload_args;

/* Where an element lies: dimensions from the one that changes fastest. Without tiles. */
typedef struct liana__pjrt_layout {
    liana__pjrt_head head;
    struct {
        liana__pjrt_head head;
        const int64_t *minor_to_major;
        size_t num_dims;
        const int64_t *tile_dims;
        const size_t *tile_dim_sizes;
        size_t num_tiles;
    } tiled;
    int32_t kind; /* 0: tiled */
} liana__pjrt_layout;

typedef struct liana__pjrt_download_args {
    liana__pjrt_head head;
    void *buffer;
    liana__pjrt_layout *layout;
    void *data; /* NULL: only the size is wanted */
    size_t size;
    void *done; /* an event */
} liana__pjrt_download_args;

typedef struct liana__pjrt_execute_options {
    liana__pjrt_head head;
    void *send_callbacks, *receive_callbacks;
    size_t num_send, num_receive;
    int32_t launch;
    const int64_t *not_donated;
    size_t num_not_donated;
    void *context;
    const char *call_location;
    size_t num_tasks;
    int32_t *tasks;
    int64_t *incarnations;
    void *reserved[16]; /* zeros for the members of newer interfaces */
} liana__pjrt_execute_options;

typedef struct liana__pjrt_execute_args {
    liana__pjrt_head head;
    void *executable;
    liana__pjrt_execute_options *options;
    void *const *const *arguments; /* [devices][arguments] */
    size_t num_devices;
    size_t num_arguments;
    void **const *results;  /* [devices][results] */
    void **complete_events; /* [devices], or NULL */
    void *device;           /* of a portable executable; else NULL */
} liana__pjrt_execute_args;

/* Bytes; unknown ones are not set. */
typedef struct liana__pjrt_known_bytes {
    int64_t bytes;
    bool is_set;
} liana__pjrt_known_bytes;

typedef struct liana__pjrt_memory_stats_args {
    liana__pjrt_head head;
    void *device;
    int64_t bytes_in_use;
    liana__pjrt_known_bytes peak_bytes_in_use, num_allocations, largest_allocation, bytes_limit;
    liana__pjrt_known_bytes others[7]; /* not read */
} liana__pjrt_memory_stats_args;

typedef struct liana__pjrt_program_memory_args {
    liana__pjrt_head head;
    void *executable;
    int64_t code, arguments, results, aliased, temporaries; /* bytes on the device */
    int64_t others[13];                                     /* not read */
} liana__pjrt_program_memory_args;

/* The optimised program: `program` without `code` asks for its size, with it for its bytes. */
typedef struct liana__pjrt_optimized_program_args {
    liana__pjrt_head head;
    void *executable;
    liana__pjrt_program_text *program;
} liana__pjrt_optimized_program_args;

/* The cost of a run: "flops", "bytes accessed", ... as numbers. The list belongs to the executable. */
typedef struct liana__pjrt_cost_args {
    liana__pjrt_head head;
    void *executable;
    size_t count;
    const liana__pjrt_named_value *items;
} liana__pjrt_cost_args;

/* Devices that need not be there. */
typedef struct liana__pjrt_topology_args {
    liana__pjrt_head head;
    const char *name; /* "v5e:2x2" */
    size_t name_size;
    const liana__pjrt_named_value *options;
    size_t num_options;
    void *topology;
} liana__pjrt_topology_args;

typedef struct liana__pjrt_compile_ahead_args {
    liana__pjrt_head head;
    const void *topology;
    const liana__pjrt_program_text *program;
    const char *options; /* a CompileOptionsProto */
    size_t options_size;
    void *client; /* NULL */
    void *executable;
} liana__pjrt_compile_ahead_args;

typedef struct liana__pjrt_serialize_args {
    liana__pjrt_head head;
    void *executable;
    const char *bytes;
    size_t size;
    void *keeper;
    void (*release)(void *keeper);
} liana__pjrt_serialize_args;

typedef struct liana__pjrt_deserialize_args {
    liana__pjrt_head head;
    void *client;
    const char *bytes;
    size_t size;
    void *executable; /* a loaded one */
    const char *options;
    size_t options_size;
    void *load_options;
} liana__pjrt_deserialize_args;

#endif
