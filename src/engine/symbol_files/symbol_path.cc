#include "engine/symbol_files/symbol_path.h"

#include <algorithm>

namespace mixstack::symbol_files {
namespace {

using Kind = SymbolPlace::Kind;

constexpr std::size_t kMostPlaces = 64, kLongest = 1024;

bool is_url(std::string_view text) { return text.find("://") != std::string_view::npos; }

/// Empty: the URL is right.
std::string what_is_wrong_with(std::string_view url) {
  const bool is_http = url.starts_with("http://"), is_https = url.starts_with("https://");
  if (!is_http && !is_https) return "only http:// and https:// are asked";
  const std::string_view rest = url.substr(is_http ? 7 : 8);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) return "it names no server";
  if (host.find('@') != std::string_view::npos) return "a user or password in a URL is not used";
  if (rest.find_first_of("?#") != std::string_view::npos) return "a URL with ? or # is no place that files lie below";
  return {};
}

class Reader {
 public:
  void add(std::string_view text, Kind kind) {
    if (text.empty()) return;
    if (text.size() > kLongest ||
        std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      return refuse(text.substr(0, 64), "too long, or with control characters");
    const bool is_server = is_url(text);
    if (const std::string wrong = is_server ? what_is_wrong_with(text) : ""; !wrong.empty()) {
      // Only the server, after the @, is shown: the part before it may hold a password.
      const auto at = text.rfind('@');
      return refuse(at == std::string_view::npos ? text : text.substr(at + 1), wrong);
    }
    if (!is_server && kind == Kind::debuginfod) return refuse(text, "no URL");
    if (out.places.size() >= kMostPlaces) return refuse(text, "more places than are looked at");
    while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
    const SymbolPlace place{is_server ? kind : Kind::folder, std::string(text)};
    if (std::find(out.places.begin(), out.places.end(), place) == out.places.end()) out.places.push_back(place);
  }

  SymbolPath out;

 private:
  void refuse(std::string_view text, const std::string& why) {
    out.refused.push_back({{ErrorCode::invalid_argument, 0, 0}, std::string(text), why + " (symbol path)"});
  }
};

/// Calls `use` with each part.
template <class Use>
void split(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
         });
}

}  // namespace

SymbolPath parse_symbol_path(std::string_view path, std::string_view debuginfod_urls) {
  Reader reader;
  split(path, ';', [&](std::string_view entry) {
    Kind kind = Kind::server;
    for (const auto& [word, meant] : {std::pair<std::string_view, Kind>{"srv*", Kind::symbol_store},
                                      {"symsrv*", Kind::symbol_store},
                                      {"cache*", Kind::symbol_store},
                                      {"debuginfod*", Kind::debuginfod}}) {
      if (!starts_with_word(entry, word)) continue;
      kind = meant;
      entry.remove_prefix(word.size());
      break;
    }
    split(entry, '*', [&](std::string_view part) { reader.add(part, kind); });
  });
  split(debuginfod_urls, ' ', [&](std::string_view url) { reader.add(url, Kind::debuginfod); });
  return std::move(reader.out);
}

}  // namespace mixstack::symbol_files
