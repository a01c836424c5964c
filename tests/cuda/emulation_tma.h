// SPDX-License-Identifier: Apache-2.0
// TMA copies of a tensor that a map describes.
#pragma once

#include <cstdint>

namespace emulation {

/// On the words of a map.
void tensor_prefetch(const unsigned long long* map);
void tensor_load(uint32_t to, const unsigned long long* map, uint32_t barrier, const int* at,
                 int dims, uint32_t mask);
void tensor_store(const unsigned long long* map, uint32_t from, const int* at, int dims);

template <class Map>
void tensor_prefetch(const Map* map) {
  tensor_prefetch(map->words);
}
template <class Map>
void tensor_load(uint32_t to, const Map* map, uint32_t barrier, const int* at, int dims,
                 uint32_t mask) {
  tensor_load(to, map->words, barrier, at, dims, mask);
}
template <class Map>
void tensor_store(const Map* map, uint32_t from, const int* at, int dims) {
  tensor_store(map->words, from, at, dims);
}

}  // namespace emulation
