// Why the kernel refuses our program, and what would change that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mixstack/result.h"

namespace mixstack::bpf {

/// The first obstacle.
enum class BpfRefusal : std::uint8_t {
  none,            ///< nothing of BPF's
  not_built_in,    ///< this mixstack was built without libbpf or without a compiler for BPF
  old_kernel,      ///< before 5.18
  no_types,        ///< the kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)
  no_rights,       ///< without CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN
  user_namespace,  ///< with them, but only inside a user namespace
  filter,          ///< a seccomp filter on ourselves
  lockdown,        ///< the kernel is locked down for confidentiality
  memory,          ///< no memory for its maps
  other
};

/// Facts from /proc and /sys about us and the kernel.
struct BpfFacts {
  bool is_built_in = false;
  unsigned kernel_major = 0, kernel_minor = 0;
  bool has_types = false;
  bool may_load = false;  ///< has the capabilities
  bool in_user_namespace = false;
  bool has_filter = false;
  bool is_locked_down = false;
};
[[nodiscard]] BpfFacts read_bpf_facts();

/// The cause of an error of TaskIterator::open (or of bpf::open_unstopped).
[[nodiscard]] BpfRefusal explain_bpf_refusal(const Error& error, const BpfFacts& facts = read_bpf_facts());

/// The enumerator's name, for programs.
[[nodiscard]] std::string_view refusal_name(BpfRefusal refusal);

/// For a person, without full stops. `error` adds the system's own words if nothing else is known.
struct RefusalWords {
  std::string why;
  std::string remedy;  ///< what would lift it; empty: nothing but another kernel
};
[[nodiscard]] RefusalWords refusal_words(BpfRefusal refusal, const Error& error);
/// The same in two lines, for a user of --no-stop.
[[nodiscard]] std::string refusal_text(BpfRefusal refusal, const Error& error);

}  // namespace mixstack::bpf
