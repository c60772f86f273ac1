#include "engine/symbol_files/symbol_path.h"

#include <gtest/gtest.h>

namespace mixstack::symbol_files {
namespace {

using Kind = SymbolPlace::Kind;

std::vector<SymbolPlace> places(std::string_view path, std::string_view urls = "") {
  const SymbolPath read = parse_symbol_path(path, urls);
  EXPECT_TRUE(read.refused.empty());
  return read.places;
}

std::string refusal(std::string_view path) {
  const SymbolPath read = parse_symbol_path(path, "");
  EXPECT_TRUE(read.places.empty());
  return read.refused.size() == 1 ? read.refused[0].subject + ": " + read.refused[0].text : "";
}

TEST(SymbolPath, FoldersAndServersInTheirOrder) {
  EXPECT_EQ(places("/srv/symbols/;https://a.example/x/;;/b;/b", "https://c.example  http://d.example"),
            (std::vector<SymbolPlace>{{Kind::folder, "/srv/symbols"},
                                      {Kind::server, "https://a.example/x"},
                                      {Kind::folder, "/b"},
                                      {Kind::debuginfod, "https://c.example"},
                                      {Kind::debuginfod, "http://d.example"}}));
  EXPECT_TRUE(places("").empty());
}

TEST(SymbolPath, TheFormsOfOtherDebuggers) {
  EXPECT_EQ(places("srv*https://a.example"), (std::vector<SymbolPlace>{{Kind::symbol_store, "https://a.example"}}));
  EXPECT_EQ(places("SRV*/down*https://a.example"),
            (std::vector<SymbolPlace>{{Kind::folder, "/down"}, {Kind::symbol_store, "https://a.example"}}));
  EXPECT_EQ(places("cache*/down"), (std::vector<SymbolPlace>{{Kind::folder, "/down"}}));
  EXPECT_EQ(places("debuginfod*http://a.example"), (std::vector<SymbolPlace>{{Kind::debuginfod, "http://a.example"}}));
}

TEST(SymbolPath, WhatIsNoPlaceIsSaid) {
  EXPECT_EQ(refusal("ftp://x"), "ftp://x: only http:// and https:// are asked (symbol path)");
  EXPECT_EQ(refusal("file:///etc"), "file:///etc: only http:// and https:// are asked (symbol path)");
  EXPECT_EQ(refusal("https://me:secret@host/x"), "host/x: a user or password in a URL is not used (symbol path)");
  EXPECT_EQ(refusal("https:///x"), "https:///x: it names no server (symbol path)");
  EXPECT_EQ(refusal("https://x/?a=b"),
            "https://x/?a=b: a URL with ? or # is no place that files lie below (symbol path)");
  EXPECT_NE(refusal("https://x/\n"), "");
  EXPECT_NE(refusal(std::string(5000, 'a')), "");
  EXPECT_EQ(parse_symbol_path("", "/folder").refused.size(), 1u);
}

TEST(SymbolPath, ThereIsAnEndToThem) {
  std::string many;
  for (int i = 0; i < 1000; i++) many += "/" + std::to_string(i) + ";";
  EXPECT_EQ(parse_symbol_path(many, "").places.size(), 64u);
}

}  // namespace
}  // namespace mixstack::symbol_files
