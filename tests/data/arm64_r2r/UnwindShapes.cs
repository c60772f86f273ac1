// Methods whose ARM64 prologues and epilogues differ: see README.md beside this file.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

public static unsafe class UnwindShapes
{
    [MethodImpl(MethodImplOptions.NoInlining)] static long L(long x) => x * 3 + Environment.TickCount;
    [MethodImpl(MethodImplOptions.NoInlining)] static double D(double x) => x * 3 + Environment.TickCount;
    [MethodImpl(MethodImplOptions.NoInlining)] static void Use(void* p) { if (p == null) throw new Exception(); }

    public static int Leaf(int a, int b) => a * b + 1;
    public static long OneCall(long a) => L(a) + 1;
    public static long Saves1(long a) { long b = L(a); L(b); return b; }
    public static long Saves2(long a, long b) { long c = L(a); long d = L(b); L(1); return a + b + c + d; }
    public static long Saves4(long a, long b, long c, long d)
    { long e = L(a); long f = L(b); L(e); L(f); return a + b + c + d + e + f; }
    public static long Saves10(long a, long b, long c, long d, long e, long f, long g, long h)
    { for (long i = L(0); i < h; i++) { a += L(b); b += L(c); c += L(d); d += L(e); e += L(f); f += L(g); g += L(h); h += L(a); }
      return a + b + c + d + e + f + g + h; }
    public static double Floats1(double a) { D(a); return a; }
    public static double Floats2(double a, double b) { D(a); D(b); return a + b; }
    public static double Floats3(double a, double b, double c) { D(a); D(b); D(c); return a + b + c; }
    public static double Floats8(double a, double b, double c, double d, double e, double f, double g, double h)
    { for (long i = L(0); i < 9; i++) { a += D(b); b += D(c); c += D(d); d += D(e); e += D(f); f += D(g); g += D(h); h += D(a); }
      return a + b + c + d + e + f + g + h; }
    public static double Mixed(long a, long b, double x, double y, long c)
    { long d = L(a); double z = D(x); L(d); D(z); return a + b + c + d + x + y + z; }

    struct S64 { fixed byte b[64]; }
    struct S480 { fixed byte b[480]; }
    struct S600 { fixed byte b[600]; }
    struct S5000 { fixed byte b[5000]; }
    struct S70000 { fixed byte b[70000]; }
    public static void Frame64(long a) { S64 s; Use(&s); L(a); }
    public static long Frame480(long a) { S480 s; Use(&s); L(a); return a; }
    public static long Frame600(long a, long b) { S600 s; Use(&s); L(a); return a + b; }
    public static long Frame5000(long a, double x) { S5000 s; Use(&s); L(a); return a + (long)D(x); }
    public static long Frame70000(long a, long b, long c) { S70000 s; Use(&s); L(a); L(b); return a + b + c; }
    public static long Locals(int n, long a) { byte* p = stackalloc byte[n]; Use(p); L(a); return a + p[0]; }
    public static long LocalsConst(long a) { byte* p = stackalloc byte[100]; Use(p); L(a); return a + p[0]; }
    public static long LocalsInLoop(int n, long a)
    { for (int i = 0; i < n; i++) { byte* p = stackalloc byte[n]; Use(p); a += p[0]; } return a; }
    public static long LocalsAndFrame(int n, long a, double x)
    { S600 s; byte* p = stackalloc byte[n]; Use(p); Use(&s); D(x); return L(a) + a + (long)x; }
    public static long ManyArguments(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k)
    { return L(a) + ManyMore(k, j, i, h, g, f, e, d, c, b, a, 1, 2, 3); }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static long ManyMore(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m, long n)
    { return L(a) + i + j + k + l + m + n; }

    public static long TryCatch(long a, long b) { try { return L(a); } catch (InvalidOperationException) { return L(b) + a; } }
    public static long TryFinally(long a, long b) { try { a += L(b); } finally { a += L(a) + b; L(a); } return a; }
    public static long TryFilter(long a, string s)
    { try { a += L(a); } catch (Exception e) when (e.Message == s && L(a) > 3) { a += L(5) + s.Length; } return a; }
    public static long Nested(long a, long b, double x, string s)
    {
        for (long i = 0; i < b; i++)
        {
            try { try { a += L(i) + (long)D(x); } catch (ArgumentException e) { a += e.Message.Length + L(b); throw; } finally { b += L(a); } }
            catch (Exception) when (L(b) > a) { x += D(x); }
            lock (s) { a += L(b); }
        }
        return a + (long)x;
    }
    public static long FunctionWithManyReturns(long a, long b)
    {
        if (a == 1) return L(1) + b;
        if (a == 2) { L(2); return b; }
        if (L(b) == 3) return a;
        while (a < b) { a += L(a); if (a == 77) return b * L(a); }
        return L(a) - b;
    }
    public static string Switch(int a, string s)
    {
        switch (a)
        {
            case 0: return s + L(1); case 1: return s; case 2: return L(3).ToString(); case 3: return s + s; case 4: return s.Trim();
            case 5: return s.ToUpper(); case 6: L(3); return "x"; case 7: return s + "7" + L(7); case 8: return "8"; default: throw new Exception(s);
        }
    }
    public static long Throws(long a) { if (a > 3) throw new ArgumentOutOfRangeException(nameof(a)); return L(a) + a; }
    public static T Generic<T>(T a, Func<T, T> f) { T b = f(a); f(b); return a; }
    [DllImport("libc")] static extern int getpid();
    public static long PInvoke(long a) => getpid() + L(a) + a;
    [UnmanagedCallersOnly] public static long FromNative(long a, long b) { long c = L(a); return c + b + L(c); }
    public static long TailCall(long a, long b) { L(a); return Saves2(b, a); }
    public static decimal Structs(decimal a, Guid g, Span<byte> s) { g.TryWriteBytes(s); return a * s.Length + L(1); }
}
