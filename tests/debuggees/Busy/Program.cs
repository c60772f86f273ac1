// A program that is busy with one thing, which its argument names, on as many threads as the second one says.
// "READY <pid>" when they are; answers "pause" with the milliseconds its runtime has stood still for collections.
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Busy;

internal static partial class Program
{
    private sealed class Node
    {
        public Node? Next;
        public long Payload;
    }

    private static int s_held;
    private static long s_sink;

    private static readonly Dictionary<string, Action<int>> s_kinds = new()
    {
        ["user"] = _ => Crunch(),
        ["framework"] = Sort,
        ["gc"] = Allocate,
        ["jit"] = _ => Compile(),
        ["spin"] = Spin,
        ["yield"] = _ => Yields(),
        ["native"] = _ => SearchInNativeCode(),
        ["kernel"] = _ => ReadZeros(),
        ["idle"] = _ => Thread.Sleep(Timeout.Infinite),
    };

    private static void Main(string[] arguments)
    {
        Action<int> work = s_kinds[arguments[0]];
        int threads = int.Parse(arguments[1]);
        using CountdownEvent begun = new(threads);
        for (int i = 0; i < threads; i++)
        {
            int number = i;
            new Thread(() =>
            {
                begun.Signal();
                work(number);
            })
            { IsBackground = true, Name = $"{arguments[0]}-{i}" }.Start();
        }
        begun.Wait();
        Thread.Sleep(1000);  // until what is run often is compiled for good
        Console.WriteLine($"READY {Environment.ProcessId}");
        while (Console.ReadLine() is string question && question != "quit")
        {
            Console.WriteLine(question == "pause" ? (long)GC.GetTotalPauseDuration().TotalMilliseconds : "?");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Crunch()
    {
        ulong x = 88172645463325252UL;
        while (x != 42)
        {
            x = Step(x);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static ulong Step(ulong x)
    {
        for (int k = 0; k < 200; k++)
        {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        return x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Sort(int seed)
    {
        Random random = new(seed);
        int[] numbers = new int[1 << 18];
        for (; ; )
        {
            random.NextBytes(MemoryMarshal.AsBytes(numbers.AsSpan()));
            Array.Sort(numbers);
            s_sink += numbers[0];
        }
    }

    // Most of what is made dies late: collections have much to mark and to move.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Allocate(int seed)
    {
        Node?[] live = new Node?[1 << 19];
        Random random = new(seed);
        for (; ; )
        {
            int at = random.Next(live.Length);
            live[at] = new Node { Next = new Node { Payload = at }, Payload = at };
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Compile()
    {
        for (int number = 0; ; number++)
        {
            DynamicMethod method = new($"made {number}", typeof(int), [typeof(int)], typeof(Program).Module);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            for (int i = 0; i < 1500; i++)
            {
                il.Emit(OpCodes.Ldarg_0);
                il.Emit(i % 3 == 0 ? OpCodes.Xor : i % 3 == 1 ? OpCodes.Add : OpCodes.Mul);
            }
            il.Emit(OpCodes.Ret);
            s_sink += method.CreateDelegate<Func<int, int>>()(number);
        }
    }

    // A lock that spins and never sleeps; the first thread keeps it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Spin(int number)
    {
        SpinWait wait = new();
        while (Interlocked.CompareExchange(ref s_held, 1, 0) != 0)
        {
            wait.SpinOnce(sleep1Threshold: -1);
        }
        Thread.Sleep(Timeout.Infinite);
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static void Yields()
    {
        while (Volatile.Read(ref s_held) == 0)
        {
            Thread.Yield();  // inlined: the runtime's function is called from here
        }
    }

    [DllImport("libc", EntryPoint = "memmem")]
    private static extern unsafe void* Find(void* where, nuint size, void* what, nuint length);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe void SearchInNativeCode()
    {
        byte[] haystack = GC.AllocateArray<byte>(64 << 20, pinned: true);
        byte[] needle = GC.AllocateArray<byte>(16, pinned: true);
        needle[15] = 1;
        fixed (byte* where = haystack, what = needle)
        {
            for (; ; )
            {
                s_sink += (long)Find(where, (nuint)haystack.Length, what, (nuint)needle.Length);
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ReadZeros()
    {
        byte[] buffer = GC.AllocateArray<byte>(16 << 20, pinned: true);
        using FileStream zeros = new("/dev/zero", FileMode.Open, FileAccess.Read, FileShare.ReadWrite, bufferSize: 0);
        for (; ; )
        {
            s_sink += zeros.Read(buffer, 0, buffer.Length);
        }
    }
}
