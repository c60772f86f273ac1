using System.Runtime.CompilerServices;

namespace Scenarios.Shapes;

internal class Box<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public T Open(T value)
    {
        Scene.Park();
        return value;
    }
}

internal struct Pair<TFirst, TSecond>(TFirst first, TSecond second)
{
    public TFirst First = first;
    public TSecond Second = second;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public readonly Pair<TSecond, TFirst> Meet()
    {
        Scene.Park();
        return new(Second, First);
    }
}

internal static class Static
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Method<T, TOther>(T value, TOther other)
    {
        Scene.Park();
        GC.KeepAlive(other);
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int ThroughConstraint<T>() where T : IDefault<int> => T.Create(3) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Arrays<T>(List<T>[,] a, T[][] b, Func<T, IEnumerable<T[]>> c)
    {
        Scene.Park();
        return a.Length + b.Length + (c is null ? 0 : 1);
    }
}

internal class Outer<T>
{
    public static int Shared(T value)
    {
        Scene.Park();
        return value!.GetHashCode();
    }

    internal class Inner<TInner>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Mixed<TMethod>(T a, TInner b, TMethod c)
        {
            Scene.Park();
            GC.KeepAlive(b);
            return a!.GetHashCode() ^ c!.GetHashCode();
        }
    }

    internal class Plain
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Stay(IEnumerable<T> values)
        {
            Scene.Park();
            return values.GetHashCode();
        }
    }
}

internal interface IDefault<T>
{
    int Default(T value)
    {
        Scene.Park();
        return value!.GetHashCode();
    }

    int Required(T value);

    static abstract int Create(int value);
}

internal class Implementation : IDefault<int>
{
    public int Required(int value) => value;

    public static int Create(int value)
    {
        Scene.Park();
        return value;
    }
}

internal sealed class Explicit : IDefault<string>, IDisposable
{
    int IDefault<string>.Required(string value)
    {
        Scene.Park();
        return value.Length;
    }

    void IDisposable.Dispose() => Scene.Park();

    public static int Create(int value) => value;

    public override string ToString()
    {
        Scene.Park();
        return "explicit";
    }
}

internal readonly struct Money(int amount)
{
    private readonly int _amount = amount;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Money operator +(Money left, Money right)
    {
        Scene.Park();
        return new(left._amount + right._amount);
    }

    public static Money operator *(Money left, Money right) => new(left._amount * right._amount);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Money operator checked *(Money left, Money right)
    {
        Scene.Park();
        return new(checked(left._amount * right._amount));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Money operator -(Money value)
    {
        Scene.Park();
        return new(-value._amount);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static implicit operator Money(int amount)
    {
        Scene.Park();
        return new(amount);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static explicit operator string(Money value)
    {
        Scene.Park();
        return value._amount.ToString();
    }
}

internal sealed class Members : IComparable<Members>
{
    public Members()
    {
    }

    public Members(int value, string text)
    {
        Scene.Park();
        GC.KeepAlive(value + text.Length);
    }

    public event Action? Changed
    {
        add { Scene.Park(); GC.KeepAlive(value); }
        remove { }
    }

    public int Property
    {
        get { Scene.Park(); return 1; }
        set { Scene.Park(); GC.KeepAlive(value); }
    }

    public int this[int row, string column]
    {
        get { Scene.Park(); return row + column.Length; }
    }

    int IComparable<Members>.CompareTo(Members? other)
    {
        Scene.Park();
        return 0;
    }
}

internal static class BlockedType
{
    public static readonly object Value;

    static BlockedType()
    {
        Scene.Park();
        Value = new();
    }
}

internal static class BlockedGeneric<T>
{
    private static readonly object s_value;

    static BlockedGeneric()
    {
        Native.Block();
        s_value = new();
    }

    public static void Touch() => GC.KeepAlive(s_value);
}

internal sealed class Finalized
{
    ~Finalized() => Scene.Park();
}
