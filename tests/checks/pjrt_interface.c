/* Compares liana's own declarations of PJRT with the header that comes with a plugin. It compiles, or it does not
 * (tests/checks/test_pjrt_header.sh). */
#include "backends/pjrt/interface.h"

#include "pjrt_c_api.h"

#define SAME(condition) _Static_assert(condition, #condition)

/* Each function has its place in the table. */
#define PLACE(constant, place, name) \
    SAME(offsetof(PJRT_Api, name) == offsetof(liana__pjrt_api, functions) + (place) * sizeof(void *));
LIANA__PJRT_FUNCTIONS(PLACE)
SAME(offsetof(PJRT_Api, pjrt_api_version.major_version) == offsetof(liana__pjrt_api, version.major));
SAME(offsetof(PJRT_Api, pjrt_api_version.minor_version) == offsetof(liana__pjrt_api, version.minor));

/* A struct of ours is at least as large as theirs, and its fields lie where theirs do. */
#define STRUCT(ours, theirs) SAME(sizeof(ours) >= theirs##_STRUCT_SIZE)
#define FIELD(ours, our_field, theirs, their_field) SAME(offsetof(ours, our_field) == offsetof(theirs, their_field))

STRUCT(liana__pjrt_object_args, PJRT_Error_Destroy_Args);
STRUCT(liana__pjrt_object_args, PJRT_Event_Await_Args);
STRUCT(liana__pjrt_object_args, PJRT_Buffer_Destroy_Args);
STRUCT(liana__pjrt_object_args, PJRT_LoadedExecutable_Destroy_Args);
FIELD(liana__pjrt_object_args, object, PJRT_Buffer_Destroy_Args, buffer);
STRUCT(liana__pjrt_int_args, PJRT_Error_GetCode_Args);
FIELD(liana__pjrt_int_args, number, PJRT_Error_GetCode_Args, code);
FIELD(liana__pjrt_int_args, number, PJRT_DeviceDescription_Id_Args, id);
STRUCT(liana__pjrt_bool_args, PJRT_Buffer_IsDeleted_Args);
FIELD(liana__pjrt_bool_args, yes, PJRT_Buffer_IsDeleted_Args, is_deleted);
STRUCT(liana__pjrt_pointer_args, PJRT_Device_GetDescription_Args);
FIELD(liana__pjrt_pointer_args, pointer, PJRT_Device_GetDescription_Args, device_description);
FIELD(liana__pjrt_pointer_args, pointer, PJRT_LoadedExecutable_GetExecutable_Args, executable);
STRUCT(liana__pjrt_size_args, PJRT_Executable_NumOutputs_Args);
FIELD(liana__pjrt_size_args, size, PJRT_Executable_NumOutputs_Args, num_outputs);

STRUCT(liana__pjrt_list_args, PJRT_Error_Message_Args);
FIELD(liana__pjrt_list_args, items, PJRT_Error_Message_Args, message);
FIELD(liana__pjrt_list_args, count, PJRT_Error_Message_Args, message_size);
FIELD(liana__pjrt_list_args, items, PJRT_Client_PlatformName_Args, platform_name);
FIELD(liana__pjrt_list_args, count, PJRT_Client_PlatformVersion_Args, platform_version_size);
FIELD(liana__pjrt_list_args, items, PJRT_Client_AddressableDevices_Args, addressable_devices);
FIELD(liana__pjrt_list_args, count, PJRT_Client_AddressableDevices_Args, num_addressable_devices);
FIELD(liana__pjrt_list_args, items, PJRT_DeviceDescription_Kind_Args, device_kind);

STRUCT(liana__pjrt_named_value, PJRT_NamedValue);
FIELD(liana__pjrt_named_value, kind, PJRT_NamedValue, type);
FIELD(liana__pjrt_named_value, value, PJRT_NamedValue, string_value);
FIELD(liana__pjrt_named_value, value_size, PJRT_NamedValue, value_size);
SAME((int)LIANA__PJRT_STRING == PJRT_NamedValue_kString && (int)LIANA__PJRT_INT64 == PJRT_NamedValue_kInt64);
SAME((int)LIANA__PJRT_INT64_LIST == PJRT_NamedValue_kInt64List && (int)LIANA__PJRT_FLOAT == PJRT_NamedValue_kFloat);
SAME((int)LIANA__PJRT_BOOL == PJRT_NamedValue_kBool);

STRUCT(liana__pjrt_client_create_args, PJRT_Client_Create_Args);
FIELD(liana__pjrt_client_create_args, options, PJRT_Client_Create_Args, create_options);
FIELD(liana__pjrt_client_create_args, client, PJRT_Client_Create_Args, client);
STRUCT(liana__pjrt_program_text, PJRT_Program);
FIELD(liana__pjrt_program_text, format_size, PJRT_Program, format_size);
STRUCT(liana__pjrt_compile_args, PJRT_Client_Compile_Args);
FIELD(liana__pjrt_compile_args, options, PJRT_Client_Compile_Args, compile_options);
FIELD(liana__pjrt_compile_args, executable, PJRT_Client_Compile_Args, executable);
STRUCT(liana__pjrt_topology_args, PJRT_TopologyDescription_Create_Args);
FIELD(liana__pjrt_topology_args, options, PJRT_TopologyDescription_Create_Args, create_options);
FIELD(liana__pjrt_topology_args, topology, PJRT_TopologyDescription_Create_Args, topology);
STRUCT(liana__pjrt_optimized_program_args, PJRT_Executable_OptimizedProgram_Args);
FIELD(liana__pjrt_optimized_program_args, program, PJRT_Executable_OptimizedProgram_Args, program);
STRUCT(liana__pjrt_cost_args, PJRT_Executable_GetCostAnalysis_Args);
FIELD(liana__pjrt_cost_args, count, PJRT_Executable_GetCostAnalysis_Args, num_properties);
FIELD(liana__pjrt_cost_args, items, PJRT_Executable_GetCostAnalysis_Args, properties);
STRUCT(liana__pjrt_compile_ahead_args, PJRT_Compile_Args);
FIELD(liana__pjrt_compile_ahead_args, options, PJRT_Compile_Args, compile_options);
FIELD(liana__pjrt_compile_ahead_args, executable, PJRT_Compile_Args, executable);

