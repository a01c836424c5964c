// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/report_text.h"

#include <fmt/format.h>

#include <cmath>

namespace hone::runtime {
namespace {

std::string text_of_fact(const Json& fact) {
  if (fact.is_string()) return fact.get<std::string>();
  return fact.is_number_float() ? fmt::format("{}", fact.get<double>()) : fact.dump();
}

std::string text_of_access(const Json& a) {
  const bool shared = a["memory"] == "shared";
  const std::string cost = shared ? fmt::format("{} ways", a["ways"].get<double>())
                                  : fmt::format("{} of {} sectors", a["sectors"].get<double>(),
                                                a["least_sectors"].get<double>());
  return fmt::format("  {:<5} {:<6} {:<21} {}{}\n", a["what"].get<std::string>(),
                     a["memory"].get<std::string>(), cost, a["place"].get<std::string>(),
                     a.contains("depends_on_data") ? "  (data decide)" : "");
}

std::string text_of_launch(const Json& launch) {
  std::string text = fmt::format("launch {}\n", launch["name"].get<std::string>());
  for (const auto& [name, fact] : launch.items()) {
    if (name == "name" || name == "accesses") continue;
    text += fmt::format("  {:<19} {}\n", name, text_of_fact(fact));
  }
  if (const auto accesses = launch.find("accesses"); accesses != launch.end()) {
    for (const Json& a : *accesses) text += text_of_access(a);
  }
  return text;
}

}  // namespace

double rounded(double x) {
  return std::fabs(x) >= 1000 ? std::round(x) : std::stod(fmt::format("{:.3g}", x));
}

std::string text_of_facts(const Json& facts) {
  std::string text;
  for (const auto& [name, fact] : facts.items()) {
    if (fact.is_array()) {
      for (const Json& launch : fact) text += text_of_launch(launch);
    } else {
      text += fmt::format("{:<17} {}\n", name, text_of_fact(fact));
    }
  }
  return text;
}

}  // namespace hone::runtime
