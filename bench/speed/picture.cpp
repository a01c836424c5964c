// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace hone::bench {
namespace {

// Pixels.
constexpr double kMargin = 20;
constexpr double kLabels = 200;                       // names of rows
constexpr double kFigures = 60;                       // right of the bars
constexpr double kWidePlot = 480, kNarrowPlot = 250;  // the bound is its right end; of two columns
constexpr double kGap = 30;                           // between columns
constexpr double kOwnBar = 5, kPeerBar = 2.5, kBetween = 0.5, kRowGap = 6, kLeastRow = 14;
constexpr double kHeading = 26;       // of a group
constexpr double kTop = 88;           // title and legend
constexpr double kAxis = 18;          // below the rows
constexpr double kLetter = 6.4;       // of the legend's texts, about
constexpr double kMostShare = 1.08;   // longer bars are cut off
constexpr size_t kRowsOfColumn = 24;  // more rows take two columns

/// Of hone's own, then of peers; in light and in dark mode.
constexpr std::pair<const char*, const char*> kColours[] = {
    {"#9db8e8", "#47639c"}, {"#1f5fd6", "#6ea0ff"}, {"#d9822b", "#e8a05c"}, {"#5b8c3a", "#8fc267"},
    {"#a34a8e", "#d283bf"}, {"#b3362f", "#ea7a72"}, {"#6b6b6b", "#a8a8a8"},
};
constexpr size_t kColourCount = std::size(kColours);

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Other control characters have no place in XML.
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

bool is_own(const std::string& contender) { return contender == "default" || contender == "tuned"; }

/// Numbers with as many digits as a picture has use for.
std::string px(double value) { return fmt::format("{:g}", std::round(value * 10) / 10); }

/// Draws from top to bottom.
class Painter {
 public:
  explicit Painter(const PictureText& text) : text_(text) {}

  std::string run() {
    size_t rows = 0;
    for (const PictureGroup& g : text_.groups) rows += g.rows.size();
    columns_ = rows > kRowsOfColumn ? 2 : 1;
    plot_ = columns_ == 2 ? kNarrowPlot : kWidePlot;
    const double half = total_height() / columns_;
    double x = kMargin, y = kTop, deepest = 0;
    for (const PictureGroup& g : text_.groups) {
      // A group goes where most of it fits.
      const bool next = y > kTop && y - kTop + height_of(g) / 2 > half && x == kMargin;
      if (next && columns_ == 2) {
        axis(x, y);
        x += column() + kGap;
        y = kTop;
      }
      group(g, x, &y);
      deepest = std::max(deepest, y);
    }
    axis(x, y);
    return whole(deepest + kAxis + kMargin / 2);
  }

 private:
  double height_of(const PictureRow& row) const {
    double height = kRowGap;
    for (const PictureBar& bar : row.bars) {
      height += (is_own(bar.contender) ? kOwnBar : kPeerBar) + kBetween;
    }
    return std::max(height, kLeastRow);
  }
  double height_of(const PictureGroup& g) const {
    double height = kHeading;
    for (const PictureRow& row : g.rows) height += height_of(row);
    return height;
  }
  double total_height() const {
    double height = 0;
    for (const PictureGroup& g : text_.groups) height += height_of(g);
    return height;
  }
  double column() const { return kLabels + plot_ + kFigures; }
  double width() const { return 2 * kMargin + columns_ * column() + (columns_ - 1) * kGap; }

  size_t colour_of(const std::string& contender) const {
    if (contender == "default") return 0;
    if (contender == "tuned") return 1;
    size_t peer = 2;
    for (const std::string& c : text_.contenders) {
      if (c == contender) break;
      if (!is_own(c)) ++peer;
    }
    return std::min(peer, kColourCount - 1);
  }

  void group(const PictureGroup& g, double x, double* y) {
    body_ += fmt::format("<text class=\"g\" x=\"{}\" y=\"{}\">{}</text>\n", px(x), px(*y + 16),
                         escaped(g.name));
    *y += kHeading;
    // The bound and half of it, behind the bars.
    const double low = *y + height_of(g) - kHeading - kRowGap / 2;
    for (const double share : {0.0, 0.5, 1.0}) {
      body_ += fmt::format("<path class=\"l\" d=\"M{} {}V{}\"/>\n", px(x + kLabels + share * plot_),
                           px(*y - 2), px(low));
    }
    for (const PictureRow& r : g.rows) row(r, x, y);
  }

