// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include "tests/cuda/gpu/calls.h"

using namespace hone::tests;

int cuStreamCreate(void** stream, unsigned flags) {
  return in_context(Call::stream_create, [&](Context& c, auto&) {
    if (!stream || flags > 1) return kInvalidValue;
    auto made = std::make_unique<Stream>();
    made->blocking = flags == 0;
    *stream = made.get();
    c.streams.insert(std::move(made));
    return kSuccess;
  });
}

int cuStreamDestroy_v2(void* stream) {
  return in_context(Call::stream_destroy, [&](Context& c, auto&) {
    // Its work goes on.
    return discard(c.streams, stream) ? kSuccess : kInvalidHandle;
  });
}

int cuStreamSynchronize(void* stream) {
  return in_context(Call::stream_synchronize, [&](Context& c, auto& lock) -> int {
    Stream* const s = c.stream(stream);
    if (!s) return kInvalidHandle;
    // Nothing, after all that is there.
    const WorkRef end = c.queue.add(nullptr, c.front(*s));
    s->tail = end;
    c.queue.finish(lock, end);
    return c.queue.error();
  });
}

int cuStreamQuery(void* stream) {
  return in_context(Call::stream_query, [&](Context& c, auto&) {
    Stream* const s = c.stream(stream);
    if (!s) return kInvalidHandle;
    if (c.idle(*s)) return kSuccess;
    c.queue.poll();
    return kNotReady;
  });
}

int cuStreamIsCapturing(void* stream, int* status) {
  return in_context(Call::stream_capturing, [&](Context& c, auto&) {
    if (!c.stream(stream)) return kInvalidHandle;
    if (!status) return kInvalidValue;
    *status = gpus().settings.capturing ? 1 : 0;
    return kSuccess;
  });
}

int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return in_context(Call::stream_wait, [&](Context& c, auto&) {
    Stream* const s = c.stream(stream);
    Event* const e = member(c.events, event);
    if (!s || !e) return kInvalidHandle;
    if (flags > 1) return kInvalidValue;
    if (e->work) s->waits.push_back(e->work);
    return kSuccess;
  });
}

int cuEventCreate(void** event, unsigned flags) {
  return in_context(Call::event_create, [&](Context& c, auto&) {
    if (!event || flags > 7) return kInvalidValue;
    auto made = std::make_unique<Event>();
    made->timed = (flags & 2) == 0;
    *event = made.get();
    c.events.insert(std::move(made));
    return kSuccess;
  });
}

int cuEventDestroy_v2(void* event) {
  return in_context(Call::event_destroy, [&](Context& c, auto&) {
    return discard(c.events, event) ? kSuccess : kInvalidHandle;
  });
}

int cuEventRecord(void* event, void* stream) {
  return in_context(Call::event_record, [&](Context& c, auto&) {
    Stream* const s = c.stream(stream);
    Event* const e = member(c.events, event);
    if (!s || !e) return kInvalidHandle;
    e->work = c.enqueue(*s, nullptr);
    return kSuccess;
  });
}

int cuEventSynchronize(void* event) {
  return in_context(Call::event_synchronize, [&](Context& c, auto& lock) -> int {
    Event* const e = member(c.events, event);
    if (!e) return kInvalidHandle;
    const WorkRef work = e->work;
    if (work) c.queue.finish(lock, work);
    return c.queue.error();
  });
}

int cuEventQuery(void* event) {
  return in_context(Call::event_query, [&](Context& c, auto&) {
    Event* const e = member(c.events, event);
    if (!e) return kInvalidHandle;
    if (!e->work || e->work->done) return kSuccess;
    c.queue.poll();
    return kNotReady;
  });
}

int cuEventElapsedTime(float* ms, void* begin, void* end) {
  return in_context(Call::event_elapsed, [&](Context& c, auto&) {
    Event* const from = member(c.events, begin);
    Event* const to = member(c.events, end);
    if (!from || !to || !from->timed || !to->timed) return kInvalidHandle;
    if (!from->work || !to->work) return kInvalidHandle;
    if (!from->work->done || !to->work->done) return kNotReady;
    *ms = static_cast<float>(to->work->ms - from->work->ms);
    return kSuccess;
  });
}
