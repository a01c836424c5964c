#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the text of files a function: embed.py OUTPUT FUNCTION INPUT.. [--namespace=hone::bench]"""
import argparse

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("output")
parser.add_argument("function")
parser.add_argument("sources", nargs="+")
parser.add_argument("--namespace", default="hone::bench")
options = parser.parse_args()
texts = [open(source, encoding="utf-8").read() for source in options.sources]
with open(options.output, "w", encoding="utf-8") as out:
    names = ", ".join(source.rsplit("/", 1)[-1] for source in options.sources)
    out.write(f"// Made from {names}.\n#include <string_view>\n\n")
    out.write(f"namespace {options.namespace} {{\nstd::string_view {options.function}();\n}}\n\n")
    literals = "\n".join(f'R"hone({text})hone"' for text in texts)
    out.write(f'std::string_view {options.namespace}::{options.function}() {{\n  return {literals};\n}}\n')
