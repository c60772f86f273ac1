// Every unwind code by hand, epilogues of both versions, chains, and data that lies.
#include "engine/unwind/windows/amd64/rule.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <random>
#include <vector>

#include "mixstack/registers.h"

namespace mixstack::unwind::windows {
namespace {

using namespace x86_64_reg;

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (unsigned v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

/// Records and code at RVAs of an image of 64 KiB.
class Image final : public UnwindDataSource {
 public:
  void put(std::uint32_t rva, const std::vector<std::byte>& what) {
    for (std::size_t i = 0; i < what.size(); i++) image_[rva + i] = what[i];
  }
  [[nodiscard]] Result<std::size_t> read_some(std::uint32_t rva, std::span<std::byte> out) const override {
    return MappedUnwindData(image_).read_some(rva, out);
  }
  [[nodiscard]] std::optional<RuntimeFunction> function_at(std::uint32_t rva) const override {
    for (const auto& f : functions) {
      if (rva >= f.begin && rva < f.end) return f;
    }
    return std::nullopt;
  }
  std::vector<RuntimeFunction> functions;

 private:
  std::vector<std::byte> image_ = std::vector<std::byte>(64 << 10);
};

constexpr RuntimeFunction kFunction{0x1000, 0x1100, 0x8000};

/// Rule `offset` bytes into the function, for a record given as bytes behind the version byte.
Result<UnwindRule> rule_at(std::uint32_t offset, const std::vector<std::byte>& info, bool is_return_address = false) {
  Image image;
  image.put(0x8000, info);
  return amd64_rule(image, {kFunction, kFunction.begin + offset, is_return_address});
}

struct Expected {
  unsigned cfa_register;
  int cfa_offset;
  std::map<unsigned, int> at_cfa;  ///< register to distance from the CFA; rip is implied
};

void expect_rule(const Result<UnwindRule>& rule, const Expected& expected) {
  ASSERT_TRUE(rule) << static_cast<int>(rule.error().code);
  EXPECT_EQ(rule->cfa_kind, CfaKind::register_offset);
  EXPECT_EQ(rule->cfa_register, expected.cfa_register);
  EXPECT_EQ(rule->cfa_offset, expected.cfa_offset);
  EXPECT_EQ(rule->ra_register, rip);
  EXPECT_EQ(rule->trust, Trust::certain);
  EXPECT_EQ(rule->origin, StepperId::managed);
  std::map<unsigned, int> found;
  for (unsigned i = 0; i < rule->count; i++) {
    EXPECT_EQ(rule->rules[i].kind, RegisterRuleKind::at_cfa_offset);
    found[rule->rules[i].reg] = rule->rules[i].value;
  }
  EXPECT_EQ(found[rip], -8);
  found.erase(rip);
  EXPECT_EQ(found, expected.at_cfa);
}

// push rbp (1), push r12 (3), sub rsp, 0x20 (7)
const auto kPushes = bytes({0x01, 7, 3, 0, 7, 0x32, 3, 0xc0, 1, 0x50});

TEST(Amd64Rule, PrologueRunsOnlyExecutedCodes) {
  expect_rule(rule_at(0, kPushes), {rsp, 8, {}});
  expect_rule(rule_at(1, kPushes), {rsp, 16, {{rbp, -16}}});
  expect_rule(rule_at(2, kPushes), {rsp, 16, {{rbp, -16}}});
  expect_rule(rule_at(3, kPushes), {rsp, 24, {{rbp, -16}, {r12, -24}}});
  expect_rule(rule_at(7, kPushes), {rsp, 56, {{rbp, -16}, {r12, -24}}});
  expect_rule(rule_at(0x80, kPushes), {rsp, 56, {{rbp, -16}, {r12, -24}}});
  expect_rule(rule_at(0x80, kPushes, true), {rsp, 56, {{rbp, -16}, {r12, -24}}});
}

TEST(Amd64Rule, LargeAllocations) {
  expect_rule(rule_at(9, bytes({1, 7, 2, 0, 7, 0x01, 0x10, 0x01})), {rsp, 0x110 * 8 + 8, {}});
  expect_rule(rule_at(9, bytes({1, 7, 3, 0, 7, 0x11, 0x34, 0x12, 0x01, 0x00})), {rsp, 0x11234 + 8, {}});
  EXPECT_EQ(rule_at(9, bytes({1, 7, 3, 0, 7, 0x11, 0xff, 0xff, 0xff, 0x7f, 7, 0xf2})).error().code,
            ErrorCode::malformed);
}

TEST(Amd64Rule, FrameRegister) {
  // push rbp (1), sub rsp, 0x30 (5), lea rbp, [rsp + 0x20] (10)
  const auto info = bytes({1, 10, 3, 0x25, 10, 0x03, 5, 0x52, 1, 0x50});
  expect_rule(rule_at(5, info), {rsp, 0x40, {{rbp, -16}}});
  expect_rule(rule_at(10, info), {rbp, 0x20, {{rbp, -16}}});
  expect_rule(rule_at(99, info), {rbp, 0x20, {{rbp, -16}}});
}

TEST(Amd64Rule, FrameRegisterWithLargeOffset) {
  // push rbp, sub rsp, 0x1010, lea rbp, [rsp + 0x1000]; the operand is scaled by 16.
  const auto info = bytes({1, 20, 6, 0xf5, 20, 0x0b, 0x00, 0x01, 0, 0, 12, 0x01, 0x02, 0x02, 1, 0x50});
  expect_rule(rule_at(20, info), {rbp, 0x20, {{rbp, -16}}});
  expect_rule(rule_at(12, info), {rsp, 0x1020, {{rbp, -16}}});
  // The same header offset without the code means 240.
  expect_rule(rule_at(20, bytes({1, 20, 3, 0xf5, 20, 0x03, 12, 0xf2, 1, 0x50})), {rbp, 0x80 - 240 + 16, {{rbp, -16}}});
}

TEST(Amd64Rule, SavesByMove) {
  // sub rsp, 0x48 (4); mov [rsp + 0x40], rbx (9); mov [rsp + 0x80000], rsi (20); movaps of xmm6, xmm7
  const auto info =
      bytes({1, 30, 11, 0, 30, 0x79, 0, 0, 1, 0, 25, 0x68, 2, 0, 20, 0x65, 0, 0, 8, 0, 9, 0x34, 8, 0, 4, 0x82});
  const auto rule = rule_at(99, info);
  expect_rule(rule, {rsp, 0x50, {{rbx, -0x10}, {rsi, 0x80000 - 0x50}}});
  expect_rule(rule_at(9, info), {rsp, 0x50, {{rbx, -0x10}}});
}

TEST(Amd64Rule, SavesRelativeToAFrameRegisterThatIsNotTheBaseOfTheCfa) {
  // sub rsp, 0x28; mov rbp-based save, with rbp set before it is pushed never happens; here the save is at rsp + 8 in
  // the prologue while the CFA follows rsp, and at fp in the body.
  const auto info = bytes({1, 10, 5, 0x05, 10, 0x34, 1, 0, 7, 0x03, 4, 0x42, 1, 0x50});
  expect_rule(rule_at(20, info), {rbp, 0x28 + 16, {{rbp, -16}, {rbx, -0x30}}});
}

TEST(Amd64Rule, MachineFrames) {
  for (const unsigned with_error_code : {0u, 1u}) {
    const auto rule = rule_at(9, bytes({1, 0, 2, 0, 0, 0x32, 0, 0x0a | with_error_code << 4}));
    ASSERT_TRUE(rule);
    const int base = 0x20 + (with_error_code != 0 ? 8 : 0);
    EXPECT_EQ(rule->cfa_kind, CfaKind::deref_register_offset);
    EXPECT_EQ(rule->cfa_register, rsp);
    EXPECT_EQ(rule->cfa_offset, base + 24);
    EXPECT_TRUE(rule->is_signal_frame);
    ASSERT_EQ(rule->count, 1);
    EXPECT_EQ(rule->rules[0], (RegisterRule{rip, RegisterRuleKind::at_register_offset, rsp, 0, base}));
  }
}

TEST(Amd64Rule, EpiloguesOfVersion1) {
  const auto at = [](std::initializer_list<unsigned> code, const std::vector<std::byte>& info, bool is_ra = false) {
    Image image;
    image.put(0x8000, info);
    image.put(0x1050, bytes(code));
    return amd64_rule(image, {kFunction, 0x1050, is_ra});
  };
  const Expected two{rsp, 24, {{r12, -24}, {rbp, -16}}};
  expect_rule(at({0x41, 0x5c, 0x5d, 0xc3}, kPushes), two);  // pop r12; pop rbp; ret
  expect_rule(at({0x48, 0x83, 0xc4, 0x20, 0x41, 0x5c, 0x5d, 0xc3}, kPushes), {rsp, 56, two.at_cfa});
  expect_rule(at({0x48, 0x81, 0xc4, 0x20, 0, 0, 0, 0x41, 0x5c, 0x5d, 0xc3}, kPushes), {rsp, 56, two.at_cfa});
  expect_rule(at({0xc3}, kPushes), {rsp, 8, {}});
  expect_rule(at({0xc2, 8, 0}, kPushes), {rsp, 8, {}});
  expect_rule(at({0xf3, 0xc3}, kPushes), {rsp, 8, {}});
  expect_rule(at({0xf2, 0xc3}, kPushes), {rsp, 8, {}});
  expect_rule(at({0x59, 0x5d, 0xc3}, kPushes), {rsp, 24, {{rbp, -16}}});              // pop rcx drops a word
  expect_rule(at({0x5d, 0xff, 0x25, 0, 0, 0, 0}, kPushes), {rsp, 16, {{rbp, -16}}});  // jmp [rip]
  expect_rule(at({0x5d, 0x48, 0xff, 0xe0}, kPushes), {rsp, 16, {{rbp, -16}}});        // rex.W jmp rax
  expect_rule(at({0x5d, 0xe9, 0, 0x10, 0, 0}, kPushes), {rsp, 16, {{rbp, -16}}});     // jmp out of the function
  expect_rule(at({0xeb, 0xae}, kPushes), {rsp, 8, {}});                               // jmp to the function's start
  const Expected body{rsp, 56, two.at_cfa};
  expect_rule(at({0xeb, 0x10}, kPushes), body);  // jmp inside
  expect_rule(at({0xff, 0xe0}, kPushes), body);  // jmp rax: a switch
  expect_rule(at({0x5c, 0xc3}, kPushes), body);  // pop rsp is no epilogue
  expect_rule(at({0x5d}, kPushes), body);        // a lone pop
  expect_rule(at({0x41, 0x5c, 0x5d, 0xc3}, kPushes, true), body);
  const auto framed = bytes({1, 10, 3, 0x25, 10, 0x03, 5, 0x52, 1, 0x50});
  expect_rule(at({0x48, 0x8d, 0x65, 0x10, 0x5d, 0xc3}, framed), {rbp, 0x20, {{rbp, -16}}});  // lea rsp, [rbp + 16]
  expect_rule(at({0x48, 0x8d, 0xa5, 0x10, 0, 0, 0, 0x5d, 0xc3}, framed), {rbp, 0x20, {{rbp, -16}}});
  expect_rule(at({0x49, 0x8d, 0x65, 0x10, 0x5d, 0xc3}, framed), {rbp, 0x20, {{rbp, -16}}});  // r13: not the frame's
}

TEST(Amd64Rule, EpilogueAtTheEndOfReadableCode) {
  const Image none;
  const std::vector<std::byte> code = bytes({0x41, 0x5c, 0x5d});
  expect_rule(amd64_rule(kPushes, {kFunction, 0x1050, false}, code, none), {rsp, 56, {{r12, -24}, {rbp, -16}}});
  expect_rule(amd64_rule(kPushes, {kFunction, 0x1050, false}, {}, none), {rsp, 56, {{r12, -24}, {rbp, -16}}});
}

TEST(Amd64Rule, EpiloguesOfVersion2) {
  // Epilogue of 4 bytes at the end and another 0x40 before the end: pop r12; pop rbp; ret.
  const auto info = bytes({2, 7, 5, 0, 4, 0x16, 0x40, 0x06, 7, 0x32, 3, 0xc0, 1, 0x50});
  for (const std::uint32_t start : {0xfcu, 0xc0u}) {
    expect_rule(rule_at(start, info), {rsp, 24, {{r12, -24}, {rbp, -16}}});
    expect_rule(rule_at(start + 2, info), {rsp, 16, {{rbp, -16}}});
    expect_rule(rule_at(start + 3, info), {rsp, 8, {}});
    expect_rule(rule_at(start - 1, info), {rsp, 56, {{r12, -24}, {rbp, -16}}});
  }
  expect_rule(rule_at(0xc4, info), {rsp, 56, {{r12, -24}, {rbp, -16}}});
  expect_rule(rule_at(1, info), {rsp, 16, {{rbp, -16}}});
}

TEST(Amd64Rule, ChainedRecords) {
  Image image;
  // The cold part saves rbx by move and chains to the hot part.
  image.put(0x8000, bytes({1, 7, 3, 0, 7, 0x32, 3, 0xc0, 1, 0x50}));
  image.put(0x8100, bytes({0x21, 5, 2, 0, 5, 0x34, 1, 0, 0x00, 0x10, 0, 0, 0x00, 0x11, 0, 0, 0x00, 0x80, 0, 0}));
  const RuntimeFunction cold{0x3000, 0x3100, 0x8100};
  expect_rule(amd64_rule(image, {cold, 0x3010, false}), {rsp, 56, {{rbp, -16}, {r12, -24}, {rbx, -48}}});
  expect_rule(amd64_rule(image, {cold, 0x3000, false}), {rsp, 56, {{rbp, -16}, {r12, -24}}});
  // jmp back to the hot part is no epilogue; jmp to its first byte is a tail call.
  image.put(0x3010, bytes({0xe9, 0x10, 0xe0, 0xff, 0xff}));
  expect_rule(amd64_rule(image, {cold, 0x3010, false}), {rsp, 56, {{rbp, -16}, {r12, -24}, {rbx, -48}}});
  image.put(0x3010, bytes({0xe9, 0xeb, 0xdf, 0xff, 0xff}));
  expect_rule(amd64_rule(image, {cold, 0x3010, false}), {rsp, 8, {}});
  // A jump from the hot to the cold part is one only for who cannot look the row up.
  image.put(0x1050, bytes({0xe9, 0xb0, 0x1f, 0, 0}));
  expect_rule(amd64_rule(image, {kFunction, 0x1050, false}), {rsp, 8, {}});
  image.functions = {cold};
  expect_rule(amd64_rule(image, {kFunction, 0x1050, false}), {rsp, 56, {{rbp, -16}, {r12, -24}}});
}

TEST(Amd64Rule, EndlessChainsAreRefused) {
  Image image;
  image.put(0x8000, bytes({0x21, 0, 0, 0, 0x00, 0x10, 0, 0, 0x00, 0x11, 0, 0, 0x00, 0x80, 0, 0}));
  EXPECT_EQ(amd64_rule(image, {kFunction, 0x1010, false}).error().code, ErrorCode::limit_exceeded);
  image.put(0x1010, bytes({0xe9, 0, 0x10, 0, 0}));
  image.put(0x8000, bytes({0x22, 0, 2, 0, 4, 0x16, 0, 0, 0x00, 0x10, 0, 0, 0x00, 0x11, 0, 0, 0x00, 0x80, 0, 0}));
  EXPECT_EQ(amd64_rule(image, {kFunction, 0x10fd, false}).error().code, ErrorCode::limit_exceeded);
}

TEST(Amd64Rule, HostileRecords) {
  const Image none;
  for (std::size_t n = 0; n < kPushes.size(); n++) {
    EXPECT_EQ(amd64_rule(std::span(kPushes).first(n), {kFunction, 0x1050, false}, {}, none).error().code,
              ErrorCode::truncated);
  }
  const auto code_of = [](const std::vector<std::byte>& info) { return rule_at(99, info).error().code; };
  EXPECT_EQ(code_of(bytes({3, 0, 0, 0})), ErrorCode::unsupported);
  EXPECT_EQ(code_of(bytes({0, 0, 0, 0})), ErrorCode::unsupported);
  EXPECT_EQ(code_of(bytes({1, 0, 1, 0, 0, 0x0c})), ErrorCode::malformed);           // unknown operation
  EXPECT_EQ(code_of(bytes({1, 0, 1, 0, 0, 0x03})), ErrorCode::malformed);           // no frame register
  EXPECT_EQ(code_of(bytes({1, 0, 1, 0, 0, 0x40})), ErrorCode::malformed);           // push rsp
  EXPECT_EQ(code_of(bytes({1, 0, 1, 0, 0, 0x01})), ErrorCode::malformed);           // operand missing
  EXPECT_EQ(code_of(bytes({1, 0, 2, 5, 0, 0x50, 0, 0x03})), ErrorCode::malformed);  // rbp popped, then used
  EXPECT_EQ(code_of(bytes({1, 0, 2, 0, 0, 0x0a, 0, 0x32})), ErrorCode::malformed);  // code behind a machine frame
  EXPECT_EQ(amd64_rule(none, {{0x1000, 0x1100, 0xffffffff}, 0x1010, false}).error().code, ErrorCode::unreadable_memory);
}

TEST(Amd64Rule, RandomRecordsNeverCrash) {
  std::mt19937 random(1);
  Image image;
  std::vector<std::byte> record(600);
  for (unsigned i = 0; i < 20000; i++) {
    for (auto& b : record) b = static_cast<std::byte>(random());
    record[0] = static_cast<std::byte>((random() & 1) + 1 + (random() & 4) * 8);
    image.put(0x8000, record);
    image.put(0x1000, record);
    for (unsigned k = 0; k < 4; k++) {
      const auto pc = static_cast<std::uint32_t>(0x1000 + random() % 0x100);
      const auto rule = amd64_rule(image, {kFunction, pc, (k & 1) != 0});
      if (rule) {
        EXPECT_LE(rule->count, UnwindRule::kMaxRules);
      }
    }
  }
}

}  // namespace
}  // namespace mixstack::unwind::windows
