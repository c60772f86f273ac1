using System.Runtime.CompilerServices;
using System.Threading.Channels;

namespace Heaps;

// Async methods with every kind of box and of end.
internal static class Chains
{
    private static readonly List<object> s_kept = [];

    private static class OrderApi
    {
        public static async Task<int> GetOrder(Task<int> row)
        {
            int value = await PriceService.Load(row).ConfigureAwait(false);
            return value + 1;
        }
    }

    private static class PriceService
    {
        public static async ValueTask<int> Load(Task<int> row)
        {
            await Task.CompletedTask;
            int value = await Db.ReadRow(row);
            return value;
        }
    }

    private static class Db
    {
        public static async Task<int> ReadRow(Task<int> row) => await row;
    }

    private static async Task<int> Shared(Task<int> all) => await all;

    private static async Task Entered(SemaphoreSlim semaphore) => await semaphore.WaitAsync();

    private static async ValueTask<int> Received(ChannelReader<int> reader) => await reader.ReadAsync();

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> Pooled(Task<int> row) => await row;

    private static async Task Delayed() => await Task.Delay(TimeSpan.FromHours(2));

    private static async Task Both(Task<int> one, Task<int> other) => await Task.WhenAll(Db.ReadRow(one), Db.ReadRow(other));

    private static async Task Outer(Task<int> row) => await Task.Run(() => OrderApi.GetOrder(row));

    private static async void Forgotten(Task<int> row) => await row;

    private static async IAsyncEnumerable<int> Rows(Task<int> row)
    {
        yield return 1;
        yield return await row;
    }

    private static async Task Sum(Task<int> row)
    {
        await foreach (int _ in Rows(row))
        {
        }
    }

    private static Task<int> Never()
    {
        TaskCompletionSource<int> source = new();
        s_kept.Add(source);
        return source.Task;
    }

    public static void Make(int count, int ballastMegabytes)
    {
        SemaphoreSlim semaphore = new(0);
        Task<int> shared = Shared(Never());
        s_kept.Add(semaphore);
        Ballast(ballastMegabytes);
        for (int i = 0; i < count; i++)
        {
            s_kept.Add(OrderApi.GetOrder(Never()));
            if (i % 10 != 0)
            {
                continue;
            }
            Channel<int> channel = Channel.CreateUnbounded<int>();
            s_kept.Add(channel);
            s_kept.Add(Shared(shared));
            s_kept.Add(Entered(semaphore));
            s_kept.Add(Received(channel.Reader).AsTask());
            s_kept.Add(Pooled(Never()).AsTask());
            s_kept.Add(Delayed());
            s_kept.Add(Both(Never(), Never()));
            s_kept.Add(Outer(Never()));
            s_kept.Add(Sum(Never()));
            Forgotten(Never());
            Db.ReadRow(Task.FromResult(1)).Wait();
        }
        Thread.Sleep(500);
        Forge();
        GC.Collect();
    }

    /// <summary>Objects that are in nobody's way: small, of many sizes, alive.</summary>
    private static void Ballast(int megabytes)
    {
        Random random = new(1);
        for (long left = (long)megabytes << 20; left > 0;)
        {
            byte[][] some = new byte[100][];
            for (int i = 0; i < some.Length; i++)
            {
                some[i] = new byte[random.Next(16, 2000)];
                random.NextBytes(some[i]);
                left -= some[i].Length + 24;
            }
            s_kept.Add(some);
        }
    }

    /// <summary>Arrays of words that look like the begin of boxes, as tables of the runtime's own have them.</summary>
    private static unsafe void Forge()
    {
        nint type = s_kept.OfType<Task<int>>().First(t => t.GetType().Name.Contains("StateMachineBox")).GetType().TypeHandle.Value;
        for (int i = 0; i < 100; i++)
        {
            ulong[] words = new ulong[1000];
            for (int at = i % 7; at < words.Length; at += 1 + i % 13)
            {
                words[at] = (ulong)type;
            }
            s_kept.Add(words);
        }
    }
}
