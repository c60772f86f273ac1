// A helper program as a child process, reached over a socket: started, watched, ended.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/system/scoped_fd.h"
#include "base/system/trusted_file.h"
#include "mixstack/diagnosis.h"

namespace mixstack::base {

/// The child's descriptor of the socket; descriptors handed over follow.
inline constexpr int kServiceSocket = 3;

/// The child has its own process group, no blocked signals, and only the standard streams and the given descriptors. It
/// ends with the thread that started it (it requests that itself: PR_SET_PDEATHSIG) or when its socket is closed. The
/// destructor ends and reaps it; no other child is waited for, and no signal handler is installed.
class ServiceProcess {
 public:
  ServiceProcess() = default;
  ServiceProcess(ServiceProcess&& other) noexcept { swap(other); }
  ServiceProcess& operator=(ServiceProcess&& other) noexcept {
    swap(other);
    return *this;
  }
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;
  ~ServiceProcess();

  /// Executes the very file that `program` holds, with the arguments `--serve PID-OF-OURS`. `files` become its
  /// descriptors from 4 on. Its environment is the one given.
  [[nodiscard]] static tl::expected<ServiceProcess, Diagnosis> start(const TrustedFile& program,
                                                                     std::span<const int> files,
                                                                     std::vector<std::string> environment = {});

  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Our end of the socket.
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] ScopedFd take_socket() { return std::move(socket_); }
  /// Ends it and says how it had ended before: "ended by signal 11 (Segmentation fault)", "exited with 3", "was ended".
  std::string end();

 private:
  void swap(ServiceProcess& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(socket_, other.socket_);
  }

  pid_t pid_ = -1;
  ScopedFd socket_;
};

/// The program `name` beside our own or in ../libexec/mixstack, never along PATH; the one at `path` if that is given.
/// It may run as root, so a file that others could have put there is refused. The diagnosis names its owner, or says
/// that there is none and what it is `needed_for`.
[[nodiscard]] tl::expected<TrustedFile, Diagnosis> find_service(const std::string& name, const std::string& needed_for,
                                                                const std::string& path = {});

}  // namespace mixstack::base
