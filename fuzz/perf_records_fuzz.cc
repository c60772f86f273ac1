// LINK: mixstack_process_perf
// Any bytes as a ring of perf events: where records begin, and what each of them says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "process/perf/kernel_files.h"
#include "process/perf/perf_record.h"
#include "process/perf/record_window.h"
#include "process/perf/sample_registers.h"

namespace {

using namespace mixstack;

void require(bool ok) {
  if (!ok) std::abort();
}

void read_all(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head, const perf::RecordShape& shape) {
  perf::RecordReader reader(shape);
  perf::RecordWindow window(ring);
  window.drop_first(tail);
  if (!window.extend(head)) return;
  while (!window.is_empty()) {
    const auto record = window.first();
    if (!record) break;
    require(record->size() >= perf::kHeaderBytes && record->size() <= ring.size());
    (void)perf::time_of(*record);
    (void)perf::origin_of(*record);
    if (const auto read = reader.read(*record)) {
      if (const auto* sample = std::get_if<perf::PerfSample>(&*read))
        require(sample->stack.size() <= record->size() && sample->kernel_chain.size() * 8 <= record->size());
      if (const auto* notice = std::get_if<perf::PerfNotice>(&*read)) require(notice->text.size() <= record->size());
    }
    window.drop_first(record->size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // What of the shape the first byte chooses, where in the ring the records begin, the ring.
  if (size < 2) return 0;
  perf::RecordShape shape;
  shape.arch = (data[0] & 1) != 0 ? Arch::aarch64 : Arch::x86_64;
  const perf::SampleRegisters& registers = perf::sample_registers(shape.arch);
  shape.registers = (data[0] & 2) != 0 ? registers.mask | registers.optional : registers.mask;
  shape.kernel_chain = (data[0] & 4) != 0;
  shape.stack_bytes = (data[0] & 8) != 0 ? 64 : 0;
  shape.addresses = (data[0] & 16) != 0;
  shape.raw = (data[0] & 32) != 0;
  const std::uint64_t tail = std::uint64_t{data[1]} * 8;
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  std::size_t room = 4096;
  while (room < bytes.size() && room < 1 << 17) room *= 2;
  std::vector<std::byte> ring(room);
  const std::size_t used = bytes.size() < room ? bytes.size() : room;
  for (std::size_t i = 0; i < used; i++) ring[(tail + i) % room] = bytes[i];
  read_all(ring, tail, tail + used, shape);
  for (const int cpu : perf::parse_cpu_list({reinterpret_cast<const char*>(data), size})) require(cpu >= 0);
  return 0;
}
