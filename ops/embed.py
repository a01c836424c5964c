# SPDX-License-Identifier: Apache-2.0
"""Writes the .hone files of the stock library into one C++ source: embed.py OUT FILE..."""
import pathlib
import sys

rows = []
for path in map(pathlib.Path, sys.argv[2:]):
    text = path.read_text(encoding="ascii")
    # Compilers need not take string literals beyond 64 KB; none of the files comes close.
    rows.append(f'      {{"{path.name}", R"hone({text})hone"}},\n')
pathlib.Path(sys.argv[1]).write_text(
    "// SPDX-License-Identifier: Apache-2.0\n"
    '#include "ops/stock.h"\n\n'
    "namespace hone::ops {\n\n"
    "const std::vector<StockFile>& stock_files() {\n"
    "  static const std::vector<StockFile> files = {\n" + "".join(rows) + "  };\n"
    "  return files;\n}\n\n"
    "}  // namespace hone::ops\n")
