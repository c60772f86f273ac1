// The first stage of a dump: the common stop.
#include "session/dump_in_progress.h"

namespace mixstack::session {

Result<Capture> take_capture(Target& target, Worker& worker, const DumpOptions& options, bool names) {
  CaptureRequest request;
  request.threads = options.threads;
  request.stop_timeout = options.stop_timeout;
  request.late_timeout = options.late_timeout;
  request.stack_byte_budget = options.stack_byte_budget;
  request.roots = worker.prepare_roots();
  request.vectors = options.vectors;
  request.together = options.together;
  request.names = names;
  if (request.together != 0 && !options.together_with_roots) request.roots = nullptr;
  auto capture = target.capture(request);
  worker.forget_memory();
  return capture;
}

void stages::capture(DumpInProgress& at) {
  Target& target = at.from.target;
  if (at.options.facts) target.prepare_thread_facts(at.options.threads, at.options.off_cpu);
  auto captured = take_capture(target, at.worker(), at.options, !at.options.facts);  // the facts have the names, too
  if (!captured) {
    at.failure = captured.error();
    return;
  }
  at.captured_at = std::chrono::steady_clock::now();
  at.capture = std::move(*captured);
  if (!at.capture.regions) {
    auto regions = target.regions();
    if (!regions) {
      at.failure = regions.error();
      return;
    }
    at.capture.regions = std::make_shared<const std::vector<Region>>(std::move(*regions));
  }
  at.worker().follow(at.from.follow(at.capture.regions));
  at.elf.emplace(at.worker().modules(), at.from.open_path, at.from.symbol_tables);
  at.generated.emplace(at.worker().generated(), at.regions());
  at.dump.target = target.info();
  at.dump.pause = at.capture.pause;
  at.dump.consistency = at.capture.consistency;
  at.dump.threads_not_stopped = at.capture.threads_not_stopped;
}

}  // namespace mixstack::session
