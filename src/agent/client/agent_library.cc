#include "agent/client/agent_library.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "base/system/trusted_file.h"

namespace mixstack::agent_client {
namespace {

/// File name of the agent that a process can load: it is built for one C library.
[[nodiscard]] std::string name_for(const TargetPlace& place) {
  return place.has_musl ? "libmixstack_agent-musl.so" : "libmixstack_agent.so";
}

[[nodiscard]] std::string own_folder() {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink("/proc/self/exe", text.data(), text.size());
  const std::string_view path(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(path.substr(0, path.rfind('/')));
}

/// With symbolic links resolved; empty: no such file.
[[nodiscard]] std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

/// A path in our own file system.
[[nodiscard]] std::string beside_us(const std::string& name) {
  const std::string folder = own_folder();
  for (const char* place : {"/", "/../lib/"})
    if (std::string path = real_path(folder + place + name); !path.empty()) return path;
  return {};
}

[[nodiscard]] bool is_readable_for(const struct stat& st, const TargetPlace& place) {
  if (place.user == 0 || place.user == place.root_user) return true;
  return st.st_uid == place.user ? (st.st_mode & S_IRUSR) != 0 : (st.st_mode & S_IROTH) != 0;
}

[[nodiscard]] std::string in_container_hint(const TargetPlace& place) {
  if (!place.has_own_root) return {};
  return ". Process " + std::to_string(place.pid) + " has a file system of its own (a container): copy " +
         name_for(place) + " into it, for example by 'docker cp', and give its path there with --library";
}

[[nodiscard]] std::string_view reason_of(const Error& error) {
  if (error.code == ErrorCode::not_found) return "no_such_file";
  // Without an errno it was reached, and others may write it or a folder above it.
  return error.code == ErrorCode::permission_denied && error.os_error == 0 ? "library_not_trusted"
                                                                           : "library_not_readable";
}

}  // namespace

Outcome<std::string> library_for(const TargetPlace& place, const std::string& chosen) {
  std::string path = chosen;
  if (path.empty()) path = beside_us(name_for(place));
  if (path.empty())
    return refuse(ErrorCode::not_found, "no_library",
                  "there is no " + name_for(place) + " beside mixstack (" + own_folder() + ") or in ../lib: " +
                      (place.has_musl ? "the process runs on musl, its agent is made by 'make musl'; " : "") +
                      "install it there, or give its path with --library" + in_container_hint(place));
  if (!chosen.empty() && !place.has_own_root) path = real_path(chosen);
  if (path.empty() || path.front() != '/')
    return refuse(ErrorCode::not_found, "no_such_file",
                  chosen + ": there is no such file" +
                      (place.has_own_root ? "; the path must be absolute, as the process sees it" : ""));
  base::ProgramTrust trust;
  trust.user = place.user;
  trust.root = place.root_user;
  trust.root_folder = place.root.get();
  trust.is_program = false;
  const auto file = base::open_trusted_file(path, trust);
  if (!file)
    return refuse(file.error().error.code, reason_of(file.error().error),
                  path + ": " + file.error().text + in_container_hint(place), file.error().error.os_error);
  struct stat st {};
  if (::fstat(file->fd.get(), &st) != 0 || !is_readable_for(st, place))
    return refuse(ErrorCode::permission_denied, "library_not_readable",
                  path + ": the process (uid " + std::to_string(place.user) +
                      ") may not read it: chmod a+r, or put it elsewhere");
  return path;
}

}  // namespace mixstack::agent_client
