// mixstack-helper as a child: started, watched, ended.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/system/service_process.h"
#include "base/system/trusted_file.h"
#include "dotnet/dac/dac_file.h"
#include "dotnet/dac/message_channel.h"

namespace mixstack::dotnet::dac {

/// A running helper: a child with an empty environment that ends with the thread that started it, or when its socket is
/// closed. Ended and reaped by the destructor.
class HelperProcess {
 public:
  /// Executes the very file that `program` holds.
  [[nodiscard]] static Outcome<HelperProcess> start(const base::TrustedFile& program, const base::ScopedFd& dac);

  [[nodiscard]] bool is_running() const { return process_.is_running(); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] MessageChannel& channel() { return channel_; }
  /// Ends it and says how it had ended before: "ended by signal 11 (Segmentation fault)", "exited with 3", "was ended".
  std::string end();

 private:
  base::ServiceProcess process_;
  MessageChannel channel_;  // goes first: the helper ends when it is closed
};

/// The helper at `path`, or where it is looked for when that is empty: beside our own program, then in
/// ../libexec/mixstack, never along PATH. It may run as root, so one that others could have put there is refused
/// (`base/system/trusted_file.h`); the diagnosis says whose it is, or that there is none.
[[nodiscard]] Outcome<base::TrustedFile> find_helper(const std::string& path = {});

}  // namespace mixstack::dotnet::dac
