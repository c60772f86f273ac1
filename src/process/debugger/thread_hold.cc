// Guards that hold threads.
#include <utility>

#include "process/debugger/debug_session.h"

namespace mixstack::process {

ThreadHold::ThreadHold(ThreadHold&& other) noexcept { *this = std::move(other); }

ThreadHold& ThreadHold::operator=(ThreadHold&& other) noexcept {
  if (this == &other) return *this;
  release();
  process_ = std::exchange(other.process_, nullptr);
  id_ = std::exchange(other.id_, 0);
  session_ = std::exchange(other.session_, nullptr);
  return *this;
}

void ThreadHold::release() {
  if (process_ == nullptr) return;
  process_->remove_guard(id_);
  process_.reset();
  session_.reset();
}

Result<ThreadHold> DebuggedProcess::stop(std::span<const ThreadId> tids, std::chrono::milliseconds timeout) {
  auto id = add_guard(tids, timeout);
  if (!id) return fail(id.error());
  return ThreadHold(shared_from_this(), *id);
}

Result<ThreadHold> stop_process(std::uint32_t pid, std::span<const ThreadId> tids, std::chrono::milliseconds timeout) {
  auto session = DebugSession::open();
  if (!session) return fail(session.error());
  DebugOptions options;
  options.report = {};
  auto process = (*session)->attach(pid, options);
  if (!process) return fail(process.error());
  auto guard = (*process)->stop(tids, timeout);
  if (guard) guard->session_ = std::move(*session);
  return guard;
}

}  // namespace mixstack::process
