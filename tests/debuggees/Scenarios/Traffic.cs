using System.Net;
using System.Net.Sockets;

namespace Scenarios;

/// <summary>Sockets (epoll) and timers at work: what a ptrace stop interrupts with EINTR must go on all the same.</summary>
internal static class Traffic
{
    private static long s_roundTrips;
    private static long s_ticks;
    private static long s_errors;
    private static Timer? s_timer;

    public static string Progress =>
        $"{Volatile.Read(ref s_roundTrips)} {Volatile.Read(ref s_ticks)} {Volatile.Read(ref s_errors)}";

    [Scenario("traffic")]
    private static void Run()
    {
        TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        Scene.Expect(2);
        _ = Guarded(() => Echo(listener));
        _ = Guarded(() => Ask((IPEndPoint)listener.LocalEndpoint));
        Scene.Actor("blocking-client", () =>
        {
            Scene.InPlace();
            Guarded(() => AskBlocking((IPEndPoint)listener.LocalEndpoint)).Wait();
        });
        s_timer = new Timer(_ => Interlocked.Increment(ref s_ticks), null, 1, 1);
    }

    private static async Task Guarded(Func<Task> work)
    {
        try
        {
            await work();
        }
        catch (Exception error)
        {
            Interlocked.Increment(ref s_errors);
            Console.Error.WriteLine(error);
        }
    }

    private static async Task Echo(TcpListener listener)
    {
        Scene.InPlace();
        for (; ; )
        {
            TcpClient client = await listener.AcceptTcpClientAsync();
            _ = Guarded(async () =>
            {
                byte[] buffer = new byte[64];
                for (; ; )
                {
                    int got = await client.GetStream().ReadAsync(buffer);
                    await client.GetStream().WriteAsync(buffer.AsMemory(0, got));
                }
            });
        }
    }

    private static async Task Ask(IPEndPoint server)
    {
        using TcpClient client = new();
        await client.ConnectAsync(server);
        Scene.InPlace();
        byte[] buffer = new byte[32];
        for (; ; )
        {
            await client.GetStream().WriteAsync(buffer);
            await client.GetStream().ReadExactlyAsync(buffer);
            Interlocked.Increment(ref s_roundTrips);
            await Task.Delay(1);
        }
    }

    private static Task AskBlocking(IPEndPoint server)
    {
        using Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(server);
        byte[] buffer = new byte[32];
        for (; ; )
        {
            socket.Send(buffer);
            for (int got = 0; got < buffer.Length;)
            {
                got += socket.Receive(buffer, got, buffer.Length - got, SocketFlags.None);
            }
            Interlocked.Increment(ref s_roundTrips);
            Thread.Sleep(1);
        }
    }
}
