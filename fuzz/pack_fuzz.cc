// LINK: mixstack_process_pack
// A pack's archive and manifest, and the core that is found in it; checksums of tar headers are mended, so that what is
// behind them is reached.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "process/core/core_target.h"
#include "process/pack/manifest.h"
#include "process/pack/pack_reader.h"
#include "process/pack/tar_header.h"

namespace {

using namespace mixstack;

constexpr std::size_t kChecksum = 148;

void mend(std::span<std::byte> header) {
  std::fill_n(header.begin() + kChecksum, 8, std::byte{' '});
  unsigned sum = 0;
  for (const std::byte b : header) sum += std::to_integer<unsigned>(b);
  for (std::size_t i = 6; i-- > 0; sum /= 8) header[kChecksum + i] = std::byte(sum % 8 + '0');
  header[kChecksum + 6] = std::byte{0};
}

std::shared_ptr<const process::CoreBytes> hold(std::span<const std::byte> bytes) {
  base::ScopedFd fd(::memfd_create("pack", MFD_CLOEXEC));
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  auto opened = process::CoreBytes::from_fd(std::move(fd), "pack", {});
  return opened ? std::shared_ptr<const process::CoreBytes>(std::move(*opened)) : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (64 << 10)) return -1;
  const auto input = std::as_bytes(std::span(data, size));
  (void)pack::check_manifest({reinterpret_cast<const char*>(data), size});
  std::vector<std::byte> bytes(input.begin(), input.end());
  for (std::size_t at = 0; at + pack::kTarBlock <= bytes.size(); at += pack::kTarBlock)
    if (std::memcmp(bytes.data() + at + 257, "ustar", 5) == 0) mend(std::span(bytes).subspan(at, pack::kTarBlock));
  const auto held = hold(bytes);
  if (!held || held->decompressed()) return 0;
  auto opened = pack::open_pack(held);
  if (!opened) return 0;
  if (opened->core->size() > size) std::abort();
  for (const char* path : {"/a", "/lib/libc.so.6", "/../a", ""})
    if (const auto file = opened->files(path); file && (*file)->size() > size) std::abort();
  process::FileFinderOptions files;
  files.use_own_files = false;
  files.packed = opened->files;
  if (auto core = process::open_core(opened->core, files)) (void)(*core)->capture({});
  return 0;
}
