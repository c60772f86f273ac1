// How runtimes inside a target are read.
#pragma once

#include <cstdint>
#include <string>

namespace mixstack {

/// Who tells of a runtime's managed frames.
enum class ManagedProvider : std::uint8_t {
  automatic,   ///< its contract descriptor, its DAC where that does not suffice (.NET 8)
  descriptor,  ///< no DAC is loaded and no helper started
  dac,         ///< the DAC alone
};

/// How the managed side of a target is read. The DAC is libmscordaccore.so of exactly the target's runtime; it runs in
/// mixstack-helper, a program of its own without privileges, and sees only what is read for it.
struct RuntimeOptions {
  ManagedProvider provider = ManagedProvider::automatic;
  std::string dac_path;  ///< on this machine; empty: beside the target's libcoreclr.so
  std::string helper;    ///< path of mixstack-helper; empty: beside our own program, or in ../libexec/mixstack
  bool lines = true;     ///< source lines of managed frames, from portable PDBs inside or beside assemblies
};

}  // namespace mixstack
