using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Churn;

/// <summary>Makes code that is used once or twice and collected. Its names say for which thread it was made.</summary>
internal static class Making
{
    private static readonly MethodInfo s_next = typeof(Links).GetMethod(nameof(Links.Next))!;
    private static readonly MethodInfo s_throw = typeof(Links).GetMethod(nameof(Links.Throw))!;
    private static readonly MethodInfo s_touch = typeof(Making).GetMethod(nameof(Touch))!;
    private static readonly MethodInfo s_typed = typeof(Links).GetMethod(nameof(Links.Typed))!;
    private static readonly Type[] s_parameters = [typeof(Walk), typeof(int)];
    private static int s_instantiations;

    public struct Pair<TFirst, TSecond>
    {
        public TFirst First;
        public TSecond Second;
    }

    private static readonly Type[] s_values =
    [
        typeof(byte), typeof(sbyte), typeof(short), typeof(ushort), typeof(char), typeof(int), typeof(uint), typeof(long),
        typeof(ulong), typeof(float), typeof(double), typeof(decimal), typeof(bool), typeof(Guid), typeof(DateTime),
        typeof(TimeSpan), typeof(DateOnly), typeof(TimeOnly), typeof(Half), typeof(Int128), typeof(UInt128), typeof(Index),
        typeof(Range), typeof(DateTimeOffset),
    ];

    /// <summary>Keeps a local variable of the caller in its frame.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Touch(ref Guid value) => value.GetHashCode() & 1;

    // Room for some variables: code in the place of code that was freed shall have another frame.
    private static void EmitNext(ILGenerator il, int variables = 0)
    {
        for (int i = 0; i < variables; i++)
        {
            il.Emit(OpCodes.Ldloca, il.DeclareLocal(typeof(Guid)));
            il.Emit(OpCodes.Call, s_touch);
            il.Emit(OpCodes.Pop);
        }
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Call, s_next);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Func<Walk, int, int> Dynamic(Walk walk)
    {
        DynamicMethod method = new($"g_{walk.Number:x}_{Walk.NextSerial()}", typeof(int), s_parameters, typeof(Links).Module, true);
        EmitNext(method.GetILGenerator(), walk.Random.Next(6));
        return method.CreateDelegate<Func<Walk, int, int>>();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Func<int, int> Throwing(Walk walk)
    {
        DynamicMethod method = new($"m_{walk.Number:x}_{Walk.NextSerial()}", typeof(int), [typeof(int)], typeof(Links).Module, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, s_throw);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Func<Walk, int, int> Expression(Walk walk)
    {
        ParameterExpression first = System.Linq.Expressions.Expression.Parameter(typeof(Walk), "walk");
        ParameterExpression second = System.Linq.Expressions.Expression.Parameter(typeof(int), "at");
        Expression body = System.Linq.Expressions.Expression.Add(
            System.Linq.Expressions.Expression.Call(s_next, first, second), System.Linq.Expressions.Expression.Constant(1));
        return System.Linq.Expressions.Expression
            .Lambda<Func<Walk, int, int>>(body, $"x_{walk.Number:x}_{Walk.NextSerial()}", [first, second]).Compile();
    }

    /// <summary>A static method of a type of an assembly of its own, all of it unloadable.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Func<Walk, int, int> Collectible(Walk walk)
    {
        string name = $"k_{walk.Number:x}_{Walk.NextSerial()}";
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.RunAndCollect);
        assembly.SetCustomAttribute(new CustomAttributeBuilder(
            typeof(IgnoresAccessChecksToAttribute).GetConstructor([typeof(string)])!, [typeof(Links).Assembly.GetName().Name!]));
        TypeBuilder type = assembly.DefineDynamicModule("module").DefineType("Made." + name, TypeAttributes.Public);
        MethodBuilder method = type.DefineMethod("Run", MethodAttributes.Public | MethodAttributes.Static, typeof(int), s_parameters);
        EmitNext(method.GetILGenerator());
        return type.CreateType().GetMethod("Run")!.CreateDelegate<Func<Walk, int, int>>();
    }

    /// <summary>Links.Typed over a struct nobody has used yet, until the supply ends and starts anew.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Func<Walk, int, int> Instantiation()
    {
        int n = Interlocked.Increment(ref s_instantiations) & 0x7fffffff, count = s_values.Length;
        Type inner = typeof(Pair<,>).MakeGenericType(s_values[n % count], s_values[n / count % count]);
        Type value = typeof(Pair<,>).MakeGenericType(inner, s_values[n / count / count % count]);
        return s_typed.MakeGenericMethod(value).CreateDelegate<Func<Walk, int, int>>();
    }
}
