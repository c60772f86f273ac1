// Prints what mixstack reads, in the forms of the oracle beside it (FileDump.cs, ProcessDump.cs), for comparison.
//   metadata_dump file DLL...
//   metadata_dump process PID < lines "F|M|T<tab>0xADDRESS<tab>..."   prints KIND ADDRESS raw_name C#-name
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

#include "base/memory/cached_memory.h"
#include "base/memory/process_memory.h"
#include "dotnet/contracts/descriptor.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/raw_format.h"
#include "engine/images/pe_image.h"

namespace {

using namespace mixstack;
using namespace mixstack::dotnet;
using namespace mixstack::dotnet::names;

std::span<const std::byte> map_file(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  return p == MAP_FAILED ? std::span<const std::byte>{} : std::span(static_cast<const std::byte*>(p), size);
}

void print(std::string_view s) { std::fwrite(s.data(), 1, s.size(), stdout); }

void dump_types(const Metadata& m) {
  for (std::uint32_t rid = 1; rid <= m.row_count(TableId::type_def); rid++) {
    const auto row = m.type_def(rid);
    std::printf("type\t%u\t%u\t%x\t", rid, m.enclosing_type(rid), row->flags);
    print(row->name_space), print("\t"), print(row->name), print("\t");
    const RowRange parameters = m.generic_params_of(Token(TableId::type_def, rid));
    for (std::uint32_t p = parameters.first; p < parameters.last; p++)
      print(p == parameters.first ? "" : ","), print(m.generic_param(p)->name);
    std::printf("\t%u\t%u\n", m.interfaces_of(rid).size(),
                m.custom_attributes_of(Token(TableId::type_def, rid)).size());
  }
}

std::string text_of(const TypeTree& tree, TypeIndex type) {
  BoundedText text(1 << 16);
  append_raw_parameter(text, tree, type);
  return std::string(text.text());
}

void dump_methods(const Metadata& m) {
  TypeTree tree;
  for (std::uint32_t rid = 1; rid <= m.row_count(TableId::method_def); rid++) {
    const auto row = m.method_def(rid);
    tree.clear();
    const auto signature = read_method_signature(row->signature, {&m, nullptr, 8}, tree);
    BoundedText text(1 << 16);
    if (signature) {
      append_raw_parameter(text, tree, signature->return_type);
      text << ' ';
      append_raw_parameters(text, tree, *signature);
    }
    std::printf("method\t%u\t%u\t%x\t%x\t%u\t", rid, m.type_of_method(rid), row->flags, row->impl_flags, row->rva);
    print(row->name), print("\t"), print(text.text()), print("\t");
    const RowRange parameters = m.params_of(rid);
    for (std::uint32_t p = parameters.first; p < parameters.last; p++) {
      const auto param = m.param(m.param_at(p));
      std::printf("%s%u:%u:", p == parameters.first ? "" : ",", param->sequence, param->flags);
      print(param->name);
    }
    std::printf("\t%u\n", m.custom_attributes_of(Token(TableId::method_def, rid)).size());
  }
}

int dump_file(const char* path) {
  const auto bytes = map_file(path);
  const auto pe = images::PeImage::from_bytes(bytes, images::PeLayout::flat);
  const auto cli = pe ? pe->cli_header() : tl::unexpected(pe.error());
  if (!cli) return std::fprintf(stderr, "%s: no .NET module\n", path), 1;
  const auto metadata =
      Metadata::open(MetadataBytes::borrow(pe->bytes(cli->metadata.rva, cli->metadata.size), nullptr));
  if (!metadata) return std::fprintf(stderr, "%s: error %d\n", path, int(metadata.error().code)), 1;
  const Metadata& m = **metadata;
  print("module\t"), print(m.module_name()), print("\t");
  const Mvid mvid = m.mvid().value_or(Mvid{});
  for (const std::byte b : mvid) std::printf("%02X", std::to_integer<unsigned>(b));
  print("\n");
  for (unsigned t = 0; t < 0x2d; t++) std::printf("rows\t%u\t%u\n", t, m.row_count(static_cast<TableId>(t)));
  dump_types(m);
  dump_methods(m);
  for (std::uint32_t rid = 1; rid <= m.row_count(TableId::member_ref); rid++) {
    std::printf("memberref\t%u\t%x\t", rid, m.member_ref(rid)->parent.value);
    print(m.member_ref(rid)->name), print("\n");
  }
  TypeTree tree;
  for (std::uint32_t rid = 1; rid <= m.row_count(TableId::type_spec); rid++) {
    tree.clear();
    const TypeIndex type = read_type(m.blob_cell(TableId::type_spec, rid, 0), {&m, nullptr, 8}, tree);
    std::printf("typespec\t%u\t%s\n", rid, text_of(tree, type).c_str());
  }
  return 0;
}

/// Load address of libcoreclr.so and the value of the descriptor's symbol in its file.
Address find_descriptor(int pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    if (line.find("libcoreclr.so") == std::string::npos) continue;
    const Address base = std::stoull(line, nullptr, 16);
    const auto file = map_file(line.substr(line.find('/')).c_str());
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
    for (int s = 0; s < header->e_shnum; s++) {
      if (sections[s].sh_type != SHT_DYNSYM) continue;
      const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + sections[s].sh_offset);
      const auto* names = reinterpret_cast<const char*>(file.data() + sections[sections[s].sh_link].sh_offset);
      for (std::size_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Sym); i++)
        if (kDescriptorSymbol == names + symbols[i].st_name) return base + symbols[i].st_value;
    }
  }
  return 0;
}

