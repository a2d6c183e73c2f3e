# C code for the messages in proto/*.proto, made by protoc-c; included as "formats/<name>.pb-c.h".
file(GLOB LIANA_PROTOS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/*.proto)
set(generated ${PROJECT_BINARY_DIR}/generated/formats)
file(MAKE_DIRECTORY ${generated})
foreach(proto ${LIANA_PROTOS})
  get_filename_component(name ${proto} NAME_WE)
  add_custom_command(OUTPUT ${generated}/${name}.pb-c.c ${generated}/${name}.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${PROJECT_SOURCE_DIR}/proto --c_out=${generated} ${proto}
    DEPENDS ${proto} COMMENT "protoc-c ${name}.proto" VERBATIM)
  # Not our code: its warnings are not ours to mend.
  set_source_files_properties(${generated}/${name}.pb-c.c PROPERTIES COMPILE_OPTIONS "-w")
  target_sources(liana_objects PRIVATE ${generated}/${name}.pb-c.c ${generated}/${name}.pb-c.h)
  list(APPEND LIANA_PROTO_HEADERS ${generated}/${name}.pb-c.h)
endforeach()
# Whatever is compiled beside the library waits for the headers alone, not for the library.
add_custom_target(liana_protos DEPENDS ${LIANA_PROTO_HEADERS})
add_dependencies(liana_objects liana_protos)
add_dependencies(liana_cli_objects liana_protos)
