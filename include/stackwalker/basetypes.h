// Basic types of the StackwalkerAPI (manual, "Basic Types" and class Frame).
#pragma once

#include <string>

#include "SymReader.h"
#include "dyntypes.h"
#include "registers/MachRegister.h"
#include "registers/aarch64_regs.h"
#include "registers/x86_64_regs.h"

namespace Dyninst::Stackwalker {

typedef enum { loc_address, loc_register, loc_unknown } storage_t;

/// Where a value was found: `val.addr` is valid for loc_address, `val.reg` for loc_register. (The manual has a union
/// here; a struct with the same members cannot be misread.)
struct location_t {
  struct {
    Dyninst::Address addr = 0;
    Dyninst::MachRegister reg;
  } val;
  storage_t location = loc_unknown;

  [[nodiscard]] bool operator==(const location_t& other) const {
    return val.addr == other.val.addr && val.reg == other.val.reg && location == other.location;
  }
  /// "<loc: addr 7ffc1000>".
  [[nodiscard]] std::string format() const;
};

}  // namespace Dyninst::Stackwalker
