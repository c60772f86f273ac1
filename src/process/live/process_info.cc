#include "process/live/process_info.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace mixstack::process {
namespace {

[[nodiscard]] Result<Arch> read_arch(const ProcDir& proc) {
  auto exe = proc.open_memory_file("exe", O_RDONLY);
  if (!exe) return fail(exe.error());
  std::array<std::byte, 64> header{};
  const ssize_t n = ::pread(exe->get(), header.data(), header.size(), 0);
  if (n < 0) return fail(ErrorCode::io_error, 0, errno);
  return arch_of_elf_header(std::span(header).first(static_cast<std::size_t>(n)));
}

/// The value of an entry of the auxiliary vector, of 64 bits as all that we know.
[[nodiscard]] Address auxiliary(std::string_view auxv, std::uint64_t wanted) {
  std::array<std::uint64_t, 2> entry{};
  for (; auxv.size() >= sizeof entry; auxv.remove_prefix(sizeof entry)) {
    std::memcpy(entry.data(), auxv.data(), sizeof entry);
    if (entry[0] == wanted) return entry[1];
  }
  return 0;
}

/// Reads the mapped ELF header, which lies just before the program headers. For programs that only their own users may
/// open: on FUSE, and on NFS with root_squash, root may not.
[[nodiscard]] Result<Arch> read_arch_in_memory(const ProcDir& proc, std::string_view auxv, const Error& otherwise) {
  std::array<std::byte, 64> header{};
  const Address headers = auxiliary(auxv, AT_PHDR);
  const auto memory = proc.open_memory_file("mem", O_RDONLY);
  if (headers < header.size() || !memory) return fail(otherwise);
  const auto at = static_cast<off_t>(headers - header.size());
  if (::pread(memory->get(), header.data(), header.size(), at) != static_cast<ssize_t>(header.size()))
    return fail(otherwise);
  return arch_of_elf_header(header);
}

[[nodiscard]] std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

void remove_deleted_mark(std::string& path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
}

}  // namespace

Result<TargetInfo> read_process_info(const ProcDir& proc) {
  TargetInfo info;
  info.pid = proc.pid();
  auto exe = proc.read_link("exe");
  if (!exe && exe.error().code == ErrorCode::not_found) {
    // Kernel threads have no address space and so no executable; neither has a process that is ending, some time before
    // it is a zombie.
    const auto stat = proc.thread_stat(proc.pid());
    const bool is_ending = !stat || !stat->is_kernel_thread;
    return fail(is_ending ? ErrorCode::no_such_process : ErrorCode::unsupported, proc.pid(), exe.error().os_error);
  }
  if (!exe) return fail(exe.error());
  info.executable = std::move(*exe);
  remove_deleted_mark(info.executable);
  auto arch = read_arch(proc);
  if (!arch && arch.error().code != ErrorCode::permission_denied) return fail(arch.error());
  auto command_line = proc.read_memory_file("cmdline", 4 << 20);
  if (command_line) info.command_line = split_at_nul(*command_line);
  auto auxv = proc.read_memory_file("auxv");
  if (!auxv) return fail(auxv.error());
  if (!arch) arch = read_arch_in_memory(proc, *auxv, arch.error());
  if (!arch) return fail(arch.error());
  info.arch = *arch;
  parse_auxv(std::as_bytes(std::span(*auxv)), info);
  return info;
}

}  // namespace mixstack::process
