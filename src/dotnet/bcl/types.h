// What is of the framework, and what do its plainest types look like?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// Where most of the types here are.
inline constexpr AssemblyName kCoreLib = "System.Private.CoreLib";

/// The start of the names of most of its assemblies and types, and of the types behind C#'s keywords: "System.Int32".
inline constexpr NameStart kSystem = "System.";
inline constexpr NameStart kMicrosoft = "Microsoft.";

/// Which assemblies are the framework's?
inline constexpr std::array<NameStart, 2> kAssemblies{kSystem, kMicrosoft};
inline constexpr std::array<AssemblyName, 4> kWholeAssemblies{"System", "mscorlib", "netstandard", "WindowsBase"};

/// Which types are?
inline constexpr std::array<NameStart, 4> kNamespaces{kSystem, kMicrosoft, "Internal.", "Interop."};

/// Which files come with the runtime, beside it?
inline constexpr std::array<FileStart, 12> kFiles{"System.",
                                                  "Microsoft.CSharp.",
                                                  "Microsoft.VisualBasic",
                                                  "Microsoft.Win32.",
                                                  "mscorlib.",
                                                  "netstandard.",
                                                  "libSystem.",
                                                  "libclr",
                                                  "libcoreclr",
                                                  "libmscordaccore.",
                                                  "libmscordbi.so",
                                                  "WindowsBase."};

/// Types of plain values.
inline constexpr TypeName kString = "System.String";
inline constexpr TypeName kEnum = "System.Enum";
inline constexpr TypeName kNullable = "System.Nullable`1";
/// A tuple with two fields and more: "System.ValueTuple`2".
inline constexpr TypeStart kValueTuple = "System.ValueTuple`";
/// Stands for any reference type in shared generic code.
inline constexpr TypeName kAnyReference = "System.__Canon";
/// Base of all exceptions that hold several others.
inline constexpr TypeName kException = "System.Exception";
inline constexpr TypeName kAggregateException = "System.AggregateException";

/// What does a delegate call, and on what?
inline constexpr TypeName kMulticastDelegate = "System.MulticastDelegate";
struct Delegate {
  static constexpr TypeName kType = "System.Delegate";
  static constexpr FieldName kTarget = "_target";
  static constexpr FieldName kMethod = "_methodPtr";
  static constexpr FieldName kMethodAux = "_methodPtrAux";  ///< of static methods, which `kMethod` leads to by a stub
};

/// Which type does a `typeof` stand for?
struct RuntimeType {
  static constexpr TypeName kType = "System.RuntimeType";
  static constexpr FieldName kHandle = "m_handle";
};

/// What is in a list?
struct List {
  static constexpr TypeName kType = "System.Collections.Generic.List`1";
  static constexpr FieldName kItems = "_items";
  static constexpr FieldName kSize = "_size";
};

/// Which number of the system's does a handle stand for?
struct SafeHandle {
  static constexpr TypeName kType = "System.Runtime.InteropServices.SafeHandle";
  static constexpr FieldName kNumber = "handle";
};

/// Which modifiers of a signature stand for `in` and `init`?
struct InModifier {
  static constexpr Namespace kNamespace = "System.Runtime.InteropServices";
  static constexpr SimpleName kName = "InAttribute";
};
struct InitModifier {
  static constexpr Namespace kNamespace = "System.Runtime.CompilerServices";
  static constexpr SimpleName kName = "IsExternalInit";
};

}  // namespace mixstack::dotnet::bcl
