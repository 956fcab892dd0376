# Writes OUT: the SHA-256 over the names and SHA-256s of every source below ROOT that is built.
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/proto/*.[ch] ${ROOT}/agent/*.[ch]
     ${ROOT}/controller/*.[ch])
list(APPEND sources CMakeLists.txt)
list(SORT sources)
set(lines "")
foreach(source IN LISTS sources)
    file(SHA256 ${ROOT}/${source} hash)
    string(APPEND lines "${hash}  ${source}\n")
endforeach()
string(SHA256 hash "${lines}")
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define SONDE_SOURCE_SHA256 \"${hash}\"\n" @ONLY)
