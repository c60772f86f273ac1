// Strings, arrays and lists of a managed heap, as plain data. Sizes are in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

struct ObjectAmount {
  std::uint64_t count = 0, bytes = 0;
};

/// Strings of one text, of which there is more than one.
struct DuplicateString {
  std::uint64_t count = 0;
  std::uint64_t length = 0;  ///< of one, in UTF-16 units
  std::uint64_t bytes = 0;   ///< of all of them
  std::string text;          ///< UTF-8, the first 100 units; empty: not asked for, or not kept
};

/// All that is said of elements, by the copies that the types were counted from.
struct HeapElements {
  ObjectAmount strings, empty_strings;
  ObjectAmount duplicates;            ///< each copy of a text but one: its bytes would be saved
  std::vector<DuplicateString> most;  ///< those that would save most, at most 10
  ObjectAmount arrays, empty_arrays;
  ObjectAmount half_empty_arrays;   ///< at least their second half is zeros, and no less than 128 bytes
  std::uint64_t zeros_of_them = 0;  ///< bytes of zeros at their ends
  /// System.Collections.Generic.List<T>, without their arrays. No list: none was met, or lists are not known there
  /// (NativeAOT), and neither is told.
  ObjectAmount lists, empty_lists;
  ObjectAmount not_read;     ///< large objects of which only the headers were read: they are in none of the others but
                             ///< `strings` and `arrays`
  std::uint32_t one_in = 1;  ///< only so many contents were compared: duplicates are estimates where it is not 1
};

}  // namespace mixstack
