// Which sockets are waited for, and which requests are under way?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// Which operations of sockets wait?
inline constexpr AssemblyName kSockets = "System.Net.Sockets";
struct SocketEngine {
  static constexpr TypeName kType = "System.Net.Sockets.SocketAsyncEngine";
  /// In .NET 9 it is a dictionary, `_handleToContextMap`, which is not read.
  static constexpr FieldName kContexts = "s_registeredContexts";  // [10-11]
};
struct SocketContext {
  static constexpr TypeName kType = "System.Net.Sockets.SocketAsyncContext";
  static constexpr FieldName kHandle = "_socket";
};
struct SocketOperation {
  static constexpr TypeName kType = "System.Net.Sockets.SocketAsyncContext+AsyncOperation";
  static constexpr FieldName kNext = "Next";
  static constexpr FieldName kContext = "AssociatedContext";
  static constexpr FieldName kEvent = "<Event>k__BackingField";
};
struct SocketEventArgs {
  static constexpr TypeName kType = "System.Net.Sockets.SocketAsyncEventArgs";
  static constexpr FieldName kSocket = "_currentSocket";
};
inline constexpr TypeName kSafeSocketHandle = "System.Net.Sockets.SafeSocketHandle";

/// The remote end of a socket.
struct Socket {
  static constexpr TypeName kType = "System.Net.Sockets.Socket";
  static constexpr FieldName kHandle = "_handle";
  static constexpr FieldName kRemote = "_remoteEndPoint";
};
struct IpEndPoint {
  static constexpr TypeName kType = "System.Net.IPEndPoint";
  static constexpr FieldName kAddress = "_address";
  static constexpr FieldName kPort = "_port";
};
struct DnsEndPoint {
  static constexpr TypeName kType = "System.Net.DnsEndPoint";
  static constexpr FieldName kHost = "_host";
  static constexpr FieldName kPort = "_port";  ///< as of IpEndPoint: it is read before it is known which of them it is
};
struct IpAddress {
  static constexpr TypeName kType = "System.Net.IPAddress";
  static constexpr FieldName kNumbers = "_numbers";
  static constexpr FieldName kNumber = "_addressOrScopeId";
};

/// Which request of HttpClient is it?
inline constexpr NameStart kHttpMethods = "System.Net.Http.";
struct HttpRequest {
  static constexpr TypeName kType = "System.Net.Http.HttpRequestMessage";
  static constexpr FieldName kMethod = "_method";
  static constexpr FieldName kUri = "_requestUri";
};
struct HttpMethod {
  static constexpr TypeName kType = "System.Net.Http.HttpMethod";
  static constexpr FieldName kName = "_method";
};
struct Uri {
  static constexpr TypeName kType = "System.Uri";
  static constexpr FieldName kText = "_string";
};

/// For a connection to which host does it wait, and how many are in use?
inline constexpr TypeName kHttpWaiter = "System.Net.Http.HttpConnectionWaiter`1";
struct HttpPool {
  static constexpr TypeName kType = "System.Net.Http.HttpConnectionPool";
  static constexpr FieldName kAuthority = "_originAuthority";
  static constexpr FieldName kLimit = "_maxHttp11Connections";
  static constexpr FieldName kUsed = "_associatedHttp11ConnectionCount";
};
struct HttpAuthority {
  static constexpr TypeName kType = "System.Net.Http.HttpAuthority";
  static constexpr FieldName kHost = "<HostValue>k__BackingField";
  static constexpr FieldName kPort = "<Port>k__BackingField";
  static constexpr FieldName kPlainHost = "HostValue";  // [none]
  static constexpr FieldName kPlainPort = "Port";       // [none]
};

/// Which request of Kestrel is it, how far is it, and since when?
inline constexpr NamePart kKestrelMethods = ".Kestrel.";
struct HttpProtocol {
  static constexpr TypeName kType = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol";
  static constexpr FieldName kStatus = "_requestProcessingStatus";
  static constexpr FieldName kMethodText = "_methodText";
  static constexpr FieldName kMethod = "<Method>k__BackingField";
  static constexpr FieldName kTarget = "<RawTarget>k__BackingField";
  static constexpr FieldName kPath = "<Path>k__BackingField";
};
inline constexpr FieldEnd kHostContext = ".HostContext>k__BackingField";
struct HostContext {
  static constexpr TypeName kType = "Microsoft.AspNetCore.Hosting.HostingApplication+Context";
  static constexpr FieldName kStart = "<StartTimestamp>k__BackingField";
};

/// Which requests are on a connection?
struct Transport {
  static constexpr TypeName kType = "Microsoft.AspNetCore.Connections.TransportConnection";
  static constexpr FieldName kFeatures = "MaybeExtra";
};
struct KestrelConnection {
  static constexpr TypeName kType =
      "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Infrastructure.KestrelConnection";
  static constexpr FieldName kHandlers = "_heartbeatHandlers";
};
struct HttpConnection {
  static constexpr TypeName kType = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.HttpConnection";
  static constexpr FieldName kProcessor = "_requestProcessor";
};

/// Which query of a database is it?
struct DbCommand {
  static constexpr TypeName kType = "System.Data.Common.DbCommand";
  /// The field's name in most drivers, which come in packages.
  static constexpr FieldName kText = "_commandText";  // [none]
};
inline constexpr NamePart kCommandMethods = "Command.";
inline constexpr NamePart kExecuteMethods = ".Execute";

}  // namespace mixstack::dotnet::bcl
