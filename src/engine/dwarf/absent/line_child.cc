// In place of ../line_child.cc for programs that bring all libraries along: Debian's libdw.a cannot be part of a shared
// object (it is not position independent). Native frames have no lines there.
#include "engine/dwarf/line_child.h"

namespace mixstack::symbols {

Result<std::unique_ptr<LineChild>> LineChild::start(std::shared_ptr<const images::ElfImage> /*image*/,
                                                    std::shared_ptr<const images::ElfImage> /*shared*/,
                                                    DebugSections::Packed /*packed*/, LineBudget& /*budget*/) {
  return fail(ErrorCode::unsupported);
}

LineChild::~LineChild() = default;

std::vector<SourcePlace> LineChild::at(std::uint64_t /*address*/) { return {}; }

}  // namespace mixstack::symbols
