#include "dotnet/code/frames/frame_update.h"

#include "base/arch/context.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetMemory;
constexpr Address kFrame = 0x7ffc00001000, kBlock = 0x7ffc00002000;

Registers everything(Arch arch) {
  Registers r(arch);
  for (unsigned i = 0; i < arch_registers(arch).count; i++) r.set(i, 0xdead0000 + i);
  return r;
}

// A CONTEXT whose registers are 0x5000 + their number.
void put_context(DotnetMemory& t, Address at, std::uint32_t flags = 0) {
  Registers r(t.layouts.arch);
  for (const auto& c : arch::context_layout(t.layouts.arch)->registers) r.set(c.reg, 0x5000u + c.reg);
  std::vector<std::byte> bytes(arch::context_layout(t.layouts.arch)->size);
  ASSERT_TRUE(arch::encode_context(r, bytes, flags));
  t.memory.put_bytes(at, bytes);
}

FrameUpdate update(DotnetMemory& t, FrameType type) {
  auto frame = read_frame(t.runtime(), kFrame);
  EXPECT_TRUE(frame);
  EXPECT_EQ(frame->type, type);
  auto u = update_from_frame(t.runtime(), *frame, everything(t.layouts.arch));
  EXPECT_TRUE(u) << static_cast<int>(u.error().code);
  return u.value_or(FrameUpdate{});
}

std::uint64_t bits(std::initializer_list<unsigned> regs) {
  std::uint64_t mask = 0;
  for (const unsigned r : regs) mask |= std::uint64_t{1} << r;
  return mask;
}

const std::uint64_t kX64Saved =
    bits({x86_64_reg::rbx, x86_64_reg::rbp, x86_64_reg::r12, x86_64_reg::r13, x86_64_reg::r14, x86_64_reg::r15});
const std::uint64_t kX64Place = bits({x86_64_reg::rip, x86_64_reg::rsp});
const std::uint64_t kArm64Saved = bits({19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30});
const std::uint64_t kArm64Place = bits({aarch64_reg::sp, aarch64_reg::pc});

TEST(FrameUpdate, InlinedCallFrameGivesIpSpAndFpOnly) {
  DotnetMemory t;
  t.put_frame(kFrame, FrameType::inlined_call);
  t.memory.put_u64(kFrame + 24, 0x111000);
  t.memory.put_u64(kFrame + 32, 0x222000);
  t.memory.put_u64(kFrame + 40, 0x333000);
  const auto u = update(t, FrameType::inlined_call);
  EXPECT_TRUE(u.changed);
  EXPECT_FALSE(u.interrupted);
  EXPECT_EQ(u.registers.known(), kX64Place | bits({x86_64_reg::rbp}));
  EXPECT_EQ(u.registers.sp(), 0x111000u);
  EXPECT_EQ(u.registers.pc(), 0x222000u);
  EXPECT_EQ(u.registers.fp(), 0x333000u);
  // Pushed, but not in a call.
  t.memory.put_u64(kFrame + 32, 0);
  const auto inactive = update(t, FrameType::inlined_call);
  EXPECT_FALSE(inactive.changed);
  EXPECT_EQ(inactive.registers, everything(Arch::x86_64));
}

class BothArchitectures : public ::testing::TestWithParam<const char*> {
 protected:
  DotnetMemory t{test::load_descriptor(GetParam())};
  bool x64 = t.layouts.arch == Arch::x86_64;
  std::uint64_t saved = x64 ? kX64Saved : kArm64Saved, place = x64 ? kX64Place : kArm64Place;
};

TEST_P(BothArchitectures, SoftwareExceptionFrameGivesCalleeSavedRegisters) {
  t.put_frame(kFrame, FrameType::software_exception);
  put_context(t, kFrame + t.layouts.software_exception_frame.target_context.offset, 0x123);
  const auto u = update(t, FrameType::software_exception);
  EXPECT_EQ(u.registers.known(), saved | place);
  for (unsigned r = 0; r < 35; r++)
    if (u.registers.is_known(r)) {
      EXPECT_EQ(u.registers.get(r), 0x5000u + r);
    }
  EXPECT_FALSE(u.whole);
  EXPECT_FALSE(u.interrupted);
}

