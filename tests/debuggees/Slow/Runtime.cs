// Faults that are the runtime's work: exceptions that nobody sees, and methods that are compiled all the time.
using System.Linq.Expressions;
using System.Runtime.CompilerServices;

namespace Depot;

/// <summary>An exception for each text that is no number.</summary>
internal static class Weights
{
    private static readonly string[] s_texts = ["12 kg", "heavy", "", "7,5"];
    private static int s_next, s_sum;

    public static void Start() => Stage.Loop("weigher", () => s_sum += Parse(s_texts[s_next++ & 3]));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Parse(string text)
    {
        try
        {
            return int.Parse(text);
        }
        catch (FormatException)
        {
            Tally.Thrown.Add();
            return 0;
        }
    }
}

internal sealed class CustomsException(string message) : Exception(message);

/// <summary>A type of the program's own, thrown on twice, at a rate that costs little.</summary>
internal static class Customs
{
    private static int s_refused;

    public static void Start() => Stage.Loop("officer", () =>
    {
        for (int i = 0; i < 10; i++)
        {
            s_refused += Clear(i) ? 0 : 1;
        }
        Thread.Sleep(15);
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Clear(int parcel)
    {
        try
        {
            Check(parcel);
            return true;
        }
        catch (CustomsException)
        {
            return false;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Check(int parcel)
    {
        try
        {
            Inspect(parcel);
        }
        catch (CustomsException)
        {
            Tally.Thrown.Add();
            throw;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Inspect(int parcel)
    {
        Tally.Thrown.Add();
        throw new CustomsException($"parcel {parcel} is not declared");
    }
}

/// <summary>The same through async methods: each await throws on.</summary>
internal static class Remote
{
    private static int s_failed;

    public static void Start()
    {
        for (int i = 0; i < 3; i++)
        {
            _ = Task.Run(PollAsync);
        }
    }

    private static async Task PollAsync()
    {
        for (; ; )
        {
            try
            {
                await AskAsync();
            }
            catch (TimeoutException)
            {
                Tally.Thrown.Add();
                s_failed++;
            }
        }
    }

    private static async Task AskAsync()
    {
        await Task.Yield();
        await ConnectAsync();
    }

    private static async Task ConnectAsync()
    {
        await Task.Yield();
        Tally.Thrown.Add(2);  // here, and where AskAsync awaits
        throw new TimeoutException();
    }
}

internal struct A { }
internal struct B { }
internal struct C { }
internal struct D { }
internal struct E { }
internal struct F { }
internal struct G { }
internal struct H { }

internal sealed class Handler<T1, T2, T3, T4, T5>
{
    private readonly Dictionary<(T1, T2), T3> _known = [];

    public int Handle(int value)
    {
        _known[default] = default!;
        return Fold(value) + (typeof(T4) == typeof(T5) ? 1 : 0);
    }

    private int Fold(int value)
    {
        int sum = _known.Count;
        foreach (KeyValuePair<(T1, T2), T3> pair in _known)
        {
            sum += pair.Key.GetHashCode() + value;
        }
        return sum;
    }
}

/// <summary>Instantiations over structs, each of which is code of its own.</summary>
internal static class Registry
{
    private static readonly Type[] s_types = [typeof(A), typeof(B), typeof(C), typeof(D), typeof(E), typeof(F), typeof(G), typeof(H)];
    private static int s_next, s_sum;

    public static void Start() => Stage.Loop("registrar", Register);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Register()
    {
        int number = s_next++;
        Type[] chosen = new Type[5];
        for (int i = 0; i < chosen.Length; i++, number /= s_types.Length)
        {
            chosen[i] = s_types[number % s_types.Length];
        }
        Type type = typeof(Handler<,,,,>).MakeGenericType(chosen);
        s_sum += (int)type.GetMethod(nameof(Handler<A, A, A, A, A>.Handle))!.Invoke(Activator.CreateInstance(type), [s_next])!;
        Tally.Instantiations.Add();
    }
}

/// <summary>A formula is compiled for each time that it is needed.</summary>
internal static class Formulas
{
    private static double s_sum;
    private static int s_next;

    public static void Start() => Stage.Loop("accountant", Evaluate);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Evaluate()
    {
        ParameterExpression x = Expression.Parameter(typeof(double), "x");
        Expression body = x;
        for (int i = 0; i < 60; i++)
        {
            body = Expression.Add(Expression.Multiply(body, Expression.Constant((double)(s_next + i))), x);
        }
        s_sum += Expression.Lambda<Func<double, double>>(body, x).Compile()(s_next++);
        Tally.Instantiations.Add();
    }
}
