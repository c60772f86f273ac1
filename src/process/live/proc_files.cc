#include "process/live/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/system/number.h"
#include "base/system/small_file.h"

namespace mixstack::process {

std::string comm_of(std::uint32_t pid) {
  std::string name = base::text_at(fmt::format("/proc/{}/comm", pid), 64);
  if (name.ends_with('\n')) name.pop_back();  // only the last one: a name may hold others
  return name;
}

std::optional<std::uint64_t> inode_of(std::string_view link, std::string_view kind) {
  if (!link.starts_with(kind) || !link.ends_with(']')) return std::nullopt;
  return base::number<std::uint64_t>(link.substr(kind.size(), link.size() - kind.size() - 1));
}

std::optional<int> mode_of(const std::string& process, std::string_view fd) {
  const std::string text = "\n" + base::text_at(fmt::format("{}/fdinfo/{}", process, fd), 4096);
  constexpr std::string_view kKey = "\nflags:";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(" \t", at + kKey.size());
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  const auto flags = base::number<int>(std::string_view(text).substr(begin, end - begin), 8);
  if (!flags || (*flags & O_PATH) != 0 || (*flags & O_ACCMODE) == O_ACCMODE) return std::nullopt;
  return *flags & O_ACCMODE;
}

void each_number(const std::string& folder, std::size_t most, const std::function<bool(std::uint32_t)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(folder.c_str()), ::closedir);
  for (std::size_t seen = 0; all && seen < most;) {
    const dirent* entry = ::readdir(all.get());
    if (entry == nullptr) return;
    const auto id = base::number<std::uint32_t>(entry->d_name);
    if (!id) continue;
    seen++;
    if (!use(*id)) return;
  }
}

}  // namespace mixstack::process
