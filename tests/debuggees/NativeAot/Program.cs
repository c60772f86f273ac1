// A program without a JIT: compiled ahead of time, its runtime inside. With a number it holds so many arrays of 1000 bytes
// and, for each hundred of them, a large one, and says how many bytes these are and what its heap has (lines TRUTH); it
// holds objects of other types, too, and says how many (lines COUNT). With "busy" behind it threads make objects all the
// time, which nobody holds.
using System.Runtime.CompilerServices;

if (args.Length > 0)
{
    Shop.Stock.Hold(int.Parse(args[0]) / 10);
    Arrays.Hold(int.Parse(args[0]));
}
for (int i = 0; i < 3 && args.Length > 1 && args[1] == "busy"; i++)
{
    new Thread(Shop.Stock.Make) { IsBackground = true, Name = $"aot-busy-{i}" }.Start();
}

new Thread(() => Sleeper.Sleep(5)) { IsBackground = true, Name = "aot-sleeper" }.Start();
while (!Sleeper.Sleeps)
{
    Thread.Yield();
}
Console.WriteLine($"READY {Environment.ProcessId}");
Console.ReadLine();

internal static class Arrays
{
    private const int Small = 1000, Large = 100_000;
    private static readonly List<byte[]> s_small = [], s_large = [];

    public static void Hold(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_small.Add(new byte[Small]);
            if (i % 100 == 0)
            {
                s_large.Add(new byte[Large]);
                Array.Fill(s_large[^1], (byte)1);
            }
        }
        GC.Collect();
        GC.Collect();
        Console.WriteLine($"TRUTH small {(long)s_small.Count * Small}");
        Console.WriteLine($"TRUTH large {(long)s_large.Count * Large}");
        Console.WriteLine($"TRUTH heap {GC.GetTotalMemory(false)}");
    }
}

internal static class Sleeper
{
    public static volatile bool Sleeps;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Sleep(int n)
    {
        if (n > 0)
        {
            Sleep(n - 1);
            GC.KeepAlive(n);
            return;
        }
        Sleeps = true;
        Thread.Sleep(Timeout.Infinite);
    }
}

namespace Shop
{
    public class Order
    {
        public int Number;
        public string? Text;

        public class Line
        {
            public Order? Of;
        }
    }

    public class Pair<TFirst, TSecond>
    {
        public TFirst? First;
        public TSecond? Second;

        public class Inner
        {
            public TFirst? Own;
        }
    }

    public struct Size
    {
        public long Width, Height;
    }

    internal static class Stock
    {
        private static readonly Dictionary<string, object[]> s_all = [];

        private static void Add(string type, int count, Func<int, object> make)
        {
            object[] all = new object[count];
            for (int i = 0; i < count; i++)
            {
                all[i] = make(i);
            }
            s_all.Add(type, all);
            Console.WriteLine($"COUNT {count} {type}");
        }

        public static void Hold(int count)
        {
            Add("Shop.Order", count, i => new Order { Number = i });
            Add("Shop.Order.Line", 17, i => new Order.Line());
            Add("Shop.Pair<int, Shop.Order>", 300, i => new Pair<int, Order> { First = i });
            Add("Shop.Pair<int, Shop.Order>.Inner", 41, i => new Pair<int, Order>.Inner());
            Add("Shop.Pair<Shop.Order[], Shop.Pair<string, long>>", 9, i => new Pair<Order[], Pair<string, long>>());
            Add("Shop.Size", 23, i => new Size { Width = i });
            Add("(Shop.Size, string)", 11, i => (new Size(), "size"));
            Add("Shop.Order[]", 50, i => new Order[i]);
            Add("Shop.Order[,][]", 6, i => new Order[i, 2][]);
            Add("Shop.Size[,,]", 5, i => new Size[i, 2, 3]);
        }

        public static void Make()
        {
            object? last = null;
            for (int i = 0; ; i++)
            {
                last = i % 7 == 0 ? new long[i % 1000] : new Pair<object, object> { First = i.ToString() };
                if (i % 1000 == 0)
                {
                    GC.KeepAlive(last);
                    Thread.Sleep(1);
                }
            }
        }
    }
}