TEST_P(BothArchitectures, EveryTransitionFrameReadsItsBlock) {
  const auto& l = t.layouts;
  for (const auto type : {FrameType::pinvoke_calli, FrameType::prestub_method, FrameType::stub_dispatch,
                          FrameType::call_counting_helper, FrameType::external_method, FrameType::dynamic_helper}) {
    t.put_frame(kFrame, type);
    t.memory.put_u64(kFrame + 16, kBlock);
    t.memory.map(kBlock, 256);
    const auto& saved_block = l.callee_saved_registers;
    for (unsigned i = 0; i < saved_block.count; i++)
      t.memory.put_u64(kBlock + l.transition_block.callee_saved_registers.offset + saved_block.entries[i].offset,
                       0x7000u + saved_block.entries[i].reg);
    t.memory.put_u64(kBlock + l.transition_block.return_address.offset, 0x444000);
    const auto u = update(t, type);
    EXPECT_EQ(u.registers.known(), saved | place);
    EXPECT_EQ(u.registers.pc(), 0x444000u);
    EXPECT_EQ(u.registers.sp(), kBlock + l.transition_block.size);
    EXPECT_EQ(u.registers.fp(), 0x7000u + arch_registers(l.arch).fp);
    // On ARM64 the return address *is* the saved lr.
    if (!x64) {
      EXPECT_EQ(u.registers.get(aarch64_reg::lr), 0x444000u);
    }
  }
}

TEST_P(BothArchitectures, ResumableFramesReplaceEverything) {
  for (const auto type : {FrameType::resumable, FrameType::redirected_thread}) {
    t.put_frame(kFrame, type);
    t.memory.put_u64(kFrame + 16, kBlock);
    put_context(t, kBlock, 0x10000b | 0x40);
    const auto u = update(t, type);
    EXPECT_TRUE(u.whole);
    EXPECT_TRUE(u.interrupted);
    EXPECT_EQ(u.context_flags, 0x10004bu);
    EXPECT_EQ(u.registers.sp(), 0x5000u + arch_registers(t.layouts.arch).sp);
    EXPECT_EQ(u.registers.get(0), 0x5000u);
  }
}

TEST_P(BothArchitectures, FaultingExceptionFrameDropsExtendedState) {
  t.put_frame(kFrame, FrameType::faulting_exception);
  const std::uint32_t xstate = arch::context_layout(t.layouts.arch)->flag_xstate;
  put_context(t, kFrame + t.layouts.faulting_exception_frame.target_context.offset, 0x10000b | xstate);
  const auto u = update(t, FrameType::faulting_exception);
  EXPECT_TRUE(u.interrupted);
  EXPECT_EQ(u.context_flags, 0x10000b & ~xstate);
  EXPECT_EQ(u.registers.pc(), 0x5000u + arch_registers(t.layouts.arch).pc);
}

TEST_P(BothArchitectures, FuncEvalFrameUnlessDuringAnException) {
  t.put_frame(kFrame, FrameType::func_eval);
  t.memory.put_u64(kFrame + t.layouts.func_eval_frame.debugger_eval.offset, kBlock);
  t.memory.map(kBlock, 4096);
  put_context(t, kBlock + t.layouts.debugger_eval.target_context.offset);
  const auto& l = t.layouts.debugger_eval;
  const bool says_hijack = l.eval_uses_hijack.present();  // else the contrary
  const Address flag = kBlock + (says_hijack ? l.eval_uses_hijack : l.eval_during_exception).offset;
  t.memory.put_u8(flag, says_hijack ? 1 : 0);
  EXPECT_TRUE(update(t, FrameType::func_eval).whole);
  t.memory.put_u8(flag, says_hijack ? 0 : 1);
  EXPECT_FALSE(update(t, FrameType::func_eval).changed);
}

TEST_P(BothArchitectures, FramesWithoutContextChangeNothing) {
  for (const auto type : {FrameType::protect_value_class, FrameType::debugger_class_init_mark, FrameType::debugger_exit,
                          FrameType::debugger_u2m_catch_handler, FrameType::exception_filter}) {
    t.put_frame(kFrame, type);
    EXPECT_FALSE(update(t, type).changed);
  }
}

