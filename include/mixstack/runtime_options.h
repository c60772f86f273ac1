// How runtimes inside a target are read.
#pragma once

#include <cstdint>
#include <string>

namespace mixstack {

/// The source of a runtime's managed frames.
enum class ManagedProvider : std::uint8_t {
  automatic,   ///< its contract descriptor; its DAC where the descriptor is not enough (.NET 8)
  descriptor,  ///< the descriptor alone: no DAC is loaded, no helper started
  dac,         ///< the DAC alone
};

/// How the managed side of a target is read. The DAC is libmscordaccore.so of exactly the target's runtime. It runs in
/// mixstack-helper, an unprivileged program of its own, and sees only the data read for it.
struct RuntimeOptions {
  ManagedProvider provider = ManagedProvider::automatic;
  std::string dac_path;  ///< on this machine; empty: beside the target's libcoreclr.so
  std::string helper;    ///< path of mixstack-helper; empty: beside our own program, or in ../libexec/mixstack
  bool lines = true;     ///< source lines of managed frames, from portable PDBs inside or beside assemblies
};

}  // namespace mixstack
