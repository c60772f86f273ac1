using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Scenarios;

public static class DynamicCode
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Stand()
    {
        Scene.Park();
        GC.KeepAlive(null);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int StandWith(int a, int b, int c, int d, int e, int f, int g, int h, int i, string text)
    {
        Scene.Park();
        return a + b + c + d + e + f + g + h + i + text.Length;
    }

    private static readonly MethodInfo s_stand = typeof(DynamicCode).GetMethod(nameof(Stand))!;
    private static readonly MethodInfo s_standWith = typeof(DynamicCode).GetMethod(nameof(StandWith))!;

    [Scenario("dynamic_methods")]
    private static void DynamicMethods()
    {
        Scene.Actor("plain", () => Dynamic("Plain").CreateDelegate<Func<int, string, int>>()(1, "a"));
        Scene.Actor("odd-name", () => Dynamic("odd name, <with> [marks]`2").CreateDelegate<Func<int, string, int>>()(2, "b"));
        Scene.Actor("unicode-name", () => Dynamic("überladen_Ж").CreateDelegate<Func<int, string, int>>()(3, "c"));
        Scene.Actor("emitted", () => Emitted("Emitted Assembly", AssemblyBuilderAccess.Run));
        Scene.Actor("expression", () =>
        {
            var value = System.Linq.Expressions.Expression.Parameter(typeof(int), "value");
            var body = System.Linq.Expressions.Expression.Block(System.Linq.Expressions.Expression.Call(s_stand), value);
            System.Linq.Expressions.Expression.Lambda<Func<int, int>>(body, value).Compile()(4);
        });
    }

    private static DynamicMethod Dynamic(string name)
    {
        DynamicMethod method = new(name, typeof(int), [typeof(int), typeof(string)], typeof(DynamicCode).Module, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Call, s_stand);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ret);
        return method;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Emitted(string name, AssemblyBuilderAccess access)
    {
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), access);
        ModuleBuilder module = assembly.DefineDynamicModule("EmittedModule");
        TypeBuilder type = module.DefineType("Emitted.Outer", TypeAttributes.Public);
        GenericTypeParameterBuilder[] parameters = type.DefineGenericParameters("T");
        MethodBuilder method = type.DefineMethod("Emit It", MethodAttributes.Public | MethodAttributes.Static, typeof(int), [parameters[0], typeof(int[])]);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Call, s_stand);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Ret);
        Type made = type.CreateType().MakeGenericType(typeof(string));
        made.GetMethod("Emit It")!.Invoke(null, ["text", new[] { 1 }]);
    }

    [Scenario("collectible")]
    private static void Collectible()
    {
        Scene.Actor("collectible-file", () => RunInContext(false));
        Scene.Actor("collectible-stream", () => RunInContext(true));
        Scene.Actor("run-and-collect", () => Emitted("Collectible Assembly", AssemblyBuilderAccess.RunAndCollect));
        Scene.Extra("unloader", () =>
        {
            for (; ; )
            {
                LoadAndUnload();
                Thread.Sleep(20);
            }
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void RunInContext(bool fromStream)
    {
        AssemblyLoadContext context = new("collectible", isCollectible: true);
        string path = typeof(DynamicCode).Assembly.Location;
        Assembly copy = fromStream ? context.LoadFromStream(new MemoryStream(File.ReadAllBytes(path))) : context.LoadFromAssemblyPath(path);
        Action report = Scene.InPlace;
        copy.GetType("Scenarios.Visitor`1")!.MakeGenericType(typeof(DateTime))
            .GetMethod("Visit")!.Invoke(null, [report, fromStream]);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void LoadAndUnload()
    {
        AssemblyLoadContext context = new("short-lived", isCollectible: true);
        Assembly copy = context.LoadFromAssemblyPath(typeof(DynamicCode).Assembly.Location);
        copy.GetType("Scenarios.Visitor`1")!.MakeGenericType(typeof(int)).GetMethod("Pass")!.Invoke(null, null);
        context.Unload();
    }

    // Explicit tail calls: the callers must not be on the stack.
    [Scenario("tail_calls")]
    private static void TailCalls()
    {
        Scene.Actor("tail-direct", () => TailMethod("TailDirect", OpCodes.Call).CreateDelegate<Func<int, string, int>>()(1, "a"));
        Scene.Actor("tail-chain", () => TailChain(5).CreateDelegate<Func<int, string, int>>()(1, "a"));
        Scene.Actor("tail-many-arguments", () => TailManyArguments().CreateDelegate<Func<int, int>>()(1));
        Scene.Actor("tail-calli", () => TailCalli().CreateDelegate<Func<int, string, int>>()(1, "a"));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Target(int value, string text)
    {
        Scene.Park();
        return value + text.Length;
    }

    private static DynamicMethod Tail(string name, Type[] parameters, Action<ILGenerator> call)
    {
        DynamicMethod method = new(name, typeof(int), parameters, typeof(DynamicCode).Module, true);
        ILGenerator il = method.GetILGenerator();
        call(il);
        il.Emit(OpCodes.Ret);
        return method;
    }

    private static DynamicMethod TailMethod(string name, OpCode call) => Tail(name, [typeof(int), typeof(string)], il =>
    {
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Tailcall);
        il.Emit(call, typeof(DynamicCode).GetMethod(nameof(Target))!);
    });

    private static DynamicMethod TailChain(int length)
    {
        DynamicMethod next = TailMethod("Tail0", OpCodes.Call);
        for (int i = 1; i < length; i++)
        {
            DynamicMethod below = next;
            next = Tail("Tail" + i, [typeof(int), typeof(string)], il =>
            {
                il.Emit(OpCodes.Ldarg_0);
                il.Emit(OpCodes.Ldarg_1);
                il.Emit(OpCodes.Tailcall);
                il.Emit(OpCodes.Call, below);
            });
        }
        return next;
    }

    // More stack arguments than the caller has room for: goes through the runtime's tail-call helper.
    private static DynamicMethod TailManyArguments() => Tail("TailManyArguments", [typeof(int)], il =>
    {
        for (int i = 0; i < 9; i++)
        {
            il.Emit(OpCodes.Ldarg_0);
        }
        il.Emit(OpCodes.Ldstr, "text");
        il.Emit(OpCodes.Tailcall);
        il.Emit(OpCodes.Call, s_standWith);
    });

    private static DynamicMethod TailCalli() => Tail("TailCalli", [typeof(int), typeof(string)], il =>
    {
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Ldftn, typeof(DynamicCode).GetMethod(nameof(Target))!);
        il.Emit(OpCodes.Tailcall);
        il.EmitCalli(OpCodes.Calli, CallingConventions.Standard, typeof(int), [typeof(int), typeof(string)], null);
    });
}

/// <summary>Loaded a second time into a collectible context.</summary>
public static class Visitor<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Visit(Action report, bool sleep) => new Nested().Inside(report, sleep, default!) + 1;

    public static void Pass() => GC.KeepAlive(typeof(T));

    private sealed class Nested
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Inside(Action report, bool sleep, T value)
        {
            report();
            for (; ; )
            {
                Thread.Sleep(sleep ? 1_000_000 : Timeout.Infinite);
                GC.KeepAlive(value);
            }
        }
    }
}
