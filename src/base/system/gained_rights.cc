#include "base/system/gained_rights.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/system/number.h"
#include "base/system/proc_status.h"

namespace mixstack::base {
namespace {

// linux/capability.h
constexpr std::array<std::pair<std::string_view, unsigned>, 6> kNumbers{{{"cap_dac_override", 1},
                                                                         {"cap_dac_read_search", 2},
                                                                         {"cap_sys_ptrace", 19},
                                                                         {"cap_sys_admin", 21},
                                                                         {"cap_perfmon", 38},
                                                                         {"cap_bpf", 39}}};

/// Names that are not known count as within.
bool is_within(std::string_view name, std::uint64_t bounding) {
  const auto* known = std::ranges::find(kNumbers, name, [](const auto& entry) { return entry.first; });
  return known == kNumbers.end() || (bounding >> known->second & 1) != 0;
}

template <class Keep>
std::string filtered(std::string_view list, Keep keep) {
  std::string kept;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (!name.empty() && keep(name)) kept.append(kept.empty() ? "" : ",").append(name);
  }
  return kept;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

/// `--cap-add=SYS_PTRACE --cap-add=BPF` of `cap_sys_ptrace,cap_bpf`.
std::string as_docker_options(std::string_view list) {
  std::string options;
  (void)filtered(list, [&](std::string_view name) {
    options.append(options.empty() ? "--cap-add=" : " --cap-add=").append(upper(std::string(name.substr(4))));
    return true;
  });
  return options;
}

}  // namespace

GainLimits own_gain_limits() {
  GainLimits limits;
  const std::string status = own_status();
  const auto bounding = status_field(status, "CapBnd").value_or("");
  limits.bounding = leading_number<std::uint64_t>(bounding, 16).value_or(limits.bounding);
  limits.no_new_privs = status_number(status, "NoNewPrivs") != 0;
  struct statvfs place {};
  limits.is_nosuid = ::statvfs("/proc/self/exe", &place) == 0 && (place.f_flag & ST_NOSUID) != 0;
  return limits;
}

std::string within_bounds(std::string_view list, std::uint64_t bounding) {
  return filtered(list, [bounding](std::string_view name) { return is_within(name, bounding); });
}
std::string out_of_bounds(std::string_view list, std::uint64_t bounding) {
  return filtered(list, [bounding](std::string_view name) { return !is_within(name, bounding); });
}

std::string ways_to_gain(std::string_view needed, std::string_view file, const GainLimits& limits,
                         const std::string& program) {
  if (const std::string lacking = out_of_bounds(needed, limits.bounding); !lacking.empty())
    return upper(lacking) + " cannot be had here, by sudo or setcap either (it is not in the bounding set):\n" +
           "docker run " + as_docker_options(lacking) + " ..., in Kubernetes securityContext.capabilities.add,\n" +
           "in a systemd unit CapabilityBoundingSet=; or run mixstack on the host";
  if (limits.no_new_privs) return "start without no_new_privs: with it sudo and capabilities of files give nothing";
  std::string ways = "sudo " + program + " ...";
  if (limits.is_nosuid) return ways + " (capabilities of files do not count where it lies: mounted nosuid)";
  ways += ", or once: sudo setcap " + within_bounds(file, limits.bounding) + "+ep " + program;
  if (const std::string lacking = out_of_bounds(file, limits.bounding); !lacking.empty())
    ways += "\n(without " + upper(lacking) + ", which the bounding set lacks: with it the file could not be executed)";
  return ways;
}

std::string ways_to_gain_in_a_line(std::string_view needed, std::string_view file, const GainLimits& limits,
                                   const std::string& program) {
  std::string ways = ways_to_gain(needed, file, limits, program);
  std::ranges::replace(ways, '\n', ' ');
  return ways;
}

}  // namespace mixstack::base