TEST_P(BothArchitectures, HijackFrame) {
  t.put_frame(kFrame, FrameType::hijack);
  t.memory.put_u64(kFrame + t.layouts.hijack_frame.return_address.offset, 0x666000);
  t.memory.put_u64(kFrame + t.layouts.hijack_frame.hijack_args.offset, kBlock);
  t.memory.map(kBlock, 512);
  for (unsigned i = 0; i < 24; i++) t.memory.put_u64(kBlock + 8 * i, 0x9000 + i);
  const auto u = update(t, FrameType::hijack);
  EXPECT_EQ(u.registers.pc(), 0x666000u);
  if (x64) {
    EXPECT_EQ(u.registers.known(), kX64Saved | kX64Place);
    EXPECT_EQ(u.registers.sp(), kBlock + 80);  // behind HijackArgs
    EXPECT_EQ(u.registers.get(x86_64_reg::rbp), 0x9000u + 24 / 8 + 40 / 8);
  } else {
    EXPECT_EQ(u.registers.known(), kArm64Saved | kArm64Place | bits({0, 1}));
    EXPECT_EQ(u.registers.sp(), kBlock + ((t.layouts.hijack_args.size + 15) & ~15u));
    EXPECT_EQ(u.registers.get(0), 0x9000u + 96 / 8);
  }
}

INSTANTIATE_TEST_SUITE_P(FrameUpdate, BothArchitectures, ::testing::ValuesIn(test::kDescriptorsFrom10),
                         test::release_of);

TEST(FrameUpdate, HijackArgsOfArm64ArePaddedTo16Bytes) {
  auto json = test::arm64_descriptor();
  json["types"]["HijackArgs"]["!"] = 200;
  DotnetMemory t(json);
  t.put_frame(kFrame, FrameType::hijack);
  t.memory.put_u64(kFrame + t.layouts.hijack_frame.hijack_args.offset, kBlock);
  t.memory.map(kBlock, 512);
  EXPECT_EQ(update(t, FrameType::hijack).registers.sp(), kBlock + 208);
}

TEST(FrameUpdate, HijackArgsOfWindowsX64HoldTheStackPointer) {
  auto json = test::x64_descriptor();
  json["types"]["HijackArgs"]["Rsp"] = 72;
  DotnetMemory t(json);
  t.put_frame(kFrame, FrameType::hijack);
  t.memory.put_u64(kFrame + t.layouts.hijack_frame.hijack_args.offset, kBlock);
  t.memory.map(kBlock, 512);
  t.memory.put_u64(kBlock + 72, 0x77778888);
  EXPECT_EQ(update(t, FrameType::hijack).registers.sp(), 0x77778888u);
}

// 32-bit targets, as data: no released 32-bit runtime has a descriptor for us to copy.
nlohmann::json descriptor_32(const char* arch, std::initializer_list<const char*> saved) {
  auto json = test::x64_descriptor();
  json["globals"]["Architecture"] = {arch, "string"};
  auto& types = json["types"];
  types["Frame"] = {{"Next", 4}};
  types["InlinedCallFrame"] = {{"!", 32}, {"CallSiteSP", 12}, {"CallerReturnAddress", 16}, {"CalleeSavedFP", 20}};
  types["FramedMethodFrame"] = {{"!", 16}, {"TransitionBlockPtr", 8}};
  types["HijackFrame"] = {{"!", 16}, {"ReturnAddress", 8}, {"HijackArgsPtr", 12}};
  types["FuncEvalFrame"] = {{"DebuggerEvalPtr", 8}};
  types["DebuggerEval"] = {{"TargetContext", 0}, {"EvalDuringException", 1500}};
  types["CalleeSavedRegisters"] = nlohmann::json::object();
  types["HijackArgs"] = nlohmann::json::object();
  unsigned offset = 0;
  for (const char* name : saved) {
    types["CalleeSavedRegisters"][name] = offset;
    types["HijackArgs"][name] = offset;
    offset += 4;
  }
  types["HijackArgs"]["!"] = offset;
  types["TransitionBlock"] = {{"!", offset + 4}, {"CalleeSavedRegisters", 0}, {"ReturnAddress", offset}};
  return json;
}

