using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;

namespace Scenarios;

/// <summary>Threads blocked in managed callbacks that the runtime makes while it prepares or dispatches a call.</summary>
internal static class Resolvers
{
    private static class Absent
    {
        [DllImport("absent-blittable", EntryPoint = "f")] public static extern int Blittable(int value);
        [DllImport("absent-marshalled", EntryPoint = "f", SetLastError = true)] public static extern int Marshalled([MarshalAs(UnmanagedType.LPStr)] string text);
    }

    [Scenario("resolvers")]
    private static void Blocked()
    {
        Native.InPlace();
        AssemblyLoadContext.Default.ResolvingUnmanagedDll += (_, name) =>
        {
            if (name.StartsWith("absent", StringComparison.Ordinal))
            {
                Scene.Park();
            }
            return 0;
        };
        AssemblyLoadContext.Default.Resolving += (_, name) =>
        {
            if (name.Name!.StartsWith("Absent", StringComparison.Ordinal))
            {
                Scene.Park();
            }
            return null;
        };
        Scene.Actor("dll-import", () => Absent.Blittable(1));
        Scene.Actor("dll-import-stub", () => Absent.Marshalled("a"));
        Scene.Actor("type-by-name", () => Type.GetType("N.T, AbsentByName"));
        Scene.Actor("prestub", CallIntoAbsentAssembly);
        Scene.Actor("interface-dispatch", () => ((IAnswer)(object)new Castable()).Answer(1));
        Scene.Actor("interface-cast", () => GC.KeepAlive((object)new Castable() is IOther));
    }

    // An assembly made here and loaded from memory, with a method that calls into an assembly that is nowhere.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CallIntoAbsentAssembly()
    {
        PersistedAssemblyBuilder absent = new(new AssemblyName("AbsentLibrary"), typeof(object).Assembly);
        TypeBuilder library = absent.DefineDynamicModule("AbsentLibrary").DefineType("Absent.Library", TypeAttributes.Public);
        MethodBuilder target = library.DefineMethod("Target", MethodAttributes.Public | MethodAttributes.Static, typeof(int), [typeof(int)]);
        target.GetILGenerator().Emit(OpCodes.Ldarg_0);
        target.GetILGenerator().Emit(OpCodes.Ret);
        library.CreateType();

        PersistedAssemblyBuilder user = new(new AssemblyName("UserOfAbsent"), typeof(object).Assembly);
        TypeBuilder type = user.DefineDynamicModule("UserOfAbsent").DefineType("User.Of.Absent", TypeAttributes.Public);
        MethodBuilder caller = type.DefineMethod("Caller", MethodAttributes.Public | MethodAttributes.Static, typeof(int), [typeof(int)]);
        ILGenerator il = caller.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, target);
        il.Emit(OpCodes.Ret);
        type.CreateType();
        using MemoryStream image = new();
        user.Save(image);
        image.Position = 0;
        AssemblyLoadContext.Default.LoadFromStream(image).GetType("User.Of.Absent")!.GetMethod("Caller")!
            .CreateDelegate<Func<int, int>>()(3);
    }

    private interface IAnswer
    {
        int Answer(int question);
    }

    private interface IOther
    {
    }

    private sealed class Castable : IDynamicInterfaceCastable
    {
        public bool IsInterfaceImplemented(RuntimeTypeHandle interfaceType, bool throwIfNotImplemented)
        {
            if (interfaceType.Equals(typeof(IOther).TypeHandle))
            {
                Scene.Park();
            }
            return true;
        }

        public RuntimeTypeHandle GetInterfaceImplementation(RuntimeTypeHandle interfaceType)
        {
            Scene.Park();
            return default;
        }
    }
}
