#include "process/debugger/debug_engine.h"

#include <sys/eventfd.h>

namespace mixstack::process {

DebugEngine::DebugEngine()
    : tracer_(events_,
              [this](const ProcessPointer& process) { return make_debugged_process(shared_from_this(), process); }),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

DebugEngine::~DebugEngine() { shut_down(); }

Result<std::shared_ptr<DebugEngine>> DebugEngine::start() {
  auto engine = std::make_shared<DebugEngine>();
  if (!engine->wake_ || engine->events_.fd() < 0) return fail(ErrorCode::internal, 0, EMFILE);
  DebugEngine* const self = engine.get();
  auto ended = [self] {
    const std::lock_guard lock(self->mutex_);
    self->state_ = State::ended;
    self->changed_.notify_all();
    self->events_.set_sources(0);
  };
  auto process = TracerProcess::start(
      [self] {
        if (self->tracer_.loop.set_up()) self->serve();
      },
      ended);
  if (!process) return fail(process.error());
  engine->process_ = std::move(*process);
  // A first request shows whether the tracer's setup worked.
  if (auto alive = engine->run([] {}); !alive) return fail(alive.error());
  return engine;
}

void DebugEngine::wake() const { (void)::eventfd_write(wake_.get(), 1); }

Result<void> DebugEngine::run(std::function<void()> work) {
  if (!process_->is_ours()) return fail(ErrorCode::invalid_argument);
  Request request{std::move(work)};
  std::unique_lock lock(mutex_);
  if (state_ == State::running) {
    requests_.push_back(&request);
    wake();
    changed_.wait(lock, [&] { return request.done || state_ == State::ended; });
  }
  if (request.done) return {};
  std::erase(requests_, &request);
  return fail(was_shut_down_ ? ErrorCode::not_found : ErrorCode::internal);
}

void DebugEngine::answer_requests() {
  for (;;) {
    Request* request = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (requests_.empty()) return;
      request = requests_.front();
      requests_.pop_front();
    }
    request->work();
    const std::lock_guard lock(mutex_);
    request->done = true;
    changed_.notify_all();
  }
}

/// The main loop of the tracer.
void DebugEngine::serve() {
  for (;;) {
    tracer_.serve(wake_.get());
    eventfd_t count = 0;
    (void)::eventfd_read(wake_.get(), &count);
    answer_requests();
    const std::lock_guard lock(mutex_);
    if (state_ == State::stopping && requests_.empty()) break;
  }
  tracer_.release_all();
}

void DebugEngine::shut_down() {
  if (process_ == nullptr || !process_->is_ours()) return;
  {
    const std::lock_guard lock(mutex_);
    was_shut_down_ = true;
    if (state_ == State::running) state_ = State::stopping;
    wake();
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_ == State::ended; });
  }
  tracer_.table.forget_all();
  events_.clear();
}

}  // namespace mixstack::process
