// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda/gpu/memory.h"
#include "tests/cuda/gpu/models.h"
#include "tests/cuda/gpu/module.h"
#include "tests/cuda/gpu/queue.h"
#include "tests/cuda/gpu/settings.h"

namespace hone::tests {

/// Work in order.
struct Stream {
  bool blocking = true;        ///< waits for the default stream, and it for this one
  WorkRef tail;                ///< what was added last
  std::vector<WorkRef> waits;  ///< what the next work waits for besides
};

/// A moment of a stream.
struct Event {
  bool timed = true;
  WorkRef work;  ///< that it marks; null before it is recorded
};

/// A launch as it was asked for: the parameters are copies.
struct LaunchRequest {
  Kernel* kernel = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<std::vector<unsigned char>> parameters;
};

/// Launches and what each comes after.
struct Graph {
  struct Node {
    LaunchRequest launch;
    std::vector<Node*> after;
  };
  std::vector<std::unique_ptr<Node>> nodes;
};

/// A graph as it was when it was made executable.
struct GraphExec {
  struct Step {
    const Graph::Node* node;  ///< of the graph that it was made from, as its name
    LaunchRequest launch;
    std::vector<size_t> after;  ///< earlier steps
  };
  std::vector<Step> steps;
};

/// The primary context of a device: all that a process has there.
struct Context {
  Context(std::mutex& mutex, int device, const Settings& settings);
  ~Context();

  int device;
  const Model* model;
  size_t capacity;  ///< bytes
  Memory memory;
  Queue queue;
  Stream legacy;  ///< the default stream
  std::set<std::unique_ptr<Stream>, std::less<>> streams;
  std::set<std::unique_ptr<Event>, std::less<>> events;
  std::set<std::unique_ptr<Module>, std::less<>> modules;
  std::set<std::unique_ptr<Graph>, std::less<>> graphs;
  std::set<std::unique_ptr<GraphExec>, std::less<>> executables;
  std::map<uint64_t, size_t> pinned;  ///< host memory that copies may use where it lies

  /// The stream behind a handle, or null.
  Stream* stream(void* handle);
  /// Adds work to a stream, after what is there.
  WorkRef enqueue(Stream& stream, std::function<int()> run, bool endless = false);
  /// What new work of a stream waits for.
  std::vector<WorkRef> front(Stream& stream);
  /// Whether all of a stream's work is done.
  bool idle(Stream& stream);
  Kernel* kernel(void* handle);
};

/// The member of a set of owned objects that a handle names, or null.
template <class T>
T* member(std::set<std::unique_ptr<T>, std::less<>>& set, void* handle) {
  for (const auto& one : set) {
    if (one.get() == handle) return one.get();
  }
  return nullptr;
}

/// Takes a member out; false where there is none.
template <class T>
bool discard(std::set<std::unique_ptr<T>, std::less<>>& set, void* handle) {
  for (auto it = set.begin(); it != set.end(); ++it) {
    if (it->get() == handle) return set.erase(it), true;
  }
  return false;
}

/// The machine's GPUs.
struct Gpus {
  std::mutex mutex;
  bool initialized = false;
  Settings settings;
  std::map<int, std::unique_ptr<Context>> contexts;  ///< primary ones, by device
  std::map<int, int> retained;
  std::map<int, int> broken;  ///< devices whose error outlives the context
  int64_t launches = 0;

  Context* current();  ///< of this thread, or null
  Context* context_of(uint64_t address);
};

/// All of it, made at first use and never taken down: threads may outlive everything else.
Gpus& gpus();

/// The context that this thread has made current; a handle that may be stale.
void*& current_handle();

/// Tells what a kernel or a caller did, on stderr.
void tell(const std::string& text);

}  // namespace hone::tests
