// SPDX-License-Identifier: Apache-2.0
// The verb that makes models of ONNX compute with 8 bits.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "ops/onnx/read.h"
#include "runtime/cli/common.h"
#include "runtime/cli/quantize_plan.h"
#include "runtime/cli/quantize_run.h"

namespace hone::runtime {
namespace {

/// Of --percentile, where it is left out.
/// Chosen: one value in ten thousand is clipped, as peers have it (not measured).
constexpr double kPercent = 99.99;
/// Fixed by: decibels of a ratio of squares.
constexpr double kDecibels = 10;

struct QuantizeOptions {
  Common common;
  std::vector<std::string> words;
  std::string data, output, choice = "mse";
  double percent = kPercent;
  double least = -INFINITY;
};

/// How far numbers are from others: the sums of squares of the latter and of the differences.
struct Noise {
  double signal = 0, noise = 0;

  void add(std::span<const float> want, std::span<const float> got) {
    for (size_t i = 0; i < want.size(); ++i) {
      const double apart = static_cast<double>(want[i]) - got[i];
      signal += static_cast<double>(want[i]) * want[i];
      noise += apart * apart;
    }
  }
  /// In dB; infinite where there is no difference.
  double ratio() const { return noise > 0 ? kDecibels * std::log10(signal / noise) : INFINITY; }
};

std::string text_of_ratio(double ratio) {
  return std::isinf(ratio) && ratio > 0 ? "exact" : fmt::format("{:.1f} dB", ratio);
}

Json json_of_ratio(double ratio) { return std::isfinite(ratio) ? Json(ratio) : Json(); }

class Quantizer {
 public:
  explicit Quantizer(const QuantizeOptions& options) : options_(options) {}

  Result<Done> run() {
    if (auto f = open(); !f) return f.failure();
    if (auto f = calibrate(); !f) return f.failure();
    if (auto f = compare_nodes(); !f) return f.failure();
    const onnx::Edits edits = quantizing_edits({*model_, plan_, inputs_, floats_});
    if (auto f = onnx::write_edited(path(), options_.output, edits); !f) return f.failure();
    return compare_outputs();
  }

  void print() const {
    if (options_.common.json) return print_json();
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlannedNode& p = plan_.nodes[i];
      std::cout << fmt::format("  {:<32} {:<7} {}{}\n", p.name, p.op_type,
                               text_of_ratio(nodes_[i].ratio()),
                               floats_.contains(i) ? ", stays float" : "");
    }
    for (const FloatNode& f : plan_.floats) {
      std::cout << fmt::format("  {:<32} {:<7} stays float: {}\n", f.name, f.op_type, f.why);
    }
    for (const auto& [name, noise] : outputs_) {
      std::cout << fmt::format("output `{}`: {} from the float model\n", name,
                               text_of_ratio(noise.ratio()));
    }
    std::cout << fmt::format("{}: {} of {} nodes in 8 bits, {} bytes of {}, {} samples\n",
                             options_.output, plan_.nodes.size() - floats_.size(),
                             plan_.nodes.size() + plan_.floats.size(), bytes(options_.output),
                             bytes(path()), samples_.size());
  }

 private:
  const std::string& path() const { return options_.words[0]; }

  static uint64_t bytes(const std::string& path) {
    std::error_code error;
    const auto n = std::filesystem::file_size(path, error);
    return error ? 0 : n;
  }

  Result<Done> open() {
    if (!path().ends_with(".onnx") || !options_.output.ends_with(".onnx")) {
      return Failure{
          ErrorCode::kArgument,
          fmt::format("{} and {}: models of ONNX, whose names end in .onnx, are accepted", path(),
                      options_.output)};
    }
    auto model = onnx::read_file(path());
    if (!model) return model.failure();
    model_ = std::make_shared<const onnx::Model>(std::move(*model));
    auto plan = plan_quantization(*model_);
    if (!plan) return Failure{plan.failure().code, path() + ": " + plan.failure().message};
    plan_ = *std::move(plan);
    auto folders = sample_folders(options_.data);
    if (!folders) return folders.failure();
    samples_ = *std::move(folders);
    auto engine = open_engine(options_.common);
    if (!engine) return engine.failure();
    engine_ = *std::move(engine);
    return Done();
  }

