#include "process/live/cpu_quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace mixstack::process {
namespace {

constexpr std::size_t kMostLevels = 32, kMostBytes = 1 << 20;

std::string read_small(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[4096];
  while (file && text.size() < kMostBytes) {
    file.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

/// Takes the next piece off `text`.
std::string_view next(std::string_view& text, char until) {
  const std::size_t end = std::min(text.find(until), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

bool is_one_of(std::string_view list, std::string_view wanted) {
  while (!list.empty())
    if (next(list, ',') == wanted) return true;
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

/// Where the hierarchy of the CPU controller is mounted.
std::optional<Mount> mount_of(std::string_view mountinfo, bool is_v2) {
  while (!mountinfo.empty()) {
    std::string_view line = next(mountinfo, '\n');
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view type_source_options = line.substr(dash + 3);
    const std::string_view type = next(type_source_options, ' ');
    (void)next(type_source_options, ' ');
    for (int i = 0; i < 3; i++) (void)next(line, ' ');
    const std::string_view root = next(line, ' ');
    const std::string_view point = next(line, ' ');
    if (is_v2 ? type == "cgroup2" : type == "cgroup" && is_one_of(type_source_options, "cpu"))
      return Mount{unescaped(root), unescaped(point)};
  }
  return std::nullopt;
}

/// If both versions are mounted, one has the CPU controller: version 1 names it.
std::optional<std::pair<std::string, bool>> path_of(std::string_view cgroups) {
  std::optional<std::pair<std::string, bool>> found;
  while (!cgroups.empty()) {
    std::string_view line = next(cgroups, '\n');
    const std::string_view id = next(line, ':');
    const std::string_view controllers = next(line, ':');
    if (is_one_of(controllers, "cpu")) return std::pair(std::string(line), false);
    if (id == "0" && controllers.empty()) found.emplace(std::string(line), true);
  }
  return found;
}

void read_quota(const std::string& folder, bool is_v2, CpuQuota& quota) {
  if (is_v2) {
    const std::string text = read_small(folder + "/cpu.max");
    std::string_view rest = text;
    const auto most = number(next(rest, ' '));  // "max": none
    quota.quota_us = most.value_or(0);
    quota.period_us = number(rest).value_or(0);
    return;
  }
  quota.quota_us = number(read_small(folder + "/cpu.cfs_quota_us")).value_or(0);  // -1: none
  quota.period_us = number(read_small(folder + "/cpu.cfs_period_us")).value_or(0);
}

void read_periods(const std::string& folder, CpuQuota& quota) {
  const std::string text = read_small(folder + "/cpu.stat");
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = next(rest, '\n');
    const std::string_view key = next(line, ' ');
    if (key == "nr_periods") quota.periods = number(line).value_or(0);
    if (key == "nr_throttled") quota.throttled = number(line).value_or(0);
  }
}

}  // namespace

std::optional<CgroupPlace> cpu_cgroup(std::string_view cgroups, std::string_view mountinfo) {
  const auto path = path_of(cgroups);
  if (!path || path->first.empty() || path->first.front() != '/' || path->first.find("/..") != std::string::npos)
    return std::nullopt;
  const auto mount = mount_of(mountinfo, path->second);
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

std::vector<CpuQuota> cpu_quotas(std::uint32_t pid) {
  std::vector<CpuQuota> quotas;
  const auto place = cpu_cgroup(read_small(fmt::format("/proc/{}/cgroup", pid)), read_small("/proc/self/mountinfo"));
  if (!place) return quotas;
  std::string path = place->path == "/" ? std::string() : place->path;
  for (std::size_t level = 0; level < kMostLevels; level++) {
    CpuQuota quota;
    quota.cgroup = path.empty() ? "/" : path;
    const std::string folder = place->mount + path;
    read_quota(folder, place->is_v2, quota);
    if (quota.quota_us != 0 && quota.period_us != 0) {
      read_periods(folder, quota);
      quotas.push_back(std::move(quota));
    }
    if (path.empty()) break;
    path.erase(path.rfind('/'));
  }
  return quotas;
}

std::optional<QuotaUse> quota_use(const std::vector<CpuQuota>& before, const std::vector<CpuQuota>& after) {
  std::optional<QuotaUse> most;
  for (const CpuQuota& now : after) {
    const auto same = [&now](const CpuQuota& q) { return q.cgroup == now.cgroup; };
    const auto was = std::find_if(before.begin(), before.end(), same);
    if (was == before.end() || now.periods < was->periods || now.throttled < was->throttled) continue;
    QuotaUse use{now, now.periods - was->periods, now.throttled - was->throttled};
    if (!most || use.throttled > most->throttled) most = std::move(use);
  }
  return most;
}

std::string quota_words(const QuotaUse& use) {
  const CpuQuota& q = use.quota;
  const auto ms = [](std::uint64_t us) { return fmt::format("{:g} ms", static_cast<double>(us) / 1000); };
  std::string text =
      fmt::format("the CPU quota of its cgroup {} allows {:.3g} processors ({} in each {})", q.cgroup,
                  static_cast<double>(q.quota_us) / static_cast<double>(q.period_us), ms(q.quota_us), ms(q.period_us));
  return text + fmt::format(": throttled in {} of {} periods", use.throttled, use.periods);
}

}  // namespace mixstack::process
