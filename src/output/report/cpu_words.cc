// Words that depend on the CPU of the target: names of system calls and registers.
#include <fmt/format.h>

#include <span>

#include "base/arch/cpu.h"
#include "output/report/aarch64/syscall_names.h"
#include "output/report/words.h"
#include "output/report/x86_64/syscall_names.h"

namespace mixstack::report {
namespace {

constexpr arch::PerCpu<std::span<const std::string_view> (*)()> kSystemCalls{.x86_64 = x86_64::syscall_names,
                                                                             .aarch64 = aarch64::syscall_names};

}  // namespace

std::string_view syscall_name(Arch arch, std::int64_t number) {
  if (kSystemCalls[arch] == nullptr) return {};
  const auto table = kSystemCalls[arch]();
  if (number < 0 || static_cast<std::uint64_t>(number) >= table.size()) return {};
  return table[static_cast<std::size_t>(number)];
}

std::string register_name(Arch arch, unsigned number) {
  const std::string_view name = arch::register_name(arch, number);
  return name.empty() ? fmt::format("r{}", number) : std::string(name);
}

}  // namespace mixstack::report
