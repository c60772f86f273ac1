#include "process/live/process_view.h"

#include <fcntl.h>

#include <utility>

#include "process/kernel/memory_map.h"
#include "process/live/file_access.h"
#include "process/live/process_info.h"

namespace mixstack::process {
namespace {

[[nodiscard]] base::ScopedFd open_memory(const ProcDir& proc) {
  auto fd = proc.open_memory_file("mem", O_RDONLY);
  return fd ? std::move(*fd) : base::ScopedFd();
}

[[nodiscard]] GuestMemory::RegionList list_of(Result<std::vector<Region>> regions) {
  return regions ? std::make_shared<const std::vector<Region>>(std::move(*regions)) : nullptr;
}

}  // namespace

ProcessView::ProcessView(ProcDir directory)
    : proc(std::move(directory)),
      auxv(proc.read_memory_file("auxv").value_or("")),
      memory(proc, open_memory(proc), [this] { return list_of(read_regions()); }) {}

Result<std::shared_ptr<ProcessView>> ProcessView::open(std::uint32_t pid) {
  auto proc = ProcDir::open(pid);
  if (!proc) return fail(proc.error());
  auto info = read_process_info(*proc);
  if (!info) return fail(info.error());
  auto view = std::make_shared<ProcessView>(std::move(*proc));
  view->info = std::move(*info);
  return view;
}

Result<std::vector<Region>> ProcessView::read_regions() const {
  const auto fd = proc.open_memory_file("maps", O_RDONLY);
  if (!fd) return fail(fd.error());
  return read_memory_map(fd->get());
}

Result<std::vector<Region>> ProcessView::regions() const {
  ListedMappings listed{nullptr, proc.mapped_sizes(), std::chrono::steady_clock::now()};
  auto all = read_regions();
  if (!all) return all;
  listed.regions = std::make_shared<const std::vector<Region>>(*all);
  memory.use(listed.regions);
  const std::lock_guard lock(listed_mutex_);
  listed_ = std::move(listed);
  return all;
}

ListedMappings ProcessView::listed() const {
  const std::lock_guard lock(listed_mutex_);
  return listed_;
}

Result<std::shared_ptr<const FileBytes>> ProcessView::open_file(const Region& region) const {
  if (auto opened = memory.file_of(region)) return opened;
  return open_mapped_file(proc, region);  // says why not
}

Result<std::shared_ptr<const FileBytes>> ProcessView::open_path(const std::string& path) const {
  return open_target_path(proc, path);
}

// The auxiliary vector holds addresses and random bytes that differ in every program image.
Result<void> ProcessView::check_same_program() const {
  auto now = proc.read_memory_file("auxv");
  if (!now) return fail(now.error());
  if (now->empty()) return fail(ErrorCode::no_such_process, proc.pid());
  if (*now != auxv) return fail(ErrorCode::process_changed, proc.pid());
  return {};
}

}  // namespace mixstack::process
