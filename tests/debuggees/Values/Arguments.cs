using System.Runtime.CompilerServices;

namespace Values;

internal enum Color : byte
{
    Red,
    Green = 7,
}

internal struct Point
{
    public int X, Y;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public readonly void Describe(int scale)
    {
        Truth.Tell("Point.Describe", ("scale", scale));
        Truth.Park();
        Keep.Numbers(X, Y, scale);
    }
}

internal struct Large
{
    public long A, B, C, D, E;
}

internal interface IShape
{
    void Draw(string where);
}

internal class Cart : IShape
{
    private readonly int _number;

    public Cart(int number) => _number = number;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Add(string item, int[] counts, double price, object? note)
    {
        Truth.Tell("Cart.Add", ("this", this), ("item", item), ("counts", counts), ("price", price), ("note", note));
        Truth.Park();
        Keep.Objects(this, item, counts, note);
        Keep.Numbers(_number, price);
    }

    /// <summary>Needs nothing of what it was called with after it has begun to wait.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Drop(string item, int count)
    {
        Truth.Tell("Cart.Drop", ("this", this), ("item", item), ("count", count));
        Truth.Park();
    }

    /// <summary>Its code is replaced on the stack by a better one before it begins to wait.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Looping(int rounds, string text, double ratio, long last)
    {
        double sum = 0;
        for (int i = 0; i < rounds; i++)
        {
            sum += ratio * (i % text.Length);
            if (i == rounds - 1)
            {
                Truth.Tell("Cart.Looping", ("this", this), ("rounds", rounds), ("text", text), ("ratio", ratio), ("last", last));
                Truth.Park();
            }
        }
        Keep.Objects(this, text);
        Keep.Numbers(sum, rounds, ratio, last);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Draw(string where)
    {
        Truth.Tell("Cart.Draw", ("this", this), ("where", where));
        Truth.Park();
        Keep.Objects(this, where);
    }
}

internal sealed class BigCart(int number) : Cart(number);

internal sealed class Box<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Hold(T item, T[] many, List<T> list)
    {
        Truth.Tell("Box.Hold", ("this", this), ("item", item), ("many", many), ("list", list));
        Truth.Park();
        Keep.Objects(this, item, many, list);
    }
}

