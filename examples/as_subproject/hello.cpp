// SPDX-License-Identifier: Apache-2.0
#include <hone/version.h>

#include <cstdio>

int main() { std::printf("hone %s\n", hone::version()); }
