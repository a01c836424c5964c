#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the text of a file a function: embed.py INPUT OUTPUT FUNCTION."""
import sys

source, output, function = sys.argv[1:]
text = open(source, encoding="utf-8").read()
with open(output, "w", encoding="utf-8") as out:
    out.write(f"// Made from {source.rsplit('/', 1)[-1]}.\n#include <string_view>\n\n")
    out.write(f"namespace hone::bench {{\nstd::string_view {function}();\n}}\n\n")
    out.write(f'std::string_view hone::bench::{function}() {{\n  return R"hone({text})hone";\n}}\n')
