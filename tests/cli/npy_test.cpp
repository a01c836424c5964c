// SPDX-License-Identifier: Apache-2.0
// Tensors of models from .npy files and to them, and files that are none.
#include "runtime/cli/npy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/effort.h"

using hone::tests::Hone;
using hone::tests::Ran;

namespace {

constexpr const char* kTwice =
    "op twice<T=f32>(X: T[M,N]) -> (Y: T[M,N]) { Y[i,j] = X[i,j] + X[i,j] }\n";

/// A graph whose result is twice its input of two dims.
std::string twice(const std::string& type, const std::string& dims = "B,3") {
  return kTwice + ("graph g(x: " + type + "[" + dims + "]) -> (y) { y = twice(x) }\n");
}

/// The bytes of a .npy file.
std::string npy(const std::string& header, const std::string& elements, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    text += static_cast<char>(header.size() >> (8 * i) & 255);
  }
  return text + header + elements;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

std::string floats(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size());
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kQuick = " --no-check --no-time --threads 1 ";

}  // namespace

TEST_CASE("npy: what a model makes of a file goes to a file") {
  const Hone hone;
  const std::string graph = hone.write("g.graph", twice("f32"));
  const std::string x =
      hone.write("x.npy", npy(header("<f4", "(2, 3)"), floats({1, 2, 3, 4, 5, 6})));
  const Ran run = hone("run " + graph + " B=1..8" + kQuick + "--input x=" + x +
                       " --output y=" + hone.file("y.npy"));
  CHECK(run.code == 0);
  CHECK(run.has("  input     x f32[2,3] from " + x + "\n"));
  CHECK(run.has("  output    y f32[2,3] to " + hone.file("y.npy") + "\n"));
  const std::string y = contents(hone.file("y.npy"));
  CHECK(y.ends_with(floats({2, 4, 6, 8, 10, 12})));
  CHECK(y.starts_with(std::string("\x93NUMPY\x01\0\x76\0{'descr': '<f4', ", 27)));
  CHECK(y.find("'shape': (2, 3), }") != std::string::npos);
  CHECK(y.size() == 128 + 24);
  // What was written is read, with the checks that `run` makes of a model.
  const Ran again =
      hone("run " + graph + " --json --no-time B=1..8 --input x=" + hone.file("y.npy") +
           " --output y=" + hone.file("z.npy"));
  CHECK(again.code == 0);
  CHECK(again.has(R"("inputs":{"x":")" + hone.file("y.npy") + "\"}"));
  CHECK(again.has(R"("outputs":{"y":")" + hone.file("z.npy") + "\"}"));
  CHECK(contents(hone.file("z.npy")).ends_with(floats({4, 8, 12, 16, 20, 24})));
}

TEST_CASE("npy: every version, either order, and a header as Python may write it") {
  const Hone hone;
  const std::string graph = hone.write("g.graph", twice("f32"));
  const std::string rows = floats({1, 2, 3, 4, 5, 6}), columns = floats({1, 4, 2, 5, 3, 6});
  const std::string files[] = {
      npy(header("<f4", "(2, 3)"), rows, 2),
      npy(header("<f4", "(2, 3)"), rows, 3),
      npy(header("<f4", "(2, 3)", true), columns),
      npy(header("=f4", "(2L,3L,)"), rows),
      npy(R"( {"shape":(2,3),"fortran_order" : False , "descr":"<f4"})", rows),
  };
  for (const std::string& file : files) {
    const std::string x = hone.write("x.npy", file), y = hone.file("y.npy");
    const Ran run = hone("run " + graph + kQuick + "--input x=" + x + " --output y=" + y);
    CHECK(run.code == 0);
    CHECK(contents(y).ends_with(floats({2, 4, 6, 8, 10, 12})));
  }
}

