// A process of this machine as a Target: its view, and a source of captures.
#pragma once

#include <memory>

#include "process/live/process_view.h"

namespace mixstack::process {

/// One way to find out where the threads of a process are: a stop by ptrace, a signal, a child that looks at us, a
/// debugger that holds the threads anyway.
class CaptureSource {
 public:
  virtual ~CaptureSource() = default;
  [[nodiscard]] virtual Result<std::vector<ThreadId>> threads() const = 0;
  /// As Target::capture.
  [[nodiscard]] virtual Result<Capture> capture(const CaptureRequest& request) = 0;
  /// Faults found so far.
  [[nodiscard]] virtual std::vector<Diagnosis> diagnoses() const { return {}; }
};

/// Everything but captures and threads comes from the view.
[[nodiscard]] std::unique_ptr<Target> make_view_target(std::shared_ptr<const ProcessView> view,
                                                       std::unique_ptr<CaptureSource> source);

}  // namespace mixstack::process
