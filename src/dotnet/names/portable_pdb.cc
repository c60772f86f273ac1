#include "dotnet/names/portable_pdb.h"

#include "dotnet/names/compressed.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::size_t kMostPath = 4096;  // bytes
constexpr unsigned kMostParts = 256;     // of a path
constexpr std::uint32_t kMostLine = 0xffffff;

/// Compressed numbers one behind the other.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : rest_(bytes) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }
  std::uint32_t number() { return take().value; }
  std::int32_t signed_number() { return signed_of(take()); }

 private:
  CompressedUnsigned take() {
    const CompressedUnsigned c = read_compressed(rest_);
    if (c.size == 0) {
      ok_ = false;
      rest_ = {};
    }
    rest_ = rest_.subspan(c.size);
    return c;
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

/// The sequence points of one method, one at a time.
class SequencePoints {
 public:
  SequencePoints(std::span<const std::byte> blob, std::uint32_t document) : in_(blob), document_(document) {
    (void)in_.number();  // the signature of its locals
    if (document_ == 0) document_ = in_.number();
  }
  /// False at the end, and where the bytes make no sense.
  bool next() {
    while (!in_.at_end()) {
      const std::uint32_t distance = in_.number();
      if (distance == 0 && !is_first_) {
        document_ = in_.number();
        continue;
      }
      is_first_ = false;
      il_ += distance;
      const std::uint32_t lines = in_.number();
      const std::int64_t columns = lines == 0 ? std::int64_t{in_.number()} : std::int64_t{in_.signed_number()};
      is_hidden_ = lines == 0 && columns == 0;
      if (!is_hidden_) {
        line_ += has_line_ ? std::int64_t{in_.signed_number()} : std::int64_t{in_.number()};
        (void)(has_line_ ? static_cast<std::uint32_t>(in_.signed_number()) : in_.number());  // the column
        has_line_ = true;
      }
      return in_.ok() && line_ >= 0 && line_ <= kMostLine;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t il() const { return il_; }
  [[nodiscard]] bool is_hidden() const { return is_hidden_; }
  [[nodiscard]] std::uint32_t line() const { return static_cast<std::uint32_t>(line_); }
  [[nodiscard]] std::uint32_t document() const { return document_; }

 private:
  Numbers in_;
  std::uint32_t document_;
  std::uint64_t il_ = 0;
  std::int64_t line_ = 0;
  bool is_first_ = true, has_line_ = false, is_hidden_ = false;
};

}  // namespace

Result<std::shared_ptr<const PortablePdb>> PortablePdb::open(std::shared_ptr<MetadataBytes> bytes) {
  auto metadata = Metadata::open(std::move(bytes));
  if (!metadata) return fail(metadata.error());
  if (!(*metadata)->pdb_id()) return fail(ErrorCode::mismatch);
  return std::shared_ptr<const PortablePdb>(new PortablePdb(std::move(*metadata)));
}

std::optional<SourceLine> PortablePdb::line_at(std::uint32_t method, std::uint32_t il) const {
  constexpr TableId kTable = TableId::method_debug_information;
  if (method == 0 || method > metadata_->row_count(kTable)) return std::nullopt;
  const auto blob = metadata_->blob_cell(kTable, method, 1);
  if (blob.empty()) return std::nullopt;
  SequencePoints points(blob, metadata_->cell(kTable, method, 0));
  std::uint32_t line = 0, document_row = 0;
  while (points.next() && points.il() <= il) {
    if (points.is_hidden()) continue;
    line = points.line();
    document_row = points.document();
  }
  if (line == 0) return std::nullopt;
  return SourceLine{document(document_row), line};
}

PdbLocals PortablePdb::locals_at(std::uint32_t method, std::uint32_t il) const {
  constexpr TableId kMethods = TableId::method_debug_information, kScopes = TableId::local_scope;
  constexpr unsigned kBegin = 4, kLength = 5, kAttributes = 0, kSlot = 1, kName = 2;  // columns
  constexpr std::uint32_t kHiddenFromDebuggers = 1;
  constexpr std::uint32_t kMostScopes = 4096;  // of a method
  PdbLocals found;
  if (method == 0 || method > metadata_->row_count(kMethods)) return found;
  found.signature = Numbers(metadata_->blob_cell(kMethods, method, 1)).number();
  const RowRange scopes = metadata_->local_scopes_of(method);
  for (std::uint32_t s = scopes.first; s < scopes.last && s - scopes.first < kMostScopes; s++) {
    const std::uint32_t begin = metadata_->cell(kScopes, s, kBegin);
    if (il < begin || il - begin >= metadata_->cell(kScopes, s, kLength)) continue;
    const RowRange rows = metadata_->local_variables_of(s);
    for (std::uint32_t v = rows.first; v < rows.last && found.list.size() < kMostLocals; v++) {
      if ((metadata_->cell(TableId::local_variable, v, kAttributes) & kHiddenFromDebuggers) != 0) continue;
      found.list.push_back({static_cast<std::uint16_t>(metadata_->cell(TableId::local_variable, v, kSlot)),
                            metadata_->string_cell(TableId::local_variable, v, kName)});
    }
  }
  return found;
}

/// A separator and the numbers of blobs, which many documents share: the parts of the path.
std::string PortablePdb::document(std::uint32_t row) const {
  const auto blob = metadata_->blob_cell(TableId::document, row, 0);
  if (blob.empty()) return {};
  const auto separator = static_cast<char>(blob.front());
  Numbers parts(blob.subspan(1));
  std::string path;
  for (unsigned i = 0; i < kMostParts && !parts.at_end() && path.size() < kMostPath; i++) {
    const std::uint32_t part = parts.number();
    if (!parts.ok()) return {};
    if (i != 0 && separator != 0) path += separator;
    if (part == 0) continue;
    const auto text = metadata_->blob(part);
    path.append(reinterpret_cast<const char*>(text.data()),
                std::min(text.size(), kMostPath - std::min(path.size(), kMostPath)));
  }
  return path;
}

}  // namespace mixstack::dotnet::names
