#include "dotnet/names/aot_methods.h"

#include <algorithm>
#include <array>

#include "base/system/byte_cursor.h"
#include "dotnet/names/bounded_text.h"
#include "dotnet/names/generated_names.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kHeaderSignature = 0x00525452;  // "RTR\0"
constexpr std::uint32_t kMaxSections = 256;
// ReflectionMapBlob above ReadonlyBlobRegionStart: TypeMap, CommonFixupsTable, EmbeddedMetadata,
// BlobIdStackTraceMethodRvaToTokenMapping.
constexpr std::uint32_t kTypeMap = 301, kFixups = 308, kEmbeddedMetadata = 313, kMethodMap = 327;

// ReadyToRunHeader and ModuleInfoRow of src/coreclr/nativeaot/Runtime/inc/ModuleHeaders.h.
struct Header {
  std::uint32_t signature;
  std::uint16_t major, minor;
  std::uint32_t flags;
  std::uint16_t sections;
  std::uint8_t entry_size, entry_type;
};
/// A section, as NativeAOT of .NET 10 and of .NET 11 have it.
struct RowOf10 {
  std::uint32_t id, flags;
  std::uint64_t start, end;
};
struct RowOf11 {
  std::uint32_t id, size;
  std::uint64_t start;
};
/// Versions of the header, and how large its rows are then.
struct KnownHeader {
  std::uint16_t major, minor;
  std::uint8_t entry_size;
};
constexpr std::array kKnownHeaders{KnownHeader{16, 0, sizeof(RowOf10)}, KnownHeader{26, 1, sizeof(RowOf11)}};

bool is_known(const Header& h) {
  const auto is_it = [&](const KnownHeader& k) {
    return h.major == k.major && h.minor == k.minor && h.entry_size == k.entry_size;
  };
  return h.signature == kHeaderSignature && std::any_of(kKnownHeaders.begin(), kKnownHeaders.end(), is_it);
}

struct AotSection {
  std::uint32_t id = 0;
  AddressRange range;
};

Result<AotSection> read_section(const MemoryReader& memory, Address at, std::uint8_t entry_size) {
  if (entry_size == sizeof(RowOf10)) {
    const auto row = memory.read<RowOf10>(at);
    if (!row) return fail(row.error());
    return AotSection{row->id, {row->start, row->end}};
  }
  const auto row = memory.read<RowOf11>(at);
  if (!row) return fail(row.error());
  return AotSection{row->id, {row->start, row->start + row->size}};
}

// StackTraceDataCommand.
constexpr std::uint8_t kOwner = 1, kName = 2, kSignature = 4, kGenericSignature = 8, kHidden = 16;

/// Reads the commands one by one; a field that a command does not set stays as in the one before.
class MapReader {
 public:
  MapReader(std::span<const std::byte> map, Address address) : map_(map), address_(address) {}
  [[nodiscard]] bool at_end() const { return at_ == map_.size(); }
  /// Nothing if the command is impossible: then the map is not understood.
  [[nodiscard]] std::optional<Address> next() {
    const auto command = base::load_at<std::uint8_t>(map_, at_++);
    if (!command || (*command & ~(kOwner | kName | kSignature | kGenericSignature | kHidden)) != 0) return std::nullopt;
    bool ok = true;
    if ((*command & kOwner) != 0) {
      const auto token = base::load_at<std::uint32_t>(map_, at_);
      method.owner = AotMetadata::handle_of(token.value_or(0));
      ok = token.has_value();
      at_ += 4;
    }
    const auto take = [&](std::uint32_t& into) {
      const auto value = ok ? aot_number(map_, at_) : std::nullopt;
      ok = value.has_value();
      into = value.value_or(0);
    };
    if ((*command & kName) != 0) take(method.name);
    if ((*command & (kSignature | kGenericSignature)) != 0) take(method.signature);
    if ((*command & kSignature) != 0) method.arguments = 0;
    if ((*command & kGenericSignature) != 0) take(method.arguments);
    const auto distance = ok ? base::load_at<std::int32_t>(map_, at_) : std::nullopt;
    if (!distance) return std::nullopt;
    const Address start = address_ + at_ + static_cast<Address>(static_cast<std::int64_t>(*distance));
    at_ += 4;
    return start;
  }
  AotMetadata::Method method;

