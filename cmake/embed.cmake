# Writes a C file with the bytes of files, one behind the other: NAME and NAME_size.
#   cmake -DOUTPUT=FILE.c -DNAME=name "-DINPUTS=FILE;FILE" -P cmake/embed.cmake
set(bytes)
foreach(file ${INPUTS})
  file(READ ${file} hex HEX)
  string(APPEND bytes "${hex}")
endforeach()
string(LENGTH "${bytes}" size)
math(EXPR size "${size} / 2")
# Lines of 32 bytes.
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REPEAT "[0-9a-fx,]" 160 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* The bytes of files of liana's; made by cmake/embed.cmake. */\n"
  "#include <stddef.h>\n"
  "extern const unsigned char ${NAME}[];\n"
  "extern const size_t ${NAME}_size;\n"
  "const size_t ${NAME}_size = ${size};\n"
  "const unsigned char ${NAME}[] = {\n${bytes}\n};\n")
