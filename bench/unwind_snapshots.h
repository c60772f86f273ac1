// The stacks of T2 as the walkers of unwind_bench see them.
#pragma once

#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "t2_snapshots.h"

namespace bench {

struct Snapshot {
  mixstack::Registers registers{mixstack::Arch::x86_64};
  mixstack::StackView stack;
};

struct SnapshotFile {
  std::vector<t2::FileModule> modules;
  std::vector<Snapshot> snapshots;
  std::vector<char> bytes;

  [[nodiscard]] const t2::FileModule* module_at(std::uint64_t address) const {
    for (const auto& m : modules)
      if (address - m.begin < m.end - m.begin) return &m;
    return nullptr;
  }
};

inline SnapshotFile read_snapshots(const std::string& path) {
  SnapshotFile out;
  std::ifstream in(path, std::ios::binary);
  out.bytes.assign(std::istreambuf_iterator<char>(in), {});
  const char* next = out.bytes.data();
  const auto take = [&next](auto& value) {
    std::memcpy(&value, next, sizeof(value));
    next += sizeof(value);
  };
  t2::FileHead head;
  if (out.bytes.size() < sizeof(head)) return out;
  take(head);
  out.modules.resize(head.modules);
  for (auto& m : out.modules) take(m);
  for (std::uint64_t i = 0; i < head.snapshots; i++) {
    t2::FileSnapshot file;
    take(file);
    Snapshot s;
    for (unsigned r = 0; r < file.registers.size(); r++) s.registers.set(r, file.registers[r]);
    s.stack = {s.registers.sp(), reinterpret_cast<const std::byte*>(next), file.size, nullptr};
    next += file.size;
    out.snapshots.push_back(s);
  }
  return out;
}

/// What a walk found. All walkers must agree on the T2 part of each stack; how they take the start-up code differs.
struct Frames {
  static constexpr std::size_t kLimit = 64, kCompared = 31;
  std::size_t count = 0;
  std::uint64_t checksum = 0;

  bool add(std::uint64_t pc) {
    if (count < kCompared) checksum = checksum * 31 + pc;
    return ++count < kLimit;
  }
};

/// One way to walk. `prepare` is what a fresh process must do first; `forget` empties its caches.
class Walker {
 public:
  virtual ~Walker() = default;
  virtual void prepare(const SnapshotFile& file) = 0;
  virtual Frames walk(const Snapshot& snapshot) = 0;
  virtual void forget() {}
};

}  // namespace bench
