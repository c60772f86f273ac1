#include "process/bpf/bpf_refusal.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "base/system/gained_rights.h"
#include "base/system/own_program.h"
#include "base/system/proc_status.h"
#include "base/system/small_file.h"
#include "process/bpf/task_iterator.h"

namespace mixstack::bpf {
namespace {

/// The machine's own namespace maps all ids to themselves (user_namespaces(7)).
bool in_user_namespace() {
  unsigned inside = 1, outside = 1, count = 0;
  const std::string map = base::line_at("/proc/self/uid_map");
  return std::sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) == 3 &&
         (inside != 0 || outside != 0 || count != 0xffffffffu);
}

/// Sleepable iterators and bpf_copy_from_user_task came with 5.18.
bool is_old(const BpfFacts& facts) {
  return facts.kernel_major < 5 || (facts.kernel_major == 5 && facts.kernel_minor < 18);
}

bool may_be_of_bpf(ErrorCode code) {
  return code == ErrorCode::permission_denied || code == ErrorCode::unsupported || code == ErrorCode::io_error ||
         code == ErrorCode::limit_exceeded || code == ErrorCode::internal;
}

}  // namespace

BpfFacts read_bpf_facts() {
  // Numbers: include/uapi/linux/capability.h.
  constexpr unsigned kSysAdmin = 21, kPerfmon = 38, kBpf = 39;
  BpfFacts facts;
  facts.is_built_in = is_built_in();
  utsname kernel{};
  if (::uname(&kernel) == 0)
    (void)std::sscanf(static_cast<const char*>(kernel.release), "%u.%u", &facts.kernel_major, &facts.kernel_minor);
  facts.has_types = ::access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  const std::string status = base::own_status();
  const std::uint64_t capabilities = base::status_number(status, "CapEff", 16);
  const auto has = [capabilities](unsigned number) { return (capabilities >> number & 1) != 0; };
  facts.may_load = has(kSysAdmin) || (has(kPerfmon) && has(kBpf));
  facts.in_user_namespace = in_user_namespace();
  facts.has_filter = base::status_number(status, "Seccomp") == 2;
  facts.is_locked_down = base::line_at("/sys/kernel/security/lockdown").find("[confidentiality]") != std::string::npos;
  return facts;
}

std::string_view refusal_name(BpfRefusal refusal) {
  constexpr std::string_view kNames[] = {"none",           "not_built_in", "old_kernel", "no_types", "no_rights",
                                         "user_namespace", "filter",       "lockdown",   "memory",   "other"};
  return kNames[static_cast<std::size_t>(refusal)];
}

BpfRefusal explain_bpf_refusal(const Error& error, const BpfFacts& facts) {
  if (!may_be_of_bpf(error.code)) return BpfRefusal::none;
  if (!facts.is_built_in) return BpfRefusal::not_built_in;
  if (is_old(facts)) return BpfRefusal::old_kernel;
  if (!facts.has_types) return BpfRefusal::no_types;
  if (!facts.may_load) return BpfRefusal::no_rights;
  if (error.code == ErrorCode::limit_exceeded) return BpfRefusal::memory;
  if (facts.in_user_namespace) return BpfRefusal::user_namespace;
  if (facts.is_locked_down) return BpfRefusal::lockdown;
  if (facts.has_filter) return BpfRefusal::filter;
  // With all rights for BPF, a denial concerns the process: explain_ptrace_refusal tells more.
  return error.code == ErrorCode::permission_denied ? BpfRefusal::none : BpfRefusal::other;
}

RefusalWords refusal_words(BpfRefusal refusal, const Error& error) {
  switch (refusal) {
    case BpfRefusal::none:
      return {};
    case BpfRefusal::not_built_in:
      return {"this mixstack was built without BPF", "Build it where libbpf-dev and clang-14 are installed"};
    case BpfRefusal::old_kernel:
      return {"that needs Linux 5.18 or later", ""};
    case BpfRefusal::no_types:
      return {"this kernel does not describe its types",
              "That needs a kernel with CONFIG_DEBUG_INFO_BTF (as those of distributions) and a /sys that can be read"};
    case BpfRefusal::no_rights: {
      const std::string program = base::own_program_for_shell();
      const std::string ways = base::ways_to_gain_in_a_line("cap_bpf,cap_perfmon", "cap_bpf,cap_perfmon,cap_sys_ptrace",
                                                            base::own_gain_limits(), program);
      if (!ways.starts_with("sudo")) return {"that needs CAP_BPF and CAP_PERFMON", ways};
      return {"that needs CAP_BPF and CAP_PERFMON",
              "Use " + ways + "; in a container --cap-add=BPF --cap-add=PERFMON --cap-add=SYS_PTRACE"};
    }
    case BpfRefusal::user_namespace:
      return {"our rights count inside a user namespace only", "Run mixstack on the host"};
    case BpfRefusal::filter:
      return {
          "a seccomp filter on us denies bpf(2)",
          "In a container --cap-add=BPF --cap-add=PERFMON (docker's profile allows it then), or run mixstack on the "
          "host"};
    case BpfRefusal::lockdown:
      return {"the kernel is locked down for confidentiality",
              "/sys/kernel/security/lockdown says so; the boot parameter lockdown=integrity would allow it"};
    case BpfRefusal::memory:
      return {"the kernel has no memory for it", "The limit of our control group (memory.max) counts it, too"};
    case BpfRefusal::other:
      break;
  }
  return {"the kernel refuses the program (" + std::generic_category().message(error.os_error) + ")",
          "Please report the version of the kernel (uname -r)"};
}

std::string refusal_text(BpfRefusal refusal, const Error& error) {
  if (refusal == BpfRefusal::none) return {};
  const RefusalWords words = refusal_words(refusal, error);
  return "cannot look at threads without stopping them: " + words.why + "\n" +
         (words.remedy.empty() ? "Leave out --no-stop.\n" : words.remedy + ". Or leave out --no-stop.\n");
}

}  // namespace mixstack::bpf