  std::string dims() const {
    return fmt::format("{}", fmt::join(options_.words.begin() + 1, options_.words.end(), " "));
  }

  /// Calls `f` once a sample has run.
  template <class F>
  Result<Done> each_sample(std::vector<ProbedModel*> models, const F& f) const {
    for (const std::string& folder : samples_) {
      const auto sample = read_sample(folder, models[0]->inputs());
      if (!sample) return sample.failure();
      for (ProbedModel* m : models) {
        if (auto done = m->run(*sample); !done) return done.failure();
      }
      if (auto done = f(*sample); !done) return done.failure();
    }
    return Done();
  }

  /// Sees what nodes read of the samples, and chooses the ranges.
  Result<Done> calibrate() {
    std::map<std::string, SeenValues> values;
    std::vector<std::string> probes;
    for (const PlannedNode& p : plan_.nodes) {
      if (values.emplace(p.input, SeenValues()).second) probes.push_back(p.input);
    }
    auto model = ProbedModel::load(*engine_, *model_, probes, dims(), path());
    if (!model) return model.failure();
    for (const bool counts : {false, true}) {
      const auto done = each_sample({&*model}, [&](const Sample& sample) -> Result<Done> {
        for (const std::string& name : probes) {
          SeenValues& seen = values[name];
          const auto now = model->values(name);
          if (!now) return now.failure();
          if (counts) {
            seen.count(*now);
          } else if (!seen.see(*now)) {
            return Failure{ErrorCode::kArgument,
                           fmt::format("{}: it makes `{}` infinite or NaN; samples whose values "
                                       "are finite are accepted",
                                       sample.path, name)};
          }
        }
        return Done();
      });
      if (!done) return done.failure();
    }
    const RangeChoice choice = options_.choice == "minmax"       ? RangeChoice::kExtremes
                               : options_.choice == "percentile" ? RangeChoice::kPercentile
                                                                 : RangeChoice::kSquares;
    for (const auto& [name, seen] : values) {
      inputs_[name] = seen.affine(choice, options_.percent);
    }
    return Done();
  }