int name_process(int pid) {
  const memory::ProcessMemory process(static_cast<std::uint32_t>(pid));
  const memory::CachedMemory cache(process);
  const auto descriptor = Descriptor::read(process, find_descriptor(pid));
  if (!descriptor) return std::fprintf(stderr, "no descriptor: %s\n", descriptor.error().subject.c_str()), 1;
  const Layouts layouts = resolve_layouts(*descriptor);
  NameOptions options;
  options.max_name = 1 << 16;
  options.fresh = &process;
  MethodNames names(RuntimeMemory(cache, layouts), options);
  std::vector<std::pair<char, Address>> wanted;
  std::string line;
  while (std::getline(std::cin, line)) wanted.emplace_back(line[0], std::stoull(line.substr(2), nullptr, 16));
  const auto cpu_ns = [] {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
  };
  const double start = cpu_ns();
  for (const auto& [kind, address] : wanted)
    if (kind != 'T') (void)names.describe(address);
  const double middle = cpu_ns();
  for (const auto& [kind, address] : wanted)
    if (kind != 'T') (void)names.describe(address);
  const double end = cpu_ns(), n = double(wanted.size());
  std::fprintf(stderr, "CPU per name: first %.2f us, again %.1f ns; %" PRIu64 " KiB of metadata read\n",
               (middle - start) / n / 1e3, (end - middle) / n, names.statistics().metadata_bytes / 1024);
  for (const auto& [kind, address] : wanted) {
    std::printf("%c\t0x%" PRIx64 "\t", kind, address);
    if (kind == 'T') {
      const auto raw = names.type_name(address, true), text = names.type_name(address);
      std::printf("%s\t%s\n", raw.value_or("!").c_str(), text.value_or("!").c_str());
    } else if (const auto name = names.describe(address)) {
      std::printf("%s\t%s\n", (*name)->raw_name.c_str(), (*name)->name.c_str());
    } else {
      std::printf("!%d\t!\n", int(name.error().code));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[1] : "";
  int failed = 0;
  if (mode == "file") {
    for (int i = 2; i < argc; i++) failed |= dump_file(argv[i]);
  } else if (mode == "process") {
    failed = name_process(std::atoi(argv[2]));
  } else {
    failed = 2;
  }
  return failed;
}
