// T2: `t2_target FILE` writes 256 snapshots of its own stack, each 30 calls deep, to FILE.
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "t2_functions.h"
#include "t2_snapshots.h"

namespace {

constexpr std::size_t kPaths = 256;
constexpr std::uint64_t kMostStack = 64 << 10;

struct Output {
  std::FILE* file = nullptr;
  std::uint64_t stack_end = 0;
};

template <std::size_t... N>
void fill(t2::Function* out, std::index_sequence<N...>) {
  const t2::Function all[] = {&t2::function<N>...};
  std::copy(std::begin(all), std::end(all), out);
}

void write_snapshot(t2::Run& run) {
  const auto& output = *static_cast<Output*>(run.bottom_data);
  ucontext_t context;
  getcontext(&context);
  constexpr std::array<int, 17> kOrder{REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                       REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  t2::FileSnapshot snapshot;
  for (std::size_t i = 0; i < kOrder.size(); i++)
    snapshot.registers[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kOrder[i]]);
  const std::uint64_t sp = snapshot.registers[7];
  snapshot.size = std::min(output.stack_end - sp, kMostStack);
  std::fwrite(&snapshot, sizeof(snapshot), 1, output.file);
  std::fwrite(reinterpret_cast<const void*>(sp), 1, snapshot.size, output.file);
}

/// File mappings, joined per file, and the end of the main stack.
std::vector<t2::FileModule> read_maps(std::uint64_t& stack_end) {
  std::vector<t2::FileModule> modules;
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return modules;
  char line[512];
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char path[240] = "";
    std::sscanf(line, "%lx-%lx %*s %*s %*s %*s %239s", &begin, &end, path);
    if (std::strcmp(path, "[stack]") == 0) stack_end = end;
    if (path[0] != '/') continue;
    if (!modules.empty() && std::strcmp(modules.back().path.data(), path) == 0) {
      modules.back().end = end;
      continue;
    }
    modules.push_back({begin, end, {}});
    std::strcpy(modules.back().path.data(), path);
  }
  std::fclose(maps);
  return modules;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::array<t2::Function, t2::kFunctions> functions{};
  fill(functions.data(), std::make_index_sequence<t2::kFunctionsPerHalf>());
  t2::library_functions(functions.data() + t2::kFunctionsPerHalf);

  Output output;
  output.file = std::fopen(argv[1], "w");
  if (output.file == nullptr) return 1;
  const auto modules = read_maps(output.stack_end);
  const t2::FileHead head{modules.size(), kPaths};
  std::fwrite(&head, sizeof(head), 1, output.file);
  std::fwrite(modules.data(), sizeof(t2::FileModule), modules.size(), output.file);

  std::uint64_t random = 0x2545f4914f6cdd1d;
  for (std::size_t p = 0; p < kPaths; p++) {
    std::array<std::uint16_t, t2::kDepth + 1> path{};
    for (std::size_t i = 0; i < path.size(); i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      // Executable and library take turns.
      path[i] = static_cast<std::uint16_t>((random >> 40) % t2::kFunctionsPerHalf + i % 2 * t2::kFunctionsPerHalf);
    }
    t2::Run run;
    run.path = path.data() + 1;
    run.depth = t2::kDepth;
    run.functions = functions.data();
    run.bottom = &write_snapshot;
    run.bottom_data = &output;
    (void)functions[path[0]](run, 0);
  }
  return std::fclose(output.file) == 0 ? 0 : 1;
}
