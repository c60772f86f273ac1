// One thread for each kind of member that an extension block can have; each stands still below it.
using System.Runtime.CompilerServices;

namespace Shop;

internal sealed class Box
{
}

internal static class More
{
    extension(int number)
    {
        public int Slow
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get { Park.Here(); return number; }
            [MethodImpl(MethodImplOptions.NoInlining)]
            set { Park.Here(); }
        }

        public string Lazy
        {
            get { Func<string> made = () => { Park.Here(); return number.ToString(); }; return made() + "."; }
        }
    }

    extension(string text)
    {
        public static string Origin
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get { Park.Here(); return ""; }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Shout<T>(T much) => Park.Here(text, much);

        public async Task<int> Later(int number)
        {
            await Task.Yield();
            Park.Here(text);
            return number;
        }
    }

    extension<T>(List<T> list)
    {
        public T Last
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get { Park.Here(); return list[0]; }
        }

        public static List<T> Fresh
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get { Park.Here(); return []; }
        }
    }

    extension(Box)
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Box operator +(Box box, int number) { Park.Here(number); return box; }
    }

    // What looks like one, and is an ordinary method.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int get_Nothing(int number) { Park.Here(); return number; }
}

internal static class Park
{
    public static int Count;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Here(params object?[] used)
    {
        Interlocked.Increment(ref Count);
        Thread.Sleep(-1);
        GC.KeepAlive(used);
    }
}

internal static class Program
{
    private static void Start(string name, Action body) =>
        new Thread(() => body()) { Name = name, IsBackground = true }.Start();

    private static void Main()
    {
        Start("getter", () => Console.WriteLine(5.Slow));
        Start("setter", () => { int number = 5; number.Slow = 3; });
        Start("lambda", () => Console.WriteLine(5.Lazy));
        Start("static", () => Console.WriteLine(string.Origin));
        Start("method", () => "a".Shout(4L));
        Start("generic", () => Console.WriteLine(new List<long>().Last));
        Start("generic static", () => Console.WriteLine(List<long>.Fresh));
        Start("operator", () => Console.WriteLine(new Box() + 3));
        Start("ordinary", () => Console.WriteLine(More.get_Nothing(3)));
        _ = "a".Later(3);
        while (Volatile.Read(ref Park.Count) < 10)
        {
            Thread.Sleep(10);
        }
        Thread.Sleep(50);
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.ReadLine();
    }
}