/// <summary>Keeps what it is given in use until it is called.</summary>
internal static class Keep
{
    private static object? s_object;
    private static double s_number;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Objects(params object?[] objects)
    {
        foreach (object? o in objects)
        {
            s_object = o;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Numbers(params double[] numbers)
    {
        foreach (double n in numbers)
        {
            s_number += n;
        }
    }
}

/// <summary>Threads that stand in methods with arguments of every kind.</summary>
internal static unsafe class Arguments
{
    private static readonly List<Action> s_bodies =
    [
        () => Numbers(-5, 1L << 40, 200, true, 'x', 0.1, 2.5f, Color.Green, 4_000_000_000, -3),
        () => OnTheStack(1, 2, 3, 4, 5, 6, 7, "eighth", 9),
        () => new Cart(3).Add("a \"quoted\" item\n", [1, 2, 3], 9.75, null),
        () => new BigCart(4).Add(new string('z', 200), new int[70], double.MaxValue, new BigCart(5)),
        () => new Cart(6).Drop("dropped", 11),
        () => ((IShape)new BigCart(7)).Draw("interface"),
        () => new Point { X = 3, Y = 4 }.Describe(12),
        () => new Box<string>().Hold("text", ["a", "b"], ["c"]),
        () => new Box<int>().Hold(42, [1], [2, 3]),
        () => Generic("generic", 17),
        () => Structs(new Point { X = 8, Y = 9 }, new Large { E = 5 }, 77, TimeSpan.FromSeconds(2), null),
        () => References(),
        () => Caught("caught", 21),
        () => Captured(31, "captured"),
        () => Optional(),
        () => Recursive(5, "deep"),
        () => new BigCart(8).Looping(400_000, "replaced while it runs", 0.5, 23),
    ];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Numbers(int count, long big, byte small, bool yes, char letter, double ratio, float half, Color color,
                                uint wide, short brief)
    {
        Truth.Tell("Arguments.Numbers", ("count", count), ("big", big), ("small", small), ("yes", yes), ("letter", letter),
                   ("ratio", ratio), ("half", half), ("color", color), ("wide", wide), ("brief", brief));
        Truth.Park();
        Keep.Numbers(count, big, small, yes ? 1 : 0, letter, ratio, half, (double)color, wide, brief);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void OnTheStack(int a, int b, int c, int d, int e, int f, long g, string h, byte i)
    {
        Truth.Tell("Arguments.OnTheStack", ("a", a), ("b", b), ("c", c), ("d", d), ("e", e), ("f", f), ("g", g), ("h", h), ("i", i));
        Truth.Park();
        Keep.Objects(h);
        Keep.Numbers(a, b, c, d, e, f, g, i);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Generic<T, U>(T one, U two)
    {
        Truth.Tell("Arguments.Generic", ("one", one), ("two", two));
        Truth.Park();
        Keep.Objects(one, two);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Structs(Point point, Large large, int? maybe, TimeSpan time, int? nothing)
    {
        Truth.Tell("Arguments.Structs", ("point", point), ("large", large), ("time", time));
        Truth.Park();
        Keep.Numbers(point.X, point.Y, large.E, maybe ?? 0, time.Ticks, nothing ?? 0);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void References()
    {
        int number = 51;
        string text = "by reference";
        Referred(ref number, in text, out long result, &number);
        Keep.Numbers(result, number);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Referred(ref int number, in string text, out long result, int* pointer)
    {
        result = 61;
        Truth.Tell("Arguments.Referred", ("number", number), ("text", text), ("result", result));
        Truth.Park();
        Keep.Objects(text);
        Keep.Numbers(number, result, *pointer);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Caught(string what, int level)
    {
        Truth.Tell("Arguments.Caught", ("what", what), ("level", level));
        try
        {
            throw new InvalidOperationException(what);
        }
        catch (InvalidOperationException) when (level > 3)
        {
            Truth.Park();
        }
        Keep.Objects(what);
        Keep.Numbers(level);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Captured(int number, string text)
    {
        void Local(int more)
        {
            Truth.Tell("Arguments.Local", ("more", more));
            Truth.Park();
            Keep.Objects(text);
            Keep.Numbers(number, more);
        }

        Local(number + 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Optional(string? absent = null, Action? action = null, ReadOnlySpan<char> span = default)
    {
        Truth.Tell("Arguments.Optional", ("absent", absent), ("action", action));
        Truth.Park();
        Keep.Objects(absent, action);
        Keep.Numbers(span.Length);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Recursive(int depth, string text)
    {
        if (depth > 0)
        {
            int result = Recursive(depth - 1, text + depth);
            Keep.Objects(text);
            return result + depth;
        }
        Truth.Park();
        Keep.Objects(text);
        return text.Length;
    }

    public static void Run()
    {
        Truth.Expect(s_bodies.Count);
        foreach (Action body in s_bodies)
        {
            new Thread(() => body()) { IsBackground = true }.Start();
        }
        Truth.AwaitAll();
    }

    /// <summary>Objects die and move all the time, while threads stand in methods with arguments.</summary>
    public static void Churn()
    {
        Run();
        new Thread(() =>
        {
            List<object> kept = [];
            for (int i = 0; ; i++)
            {
                kept.Add(new string((char)('a' + (i % 26)), 20 + (i % 50)));
                if (kept.Count > 20_000)
                {
                    kept.RemoveAll(_ => Random.Shared.Next(2) == 0);
                    GC.Collect(1, GCCollectionMode.Forced, blocking: true, compacting: true);
                }
            }
        }) { IsBackground = true, Name = "churn" }.Start();
    }
}
