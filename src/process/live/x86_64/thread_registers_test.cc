#include <gtest/gtest.h>

#include <map>

#include "process/live/live_target.h"
#include "process/live/test_process.h"

namespace mixstack::process {
namespace {

using namespace test;

std::map<std::string, std::uint64_t> gdb_registers(pid_t tid) {
  const std::string command = "gdb -p " + std::to_string(tid) +
                              " -batch -nx -iex 'set auto-load off' -iex 'set debuginfod enabled off' -ex 'info "
                              "registers' 2>/dev/null";
  std::map<std::string, std::uint64_t> out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char name[64], value[64], rest[256];
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr)
    if (std::sscanf(line, "%63s %63s %255[^\n]", name, value, rest) == 3) out[name] = std::strtoull(value, nullptr, 16);
  if (pipe != nullptr) ::pclose(pipe);
  return out;
}

TEST(LiveCapture, RegistersEqualThoseOfGdb) {
  const TestProcess process([](Shared& s) { s.ready++; });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'S'; }));
  ::kill(process.pid(), SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; }));
  const auto theirs = gdb_registers(process.pid());
  ASSERT_GE(theirs.size(), 17u) << "gdb did not answer";
  CaptureRequest request;
  request.stop_timeout = 20s;
  auto capture = (*target)->capture(request);
  ASSERT_TRUE(capture.has_value());
  const std::pair<const char*, unsigned> names[] = {
      {"rax", x86_64_reg::rax}, {"rbx", x86_64_reg::rbx}, {"rcx", x86_64_reg::rcx}, {"rdx", x86_64_reg::rdx},
      {"rsi", x86_64_reg::rsi}, {"rdi", x86_64_reg::rdi}, {"rbp", x86_64_reg::rbp}, {"rsp", x86_64_reg::rsp},
      {"r8", x86_64_reg::r8},   {"r9", x86_64_reg::r9},   {"r10", x86_64_reg::r10}, {"r11", x86_64_reg::r11},
      {"r12", x86_64_reg::r12}, {"r13", x86_64_reg::r13}, {"r14", x86_64_reg::r14}, {"r15", x86_64_reg::r15},
      {"rip", x86_64_reg::rip}};
  for (const auto& [name, number] : names)
    EXPECT_EQ(capture->threads[0].registers.get(number), theirs.at(name)) << name;
}

}  // namespace
}  // namespace mixstack::process
