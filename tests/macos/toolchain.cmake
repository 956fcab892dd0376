# Builds for Apple silicon on Linux: the compiler and the stubs are what cross.sh has laid in
# build/macos-tools.
get_filename_component(tools ${CMAKE_CURRENT_LIST_DIR}/../../build/macos-tools ABSOLUTE)
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(CMAKE_C_COMPILER ${tools}/cc)
set(CMAKE_AR ${tools}/ar)
set(CMAKE_RANLIB ${tools}/ranlib)
set(CMAKE_INSTALL_NAME_TOOL false) # only asked for when something is installed
set(CMAKE_C_FLAGS_INIT -UNDEBUG) # Zig defines it when it optimizes; asserts stay on in every build
set(ENV{PKG_CONFIG_LIBDIR} ${tools}/pkgconfig)
