// The managed half of the mixed target: every sum goes through one more layer, now managed, now native.
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace MixedTarget;

/// Called by the native host, and by native code again: adds one number, hands the rest on.
public static unsafe class ManagedLib
{
    /// native host -> managed
    [UnmanagedCallersOnly]
    public static int AddAll(int* numbers, int count) => AddABCDEF(new ReadOnlySpan<int>(numbers, count));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int AddABCDEF(ReadOnlySpan<int> n) => n[5] + AddABCDE(n);

    /// managed -> native (mixed_add_abcd) by P/Invoke
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int AddABCDE(ReadOnlySpan<int> n)
    {
        fixed (int* p = n)
            return n[4] + Native.mixed_add_abcd(p, &AddAB);
    }

    /// native -> managed again, by a function pointer
    [UnmanagedCallersOnly]
    static int AddAB(int a, int b) => new Adder<long>().Add(a, b);
}

/// A generic class, since names of those are where tools stop.
public sealed class Adder<T> where T : struct
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Add(int a, int b) => b + AddA(a);

    /// managed -> native: waits for a line, as the article's program did in scanf.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int AddA(int a)
    {
        OwnViews.Print();
        return a + Native.mixed_read_line();
    }
}

/// What the program can see of its own stack, each world for itself: the runtime shows managed methods only, and
/// glibc's backtrace ends where managed code begins, or goes astray there.
static class OwnViews
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void Print()
    {
        Console.WriteLine("VIEW managed (System.Diagnostics.StackTrace)");
        foreach (StackFrame frame in new StackTrace(skipFrames: 1).GetFrames())
            if (frame.GetMethod() is { } method)
                Console.WriteLine($"{method.DeclaringType}.{method.Name}");
        Console.WriteLine("VIEW native (backtrace)");
        Console.Out.Flush();
        Native.mixed_print_native_view();
        Console.WriteLine("VIEW end");
    }
}

static unsafe partial class Native
{
    [DllImport("mixedlib")]
    internal static extern int mixed_add_abcd(int* n, delegate* unmanaged<int, int, int> add_ab);

    [DllImport("mixedlib")]
    internal static extern int mixed_read_line();

    [DllImport("mixedlib")]
    internal static extern void mixed_print_native_view();
}
