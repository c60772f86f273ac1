// The program in the kernel: loaded, its memory mapped into ours, and run.
#pragma once

#include <bpf/libbpf.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "base/scoped_fd.h"
#include "bpf/record.h"
#include "mixstack/result.h"

namespace mixstack::bpf {

class KernelProgram {
 public:
  /// Errors: those of TaskIterator::open.
  [[nodiscard]] static Result<std::unique_ptr<KernelProgram>> load(const mixstack_settings& settings);
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;
  ~KernelProgram();

  /// Looks at every thread once. What it says lies in the answer until the next round.
  [[nodiscard]] Result<std::span<const std::byte>> run(bool copies);

 private:
  KernelProgram() = default;
  [[nodiscard]] Result<void> open(const mixstack_settings& settings);
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
};

}  // namespace mixstack::bpf
