using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

internal static unsafe class Interop
{
    private static readonly Callback s_second = Second;
    private static readonly Callback s_errno = ErrnoLevel;

    // managed > native > [UnmanagedCallersOnly] > native (3 deep) > delegate > native > delegate with SetLastError > native
    [Scenario("reverse_pinvoke")]
    private static void ReversePInvoke()
    {
        Scene.Actor("levels", () => Native.Call(&First, 3));
        Scene.Actor("sort-fnptr", SortWithPointer);
        Scene.Actor("sort-delegate", SortWithDelegate);
        Scene.Actor("many-levels", () => Native.CallDeep(&Level, 12, 2));
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int First(nint depth) => Native.CallDeep(&Between, depth, (int)depth);

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Between(nint depth) => Native.CallDelegate(s_second, depth) + 1;

    private static int Second(nint argument) => Native.CallErrno(s_errno, argument) + 1;

    private static int ErrnoLevel(nint argument)
    {
        int result = Native.BlockErrno();
        return result + Marshal.GetLastPInvokeError() + (int)argument;
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Level(nint depth)
    {
        if (depth <= 0)
        {
            Scene.Park();
            return 0;
        }
        return Native.CallDeep(&Level, depth - 1, (int)(depth % 3)) + 1;
    }

    // mixtures [count]: as many different stacks. The bits of a thread's number say at which of twelve levels native
    // code lies in between.
    [Scenario("mixtures")]
    private static void Mixtures()
    {
        for (int i = 0; i < Program.Argument(0, 24); i++)
        {
            nint way = 4096 | i;
            Scene.Actor("mixture" + i, () => Mixture(way));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Mixture(nint way)
    {
        if (way <= 1)
        {
            Scene.Park();
            return 0;
        }
        return ((way & 1) != 0 ? Native.CallDeep(&MixtureFromNative, way >> 1, (int)(way % 5)) : Managed(way >> 1, "x")) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Managed<T>(nint way, T value) => Mixture(way) ^ value!.GetHashCode();

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int MixtureFromNative(nint way) => Mixture(way);

    // Chains of native frames, twice between managed ones, as long as the thread's name says: with frame pointers
    // ("kept-9") and without ("bare-9").
    [Scenario("native_between")]
    private static void NativeBetween()
    {
        foreach (int frames in (int[])[1, 8, 9, 40])
        {
            Scene.Actor("kept-" + frames, () => AboveNative(frames, 2, true));
            Scene.Actor("bare-" + frames, () => AboveNative(frames, 2, false));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int AboveNative(int frames, int times, bool keep)
    {
        nint way = (frames << 8) | ((times - 1) << 1) | (keep ? 1 : 0);
        if (times == 0)
        {
            Scene.Park();
            return 0;
        }
        return (keep ? Native.ChainKept(&BelowNative, way, frames) : Native.ChainBare(&BelowNative, way, frames)) + 1;
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int BelowNative(nint way) => AboveNative((int)way >> 8, ((int)way >> 1) & 127, (way & 1) != 0) + 1;

    private static void SortWithPointer()
    {
        int* values = stackalloc int[] { 3, 1, 2 };
        Native.Sort(values, 3, &CompareValues);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int CompareValues(int* left, int* right)
    {
        Scene.Park();
        return *left - *right;
    }

    private static void SortWithDelegate()
    {
        Native.SortDelegate([3, 1, 2], 3, (ref int left, ref int right) =>
        {
            Native.Block();
            return left - right;
        });
    }

    [Scenario("marshalling")]
    private static void Marshalling()
    {
        Scene.Actor("string", () => Native.BlockString("text"));
        Scene.Actor("struct", () =>
        {
            NativeStrings strings = new() { Count = 2, First = "one", Second = "two" };
            Native.BlockStruct(ref strings);
        });
        Scene.Actor("errno", () => Native.BlockErrno());
        Scene.Actor("text-callback", () => Native.CallString(text => Native.BlockString(text + "!"), "deep"));
        Scene.Actor("blittable", () => Native.BlockValue(3));
        Scene.Actor("fnptr", () => ((delegate* unmanaged[Cdecl]<int, int>)Native.Symbol("scen_block_value"))(4));
        Scene.Actor("delegate-from-fnptr", () =>
            Marshal.GetDelegateForFunctionPointer<Callback>(Native.Symbol("scen_block_value"))(5));
        Scene.Actor("delegate-marshalled-string", () =>
            Marshal.GetDelegateForFunctionPointer<TextCallback>(Native.Symbol("scen_block_string"))("six"));
    }

    // The second worked example of the StackWalk contract: an [UnmanagedCallersOnly] method called through a function
    // pointer from managed code; once spinning in it (top is managed), once blocked in native code below it.
    [Scenario("uco_fnptr")]
    private static void UnmanagedThroughPointer()
    {
        Scene.Actor("uco-spin", () => Foo(true));
        Scene.Actor("uco-block", () => Foo(false));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Foo(bool spin)
    {
        delegate* unmanaged<int, void> pointer = &Bar;
        pointer(spin ? 1 : 0);
    }

    [UnmanagedCallersOnly]
    private static void Bar(int spin)
    {
        if (spin != 0)
        {
            Scene.InPlace();
            Spinning.Forever();
        }
        Native.Block();
    }

    [Scenario("suppress_gc_transition")]
    private static void SuppressGCTransition() => Scene.Actor("suppressed", Suppressed);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Suppressed() => Native.SpinWithoutTransition();

    // A collection that cannot begin: one thread never leaves cooperative mode. It begins when READY has been said.
    [Scenario("gc_held_up")]
    private static void GcHeldUp()
    {
        Scene.Actor("holder", BlockedWithoutTransition);
        Scene.Extra("collector", () =>
        {
            Thread.Sleep(1000);
            GC.Collect();
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void BlockedWithoutTransition() => Native.BlockWithoutTransition();

    [Scenario("native_spin")]
    private static void NativeSpin() => Scene.Actor("native-spin", Native.Spin);

    [Scenario("rbp_plain")]
    private static void RbpPlain()
    {
        Scene.Actor("rbp-native", () => Native.CallRbpPlain(&BlockBelow, 1));
        Scene.Actor("rbp-managed", () => Native.CallRbpPlain(&BlockBelow, 0));
        Scene.Actor("rbp-twice", () => Native.CallRbpPlain(&Again, 0));
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int BlockBelow(nint native)
    {
        if (native != 0)
        {
            Native.Block();
        }
        Scene.Park();
        return 0;
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Again(nint argument) => Native.CallRbpPlain(&BlockBelow, argument) + 1;

    [Scenario("native_thread")]
    private static void NativeThread()
    {
        Scene.Expect(4);
        Native.StartNativeThreads(3, 25);
        Native.StartCallbackThread(&OnNativeThread, 7);
        Scene.Actor("managed", Scene.Park);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int OnNativeThread(nint argument) => Native.BlockValue((int)argument);

    [Scenario("vfork")]
    private static void Vfork()
    {
        Scene.Actor("vfork-parent", () => Native.VforkParent(Program.Argument(0, 15)));
        Scene.Actor("bystander", Scene.Park);
    }
}
