// Frames whose return address is signed (pointer authentication) behind landing pads (BTI).
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include "base/memory/pointer_authentication.h"
#include "support/walk_in_handler.h"

namespace mixstack {
namespace {

// Compiled like code with -mbranch-protection=standard; without effect on CPUs that lack it. The signed address is in
// the link register and on the stack: `mixstack_test_signed_return` keeps the one it saved.
asm(R"(
  .text
  .globl mixstack_test_signed
mixstack_test_signed:
  .cfi_startproc
  hint #34          // bti c
  hint #25          // paciasp
  .cfi_negate_ra_state
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  adrp x1, mixstack_test_signed_return
  str x30, [x1, :lo12:mixstack_test_signed_return]
  blr x0
  ldp x29, x30, [sp], #16
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  hint #29          // autiasp
  .cfi_negate_ra_state
  ret
  .cfi_endproc
  .size mixstack_test_signed, .-mixstack_test_signed

  .globl mixstack_test_signed_return
  .comm mixstack_test_signed_return, 8, 8
)");
extern "C" void mixstack_test_signed(void (*work)());
extern "C" const Address mixstack_test_signed_return;

// The same with the other key, which CFI declares by the augmentation "B".
asm(R"(
  .text
  .globl mixstack_test_signed_by_b
mixstack_test_signed_by_b:
  .cfi_startproc
  .cfi_b_key_frame
  hint #27          // pacibsp
  .cfi_negate_ra_state
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  blr x0
  ldp x29, x30, [sp], #32
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  hint #31          // autibsp
  .cfi_negate_ra_state
  ret
  .cfi_endproc
  .size mixstack_test_signed_by_b, .-mixstack_test_signed_by_b
)");
extern "C" void mixstack_test_signed_by_b(void (*work)());

AddressRange code_of(void (*function)(void (*)())) {
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  return {begin, begin + 44};
}

/// On CPUs without authentication, too: the instructions do nothing there, and nothing may be taken off an address.
TEST(SignedFrames, AreWalkedInAHandler) {
  test::WalkInHandler::check(mixstack_test_signed, code_of(mixstack_test_signed));
  test::WalkInHandler::check(mixstack_test_signed_by_b, code_of(mixstack_test_signed_by_b));
}

TEST(SignedFrames, WereSignedIndeed) {
  if ((::getauxval(AT_HWCAP) & HWCAP_PACA) == 0) GTEST_SKIP() << "this CPU signs nothing";
  EXPECT_NE(memory::own_pac_mask(), 0u);
  mixstack_test_signed([] {});
  const Address saved = mixstack_test_signed_return;
  EXPECT_NE(saved & memory::own_pac_mask(), 0u) << "a signature of zeros: once in 32,768 starts or less";
}

}  // namespace
}  // namespace mixstack
