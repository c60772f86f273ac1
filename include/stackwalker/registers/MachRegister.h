// Borrowed type of the StackwalkerAPI: the name of a machine register (manual, "Basic Types").
#pragma once

#include <cstdint>
#include <string>

#include "../Architecture.h"

namespace Dyninst {

/// The value of a register.
typedef unsigned long MachRegisterVal;

/// Names a register of one CPU. Its number is one more than the DWARF number (psABI), with the CPU in the highest byte.
class MachRegister {
 public:
  constexpr MachRegister() = default;
  constexpr explicit MachRegister(std::int32_t number) : number_(number) {}

  [[nodiscard]] constexpr bool isValid() const { return number_ != 0; }
  [[nodiscard]] constexpr std::int32_t val() const { return number_; }
  [[nodiscard]] constexpr Architecture getArchitecture() const {
    return static_cast<Architecture>(static_cast<std::uint32_t>(number_) & 0xff000000u);
  }
  /// "x86_64::rax"; "InvalidReg" if invalid.
  [[nodiscard]] std::string name() const;
  /// In bytes.
  [[nodiscard]] constexpr unsigned size() const { return getArchAddressWidth(getArchitecture()); }

  /// Invalid if the CPU is neither x86-64 nor AArch64.
  [[nodiscard]] static MachRegister getPC(Architecture arch);
  /// The register that holds the return address right after a call; invalid on x86-64, which pushes it onto the stack.
  [[nodiscard]] static MachRegister getReturnAddress(Architecture arch);
  [[nodiscard]] static MachRegister getFramePointer(Architecture arch);
  [[nodiscard]] static MachRegister getStackPointer(Architecture arch);
  [[nodiscard]] bool isPC() const { return isValid() && *this == getPC(getArchitecture()); }
  [[nodiscard]] bool isFramePointer() const { return isValid() && *this == getFramePointer(getArchitecture()); }
  [[nodiscard]] bool isStackPointer() const { return isValid() && *this == getStackPointer(getArchitecture()); }

  friend constexpr bool operator==(const MachRegister&, const MachRegister&) = default;
  friend constexpr bool operator<(const MachRegister& a, const MachRegister& b) { return a.number_ < b.number_; }

 private:
  std::int32_t number_ = 0;
};

inline constexpr MachRegister InvalidReg;

}  // namespace Dyninst