 private:
  std::span<const std::byte> map_;
  Address address_;
  std::size_t at_ = 4;  // behind the number of entries
};

// `Ns.C.<>c.<Main>b__0_0` is a lambda of `Ns.C.Main`. The parameters of Main are not known: only a metadata table that
// is not there would name the overload.
std::string csharp_name(const AotMetadata::Text& text) {
  const GeneratedName made = parse_generated(text.method);
  std::string owner = text.owner;
  if (const auto dot = owner.rfind(".<>c"); dot != std::string::npos) owner.resize(dot);
  const std::string own = text.arguments + text.parameters;
  const std::string number = made.ordinal != 0 ? "#" + std::to_string(made.ordinal) : "";
  if (made.kind == GeneratedKind::lambda) return owner + "." + std::string(made.source) + ".lambda" + number + own;
  if (made.kind == GeneratedKind::local_function)
    return owner + "." + std::string(made.source) + "." + std::string(made.own) + own;
  return text.owner + "." + text.method + own;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kMaxName = 4096;
  BoundedText text(kMaxName);
  text << name;
  return std::move(text).take();
}

}  // namespace

std::optional<AotBlobs> find_aot_blobs(const MemoryReader& memory, Address at) {
  const auto header = memory.read<Header>(at);
  if (!header || !is_known(*header) || header->sections > kMaxSections) return std::nullopt;
  AotBlobs blobs;
  for (std::uint32_t i = 0; i < header->sections; i++) {
    const auto section =
        read_section(memory, at + sizeof(Header) + std::uint64_t{i} * header->entry_size, header->entry_size);
    if (!section) return std::nullopt;
    if (section->id == kEmbeddedMetadata) blobs.metadata = section->range;
    if (section->id == kMethodMap) blobs.methods = section->range;
    if (section->id == kTypeMap) blobs.types = section->range;
    if (section->id == kFixups) blobs.references = section->range;
  }
  for (AddressRange* r : {&blobs.metadata, &blobs.methods, &blobs.types, &blobs.references})
    if (r->end < r->begin || r->size() > AotMethods::kMaxBlob) *r = {};
  return blobs.metadata.empty() ? std::nullopt : std::optional(blobs);
}

std::optional<AotMethods> AotMethods::parse(std::vector<std::byte> metadata, std::vector<std::byte> map,
                                            Address address, const AddressRange& code) {
  const auto count = base::load_at<std::uint32_t>(std::span<const std::byte>(map), 0);
  if (!AotMetadata(metadata).is_known() || !count || *count > kMaxMethods) return std::nullopt;
  AotMethods all;
  MapReader reader(map, address);
  while (!reader.at_end()) {
    const auto start = reader.next();
    if (!start || !code.contains(*start) || all.methods_.size() == *count) return std::nullopt;
    all.methods_.push_back({*start, reader.method});
  }
  if (all.methods_.size() != *count) return std::nullopt;
  const auto before = [](const Entry& a, const Entry& b) { return a.start < b.start; };
  std::sort(all.methods_.begin(), all.methods_.end(), before);
  const auto is_same = [](const Entry& a, const Entry& b) { return a.start == b.start; };
  if (std::adjacent_find(all.methods_.begin(), all.methods_.end(), is_same) != all.methods_.end()) return std::nullopt;
  all.metadata_ = std::move(metadata);
  return all;
}

std::optional<AotName> AotMethods::name(Address start) const {
  const auto before = [](const Entry& e, Address a) { return e.start < a; };
  const auto at = std::lower_bound(methods_.begin(), methods_.end(), start, before);
  if (at == methods_.end() || at->start != start || at->method.owner.is_null()) return std::nullopt;
  const auto text = AotMetadata(metadata_).method(at->method);
  if (!text) return std::nullopt;
  return AotName{shown(csharp_name(*text)),
                 shown(text->raw_owner + "." + text->method + text->arguments + text->parameters)};
}

}  // namespace mixstack::dotnet::names
