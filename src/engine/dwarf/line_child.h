// A LineTable in a process of its own, because libdw may crash on hostile debug information.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/system/scoped_fd.h"
#include "engine/dwarf/line_table.h"

namespace mixstack::symbols {

/// A child made by fork, which ends with this object, or with this process, when their link closes. It reads the files
/// that this process has opened and writes nothing but answers; its time and memory are bounded. Not thread-safe.
class LineChild {
 public:
  static constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;  ///< more than we have ourselves
  static constexpr std::uint32_t kMostPlaces = 256, kMostText = 16 << 10;

  /// `budget` is borrowed. Errors: `not_found` (no debug information), `limit_exceeded` (packed), `io_error`.
  [[nodiscard]] static Result<std::unique_ptr<LineChild>> start(std::shared_ptr<const images::ElfImage> image,
                                                                std::shared_ptr<const images::ElfImage> shared,
                                                                DebugSections::Packed packed, LineBudget& budget);
  ~LineChild();
  LineChild(const LineChild&) = delete;
  LineChild& operator=(const LineChild&) = delete;

  /// As LineTable::at. Empty, too, when it has died or the time is spent.
  [[nodiscard]] std::vector<SourcePlace> at(std::uint64_t address);

 private:
  LineChild(pid_t child, base::ScopedFd handle, base::ScopedFd link, LineBudget& budget)
      : child_(child), handle_(std::move(handle)), link_(std::move(link)), budget_(budget) {}
  [[nodiscard]] bool read(void* out, std::size_t size);
  [[nodiscard]] bool read_place(SourcePlace& place);
  [[nodiscard]] bool read_text(std::string& out);
  void end();

  pid_t child_;
  base::ScopedFd handle_;  ///< a pidfd, or none
  base::ScopedFd link_;
  LineBudget& budget_;
};

}  // namespace mixstack::symbols
