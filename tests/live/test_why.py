"""`mixstack why`: what planted waits are, and who holds what, against the program's own word (lines TRUTH)."""
import json
import os
import pathlib
import tempfile
import time
import unittest

import cores
import debuggee_build
import mixstack_dump
import processes
from why_case import FINE, MAY_END, NOT_KNOWN, RECORDED, STUCK, WhyCase


class Why(WhyCase):
    def test_two_monitors(self):
        with processes.scenario("deadlock") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.compare(answer, self.truth(debuggee))
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["is_certain"], len(verdict["steps"])), ("deadlock", True, 2))
            self.assertEqual(status, STUCK)
            text = mixstack_dump.run("why", debuggee.pid)[1]
            self.assertTrue(text.startswith("DEADLOCK: 2 threads"), text)

    def test_a_ring_of_five_hundred(self):
        with processes.scenario("deadlock_ring") as debuggee:
            _, answer = self.why(debuggee.pid)
            self.compare(answer, self.truth(debuggee))
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["is_certain"], len(verdict["steps"])), ("deadlock", True, 500))

    def test_a_lock_and_a_task(self):
        for scenario in ("deadlock_lock", "deadlock_task"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.why(debuggee.pid)
                self.compare(answer, self.truth(debuggee))
                self.assertEqual([(v["kind"], v["is_certain"]) for v in answer["verdicts"]], [("deadlock", True)])

    def test_a_join_is_possible_only(self):
        with processes.scenario("deadlock_join") as debuggee:
            _, answer = self.why(debuggee.pid)
            self.compare(answer, self.truth(debuggee))
            self.assertEqual([v["kind"] for v in answer["verdicts"]], ["deadlock"])

    def test_a_convoy(self):
        with processes.scenario("convoy") as debuggee:
            _, answer = self.why(debuggee.pid)
            threads = self.compare(answer, self.truth(debuggee))
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["threads"]), ("chain", 12))
            self.assertEqual(verdict["steps"][-1]["thread"], threads["owner"]["tid"])

    def test_a_collection_that_cannot_begin(self):
        with processes.scenario("gc_held_up") as debuggee:
            for _ in range(100):  # it begins to collect a while later
                status, answer = self.why(debuggee.pid)
                if answer["verdicts"]:
                    break
                time.sleep(0.2)
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            [verdict] = [v for v in answer["verdicts"] if v["kind"] == "stuck_suspension"]
            self.assertEqual([names[s["thread"]] for s in verdict["steps"]], ["collector", "holder"])
            self.assertEqual(status, STUCK)

    def test_a_finalizer_that_waits(self):
        with processes.scenario("blocked_finalizer") as debuggee:
            status, answer = self.why(debuggee.pid)
            names = {t["tid"]: t["name"] or t["comm"] for t in answer["threads"]}
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"]), (STUCK, "blocked_finalizer"))
            self.assertEqual([names[s["thread"]] for s in verdict["steps"]], [".NET Finalizer", "owner"])

    def test_finalizers_that_get_on(self):
        with processes.scenario("slow_finalizers") as debuggee:
            for _ in range(10):
                status, answer = self.why(debuggee.pid, "--sample", "0")
                self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_a_child_process(self):
        with processes.scenario("child_process") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            child = self.truth(debuggee)["parent"][1]
            [wait] = [t["wait"] for t in answer["threads"] if t["name"] == "parent"]
            self.assertEqual((wait["kind"], wait["proof"], wait["type"], wait["detail"]),
                             ("child_process", "proved", child, "cat"))
            [other] = wait["processes"]
            self.assertEqual((other["pid"], other["name"], other["waits_for_us"]), (int(child), "cat", "may"))
            dump = mixstack_dump.dump(debuggee.pid)
            self.assertEqual([t["wait"]["kind"] for t in dump["threads"] if (t["managed"] or {}).get("name") == "parent"], ["child_process"])

    def test_sockets_that_are_not_blocking(self):
        with processes.scenario("sync_over_socket") as debuggee:
            def asleep():
                names = {mixstack_dump.pathlib.Path(f"/proc/{debuggee.pid}/task/{tid}/comm").read_text().strip(): state
                         for tid, state in processes.thread_states(debuggee.pid).items()}
                return all(names.get(name[:15]) == "S" for name in self.truth(debuggee))
            # The writer fills buffers first, which may take a while beside other work.
            self.wait_until(lambda: all(asleep() for _ in range(5) if not time.sleep(0.05)), "the reader and the writer")
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            waits = {t["name"]: t["wait"] for t in answer["threads"] if t["name"]}
            for name, (kind, ends, _) in self.truth(debuggee).items():
                plain = ends.replace("[::ffff:127.0.0.1]", "127.0.0.1")  # of sockets for both protocols
                self.assertEqual((waits[name]["kind"], waits[name]["proof"], waits[name]["type"], waits[name]["detail"]),
                                 (kind, RECORDED, "tcp " + plain.replace("->", " -> "), "the other end is held by this process"))

    def test_a_monitor_whose_owner_has_ended(self):
        with processes.scenario("orphaned_monitor") as debuggee, tempfile.TemporaryDirectory() as folder:
            pack = pathlib.Path(folder) / "orphan.pack"
            for _ in range(5):  # of a thread that was late nothing is told, of the pack as of the process
                self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "--force", "-o", pack)[0], 0)
                if not any(t["late_ns"] for t in mixstack_dump.dump_core(pack)["threads"]):
                    break
            for target in (debuggee.pid, pack):
                status, answer = self.why(target)
                threads = self.compare(answer, self.truth(debuggee))
                self.assertTrue(all(threads[name]["wait"]["owner_has_ended"] for name in ("one", "other")))
                [verdict] = answer["verdicts"]
                self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]),
                                 (STUCK, "orphaned_lock", True, 2))

    def test_a_reader_writer_lock_whose_writer_has_ended(self):
        with processes.scenario("orphaned_rwlock") as debuggee:
            status, answer = self.why(debuggee.pid)
            threads = self.compare(answer, self.truth(debuggee))
            self.assertTrue(all(threads[name]["wait"]["owner_has_ended"] for name in ("reader", "writer")))
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]), (STUCK, "orphaned_lock", True, 2))
            self.assertEqual(answer["causes"], [])

    def test_reader_writer_locks_of_the_older_class(self):
        with processes.scenario("older_rwlocks") as debuggee:
            status, answer = self.why(debuggee.pid)
            threads = self.compare(answer, self.truth(debuggee))
            self.assertTrue(all(threads[f"left-{name}"]["wait"]["owner_has_ended"] for name in ("reader", "writer")))
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]), (STUCK, "orphaned_lock", True, 2))

    def test_a_holder_that_waits_for_what_has_no_owner_is_not_called_fine(self):
        with processes.scenario("monitor_and_semaphore") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.compare(answer, self.truth(debuggee))
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            tids = {t["name"]: t["tid"] for t in answer["threads"] if t["name"]}
            self.assertEqual(answer["open_end"], {"thread": tids["behind"], "behind": tids["holder"]})

    def test_places_are_of_the_program(self):
        with processes.scenario("lazy_waits") as debuggee:
            _, answer = self.why(debuggee.pid)
            threads = self.compare(answer, self.truth(debuggee))
            self.assertIn("Waits.LazyWaits().ValueOf(", threads["lazy"]["place"])

    def test_a_server_that_does_not_answer(self):
        with processes.scenario("silent_server") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            threads = {t["name"]: t["wait"] for t in answer["threads"] if t["name"]}
            truth = self.truth(debuggee)
            self.assertEqual({name: threads[name] and threads[name]["kind"] for name in truth},
                             {name: wait for name, (wait, _, _) in truth.items()})
            client, server = truth["client"][1].split("->"), truth["server"][1]
            self.assertEqual(threads["client"]["type"], f"tcp {client[0]} -> {client[1]}")
            self.assertEqual(threads["server"]["type"], f"tcp listening on {server}")
            self.assertEqual(threads["client"]["detail"], "the other end is held by this process")

    def test_the_other_end_of_a_pipe(self):
        """The scenario reads what we write."""
        with processes.scenario("sleep") as debuggee:
            for _ in range(100):  # until it reads
                [wait] = [t["wait"] for t in self.why(debuggee.pid)[1]["threads"] if t["tid"] == debuggee.pid]
                if wait:
                    break
                time.sleep(0.1)
            self.assertEqual(wait["kind"], "pipe")
            self.assertEqual([p["pid"] for p in wait["processes"]], [os.getpid()], wait)

    def test_native_mutexes(self):
        with processes.native("locks") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.compare_natives(answer, debuggee)
            self.assertEqual([t["wait"]["kind"] for t in answer["threads"] if t["comm"] == "sleeper"], ["sleep"])
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]), (STUCK, "deadlock", True, 3))

    def test_native_locks_that_are_waited_for_for_some_time(self):
        """An endless cycle is a deadlock; one that gives up is possible only, at a first look and at later ones."""
        for kind, certain, behind in (("mutexes", False, 0), ("robust", True, 0), ("rwlocks", True, 1), ("rwlocks_timed", False, 1)):
            with self.subTest(kind), processes.native("timed_locks", kind) as debuggee:
                for _ in range(2):
                    status, answer = self.why(debuggee.pid)
                    self.compare_natives(answer, debuggee)
                    [verdict] = answer["verdicts"]
                    self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]),
                                     (STUCK if certain else MAY_END, "deadlock", certain, 2 + behind))
                    waits = {t["comm"]: t["wait"] for t in answer["threads"]}
                    self.assertEqual((waits["left"]["gives_up"], waits["right"]["gives_up"]), (not certain, False))

    def test_readers_of_a_native_lock_are_not_known(self):
        with processes.native("timed_locks", "readers") as debuggee:
            status, out, error, _ = mixstack_dump.run("why", debuggee.pid, "--json")
            self.assertEqual(status, NOT_KNOWN, error)
            answer = json.loads(out)
            self.compare_natives(answer, debuggee)
            [wait] = [t["wait"] for t in answer["threads"] if t["comm"] == "writer"]
            self.assertEqual((wait["detail"], wait["is_reading"]), ("1 reads", False))

    def test_native_locks_with_a_time_in_a_core(self):
        with processes.native("timed_locks", "mutexes") as debuggee, tempfile.TemporaryDirectory() as folder:
            core = cores.gcore(debuggee.pid, pathlib.Path(folder) / "core")
            status, answer = self.why(core)
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]), (MAY_END, "deadlock", False, 2))

    def test_mutexes_of_dotnet(self):
        with processes.scenario("deadlock_mutex") as debuggee, tempfile.TemporaryDirectory() as folder:
            pack = pathlib.Path(folder) / "mutex.pack"
            self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "-o", pack)[0], 0)
            for target in (debuggee.pid, pack):
                status, answer = self.why(target)
                self.compare(answer, self.truth(debuggee))
                [verdict] = answer["verdicts"]
                self.assertEqual((status, verdict["kind"], verdict["is_certain"], len(verdict["steps"])),
                                 (STUCK, "deadlock", True, 2))

    def test_locks_that_are_held_for_a_moment(self):
        for scenario in ("cache_fill", "lock_by_turns"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                for _ in range(10):
                    status, answer = self.why(debuggee.pid, "--sample", "0")
                    self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_a_convoy_in_a_pack_is_possible_only(self):
        with processes.scenario("convoy") as debuggee, tempfile.TemporaryDirectory() as folder:
            pack = pathlib.Path(folder) / "convoy.pack"
            self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "-o", pack)[0], 0)
            status, answer = self.why(pack)
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"], verdict["threads"]), (STUCK, "chain", False, 12))

    def test_every_kind_of_wait(self):
        with processes.scenario("waits") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.compare(answer, self.truth(debuggee))
            self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_waits_that_were_compiled_into_their_callers(self):
        with processes.scenario("hot_waits") as debuggee:
            status, answer = self.why(debuggee.pid)
            threads = self.compare(answer, self.truth(debuggee))
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            self.assertEqual(threads["hot-sleeper"]["wait"]["kind"], "sleep")
            self.assertEqual(len(threads["hot-any"]["wait"]["others"]), 2)

    def test_chains_of_async_methods(self):
        expected = {"delay": ("GetOrder > Load > ReadRow > Delayed", "delay"),
                    "promise": ("GetOrder > Load > ReadRow", "promise"),
                    "all": ("GetOrder > Load > ReadRow > lambda", "all_tasks"),
                    "semaphore": ("GetOrder > Load > ReadRow > lambda", "semaphore"),
                    "work": ("GetOrder > Load > ReadRow", "work")}
        with processes.scenario("async_chains") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            for waiter, (methods, end) in expected.items():
                with self.subTest(waiter):
                    [(told, chain)] = self.chains(answer, waiter)
                    self.assertEqual((told, chain["end"], chain["proof"]), (methods, end, "proved"))
                    self.assertEqual([s["state"] for s in chain["steps"]], [0] * len(chain["steps"]))
                    self.assertEqual(names.get(chain["runner"]), "worker" if waiter == "work" else None)
            [(_, delay)] = self.chains(answer, "delay")
            self.assertTrue(3_000_000 < delay["due_ms"] <= 3_600_000, delay)
            alone = [(told, chain["end"]) for told, chain in self.chains(answer)]
            self.assertEqual(alone, [expected["delay"]] * 20)
            timers = answer["pending"][0]["timers"]
            self.assertEqual((timers["delays"], timers["timeouts"]), (21, 1))
            text = mixstack_dump.run("why", debuggee.pid)[1]
            self.assertIn("20 x OrderApi.GetOrder > PriceService.Load > Db.ReadRow > AsyncWaits.Delayed", text)
            self.assertRegex(text, r" OrderApi\.GetOrder 0x[0-9a-f]+")

    def test_a_starved_pool(self):
        for scenario, queued in (("pool_starved", "Yielded"), ("pool_starved_timers", "timers that are due")):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                for _ in range(100):  # until the workers wait
                    status, answer = self.why(debuggee.pid)
                    if answer["verdicts"]:
                        break
                    time.sleep(0.2)
                self.assertEqual([(v["kind"], v["is_certain"]) for v in answer["verdicts"]], [("starved_pool", True)])
                self.assertEqual((status, answer["verdicts"][0]["threads"]), (STUCK, 3))
                pool = answer["pending"][0]["pool"]
                self.assertEqual((pool["existing"], pool["max"], len(pool["busy"]), pool["idle"]), (3, 3, 3, []))
                self.assertTrue(any(queued in w["what"] for w in pool["work"]), pool)
                self.assertEqual(pool["blocked"], 3)

    def test_a_blocked_pool_is_possibly_starved(self):
        with processes.scenario("pool_blocked") as debuggee:
            for _ in range(100):  # until nothing was taken for a while
                status, answer = self.why(debuggee.pid)
                if answer["verdicts"]:
                    break
                time.sleep(0.2)
            self.assertEqual([(v["kind"], v["is_certain"]) for v in answer["verdicts"]], [("starved_pool", False)])
            pool = answer["pending"][0]["pool"]
            self.assertEqual(pool["queued"], 4)

    def test_a_lock_and_an_async_method(self):
        with processes.scenario("deadlock_async") as debuggee:
            for _ in range(100):  # until the rest of the method runs
                _, answer = self.why(debuggee.pid)
                if answer["verdicts"]:
                    break
                time.sleep(0.2)
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", True))
            self.assertEqual({names[s["thread"]] for s in verdict["steps"]}, {"holder", "resumed"})
            [(told, chain)] = self.chains(answer, "holder")
            self.assertEqual((told, chain["end"]), ("GetOrder > Load > ReadRow > Locked", "running"))
            self.assertEqual(names[chain["runner"]], "resumed")

    def test_a_lock_and_a_method_behind_a_promise(self):
        for scenario in ("deadlock_unwrap", "deadlock_when_all"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.until_stuck(debuggee)
                names = {t["tid"]: t["name"] for t in answer["threads"]}
                [verdict] = answer["verdicts"]
                self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", True))
                self.assertEqual({names[s["thread"]] for s in verdict["steps"]}, {"holder", "resumed"})
                [(told, chain)] = self.chains(answer, "holder")
                self.assertTrue(told.endswith("GetOrder > Load > ReadRow > Locked"), told)
                self.assertEqual((chain["end"], names[chain["runner"]]), ("running", "resumed"))

    def test_what_gives_up_is_possible_only(self):
        for scenario in ("deadlock_wait_async", "deadlock_wait_async_inside"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.until_stuck(debuggee)
                [verdict] = answer["verdicts"]
                self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", False))
                [(_, chain)] = self.chains(answer, "holder")
                self.assertTrue(chain["gives_up"], chain)
                self.assertEqual((verdict["threads"], verdict["may_time_out"]), (2, True))

    def test_any_of_several_is_no_deadlock(self):
        with processes.scenario("when_any_of_locked") as debuggee:
            for _ in range(5):
                status, answer = self.why(debuggee.pid)
                self.assertEqual((status, answer["verdicts"]), (FINE, []))
                time.sleep(0.2)

    def test_threads_that_wait_for_themselves(self):
        for scenario in ("deadlock_own_task", "deadlock_own_method"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                status, answer = self.until_stuck(debuggee)
                names = {t["tid"]: t["name"] for t in answer["threads"]}
                [verdict] = answer["verdicts"]
                self.assertEqual((status, verdict["kind"], verdict["is_certain"]), (STUCK, "deadlock", True))
                self.assertEqual([(names[s["thread"]], names[s["waits_for"]]) for s in verdict["steps"]], [("own", "own")])

    def test_a_thread_that_locks_its_own_mutex_again(self):
        with processes.native("relock") as debuggee:
            status, answer = self.why(debuggee.pid)
            names = {t["tid"]: t["comm"] for t in answer["threads"]}
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"]), (STUCK, "deadlock"))
            self.assertEqual([(names[s["thread"]], names[s["waits_for"]]) for s in verdict["steps"]], [("twice", "twice")])

    def test_methods_that_wait_for_other_calls_of_themselves(self):
        with processes.scenario("recursive_waits") as debuggee:
            for _ in range(10):
                status, answer = self.why(debuggee.pid)
                self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_methods_behind_promises_in_the_heap(self):
        with processes.scenario("async_joins") as debuggee:
            # Its threads say that they are ready before they wait.
            answers = []
            def waiting():
                answers[:] = [self.why(debuggee.pid, "--heap")[1]]
                return all(len(self.chains(answers[0], waiter)) == 1 for waiter in ("run", "all"))
            self.wait_until(waiting, "both to wait", timeout=30)
            [answer] = answers
            for waiter, methods in (("run", "GetOrder > Load > ReadRow"), ("all", "lambda > GetOrder > Load > ReadRow")):
                [(told, chain)] = self.chains(answer, waiter)
                self.assertEqual((told, chain["end"], chain["proof"]), (methods, "promise", "proved"))
            self.assertEqual(self.chains(answer), [])

    def test_who_runs_what_is_waited_for(self):
        for scenario in ("deadlock_local", "deadlock_inline", "deadlock_child"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.until_stuck(debuggee)
                names = {t["tid"]: t["name"] for t in answer["threads"]}
                [verdict] = answer["verdicts"]
                self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", True))
                self.assertEqual({names[s["thread"]] for s in verdict["steps"]}, {"holder", "resumed"})

    def test_of_two_handles_none_is_named(self):
        with processes.scenario("signal_and_wait") as debuggee:
            _, answer = self.why(debuggee.pid)
            [waits] = [t["wait"] for t in answer["threads"] if t["name"] == "waiter"]
            self.assertEqual((waits["kind"], waits["owners"]), ("wait_handle", []))
            if debuggee_build.RUNTIME:
                self.assertEqual(waits["type"], "System.Threading.ManualResetEvent")
            else:
                self.assertIsNone(waits["address"])

    def test_readers_behind_a_writer(self):
        with processes.scenario("readers_behind_a_writer") as debuggee:
            _, answer = self.until_stuck(debuggee)
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["threads"], names[verdict["steps"][-1]["thread"]]), ("chain", 5, "reads"))

    def test_a_starved_pool_in_a_pack(self):
        with processes.scenario("pool_starved_timers") as debuggee, tempfile.TemporaryDirectory() as folder:
            self.until_stuck(debuggee)
            pack = f"{folder}/it.pack"
            self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "-o", pack)[0], 0)
            status, answer = self.why(pack)
            self.assertEqual((status, [v["kind"] for v in answer["verdicts"]]), (STUCK, ["starved_pool"]))

    def test_methods_in_a_full_pack(self):
        with processes.scenario("await_cycle_run") as debuggee, tempfile.TemporaryDirectory() as folder:
            pack = f"{folder}/it.pack"
            self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "--full", "-o", pack)[0], 0)
            status, answer = self.why(pack, "--heap")
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"], len(verdict["methods"])), (STUCK, "await_cycle", True, 3))

    def test_methods_that_await_each_other(self):
        def short(method):
            return method.split("(")[0].split(".")[-1]

        with processes.scenario("await_cycle") as debuggee:
            status, answer = self.until_stuck(debuggee)
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], verdict["is_certain"]), (STUCK, "await_cycle", True))
            self.assertEqual(sorted((short(m["method"]), m["state"]) for m in verdict["methods"]), [("Orders", 1), ("Prices", 1), ("Stock", 1)])
            self.assertEqual([names[s["thread"]] for s in verdict["steps"]], ["waiter"])
            [(told, chain)] = self.chains(answer, "waiter")
            self.assertEqual((told, chain["end"], chain["is_cut"]), ("Outside > Orders > Prices > Stock", "cycle", False))
            text = mixstack_dump.run("why", debuggee.pid)[1]  # the approved text of this command
            self.assertTrue(text.startswith("DEADLOCK: 3 async methods await each other in a cycle, 1 thread waits for it\n"), text)
        for scenario, methods, is_certain in (("await_cycle_all", ["Orders", "Prices", "StockAndMore"], True),
                                              ("await_cycle_run", ["Orders", "Prices", "Stock"], True),
                                              ("await_cycle_time", ["Orders", "Prices", "StockForATime"], False),
                                              ("await_cycle_itself", ["Itself"], True)):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                status, answer = self.why(debuggee.pid, "--heap")
                [verdict] = answer["verdicts"]
                self.assertEqual((status, verdict["kind"], verdict["is_certain"]), (STUCK if is_certain else MAY_END, "await_cycle", is_certain))
                self.assertEqual(sorted(short(m["method"]) for m in verdict["methods"]), methods)
                self.assertEqual((verdict["steps"], verdict["cycles"]), ([], 1))
        with processes.scenario("await_any_cycle") as debuggee:
            status, answer = self.why(debuggee.pid, "--heap")
            self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_a_context_of_one_thread(self):
        with processes.scenario("deadlock_context") as debuggee:
            for _ in range(100):  # until what is awaited has ended
                _, answer = self.why(debuggee.pid)
                if answer["verdicts"]:
                    break
                time.sleep(0.2)
            names = {t["tid"]: t["name"] for t in answer["threads"]}
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", False))
            self.assertEqual([names[s["thread"]] for s in verdict["steps"]], ["context"])
            [(told, chain)] = self.chains(answer, "context")
            self.assertEqual((told, chain["end"]), ("ReadRow > Short", "completed"))
            self.assertTrue(chain["context"].endswith("OneThread"), chain)

    def test_a_scheduler_of_the_programs_own(self):
        for scenario, threads, ends, kind in (("deadlock_scheduler_task", ["grain"], ("", "work"), "OwnThreads"),
                                              ("deadlock_scheduler_method", ["grain"], ("SlowRow", "completed"), "OwnThreads"),
                                              ("deadlock_scheduler_exclusive", ["exclusive"], ("SlowRow", "completed"),
                                               "ConcurrentExclusiveTaskScheduler"),
                                              ("deadlock_scheduler_two", ["grain0", "grain1"], ("", "work"), "OwnThreads")):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.until_stuck(debuggee)
                names = {t["tid"]: t["name"] for t in answer["threads"]}
                self.assertEqual({(v["kind"], v["is_certain"]) for v in answer["verdicts"]}, {("deadlock", False)})
                self.assertEqual(sorted(names[s["thread"]] for v in answer["verdicts"] for s in v["steps"]), threads)
                for name in threads:
                    [(told, chain)] = self.chains(answer, name)
                    self.assertEqual((told, chain["end"]), ends)
                    self.assertTrue(chain["scheduler"].endswith(kind), chain)

    def test_schedulers_that_get_on(self):
        with processes.scenario("schedulers") as debuggee:
            for _ in range(10):
                status, answer = self.why(debuggee.pid)
                self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_healthy_programs(self):
        for scenario in ("sleep", "pool", "pool_busy", "split", "traffic", "gc_storm"):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                status, answer = self.why(debuggee.pid)
                self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def whole_pack(self, pid, pack, *options):
        """Of a moment at which all threads stopped: a pack is one look, and on a busy machine a thread may be too late."""
        for _ in range(5):
            self.assertEqual(mixstack_dump.run("pack", pid, "-o", pack, *options)[0], 0)
            threads = mixstack_dump.dump_core(pack)["threads"]
            if not any((t["capture_error"] or {}).get("code") == "thread_not_stopped" for t in threads):
                break
            pack.unlink()
        return pack

    def test_packs_tell_of_a_deadlock(self):
        with processes.scenario("deadlock") as debuggee, tempfile.TemporaryDirectory() as folder:
            for options in (["--full"], []):
                pack = self.whole_pack(debuggee.pid, pathlib.Path(folder) / f"{len(options)}.pack", *options)
                status, answer = self.why(pack)
                self.assertEqual((status, [v["kind"] for v in answer["verdicts"]]), (STUCK, ["deadlock"]))

    def test_a_pack_tells_the_same_waits(self):
        with processes.scenario("waits") as debuggee, tempfile.TemporaryDirectory() as folder:
            pack = pathlib.Path(folder) / "waits.pack"
            self.assertEqual(mixstack_dump.run("pack", debuggee.pid, "-o", pack)[0], 0)
            self.compare(self.why(pack)[1], self.truth(debuggee))

    def test_cores_with_and_without_the_heap(self):
        with processes.scenario("deadlock") as debuggee, tempfile.TemporaryDirectory() as folder:
            for kind, expected in (("t", NOT_KNOWN), ("n", NOT_KNOWN), ("h", STUCK), ("u", STUCK)):
                core = cores.createdump(debuggee.pid, pathlib.Path(folder) / "core", kind)
                status, out, error, _ = mixstack_dump.run("why", core, "--json")
                self.assertEqual(status, expected, kind + out + error)
                answer = json.loads(out)
                self.assertEqual([v["kind"] for v in answer["verdicts"]], ["deadlock"] if expected == STUCK else [])
                self.assertEqual(answer["is_known"], expected == STUCK)
                core.unlink()

    def test_native_mutexes_in_a_core(self):
        with processes.native("locks") as debuggee, tempfile.TemporaryDirectory() as folder:
            core = cores.gcore(debuggee.pid, pathlib.Path(folder) / "core")
            status, answer = self.why(core)
            [verdict] = answer["verdicts"]
            self.assertEqual((status, verdict["kind"], len(verdict["steps"]), verdict["threads"]), (STUCK, "deadlock", 2, 3))

    def test_what_cannot_be_told_is_not_healthy(self):
        with processes.native("plain") as debuggee:
            status, out, error, _ = mixstack_dump.run("why", debuggee.pid)
            self.assertEqual(status, NOT_KNOWN, out + error)


if __name__ == "__main__":
    unittest.main()
