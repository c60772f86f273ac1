// mixstack-helper as a child: started, watched, ended.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/trusted_file.h"
#include "dotnet/backend_dac/dac_file.h"
#include "dotnet/backend_dac/message_channel.h"

namespace mixstack::dotnet::dac {

/// A running helper. It is a child with an empty environment and a process group of its own, and ends with the thread
/// that started it (PR_SET_PDEATHSIG) or when its socket is closed. Ended and reaped by the destructor; no other child
/// of the program is waited for, and no signal handler is installed.
class HelperProcess {
 public:
  HelperProcess() = default;
  HelperProcess(HelperProcess&& other) noexcept { swap(other); }
  HelperProcess& operator=(HelperProcess&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HelperProcess();

  /// Executes the very file that `program` holds.
  [[nodiscard]] static Outcome<HelperProcess> start(const base::TrustedFile& program, const base::ScopedFd& dac);

  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] MessageChannel& channel() { return channel_; }
  /// Ends it and says how it had ended before: "ended by signal 11 (Segmentation fault)", "exited with 3", "was ended".
  std::string end();

 private:
  void swap(HelperProcess& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(channel_, other.channel_);
  }

  pid_t pid_ = -1;
  MessageChannel channel_;
};

/// The helper at `path`, or where it is looked for when that is empty: beside our own program, then in
/// ../libexec/mixstack, never along PATH. It may run as root, so one that others could have put there is refused
/// (`base/trusted_file.h`); the diagnosis says whose it is, or that there is none.
[[nodiscard]] Outcome<base::TrustedFile> find_helper(const std::string& path = {});

}  // namespace mixstack::dotnet::dac
