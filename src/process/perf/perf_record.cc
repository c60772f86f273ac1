#include "process/perf/perf_record.h"

#include <linux/perf_event.h>

#include "base/system/byte_cursor.h"
#include "process/perf/sample_registers.h"

namespace mixstack::perf {
namespace {

using base::ByteCursor;
using Kind = PerfNotice::Kind;

/// The trailer that sample_id_all adds to every record but samples: pid, tid, time, cpu, reserved, event.
constexpr std::size_t kTrailerBytes = 32;
constexpr std::size_t kTimeInTrailer = 8, kEventInTrailer = 24;
/// Offsets in a sample, header included.
constexpr std::size_t kSampleEvent = 8, kSampleTid = 20, kSampleTime = 24;

struct Header {
  std::uint32_t type = 0;
  std::uint16_t misc = 0, size = 0;
};
static_assert(sizeof(Header) == kHeaderBytes && sizeof(perf_event_header) == kHeaderBytes);

std::optional<Header> header_of(std::span<const std::byte> record) {
  const auto header = base::load_at<Header>(record, 0);
  if (!header || header->size < kHeaderBytes || header->size != record.size()) return std::nullopt;
  return header;
}

/// The body of a record that has a trailer, and the trailer.
struct Parts {
  ByteCursor body;
  std::uint64_t time = 0, event = 0;
};
std::optional<Parts> parts_of(std::span<const std::byte> record) {
  if (record.size() < kHeaderBytes + kTrailerBytes) return std::nullopt;
  const std::size_t trailer = record.size() - kTrailerBytes;
  Parts parts;
  parts.body = ByteCursor(record.first(trailer), kHeaderBytes);
  parts.time = base::load_at<std::uint64_t>(record, trailer + kTimeInTrailer).value_or(0);
  parts.event = base::load_at<std::uint64_t>(record, trailer + kEventInTrailer).value_or(0);
  return parts;
}

void read_task(ByteCursor& body, PerfNotice& notice) {
  notice.pid = body.u32();
  notice.parent_pid = body.u32();
  notice.tid = body.u32();
  notice.parent = body.u32();
  notice.time_ns = body.u64();
}

void read_name(ByteCursor& body, PerfNotice& notice) {
  notice.pid = body.u32();
  notice.tid = body.u32();
  notice.text = body.cstring();
}

/// `has_build_id`: a build id stands in place of device and inode.
void read_mapping(ByteCursor& body, bool has_build_id, PerfNotice& notice) {
  notice.pid = body.u32();
  notice.tid = body.u32();
  const std::uint64_t begin = body.u64(), size = body.u64();
  // No range wraps around the end of the address space.
  if (size > ~begin) body.set_failed();
  notice.range = {begin, begin + size};
  notice.file_offset = body.u64();
  notice.device_major = body.u32();
  notice.device_minor = body.u32();
  notice.inode = body.u64();
  if (has_build_id) notice.device_major = notice.device_minor = 0;
  if (has_build_id) notice.inode = 0;
  body.skip(8 + 4 + 4);  // generation of the inode, protection, flags
  notice.text = body.cstring();
}

/// Answers whether the record is of a kind that we report.
bool read_body(const Header& header, ByteCursor& body, PerfNotice& notice) {
  switch (header.type) {
    case PERF_RECORD_FORK:
      notice.kind = Kind::thread_began;
      return read_task(body, notice), true;
    case PERF_RECORD_EXIT:
      notice.kind = Kind::thread_ended;
      return read_task(body, notice), true;
    case PERF_RECORD_COMM:
      notice.kind = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0 ? Kind::executed : Kind::renamed;
      return read_name(body, notice), true;
    case PERF_RECORD_MMAP2:
      notice.kind = Kind::mapped;
      return read_mapping(body, (header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0, notice), true;
    case PERF_RECORD_LOST:
      notice.kind = Kind::lost;
      notice.event = body.u64();
      notice.count = body.u64();
      return true;
    case PERF_RECORD_LOST_SAMPLES:
      notice.kind = Kind::lost;
      notice.count = body.u64();
      return true;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      notice.kind = header.type == PERF_RECORD_THROTTLE ? Kind::throttled : Kind::unthrottled;
      notice.time_ns = body.u64();
      return true;
    default:
      return false;
  }
}

Result<PerfRecord> read_notice(const Header& header, std::span<const std::byte> record) {
  auto parts = parts_of(record);
  if (!parts) return fail(ErrorCode::truncated, record.size());
  PerfNotice notice;
  notice.event = parts->event;
  notice.time_ns = parts->time;
  if (!read_body(header, parts->body, notice)) return NothingTold{};
  if (!parts->body.ok()) return fail(ErrorCode::malformed, header.type);
  return notice;
}

/// Answers false where the record contradicts itself.
bool read_chain(ByteCursor& body, std::vector<Address>& chain) {
  chain.clear();
  const std::uint64_t count = body.u64();
  if (count > body.remaining() / sizeof(Address)) return false;
  bool is_kernel = false;
  for (std::uint64_t i = 0; i < count; i++) {
    const std::uint64_t value = body.u64();
    // Marker values (like negative error numbers) tell what the addresses behind them belong to.
    if (value >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      is_kernel = value == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
    } else if (is_kernel) {
      chain.push_back(value);
    }
  }
  return true;
}

void read_registers(ByteCursor& body, const RecordShape& shape, PerfSample& sample) {
  const std::uint64_t abi = body.u64();
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
  const SampleRegisters& known = sample_registers(shape.arch);
  sample.user = Registers(shape.arch);
  for (unsigned bit = 0; bit < 64; bit++)
    if ((shape.registers >> bit & 1) != 0) sample.user.set(known.numbers[bit], body.u64());
  sample.has_user = abi == PERF_SAMPLE_REGS_ABI_64;
}

/// Answers false where the record contradicts itself.
bool read_stack(ByteCursor& body, PerfSample& sample) {
  const std::uint64_t room = body.u64();
  if (room == 0) return true;
  const auto bytes = body.bytes(room);
  const std::uint64_t used = body.u64();
  if (!body.ok() || used > room) return false;
  sample.stack = bytes.first(static_cast<std::size_t>(used));
  sample.stack_base = sample.user.sp();
  sample.stack_truncated = used == room;
  return true;
}

}  // namespace

Result<PerfRecord> RecordReader::read(std::span<const std::byte> record) {
  const auto header = header_of(record);
  if (!header) return fail(ErrorCode::truncated, record.size());
  if (header->type != PERF_RECORD_SAMPLE) return read_notice(*header, record);
  return read_sample(record, (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL);
}

Result<PerfRecord> RecordReader::read_sample(std::span<const std::byte> record, bool in_kernel) {
  ByteCursor body(record, kHeaderBytes);
  PerfSample sample;
  sample.in_kernel = in_kernel;
  sample.event = body.u64();
  sample.pid = body.u32();
  sample.tid = body.u32();
  sample.time_ns = body.u64();
  if (shape_.addresses) sample.address = body.u64();
  sample.cpu = body.u32();
  body.skip(4);
  sample.period = shape_.period != 0 ? shape_.period : body.u64();
  if (shape_.kernel_chain) {
    if (!read_chain(body, chain_)) return fail(ErrorCode::malformed, PERF_RECORD_SAMPLE);
    sample.kernel_chain = chain_;
  }
  if (shape_.raw) sample.raw = body.bytes(body.u32());
  if (shape_.registers != 0) read_registers(body, shape_, sample);
  if (shape_.stack_bytes != 0 && !read_stack(body, sample)) return fail(ErrorCode::malformed, PERF_RECORD_SAMPLE);
  if (!body.ok()) return fail(ErrorCode::truncated, record.size());
  return sample;
}

std::optional<std::uint64_t> time_of(std::span<const std::byte> record) {
  const auto header = header_of(record);
  if (!header) return std::nullopt;
  if (header->type == PERF_RECORD_SAMPLE) return base::load_at<std::uint64_t>(record, kSampleTime);
  if (const auto parts = parts_of(record)) return parts->time;
  return std::nullopt;
}

std::optional<RecordOrigin> origin_of(std::span<const std::byte> record) {
  const auto header = header_of(record);
  if (!header) return std::nullopt;
  const bool is_sample = header->type == PERF_RECORD_SAMPLE;
  if (!is_sample && record.size() < kHeaderBytes + kTrailerBytes) return std::nullopt;
  const std::size_t trailer = record.size() - kTrailerBytes;
  const auto tid = base::load_at<std::uint32_t>(record, is_sample ? kSampleTid : trailer + 4);
  const auto event = base::load_at<std::uint64_t>(record, is_sample ? kSampleEvent : trailer + kEventInTrailer);
  if (!tid || !event) return std::nullopt;
  return RecordOrigin{*tid, *event};
}

}  // namespace mixstack::perf
