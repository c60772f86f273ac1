// LINK: mixstack_engine_unwind dw elf
// Compiling call frame information: every FDE of an image into our table, against libdw's first pass over them, the
// size of the table against .eh_frame, and look-ups of random addresses.
//   cfi_compile_bench [IMAGE...]
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>

#include "measure.h"
#include "support/command_output.h"
#include "unwind_walkers.h"

namespace {

using mixstack::unwind::UnwindTable;
using Image = std::shared_ptr<const mixstack::images::ElfImage>;

/// All FDEs up to the row of their last address, as a first walk through all of them would.
bench::Summary measure_libdw(const std::string& path, const std::vector<std::uint64_t>& functions) {
  std::vector<double> samples;
  for (int i = 0; i < 7; i++) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
    Dwarf_CFI* cfi = dwarf_getcfi_elf(elf);
    const auto start = bench::now_ns();
    for (std::size_t k = 0; k < functions.size(); k++) {
      const std::uint64_t last = k + 1 < functions.size() ? functions[k + 1] - 1 : functions[k];
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, last, &frame) != 0 && dwarf_cfi_addrframe(cfi, functions[k], &frame) != 0) continue;
      std::free(frame);
    }
    samples.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(functions.size()));
    dwarf_cfi_end(cfi);
    elf_end(elf);
    ::close(fd);
  }
  return bench::summarize(samples);
}

bench::Summary measure_libdw_lookup(const std::string& path, const std::vector<std::uint64_t>& addresses) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  Dwarf_CFI* cfi = dwarf_getcfi_elf(elf);
  std::vector<double> samples;
  for (int i = 0; i < 4; i++) {
    const auto start = bench::now_ns();
    for (const auto a : addresses) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, a, &frame) == 0) std::free(frame);
    }
    samples.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(addresses.size()));
  }
  dwarf_cfi_end(cfi);
  elf_end(elf);
  ::close(fd);
  return bench::summarize(samples);
}

bench::Summary measure_lookup(const UnwindTable& table, const std::vector<std::uint64_t>& addresses) {
  std::vector<double> samples;
  for (int i = 0; i < 20; i++) {
    std::uint64_t sum = 0;
    const auto start = bench::now_ns();
    for (const auto a : addresses) sum += static_cast<std::uint64_t>(table.find(a).cfa_offset);
    samples.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(addresses.size()));
    asm volatile("" ::"r"(sum));
  }
  return bench::summarize(samples);
}

void run(const std::string& path) {
  const Image image = bench::open_image(path);
  if (image == nullptr) return;
  std::vector<double> compile, create;
  std::shared_ptr<const UnwindTable> table;
  for (int i = 0; i < 15; i++) {
    auto start = bench::now_ns();
    table = UnwindTable::create(image);
    create.push_back(static_cast<double>(bench::now_ns() - start) / 1000);
    const auto functions = static_cast<double>(table->statistics().functions);
    start = bench::now_ns();
    table->compile_all();
    compile.push_back(static_cast<double>(bench::now_ns() - start) / functions);
  }
  const auto text = image->section(".text").value_or(mixstack::images::Section{});
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> addresses(50000);
  for (auto& a : addresses) a = text.address + random() % std::max<std::uint64_t>(text.size, 1);

  const auto s = table->statistics();
  bench::print_head(path.c_str());
  std::printf("%zu FDEs, %zu rows, %zu distinct rules; table %zu KiB = %.2f x .eh_frame (%zu KiB)\n", s.functions,
              s.rows, s.rules, s.bytes >> 10, static_cast<double>(s.bytes) / static_cast<double>(s.section_bytes),
              s.section_bytes >> 10);
  const auto ours = bench::summarize(compile);
  const auto theirs = measure_libdw(path, table->function_starts());
  char ratio[64];
  std::snprintf(ratio, sizeof(ratio), "ours is %.2f of it", ours.min / theirs.min);
  bench::print_row("create the table (index only)", bench::summarize(create), "us");
  bench::print_row("compile, per FDE", ours, "ns");
  bench::print_row("libdw's first pass, per FDE", theirs, "ns", ratio);
  const auto lookup = measure_lookup(*table, addresses);
  const auto their_lookup = measure_libdw_lookup(path, addresses);
  std::snprintf(ratio, sizeof(ratio), "%.0fx of ours", their_lookup.min / lookup.min);
  bench::print_row("look up a random address", lookup, "ns");
  bench::print_row("libdw addrframe of it", their_lookup, "ns", ratio);
}

std::vector<std::string> default_images() {
  std::vector<std::string> paths{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"};
  for (const auto& line : mixstack::test::command_lines("dotnet --list-runtimes")) {
    const auto open = line.find('['), first = line.find(' '), second = line.find(' ', first + 1);
    if (line.rfind("Microsoft.NETCore.App ", 0) != 0 || open == std::string::npos) continue;
    const std::string folder =
        line.substr(open + 1, line.size() - open - 2) + "/" + line.substr(first + 1, second - first - 1);
    paths.push_back(folder + "/libcoreclr.so");
    paths.push_back(folder + "/libclrjit.so");
  }
  return paths;
}

}  // namespace

int main(int argc, char** argv) {
  elf_version(EV_CURRENT);
  for (const auto& path : argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : default_images()) run(path);
  return 0;
}
