// LINK: mixstack_process_live mixstack_process_kernel
// The kernel's texts about a process: names and paths in them are the target's own.
#include <cstdlib>
#include <string_view>

#include "process/kernel/memory_map.h"
#include "process/kernel/register_set.h"
#include "process/live/proc_dir.h"
#include "process/live/process_info.h"
#include "process/live/stack_plan.h"

namespace {

using namespace mixstack;

void plan_with(const std::vector<Region>& regions) {
  std::vector<process::StackCopy> copies;
  for (const auto& r : regions) copies.push_back({r.range.begin + r.range.size() / 2, r.range.end - 64});
  std::vector<std::size_t> order;
  constexpr std::size_t kBudget = 1 << 20;
  process::plan_stacks(copies, regions, 4096, kBudget, order);
  std::size_t extra = 0;
  for (const auto& c : copies) extra += c.size > 4096 ? c.size - 4096 : 0;
  if (extra > kBudget) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto regions = process::parse_memory_map(text);
  for (const auto& r : regions)
    if (r.range.empty()) std::abort();
  plan_with(regions);
  (void)process::parse_thread_stat(text);
  if (const auto field = process::status_field(text, "NSpid")) (void)process::last_number(*field);
  (void)process::last_number(text);
  TargetInfo info;
  process::parse_auxv(bytes, info);
  (void)process::arch_of_elf_header(bytes);
  (void)process::decode_register_set(Arch::x86_64, bytes);
  (void)process::decode_register_set(Arch::aarch64, bytes);
  return 0;
}