  void row(const PictureRow& r, double x, double* y) {
    const double height = height_of(r) - kRowGap, left = x + kLabels;
    const double middle = *y + height / 2 + 3.5;
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", px(left - 6),
                         px(middle), escaped(r.name));
    double at = *y, own = 0;
    for (const PictureBar& bar : r.bars) {
      const double thick = is_own(bar.contender) ? kOwnBar : kPeerBar;
      const double length = plot_ * std::clamp(bar.share, 0.0, kMostShare);
      body_ += fmt::format(
          "<rect class=\"c{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">"
          "<title>{}: {} {:.1f}%</title></rect>\n",
          colour_of(bar.contender), px(left), px(at), px(length), px(thick), escaped(r.name),
          escaped(bar.contender), 100 * bar.share);
      at += thick + kBetween;
      if (is_own(bar.contender)) own = bar.share;
    }
    if (r.goal > 0) {
      const double goal = left + plot_ * std::min(r.goal, kMostShare);
      body_ += fmt::format("<path class=\"m\" d=\"M{} {}V{}\"/>\n", px(goal), px(*y - 1.5),
                           px(*y + height + 0.5));
    }
    if (own > 0) {
      body_ +=
          fmt::format("<text class=\"v\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.0f}%</text>\n",
                      px(x + column()), px(middle), 100 * own);
    }
    *y += height_of(r);
  }

  void axis(double x, double y) {
    for (const auto& [share, name] : {std::pair(0.0, "0"), {0.5, "50%"}, {1.0, "the bound"}}) {
      body_ += fmt::format("<text class=\"v\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                           px(x + kLabels + share * plot_), px(y + 8), name);
    }
  }

  std::string legend() const {
    std::string out;
    double x = kMargin;
    const auto entry = [&](const std::string& mark, const std::string& name) {
      out += mark + fmt::format("<text x=\"{}\" y=\"70\">{}</text>\n", px(x + 16), escaped(name));
      x += 30 + kLetter * static_cast<double>(name.size());
    };
    for (const std::string& c : text_.contenders) {
      entry(fmt::format("<rect class=\"c{}\" x=\"{}\" y=\"61\" width=\"11\" height=\"10\"/>",
                        colour_of(c), px(x)),
            is_own(c) ? "hone, " + c : c);
    }
    entry(fmt::format("<path class=\"m\" d=\"M{} 60V72\"/>", px(x + 6)), "goal");
    return out;
  }

  std::string style() const {
    std::string light, dark;
    for (size_t i = 0; i < kColourCount; ++i) {
      light += fmt::format(".c{}{{fill:{}}}", i, kColours[i].first);
      dark += fmt::format(".c{}{{fill:{}}}", i, kColours[i].second);
    }
    return "<style>text{font:11px sans-serif;fill:#222}.t{font-size:16px;font-weight:bold}"
           ".g{font-size:12px;font-weight:bold}.v{fill:#666}.b{fill:#fff}"
           ".l{stroke:#ccc;fill:none}.m{stroke:#111;stroke-width:1.5;fill:none}" +
           light +
           "@media (prefers-color-scheme:dark){text{fill:#ddd}.v{fill:#999}.b{fill:#0d1117}"
           ".l{stroke:#444}.m{stroke:#fff}" +
           dark + "}</style>\n";
  }

  std::string whole(double height) const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" role=\"img\">\n<title>{2}</title>\n",
               px(width()), px(height), escaped(text_.title)) +
           style() + "<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n" +
           fmt::format(
               "<text class=\"t\" x=\"{0}\" y=\"28\">{1}</text>\n"
               "<text class=\"v\" x=\"{0}\" y=\"46\">{2}</text>\n",
               px(kMargin), escaped(text_.title), escaped(text_.subtitle)) +
           legend() + body_ + "</svg>\n";
  }

  const PictureText& text_;
  int columns_ = 1;
  double plot_ = kWidePlot;
  std::string body_;
};

}  // namespace

std::string svg_of(const PictureText& text) { return Painter(text).run(); }

}  // namespace hone::bench
