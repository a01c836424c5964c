// SPDX-License-Identifier: Apache-2.0
// Whole models, from their files.
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "bench/models/peer.h"
#include "bench/peers/onnx_model.h"
#include "bench/peers/ort_library.h"

namespace hone::bench {
namespace {

/// An allocator for tensors that counts the bytes it has given.
class OrtCounter : public OrtAllocator {
 public:
  OrtCounter() : OrtAllocator{} {
    version = ORT_API_VERSION;
    Alloc = &OrtCounter::take;
    Reserve = &OrtCounter::take;
    Free = &OrtCounter::give_back;
    Info = &OrtCounter::info;
  }

  int64_t now() const { return now_; }
  int64_t most() const { return most_; }
  /// From here on `most` is of what comes.
  void begin() { most_ = now_.load(); }

 private:
  /// Fixed by: vectors and cache lines; the size of a block stands before it.
  static constexpr size_t kBlockAlign = 256;

  static void* take(OrtAllocator* self, size_t size) {
    auto& counter = *static_cast<OrtCounter*>(self);
    const size_t whole = (size + 2 * kBlockAlign - 1) / kBlockAlign * kBlockAlign;
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(kBlockAlign, whole));
    if (!block) return nullptr;
    *reinterpret_cast<size_t*>(block) = size;
    const int64_t now = counter.now_ += static_cast<int64_t>(size);
    int64_t most = counter.most_;
    while (now > most && !counter.most_.compare_exchange_weak(most, now)) {
    }
    return block + kBlockAlign;
  }

  static void give_back(OrtAllocator* self, void* p) {
    if (!p) return;
    auto* const block = static_cast<std::byte*>(p) - kBlockAlign;
    static_cast<OrtCounter*>(self)->now_ -= static_cast<int64_t>(*reinterpret_cast<size_t*>(block));
    std::free(block);
  }

  static const OrtMemoryInfo* info(const OrtAllocator* self) {
    return static_cast<const OrtCounter*>(self)->info_;
  }

  const Ort::MemoryInfo info_ = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::atomic<int64_t> now_ = 0, most_ = 0;
};

Failure ort_failure(const Ort::Exception& e) { return {ErrorCode::kUnsupported, e.what()}; }

/// Tensors of a call by their names.
struct OrtTensors {
  std::vector<std::string> texts;
  std::vector<const char*> names;
  std::vector<Ort::Value> values;

  Result<Done> bind(std::span<const NamedTensor> tensors) {
    texts.clear(), names.clear(), values.clear();
    for (const NamedTensor& t : tensors) {
      if (onnx_type_of(t.tensor.type()) == 0) {
        return Failure{ErrorCode::kUnsupported, std::string(t.name) + ": no tensors of " +
                                                    std::string(name_of(t.tensor.type())) +
                                                    " are handed over"};
      }
      jit::TensorView view{const_cast<void*>(t.tensor.data()), t.tensor.type(), {}, {}};
      for (int i = 0; i < t.tensor.rank(); ++i) {
        view.shape.push_back(t.tensor.extent(i));
        view.strides.push_back(t.tensor.stride(i));
      }
      texts.emplace_back(t.name);
      values.push_back(ort_value(view));
    }
    for (const std::string& text : texts) names.push_back(text.c_str());
    return Done{};
  }
};

class OrtModel : public PeerModel {
 public:
  explicit OrtModel(Ort::Session session) : session_(std::move(session)) {}

  Result<Done> bind(std::span<const NamedTensor> inputs,
                    std::span<const NamedTensor> outputs) override {
    try {
      if (auto f = inputs_.bind(inputs); !f) return f;
      return outputs_.bind(outputs);
    } catch (const Ort::Exception& e) {
      return ort_failure(e);
    }
  }

  Result<Done> run() override {
    try {
      session_.Run(Ort::RunOptions{nullptr}, inputs_.names.data(), inputs_.values.data(),
                   inputs_.values.size(), outputs_.names.data(), outputs_.values.data(),
                   outputs_.values.size());
      return Done{};
    } catch (const Ort::Exception& e) {
      return ort_failure(e);
    }
  }

 private:
  Ort::Session session_;
  OrtTensors inputs_, outputs_;
};

/// `counted`: tensors come from the environment's allocator, not from the session's own.
Result<std::unique_ptr<PeerModel>> load_ort_model(const PeerLoad& how, bool counted) {
  if (!ort_api()) return Failure{ErrorCode::kUnsupported, "the library cannot be opened"};
  if (!std::string_view(how.path).ends_with(".onnx")) {
    return Failure{ErrorCode::kUnsupported, "it reads .onnx files alone"};
  }
  try {
    Ort::SessionOptions options = ort_options(how.threads);
    for (const auto& [name, extent] : how.dims) {
      // A name that the file does not have changes nothing.
      Ort::ThrowOnError(
          Ort::GetApi().AddFreeDimensionOverrideByName(options, name.c_str(), extent));
    }
    if (counted) options.AddConfigEntry("session.use_env_allocators", "1");
    return std::unique_ptr<PeerModel>(new OrtModel(ort_session_of_file(how.path, options)));
  } catch (const Ort::Exception& e) {
    return ort_failure(e);
  }
}

Result<std::unique_ptr<PeerModel>> load_onnxruntime(const PeerLoad& how) {
  return load_ort_model(how, false);
}

/// What the environment's allocator has given. Buffers that threads of the runtime keep beside
/// are not among it, nor are weights that newer releases keep elsewhere.
OrtCounter& ort_counter() {
  static OrtCounter& counter = []() -> OrtCounter& {
    static OrtCounter made;
    Ort::ThrowOnError(Ort::GetApi().RegisterAllocator(ort_env(), &made));
    return made;
  }();
  return counter;
}

Result<int64_t> onnxruntime_call_bytes(const PeerLoad& how, std::span<const NamedTensor> inputs,
                                       std::span<const NamedTensor> outputs) {
  try {
    OrtCounter& counter = ort_counter();
    const auto model = load_ort_model(how, true);
    if (!model) return model.failure();
    if (auto f = (*model)->bind(inputs, outputs); !f) return f.failure();
    int64_t bytes = 0;
    // By the first call the runtime plans the memory of those that follow.
    for (int i = 0; i < 2; ++i) {
      const int64_t before = counter.now();
      counter.begin();
      if (auto f = (*model)->run(); !f) return f.failure();
      bytes = counter.most() - before;
    }
    return bytes;
  } catch (const Ort::Exception& e) {
    return ort_failure(e);
  }
}

Result<std::string> about_onnxruntime_models() {
  const std::string about = about_ort();
  if (!about.empty()) return about;
  return Failure{ErrorCode::kUnsupported,
                 "it cannot be opened, or is older than its headers; HONE_ONNXRUNTIME names a "
                 "libonnxruntime.so"};
}

}  // namespace

extern const ModelPeer kOnnxRuntimeModels;
const ModelPeer kOnnxRuntimeModels = {"ONNX Runtime", load_onnxruntime, onnxruntime_call_bytes,
                                      about_onnxruntime_models};

}  // namespace hone::bench
