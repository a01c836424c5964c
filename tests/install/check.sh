#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build folder into a temporary prefix and builds and runs the hello program against it in
# every way the README promises. One line a way; the last line counts them as doctest does.
# usage: check.sh BUILD_DIR      (configured with -Ddefault_library=both)
set -u
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cxx=${CXX:-c++}
export HONE_CACHE=$work/cache.db
passed=0 failed=0

# way NAME COMMAND...: runs COMMAND in a folder of its own.
way() {
  local name=$1 dir
  shift
  dir=$work/$name
  mkdir -p "$dir"
  if (cd "$dir" && "$@") >"$dir/log" 2>&1; then
    echo "ok      $name"
    passed=$((passed + 1))
  else
    echo "FAILED  $name"
    sed 's/^/    /' "$dir/log"
    failed=$((failed + 1))
  fi
}

DESTDIR=$work/root meson install -C "$build" --no-rebuild --quiet >"$work/install.log" 2>&1 || {
  cat "$work/install.log"
  exit 1
}
config=$(find "$work/root" -name hone.pc)
libdir=$(dirname "$(dirname "$config")")
case $libdir in
  */lib | */lib64) prefix=$(dirname "$libdir") ;;
  *) prefix=$(dirname "$(dirname "$libdir")") ;; # lib/TRIPLET
esac
# The same tree as a distribution without shared libraries would have it.
cp -a "$prefix" "$work/static"
find "$work/static" -name 'libhone.so*' -delete
static_config=$work/static/${config#"$prefix/"}
hello=$source/examples/hello.cpp

# greets COMMAND...: runs the hello program, which multiplies two matrices, and reads its result.
greets() {
  local said
  said=$("$@")
  echo "said: $said"
  [[ $said =~ ^hone\ [0-9.]+:\ 8$ ]]
}

with_pkg_config() { # FLAG CONFIG: FLAG is --static or empty
  export PKG_CONFIG_PATH=${2%/*}
  # The flags are words to split.
  # shellcheck disable=SC2046
  $cxx -std=c++20 "$hello" -o hello $(pkg-config $1 --cflags --libs hone) &&
    greets env LD_LIBRARY_PATH="$libdir" ./hello
}

# The build folder itself, as it is before anything is installed.
with_build() {
  export PKG_CONFIG_PATH=$build/meson-uninstalled
  # The flags are words to split.
  # shellcheck disable=SC2046
  $cxx -std=c++20 "$hello" -o hello $(pkg-config --cflags --libs hone) &&
    greets env LD_LIBRARY_PATH="$build" ./hello
}

with_cmake() { # PREFIX TARGET
  cat >CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.20)
project(hello CXX)
find_package(hone 0.1 REQUIRED)
add_executable(hello $hello)
target_link_libraries(hello $2)
EOF
  cmake -G Ninja -S . -B b -DCMAKE_CXX_COMPILER="${cxx##* }" -DCMAKE_PREFIX_PATH="$1" && cmake --build b && greets b/hello
}

# Each public header on its own: no other header of ours, no dependency's, no warning.
with_headers() {
  local header
  for header in "$prefix"/include/hone/*.h; do
    $cxx -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -include "$header" \
      -x c++ /dev/null || return 1
  done
  cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$prefix/include" \
    -include "$prefix/include/hone/c.h" -x c /dev/null
}

# The examples in C, by nothing but what is installed.
with_c() {
  export PKG_CONFIG_PATH=${config%/*}
  local example
  for example in softmax model; do
    # The flags are words to split.
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror "$source/examples/$example.c" -o $example \
      $(pkg-config --cflags --libs hone) -lm && env LD_LIBRARY_PATH="$libdir" ./$example || return 1
  done
}

# The shared library exports what HONE_API marks, and nothing of the standard library's templates.
with_exports() {
  local strange
  strange=$(nm -DC --defined-only "$libdir/libhone.so" |
    grep -vE ' (hone_|hone::|(typeinfo|vtable|typeinfo name) for hone::)')
  [ -z "$strange" ] || { echo "$strange"; return 1; }
}

# As a library for CPUs alone has it: without the code for GPUs.
with_subproject() {
  cp -L "$source"/examples/as_subproject/* . && mkdir subprojects && ln -s "$source" subprojects/hone &&
    meson setup b --buildtype=plain -Dunity=subprojects -Dunity_size=20 -Dhone:cuda=disabled &&
    ninja -C b hello && greets b/hello
}

way headers-alone with_headers
way exports with_exports
way c with_c
way pkg-config-shared with_pkg_config "" "$config"
way pkg-config-static with_pkg_config --static "$static_config"
way pkg-config-build with_build
way cmake-shared with_cmake "$prefix" hone::hone
way cmake-static with_cmake "$prefix" hone::static
way cmake-static-only with_cmake "$work/static" hone::hone
way meson-subproject with_subproject

echo "[doctest] test cases: $((passed + failed)) | $passed passed | $failed failed | 0 skipped"
[ "$failed" = 0 ]
