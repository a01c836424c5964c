// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace hone::bench {

/// One bar: a contender's share of the bound, 1 being all of it.
struct PictureBar {
  std::string contender;
  double share = 0;
};

/// A row of bars under one name.
struct PictureRow {
  std::string name;
  double goal = 0;  ///< a mark at this share; 0: none
  std::vector<PictureBar> bars;
};

/// Rows under one heading.
struct PictureGroup {
  std::string name;
  std::vector<PictureRow> rows;
};

/// What a picture shows.
struct PictureText {
  std::string title;
  std::string subtitle;
  std::vector<std::string> contenders;  ///< of the legend, which is also the order of the bars
  std::vector<PictureGroup> groups;
};

/// The rows as horizontal bars in one SVG file that needs nothing else, readable in light and dark
/// mode. The same text gives the same bytes.
std::string svg_of(const PictureText& text);

}  // namespace hone::bench
