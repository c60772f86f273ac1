// Each thread stands in shared generic code and tells of each frame of its own which method of which types that is: what
// typeof says there. One line each: TRUTH TID METHOD TYPES, outermost first.
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

class Order { }
class Customer { }
struct Money { public long Cents; }
class Box<T> { public T Value; }

static class Say {
  [DllImport("libc")] static extern int gettid();
  static readonly object Lock = new();
  public static volatile bool End;
  public static int Told, Wanted;
  [ThreadStatic] static List<string> _lines;
  public static string Name(Type t) {
    if (!t.IsGenericType) return t.Name;
    return t.Name[..t.Name.IndexOf('`')] + "<" + string.Join(", ", t.GetGenericArguments().Select(Name)) + ">";
  }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Frame(string method, params Type[] types) {
    _lines ??= new();
    _lines.Add($"TRUTH {gettid()} {method} {string.Join(", ", types.Select(Name))}");
  }
  public static void Spinning(Type type) {
    lock (Lock) { Console.WriteLine($"TRUTH {gettid()} Tools.Spin {Name(type)}"); Told++; }
  }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Stand() {
    lock (Lock) { foreach (var l in _lines) Console.WriteLine(l); Console.Out.Flush(); Told++; }
    _lines.Clear();
    while (!End) Thread.Sleep(20);
  }
}

class Repository<T> {
  public T Kept;
  [MethodImpl(MethodImplOptions.NoInlining)]
  public void Find(Action then) { Say.Frame("Repository.Find", typeof(T)); then(); GC.KeepAlive(this); }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Count(Action then) { Say.Frame("Repository.Count", typeof(T)); then(); Say.End |= typeof(T) == null; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public void Map<U>(Action then) { Say.Frame("Repository.Map", typeof(T), typeof(U)); then(); Say.End |= typeof(U) == null; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public virtual void Visit<U>(U value, Action then) { Say.Frame("Repository.Visit", typeof(T), typeof(U)); then(); Say.End |= typeof(U) == null; }
  public class Cursor<V> {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Move(Action then) { Say.Frame("Cursor.Move", typeof(T), typeof(V)); then(); Say.End |= typeof(V) == null; }
  }
}
class Special<T> : Repository<Box<T>> { }
struct Pair<A, B> {
  public A First; public B Second;
  [MethodImpl(MethodImplOptions.NoInlining)]
  public void Swap(Action then) { Say.Frame("Pair.Swap", typeof(A), typeof(B)); then(); Say.End |= typeof(A) == null; }
}
interface ISource<T> {
  [MethodImpl(MethodImplOptions.NoInlining)]
  void Pull(Action then) { Say.Frame("ISource.Pull", typeof(T)); then(); Say.End |= typeof(T) == null; }
}
class Source<T> : ISource<T> { }

static class Tools {
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Run<T>(Action then) { Say.Frame("Tools.Run", typeof(T)); then(); Say.End |= typeof(T) == null; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Mix<T, M>(T a, M b, Action then) { Say.Frame("Tools.Mix", typeof(T), typeof(M)); then(); Say.End |= typeof(T) == null; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Guarded<T>(Action then) {
    try { Say.Frame("Tools.Guarded", typeof(T)); if (then != null) throw new InvalidOperationException(); }
    catch (InvalidOperationException) when (then != null) { then(); Say.End |= typeof(T) == null; }
    finally { Say.End |= typeof(T) == null; }
  }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Finally<T>(Action then) {
    try { Say.Frame("Tools.Finally", typeof(T)); if (then == null) throw new InvalidOperationException(); }
    finally { then(); Say.End |= typeof(T) == null; }
  }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static unsafe void Local<T>(int n, Action then) { byte* b = stackalloc byte[n]; b[0] = 1; Say.Frame("Tools.Local", typeof(T)); then(); Say.End |= typeof(T) == null | b[0] == 2; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Twice<T>(Action then) { Say.Frame("Tools.Twice", typeof(T)); if (typeof(T) == typeof(Order)) Twice<Box<T>>(then); else if (typeof(T) == typeof(Box<Order>)) Twice<Customer>(then); else then(); Say.End |= typeof(T) == null; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static Action Closure<T>(T value, Action then) => () => { Say.Frame("Tools.Closure", typeof(T)); then(); Say.End |= value == null & typeof(T) == null; };
  public static async Task Later<T>(T value, Action then) {
    await Task.Yield();
    Say.Frame("Tools.Later", typeof(T)); then(); Say.End |= typeof(T) == null;
    await Task.Yield();
    GC.KeepAlive(value);
  }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Spin<T>(T[] all) {
    for (int n = 0; !Say.End; n += all is IEnumerable<T> ? 1 : 0)
      if (n == 1000) Say.Spinning(typeof(T));
  }
}

class Program {
  static void On(Action what) { Say.Wanted++; var t = new Thread(() => what()) { IsBackground = true }; t.Start(); }
  static void Main(string[] args) {
    if (args.Length > 0 && args[0] == "spin") {
      On(() => Tools.Spin(new Order[3]));
      On(() => Tools.Spin(new Customer[3]));
      Ready();
      return;
    }
    Action s = Say.Stand;
    On(() => new Repository<Order>().Find(s));
    On(() => new Repository<Customer>().Find(s));
    On(() => Repository<Order>.Count(s));
    On(() => new Repository<Order>().Map<Customer>(s));
    On(() => new Repository<Customer>().Map<int>(s));
    On(() => { Repository<Order> r = new Special<Order>().ToString() == "" ? new Repository<Order>() : new Repository<Order>(); r.Visit("x", s); });
    On(() => new Special<Order>().Find(s));
    On(() => new Special<Customer>().Visit(new Order(), s));
    On(() => new Repository<Order>.Cursor<Customer>().Move(s));
    On(() => new Repository<Order>.Cursor<Money>().Move(s));
    On(() => new Pair<Order, Customer>().Swap(s));
    On(() => new Pair<Money, Customer>().Swap(s));
    On(() => ((ISource<Order>)new Source<Order>()).Pull(s));
    On(() => Tools.Run<Order>(s));
    On(() => Tools.Run<Box<Customer>>(s));
    On(() => Tools.Run<Order[]>(s));
    On(() => Tools.Mix<Order, Money>(null, default, s));
    On(() => Tools.Mix<int, Customer>(0, null, s));
    On(() => Tools.Guarded<Order>(s));
    On(() => Tools.Finally<Order>(s));
    On(() => Tools.Local<Customer>(300, s));
    On(() => Tools.Twice<Order>(s));
    On(Tools.Closure(new Order(), s));
    On(() => Tools.Run<Order>(() => Repository<Customer>.Count(() => new Repository<Box<Order>>().Find(s))));
    On(() => Tools.Later(new Order(), s).Wait());
    On(() => Tools.Later(new Customer(), s).Wait());
    Ready();
  }
  static void Ready() {
    while (Say.Told < Say.Wanted) Thread.Sleep(10);
    Console.WriteLine($"READY {Environment.ProcessId}");
    Console.Out.Flush();
    while (Console.ReadLine() is { }) GC.Collect(2, GCCollectionMode.Forced, true, true);
    Say.End = true;
  }
}
