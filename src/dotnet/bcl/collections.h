// Which types hold others for a program: collections, and what they are made of?
#pragma once

#include <array>

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// The start of the names of collections, of whatever assembly.
inline constexpr NameStart kCollections = "System.Collections.";
/// Tables of attached values.
inline constexpr TypeStart kAttachedValues = "System.Runtime.CompilerServices.ConditionalWeakTable`2";

/// An item of a linked list: programs hold such nodes themselves, too, and many of them are told by their number.
inline constexpr TypeName kLinkedListNode = "System.Collections.Generic.LinkedListNode`1";

/// Collections that are made of types which are not nested in their own, and those types.
inline constexpr std::array<TypeName, 4> kMadeOfParts{
    "System.Collections.Concurrent.ConcurrentQueue`1", "System.Collections.Generic.SortedDictionary`2",
    "System.Collections.Immutable.ImmutableDictionary`2", "System.Collections.Immutable.ImmutableHashSet`1"};
inline constexpr std::array<TypeName, 4> kTheirParts{
    "System.Collections.Concurrent.ConcurrentQueueSegment`1", "System.Collections.Generic.TreeSet`1",
    "System.Collections.Generic.SortedSet`1", "System.Collections.Immutable.SortedInt32KeyNode`1"};

}  // namespace mixstack::dotnet::bcl
