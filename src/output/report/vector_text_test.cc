#include "output/report/vector_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/json.h"
#include "output/report/text.h"

namespace mixstack::report {
namespace {

using nlohmann::json;

VectorRegisters counted(std::uint8_t size, std::size_t count) {
  VectorRegisters set;
  set.size = size;
  set.values.resize(count);
  for (std::size_t i = 0; i < count; i++)
    for (std::size_t b = 0; b < 32; b++) set.values[i][b] = static_cast<std::byte>(i + b);
  return set;
}

ProcessDump crashed(const VectorRegisters& set, Arch arch = Arch::x86_64) {
  ProcessDump dump;
  dump.target.arch = arch;
  dump.target.crash = CrashFacts{7, 11, 1, Address{0}, {}};
  dump.symbols.resize(1);
  for (const ThreadId tid : {7U, 8U}) {
    ThreadDump thread;
    thread.tid = tid;
    thread.captured = true;
    thread.registers = Registers(arch);
    thread.vectors = std::make_shared<const VectorRegisters>(set);
    dump.threads.push_back(std::move(thread));
  }
  return dump;
}
json document(const ProcessDump& dump) {
  return json::parse(collect([&](Writer& out) { write_json(out, dump, {}); }));
}
std::string text(const ProcessDump& dump, bool registers) {
  return collect([&](Writer& out) { write_text(out, dump, {.registers = registers}); });
}

TEST(VectorText, JsonHasThemForTheThreadThatCrashed) {
  const json threads = document(crashed(counted(16, 16))).at("threads");
  const json& vectors = threads.at(0).at("vector_registers");
  EXPECT_EQ(vectors.size(), 16U);
  EXPECT_EQ(vectors.at("xmm0"), "0x0f0e0d0c0b0a09080706050403020100");
  EXPECT_EQ(vectors.at("xmm15"), "0x1e1d1c1b1a191817161514131211100f");
  EXPECT_FALSE(threads.at(1).contains("vector_registers"));
}

TEST(VectorText, NamesTellWidthAndCpu) {
  EXPECT_EQ(document(crashed(counted(32, 16))).at("threads").at(0).at("vector_registers").at("ymm1"),
            "0x201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a090807060504030201");
  EXPECT_EQ(document(crashed(counted(16, 32), Arch::aarch64)).at("threads").at(0).at("vector_registers").at("v31"),
            "0x2e2d2c2b2a292827262524232221201f");
}

TEST(VectorText, WithoutThemNothingIsSaid) {
  ProcessDump dump = crashed(counted(16, 16));
  dump.threads[0].vectors = nullptr;
  EXPECT_FALSE(document(dump).at("threads").at(0).contains("vector_registers"));
  dump = crashed(counted(16, 16));
  dump.target.crash.reset();
  EXPECT_FALSE(document(dump).at("threads").at(0).contains("vector_registers"));
  EXPECT_EQ(text(dump, true).find("xmm"), std::string::npos);
}

TEST(VectorText, TextHasThemOnlyWhenAsked) {
  EXPECT_EQ(text(crashed(counted(16, 3)), false).find("xmm"), std::string::npos);
  EXPECT_NE(text(crashed(counted(16, 3)), true)
                .find("   xmm0 0f0e0d0c0b0a09080706050403020100   xmm1 100f0e0d0c0b0a090807060504030201\n"
                      "   xmm2 11100f0e0d0c0b0a0908070605040302\n"),
            std::string::npos);
  EXPECT_NE(text(crashed(counted(32, 2)), true)
                .find("   ymm0 1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100\n   ymm1 "),
            std::string::npos);
}

}  // namespace
}  // namespace mixstack::report
