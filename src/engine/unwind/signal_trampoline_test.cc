#include "engine/unwind/signal_trampoline.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>

#include "engine/images/file_bytes.h"
#include "engine/unwind/apply.h"
#include "engine/unwind/unwind_table.h"
#include "support/cfi_builder.h"
#include "support/host_cpu.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;
const Bytes kX86{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/// glibc describes its own copy of the sequence: both descriptions must say the same.
TEST(SignalTrampoline, EqualsTheCfiOfLibc) {
  if (test::kHostCpu != Arch::x86_64) GTEST_SKIP() << "only there libc has a copy of its own";
  const auto file = images::open_file_bytes(test::kLibc);
  ASSERT_TRUE(file);
  const auto image = images::ElfImage::from_file(*file);
  ASSERT_TRUE(image);
  const auto text = (*image)->section(".text");
  ASSERT_TRUE(text);
  const auto at = std::search(text->bytes.begin(), text->bytes.end(), kX86.bytes().begin(), kX86.bytes().end());
  ASSERT_NE(at, text->bytes.end());
  const auto pc = text->address + static_cast<std::uint64_t>(at - text->bytes.begin());
  const auto cfi = UnwindTable::create(*image)->rule(pc);
  ASSERT_TRUE(cfi);
  const auto ours = match_signal_trampoline(Arch::x86_64, kX86.bytes());
  ASSERT_TRUE(ours);
  EXPECT_TRUE(cfi->is_signal_frame);
  EXPECT_EQ(cfi->cfa_kind, ours->cfa_kind);
  EXPECT_EQ(cfi->cfa_register, ours->cfa_register);
  EXPECT_EQ(cfi->cfa_offset, ours->cfa_offset);
  EXPECT_EQ(cfi->ra_register, ours->ra_register);
  auto rules = ours->rules;
  std::sort(rules.begin(), rules.begin() + ours->count, [](const auto& a, const auto& b) { return a.reg < b.reg; });
  ASSERT_EQ(cfi->count, ours->count);
  for (std::size_t i = 0; i < cfi->count; i++) EXPECT_EQ(cfi->rules[i], rules[i]) << i;
}

TEST(SignalTrampoline, Aarch64RestoresAllRegisters) {
  const Bytes code{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
  const auto rule = match_signal_trampoline(Arch::aarch64, code.bytes());
  ASSERT_TRUE(rule);
  std::vector<std::uint64_t> frame(128);
  for (std::size_t i = 0; i < 33; i++) frame[39 + i] = 0x1000 + i;  // x0 at byte 312
  Registers registers(Arch::aarch64);
  registers.set_sp(0x8000);
  const StackView stack{0x8000, reinterpret_cast<const std::byte*>(frame.data()), frame.size() * 8, nullptr};
  const auto caller = apply(*rule, registers, CodeAddress::exact(0x4000), stack);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->pc, CodeAddress::exact(0x1020));
  EXPECT_EQ(registers.sp(), 0x101fu);
  for (unsigned r = 0; r <= 30; r++) EXPECT_EQ(registers.get(r), 0x1000u + r);
}

/// Records behind the registers (struct _aarch64_ctx: magic, size) have any number and size, extra ones included;
/// vector state of 256 bytes a register makes some kilobytes. Where the interrupted code's registers are, does not
/// move.
TEST(SignalTrampoline, RecordsOfVectorsBehindTheRegistersDoNotMatter) {
  constexpr std::uint32_t kFpsimd = 0x46508001, kEsr = 0x45535201, kSve = 0x53564501, kZa = 0x54366345,
                          kZt = 0x5a544e01, kExtra = 0x45585401;
  using Records = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const Bytes code{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
  const auto rule = match_signal_trampoline(Arch::aarch64, code.bytes());
  ASSERT_TRUE(rule);
  for (const Records& records : {Records{}, Records{{kFpsimd, 528}}, Records{{kFpsimd, 528}, {kEsr, 16}, {kSve, 16}},
                                 Records{{kFpsimd, 528}, {kSve, 0x1110}, {kZa, 0x4010}, {kZt, 96}},
                                 Records{{kFpsimd, 528}, {kExtra, 32}, {0, 0}, {kSve, 0x2150}, {kZa, 0x10010}}}) {
    std::vector<std::uint64_t> frame(39 + 34);
    for (std::size_t i = 0; i < 33; i++) frame[39 + i] = 0x7000'0000 + 16 * i;
    for (const auto& [magic, size] : records) {
      std::vector<std::uint64_t> record(std::max<std::size_t>(size / 8, 1), 0xa5a5a5a5a5a5a5a5);
      record[0] = magic | std::uint64_t{size} << 32;
      frame.insert(frame.end(), record.begin(), record.end());
    }
    Registers registers(Arch::aarch64);
    registers.set_sp(0x8000);
    const StackView stack{0x8000, reinterpret_cast<const std::byte*>(frame.data()), frame.size() * 8, nullptr};
    const auto caller = apply(*rule, registers, CodeAddress::after_call(0x4000), stack);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->pc, CodeAddress::exact(0x7000'0200));
    EXPECT_EQ(registers.sp(), 0x7000'01f0u);
    EXPECT_EQ(registers.get(aarch64_reg::lr), 0x7000'01e0u);
  }
}

TEST(SignalTrampoline, OtherCodeIsNone) {
  for (std::size_t i = 0; i < kX86.size(); i++) {
    auto bytes = kX86.bytes();
    bytes[i] ^= std::byte{1};
    EXPECT_FALSE(match_signal_trampoline(Arch::x86_64, bytes)) << i;
    EXPECT_FALSE(match_signal_trampoline(Arch::x86_64, std::span(kX86.bytes()).first(i)));
  }
  EXPECT_FALSE(match_signal_trampoline(Arch::aarch64, kX86.bytes()));
  EXPECT_FALSE(match_signal_trampoline(Arch::x86, kX86.bytes()));
}

siginfo_t* caught_info = nullptr;
ucontext_t* caught_context = nullptr;

// The kernel writes both into the frame that its sp points at when the handler returns.
TEST(SignalTrampoline, KnowsWhereTheKernelPutsItsSiginfo) {
  struct sigaction action = {}, before = {};
  action.sa_sigaction = [](int, siginfo_t* info, void* context) {
    caught_info = info;
    caught_context = static_cast<ucontext_t*>(context);
  };
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
  ::raise(SIGUSR2);
  ::sigaction(SIGUSR2, &before, nullptr);
  ASSERT_NE(caught_info, nullptr);
  const auto info = reinterpret_cast<std::uintptr_t>(caught_info);
  const auto context = reinterpret_cast<std::uintptr_t>(caught_context);
  // The ucontext comes first on x86-64, the siginfo of 128 bytes on AArch64.
  if (info > context) {
    EXPECT_EQ(info - context, signal_info_offset(Arch::x86_64));
  } else {
    EXPECT_EQ(context - info, 128u);
  }
  EXPECT_EQ(signal_info_offset(Arch::aarch64), 0u);
  EXPECT_FALSE(signal_info_offset(Arch::x86));
}

}  // namespace
}  // namespace mixstack::unwind
