using System.Net;
using System.Net.Sockets;

namespace Scenarios;

// Waits whose cause lies outside of locks: see Waits.cs for the lines they print.
internal static partial class Waits
{
    private sealed class Stubborn(Account account)
    {
        ~Stubborn() => InMonitor(account, () => { });
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private static void Drop(Account account) => _ = new Stubborn(account);

    // A finalizer that wants a lock whose holder sleeps.
    [Scenario("blocked_finalizer")]
    private static void BlockedFinalizer()
    {
        Account account = new();
        Scene.Actor("owner", () => InMonitor(account, Park));
        Thread.Sleep(100);
        Drop(account);
        GC.Collect();
        Thread.Sleep(300);
    }

    // A client whose server never answers, a server that nobody calls, a pipe that nobody writes.
    [Scenario("silent_server")]
    private static void SilentServer()
    {
        Socket listening = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listening.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listening.Listen();
        IPEndPoint at = (IPEndPoint)listening.LocalEndPoint!;
        Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        client.Connect(at);
        Socket accepted = listening.Accept();
        Console.WriteLine($"TRUTH client socket {client.LocalEndPoint}->{client.RemoteEndPoint} -");
        Scene.Actor("client", () => { Scene.InPlace(); _ = client.Receive(new byte[16]); });
        Console.WriteLine($"TRUTH server socket {at} -");
        Scene.Actor("server", () => { Scene.InPlace(); _ = listening.Accept(); });
        Console.WriteLine("TRUTH sleeper sleep - -");
        Scene.Actor("sleeper", Park);
        Thread.Sleep(300);
        GC.KeepAlive(accepted);
    }
}
