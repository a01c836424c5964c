// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/context.h"

#include <cstdio>

namespace hone::tests {

Context::Context(std::mutex& mutex, int ordinal, const Settings& settings)
    : device(ordinal),
      model(model_of(settings.sm[std::min(static_cast<size_t>(ordinal), settings.sm.size() - 1)])),
      capacity(settings.memory),
      queue(mutex, settings.seed + static_cast<uint64_t>(ordinal)) {}

Context::~Context() = default;

Stream* Context::stream(void* handle) {
  if (!handle || handle == reinterpret_cast<void*>(uintptr_t{1})) return &legacy;
  return member(streams, handle);
}

Kernel* Context::kernel(void* handle) {
  for (const auto& m : modules) {
    for (Kernel& k : m->kernels) {
      if (&k == handle) return &k;
    }
  }
  return nullptr;
}

std::vector<WorkRef> Context::front(Stream& s) {
  std::vector<WorkRef> after = std::move(s.waits);
  s.waits.clear();
  after.push_back(s.tail);
  if (&s == &legacy) {
    for (const auto& other : streams) {
      if (other->blocking) after.push_back(other->tail);
    }
  } else if (s.blocking) {
    after.push_back(legacy.tail);
  }
  return after;
}

WorkRef Context::enqueue(Stream& s, std::function<int()> run, bool endless) {
  s.tail = queue.add(std::move(run), front(s), endless);
  return s.tail;
}

bool Context::idle(Stream& s) {
  if (&s == &legacy) {
    for (const auto& other : streams) {
      if (other->blocking && other->tail && !other->tail->done) return false;
    }
  }
  return !s.tail || s.tail->done;
}

Context* Gpus::current() {
  void* const handle = current_handle();
  for (const auto& [device, context] : contexts) {
    if (context.get() == handle) return context.get();
  }
  return nullptr;
}

Context* Gpus::context_of(uint64_t address) {
  for (const auto& [device, context] : contexts) {
    if (context->memory.owns(address)) return context.get();
  }
  return nullptr;
}

Gpus& gpus() {
  static Gpus* const all = new Gpus;
  return *all;
}

void*& current_handle() {
  static thread_local void* handle = nullptr;
  return handle;
}

void tell(const std::string& text) {
  if (!gpus().settings.quiet) std::fprintf(stderr, "emulated GPU: %s\n", text.c_str());
}

}  // namespace hone::tests
