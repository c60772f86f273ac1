#include "process/debugger/program.h"

#include <elf.h>

#include "base/system/byte_cursor.h"
#include "process/live/process_info.h"

namespace mixstack::process {
namespace {

[[nodiscard]] std::uint64_t auxiliary(const std::string& auxv, std::uint64_t type) {
  const auto bytes = std::as_bytes(std::span(auxv));
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 16) {
    const auto key = base::load_at<std::uint64_t>(bytes, at);
    if (key && *key == type) return base::load_at<std::uint64_t>(bytes, at + 8).value_or(0);
  }
  return 0;
}

}  // namespace

Result<std::shared_ptr<Program>> Program::open(std::uint32_t pid) {
  auto proc = ProcDir::open(pid);
  if (!proc) return fail(proc.error());
  auto program = std::make_shared<Program>(std::move(*proc));
  if (auto info = read_process_info(program->proc)) program->info = std::move(*info);
  program->info.pid = program->proc.pid();
  program->interpreter = auxiliary(program->auxv, AT_BASE);
  program->links = LinkMapList(program->info.program_headers, auxiliary(program->auxv, AT_PHNUM));
  return program;
}

}  // namespace mixstack::process
