#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the text of outside.hone a function: embed.py INPUT OUTPUT."""
import sys

text = open(sys.argv[1], encoding="utf-8").read()
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write('// Made from bench/outside.hone.\n#include "bench/suites.h"\n\n')
    out.write("std::string_view hone::bench::outside_ops() {\n  return R\"hone(" + text + ")hone\";\n}\n")
