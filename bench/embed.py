#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the text of files a function: embed.py OUTPUT FUNCTION INPUT.."""
import sys

output, function, *sources = sys.argv[1:]
texts = [open(source, encoding="utf-8").read() for source in sources]
with open(output, "w", encoding="utf-8") as out:
    names = ", ".join(source.rsplit("/", 1)[-1] for source in sources)
    out.write(f"// Made from {names}.\n#include <string_view>\n\n")
    out.write(f"namespace hone::bench {{\nstd::string_view {function}();\n}}\n\n")
    literals = "\n".join(f'R"hone({text})hone"' for text in texts)
    out.write(f'std::string_view hone::bench::{function}() {{\n  return {literals};\n}}\n')
