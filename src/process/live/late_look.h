// Threads that did not stop in time, looked at without a stop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "mixstack/target.h"
#include "process/live/process_view.h"

namespace mixstack::process {

/// Looks at a thread that gets no processor: its registers do not change, so nothing has to be stopped.
class LateLook {
 public:
  virtual ~LateLook() = default;
  /// Prepares what takes time, once. False: this machine does not permit it, and `diagnoses` says why.
  [[nodiscard]] virtual bool prepare() = 0;
  /// After `prepare`, and begins at once. Captures those of the request's threads that provably did not run while
  /// they were read (others in `Capture::late`), and names the rest with an error. Stops nothing.
  [[nodiscard]] virtual Result<Capture> look(const CaptureRequest& request) = 0;
  [[nodiscard]] virtual std::vector<Diagnosis> diagnoses() const = 0;
};
using MakeLateLook = std::function<std::unique_ptr<LateLook>(std::shared_ptr<const ProcessView>)>;

/// Looks at the threads of `capture` that were ready to run and did not stop. Each one that is seen becomes one of
/// `Capture::late`, in a capture that is `not_stopped`; the others stay in `capture` as they were. `instant`: when the
/// threads that were captured together were asked to stop. `request`: the one of `capture`. Answers whether there was
/// any such thread.
bool look_at_late_threads(Capture& capture, const CaptureRequest& request,
                          std::chrono::steady_clock::time_point instant, LateLook& look);

}  // namespace mixstack::process
