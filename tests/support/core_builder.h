// Core files made piece by piece, right or wrong: for tests that need what no kernel writes.
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstack/registers.h"

namespace mixstack::test {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& out, const T& value) {
  const auto bytes = std::as_bytes(std::span<const T, 1>(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void put(Bytes& out, std::size_t offset, const T& value) {
  if (out.size() < offset + sizeof value) out.resize(offset + sizeof value);
  std::memcpy(out.data() + offset, &value, sizeof value);
}
inline Bytes bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}
inline Bytes filled(std::size_t size, unsigned value) { return Bytes(size, static_cast<std::byte>(value)); }

/// A line of NT_FILE. `offset` in bytes, a multiple of 4096.
struct BuiltMapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

/// The notes of a core, in the order of the calls.
class NoteBuilder {
 public:
  explicit NoteBuilder(Arch arch = Arch::x86_64) : arch_(arch) {}

  NoteBuilder& note(std::string_view owner, std::uint32_t type, const Bytes& content) {
    append(notes_, static_cast<std::uint32_t>(owner.size() + 1));
    append(notes_, static_cast<std::uint32_t>(content.size()));
    append(notes_, type);
    add(bytes_of(owner));
    notes_.resize((notes_.size() + 1 + 3) & ~std::size_t{3});
    add(content);
    notes_.resize((notes_.size() + 3) & ~std::size_t{3});
    return *this;
  }
  /// struct elf_prstatus, with nothing but what is named here.
  [[nodiscard]] Bytes status(std::uint32_t tid, std::uint64_t pc, std::uint64_t sp, std::int16_t signal = 0) const {
    const bool arm = arch_ == Arch::aarch64;
    Bytes out(arm ? 392 : 336);
    put(out, 12, signal);
    put(out, 32, tid);
    put(out, 112 + (arm ? 32 : 16) * 8, pc);
    put(out, 112 + (arm ? 31 : 19) * 8, sp);
    return out;
  }
  NoteBuilder& thread(std::uint32_t tid, std::uint64_t pc = 0, std::uint64_t sp = 0, std::int16_t signal = 0) {
    return note("CORE", NT_PRSTATUS, status(tid, pc, sp, signal));
  }
  NoteBuilder& process(std::uint32_t pid, std::string_view name, std::string_view arguments, char state = 'R') {
    Bytes out(136);
    put(out, 1, state);
    put(out, 24, pid);
    std::memcpy(out.data() + 40, name.data(), std::min<std::size_t>(16, name.size()));
    std::memcpy(out.data() + 56, arguments.data(), std::min<std::size_t>(80, arguments.size()));
    return note("CORE", NT_PRPSINFO, out);
  }
  /// `what`: the address of a fault, or the sender's pid.
  NoteBuilder& signal(std::int32_t number, std::int32_t code, std::uint64_t what) {
    Bytes out(128);
    put(out, 0, number);
    put(out, 8, code);
    put(out, 16, what);
    return note("CORE", NT_SIGINFO, out);
  }
  NoteBuilder& auxv(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
    Bytes out;
    for (const auto& [key, value] : entries) append(out, key), append(out, value);
    out.resize(out.size() + 16);
    return note("CORE", NT_AUXV, out);
  }
  [[nodiscard]] static Bytes file_note(const std::vector<BuiltMapping>& mappings, std::uint64_t page = 4096) {
    Bytes out;
    append(out, std::uint64_t{mappings.size()});
    append(out, page);
    for (const auto& m : mappings) append(out, m.begin), append(out, m.end), append(out, m.offset / 4096);
    for (const auto& m : mappings) {
      const Bytes path = bytes_of(m.path);
      out.insert(out.end(), path.begin(), path.end());
      out.push_back(std::byte{0});
    }
    return out;
  }
  NoteBuilder& files(const std::vector<BuiltMapping>& mappings) { return note("CORE", NT_FILE, file_note(mappings)); }

  [[nodiscard]] const Bytes& bytes() const { return notes_; }

 private:
  void add(const Bytes& bytes) { notes_.insert(notes_.end(), bytes.begin(), bytes.end()); }
  Arch arch_;
  Bytes notes_;
};

/// A program header, with nothing but what is named.
struct BuiltHeader {
  std::uint32_t p_type = 0, p_flags = 0;
  std::uint64_t p_offset = 0, p_vaddr = 0, p_filesz = 0, p_memsz = 0;
  [[nodiscard]] Elf64_Phdr raw() const { return {p_type, p_flags, p_offset, p_vaddr, 0, p_filesz, p_memsz, 0}; }
};

/// The whole file: ELF header, program headers, then their contents in order.
class CoreBuilder {
 public:
  explicit CoreBuilder(Arch arch = Arch::x86_64) {
    header_.e_type = ET_CORE;
    std::memcpy(header_.e_ident, ELFMAG, SELFMAG);
    header_.e_ident[EI_CLASS] = ELFCLASS64;
    header_.e_ident[EI_DATA] = ELFDATA2LSB;
    header_.e_machine = arch == Arch::aarch64 ? EM_AARCH64 : EM_X86_64;
    header_.e_phentsize = sizeof(Elf64_Phdr);
  }
  Elf64_Ehdr& header() { return header_; }

  CoreBuilder& notes(const NoteBuilder& notes) { return part({.p_type = PT_NOTE}, notes.bytes()); }
  /// A mapping whose first bytes are held. `size` 0: as many as are held.
  CoreBuilder& segment(std::uint64_t address, Bytes content, std::uint64_t size = 0,
                       std::uint32_t flags = PF_R | PF_W) {
    BuiltHeader h{.p_type = PT_LOAD, .p_flags = flags};
    h.p_vaddr = address;
    h.p_memsz = size == 0 ? content.size() : size;
    return part(h, std::move(content));
  }
  /// A header as it is, with nothing behind it.
  CoreBuilder& lie(const BuiltHeader& header) {
    parts_.push_back({header, {}, true});
    return *this;
  }
  /// PN_XNUM, whatever the number of headers.
  CoreBuilder& extended_numbering() {
    extended_ = true;
    return *this;
  }

  [[nodiscard]] Bytes build() const {
    Bytes out(sizeof(Elf64_Ehdr) + parts_.size() * sizeof(Elf64_Phdr));
    Elf64_Ehdr header = header_;
    header.e_phoff = sizeof header;
    header.e_phnum = static_cast<std::uint16_t>(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); i++) {
      BuiltHeader h = parts_[i].header;
      if (!parts_[i].as_it_is) {
        h.p_offset = out.size();
        h.p_filesz = parts_[i].content.size();
      }
      put(out, sizeof header + i * sizeof(Elf64_Phdr), h.raw());
      out.insert(out.end(), parts_[i].content.begin(), parts_[i].content.end());
    }
    if (extended_) {
      Elf64_Shdr section{};
      section.sh_info = static_cast<std::uint32_t>(parts_.size());
      header.e_phnum = PN_XNUM;
      header.e_shoff = out.size();
      header.e_shnum = 1;
      append(out, section);
    }
    put(out, 0, header);
    return out;
  }

 private:
  struct Part {
    BuiltHeader header;
    Bytes content;
    bool as_it_is = false;
  };
  CoreBuilder& part(const BuiltHeader& header, Bytes content) {
    parts_.push_back({header, std::move(content), false});
    return *this;
  }
  Elf64_Ehdr header_{};
  std::vector<Part> parts_;
  bool extended_ = false;
};

/// A descriptor of a file in memory with these bytes.
inline int memory_file(const Bytes& bytes) {
  const int fd = ::memfd_create("core", MFD_CLOEXEC);
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return -1;
  return fd;
}

}  // namespace mixstack::test
