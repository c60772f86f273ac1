#include "process/live/cgroup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/system/number.h"
#include "base/system/small_file.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMostLevels = 32, kMostBytes = 1 << 20;

bool is_one_of(std::string_view list, std::string_view wanted) {
  while (!list.empty())
    if (next_piece(list, ',') == wanted) return true;
  return false;
}

/// mountinfo, proc(5): the space and some others are octal.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

struct Mount {
  std::string root, point;
};

/// Where the hierarchy of a controller is mounted.
std::optional<Mount> mount_of(std::string_view mountinfo, bool is_v2, std::string_view controller) {
  while (!mountinfo.empty()) {
    std::string_view line = next_piece(mountinfo, '\n');
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view type_source_options = line.substr(dash + 3);
    const std::string_view type = next_piece(type_source_options, ' ');
    (void)next_piece(type_source_options, ' ');
    for (int i = 0; i < 3; i++) (void)next_piece(line, ' ');
    const std::string_view root = next_piece(line, ' ');
    const std::string_view point = next_piece(line, ' ');
    if (is_v2 ? type == "cgroup2" : type == "cgroup" && is_one_of(type_source_options, controller))
      return Mount{unescaped(root), unescaped(point)};
  }
  return std::nullopt;
}

/// If both versions are mounted, one has the controller: version 1 names it.
std::optional<std::pair<std::string, bool>> path_of(std::string_view cgroups, std::string_view controller) {
  std::optional<std::pair<std::string, bool>> found;
  while (!cgroups.empty()) {
    std::string_view line = next_piece(cgroups, '\n');
    const std::string_view id = next_piece(line, ':');
    const std::string_view controllers = next_piece(line, ':');
    if (is_one_of(controllers, controller)) return std::pair(std::string(line), false);
    if (id == "0" && controllers.empty()) found.emplace(std::string(line), true);
  }
  return found;
}

}  // namespace

std::string read_cgroup_file(const std::string& path) { return base::text_at(path, kMostBytes); }

std::string_view next_piece(std::string_view& text, char until) {
  const std::size_t end = std::min(text.find(until), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

std::optional<std::uint64_t> leading_number(std::string_view text) { return base::leading_number<std::uint64_t>(text); }

std::optional<CgroupPlace> cgroup_place(std::string_view cgroups, std::string_view mountinfo,
                                        std::string_view controller) {
  const auto path = path_of(cgroups, controller);
  if (!path || path->first.empty() || path->first.front() != '/' || path->first.find("/..") != std::string::npos)
    return std::nullopt;
  const auto mount = mount_of(mountinfo, path->second, controller);
  if (!mount) return std::nullopt;
  std::string below = path->first;
  if (mount->root != "/" && mount->root.find("/..") == std::string::npos) {
    if (!below.starts_with(mount->root)) return std::nullopt;
    below.erase(0, mount->root.size());
    if (below.empty()) below = "/";
    if (below.front() != '/') return std::nullopt;
  }
  return CgroupPlace{mount->point, below, path->second};
}

std::vector<CgroupLevel> cgroup_levels(std::uint32_t pid, std::string_view controller) {
  std::vector<CgroupLevel> levels;
  const auto place = cgroup_place(read_cgroup_file(fmt::format("/proc/{}/cgroup", pid)),
                                  read_cgroup_file("/proc/self/mountinfo"), controller);
  if (!place) return levels;
  std::string path = place->path == "/" ? std::string() : place->path;
  while (levels.size() < kMostLevels) {
    levels.push_back({path.empty() ? "/" : path, place->mount + path, place->is_v2});
    if (path.empty()) break;
    path.erase(path.rfind('/'));
  }
  return levels;
}

}  // namespace mixstack::process
