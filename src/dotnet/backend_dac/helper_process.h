// mixstack-helper as a child: started, watched, ended.
#pragma once

#include <sys/types.h>

#include <string>

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

  [[nodiscard]] static Outcome<HelperProcess> start(const std::string& program, const base::ScopedFd& dac);

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

/// Where the helper is looked for when no path is given: beside our own program, then in ../libexec/mixstack. Never
/// along PATH: it may run as root. Empty when it is in neither place.
[[nodiscard]] std::string find_helper();

}  // namespace mixstack::dotnet::dac
