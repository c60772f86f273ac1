// Runs another program and reads its output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"

namespace mixstack::process {

/// The first executable `name` in the folders of `search_path` (a PATH; empty and relative entries do not count) that
/// may be run (`base/system/trusted_file.h`). If only refused ones exist, the first of those, so that ChildProcess
/// explains why; "" if there is none.
[[nodiscard]] std::string find_program(const std::string& name, const std::string& search_path);

struct ChildOutput {
  std::string out;
  std::string err;
  bool succeeded = false;  ///< it ended by itself with status 0
  bool timed_out = false;
};

/// Whether the child's standard error is kept. A caller that reads only out() must drop it, or a child that prints much
/// there waits for ever.
enum class ChildErrors : std::uint8_t { keep, drop };

/// A child with its output in pipes and no input, started without a shell and with no signal blocked. The destructor
/// kills it.
class ChildProcess final {
 public:
  /// `arguments` without the program's own name. A program that others could have put there or changed is not run.
  [[nodiscard]] static tl::expected<ChildProcess, Diagnosis> start(const std::string& program,
                                                                   const std::vector<std::string>& arguments,
                                                                   ChildErrors errors = ChildErrors::keep);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Its standard output, for callers that want more than `finish` gives.
  [[nodiscard]] int out() const { return out_.get(); }
  /// Reads what it prints, up to `limit` bytes each, until it ends or the time is over; then kills it. Call once.
  [[nodiscard]] ChildOutput finish(std::chrono::milliseconds timeout, std::size_t limit = 64 << 10);

 private:
  ChildProcess() = default;
  void read_all(ChildOutput& result, std::chrono::steady_clock::time_point end, std::size_t limit);
  [[nodiscard]] bool reap(std::chrono::steady_clock::time_point end, int& status);

  pid_t pid_ = -1;
  base::ScopedFd out_;
  base::ScopedFd err_;
};

}  // namespace mixstack::process