TEST(FrameUpdate, X86FramesAreReadAsData) {
  auto json = descriptor_32("x86", {"Edi", "Esi", "Ebx", "Ebp"});
  json["types"]["TailCallFrame"] = {{"!", 28}, {"CalleeSavedRegisters", 8}, {"ReturnAddress", 24}};
  json["globals"]["TailCallFrameIdentifier"] = {"0x20", "nuint"};
  DotnetMemory t(json, 4);
  constexpr Address kFrame32 = 0x10001000, kBlock32 = 0x10002000;
  t.memory.map(kBlock32, 2048);
  for (unsigned i = 0; i < 8; i++) t.memory.put_u32(kBlock32 + 4 * i, 0x9000 + i);
  const auto run = [&](FrameType type) {
    auto u = update_from_frame(t.runtime(), {kFrame32, type, 0}, everything(Arch::x86));
    EXPECT_TRUE(u);
    return u.value_or(FrameUpdate{}).registers;
  };
  t.put_frame(kFrame32, FrameType::prestub_method);
  t.memory.put_u32(kFrame32 + 8, kBlock32);
  auto r = run(FrameType::prestub_method);
  EXPECT_EQ(r.pc(), 0x9004u);
  EXPECT_EQ(r.sp(), kBlock32 + 20);
  EXPECT_EQ(r.get(x86_reg::ebp), 0x9003u);
  t.memory.put_u32(kFrame32 + 8, 0x1234);
  t.memory.put_u32(kFrame32 + 12, kBlock32);
  r = run(FrameType::hijack);
  EXPECT_EQ(r.pc(), 0x1234u);
  EXPECT_EQ(r.sp(), kBlock32 + 16);
  EXPECT_EQ(r.get(x86_reg::edi), 0x9000u);
  for (unsigned i = 0; i < 5; i++) t.memory.put_u32(kFrame32 + 8 + 4 * i, 0x4000 + i);
  r = run(FrameType::tail_call);
  EXPECT_EQ(r.pc(), 0x4004u);
  EXPECT_EQ(r.sp(), kFrame32 + 28);
  EXPECT_EQ(r.get(x86_reg::ebx), 0x4002u);
  // A function evaluation copies the integer registers only, hence no flags.
  t.memory.put_u32(kFrame32 + 8, kBlock32);
  put_context(t, kBlock32, 0x10007);
  auto eval = update_from_frame(t.runtime(), {kFrame32, FrameType::func_eval, 0}, everything(Arch::x86));
  ASSERT_TRUE(eval);
  EXPECT_FALSE(eval->whole);
  EXPECT_EQ(eval->registers.get(x86_reg::esi), 0x5000u + x86_reg::esi);
}

