// LINK: mixstack_process_core
// A compressed core: four decoders, frames and padding between them, the sparse file they are
// unpacked to; read as a file and from a pipe, which must come to the same.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "process/core/core_bytes.h"

namespace {

using namespace mixstack;
using namespace mixstack::process;

constexpr std::uint64_t kLimit = 2 << 20;
constexpr std::size_t kPipe = 32 << 10;  // less than any pipe holds

base::ScopedFd as_file(std::span<const std::byte> bytes) {
  base::ScopedFd fd(::memfd_create("core", MFD_CLOEXEC));
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  return fd;
}

base::ScopedFd as_pipe(std::span<const std::byte> bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  const base::ScopedFd in(ends[1]);
  if (::write(in.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  return base::ScopedFd(ends[0]);
}

Result<std::unique_ptr<CoreBytes>> opened(base::ScopedFd fd) {
  CoreBytesOptions options;
  options.max_size = kLimit;
  options.keep_free = 0;
  options.temporary_folder = "/dev/shm";
  auto core = CoreBytes::from_fd(std::move(fd), "fuzz", options);
  if (core && (*core)->truncated() != (*core)->diagnosis().has_value()) std::abort();
  return core;
}

std::vector<std::byte> all_of(const CoreBytes& core) {
  std::vector<std::byte> bytes(core.size() + 1);
  const auto n = core.read_at(0, bytes);
  if (!n || *n != core.size()) std::abort();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kPipe) return -1;
  const auto input = std::as_bytes(std::span(data, size));
  const auto file = opened(as_file(input));
  if (file && !(*file)->decompressed()) return 0;
  const auto pipe = opened(as_pipe(input));
  if (file.has_value() != pipe.has_value()) std::abort();
  if (!file) return file.error() == pipe.error() ? 0 : (std::abort(), 0);
  if ((*file)->size() > kLimit || (*file)->stream_end() != (*pipe)->stream_end()) std::abort();
  if (all_of(**file) != all_of(**pipe)) std::abort();
  return 0;
}
