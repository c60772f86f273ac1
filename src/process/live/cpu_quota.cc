#include "process/live/cpu_quota.h"

#include <fmt/format.h>

#include <algorithm>

#include "process/live/cgroup.h"

namespace mixstack::process {
namespace {

void read_quota(const std::string& folder, bool is_v2, CpuQuota& quota) {
  if (is_v2) {
    const std::string text = read_cgroup_file(folder + "/cpu.max");
    std::string_view rest = text;
    const auto most = leading_number(next_piece(rest, ' '));  // "max": none
    quota.quota_us = most.value_or(0);
    quota.period_us = leading_number(rest).value_or(0);
    return;
  }
  quota.quota_us = leading_number(read_cgroup_file(folder + "/cpu.cfs_quota_us")).value_or(0);  // -1: none
  quota.period_us = leading_number(read_cgroup_file(folder + "/cpu.cfs_period_us")).value_or(0);
}

void read_periods(const std::string& folder, CpuQuota& quota) {
  const std::string text = read_cgroup_file(folder + "/cpu.stat");
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = next_piece(rest, '\n');
    const std::string_view key = next_piece(line, ' ');
    if (key == "nr_periods") quota.periods = leading_number(line).value_or(0);
    if (key == "nr_throttled") quota.throttled = leading_number(line).value_or(0);
    if (key == "throttled_usec") quota.throttled_time = std::chrono::microseconds(leading_number(line).value_or(0));
    if (key == "throttled_time") quota.throttled_time = std::chrono::nanoseconds(leading_number(line).value_or(0));
  }
}

}  // namespace

std::vector<CpuQuota> cpu_quotas(std::uint32_t pid) {
  std::vector<CpuQuota> quotas;
  for (const CgroupLevel& level : cgroup_levels(pid, "cpu")) {
    CpuQuota quota;
    quota.cgroup = level.name;
    read_quota(level.folder, level.is_v2, quota);
    if (quota.quota_us == 0 || quota.period_us == 0) continue;
    read_periods(level.folder, quota);
    quotas.push_back(std::move(quota));
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
    if (now.throttled_time > was->throttled_time) use.throttled_time = now.throttled_time - was->throttled_time;
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
