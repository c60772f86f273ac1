#include "process/live/mapped_code.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace mixstack::process {
namespace {

// include/uapi/linux/fs.h of Linux 6.11.
struct ProcmapQuery {
  std::uint64_t size = sizeof(ProcmapQuery);
  std::uint64_t query_flags = 0, query_addr = 0;
  std::uint64_t vma_start = 0, vma_end = 0, vma_flags = 0, vma_page_size = 0, vma_offset = 0, inode = 0;
  std::uint32_t dev_major = 0, dev_minor = 0, vma_name_size = 0, build_id_size = 0;
  std::uint64_t vma_name_addr = 0, build_id_addr = 0;
};
static_assert(sizeof(ProcmapQuery) == 104);
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
enum : std::uint64_t { kExecutable = 0x04, kShared = 0x08, kCoveringOrNext = 0x10, kFileBacked = 0x20 };
constexpr int kMostMappings = 1 << 16;

}  // namespace

std::vector<MappedCode> mapped_code(std::span<const Region> regions) {
  std::vector<MappedCode> all;
  for (const Region& r : regions)
    if (r.executable && r.inode != 0 && !r.shared)
      all.push_back({r.range, r.file_offset, r.inode, r.device_major, r.device_minor});
  return all;
}

MappedCodeQuery::MappedCodeQuery(const ProcDir& proc) {
  if (auto fd = proc.open_memory_file("maps", O_RDONLY)) maps_ = std::move(*fd);
}

Result<void> MappedCodeQuery::ask(std::vector<MappedCode>& out) const {
  out.clear();
  ProcmapQuery query;
  query.query_flags = kExecutable | kFileBacked | kCoveringOrNext;
  for (int i = 0; i < kMostMappings; i++) {
    if (::ioctl(maps_.get(), kProcmapQuery, &query) != 0) {
      if (errno == ENOENT) return {};  // no further one
      return fail(errno == ENOTTY ? ErrorCode::unsupported : ErrorCode::io_error, 0, errno);
    }
    if ((query.vma_flags & kShared) == 0)
      out.push_back(
          {{query.vma_start, query.vma_end}, query.vma_offset, query.inode, query.dev_major, query.dev_minor});
    query.query_addr = query.vma_end;
    query.vma_name_size = query.build_id_size = 0;
  }
  return fail(ErrorCode::limit_exceeded, kMostMappings);
}

}  // namespace mixstack::process