TEST_CASE("npy: dims that are not bound are those of files, and others are as large") {
  const Hone hone;
  const std::string graph = hone.write("a.graph",
                                       "graph a(x: f32[B,3], z: f32[B,3], const w: f32[3,3]) -> (y)"
                                       " {\n  h = matmul(x, w)\n  y = add(h, z)\n}\n");
  const std::string x =
      hone.write("x.npy", npy(header("<f4", "(2, 3)"), floats({1, 2, 3, 4, 5, 6})));
  const std::string w =
      hone.write("w.npy", npy(header("<f4", "(3, 3)", true), floats({1, 0, 0, 0, 0, 1, 0, 1, 0})));
  const std::string z =
      hone.write("z.npy", npy(header("<f4", "(2, 3)"), floats({0, 0, 0, 0, 0, 9})));
  CHECK(hone("run " + graph + kQuick + "--input x=" + x).has("graph a B=2\n"));
  CHECK(hone("run " + graph + kQuick + "--dim B=1..7 --input x=" + x).has("graph a B=1..7\n"));
  const Ran all = hone("run " + graph + kQuick + "--input x=" + x + " --input z=" + z +
                       " --input w=" + w + " --output y=" + hone.file("y.npy"));
  CHECK(all.code == 0);
  CHECK(contents(hone.file("y.npy")).ends_with(floats({1, 3, 2, 4, 6, 14})));
  const std::string odd = hone.write("odd.npy", npy(header("<f4", "(1, 3)"), floats({1, 2, 3})));
  const Ran apart = hone("run " + graph + kQuick + "--input x=" + x + " --input z=" + odd);
  CHECK(apart.code == 2);
  CHECK(apart.has(odd + ": dim 0 is 1, which is B; that is 2 in " + x));
  const Ran beyond = hone("run " + graph + " --dim B=3..7 --input x=" + x);
  CHECK(beyond.code == 2);
  CHECK(beyond.has(x + ": dim 0 is 2; B was bound to 3..7"));
  CHECK(hone("run " + graph + " B=3 --input x=" + x).has("dim 0 is 2; B was bound to 3\n"));
}

TEST_CASE("npy: --dim is another way to write a dim, for models alone") {
  const Hone hone;
  const std::string graph = hone.write("g.graph", twice("f32", "B,C"));
  CHECK(hone("show --dim B=1..4 " + graph + " --dim C=5").has("graph g B=1..4 C=5\n"));
  CHECK(hone("run" + std::string(kQuick) + graph + " C=5 --dim B=2").has("graph g C=5 B=2\n"));
  CHECK(hone("tune --budget 10ms " + graph + " --dim B=2 --dim C=5").has("graph g B=2 C=5\n"));
  for (const char* verb : {"run", "show", "tune"}) {
    const Ran none = hone(std::string(verb) + " relu --dim N=3");
    CHECK(none.code == 2);
    CHECK(none.has("--dim is of models"));
  }
  CHECK(hone("run relu N=3 --input X=x.npy").has("--input and --output are of models"));
}

TEST_CASE("npy: files that are none are refused with their place and what would be accepted") {
  const Hone hone;
  const std::string graph = hone.write("g.graph", twice("f32"));
  const std::string six = floats({1, 2, 3, 4, 5, 6}), good = header("<f4", "(2, 3)");
  const struct {
    std::string file, says;
  } rows[] = {
      {"", "it does not begin as .npy files do"},
      {"PK\x03\x04 an archive of arrays", "it does not begin as .npy files do"},
      {npy(good, six, 4), "its version is 4.0; 1.0, 2.0 and 3.0 are accepted"},
      {npy(good, six).substr(0, 9), "it ends within its header"},
      {npy(good, six).substr(0, 40), "it ends within its header, which should have"},
      {npy(std::string(70000, ' '), "", 2), "its header says that it has 70000 bytes"},
      {npy("[1]", six), "byte 0 of its header: `{` is expected"},
      {npy("{'descr': '<f4', 'shape': (2, 3)}", six), "each of the keys descr, fortran_order and"},
      {npy("{'descr': '<f4', 'descr': '<f4'}", six), "byte 17 of its header: each of the keys"},
      {npy("{'descr': '<f4', 'colour': 3}", six), "byte 17 of its header: each of the keys"},
      {npy("{'descr': [('a', '<f4')]}", six), "records of several fields are not read"},
      {npy("{'descr': '<f4', 'fortran_order': 3}", six), "byte 34 of its header: True or False"},
      {npy("{'descr': '<f4", six), "byte 10 of its header: a type in quotes"},
      {npy(good + "more", six), "the end of the header is expected"},
      {npy(header("<f4", "(2, -3)"), six), "a tuple of extents, as (2, 3) is expected"},
      {npy(header("<f4", "(2, 99999999999999999999)"), six), "a tuple of extents"},
      {npy(header(">f4", "(2, 3)"), six),
       "its elements are `>f4`, with the highest byte first; for f32 `<f4` is accepted"},
      {npy(header("<f8", "(2, 3)"), six + six), "`<f8`; for f32 `<f4` is accepted"},
      {npy(header("", "(2, 3)"), six), "its elements are ``; for f32 `<f4` is accepted"},
      {npy(good, six + "x"),
       "25 bytes follow its header, and an array of <f4 and shape (2, 3) has"},
      {npy(good, six.substr(1)), "23 bytes follow its header"},
      {npy(header("<f4", "(1000000000000, 3)"), six), "has 12000000000000\n"},
      {npy(header("<f4", "(9000000000000000000, 3)"), six), "has more than any file"},
      {npy(header("<f4", "(6,)"), six), "its shape is (6); `x: f32[B,3]` is accepted"},
      {npy(header("<f4", "(3, 2)"), six), "its shape is (3, 2); `x: f32[3,3]` is accepted"},
  };
  for (const auto& row : rows) {
    const std::string x = hone.write("bad.npy", row.file);
    const Ran run = hone("run " + graph + kQuick + "--input x=" + x);
    CHECK(run.code == 2);
    CHECK(run.has(x + ": "));
    CHECK(run.has(row.says));
  }
  const std::string bools = hone.write("b.graph", "graph b(x: bool[B]) -> (y) { y = copy(x) }\n");
  const std::string odd = hone.write("odd.npy", npy(header("|b1", "(3,)"), "\x01\x02\x01"));
  CHECK(hone("run " + bools + kQuick + "--input x=" + odd)
            .has("element 1 is 2; elements of bool are 0 or 1"));
}

