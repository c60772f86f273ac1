// LINK: mixstack_process_core
// A core's headers, segments, regions, memory and capture, with no other file at hand.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "process/core/core_target.h"
#include "process/core/dumped_memory.h"

namespace {

using namespace mixstack;
using namespace mixstack::process;

/// One file in memory, filled anew for each input.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("core", MFD_CLOEXEC)) {}
  [[nodiscard]] std::shared_ptr<const CoreBytes> hold(const std::uint8_t* data, std::size_t size) const {
    if (::ftruncate(fd_.get(), 0) != 0 || ::pwrite(fd_.get(), data, size, 0) != static_cast<ssize_t>(size))
      std::abort();
    auto bytes = CoreBytes::from_fd(base::ScopedFd(::dup(fd_.get())), "core", {});
    if (!bytes) std::abort();
    return std::move(*bytes);
  }

 private:
  base::ScopedFd fd_;
};

void check_segments(const CoreFile& file, std::size_t size) {
  Address end = 0;
  for (const CoreSegment& s : file.segments()) {
    if (s.range.empty() || s.range.begin < end || s.dumped > s.range.size()) std::abort();
    if (s.dumped != 0 && (s.file_offset > size || size - s.file_offset < s.dumped)) std::abort();
    end = s.range.end;
  }
}

void read_memory(const CoreFile& file) {
  const DumpedMemory memory(file);
  std::vector<std::byte> buffer(8192);
  for (const CoreSegment& s : file.segments()) {
    for (const Address at : {s.range.begin, s.range.begin + s.dumped / 2, s.range.end - 8, s.range.end})
      if (const auto n = memory.read_some(at, buffer); n && (*n == 0 || *n > buffer.size())) std::abort();
    const Address next = memory.next_dumped(s.range.begin, s.range.end);
    if (next < s.range.begin || next > s.range.end) std::abort();
  }
}

void capture(std::shared_ptr<const CoreBytes> bytes) {
  FileFinderOptions files;
  files.use_own_files = false;
  auto target = open_core(std::move(bytes), files);
  if (!target) return;
  const auto regions = (*target)->regions();
  const auto capture = (*target)->capture({});
  if (!regions || !capture) std::abort();
  std::byte word[8];
  for (const Region& r : *regions) {
    (void)(*target)->memory().read_some(r.range.begin, word);
    (void)(*target)->loaded_memory().read_some(r.range.end - 1, word);
    (void)(*target)->open_file(r);
  }
  (void)(*target)->diagnoses();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile memory_file;
  if (size < 4 || data[0] != 0x7f) return 0;  // compressed ones are the stream fuzzer's
  const auto bytes = memory_file.hold(data, size);
  if (const auto file = CoreFile::read(bytes)) {
    check_segments(*file, size);
    read_memory(*file);
  }
  capture(bytes);
  return 0;
}
