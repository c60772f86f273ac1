// Programs with nothing wrong: what they do, each healthy program does. Whoever finds a fault here is mistaken.
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Text;

namespace Depot;

internal static class Healthy
{
    private static Timer? s_timer;
    private static readonly BlockingCollection<int> s_jobs = [];
    private static readonly ManualResetEventSlim s_never = new();

    /// <summary>Waits for work; a timer and a task tick.</summary>
    public static void Idle()
    {
        s_timer = new(_ => Tally.Turns.Add(), null, 0, 200);
        _ = TickAsync();
        Stage.Thread("consumer", () =>
        {
            foreach (int job in s_jobs.GetConsumingEnumerable())
            {
                Tally.Served.Add(job);
            }
        });
        Stage.Thread("watcher", s_never.Wait);
    }

    private static async Task TickAsync()
    {
        using PeriodicTimer timer = new(TimeSpan.FromMilliseconds(300));
        while (await timer.WaitForNextTickAsync())
        {
            Tally.Turns.Add();
        }
    }

    /// <summary>A service on a socket with clients of its own: locks, a cache, a log, some errors, some garbage.</summary>
    public static void Service()
    {
        TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        Desk desk = new();
        _ = AcceptAsync(listener, desk);
        for (int i = 0; i < 6; i++)
        {
            _ = ClientAsync(port, i);
        }
    }

    private static async Task AcceptAsync(TcpListener listener, Desk desk)
    {
        for (; ; )
        {
            _ = ServeAsync(await listener.AcceptTcpClientAsync(), desk);
        }
    }

    private static async Task ServeAsync(TcpClient client, Desk desk)
    {
        using StreamReader reader = new(client.GetStream());
        await using StreamWriter writer = new(client.GetStream());
        while (await reader.ReadLineAsync() is { } line)
        {
            await writer.WriteLineAsync(desk.Answer(line));
            await writer.FlushAsync();
            Tally.Served.Add();
        }
    }

    private static async Task ClientAsync(int port, int number)
    {
        using TcpClient client = new();
        await client.ConnectAsync(IPAddress.Loopback, port);
        using StreamReader reader = new(client.GetStream());
        await using StreamWriter writer = new(client.GetStream());
        for (int turn = 0; ; turn++)
        {
            await writer.WriteLineAsync($"price {number} {((turn + (number * 17)) % 100 == 99 ? "x" : turn)}");
            await writer.FlushAsync();
            _ = await reader.ReadLineAsync();
            await Task.Delay(15);
        }
    }

    /// <summary>Work in batches: moderate garbage, a lock held for a moment, a child now and then, a flush each second.</summary>
    public static void Batch()
    {
        object gate = new();
        for (int i = 0; i < 3; i++)
        {
            Stage.Loop($"batch-{i}", () =>
            {
                int length = Work().Length;
                lock (gate)
                {
                    Stage.Crunch(0.3);
                    Tally.Turns.Add(length > 0 ? 1 : 0);
                }
                Thread.Sleep(25);
            });
        }
        FileStream log = new("batch.log", FileMode.Create);
        Stage.Loop("keeper", () =>
        {
            for (int i = 0; i < 200; i++)
            {
                log.Write("a line of the log of this batch\n"u8);
            }
            log.Flush(flushToDisk: true);
            Tally.Flushes.Add();
            Thread.Sleep(1000);
        });
        Stage.Loop("helper", () =>
        {
            using Process child = Process.Start(new ProcessStartInfo("/bin/true") { UseShellExecute = false })!;
            child.WaitForExit();
            Tally.Children.Add();
            Thread.Sleep(3000);
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Work()
    {
        StringBuilder text = new();
        for (int i = 0; i < 1500; i++)
        {
            text.Append("item ").Append(i * 7).Append(';');
        }
        return string.Join('\n', text.ToString().Split(';').OrderBy(item => item.Length).Take(200));
    }

    /// <summary>A start that compiled much, and is over.</summary>
    public static void WarmUp()
    {
        long until = Environment.TickCount64 + 2500;
        while (Environment.TickCount64 < until)
        {
            Registry.Register();
        }
        s_timer = new(_ => Tally.Turns.Add(), null, 0, 100);
    }
}

/// <summary>Answers requests from a table that others change, read under a lock, and a log that is written in blocks.</summary>
internal sealed class Desk
{
    private readonly Dictionary<int, decimal> _prices = [];
    private readonly Lock _lock = new();
    private readonly StreamWriter _log = new("desk.log") { AutoFlush = false };

    public string Answer(string line)
    {
        string[] words = line.Split(' ');
        try
        {
            int id = int.Parse(words[2]);
            lock (_lock)
            {
                if (!_prices.TryGetValue(id % 5000, out decimal price))
                {
                    price = _prices[id % 5000] = id * 1.07m;
                }
                _log.WriteLine(line);
                return $"{{\"id\": {id}, \"price\": {price}, \"at\": \"{DateTime.UtcNow:O}\", \"note\": \"{new string('-', 6000 + (id % 90))}\"}}";
            }
        }
        catch (FormatException)
        {
            Tally.Thrown.Add();
            return "?";
        }
    }
}
