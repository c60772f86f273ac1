// Faults of files, connections and programs: writes of a few bytes, flushes to the disk on pool workers, children for everything.
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;

namespace Depot;

/// <summary>A file without a buffer, three bytes at a time.</summary>
internal static class Audit
{
    private static readonly FileStream s_file = new("audit.log", FileMode.Create, FileAccess.Write, FileShare.Read, bufferSize: 0);

    public static void Start() => Stage.Loop("auditor", Note);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Note()
    {
        s_file.Write("ok\n"u8);
        Tally.Writes.Add();
        Tally.WrittenBytes.Add(3);
        if (s_file.Position > 64 << 20)
        {
            s_file.Position = 0;
        }
    }
}

/// <summary>A text file that is flushed after each line.</summary>
internal static class Trace
{
    private static readonly StreamWriter s_lines = new("trace.txt") { AutoFlush = true };

    public static void Start()
    {
        for (int i = 0; i < 3; i++)
        {
            Stage.Loop($"tracer-{i}", Step);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Step()
    {
        lock (s_lines)
        {
            s_lines.Write("step\n");
        }
        Tally.Writes.Add();
        Tally.WrittenBytes.Add(5);
        Stage.Crunch(0.02);
    }
}

/// <summary>A connection that gets twenty bytes at a time, each in a packet of its own.</summary>
internal static class Ticker
{
    private static Socket s_reader = null!, s_writer = null!;

    public static void Start()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        s_writer = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        s_writer.Connect(listener.LocalEndPoint!);
        s_reader = listener.Accept();
        var all = new byte[1 << 16];
        Stage.Loop("reader", () => s_reader.Receive(all));
        Stage.Loop("ticker", () =>
        {
            for (int i = 0; i < 100; i++)
            {
                Quote();
            }
            Thread.Sleep(1);
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Quote()
    {
        s_writer.Send("12345678901234567890"u8);
        Tally.Writes.Add();
        Tally.WrittenBytes.Add(20);
    }
}

/// <summary>A file that is opened for each line.</summary>
internal static class Diary
{
    public static void Start() => Stage.Loop("diarist", Append);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Append()
    {
        File.AppendAllText("diary.log", "day\n");
        Tally.Writes.Add();
        Tally.WrittenBytes.Add(4);
    }
}

/// <summary>Pool workers wait for the disk.</summary>
internal static class Wal
{
    private static readonly SafeFileHandle s_log =
        File.OpenHandle("wal.dat", FileMode.Create, FileAccess.ReadWrite, FileShare.ReadWrite);
    private static readonly byte[] s_record = new byte[700];
    private static long s_at;

    public static void Start()
    {
        for (int i = 0; i < 4; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(Next, null);
        }
        Stage.Loop("clients", () =>
        {
            Tally.Queued.Add();
            Task.Run(() => Tally.Served.Add());
            Thread.Sleep(20);
        });
    }

    // Each goes to the end of the queue: what others queue has its turn, too.
    private static void Next(object? state)
    {
        Commit();
        ThreadPool.UnsafeQueueUserWorkItem(Next, state);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Commit()
    {
        long at = Interlocked.Add(ref s_at, s_record.Length) % (32 << 20);
        RandomAccess.Write(s_log, s_record, at);
        RandomAccess.FlushToDisk(s_log);
        Tally.Writes.Add();
        Tally.WrittenBytes.Add(s_record.Length);
        Tally.Flushes.Add();
    }
}

/// <summary>A program is started for each of many small tasks.</summary>
internal static class Thumbs
{
    public static void Start() => Stage.Loop("thumbs", () => Make("/bin/true"));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Make(string program)
    {
        using Process child = Process.Start(new ProcessStartInfo(program) { UseShellExecute = false })!;
        child.WaitForExit();
        Tally.Children.Add();
        Thread.Sleep(10);
    }
}
