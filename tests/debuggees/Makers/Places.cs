using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Makers;

public sealed class Order(int number)
{
    public long Number = number, Price = 2 * number;
    public Order? Next;
}

/// Each method makes objects of one type; what it made is counted by the runtime itself.
public static class Places
{
    private const int Each = 40;
    private static readonly (string Name, Action Make, int Share)[] s_places =
    [
        ("Orders", Orders, 50), ("Buffers", Buffers, 8), ("Texts", Texts, 20), ("Boxes", Boxes, 20), ("Lists", Lists, 10), ("Large", Large, 1),
    ];
    private static readonly long[] s_bytes = new long[s_places.Length];
    private static long s_rounds;
    [ThreadStatic] private static object? t_kept;

    public static long Rounds => Interlocked.Read(ref s_rounds);

    public static IEnumerable<(string, long)> Truth() => s_places.Select((p, i) => (p.Name, Interlocked.Read(ref s_bytes[i])));

    public static void Start(int threads, int pause)
    {
        for (int i = 0; i < threads; i++)
        {
            int seed = i;
            new Thread(() => Work(seed, pause)) { IsBackground = true, Name = "maker-" + i }.Start();
        }
    }

    public static void Short()
    {
        var starter = new Thread(() =>
        {
            for (int seed = 0; ; seed++)
            {
                int own = seed;
                var one = new Thread(() => Work(own, 0, 300)) { IsBackground = true, Name = "short" };
                one.Start();
                one.Join();
            }
        });
        starter.IsBackground = true;
        starter.Start();
    }

    public static void Native()
    {
        var grower = new Thread(() =>
        {
            for (; ; Thread.Sleep(20)) GrowNative(512 << 10);
        });
        grower.IsBackground = true;
        grower.Start();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe void GrowNative(int bytes) => NativeMemory.Fill(NativeMemory.Alloc((nuint)bytes), (nuint)bytes, 1);

    private static void Work(int seed, int pause, int rounds = int.MaxValue)
    {
        var random = new Random(seed);
        int all = s_places.Sum(p => p.Share);
        for (int round = 0; round < rounds; round++)
        {
            int pick = random.Next(all), place = 0;
            for (; pick >= s_places[place].Share; place++) pick -= s_places[place].Share;
            long before = GC.GetAllocatedBytesForCurrentThread();
            s_places[place].Make();
            Interlocked.Add(ref s_bytes[place], GC.GetAllocatedBytesForCurrentThread() - before);
            Interlocked.Increment(ref s_rounds);
            if (pause == 0) continue;
            if (pause >= 1000) Thread.Sleep(pause / 1000);
            else Thread.SpinWait(pause * 10);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Orders()
    {
        for (int i = 0; i < Each; i++) t_kept = new Order(i);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Buffers()
    {
        for (int i = 0; i < Each; i++) t_kept = new byte[1000];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Texts()
    {
        for (int i = 0; i < Each; i++) t_kept = new string('x', 40 + i % 3);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Boxes()
    {
        for (int i = 0; i < Each; i++) t_kept = (long)i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Lists()
    {
        for (int i = 0; i < Each / 4; i++)
        {
            var list = new List<int>();
            for (int n = 0; n < 60; n++) list.Add(n);
            t_kept = list;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Large() => t_kept = new byte[200_000];
}