  /// Each node with 8 bits beside the float one, on the same inputs.
  Result<Done> compare_nodes() {
    nodes_.resize(plan_.nodes.size());
    const auto file = read_file(path());
    if (!file) return file.failure();
    std::vector<std::string> twins;
    const onnx::Edits edits = twin_edits({*model_, plan_, inputs_, {}}, twins);
    const auto bytes = onnx::edited(*file, edits);
    if (!bytes) return bytes.failure();
    const auto folder = std::filesystem::path(path()).parent_path();
    const auto both = onnx::read(*bytes, folder.empty() ? "." : folder);
    if (!both) return both.failure();
    std::vector<std::string> probes = twins;
    for (const PlannedNode& p : plan_.nodes) probes.push_back(p.output);
    auto model = ProbedModel::load(*engine_, *both, probes, dims(), path());
    if (!model) return model.failure();
    const auto done = each_sample({&*model}, [&](const Sample&) -> Result<Done> {
      for (size_t i = 0; i < plan_.nodes.size(); ++i) {
        const auto want = model->values(plan_.nodes[i].output), got = model->values(twins[i]);
        if (!want) return want.failure();
        if (!got) return got.failure();
        nodes_[i].add(*want, *got);
      }
      return Done();
    });
    if (!done) return done.failure();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].ratio() < options_.least) floats_.insert(i);
    }
    return Done();
  }

  /// The file that was written beside the float model.
  Result<Done> compare_outputs() {
    const auto written = onnx::read_file(options_.output);
    if (!written) return written.failure();
    auto was = ProbedModel::load(*engine_, *model_, {}, dims(), path());
    if (!was) return was.failure();
    auto is = ProbedModel::load(*engine_, *written, {}, dims(), options_.output);
    if (!is) return is.failure();
    return each_sample({&*was, &*is}, [&](const Sample&) -> Result<Done> {
      for (const std::string& name : was->outputs()) {
        const auto want = was->values(name), got = is->values(name);
        if (!got) return got.failure();
        outputs_[name].add(*want, *got);
      }
      return Done();
    });
  }

  void print_json() const {
    Json object = {{"model", path()},
                   {"output", options_.output},
                   {"bytes_before", bytes(path())},
                   {"bytes", bytes(options_.output)},
                   {"samples", samples_.size()},
                   {"nodes", Json::array()},
                   {"outputs", Json::array()}};
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlannedNode& p = plan_.nodes[i];
      const Affine& a = inputs_.at(p.input);
      object["nodes"].push_back({{"name", p.name},
                                 {"op", p.op_type},
                                 {"snr_db", json_of_ratio(nodes_[i].ratio())},
                                 {"quantized", !floats_.contains(i)},
                                 {"input", p.input},
                                 {"scale", a.scale},
                                 {"zero_point", a.zero}});
    }
    for (const FloatNode& f : plan_.floats) {
      object["nodes"].push_back(
          {{"name", f.name}, {"op", f.op_type}, {"quantized", false}, {"why", f.why}});
    }
    for (const auto& [name, noise] : outputs_) {
      object["outputs"].push_back({{"name", name}, {"snr_db", json_of_ratio(noise.ratio())}});
    }
    print_line(object);
  }

  const QuantizeOptions& options_;
  std::shared_ptr<EngineState> engine_;
  std::shared_ptr<const onnx::Model> model_;
  QuantizePlan plan_;
  std::vector<std::string> samples_;      ///< folders
  std::map<std::string, Affine> inputs_;  ///< of tensors that nodes read
  std::vector<Noise> nodes_;              ///< of the plan
  std::set<size_t> floats_;               ///< nodes of the plan that stay float
  std::map<std::string, Noise> outputs_;
};

int quantize(const QuantizeOptions& options) {
  Quantizer quantizer(options);
  if (auto f = quantizer.run(); !f) return report(options.common, f.failure());
  quantizer.print();
  return kExitOk;
}

void declare_quantize(CLI::App& app, int& exit) {
  auto options = std::make_shared<QuantizeOptions>();
  add_common(app, options->common);
  app.add_option("model", options->words, "A model.onnx, then its dims, as in batch=1")->required();
  app.add_option("--data", options->data, "The folder of samples, see below")->required();
  app.add_option("-o,--output", options->output, "The file that is written, .onnx")->required();
  app.add_option("--range", options->choice,
                 "How the range of 8 bits is chosen: mse, percentile or minmax")
      ->check(CLI::IsMember({"mse", "percentile", "minmax"}));
  app.add_option("--percentile", options->percent,
                 "With --range percentile: the share of values that is not clipped, in percent")
      ->check(CLI::Range(50.0, 100.0));
  app.add_option("--least-snr", options->least,
                 "Nodes whose results have a lower ratio of signal to noise stay float, in dB");
  app.footer(
      "Conv, MatMul and Gemm with constant weights compute with 8 bits: weights are signed, with "
      "a\nscale per channel, and what they read is unsigned. Its range is chosen from the values "
      "that\nthe samples give. Nodes are written as QuantizeLinear and DequantizeLinear.\n\n"
      "DIR has a folder for each sample, and in it a file for each input: INPUT.npy, or input_K.pb "
      "as\nin ONNX's test data, where it is number K from 0. In file names _ stands for / and :. A "
      "DIR\nwithout folders is one sample.\n\n"
      "Each node is compared with the float one on the same inputs, and the written model with the "
      "float\nmodel: 20 dB are a tenth of the values' size, 40 dB a hundredth.");
  app.callback([options, &exit] { exit = quantize(*options); });
}

}  // namespace

const Verb kQuantizeVerb = {"quantize", "An int8 model of a float one, by samples of its inputs",
                            declare_quantize};

}  // namespace hone::runtime
