// The stubs of procedure linkage tables and the functions they lead to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::images {

/// One stub, at link-time addresses.
struct PltStub {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::string name;  ///< of the function it jumps to, version cut off
};

/// Whether a section holds such stubs: .plt, .plt.sec, .plt.got, .iplt.
[[nodiscard]] bool is_plt_section(const Section& section);
/// The named stubs of all PLT sections, ascending. Each stub's jump is decoded to its GOT slot, and the slot looked up
/// in the relocations, so that layouts of any linker work; stubs that are not understood have no name. x86-64 and
/// AArch64. `name_at` names the resolver of an IRELATIVE slot, which has no symbol; it may answer an empty string.
[[nodiscard]] std::vector<PltStub> read_plt_stubs(const ElfImage& image,
                                                  const std::function<std::string(std::uint64_t)>& name_at);

}  // namespace mixstack::images
