// Frames that hold vectors, whose CFA depends on how long vectors are, and signal frames that hold all of SVE and SME.
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include "support/walk_in_handler.h"

namespace mixstack {
namespace {

// Saves eight vectors of a length that only the machine knows, as functions that take or return vectors do. The CFA in
// between is sp + 16 + 64 * VG.
asm(R"(
  .text
  .globl mixstack_test_with_vectors
mixstack_test_with_vectors:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  .inst 0x043f571f  // addvl sp, sp, #-8
  .cfi_escape 0x0f, 0x09, 0x8f, 0x10, 0x92, 0x2e, 0x00, 0x08, 0x40, 0x1e, 0x22
  blr x0
  .inst 0x043f511f  // addvl sp, sp, #8
  .cfi_def_cfa sp, 16
  ldp x29, x30, [sp], #16
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size mixstack_test_with_vectors, .-mixstack_test_with_vectors
)");
extern "C" void mixstack_test_with_vectors(void (*work)());

// Calls with SME's matrix in use: a signal's frame then has records of kilobytes, which the kernel puts outside of the
// space that a frame has for them (`extra_context`).
asm(R"(
  .text
  .globl mixstack_test_with_matrix
mixstack_test_with_matrix:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  .inst 0xd503457f  // smstart za
  blr x0
  .inst 0xd503447f  // smstop za
  ldp x29, x30, [sp], #16
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size mixstack_test_with_matrix, .-mixstack_test_with_matrix
)");
extern "C" void mixstack_test_with_matrix(void (*work)());

AddressRange code_of(void (*function)(void (*)())) {
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  return {begin, begin + 36};
}

TEST(VectorFrames, AreWalkedInAHandler) {
  if ((::getauxval(AT_HWCAP) & HWCAP_SVE) == 0) GTEST_SKIP() << "this CPU has no SVE";
  test::WalkInHandler::check(mixstack_test_with_vectors, code_of(mixstack_test_with_vectors));
}

TEST(VectorFrames, ASignalMayHoldAMatrix) {
  constexpr unsigned long kSme = 1ul << 23;  // HWCAP2_SME, younger than some headers
  if ((::getauxval(AT_HWCAP2) & kSme) == 0) GTEST_SKIP() << "this CPU or its kernel has no SME";
  test::WalkInHandler::check(mixstack_test_with_matrix, code_of(mixstack_test_with_matrix));
}

}  // namespace
}  // namespace mixstack
