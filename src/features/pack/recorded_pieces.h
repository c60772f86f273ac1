// The parts of a pack beside the bytes that its dump read.
#pragma once

#include "mixstack/memory_reader.h"
#include "mixstack/target.h"
#include "process/core/dumped_memory.h"
#include "process/pack/copying_target.h"

namespace mixstack::packing {

/// Adds proof that files are those that were mapped: the first page of each image, and its build id.
void add_headers(const MemoryReader& memory, pack::PackedProcess& recording);

/// Keeps only bytes that the core itself holds: these prove files, and files are packed whole.
void keep_dumped(const process::DumpedMemory& dumped, pack::PackedProcess& recording);
/// Adds the files that completed the core's memory: pages were read there that the core does not hold.
void add_files_behind_memory(const Target& target, const process::DumpedMemory& dumped, pack::PackedProcess& recording);
/// Adds proof of an assembly where the core lacks its headers: pointers in its data, as far as they are there.
void add_proofs(const process::DumpedMemory& dumped, pack::PackedProcess& recording);
/// Adds the stacks to their full depth, for other debuggers.
void add_stacks(const process::DumpedMemory& dumped, pack::PackedProcess& recording);

}  // namespace mixstack::packing
