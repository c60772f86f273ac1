#include "base/arch/cpu.h"

#include <elf.h>
#include <gtest/gtest.h>

namespace mixstack::arch {
namespace {

TEST(Cpu, EveryOneIsWhole) {
  for (const Arch arch : kArchs) {
    const Cpu& c = cpu(arch);
    EXPECT_EQ(c.registers.count, arch_registers(arch).count);
    EXPECT_EQ(c.register_names.size(), c.registers.count);
    EXPECT_LT(c.ra_column, c.registers.count);
    EXPECT_EQ(c.preserved_with_sp() >> c.registers.sp & 1, 1u);
    EXPECT_EQ(c.preserved.platform_unix & ~c.preserved.coreclr_windows, 0u);
    EXPECT_EQ(c.preserved.platform_unix >> c.registers.fp & 1, 1u);
    EXPECT_EQ(cpu_of_elf(c.elf.machine), arch);
    EXPECT_EQ(cpu_of_pe(c.pe_machine), arch);
    EXPECT_TRUE(!c.has_link_register() || c.ra_column == c.link_register);
  }
}

TEST(Cpu, AnUnknownOneHasNothing) {
  EXPECT_EQ(cpu(Arch::unknown).preserved_with_sp(), 0u);
  EXPECT_FALSE(cpu(Arch::unknown).is_walked);
  EXPECT_EQ(register_name(Arch::unknown, 0), "");
  EXPECT_EQ(cpu_of_elf(EM_RISCV), Arch::unknown);
  EXPECT_EQ(cpu_of_elf(0), Arch::unknown);
}

TEST(Cpu, NumbersOfCfiAreOursButForTheLengthOfVectors) {
  EXPECT_EQ(cpu(Arch::aarch64).register_of(46), aarch64_reg::vg);
  EXPECT_GE(cpu(Arch::aarch64).register_of(aarch64_reg::vg), Registers::kMax);
  EXPECT_EQ(cpu(Arch::aarch64).register_of(31), 31u);
  EXPECT_EQ(cpu(Arch::x86_64).register_of(46), 46u);
  EXPECT_EQ(cpu(Arch::aarch64).preserved_with_sp() >> aarch64_reg::vg & 1, 1u);
  EXPECT_EQ(cpu(Arch::x86_64).vector_length.words(32), std::nullopt);
  const VectorLength& sve = cpu(Arch::aarch64).vector_length;
  EXPECT_EQ(sve.words(32), 4u);
  for (const std::uint64_t none : {0u, 8u, 24u, 8208u}) EXPECT_EQ(sve.words(none), std::nullopt) << none;
}

// The values of elf.h, which the traits do not include because of its macros.
TEST(Cpu, NumbersOfElf) {
  const ElfNumbers& x = cpu(Arch::x86_64).elf;
  EXPECT_EQ(x.machine, EM_X86_64);
  EXPECT_EQ(x.relative, unsigned{R_X86_64_RELATIVE});
  EXPECT_EQ(x.glob_dat, unsigned{R_X86_64_GLOB_DAT});
  EXPECT_EQ(x.jump_slot, unsigned{R_X86_64_JUMP_SLOT});
  EXPECT_EQ(x.irelative, unsigned{R_X86_64_IRELATIVE});
  const ElfNumbers& a = cpu(Arch::aarch64).elf;
  EXPECT_EQ(a.machine, EM_AARCH64);
  EXPECT_EQ(a.relative, unsigned{R_AARCH64_RELATIVE});
  EXPECT_EQ(a.glob_dat, unsigned{R_AARCH64_GLOB_DAT});
  EXPECT_EQ(a.jump_slot, unsigned{R_AARCH64_JUMP_SLOT});
  EXPECT_EQ(a.irelative, unsigned{R_AARCH64_IRELATIVE});
  EXPECT_EQ(cpu(Arch::x86).elf.machine, EM_386);
  EXPECT_EQ(cpu(Arch::arm).elf.machine, EM_ARM);
}

TEST(Dispatch, IsToTheCpusThatAreWalked) {
  for (const Arch arch : kArchs) {
    const Arch called = dispatch(arch, Arch::unknown, []<Arch A>() { return A; });
    EXPECT_EQ(called, cpu(arch).is_walked ? arch : Arch::unknown);
  }
}

}  // namespace
}  // namespace mixstack::arch
