#include "dotnet/dac/dac_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace mixstack::dotnet::dac {
namespace {

// "@(#)Version 10.0.1226.42308 @Commit: 9501...": see dotnet/code/runtime.cc, every library of a release has it.
constexpr std::string_view kVersionMark = "@(#)Version ";
constexpr std::string_view kCommitMark = "@Commit: ";
constexpr std::uint64_t kMaxFile = 64u << 20;  // DACs have 2.4 MB

std::string_view word(std::string_view text) {
  return text.substr(0, std::min<std::size_t>(text.find_first_of(std::string_view(" \0\n", 3)), 64));
}

Outcome<base::ScopedFd> failed(int error, const std::string& path, const char* what) {
  return tl::unexpected(mixstack::Diagnosis{{ErrorCode::io_error, error, 0}, path, what});
}

}  // namespace

std::string dac_path_beside(const RuntimeImage& runtime) {
  const auto slash = runtime.path.rfind('/');
  return runtime.path.substr(0, slash == std::string::npos ? 0 : slash + 1) + std::string(kDacFileName);
}

DacVersion dac_version(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto at = text.find(kVersionMark);
  if (at == std::string_view::npos) return {};
  auto rest = text.substr(at + kVersionMark.size(), 256);
  rest = rest.substr(0, rest.find('\0'));
  DacVersion found{std::string(word(rest)), {}};
  if (const auto commit = rest.find(kCommitMark); commit != std::string_view::npos)
    found.commit = word(rest.substr(commit + kCommitMark.size()));
  return found;
}

Outcome<void> check_version(const DacVersion& dac, const RuntimeImage& runtime, const std::string& path) {
  const bool commits_differ = !runtime.commit.empty() && dac.commit != runtime.commit;
  // A version from the runtime's path ("10.0.12") comes without a commit and in another form.
  const bool versions_differ = !runtime.commit.empty() && dac.version != runtime.version;
  if (!commits_differ && !versions_differ) return {};
  const std::string whose = dac.version.empty() ? "of an unknown version" : "of " + dac.version;
  return tl::unexpected(mixstack::Diagnosis{
      {ErrorCode::mismatch, 0, 0}, path, "this DAC is " + whose + ", the runtime is " + runtime.version});
}

Outcome<base::ScopedFd> sealed_copy(std::span<const std::byte> file, const std::string& path) {
  if (file.empty() || file.size() > kMaxFile)
    return tl::unexpected(mixstack::Diagnosis{{ErrorCode::malformed, 0, file.size()}, path, "no DAC is this long"});
  base::ScopedFd fd(::memfd_create("mixstack-dac", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return failed(errno, path, "memfd_create failed");
  for (std::size_t done = 0; done < file.size();) {
    const ssize_t n = ::write(fd.get(), file.data() + done, file.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(errno, path, "the copy could not be written");
    done += static_cast<std::size_t>(n);
  }
  // The helper opens it after it has changed its user.
  if (::fchmod(fd.get(), 0555) != 0) return failed(errno, path, "the copy could not be made readable");
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return failed(errno, path, "the copy could not be sealed");
  return fd;
}

}  // namespace mixstack::dotnet::dac