STRUCT(liana__pjrt_upload_args, PJRT_Client_BufferFromHostBuffer_Args);
FIELD(liana__pjrt_upload_args, type, PJRT_Client_BufferFromHostBuffer_Args, type);
FIELD(liana__pjrt_upload_args, semantics, PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics);
FIELD(liana__pjrt_upload_args, device, PJRT_Client_BufferFromHostBuffer_Args, device);
FIELD(liana__pjrt_upload_args, done, PJRT_Client_BufferFromHostBuffer_Args, done_with_host_buffer);
FIELD(liana__pjrt_upload_args, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
SAME((int)LIANA__PJRT_UNTIL_RETURN == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
SAME((int)LIANA__PJRT_UNTIL_EVENT == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
SAME((int)LIANA__PJRT_PRED == PJRT_Buffer_Type_PRED && (int)LIANA__PJRT_S32 == PJRT_Buffer_Type_S32);
SAME((int)LIANA__PJRT_S64 == PJRT_Buffer_Type_S64 && (int)LIANA__PJRT_U8 == PJRT_Buffer_Type_U8);
SAME((int)LIANA__PJRT_U32 == PJRT_Buffer_Type_U32 && (int)LIANA__PJRT_U64 == PJRT_Buffer_Type_U64);
SAME((int)LIANA__PJRT_F32 == PJRT_Buffer_Type_F32 && (int)LIANA__PJRT_F64 == PJRT_Buffer_Type_F64);
SAME((int)LIANA__PJRT_BF16 == PJRT_Buffer_Type_BF16);

STRUCT(liana__pjrt_layout, PJRT_Buffer_MemoryLayout);
FIELD(liana__pjrt_layout, tiled, PJRT_Buffer_MemoryLayout, tiled);
FIELD(liana__pjrt_layout, tiled.minor_to_major, PJRT_Buffer_MemoryLayout, tiled.minor_to_major);
FIELD(liana__pjrt_layout, tiled.num_tiles, PJRT_Buffer_MemoryLayout, tiled.num_tiles);
FIELD(liana__pjrt_layout, kind, PJRT_Buffer_MemoryLayout, type);
SAME(PJRT_Buffer_MemoryLayout_Type_Tiled == 0);
STRUCT(liana__pjrt_download_args, PJRT_Buffer_ToHostBuffer_Args);
FIELD(liana__pjrt_download_args, data, PJRT_Buffer_ToHostBuffer_Args, dst);
FIELD(liana__pjrt_download_args, done, PJRT_Buffer_ToHostBuffer_Args, event);

STRUCT(liana__pjrt_execute_options, PJRT_ExecuteOptions);
FIELD(liana__pjrt_execute_options, launch, PJRT_ExecuteOptions, launch_id);
FIELD(liana__pjrt_execute_options, not_donated, PJRT_ExecuteOptions, non_donatable_input_indices);
FIELD(liana__pjrt_execute_options, incarnations, PJRT_ExecuteOptions, incarnation_ids);
STRUCT(liana__pjrt_execute_args, PJRT_LoadedExecutable_Execute_Args);
FIELD(liana__pjrt_execute_args, arguments, PJRT_LoadedExecutable_Execute_Args, argument_lists);
FIELD(liana__pjrt_execute_args, num_arguments, PJRT_LoadedExecutable_Execute_Args, num_args);
FIELD(liana__pjrt_execute_args, results, PJRT_LoadedExecutable_Execute_Args, output_lists);
FIELD(liana__pjrt_execute_args, device, PJRT_LoadedExecutable_Execute_Args, execute_device);

STRUCT(liana__pjrt_memory_stats_args, PJRT_Device_MemoryStats_Args);
FIELD(liana__pjrt_memory_stats_args, bytes_in_use, PJRT_Device_MemoryStats_Args, bytes_in_use);
FIELD(liana__pjrt_memory_stats_args, bytes_limit.bytes, PJRT_Device_MemoryStats_Args, bytes_limit);
FIELD(liana__pjrt_memory_stats_args, bytes_limit.is_set, PJRT_Device_MemoryStats_Args, bytes_limit_is_set);
STRUCT(liana__pjrt_program_memory_args, PJRT_Executable_GetCompiledMemoryStats_Args);
FIELD(liana__pjrt_program_memory_args, temporaries, PJRT_Executable_GetCompiledMemoryStats_Args, temp_size_in_bytes);
STRUCT(liana__pjrt_serialize_args, PJRT_Executable_Serialize_Args);
FIELD(liana__pjrt_serialize_args, bytes, PJRT_Executable_Serialize_Args, serialized_bytes);
FIELD(liana__pjrt_serialize_args, keeper, PJRT_Executable_Serialize_Args, serialized_executable);
FIELD(liana__pjrt_serialize_args, release, PJRT_Executable_Serialize_Args, serialized_executable_deleter);
STRUCT(liana__pjrt_deserialize_args, PJRT_Executable_DeserializeAndLoad_Args);
FIELD(liana__pjrt_deserialize_args, executable, PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
FIELD(liana__pjrt_deserialize_args, options, PJRT_Executable_DeserializeAndLoad_Args,
      overridden_serialized_compile_options);
