// SPDX-License-Identifier: Apache-2.0
// A kernel on a GPU: memory of the device, a call that waits, and calls in a stream.
#include <hone/hone.h>

#include <cstdio>
#include <vector>

int main() {
  hone::EngineOptions options;
  options.target = "cuda";
  hone::Result<hone::Engine> engine = hone::Engine::try_create(options);
  if (!engine) {
    std::printf("no GPU here: %s\n", engine.failure().message.c_str());
    return 0;
  }
  const hone::Device device = engine->device();
  const hone::Kernel softmax = engine->compile("softmax M=4 N=70");

  const std::vector<float> x(4 * 70, 1.0f);
  std::vector<float> y(x.size());
  const auto bytes = static_cast<int64_t>(y.size() * sizeof(float));
  const hone::DeviceBuffer in = device.upload(std::span<const float>(x));
  const hone::DeviceBuffer out = device.allocate(bytes);

  softmax(in.tensor<const float>({4, 70}), out.tensor<float>({4, 70}));  // waits

  const hone::DeviceStream stream = device.stream();  // or the caller's own CUstream
  softmax.enqueue({.stream = stream.handle()}, in.tensor<const float>({4, 70}),
                  out.tensor<float>({4, 70}));
  softmax.wait(stream.handle());

  out.download(y.data(), bytes);
  std::printf("%s: %g\n", device.name().c_str(), static_cast<double>(y[0]));
  return y[0] > 0.0142f && y[0] < 0.0144f ? 0 : 1;
}
