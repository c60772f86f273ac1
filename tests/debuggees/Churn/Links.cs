using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Churn;

/// <summary>
/// The links of a chain. Each letter is a way to call the next link; `Next` stands before every one of them. Nothing is
/// inlined and no call is the last thing a method does, so that the word of a thread tells its frames one by one.
/// </summary>
internal static unsafe class Links
{
    public const string Letters = "ABCDEFGHIJKLMOSTVX";

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Start(Walk walk)
    {
        int sum = 0;
        do
        {
            sum += Next(walk, 0);
        }
        while (walk.Random.Next(3) != 0);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Next(Walk walk, int at)
    {
        if (at == walk.Word.Length - 1)
        {
            int leaf = Leaves.Run(walk, walk.Word[at]);
            return leaf + walk.Salt;
        }
        int below = walk.Word[at] switch
        {
            'A' => A(walk, at + 1),
            'B' => B(walk, at + 1, walk.Salt, 2, 3, 4, 5, 6, 7, 8, 9),
            'C' => (at & 1) == 0 ? C(walk, at + 1, walk.Salt) : C(walk, at + 1, walk.Word),
            'D' => D(walk, at + 1),
            'E' => E(walk, at + 1),
            'F' => F(walk, at + 1),
            'G' => G(walk, at + 1),
            'H' => H(walk, at + 1),
            'I' => I(walk, at + 1),
            'J' => J(walk, at + 1),
            'K' => K(walk, at + 1),
            'L' => L(walk, at + 1),
            'M' => M(walk, at + 1),
            'O' => O(walk, at + 1),
            'S' => S(walk, at + 1),
            'T' => T(walk, at + 1),
            'V' => V(walk, at + 1, new Big { A = at, G = walk.Salt }).A,
            'X' => X(walk, at + 1),
            _ => throw new InvalidOperationException(),
        };
        return below + walk.Salt;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int A(Walk walk, int at) => Next(walk, at) + 1;

    // Many values live across the call: callee-saved registers are pushed, arguments lie on the stack.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int B(Walk walk, int at, int a, int b, int c, int d, int e, int f, int g, int h, int i)
    {
        int x = a * b + at, y = c * d - at, z = e ^ f, u = g + h * i;
        int below = Next(walk, at);
        return below + x * y + z * u + a + b + c + d + e + f + g + h + i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int C<T>(Walk walk, int at, T value)
    {
        int below = Next(walk, at);
        return below + value!.GetHashCode();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int D(Walk walk, int at)
    {
        int below = 0;
        try
        {
            below = Next(walk, at);
        }
        finally
        {
            walk.Salt ^= 2;
        }
        return below + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Throw(int at) => throw new ApplicationException(at == 0 ? "zero" : "other");

    // The next link is called by a finally block, while an exception passes through.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int E(Walk walk, int at)
    {
        int below = 0;
        try
        {
            try
            {
                below += Throw(at);
            }
            finally
            {
                below += Next(walk, at);
            }
        }
        catch (ApplicationException)
        {
            below++;
        }
        return below;
    }

    // The next link is called by a catch block.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int F(Walk walk, int at)
    {
        int below = 0;
        try
        {
            below += Throw(at);
        }
        catch (ApplicationException)
        {
            below += Next(walk, at);
        }
        return below;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int G(Walk walk, int at)
    {
        Func<Walk, int, int> made = Making.Dynamic(walk);
        return made(walk, at) + 1;
    }

    // A dynamic method that an exception has left: nobody refers to it but its frame, which lies below the handler's.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int M(Walk walk, int at)
    {
        int below = 0;
        try
        {
            below += Making.Throwing(walk)(at);
        }
        catch (ApplicationException)
        {
            below += Next(walk, at);
        }
        return below;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int K(Walk walk, int at)
    {
        Func<Walk, int, int> made = Making.Collectible(walk);
        return made(walk, at) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int X(Walk walk, int at)
    {
        Func<Walk, int, int> made = Making.Expression(walk);
        return made(walk, at) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int T(Walk walk, int at)
    {
        Func<Walk, int, int> made = Making.Instantiation();
        return made(walk, at) + 1;
    }

    // A method nobody has called before, again and again: compiled, counted, compiled anew.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Typed<TValue>(Walk walk, int at) where TValue : struct
    {
        TValue value = default;
        return Next(walk, at) + value.GetHashCode() + Unsafe.SizeOf<TValue>();
    }

    private struct Call
    {
        public Walk Walk;
        public int At;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int H(Walk walk, int at)
    {
        Call call = new() { Walk = walk, At = at };
        return Native.Call(&CalledBack, (nint)Unsafe.AsPointer(ref call)) + 1;
    }

    // `argument` points to the caller's stack.
    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int CalledBack(nint argument)
    {
        ref Call call = ref Unsafe.AsRef<Call>((void*)argument);
        return Next(call.Walk, call.At) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int J(Walk walk, int at)
    {
        Callback callback = argument => Next(walk, at + (int)argument) + 1;
        int below = Native.CallDelegate(callback, 0) + 1;
        GC.KeepAlive(callback);
        return below;
    }

    private interface IShape
    {
        int I(Walk walk, int at);
    }

    private sealed class Round : IShape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int I(Walk walk, int at) => Next(walk, at) + 1;
    }

    private sealed class Flat : IShape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int I(Walk walk, int at) => Next(walk, at) + 2;
    }

    private readonly struct Boxed : IShape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int I(Walk walk, int at) => Next(walk, at) + 3;
    }

    private static readonly IShape[] s_shapes = [new Round(), new Flat(), new Boxed()];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int I(Walk walk, int at) => s_shapes[walk.Random.Next(s_shapes.Length)].I(walk, at) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int L(Walk walk, int at)
    {
        Func<int, int> lambda = more => Next(walk, at + more) + 1;
        return lambda(0) + 1;
    }

    // Replaced on the stack while it loops, then calls the next link from the replacement.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int O(Walk walk, int at)
    {
        int sum = 0;
        for (int i = 0; i < 3000; i++)
        {
            sum += i ^ (sum >> 3);
            if (i == 2999)
            {
                sum += Next(walk, at);
            }
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int S(Walk walk, int at)
    {
        byte* room = stackalloc byte[walk.Random.Next(16, 5000)];
        room[0] = (byte)at;
        int below = Next(walk, at);
        return below + room[0];
    }

    private struct Big
    {
        public int A, B, C, D, E, F, G, H;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Big V(Walk walk, int at, Big big)
    {
        big.A = Next(walk, at) + big.G;
        return big;
    }
}
