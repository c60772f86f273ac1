// Locks that a program writes itself: each has a field that names its owner, and waits with something else.
namespace Scenarios;

internal static partial class Waits
{
    private interface IOwnLock
    {
        void Enter();
        void Exit();
    }

    private sealed class EventLock : IOwnLock
    {
        private readonly AutoResetEvent _free = new(true);
        private Thread _owner;

        public void Enter()
        {
            _free.WaitOne();
            _owner = Thread.CurrentThread;
        }

        public void Exit()
        {
            _owner = null;
            _free.Set();
        }
    }

    private sealed class PulseLock : IOwnLock
    {
        private readonly object _gate = new();
        private Thread _holder;

        public void Enter()
        {
            lock (_gate)
            {
                while (_holder != null)
                {
                    Monitor.Wait(_gate);
                }
                _holder = Thread.CurrentThread;
            }
        }

        public void Exit()
        {
            lock (_gate)
            {
                _holder = null;
                Monitor.Pulse(_gate);
            }
        }
    }

    private sealed class NumberedLock : IOwnLock
    {
        private readonly SemaphoreSlim _free = new(1, 1);
        private int _ownerId;

        public void Enter()
        {
            _free.Wait();
            _ownerId = Environment.CurrentManagedThreadId;
        }

        public void Exit()
        {
            _ownerId = 0;
            _free.Release();
        }
    }

    private sealed class NappingLock : IOwnLock
    {
        private int _isTaken;
        private Thread _ownerThread;

        public void Enter()
        {
            while (Interlocked.Exchange(ref _isTaken, 1) != 0)
            {
                Thread.Sleep(5);
            }
            _ownerThread = Thread.CurrentThread;
        }

        public void Exit()
        {
            _ownerThread = null;
            Volatile.Write(ref _isTaken, 0);
        }
    }

    // The JIT inlines what these call for: no frame has its name.
    private sealed class YieldingLock : IOwnLock
    {
        private int _isTaken;
        private Thread _owner;

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.AggressiveOptimization)]
        public void Enter()
        {
            while (Interlocked.Exchange(ref _isTaken, 1) != 0)
            {
                Thread.Yield();
            }
            _owner = Thread.CurrentThread;
        }

        public void Exit()
        {
            _owner = null;
            Volatile.Write(ref _isTaken, 0);
        }
    }

    private sealed class PausingLock : IOwnLock
    {
        private int _isTaken, _ownerId;

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.AggressiveOptimization)]
        public void Enter()
        {
            while (Interlocked.Exchange(ref _isTaken, 1) != 0)
            {
                Thread.SpinWait(50);
            }
            _ownerId = Environment.CurrentManagedThreadId;
        }

        public void Exit()
        {
            _ownerId = 0;
            Volatile.Write(ref _isTaken, 0);
        }
    }

    private static void Inside(IOwnLock gate, Action body)
    {
        gate.Enter();
        body();
        gate.Exit();
    }

    [Scenario("own_locks")]
    private static void OwnLocks()
    {
        Ring(2, "lock", () => new EventLock(), Inside, "event");
        Ring(2, "lock", () => new PulseLock(), Inside, "pulse");
        Ring(2, "lock", () => new NumberedLock(), Inside, "number");
        Ring(2, "lock", () => new NappingLock(), Inside, "nap");
    }

    [Scenario("own_spins")]
    private static void OwnSpins()
    {
        Ring(2, "lock", () => new YieldingLock(), Inside, "yield");
        Ring(2, "lock", () => new PausingLock(), Inside, "pause");
    }

    [System.Runtime.InteropServices.DllImport("libc")]
    private static extern int sem_init(nint semaphore, int isShared, uint value);

    [System.Runtime.InteropServices.DllImport("libc")]
    private static extern int sem_wait(nint semaphore);

    // Nothing between the program's method and libc tells what it is about.
    [Scenario("libc_semaphore")]
    private static void LibcSemaphore()
    {
        nint semaphore = System.Runtime.InteropServices.Marshal.AllocHGlobal(32);
        _ = sem_init(semaphore, 0, 0);
        Scene.Actor("semaphore", () =>
        {
            Scene.InPlace();
            _ = sem_wait(semaphore);
        });
        Thread.Sleep(200);
    }

    private sealed class Turns
    {
        public readonly AutoResetEvent Go = new(false);
        private int _ownerCount = 3, _holders = 4;
        private Thread _worker;

        public void Begin(string name)
        {
            _worker = Scene.Actor(name, () =>
            {
                Scene.InPlace();
                Go.WaitOne();
            });
            _ownerCount += _holders;
        }
    }

    // No lock: threads that wait for their turn, with fields that count and a thread of their own.
    [Scenario("own_turns")]
    private static void OwnTurns()
    {
        Turns first = new(), second = new();
        first.Begin("first");
        second.Begin("second");
        Thread.Sleep(200);
        GC.KeepAlive(first);
        GC.KeepAlive(second);
    }
}
