// The program in the kernel: loaded, its memory mapped into ours, and run.
#pragma once

#include <bpf/libbpf.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "process/bpf/record.h"

namespace mixstack::bpf {

class KernelProgram {
 public:
  /// Errors: those of TaskIterator::open.
  [[nodiscard]] static Result<std::unique_ptr<KernelProgram>> load(const mixstack_settings& settings);
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;
  ~KernelProgram();

  /// Looks at every thread once. The answer is valid until the next round.
  [[nodiscard]] Result<std::span<const std::byte>> run(bool copies);
  /// Looks at threads that may have run since they were reported last, or are ready to; the process has the same
  /// threads as at the last `run`. Nothing: this kernel cannot, or other threads have come or gone.
  [[nodiscard]] std::optional<std::span<const std::byte>> run_for_moved();
  /// The next part, if `run_for_moved` had no room for all; it replaces the last one. Empty: that was all.
  [[nodiscard]] std::span<const std::byte> run_for_more();

 private:
  static constexpr int kRoundsOfAll = 4;  ///< full rounds after `run_for_moved` was of no use

  KernelProgram() = default;
  [[nodiscard]] Result<void> open(const mixstack_settings& settings, bool can_iterate);
  mixstack_control& begin_round();
  [[nodiscard]] bool run_program();
  [[nodiscard]] Result<void> attach(std::uint32_t pid);

  struct CloseObject {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };
  struct DestroyLink {
    void operator()(bpf_link* link) const { bpf_link__destroy(link); }
  };
  std::unique_ptr<bpf_object, CloseObject> object_;
  std::unique_ptr<bpf_link, DestroyLink> link_;
  std::span<std::byte> control_, records_;  ///< memory of its maps
  std::chrono::steady_clock::time_point minute_began_;
  int moved_program_ = -1;  ///< descriptor, the object's
  int rounds_of_all_ = 0;   ///< full rounds still to come
};

}  // namespace mixstack::bpf
