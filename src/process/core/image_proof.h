// Whether a file on this machine is the one that was mapped in a dead process.
#pragma once

#include <span>
#include <string>

#include "process/core/dumped_memory.h"
#include "process/core/image_placement.h"

namespace mixstack::process {

enum class ImageProof : std::uint8_t {
  proven,
  refuted,   ///< it is another file
  unproven,  ///< the core holds nothing of it to compare
};

struct ProofResult {
  ImageProof proof = ImageProof::unproven;
  std::string reason;  ///< in words, for `refuted`: what differs
};

/// Compares as `CoreImages` documents. `expected` is the build id that the core holds, or empty.
[[nodiscard]] ProofResult prove_image(const FileBytes& file,
                                      std::span<const std::unique_ptr<ImagePlacement>> placements,
                                      std::span<const Region> mappings, const DumpedMemory& dumped, Arch arch,
                                      const images::BuildId& expected);

}  // namespace mixstack::process