TEST_CASE("npy: what is wrong with the words names the option and the tensors") {
  const Hone hone;
  const std::string graph = hone.write("g.graph", twice("f32"));
  const std::string x = hone.write("x.npy", npy(header("<f4", "(1, 3)"), floats({1, 2, 3})));
  const struct {
    std::string words, says;
  } rows[] = {
      {"--input q=" + x, "--input q=" + x +
                             ": no such tensor; `NAME=FILE.npy` is accepted, where "
                             "NAME is one of x\n"},
      {"--input x", "--input x: no such tensor"},
      {"--input y=" + x, "where NAME is one of x\n"},
      {"--output x=" + x, "where NAME is one of y\n"},
      {"--input x=", "--input x=: no file is named"},
      {"--input x=" + x + " --input x=" + x, "the tensor is given twice, the other file is " + x},
      {"--input x=" + hone.file("no.npy"), "no.npy cannot be read"},
      {"--input x=" + x + " --output y=" + hone.file("no/y.npy"), "no/y.npy cannot be written"},
  };
  for (const auto& row : rows) {
    const Ran run = hone("run " + graph + kQuick + row.words);
    CHECK(run.code == 2);
    CHECK(run.has(row.says));
  }
}

TEST_CASE("npy: files with bytes at random are read as they say, or refused by name") {
  const Hone hone;
  const std::string path = hone.file("x.npy");
  const std::string elements = floats({1, 2, 3, 4, 5, 6});
  std::mt19937 random(20261130);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const std::string pieces[] = {
      "(", ")",    ",",     "'",     "\"",    "}", "{",   "0", "9", "99999999",       "-1",
      ":", "True", "False", "shape", "descr", ">", "<f8", " ", "L", std::string(1, 0)};
  int read = 0, refused = 0;
  for (int i = 0; i < hone::tests::by_effort(1000, 3000, 10000); ++i) {
    const bool fortran = below(2) == 0;
    std::string file = npy(header("<f4", below(2) == 0 ? "(2, 3)" : "(6,)", fortran), elements,
                           static_cast<char>(1 + below(3)));
    for (size_t changes = below(4); changes > 0; --changes) {
      const size_t at = below(file.size());
      switch (below(4)) {
        case 0:
          file[at] = static_cast<char>(below(256));
          break;
        case 1:
          file.erase(at, 1 + below(3));
          break;
        case 2:
          file.insert(at, pieces[below(std::size(pieces))]);
          break;
        default:
          file.replace(at, 1, pieces[below(std::size(pieces))]);
          break;
      }
    }
    hone.write("x.npy", file);
    const auto array = hone::runtime::read_npy(path, hone::DType::kF32);
    if (!array) {
      ++refused;
      CHECK(array.failure().message.starts_with(path + ": "));
      continue;
    }
    ++read;
    // What is read has the bytes of the file's end, perhaps in another order.
    int64_t count = 1;
    const bool empty = std::count(array->shape.begin(), array->shape.end(), 0) > 0;
    for (const int64_t extent : array->shape) count = empty ? 0 : count * extent;
    REQUIRE(count >= 0);
    REQUIRE(4 * static_cast<size_t>(count) < file.size());
    std::string got(reinterpret_cast<const char*>(array->memory.data()),
                    4 * static_cast<size_t>(count));
    std::string end = file.substr(file.size() - got.size());
    std::sort(got.begin(), got.end());
    std::sort(end.begin(), end.end());
    CHECK(got == end);
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}