TEST(FrameUpdate, ArmFramesAreReadAsData) {
  auto json = descriptor_32("arm", {"R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "Lr"});
  json["types"]["InlinedCallFrame"]["SPAfterProlog"] = 24;
  json["types"]["TransitionBlock"]["ArgumentRegisters"] = 40;
  json["types"]["TransitionBlock"]["!"] = 56;
  json["types"]["ArgumentRegisters"] = {{"!", 16}, {"R0", 0}, {"R1", 4}, {"R2", 8}, {"R3", 12}};
  DotnetMemory t(json, 4);
  constexpr Address kFrame32 = 0x10001000, kBlock32 = 0x10002000;
  t.memory.map(kBlock32, 256);
  for (unsigned i = 0; i < 16; i++) t.memory.put_u32(kBlock32 + 4 * i, 0x9000 + i);
  t.put_frame(kFrame32, FrameType::inlined_call);
  for (unsigned i = 0; i < 6; i++) t.memory.put_u32(kFrame32 + 8 + 4 * i, 0x4000 + i);
  auto call = update_from_frame(t.runtime(), {kFrame32, FrameType::inlined_call, 0}, everything(Arch::arm));
  ASSERT_TRUE(call);
  EXPECT_EQ(call->registers.get(arm_reg::r9), 0x4004u);
  EXPECT_EQ(call->registers.pc(), 0x4002u);
  t.memory.put_u32(kFrame32 + 8, kBlock32);
  auto transition = update_from_frame(t.runtime(), {kFrame32, FrameType::prestub_method, 0}, everything(Arch::arm));
  ASSERT_TRUE(transition);
  EXPECT_EQ(transition->registers.get(0), 0x9000u + 10);
  EXPECT_EQ(transition->registers.get(arm_reg::r11), 0x9000u + 7);
  EXPECT_EQ(transition->registers.sp(), kBlock32 + 56);
  // HijackArgs of 36 bytes: padded to 8.
  t.memory.put_u32(kFrame32 + 12, kBlock32);
  auto hijack = update_from_frame(t.runtime(), {kFrame32, FrameType::hijack, 0}, everything(Arch::arm));
  ASSERT_TRUE(hijack);
  EXPECT_EQ(hijack->registers.sp(), kBlock32 + 40);
}

TEST(FrameUpdate, MissingFieldsAndMemoryAreErrors) {
  auto json = test::x64_descriptor();
  json["types"]["HijackArgs"].erase("CalleeSavedRegisters");
  DotnetMemory t(json);
  t.put_frame(kFrame, FrameType::hijack);
  t.memory.put_u64(kFrame + t.layouts.hijack_frame.hijack_args.offset, kBlock);
  const FrameRecord hijack{kFrame, FrameType::hijack, 8};
  EXPECT_EQ(update_from_frame(t.runtime(), hijack, everything(Arch::x86_64)).error().code,
            ErrorCode::unreadable_memory);
  t.memory.map(kBlock, 128);
  EXPECT_EQ(update_from_frame(t.runtime(), hijack, everything(Arch::x86_64)).error().code,
            ErrorCode::field_unavailable);
  EXPECT_EQ(update_from_frame(t.runtime(), {kFrame, FrameType::tail_call, 1}, everything(Arch::x86_64)).error().code,
            ErrorCode::field_unavailable);
  EXPECT_EQ(update_from_frame(t.runtime(), hijack, everything(Arch::aarch64)).error().code,
            ErrorCode::invalid_argument);
}

TEST(FrameChain, EndsAtAllOnesAndRefusesListsThatDoNotAscend) {
  DotnetMemory t;
  t.put_frame(0x1000, FrameType::inlined_call, 0x2000);
  t.put_frame(0x2000, FrameType::software_exception, 0x3000);
  t.put_frame(0x3000, FrameType::debugger_u2m_catch_handler);
  auto chain = read_frame_chain(t.runtime(), 0x1000, {0x1000, 0x4000});
  ASSERT_EQ(chain.frames.size(), 3u);
  EXPECT_EQ(chain.error.code, ErrorCode::none);
  EXPECT_EQ(frame_name(t.layouts, chain.frames[1].identifier), "SoftwareExceptionFrame");
  EXPECT_EQ(frame_name(t.layouts, 0x999), "");
  EXPECT_TRUE(read_frame_chain(t.runtime(), ~Address{0}, {}).frames.empty());
  const auto part = read_frame_chain(t.runtime(), 0x1000, {0x1000, 0x4000}, 2);
  EXPECT_EQ(part.frames.size(), 2u);
  EXPECT_EQ(part.error, (Error{ErrorCode::limit_exceeded, 0, 0x3000}));

  // The newest may be what the handler of a stack overflow left on its own stack, no other.
  t.put_frame(0x9000, FrameType::faulting_exception, 0x2000);
  chain = read_frame_chain(t.runtime(), 0x9000, {0x1000, 0x4000});
  EXPECT_EQ(chain.frames.size(), 3u);
  EXPECT_EQ(chain.error.code, ErrorCode::none);
  t.put_frame(0x9000, FrameType::inlined_call, 0x2000);
  EXPECT_EQ(read_frame_chain(t.runtime(), 0x9000, {0x1000, 0x4000}).error.value, 0x9000u);
  t.put_frame(0x9000, FrameType::faulting_exception, 0x9800);
  t.put_frame(0x9800, FrameType::faulting_exception, 0x2000);
  EXPECT_EQ(read_frame_chain(t.runtime(), 0x9000, {0x1000, 0x4000}).error.value, 0x9800u);

  t.memory.put_u64(0x3000 + 8, 0x1000);  // a cycle
  chain = read_frame_chain(t.runtime(), 0x1000, {});
  EXPECT_EQ(chain.frames.size(), 3u);
  EXPECT_EQ(chain.error, (Error{ErrorCode::malformed, 0, 0x1000}));
  EXPECT_EQ(read_frame_chain(t.runtime(), 0x1000, {0x1000, 0x2800}).error.value, 0x3000u);  // leaves the stack
  EXPECT_EQ(read_frame_chain(t.runtime(), 0x1004, {}).error.code, ErrorCode::malformed);
  t.memory.put_u64(0x3000 + 8, 0x999000);
  EXPECT_EQ(read_frame_chain(t.runtime(), 0x1000, {}).error.code, ErrorCode::unreadable_memory);
}

}  // namespace
}  // namespace mixstack::dotnet
