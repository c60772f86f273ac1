using System.Globalization;

namespace Values;

/// <summary>What the program itself says of its values, on standard output before READY.</summary>
internal static class Truth
{
    private static readonly Lock s_lines = new();
    private static int s_left;

    public static void Expect(int threads) => s_left = threads;

    /// <summary>One line for each argument: "TRUTH method name what".</summary>
    public static void Tell(string method, params (string Name, object? Value)[] values)
    {
        lock (s_lines)
        {
            foreach ((string name, object? value) in values)
            {
                Console.WriteLine($"TRUTH {method} {name} {Of(value)}");
            }
        }
    }

    /// <summary>The calling thread is in place, for ever.</summary>
    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    public static void Park()
    {
        InPlace();
        Thread.Sleep(Timeout.Infinite);
    }

    public static void InPlace() => Interlocked.Decrement(ref s_left);

    public static void AwaitAll()
    {
        while (Volatile.Read(ref s_left) > 0)
        {
            Thread.Sleep(5);
        }
        Thread.Sleep(50);
    }

    private static string Of(object? value) => value switch
    {
        null => "null",
        bool yes => yes ? "number true" : "number false",
        char letter => $"number {(int)letter}",
        string text => $"string {text.Length} {text.Replace("\n", "\\n")}",
        Array many => $"array {many.Length} {Name(many.GetType())}",
        Enum one => $"number {Convert.ToInt64(one, CultureInfo.InvariantCulture)}",
        double or float => $"float {((IFormattable)value).ToString("R", CultureInfo.InvariantCulture)}",
        nint or nuint or int or uint or long or ulong or short or ushort or byte or sbyte =>
            $"number {((IFormattable)value).ToString(null, CultureInfo.InvariantCulture)}",
        ValueType => $"struct {Name(value.GetType())}",
        _ => $"object {Name(value.GetType())}",
    };

    private static string Name(Type type) => type.Name;
}
